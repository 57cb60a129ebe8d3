"""Cells as the checker accepts them.

The search and the checker enclose a cell a little differently, so each cell is checked once when it
is written, and split where the checker needs it narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdpbridge.certificate.binaries import binary_text, optional_binary_text
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.proof import ProvedCell
from gdpbridge.errors import UndecidedError
from gdpbridge_verify.document import Cell
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import OutOfWork

__all__ = ["all_accepted", "require_far_enough"]

_MAX_SPLITS = 40
# after so many cells it may be plain that all of them are so many times what is allowed
_LOOKED, _PLAINLY = 32, 2


def all_accepted(
    checker: CellChecker, directions: Sequence[Sequence[ProvedCell]]
) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells of each direction as the checker accepts them.

    Raises:
        UndecidedError: if the checker cannot be convinced of one.
        OutOfWork: if all of them are more work than it allows, as soon as that is plain.
    """
    found: list[tuple[Cell, ...]] = []
    total, done = sum(map(len, directions)), 0
    for number, cells in enumerate(directions):
        of_one: list[Cell] = []
        for proved in cells:
            of_one += _accepted(checker, proved, number)
            done += 1
            if done >= _LOOKED and checker.share_spent * total > _PLAINLY * done:
                raise OutOfWork
        found.append(tuple(of_one))
    return tuple(found)


def require_far_enough(checker: CellChecker, directions: Sequence[Sequence[Cell]]) -> None:
    """Try whether each direction's cells, if it has any, end where no more are needed.

    Raises:
        UndecidedError: if the checker sees more of δ there than the search did.
    """
    for number, cells in enumerate(directions):
        if cells and not checker.proves_beyond(binary(cells[-1].high), number):
            raise UndecidedError("where the cells end could not be certified")


def _accepted(
    checker: CellChecker, proved: ProvedCell, direction: int, splits: int = 0
) -> Iterator[Cell]:
    """Yield a cell, or the parts of it, that the checker accepts.

    Args:
        checker: the checker of the document.
        proved: the cell as the search proved it.
        direction: of a composed loss, which one the cell is of.
        splits: how often it was split.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    cell = Cell(
        low=binary_text(proved.low),
        high=binary_text(proved.high),
        centre=optional_binary_text(proved.centre),
    )
    if checker.proves(cell, direction):
        yield cell
        return
    if splits == _MAX_SPLITS:
        raise UndecidedError(f"the cell at ε = {float(proved.low):.12g} could not be certified")
    middle = (proved.low + proved.high) / 2
    for low, high in ((proved.low, middle), (middle, proved.high)):
        centre = None if proved.centre is None else min(max(proved.centre, low), high)
        yield from _accepted(checker, ProvedCell(low, high, centre), direction, splits + 1)
