"""Rows of small files with named columns: CSV, TSV, or a list of JSON objects."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from gdpbridge.errors import InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.numeric.exact import exact, rational_text
from gdpbridge.reading.sheets import decoded, rows_of, sheet_of
from gdpbridge.reading.tables import MAX_BYTES
from gdpbridge.reading.written import plain_numbers

__all__ = ["column", "exact_number", "named_rows", "pairs_of_file", "too_long_because"]

Rows = list[tuple[int, list[Any]]]


def named_rows(name: str, holds: str) -> tuple[list[str], Rows]:
    """Read the names of the columns, in lower case, and the rows with their numbers.

    Args:
        name: a file, or - for standard input.
        holds: what its rows are, as words that follow "rows of".

    Raises:
        InputError: for a file that cannot be read.
    """
    text = decoded(read_bounded(name, MAX_BYTES), None)
    if text.lstrip().startswith(("[", "{")):
        return _json_rows(text)
    return _text_rows(text, holds)


def _text_rows(text: str, holds: str) -> tuple[list[str], Rows]:
    sheet = sheet_of(text)
    try:
        rows = list(rows_of(sheet, 0))
    except csv.Error as error:
        raise InputError("file", Words(str(error)), "cells without stray quotes") from None
    if not rows:
        raise InputError("file", Words("empty"), f"a file with rows of {holds}")
    names = [cell.lower() for cell in rows[0][1]]
    if any(len(row) != len(names) for _, row in rows):
        return names, list(rows[1:])
    numbers = [number for number, _ in rows[1:]]
    columns = list(zip(*(row for _, row in rows[1:]), strict=True)) or [()] * len(names)
    plain, _ = plain_numbers(columns, numbers, names)
    return names, list(zip(numbers, map(list, zip(*plain, strict=True)), strict=True))


def _json_rows(text: str) -> tuple[list[str], Rows]:
    try:
        data = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "file", Words(f"JSON that breaks off ({error})"), "a JSON document"
        ) from None
    if not isinstance(data, list) or not data or not all(isinstance(row, dict) for row in data):
        raise InputError("file", Words("JSON of another shape"), "a list of objects, at least one")
    names = list(data[0])
    rows = []
    for number, row in enumerate(data, 1):
        if set(row) != set(names):
            raise InputError(f"row {number}", ", ".join(row), f"an object of {', '.join(names)}")
        rows.append((number, [row[name] for name in names]))
    return [name.lower() for name in names], rows


def column(names: Sequence[str], known: Sequence[str]) -> int:
    """Return where the column of one of some names is.

    Raises:
        InputError: if there is none.
    """
    for name in known:
        if name in names:
            return names.index(name)
    raise InputError("the first row", ", ".join(names), f"column names, one of them {known[0]}")


def pairs_of_file(
    name: str, first: Sequence[str], second: Sequence[str], holds: str
) -> list[tuple[str, str]]:
    """Read two columns as text, each by any of its names.

    Raises:
        InputError: for a file that cannot be read, or has no such columns.
    """
    names, rows = named_rows(name, holds)
    places = column(names, first), column(names, second)
    for number, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"row {number}", Words(f"of {len(row)} cells"), f"of {len(names)} cells"
            )
    return [(str(row[places[0]]).strip(), str(row[places[1]]).strip()) for _, row in rows]


def exact_number(field: str, value: Any, allowed: str) -> Fraction | None:
    """Return a number as it is written, None for infinity.

    Raises:
        InputError: for what is no number.
    """
    if not isinstance(value, str) and hasattr(value, "__float__"):
        value = repr(float(value)) if not isinstance(value, int) else value
    if str(value).lower() in ("inf", "infinity", "+inf"):
        return None
    try:
        return exact(value)
    except ValueError:
        raise InputError(field, value, allowed) from None


def too_long_because(rows: Iterable[Sequence[Fraction | None]]) -> str:
    """Return why a certificate cannot hold some rows, as a sentence; empty if it can."""
    from gdpbridge_verify.evidence import MAX_NUMBER

    numbers = (one for row in rows for one in row if one is not None)
    if all(len(rational_text(one)) <= MAX_NUMBER for one in numbers):
        return ""
    return f"there is no certificate for numbers of over {MAX_NUMBER} characters"
