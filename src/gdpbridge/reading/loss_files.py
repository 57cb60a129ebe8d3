"""Files of privacy losses: columns loss, probability and, where there are two, direction."""

from __future__ import annotations

import csv
import json
from typing import Any

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.reading.sheets import decoded, rows_of, sheet_of
from gdpbridge.reading.tables import MAX_BYTES
from gdpbridge.reading.written import plain_numbers

__all__ = ["losses_of_file"]

_LOSS = ("loss", "losses", "privacy_loss", "privacy loss")
_PROBABILITY = ("probability", "mass", "pmf", "p")
_DIRECTION = ("direction", "adjacency")
_DIRECTIONS = ("remove", "add")

Columns = tuple[list[float], list[float]]


def losses_of_file(name: str) -> dict[str, Columns]:
    """Read losses and probabilities by direction; "remove" where no direction is given.

    Args:
        name: a CSV, TSV or JSON file, or - for standard input. JSON: a list of objects.

    Raises:
        InputError: for a file that cannot be read or a row that is no loss.
    """
    text = decoded(read_bounded(name, MAX_BYTES), None)
    if text.lstrip().startswith(("[", "{")):
        names, rows = _json_rows(text)
    else:
        names, rows = _text_rows(text)
    return _by_direction(names, rows)


def _text_rows(text: str) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    sheet = sheet_of(text)
    try:
        rows = list(rows_of(sheet, 0))
    except csv.Error as error:
        raise InputError("file", Words(str(error)), "cells without stray quotes") from None
    if not rows:
        raise InputError(
            "file", Words("empty"), "a file with rows of losses and their probabilities"
        )
    names = [cell.lower() for cell in rows[0][1]]
    numbers = [number for number, _ in rows[1:]]
    cells = [row for _, row in rows[1:]]
    if any(len(row) != len(names) for row in cells):
        return names, list(rows[1:])
    plain, _ = plain_numbers(list(zip(*cells, strict=True)), numbers, names)
    return names, list(zip(numbers, map(list, zip(*plain, strict=True)), strict=True))


def _json_rows(text: str) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    try:
        data = json.loads(text)
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


def _by_direction(names: list[str], rows: list[tuple[int, list[Any]]]) -> dict[str, Columns]:
    loss_at = _column(names, _LOSS)
    mass_at = _column(names, _PROBABILITY)
    direction_at = next((names.index(name) for name in _DIRECTION if name in names), None)
    found: dict[str, Columns] = {}
    for number, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"row {number}", Words(f"of {len(row)} cells"), f"of {len(names)} cells"
            )
        side = "remove" if direction_at is None else str(row[direction_at]).strip().lower()
        if side not in _DIRECTIONS:
            raise InputError(f"row {number}", side, "remove or add")
        losses, masses = found.setdefault(side, ([], []))
        losses.append(_number(row[loss_at], number))
        masses.append(_number(row[mass_at], number))
    if "remove" not in found:
        shown = "of losses for addition alone" if found else "without rows"
        advice = Advice("give losses for removal, or losses without a direction")
        raise InputError("file", Words(shown), advice)
    return found


def _column(names: list[str], known: tuple[str, ...]) -> int:
    for name in known:
        if name in names:
            return names.index(name)
    raise InputError("the first row", ", ".join(names), f"column names, one of them {known[0]}")


def _number(cell: Any, row: int) -> float:
    try:
        if isinstance(cell, bool) or cell is None:
            raise ValueError
        return float(cell)
    except (TypeError, ValueError):
        raise InputError(f"row {row}", cell, "a loss and a probability as numbers") from None
