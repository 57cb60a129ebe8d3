"""The run as plain data: the JSON document, and the summary that a person reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from gdpbridge.interval import Interval
from gdpbridge.paper.finding import Finding, Status, as_printed
from gdpbridge.paper.reproduce import Reproduction
from gdpbridge.report.record import Schema
from gdpbridge.report.text import Row, laid_out

__all__ = ["SOURCE", "PaperRecord", "Source", "paper_record", "rounded", "shown", "to_text"]

_PLACES = 8
_PLAIN = range(-4, 7)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Source:
    """What is reproduced."""

    title: str
    authors: str
    venue: str
    address: str


SOURCE = Source(
    title="Identification, Amplification and Measurement: "
    "A bridge to Gaussian Differential Privacy",
    authors="Yi Liu, Ke Sun, Bei Jiang and Linglong Kong",
    venue="NeurIPS 2022",
    address="https://arxiv.org/abs/2210.09269",
)


@dataclass(frozen=True)
class FigureRecord:
    """A figure and its files, named from the folder."""

    name: str
    where: str
    caption: str
    alt_text: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class PaperRecord:
    """A :class:`~gdpbridge.paper.reproduce.Reproduction`; see there and in ``finding``."""

    schema: Schema
    source: Source
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    figures: tuple[FigureRecord, ...]
    seconds: float


def paper_record(done: Reproduction) -> PaperRecord:
    """Make the record of a run."""
    return PaperRecord(
        schema=Schema("gdpbridge.paper", 1),
        source=SOURCE,
        counts={status.value: len(done.of_status(status)) for status in Status},
        findings=done.findings,
        figures=tuple(
            FigureRecord(
                one.name,
                one.where,
                one.caption,
                one.picture.alt_text,
                tuple(f"figures/{one.name}.{ending}" for ending in ("svg", "png", "csv")),
            )
            for one in done.figures
        ),
        seconds=done.seconds,
    )


def to_text(done: Reproduction, folder: Path, width: int, *, colour: bool = False) -> str:
    """Return a summary as lines of text.

    Args:
        done: the run.
        folder: where the page is.
        width: the width to wrap to.
        colour: whether to colour what failed.
    """
    return laid_out("the source paper, reproduced", _rows(done, folder), width, colour=colour)


def _rows(done: Reproduction, folder: Path) -> Iterator[Row]:
    counts = {status: len(done.of_status(status)) for status in Status}
    text = f"{len(done.findings)} checked: {counts[Status.AGREES]} agree with ours"
    if counts[Status.ANSWERED]:
        text += f", {counts[Status.ANSWERED]} are left open by the paper and answered here"
    yield Row("Statements", text)
    for status, label, colour in (
        (Status.DISAGREES, "Disagree", "1;31"),
        (Status.FLAGGED, "Flagged", None),
    ):
        for number, one in enumerate(done.of_status(status)):
            yield Row(label if number == 0 else "", _compared(one), colour)
    yield Row("Figures", f"{len(done.figures)}, as SVG, PNG and CSV, in {folder / 'figures'}")
    yield Row("Page", str(folder / "index.html"))


def _compared(one: Finding) -> str:
    statement = f"{one.where}: {one.what}"
    if isinstance(one.ours, bool):
        return f"{statement}: {'not said there, but so' if one.ours else 'not so'}"
    return f"{statement}: printed {one.printed}, ours {shown(one.ours)}"


def shown(value: Interval | bool | float | int | str, places: int = _PLACES) -> str:
    """Return a value for a reader: the digits that are certain, or as many as matter.

    Args:
        value: what to show.
        places: the most decimal places of an interval's digits.
    """
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case int():
            return f"{value:,}"
        case float():
            return _float(value)
    if value.low.is_infinite():
        return "∞"
    if value.low.adjusted() not in _PLAIN:
        return _scientific(value.low)
    if value.low == value.high:
        return str(value)
    whole, point, certain = value.certain.rstrip("…").partition(".")
    return f"{whole}{point}{certain[:places]}…" if certain else str(value)


def rounded(value: Interval, printed: str) -> str:
    """Return a value rounded to the places of a printed number, if its ends agree that far.

    Args:
        value: an interval; where its ends are rounded apart, its certain digits are shown.
        printed: a decimal number.
    """
    low, high = as_printed(value, printed)
    return str(low) if low == high else shown(value)


def _float(value: float) -> str:
    text = f"{value:.7g}"
    return _scientific(Decimal(value)) if "e" in text else text


def _scientific(value: Decimal) -> str:
    mantissa, _, exponent = format(value, ".5e").partition("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}"
