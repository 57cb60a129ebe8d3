"""Tables from files of text, Parquet files, standard input and data frames; data frames of rows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from gdpbridge.errors import InputError, MissingExtraError, Words
from gdpbridge.files import read_bounded
from gdpbridge.reading.cells import Shortest
from gdpbridge.reading.headers import Columns, find_columns
from gdpbridge.reading.rows import Rows, rows_of_numbers, rows_of_text
from gdpbridge.reading.sheets import decoded

__all__ = ["MAX_BYTES", "frame_of", "rows_of_file", "rows_of_frame"]

# a million rows of two numbers of 20 digits are 40 MB, and take ten times that in memory
MAX_BYTES = 2**28

_PARQUET = b"PAR1"


def rows_of_file(name: str, columns: Columns, encoding: str | None = None) -> Rows:
    """Read a file, or standard input for ``-``.

    Raises:
        InputError: for a file that cannot be read, or is not a table of guarantees.
        MissingExtraError: for a Parquet file without the extra ``tables``.
    """
    data = read_bounded(name, MAX_BYTES)
    if data.startswith(_PARQUET):
        return _of_parquet(data, columns)
    return rows_of_text(decoded(data, encoding), columns)


def _of_parquet(data: bytes, columns: Columns) -> Rows:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("tables", "reading a Parquet file") from None
    try:
        frame = parquet.read_table(io.BytesIO(data))
    except pyarrow.ArrowException as error:
        raise InputError(
            "file", Words(f"Parquet that breaks off ({error})"), "a Parquet file"
        ) from None
    return rows_of_frame(frame, columns)


def rows_of_frame(frame: Any, columns: Columns) -> Rows:
    """Read a data frame.

    Raises:
        InputError: for what is not a data frame, or not a table of guarantees.
        MissingExtraError: without the extra ``tables``.
    """
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("tables", "reading a data frame") from None
    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        allowed = "a data frame of pandas, polars or pyarrow"
        raise InputError("frame", type(frame).__name__, allowed) from None
    names = [str(name) for name in table.columns]
    eps_at, delta_at, is_log, _, notes = find_columns(names, columns)
    given = [_numbers(table[table.columns[at]]) for at in (eps_at, delta_at)]
    return replace(rows_of_numbers(*given, is_log=is_log), notes=notes)


def _numbers(series: Any) -> Sequence[str]:
    """Return a column as text, made when it is asked for where that is possible."""
    values = series.to_numpy()
    if values.dtype == np.float64 or values.dtype.kind in "iu":
        return Shortest(values)
    # the shortest text of a narrow float is another number than that of the same float64
    return [str(value) for value in values]


def frame_of(columns: Mapping[str, Sequence[object]], library: str) -> Any:
    """Return a data frame of a library, such as "pyarrow".

    Raises:
        InputError: for a library that is not known, or not installed.
        MissingExtraError: without the extra ``tables``.
    """
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("tables", "a data frame") from None
    try:
        return narwhals.from_dict(dict(columns), backend=cast(Any, library)).to_native()
    except (ImportError, ValueError):
        allowed = "a library of data frames that is installed, such as pyarrow"
        raise InputError("library", library, allowed) from None
