"""Records as text: two columns, the verdict first, wrapped to a width that never cuts a number."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from pydantic.fields import FieldInfo

from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Statement
from gdpbridge.numeric.exact import decimal_ceiling
from gdpbridge.profiles import profile_class
from gdpbridge.report.record import MeasurementRecord, Record, TailRecord

__all__ = ["to_text"]

_LABEL_WIDTH = 13
_NARROWEST = 40

_BOLD, _GREEN, _RED, _YELLOW = "1", "1;32", "1;31", "1;33"
_COLOURS = {Verdict.GDP: _GREEN, Verdict.NOT_GDP: _RED, Verdict.UNKNOWN: _YELLOW}


@dataclass(frozen=True)
class _Row:
    """A label and what stands beside it.

    Attributes:
        label: the first column.
        text: a text to wrap, or lines to leave as they are.
        colour: an ANSI colour for the second column.
    """

    label: str
    text: str | tuple[str, ...]
    colour: str | None = None


def to_text(record: Record, width: int, *, colour: bool = False, digits: int | None = None) -> str:
    """Return a record as lines of text.

    Args:
        record: what to show.
        width: the width to wrap to; a number that is longer stands alone on a longer line.
        colour: whether to colour the verdict and μ, for a terminal.
        digits: the most decimal places of μ to show; all that are certain if None.
    """
    width = max(width, _NARROWEST)
    lines = _wrap(_mechanism(record.mechanism), width, "  ")
    lines.append("")
    for row in _rows(record, width - _LABEL_WIDTH, digits):
        beside = row.text
        if isinstance(beside, str):
            beside = tuple(_wrap(beside, width - _LABEL_WIDTH))
        for label, line in zip((row.label, *[""] * len(beside)), beside, strict=False):
            shown = f"\x1b[{row.colour}m{line}\x1b[0m" if colour and row.colour else line
            lines.append(f"{label:<{_LABEL_WIDTH}}{shown}")
    return "\n".join(lines) + "\n"


# a formula or an interval breaks at none of its spaces
_JOINED = re.compile(r"(?<=[=≤≥→+-]) | (?=[=≤≥→+-] )|\[\S+ \S+[\])]")


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(
        _JOINED.sub(lambda found: found[0].replace(" ", "\u00a0"), text),
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]


def _rows(record: Record, width: int, digits: int | None) -> Iterator[_Row]:
    yield _Row("Verdict", record.verdict.sentence, _COLOURS[record.verdict])
    yield _Row("Because", record.reason)
    if isinstance(record, MeasurementRecord):
        yield from _measured(record, width, digits)
    yield _Row("Tail", _tail(record.tail))
    if isinstance(record, MeasurementRecord):
        yield from _how(record)


def _measured(record: MeasurementRecord, width: int, digits: int | None) -> Iterator[_Row]:
    yield _Row("μ", _mu(record.mu, width, digits), _BOLD)
    yield _Row("Covers", record.statement.sentence)
    if record.eps_h is not None:
        yield _Row("ε_h", _number(record.eps_h))
    if record.statement is not Statement.WHOLE:
        yield _Row("p", _failure(record))
        yield _Row("Whole range", _whole_range(record.whole_range_mu, digits))
    at = (
        "in the limit ε → ∞"
        if math.isinf(record.attained_at)
        else f"at ε = {record.attained_at:.12g}"
    )
    yield _Row("Attained", at)


def _how(record: MeasurementRecord) -> Iterator[_Row]:
    # with it comes SciPy, which is slow to import
    from gdpbridge.measure.floats import NOT_PROVED

    proved = "both ends proved in ball arithmetic"
    yield _Row("Proof", proved if record.certified else "none: computed in floating point")
    work = f"{_count(record.cells, 'cell')}, {_count(record.evaluations, 'evaluation')}"
    yield _Row("Method", f"{record.method}: {work}, {_duration(record.seconds)}")
    notes = [note for note in record.notes if note != NOT_PROVED]
    for label, note in zip(("Notes", *[""] * len(notes)), notes, strict=False):
        yield _Row(label, note)


def _mechanism(mechanism: dict[str, Any]) -> str:
    fields = profile_class(mechanism["kind"]).parameters()
    parts = [part for name, field in fields.items() for part in _part(name, field, mechanism[name])]
    if mechanism["neighbours"] is not None:
        parts.append(f"neighbours {mechanism['neighbours']}")
    return f"{mechanism['kind']}: {', '.join(parts)}"


def _part(name: str, field: FieldInfo, value: Any) -> Iterator[str]:
    """A parameter with its symbol; nothing for one that is left out."""
    symbol = cast(dict[str, Any], field.json_schema_extra).get("symbol", name)
    match value:
        case None | False:
            return
        case True:
            yield name
        case dict():
            yield from (f"{key} = {_number(number)}" for key, number in value.items())
        case str():
            yield value if field.is_required() else f"{name} {value}"
        case _:
            label = name if name == symbol else f"{name.replace('_', ' ')} {symbol}"
            yield f"{label} = {_number(value)}"


def _mu(mu: Interval, width: int, digits: int | None) -> tuple[str, ...]:
    """The certain digits, and the interval beside or below them."""
    if mu.low.is_infinite():
        return ("∞",)
    if mu.low == mu.high:
        return (f"{mu}, exactly",)
    certain, ends = _certain(mu, digits), str(mu)
    if not certain:
        parts = [f"in {ends}"]
    elif len(certain) + len(ends) + len("   in ") <= width:
        parts = [f"{certain}   in {ends}"]
    else:
        parts = [certain, f"in {ends}"]
    if len(parts[-1]) > width:
        low, high = ends.strip("[]").split(", ")
        parts[-1:] = [f"at least {low}", f"at most  {high}"]
    return tuple(parts)


def _certain(value: Interval, digits: int | None) -> str:
    """The digits that are certain, at most so many after the point."""
    whole, point, places = value.certain.rstrip("…").partition(".")
    if digits is None or len(places) <= digits:
        return value.certain
    return f"{whole}{point}{places[:digits]}…"


def _failure(record: MeasurementRecord) -> str:
    p, log = record.failure_probability, record.log_failure_probability
    if record.statement is Statement.APPROXIMATE:
        return f"{_probability(p, log)}, the failure probability"
    if log == -math.inf:
        return "0: δ(ε_h) = 0, so that nothing is left beyond ε_h"
    return (
        f"{_probability(p, log)}, which is δ(ε_h): with this p, δ(ε) ≤ p + (1 - p)·δ_μ(ε) for "
        "every ε ≥ 0"
    )


def _probability(p: float, log: float) -> str:
    if log < math.log(1e-300):
        return f"about 10^{log / math.log(10):.2f}"
    if _number(p) == f"{p:.6g}":
        return _number(p)
    return f"{float(decimal_ceiling(Fraction(p), 6)):.6g}"


def _whole_range(mu: Interval | None, digits: int | None) -> str:
    if mu is None:
        return "not known"
    if mu.low.is_infinite():
        return "no finite μ holds for every ε ≥ 0"
    shown = f"= {_certain(mu, digits)}" if mu.certain else f"in {mu}"
    return f"μ {shown} holds for every ε ≥ 0"


def _tail(tail: TailRecord) -> str:
    if tail.mu_t is None:
        return "μ_t is not known"
    value = "∞" if tail.mu_t.low.is_infinite() else _certain(tail.mu_t, 10)
    how = {TailStatus.PROVED: "proved", TailStatus.ESTIMATED: "estimated, not proved"}
    return f"μ_t = {value}, {how[tail.status]}"


def _number(value: float) -> str:
    """A number as it was written: 2 for 2.0."""
    return f"{value:g}" if f"{value:g}" == repr(float(value)).removesuffix(".0") else repr(value)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(1, round(1000 * seconds))} ms"
