"""Audits as text and as plain data: the measured floor beside the claimed ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gdpbridge.auditing import Audit
from gdpbridge.auditing.result import p_text
from gdpbridge.numeric.exact import decimal_ceiling, floor_to_places
from gdpbridge.report.record import Schema
from gdpbridge.report.text import Row, laid_out
from gdpbridge.specification.title import number_text

__all__ = ["audit_document", "audit_to_text"]

_PLACES = 4
_GREEN, _RED = "1;32", "1;31"


def audit_document(found: Audit) -> dict[str, Any]:
    """Return the JSON document of an audit."""
    return {"schema": Schema("gdpbridge.audit", 1), **found.to_dict()}


def audit_to_text(found: Audit, width: int, *, colour: bool = False) -> str:
    """Return an audit as lines of text; arguments as for :func:`gdpbridge.report.text.to_text`."""
    title = f"audit by {found.canaries} canaries or runs, {found.members} of them in"
    if not found.members:
        title = f"audit by guesses about {found.canaries} canaries"
    return laid_out(title, _rows(found), width, colour=colour)


def _rows(found: Audit) -> Iterator[Row]:
    yield Row("In words", found.sentence)
    if found.p_value is not None:
        verdict = "contradicted" if found.contradicts else "not contradicted"
        shown = f"{verdict}, p = {p_text(found.p_value)}"
        yield Row("Claim", f"{found.claim}: {shown}", _RED if found.contradicts else _GREEN)
    sure = f"with {100 * found.confidence:.12g} % confidence"
    yield Row("μ", f"at least {_down(found.mu.lower)}, {sure}", "1")
    epsilon = f"at least {_down(found.epsilon.lower)} at δ = {number_text(found.delta)}, {sure}"
    yield Row("ε", epsilon)
    if found.epsilon_claimed is not None:
        yield Row("Claimed ε", f"at most {_up(found.epsilon_claimed)} at that δ")
    for one in found.findings:
        yield Row("Attack", one.attack)
        yield Row("Method", f"{one.method}: {one.theorem}")
        yield Row("Assumes", "; ".join(one.assumptions))
    for note in found.notes:
        yield Row("Note", note)


def _down(value: float) -> str:
    return f"{floor_to_places(Fraction(value), _PLACES):f}"


def _up(value: float) -> str:
    if value == float("inf"):
        return "∞"
    return f"{decimal_ceiling(Fraction(value), 6).normalize():f}"
