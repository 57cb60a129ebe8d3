"""A report for other places: a registry of deployments, a model card, paper."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from gdpbridge.errors import InputError
from gdpbridge.measure import Measurement
from gdpbridge.report.privacy.basis import NOT_STATED
from gdpbridge.report.privacy.numbers import plain, rounded_up
from gdpbridge.report.privacy.tables import EpsilonRow
from gdpbridge.report.record import MeasurementRecord

__all__ = ["deployment_yaml", "model_card", "pdf"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
_PATIENCE = 120  # seconds
_QUOTED = 1e-5


class Reported(Protocol):
    """What is needed of a report; see there."""

    @property
    def title(self) -> str: ...
    @property
    def release(self) -> dict[str, str | None]: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def headline(self) -> str: ...
    @property
    def measurement(self) -> MeasurementRecord: ...
    @property
    def found(self) -> Measurement: ...
    @property
    def epsilons(self) -> tuple[EpsilonRow, ...]: ...
    @property
    def certificate(self) -> Any: ...
    @property
    def versions(self) -> dict[str, str]: ...


def deployment_yaml(report: Reported) -> str:
    """Return the release as a record for a public registry of deployments, in YAML.

    The fields are those that public registries ask for, grouped as there; ``mu`` beside epsilon
    and delta is a proposal. What is not stated is null.
    """
    said, found = report.release, report.found
    epsilon = _epsilon(report)
    record: dict[str, Any] = {
        "name": report.title,
        "data_curator": said["organisation"],
        "description": said["description"],
        "intended_use": said["intended_use"],
        "data_product_type": said["release_type"],
        "data_product_sector": said["sector"],
        "data_product_region": said["region"],
        "publication_date": said["date"],
        "dp_flavor": {
            "name": "Gaussian DP",
            "neighbours": report.measurement.mechanism.get("neighbours"),
        },
        "privacy_loss": {
            "privacy_unit": said["unit_of_privacy"],
            "contribution_bound": said["contribution_bound"],
            "epsilon": epsilon,
            "delta": None if epsilon is None else _QUOTED,
            "mu": rounded_up(found.mu, 6),
            "mu_failure_probability": plain(found.failure_probability),
            "mu_up_to_epsilon": found.eps_h,
            "proved": found.proof.proved,
            "certificate_sha256": report.certificate.sha256,
        },
        "model": {"name": said["trust_model"], "trusted_parties": said["trusted_parties"]},
        "mechanism": report.mechanism,
        "accounting": said["accounting"] or f"gdpbridge {report.versions['gdpbridge']}",
        "implementation": said["implementation"],
        "pre_processing": said["preprocessing"],
        "post_processing": said["postprocessing"],
        "justification": said["justification"],
        "additional_information": said["links"],
    }
    return "".join(f"{line}\n" for line in _lines(record, ""))


def _lines(record: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield YAML; each scalar as JSON, which YAML contains."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}"


def model_card(report: Reported) -> list[tuple[str, str]]:
    """Return what a model card should say of privacy: names and texts."""
    found, said = report.found, report.release
    epsilon = _epsilon(report)
    pair = NOT_STATED if epsilon is None else f"ε ≤ {epsilon} at δ = {plain(_QUOTED)}"
    basis = "proved" if found.proof.proved else "computed, not proved"
    return [
        ("Mechanism", report.mechanism),
        ("Guarantee", f"{report.headline} ({basis})"),
        ("As an (ε, δ) pair", pair),
        ("Unit of privacy", said["unit_of_privacy"] or NOT_STATED),
        ("Neighbours", report.measurement.mechanism.get("neighbours") or NOT_STATED),
        ("Trust model", said["trust_model"] or NOT_STATED),
        ("Accounting", said["accounting"] or f"gdpbridge {report.versions['gdpbridge']}"),
    ]


def _epsilon(report: Reported) -> str | None:
    for row in report.epsilons:
        if row.delta == _QUOTED and row.epsilon is not None:
            return rounded_up(row.epsilon)
    return None


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
