"""Files of privacy losses: columns loss, probability and, where there are two, direction."""

from __future__ import annotations

from typing import Any

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.reading.named import column, named_rows

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
    return _by_direction(*named_rows(name, "losses and their probabilities"))


def _by_direction(names: list[str], rows: list[tuple[int, list[Any]]]) -> dict[str, Columns]:
    loss_at = column(names, _LOSS)
    mass_at = column(names, _PROBABILITY)
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


def _number(cell: Any, row: int) -> float:
    try:
        if isinstance(cell, bool) or cell is None:
            raise ValueError
        return float(cell)
    except (TypeError, ValueError):
        raise InputError(f"row {row}", cell, "a loss and a probability as numbers") from None
