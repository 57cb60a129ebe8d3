"""A data set's history as a file, which another ledger can import: JSON Lines or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TextIO

from gdpbridge.errors import InputError, Words
from gdpbridge.ledger.entries import Entry, entry_from

__all__ = ["FORMATS", "read_entries", "write_entries"]

FORMATS = ("jsonl", "csv")

_NAMES = [one.name for one in fields(Entry)]
_WHOLE_NUMBERS = ("number", "refers")
_NESTED = ("mechanism", "details")
# no entry is longer: a mechanism has at most a megabyte
_LONGEST_LINE = 4 * 2**20


def write_entries(entries: Iterable[Entry], file: TextIO, format: str = "jsonl") -> int:
    """Write entries, one a line, with all that their hashes cover; return how many.

    Args:
        entries: the entries.
        file: a text file; for CSV opened with ``newline=""``.
        format: "jsonl" or "csv".
    """
    _check(format)
    count = 0
    writer = csv.writer(file, lineterminator="\n") if format == "csv" else None
    if writer is not None:
        writer.writerow(_NAMES)
    for entry in entries:
        count += 1
        document = entry.document()
        if writer is None:
            file.write(json.dumps(document, allow_nan=False) + "\n")
        else:
            writer.writerow([_cell(name, document[name]) for name in _NAMES])
    return count


def read_entries(file: TextIO, format: str = "jsonl") -> Iterator[Entry]:
    """Yield the entries that :func:`write_entries` wrote, one at a time.

    Raises:
        InputError: for a line that is no entry.
    """
    _check(format)
    lines = _json_lines(file) if format == "jsonl" else _csv_lines(file)
    number = 0
    while True:
        number += 1
        try:
            try:
                document = next(lines)
            except StopIteration:
                return
            entry = entry_from(document)
        except (ValueError, TypeError, KeyError, RecursionError, csv.Error):
            raise InputError(
                f"line {number}", Words("not an entry"), "an entry of a ledger"
            ) from None
        yield entry


def _json_lines(file: TextIO) -> Iterator[dict[str, object]]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError("too long")
        yield json.loads(line)


def _csv_lines(file: TextIO) -> Iterator[dict[str, object]]:
    for row in csv.DictReader(file, strict=True):
        yield {name: _value(name, text) for name, text in row.items()}


def _cell(name: str, value: object) -> str:
    """A value as text: nothing for None, quotes for an empty text, so that all can be read back."""
    if value is None:
        return ""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value in ("", "''") else _safe(value)
    return json.dumps(value)


def _safe(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "'", '"')) else text


def _value(name: str, text: str) -> object:
    if text == "":
        return None
    if name in (*_WHOLE_NUMBERS, *_NESTED, "certified") or text.startswith('"'):
        return json.loads(text)
    return text.removeprefix("'")


def _check(format: str) -> None:
    if format not in FORMATS:
        raise InputError("format", format, " or ".join(FORMATS))
