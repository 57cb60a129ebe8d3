"""Rows of (ε, δ) pairs as they are written: from text, and checked to be guarantees.

A number is kept as the text it was written as, so that a proof can take it exactly, beside the
float64 that does the bulk of the work.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

__all__ = ["Columns", "Rows", "find_columns", "rows_of_numbers", "rows_of_text"]

MAX_EPS = 1e5

_EPS_NAMES = ("eps", "epsilon", "ε")
_DELTA_NAMES = ("delta", "δ")
_LOG_DELTA_NAMES = ("log_delta", "log delta", "logdelta", "log_δ", "log δ", "logδ")

# one way to match each text: with two, a long one that is no number takes the square of its length
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
_LEAST_NORMAL = 1e-300


@dataclass(frozen=True)
class Columns:
    """Which columns to read.

    Attributes:
        eps: the name of the column of ε, None to find it.
        delta: the name of the column of δ, or of log δ, None to find it.
    """

    eps: str | None = None
    delta: str | None = None


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
    """

    eps_text: Sequence[str]
    delta_text: Sequence[str]
    numbers: NDArray[np.int64]
    is_log: bool
    eps: Floats
    delta_or_log: Floats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        texts = (self.eps_text, other.eps_text), (self.delta_text, other.delta_text)
        return self.is_log == other.is_log and all(list(one) == list(two) for one, two in texts)

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
        )


def rows_of_text(text: str, columns: Columns) -> Rows:
    """Read a table from text: CSV, TSV or JSON, told apart by what it looks like.

    Raises:
        InputError: for what is not a table of guarantees, naming the row.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    start = text.lstrip()
    if not start:
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    if start[0] in "[{":
        return _of_json(text, columns)
    return _of_lines(text.rstrip(), columns)


def rows_of_numbers(eps: Sequence[str], delta: Sequence[str], *, is_log: bool) -> Rows:
    """Check numbers given as text, counting from 1.

    Raises:
        InputError: for the first that is not a guarantee, naming the row.
    """
    if not len(eps):
        raise InputError("table", Words("empty"), "a table with rows of ε and δ")
    return _strict(eps, delta, None, is_log)


# --- text ---------------------------------------------------------------------------------------


def _of_lines(text: str, columns: Columns) -> Rows:
    first_line, _, rest = text.partition("\n")
    separator = next((mark for mark in "\t;," if mark in first_line), ",")
    names = [cell.strip() for cell in next(csv.reader([first_line], delimiter=separator), [""])]
    headed = not all(_NUMBER.fullmatch(cell) for cell in names)
    if headed and all(_DECIMAL_COMMA.fullmatch(cell) or _NUMBER.fullmatch(cell) for cell in names):
        raise _bad(1, next(filter(_DECIMAL_COMMA.fullmatch, names)), _NO_COMMA)
    if not headed and (len(names) != 2 or columns != Columns()):
        raise _bad(1, first_line, "column names, unless the table is two columns, ε and δ")
    body, first = (rest, 2) if headed else (text, 1)
    eps_at, delta_at, is_log = find_columns(names, columns) if headed else (0, 1, False)
    if not body:
        raise InputError(
            "table", Words("a line of column names alone"), "a table with rows of ε and δ"
        )
    quick = cut(body, separator, len(names))
    if quick is not None:
        texts, values = quick
        numbers = np.arange(first, first + values.shape[0])
        eps, delta = values[:, eps_at].copy(), values[:, delta_at].copy()
        return _checked(eps, delta, texts[eps_at], texts[delta_at], numbers, is_log)
    cells, numbers = _cells(body, separator, len(names), first)
    eps_text, delta_text = [row[eps_at] for row in cells], [row[delta_at] for row in cells]
    return _strict(eps_text, delta_text, numbers, is_log)


_NO_COMMA = "a number with a decimal point: decimal commas are not read"


def _cells(
    body: str, separator: str, width: int, first: int
) -> tuple[list[list[str]], NDArray[np.int64]]:
    reader = csv.reader(io.StringIO(body), delimiter=separator, strict=True)
    rows, numbers = [], []
    try:
        for row in reader:
            number = first + reader.line_num - 1
            if not any(cell.strip() for cell in row):
                raise _bad(number, "empty", f"{width} cells")
            if len(row) != width:
                raise _bad(number, separator.join(row), f"{width} cells as in the first row")
            rows.append([cell.strip() for cell in row])
            numbers.append(number)
    except csv.Error as error:
        raise _bad(first + reader.line_num - 1, str(error), "cells without stray quotes") from None
    return rows, np.array(numbers)


def find_columns(names: Sequence[str], columns: Columns) -> tuple[int, int, bool]:
    """Return where ε and δ are, and whether δ is its logarithm."""
    plain = [name.strip().lower() for name in names]
    eps = _column(plain, names, "ε", "eps-column", columns.eps, _EPS_NAMES)
    known = _DELTA_NAMES + _LOG_DELTA_NAMES
    delta = _column(plain, names, "δ", "delta-column", columns.delta, known)
    return eps, delta, "log" in plain[delta]


def _column(
    plain: Sequence[str],
    names: Sequence[str],
    symbol: str,
    option: str,
    asked: str | None,
    known: Iterable[str],
) -> int:
    wanted = [asked.strip().lower()] if asked is not None else known
    found = [index for index, name in enumerate(plain) if name in wanted]
    shown = ", ".join(names)
    if asked is not None and not found:
        raise InputError(option.replace("-", "_"), asked, f"one of the columns: {shown}")
    if not found:
        raise InputError(
            "the first row", shown, f"column names, one of them for {symbol} ({', '.join(known)})"
        )
    if len(found) > 1:
        raise InputError("the first row", shown, f"column names, only one of them for {symbol}")
    return found[0]


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
        eps_at, delta_at, is_log = find_columns(names, columns)
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
        return _strict([row[0] for row in pairs], [row[1] for row in pairs], None, False)
    if not isinstance(data[0], dict):
        raise InputError("table", type(data[0]).__name__, shape)
    names = list(data[0])
    eps_at, delta_at, is_log = find_columns(names, columns)
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
    return _checked(
        _floats(eps, numbers, "ε"),
        _floats(delta, numbers, "log δ" if is_log else "δ"),
        eps,
        delta,
        numbers,
        is_log,
    )


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
        elif _DECIMAL_COMMA.fullmatch(written):
            raise _bad(numbers[index], written, _NO_COMMA, symbol)
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
