"""A record as text for this terminal, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdpbridge.cli.output import has_colour, is_unicode, text_width
from gdpbridge.report.record import MeasurementRecord, Record, Schema, UndecidedRecord

if TYPE_CHECKING:
    from gdpbridge.report.answers import Answer

__all__ = ["answered", "as_json_text", "rendered", "several"]


def as_json_text(document: object) -> str:
    """Return a record or other plain data as the JSON document for standard output."""
    from gdpbridge.report.json import to_json

    return to_json(document, ascii_only=not is_unicode(sys.stdout)) + "\n"


def rendered(record: Record, *, as_json: bool, digits: int | None = None) -> str:
    """Render a record for standard output.

    Args:
        record: what to show.
        as_json: whether JSON is asked for.
        digits: the most decimal places of μ to show as text; all that are certain if None.
    """
    if as_json:
        return as_json_text(record)
    from gdpbridge.report.text import to_text

    return to_text(record, text_width(), colour=has_colour(sys.stdout), digits=digits)


def several(
    records: Sequence[MeasurementRecord | UndecidedRecord],
    *,
    as_json: bool,
    digits: int | None = None,
) -> str:
    """Render measurements as a table, a line each; as one document where JSON is asked for."""
    if as_json:
        return as_json_text(
            {"schema": Schema("gdpbridge.measurements", 1), "measurements": records}
        )
    from gdpbridge.report.text import measured_table

    return measured_table(records, digits)


def answered(answer: Answer, *, as_json: bool) -> str:
    """Render an answer for standard output."""
    from gdpbridge.report.answers import ConversionRecord, answer_to_text

    if as_json:
        return as_json_text(answer.document() if isinstance(answer, ConversionRecord) else answer)
    return answer_to_text(answer, text_width(), colour=has_colour(sys.stdout))
