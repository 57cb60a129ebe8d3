"""Rows of (ε, δ) pairs as they are written: from text, and checked to be guarantees.

A number is kept as the text it was written as, so that a proof can take it exactly, beside the
float64 that does the bulk of the work.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdpbridge.errors import InputError, Words
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import MAX_DIGITS, exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball
from gdpbridge.reading.cells import Picked, Shortest, cut, may_be_rounded
from gdpbridge.reading.headers import Columns, Found, find_columns
from gdpbridge.reading.sheets import Sheet, rows_of, sheet_of, split_line
from gdpbridge.reading.written import plain_numbers

__all__ = ["Rows", "rows_of_numbers", "rows_of_text"]

MAX_EPS = 1e5

# one way to match each text: with two, a long one that is no number takes the square of its length
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# lines that may each be one number
_COMMAS = re.compile(r"(\d+,\d+\n?)+", re.ASCII)
_SWAPPED = "the first column, of numbers up to 1, is read as δ, and the second as ε"
_LEAST_NORMAL = 1e-300
# of numbers that are too long to be fractions
_CEILING = Context(prec=3000, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)


@dataclass(frozen=True, eq=False)
class Rows:
    """Guarantees, as written and as floats.

    Attributes:
        eps_text: each ε as written.
        delta_text: each δ, or log δ, as written.
        numbers: how the user counts the rows.
        is_log: whether the second number is log δ.
        eps: each ε.
        log_delta: each log δ.
        delta: each δ, 0 where it underflows.
        notes: how they were read, where that is not plain, as sentences.
    """

    eps_text: Sequence[str]
    delta_text: Sequence[str]
    numbers: NDArray[np.int64]
    is_log: bool
    eps: Floats
    delta_or_log: Floats
    notes: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        arrays = (self.eps, other.eps), (self.delta_or_log, other.delta_or_log)
        if self.is_log != other.is_log or not all(np.array_equal(*pair) for pair in arrays):
            return False
        texts = (self.eps_text, other.eps_text), (self.delta_text, other.delta_text)
        return all(_same(*pair) for column in texts for pair in zip(*column, strict=True))

    def __hash__(self) -> int:
        return hash((self.is_log, self.eps.tobytes(), self.delta_or_log.tobytes()))

    @cached_property
    def delta(self) -> Floats:
        """Each δ as a float, 0 where it underflows."""
        return np.exp(self.delta_or_log) if self.is_log else self.delta_or_log

    @cached_property
    def log_delta(self) -> Floats:
        """Each log δ as a float."""
        if self.is_log:
            return self.delta_or_log
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.delta)
        # a δ that a float cannot hold is not 0
        for index in may_be_rounded(self.delta_text, self.delta < _LEAST_NORMAL):
            value = exact(self.delta_text[index])
            if value:
                with precision(128):
                    logs[index] = float(ball(value).log())
        return logs

    def take(self, indices: NDArray[np.int64]) -> Rows:
        """Return some of the rows, in a given order."""
        return Rows(
            Picked(self.eps_text, indices),
            Picked(self.delta_text, indices),
            self.numbers[indices],
            self.is_log,
            self.eps[indices],
            self.delta_or_log[indices],
            self.notes,
        )


def _same(one: str, two: str) -> bool:
    return one.strip() == two.strip() or exact(one.strip()) == exact(two.strip())


def rows_of_text(text: str, columns: Columns) -> Rows:
    """Read a table from text: CSV, TSV or JSON, told apart by what it looks like.

    Raises:
        InputError: for what is not a table of guarantees, naming the row.
    """
    start = text.lstrip()
    if not start:
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    if start[0] in "[{":
        return _of_json(text, columns)
    return _of_lines(sheet_of(text), columns)


def rows_of_numbers(eps: Sequence[str], delta: Sequence[str], *, is_log: bool) -> Rows:
    """Check numbers given as text, counting from 1.

    Raises:
        InputError: for the first that is not a guarantee, naming the row.
    """
    if not len(eps):
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    return _strict(eps, delta, None, is_log)


# --- text ---------------------------------------------------------------------------------------


def _of_lines(sheet: Sheet, columns: Columns) -> Rows:
    if not sheet.numbers.size:
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    names = split_line(sheet.head, sheet.separator)
    headed = not all(map(_looks_like_number, names))
    notes = list(sheet.notes)
    if not headed and (above := _header(sheet, len(names))):
        names, first = above, 0
        notes.append("column names taken from the comment above the numbers")
        headed = True
    else:
        first = int(headed)
    if not headed and (len(names) != 2 or columns != Columns()):
        allowed = "column names, unless the table is two columns, ε and δ"
        raise _bad(int(sheet.numbers[0]), sheet.head, allowed)
    found = find_columns(names, columns) if headed else Found(0, 1, False, False, ())
    if sheet.numbers.size == first:
        raise InputError(
            "table", Words("a line of column names alone"), "a table with rows of ε and δ"
        )
    if headed:
        rows = _read(sheet, first, len(names), found)
    else:
        rows = _unnamed(lambda found: _read(sheet, 0, 2, found))
        if _SWAPPED in rows.notes and sheet.separator == "," and _COMMAS.fullmatch(sheet.text):
            told = f"of two columns with names, as it may be {' and '.join(names)} or a number"
            raise _bad(int(sheet.numbers[0]), sheet.head, f"{told} with a decimal comma")
        if not rows.notes:
            notes.append("without column names, the first is read as ε, the second as δ")
    return replace(rows, notes=(*notes, *found.notes, *rows.notes))


def _looks_like_number(cell: str) -> bool:
    plain, _ = plain_numbers([[cell.replace(",", ".")]], [1], ["δ"])
    return bool(_NUMBER.fullmatch(plain[0][0]))


def _header(sheet: Sheet, width: int) -> list[str] | None:
    """Return the names that a comment above the numbers gives, if it gives some."""
    names = split_line(sheet.comment, sheet.separator)
    if len(names) != width or not sheet.comment:
        return None
    try:
        find_columns(names, Columns())
    except InputError:
        return None
    return names


def _read(sheet: Sheet, first: int, width: int, found: Found) -> Rows:
    """Read the lines below the names: at once where all is plain, else cell by cell."""
    numbers = sheet.numbers[first:]
    body, separator = sheet.below(first), sheet.separator
    if separator == " ":
        body, separator = "\n".join(",".join(line.split()) for line in body.split("\n")), ","
    quick = None if found.is_percent else cut(body, separator, width)
    if quick is not None:
        texts, values = quick
        eps, delta = values[:, found.eps].copy(), values[:, found.delta].copy()
        eps_text, delta_text = texts[found.eps], texts[found.delta]
        return _checked(eps, delta, eps_text, delta_text, numbers, found.is_log)
    cells, numbers = _cells(sheet, first, width)
    sign = "%" if found.is_percent else ""
    deltas = [row[found.delta].removesuffix(sign) + sign for row in cells]
    columns = [row[found.eps] for row in cells], deltas
    symbols = "ε", "log δ" if found.is_log else "δ"
    plain, notes = plain_numbers(columns, numbers.tolist(), symbols)
    rows = _strict(plain[0], plain[1], numbers, found.is_log)
    return replace(rows, notes=tuple(notes))


def _unnamed(read: Callable[[Found], Rows]) -> Rows:
    """Tell ε and δ apart where no names do.

    Raises:
        InputError: if either column may be either.
    """
    usual = Found(0, 1, False, False, ())
    try:
        rows = read(usual)
    except InputError:
        # a δ above 1, perhaps because it is an ε
        swapped = _swapped(read)
        if swapped is None:
            raise
        return replace(swapped, notes=(*swapped.notes, _SWAPPED))
    doubtful = bool((rows.eps > 0).all() and (rows.eps < rows.delta).all())
    if doubtful and _swapped(read) is not None:
        one, two = rows.eps_text[0].strip(), rows.delta_text[0].strip()
        raise InputError(
            f"row {rows.numbers[0]}",
            f"{one}, {two}",
            f"under column names, as it may be ε = {one}, δ = {two} or δ = {one}, ε = {two}",
        )
    return rows


def _swapped(read: Callable[[Found], Rows]) -> Rows | None:
    """Read the first column as δ, if that makes sense: it falls as ε grows."""
    try:
        rows = read(Found(1, 0, False, False, ()))
    except InputError:
        return None
    falls = np.diff(rows.delta[np.argsort(rows.eps, kind="stable")]) <= 0
    return rows if falls.all() else None


def _cells(sheet: Sheet, first: int, width: int) -> tuple[list[list[str]], NDArray[np.int64]]:
    rows, numbers = [], []
    number = int(sheet.numbers[first])
    try:
        for number, row in rows_of(sheet, first):
            # a line may end in a separator
            if len(row) < width or any(row[width:]):
                told = sheet.separator.join(row)
                raise _bad(number, told, f"{width} cells as in the first row")
            rows.append(row[:width])
            numbers.append(number)
    except csv.Error as error:
        raise _bad(number + 1, str(error), "cells without stray quotes") from None
    return rows, np.array(numbers)


def _of_json(text: str, columns: Columns) -> Rows:
    try:
        data = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            "table", Words(f"JSON that breaks off ({error})"), "a JSON document"
        ) from None
    shape = "a list of pairs, a list of objects, or an object of two lists"
    if isinstance(data, dict):
        names = list(data)
        eps_at, delta_at, is_log, *_ = find_columns(names, columns)
        lists = data[names[eps_at]], data[names[delta_at]]
        if not all(isinstance(part, list) for part in lists) or len(lists[0]) != len(lists[1]):
            raise InputError(
                "table", Words("an object"), "an object of two lists of the same length"
            )
        eps, delta = ([_json_number(cell) for cell in part] for part in lists)
        return _strict(eps, delta, None, is_log)
    if not data:
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    if all(isinstance(row, list) for row in data):
        for number, row in enumerate(data, 1):
            if len(row) != 2:
                raise _bad(number, json.dumps(row), "a pair of ε and δ")
        pairs = [[_json_number(cell) for cell in row] for row in data]
        given = [row[0] for row in pairs], [row[1] for row in pairs]
        return _unnamed(lambda at: _strict(given[at.eps], given[at.delta], None, False))
    if not isinstance(data[0], dict):
        raise InputError("table", type(data[0]).__name__, shape)
    names = list(data[0])
    eps_at, delta_at, is_log, *_ = find_columns(names, columns)
    wanted = names[eps_at], names[delta_at]
    for number, row in enumerate(data, 1):
        missing = [name for name in wanted if not isinstance(row, dict) or name not in row]
        if missing:
            raise _bad(
                number, f"without {missing[0]}", f"an object with {wanted[0]} and {wanted[1]}"
            )
    eps, delta = ([_json_number(row[name]) for row in data] for name in wanted)
    return _strict(eps, delta, None, is_log)


def _json_number(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# --- checks -------------------------------------------------------------------------------------


def _strict(
    eps: Sequence[str], delta: Sequence[str], numbers: NDArray[np.int64] | None, is_log: bool
) -> Rows:
    """Read numbers cell by cell, by a stricter grammar than float() has."""
    if numbers is None:
        numbers = np.arange(1, len(eps) + 1)
    eps, delta = (_rounded_up(column) for column in (eps, delta))
    return _checked(
        _floats(eps, numbers, "ε"),
        _floats(delta, numbers, "log δ" if is_log else "δ"),
        eps,
        delta,
        numbers,
        is_log,
    )


def _rounded_up(texts: Sequence[str]) -> Sequence[str]:
    """Cut vast numbers, upwards: what then stands there follows from what was written.

    Reading a decimal takes time in proportion to its length, a fraction the square of that.
    """
    if isinstance(texts, Shortest) or max(map(len, texts), default=0) <= MAX_DIGITS:
        return texts
    return [
        str(_CEILING.create_decimal(one.strip()))
        if len(one) > MAX_DIGITS and _NUMBER.fullmatch(one.strip())
        else one
        for one in texts
    ]


def _floats(texts: Sequence[str], numbers: NDArray[np.int64], symbol: str) -> Floats:
    if isinstance(texts, Shortest):
        return texts.values.astype(np.float64)
    values = np.empty(len(texts))
    for index, text in enumerate(texts):
        written = text.strip()
        if len(written) > MAX_DIGITS:
            raise _bad(
                numbers[index], written, f"a number of at most {MAX_DIGITS:,} digits", symbol
            )
        if _NUMBER.fullmatch(written):
            values[index] = float(written)
        elif symbol == "log δ" and written.lower() in ("-inf", "-infinity"):
            values[index] = -np.inf
        else:
            raise _bad(numbers[index], written or "empty", "a number", symbol)
    return values


def _checked(
    eps: Floats,
    delta: Floats,
    eps_text: Sequence[str],
    delta_text: Sequence[str],
    numbers: NDArray[np.int64],
    is_log: bool,
) -> Rows:
    _refuse(~((eps >= 0) & (eps <= MAX_EPS)), numbers, "ε", eps_text, f"in [0, {MAX_EPS:g}]")
    symbol, top = ("log δ", 0.0) if is_log else ("δ", 1.0)
    allowed = "at most 0" if is_log else "in [0, 1]"
    outside = ~(delta <= top) if is_log else ~((delta >= 0) & (delta <= top))
    # rounding may bring a number to the end of the range
    for index in may_be_rounded(delta_text, (delta == top) | (delta == 0)):
        outside[index] |= not _within(delta_text[index], is_log)
    _refuse(outside, numbers, symbol, delta_text, allowed)
    return Rows(eps_text, delta_text, numbers, is_log, eps, delta)


def _within(text: str, is_log: bool) -> bool:
    try:
        value = exact(text.strip())
    except ValueError:
        return False
    return value <= 0 if is_log else 0 <= value <= 1


def _refuse(
    outside: NDArray[np.bool_],
    numbers: NDArray[np.int64],
    symbol: str,
    texts: Sequence[str],
    allowed: str,
) -> None:
    if outside.any():
        index = int(np.argmax(outside))
        raise _bad(numbers[index], texts[index].strip(), allowed, symbol)


def _bad(number: int, value: str, allowed: str, symbol: str = "") -> InputError:
    return InputError(f"{symbol} in row {number}" if symbol else f"row {number}", value, allowed)
