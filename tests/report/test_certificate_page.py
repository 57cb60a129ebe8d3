"""The page of a certificate for an auditor."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.cli import main
from gdpbridge.report.certificate_page import certificate_page


def _page(document: gdp.Certificate) -> str:
    return certificate_page(document, gdp.verify(document), "ab" * 32, "gdpbridge_verify 0")


@pytest.fixture(scope="module")
def icea() -> gdp.Certificate:
    """A certificate with cells."""
    found = gdp.measure(gdp.profiles.ICEA(messages=50, users=10), eps_h=4).certificate
    assert found is not None
    return found


def test_the_page_shows_every_cell_and_its_margin(icea: gdp.Certificate) -> None:
    """A bar and a row for each cell; what was proved, what is assumed, and no script."""
    found, page = gdp.verify(icea), _page(icea)
    assert page.count("<rect ") == len(icea.evidence.cells) > 3
    margins = dict(found.margins)
    for number in range(len(icea.evidence.cells)):
        margin = margins[f"evidence.cells[{number}]"]
        assert margin >= 0
        assert f"<td>{margin:.3g}</td>" in page
    # places along are shares of the width, so that it is as legible on a phone
    assert "viewBox" not in page
    assert page.count('%" y=') > page.count("<rect ")
    for part in ("proved again", "messages 50, users 10", "What is assumed", "ab" * 32):
        assert part in page
    assert icea.claim.mu.high in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_answers_stand_in_words() -> None:
    """Without cells there is no picture."""
    claims = [
        "epsilon <= 2", "delta <= 0.4 at epsilon = 1", "tpr <= 0.08 at fpr = 0.01",
        "beta >= 0.9 at alpha = 0.01", "advantage <= 0.7", "delta >= 0.3 at epsilon = 1",
    ]  # fmt: skip
    from gdpbridge.check import certificate_of

    page = _page(certificate_of(gdp.check(gdp.profiles.Laplace(scale=0.5), claims)))
    assert "<svg" not in page
    for part in (
        "e^2 times its chance without it, plus 0", "finds at most 0.08", "misses at least 0.9",
        "false alarms by at most 0.7", "no less than 0.3",
    ):  # fmt: skip
        assert part in page


def test_a_document_is_not_trusted(icea: gdp.Certificate) -> None:
    """What somebody wrote into it becomes no markup, and a false claim is refused in words."""
    plain = json.loads(icea.to_json())
    plain["generator"] = "<script>alert(1)</script>"
    plain["claim"]["mu"] = {"low": "0.1", "high": "0.2"}
    from gdpbridge.certificate.model import read

    page = _page(read(plain))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Do not rely on it" in page
    assert "refused at evidence.cells" in page


def test_command(icea: gdp.Certificate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has the hash of the file that was checked; another ending is refused."""
    file, target = tmp_path / "cert.json", tmp_path / "check.html"
    icea.save(file)
    assert main(["verify", str(file), "-o", str(target)]) == 0
    assert hashlib.sha256(file.read_bytes()).hexdigest() in target.read_text(encoding="utf-8")
    assert main(["verify", str(file), "-o", str(tmp_path / "check.txt")]) == 2
    assert "check.txt" in capsys.readouterr().err
