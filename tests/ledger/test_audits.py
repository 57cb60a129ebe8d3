"""Audits kept beside the releases that were audited."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.ledger import BrokenChainError, Kind, Ledger
from gdpbridge.ledger.exchange import read_entries, write_entries


@pytest.fixture(scope="module")
def found() -> gdp.Audit:
    """An audit that contradicts a claim."""
    return gdp.audit_counts(90, 3, positives=100, negatives=100, mu_claimed=1)


def test_an_audit_is_kept_beside_its_release_and_charges_nothing(
    ledger: Ledger, found: gdp.Audit
) -> None:
    """The entry says which release, and what was found; the budget stays as it was."""
    spent = ledger.spend("census", mu=0.5, purpose="table 3")
    done = ledger.note_audit("census", spent.entry.number, found, actor="auditor")
    assert done.entry.kind is Kind.AUDIT
    assert done.entry.details["entry"] == spent.entry.number
    kept = done.entry.details["audit"]
    assert kept["mu_low"] == found.mu.lower
    assert (kept["claim"], kept["contradicts"], kept["p_value"]) == (
        "μ = 1",
        True,
        found.p_value,
    )
    assert done.balance == spent.balance
    assert ledger.verify("census")


def test_the_document_of_an_audit_is_as_good(ledger: Ledger, found: gdp.Audit) -> None:
    """What gdpbridge audit --json prints is kept like the audit itself; a key makes it once."""
    number = ledger.spend("census", mu=0.1, purpose="count").entry.number
    document = json.loads(json.dumps({"schema": {"name": "gdpbridge.audit"}, **found.to_dict()}))
    first = ledger.note_audit("census", number, document, key="audit-1")
    again = ledger.note_audit("census", number, found, key="audit-1")
    assert first.entry == again.entry
    assert again.repeated


def test_audits_are_exported_and_imported(ledger: Ledger, found: gdp.Audit, tmp_path: Path) -> None:
    """A history with audits survives the way through a file, and its hashes hold."""
    number = ledger.spend("census", mu=0.1, purpose="count").entry.number
    ledger.note_audit("census", number, found)
    for form in ("jsonl", "csv"):
        file = io.StringIO()
        write_entries(ledger.history("census"), file, form)
        other = Ledger(f"sqlite:///{tmp_path / form}.db")
        other.init()
        file.seek(0)
        status = other.load(read_entries(file, form))
        assert status.head == ledger.status("census").head


def test_only_releases_are_audited(ledger: Ledger, found: gdp.Audit) -> None:
    """The creation of a data set, a number that is none, and what is no audit, are refused."""
    number = ledger.spend("census", mu=0.1, purpose="count").entry.number
    for wrong in (1, number + 1, 0, "x"):
        with pytest.raises(InputError, match="number"):
            ledger.note_audit("census", wrong, found)  # type: ignore[arg-type]
    documents: list[Any] = [
        5,
        {},
        {"schema": {"name": "gdpbridge.risk"}, **found.to_dict()},
        {**found.to_dict(), "confidence": 2},
        {**found.to_dict(), "contradicts": 1},
        {**found.to_dict(), "p_value": None},
        {**found.to_dict(), "mu": {"low": float("nan")}},
        {**found.to_dict(), "method": ""},
    ]
    for wrong_document in documents:
        with pytest.raises(InputError, match="audit"):
            ledger.note_audit("census", number, wrong_document)
    assert next(ledger.history("census", last=1)).number == number


def test_an_audit_that_was_changed_is_seen(
    ledger: Ledger, found: gdp.Audit, tmp_path: Path
) -> None:
    """An import refuses an audit about nothing, or one with fields of its own."""
    number = ledger.spend("census", mu=0.1, purpose="count").entry.number
    ledger.note_audit("census", number, found)
    *before, last = ledger.history("census")
    for place, change in enumerate(({"entry": 99}, {"more": 1}, {"audit": {}})):
        changed = replace(last, details={**last.details, **change})
        changed = replace(changed, hash=changed.computed_hash())
        other = Ledger(f"sqlite:///{tmp_path / str(place)}.db")
        other.init()
        with pytest.raises(BrokenChainError, match="not that of such an entry"):
            other.load([*before, changed])
