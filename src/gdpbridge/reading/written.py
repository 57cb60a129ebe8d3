"""Numbers as people write them: decimal commas, thousands, percent; read as one thing or refused.

A sign that may be a decimal comma or a mark of thousands is read by what the rest of the table
says. Where nothing says it, both readings are named and the table is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gdpbridge.errors import InputError, Words

__all__ = ["plain_numbers"]

_EXPONENT = re.compile(r"[eE%]")
_SPACES = re.compile(r"(?<=\d)[ '\u00a0\u2009\u202f\u2019](?=\d{3}(?!\d))")
# 10^-5, 1x10^-5, 1·10⁻⁵
_POWER = re.compile(
    r"(?:([+-]?[\d.,]+)\s*[x×·*]\s*)?10(?:\^\(?([+-]?\d+)\)?|([⁺⁻]?[⁰¹²³⁴-⁹]+))", re.ASCII
)
_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_GROUPS = {
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+"),
    ".": re.compile(r"[1-9]\d{0,2}(\.\d{3})+"),
}
_OTHER = {",": ".", ".": ","}


def plain_numbers(
    columns: Sequence[Sequence[str]], numbers: Sequence[int], symbols: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """Return columns of numbers as plain decimals, and what was understood, as sentences.

    Args:
        columns: texts, which need not be numbers: what is none stays as it is.
        numbers: the row of each, as the user counts.
        symbols: the name of each column's number, for errors.

    Raises:
        InputError: for a number with two readings, or percent of what is no probability.
    """
    columns = [[_powered(text.strip()) for text in column] for column in columns]
    texts = [[_SPACES.sub("", text) for text in column] for column in columns]
    point, notes = _point(texts, numbers, symbols)
    if texts != columns:
        notes.append("spaces and apostrophes within numbers are read as marks of thousands")
    found = [[_plain(text, point) for text in column] for column in texts]
    for column, symbol in zip(found, symbols, strict=True):
        for index, text in enumerate(column):
            if not text.endswith("%"):
                continue
            if symbol == "ε" or symbol.startswith("log"):
                where = f"{symbol} in row {numbers[index]}"
                raise InputError(where, text, "a number that is no percentage")
            column[index] = _hundredth(text[:-1].strip())
            if _PERCENT not in notes:
                notes.append(_PERCENT)
    return found, notes


_PERCENT = "numbers with a percent sign are read as hundredths"


def _powered(text: str) -> str:
    """Return a number with an exponent where it has a power of ten."""
    text = text.replace("−", "-")
    found = _POWER.fullmatch(text)
    if found is None:
        return text
    return f"{found[1] or 1}e{found[2] or found[3].translate(_RAISED)}"


def _point(
    texts: Iterable[Sequence[str]], numbers: Sequence[int], symbols: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the decimal sign, and what is to be said of it."""
    sure: dict[str, str] = {}
    doubtful: dict[str, tuple[str, str]] = {}
    for column, symbol in zip(texts, symbols, strict=True):
        for number, text in zip(numbers, column, strict=True):
            digits = _EXPONENT.split(text, 1)[0].rstrip()
            where = f"{symbol} in row {number}"
            if (point := _evidence(digits)) is not None:
                sure.setdefault(point, f"{text!r} ({where})")
            for mark in ",.":
                if _GROUPS[mark].fullmatch(digits) and digits.count(mark) == 1:
                    doubtful.setdefault(mark, (where, text))
    if len(sure) == 2:
        both = " and ".join(sure.values())
        raise InputError("table", Words(f"one with {both}"), "written with one decimal sign")
    point = next(iter(sure), ".")
    # a point is a decimal point unless something else is a decimal comma
    if "," in doubtful and not sure:
        _refuse(*doubtful[","], ",")
    if point == "," and "." in doubtful:
        _refuse(*doubtful["."], ".")
    if point == ",":
        told = "commas are read as decimal commas"
        pointed = any("." in text for column in texts for text in column)
        return point, [f"{told}, points as marks of thousands" if pointed else told]
    marked = "," in doubtful or any("," in text for column in texts for text in column)
    return point, ["commas within numbers are read as marks of thousands"] if marked else []


def _evidence(digits: str) -> str | None:
    """Return the decimal sign that a number can only have, None if it tells nothing."""
    commas, points = digits.count(","), digits.count(".")
    if commas and points:
        last = "," if digits.rfind(",") > digits.rfind(".") else "."
        return last if digits.count(last) == 1 else None
    if commas + points == 0:
        return None
    mark = "," if commas else "."
    if commas + points > 1:
        return _OTHER[mark] if _GROUPS[mark].fullmatch(digits) else None
    whole, _, rest = digits.partition(mark)
    number = (whole.lstrip("+-") + rest).isdigit()
    return mark if number and not _GROUPS[mark].fullmatch(digits) else None


def _refuse(where: str, text: str, mark: str) -> None:
    readings = text.replace(mark, "."), text.replace(mark, "")
    advice = f"a number with one reading: it may be {readings[0]} or {readings[1]}"
    raise InputError(where, text, advice)


def _plain(text: str, point: str) -> str:
    thousands = _OTHER[point]
    if thousands not in text and point == ".":
        return text
    digits = _EXPONENT.split(text, 1)[0]
    whole = digits.split(point, 1)[0]
    if thousands in digits and not _GROUPS[thousands].fullmatch(whole.lstrip("+-")):
        return text
    return text.replace(thousands, "").replace(point, ".")


def _hundredth(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    # what is no number is refused as it is written
    return (
        f"{mantissa}e{int(exponent or 0) - 2}"
        if exponent.lstrip("+-").isdigit() or not exponent
        else text
    )
