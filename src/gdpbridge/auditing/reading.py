"""Scores and counts from files: comma-, semicolon- or tab-separated text, or Parquet."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.data import check_cells
from gdpbridge.errors import InputError, MissingExtraError, Words
from gdpbridge.files import read_bounded
from gdpbridge.reading.tables import MAX_BYTES

__all__ = ["counts_of_rates", "read_columns"]

_PARQUET = b"PAR1"
SCORES = ("score", "member")
COUNTS = ("true_positives", "false_positives")
RATES = ("tpr", "fpr")
TOTALS = ("positives", "negatives")
_KNOWN = "columns score and member, true_positives and false_positives, or fpr and tpr"
_FORMATTED = 1e-6


def read_columns(name: str) -> dict[str, NDArray[np.float64]]:
    """Read a file, or standard input for ``-``.

    Args:
        name: a file of text with column names on its first line, or without them and then of two
            columns, score and member; or a Parquet file.

    Returns:
        The columns known here, each of shape (n,), in float64.

    Raises:
        InputError: for a file that cannot be read, lacks columns, or has a cell that is no number.
        MissingExtraError: for a Parquet file without the extra ``tables``.
    """
    data = read_bounded(name, MAX_BYTES)
    columns, first = (_of_parquet(data), 1) if data.startswith(_PARQUET) else _of_text(data)
    for pair in (SCORES, COUNTS, RATES):
        if all(column in columns for column in pair):
            if pair == SCORES:
                check_cells(columns["score"], columns["member"], first)
            return {column: columns[column] for column in (*pair, *TOTALS) if column in columns}
    raise InputError(
        "file", Words(f"one with columns {', '.join(columns) or 'none'}"), f"a table with {_KNOWN}"
    )


def counts_of_rates(
    columns: Mapping[str, NDArray[np.float64]], positives: Any, negatives: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return true and false positives of an ROC, rounded to whole numbers against the attack.

    Raises:
        InputError: for rates outside [0, 1].
    """
    for name in RATES:
        wrong = ~((columns[name] >= 0) & (columns[name] <= 1))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"{name} in row {row + 1}", Words(f"{columns[name][row]:g}"), "a number in [0, 1]"
            )
    # a rate is printed with few digits: a count within its rounding is meant
    right = np.floor(columns["tpr"] * np.asarray(positives, np.float64) + _FORMATTED)
    wrong_ones = np.ceil(columns["fpr"] * np.asarray(negatives, np.float64) - _FORMATTED)
    return right, np.maximum(wrong_ones, 0.0)


def _of_text(data: bytes) -> tuple[dict[str, NDArray[np.float64]], int]:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"row {row}", Words("not UTF-8"), "text in UTF-8, or a Parquet file"
        ) from None
    if not text.strip():
        raise InputError("file", Words("empty"), f"a table with {_KNOWN}")
    head, _, body = text.partition("\n")
    separator = next((mark for mark in "\t;," if mark in head), ",")
    names = [cell.strip().strip('"').lower() for cell in head.split(separator)]
    first = 2
    if all(_is_number(name) for name in names):
        if len(names) != len(SCORES):
            raise InputError("row 1", head, f"column names: {_KNOWN}")
        names, body, first = list(SCORES), text, 1
    wanted = [name for name in dict.fromkeys(names) if name in _USED]
    if not wanted or not body:
        missing = "one without rows" if wanted else f"one with columns {', '.join(names)}"
        raise InputError("file", Words(missing), f"a table with {_KNOWN}")
    places = [names.index(name) for name in wanted]
    try:
        table = np.loadtxt(
            io.StringIO(body), delimiter=separator, usecols=places, comments=None, ndmin=2
        )
    except ValueError:
        raise _bad_cell(body, separator, places, wanted, first) from None
    return {name: table[:, number].copy() for number, name in enumerate(wanted)}, first


_USED = (*SCORES, *COUNTS, *RATES, *TOTALS)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _bad_cell(
    body: str, separator: str, places: list[int], names: list[str], first: int
) -> InputError:
    """Find what could not be read, row by row."""
    for number, line in enumerate(body.split("\n"), first):
        if not line.strip():
            continue
        cells = line.split(separator)
        for place, name in zip(places, names, strict=True):
            if place >= len(cells):
                return InputError(
                    f"row {number}", Words(f"without {name}"), "a row with every column"
                )
            if not _is_number(cells[place].strip()):
                shown = cells[place].strip() or "empty"
                return InputError(f"{name} in row {number}", shown, "a number")
    return InputError("file", Words("not a table"), f"a table with {_KNOWN}")


def _of_parquet(data: bytes) -> dict[str, NDArray[np.float64]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("tables", "reading a Parquet file") from None
    try:
        table = parquet.read_table(io.BytesIO(data))
    except pyarrow.ArrowException as error:
        raise InputError(
            "file", Words(f"Parquet that breaks off ({error})"), "a Parquet file"
        ) from None
    found = {}
    for name in table.column_names:
        if name.lower() in _USED:
            values = table.column(name).to_numpy()
            if values.dtype.kind not in "biuf":
                raise InputError(name, Words(f"of {values.dtype}"), "a column of numbers")
            found[name.lower()] = values.astype(np.float64)
    return found
