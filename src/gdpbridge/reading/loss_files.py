"""Files of privacy losses: columns loss, probability and, where there are two, direction."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.reading.tables import MAX_BYTES

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
    data = read_bounded(name, MAX_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        raise InputError("file", name, "a readable file (not text in UTF-8)") from None
    if text.lstrip().startswith(("[", "{")):
        names, rows = _json_rows(text)
    else:
        names, rows = _text_rows(text)
    return _by_direction(names, rows)


def _text_rows(text: str) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    first_line = text.partition("\n")[0]
    separator = next((mark for mark in "\t;," if mark in first_line), ",")
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    if not rows:
        raise InputError(
            "file", Words("empty"), "a file with rows of losses and their probabilities"
        )
    return [cell.strip().lower() for cell in rows[0][1]], list(rows[1:])


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
