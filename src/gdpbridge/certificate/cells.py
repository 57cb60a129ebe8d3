"""Cells as the checker accepts them.

The search and the checker enclose a cell a little differently, so each cell is checked once when it
is written, and split where the checker needs it narrower.
"""

from __future__ import annotations

from collections.abc import Iterator

from gdpbridge.certificate.binaries import binary_text, optional_binary_text
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.proof import ProvedCell
from gdpbridge.errors import UndecidedError
from gdpbridge_verify.document import Cell

__all__ = ["accepted"]

_MAX_SPLITS = 40


def accepted(
    checker: CellChecker, proved: ProvedCell, splits: int = 0, *, direction: int = 0
) -> Iterator[Cell]:
    """Yield a cell, or the parts of it, that the checker accepts.

    Args:
        checker: the checker of the document.
        proved: the cell as the search proved it.
        splits: how often it was split.
        direction: of a composed loss, which one the cell is of.

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
        yield from accepted(checker, ProvedCell(low, high, centre), splits + 1, direction=direction)
