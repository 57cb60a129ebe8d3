"""Records as text: two columns, the verdict first, wrapped to a width that never cuts a number."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from gdpbridge.curves.nature import Nature
from gdpbridge.identify import Identification, TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Statement
from gdpbridge.numeric.exact import decimal_ceiling
from gdpbridge.report.record import MeasurementRecord, Record, UndecidedRecord
from gdpbridge.specification.title import mechanism_title, number_text

__all__ = [
    "Row",
    "certain_and_ends",
    "identification_to_text",
    "laid_out",
    "measured_rows",
    "rounded_up",
    "tail_text",
    "to_text",
]

_LABEL_WIDTH = 13
_NARROWEST = 40

_BOLD, _GREEN, _RED, _YELLOW = "1", "1;32", "1;31", "1;33"
_COLOURS = {Verdict.GDP: _GREEN, Verdict.NOT_GDP: _RED, Verdict.UNKNOWN: _YELLOW}


@dataclass(frozen=True)
class Row:
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
    rows = _rows(record.found, max(width, _NARROWEST) - _LABEL_WIDTH, digits)
    return laid_out(mechanism_title(record.mechanism), rows, width, colour=colour)


def measured_table(
    records: Sequence[MeasurementRecord | UndecidedRecord], digits: int | None = None
) -> str:
    """Return measurements as a table, a line each, and below it why some are undecided."""
    rows = [("Mechanism", "Verdict", "Covers", "p", "μ", "Proved")]
    why: list[str] = []
    for record in records:
        if isinstance(record, UndecidedRecord):
            title = mechanism_title(record.mechanism)
            bounds = f"in [{record.mu.low}, {_end(record.mu.high)}]"
            rows.append((title, record.verdict.value, "undecided", "", bounds, ""))
            why.append(f"undecided: {title}: {record.error}\n")
            continue
        found = record.found
        covers = found.statement.value
        if found.eps_h is not None:
            covers = f"{covers} to ε = {found.eps_h:g}"
        rows.append(
            (
                mechanism_title(record.mechanism),
                found.verdict.value,
                covers,
                f"{found.failure_probability:.6g}",
                _certain(found.mu, digits) or str(found.mu),
                "yes" if found.certified else "no",
            )
        )
    return table_text(rows) + "".join(why)


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of texts as aligned columns, the first row their names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def laid_out(title: str, rows: Iterable[Row], width: int, *, colour: bool = False) -> str:
    """Return a title and what is said under it as lines of text.

    Args:
        title: what is spoken of, such as :func:`mechanism_title`.
        rows: what is said of it.
        width: as for :func:`to_text`.
        colour: likewise.
    """
    width = max(width, _NARROWEST)
    lines = _wrap(title, width, "  ")
    lines.append("")
    rows = list(rows)
    labels = max(_LABEL_WIDTH, *(len(row.label) + 1 for row in rows))
    for row in rows:
        beside = row.text
        if isinstance(beside, str):
            beside = tuple(_wrap(beside, width - labels))
        for label, line in zip((row.label, *[""] * len(beside)), beside, strict=False):
            shown = f"\x1b[{row.colour}m{line}\x1b[0m" if colour and row.colour else line
            lines.append(f"{label:<{labels}}{shown}")
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


def identification_to_text(found: Identification, width: int) -> str:
    """Return a verdict, of which the mechanism is not known, as lines of text."""
    return laid_out("identification", _rows(found, width - _LABEL_WIDTH, None), width)


def _rows(found: Identification | Measurement, width: int, digits: int | None) -> Iterator[Row]:
    yield Row("Verdict", found.verdict_sentence, _COLOURS[found.verdict])
    yield Row("Because", found.reason)
    yield Row("δ(ε)", found.profile_is.sentence)
    if isinstance(found, Measurement):
        yield from measured_rows(found, width, digits)
        yield from _beside(found, digits)
    yield Row("Tail", tail_text(found))
    if isinstance(found, Measurement):
        yield from _how(found)


def measured_rows(found: Measurement, width: int, digits: int | None = None) -> Iterator[Row]:
    """Return μ and the statement that it is for, with its ε_h and p."""
    mu = found.mu
    ends = certain_and_ends(mu, width, digits)
    if found.profile_is is Nature.BOUND and mu.low == mu.high and mu.low.is_finite():
        ends = (f"{mu}, the least that covers this bound",)
    yield Row("μ", ends, _BOLD)
    yield Row("Covers", found.statement.sentence)
    if found.eps_h is not None:
        yield Row("ε_h", number_text(found.eps_h))
    if found.statement is not Statement.WHOLE:
        yield Row("p", _failure(found))


def _beside(found: Measurement, digits: int | None) -> Iterator[Row]:
    if found.statement is not Statement.WHOLE:
        if found.by_failure:
            yield Row("μ by p", tuple(_by_failure(found)))
        yield Row("Whole range", _whole_range(found, digits))
    at = (
        "in the limit ε → ∞"
        if math.isinf(found.attained_at)
        else f"at ε = {found.attained_at:.12g}"
    )
    yield Row("Attained", at)


def _how(found: Measurement) -> Iterator[Row]:
    # with it comes SciPy, which is slow to import
    from gdpbridge.measure.floats import NOT_PROVED

    yield Row("Proof", found.proof.why)
    work = f"{_count(found.cells, 'cell')}, {_count(found.evaluations, 'evaluation')}"
    yield Row("Method", f"{found.method}: {work}, {_duration(found.seconds)}")
    notes = [note for note in found.notes if note != NOT_PROVED]
    for label, note in zip(("Notes", *[""] * len(notes)), notes, strict=False):
        yield Row(label, note)


def _by_failure(found: Measurement) -> Iterator[str]:
    """A line for each failure probability, the upper end of μ in the second column."""
    yield f"{'p':<8}μ at most"
    for p, mu in found.by_failure:
        undecided = f"   undecided, at least {mu.low}" if p in found.undecided else ""
        yield f"{p:<8g}{_end(mu.high)}{undecided}"


def _end(value: Decimal) -> str:
    return "∞" if value.is_infinite() else str(value)


def certain_and_ends(mu: Interval, width: int, digits: int | None = None) -> tuple[str, ...]:
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


def _failure(found: Measurement) -> str:
    p, log = found.failure_probability, found.log_failure_probability
    if found.statement is Statement.APPROXIMATE:
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
    return rounded_up(p)


def rounded_up(value: float) -> str:
    """Return an upper bound in six digits, or as it was written: a p of 1e-05 for 1e-5."""
    if number_text(value) == f"{value:.6g}":
        return number_text(value)
    return f"{float(decimal_ceiling(Fraction(value), 6)):.6g}"


def _whole_range(found: Measurement, digits: int | None) -> str:
    mu = found.whole_range_mu
    if mu is None:
        return "not known"
    if mu.low.is_infinite() and found.profile_is is Nature.OWN:
        return "no finite μ holds for every ε ≥ 0"
    if mu.low.is_infinite():
        return f"no finite μ for every ε ≥ 0 follows from {found.profile_is.subject}"
    shown = f"= {_certain(mu, digits)}" if mu.certain else f"in {mu}"
    return f"μ {shown} holds for every ε ≥ 0"


def tail_text(found: Identification | Measurement) -> str:
    """Return μ_t and how it is known."""
    mu_t = found.mu_tail
    if mu_t is None:
        return "μ_t is not known"
    value = "∞" if mu_t.low.is_infinite() else _certain(mu_t, 10) or str(mu_t)
    how = {TailStatus.PROVED: "proved", TailStatus.ESTIMATED: "estimated, not proved"}
    return f"μ_t = {value}, {how[found.tail_status]}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(1, round(1000 * seconds))} ms"
