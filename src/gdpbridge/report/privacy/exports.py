"""A report for other places: a model card, paper."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from gdpbridge.errors import InputError
from gdpbridge.report.privacy.basis import NOT_STATED, QUOTABLE, QUOTED, quoted
from gdpbridge.report.privacy.numbers import plain, rounded_up
from gdpbridge.report.privacy.reported import Reported

__all__ = ["model_card", "pdf"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
_PATIENCE = 120  # seconds


def model_card(report: Reported) -> list[tuple[str, str]]:
    """Return what a model card should say of privacy: names and texts."""
    found, said = report.found, report.release
    epsilon = quoted(report.epsilons)
    pair = f"no ε ≤ {plain(QUOTABLE)}" if epsilon is None else f"ε ≤ {rounded_up(epsilon)}"
    basis = "proved" if found.proof.proved else "computed, not proved"
    beside = "" if report.lead == report.headline else f"; {report.headline}"
    return [
        ("Mechanism", report.mechanism),
        ("Guarantee", f"{report.lead}{beside} ({basis})"),
        ("As an (ε, δ) pair", f"{pair} at δ = {plain(QUOTED)}"),
        ("Unit of privacy", said["unit_of_privacy"] or NOT_STATED),
        ("Neighbours", report.measurement.mechanism.get("neighbours") or NOT_STATED),
        ("Trust model", said["trust_model"] or NOT_STATED),
        ("Accounting", said["accounting"] or f"gdpbridge {report.versions['gdpbridge']}"),
    ]


def pdf(page: str, output: str) -> bytes:
    """Return a page as it prints, by a browser of this machine, which is given no network.

    Raises:
        InputError: where no browser is there, or it does not print.
    """
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise InputError("output", output, "an .html file, as no Chromium prints here")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            found,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--proxy-server=127.0.0.1:9",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, cwd=folder, timeout=_PATIENCE, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            raise InputError("output", output, f"an .html file, as {found} did not print") from None
