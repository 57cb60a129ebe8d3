"""Cells of a table as text, cut out or printed only when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.exact import MAX_DIGITS

__all__ = ["Cells", "Cut", "Picked", "Shortest", "cut", "may_be_rounded"]


_PLAIN = b"0123456789eE+-. "
_AT_A_TIME = 1 << 20


class Cells(Sequence[str]):
    """A column of texts."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return Picked(self, np.arange(self._size)[index])
        return self.cell(range(self._size)[index])

    def cell(self, index: int) -> str:
        """Return the text of a cell."""
        raise NotImplementedError


class Shortest(Cells):
    """Numbers as the shortest decimals that they print as."""

    def __init__(self, values: NDArray[Any]) -> None:
        super().__init__(values.size)
        self.values = values

    def cell(self, index: int) -> str:
        """Print a number."""
        return str(self.values[index].item())


class Picked(Cells):
    """Some cells of a column."""

    def __init__(self, base: Sequence[str], indices: Indices) -> None:
        super().__init__(indices.size)
        self.base, self.indices = base, indices

    def cell(self, index: int) -> str:
        """Look the cell up in the column."""
        return self.base[int(self.indices[index])]


class Cut(Cells):
    """Cells as parts of one text."""

    def __init__(self, text: str, starts: Indices, stops: Indices) -> None:
        super().__init__(starts.size)
        self.text, self.starts, self.stops = text, starts, stops

    def cell(self, index: int) -> str:
        """Cut the cell out of the text."""
        return self.text[self.starts[index] : self.stops[index]].strip()


def may_be_rounded(texts: Sequence[str], among: NDArray[np.bool_]) -> list[int]:
    """Return which of some cells may be other numbers than the floats they are read as."""
    if isinstance(texts, Shortest):
        return []
    if isinstance(texts, Cut):
        # as 0, 1.0 and the like, a number of up to three characters is a float
        among = among & (texts.stops - texts.starts > 3)
    return [int(index) for index in np.flatnonzero(among)]


def cut(body: str, separator: str, width: int) -> tuple[list[Cut], Floats] | None:
    """Cut a plain table of numbers into columns of texts, and read the numbers.

    Args:
        body: lines of ``width`` cells.
        separator: what stands between cells.
        width: how many cells a line should have.

    Returns:
        The columns, and the numbers line by line; None for anything that is not plain, such as
        quotes, empty cells or lines of another length.
    """
    if not body.isascii():
        return None
    data = body.encode()
    if data.translate(None, _PLAIN + separator.encode() + b"\n"):
        return None
    codes = np.frombuffer(data, dtype=np.uint8)
    stops = np.append(np.flatnonzero((codes == ord(separator)) | (codes == ord("\n"))), codes.size)
    lines = body.count("\n") + 1
    if stops.size != lines * width:
        return None
    # each line break is where a line's last cell ends
    breaks = stops.reshape(lines, width)[:-1, -1]
    if not (codes[breaks] == ord("\n")).all():
        return None
    starts = np.append(0, stops[:-1] + 1)
    lengths = stops - starts
    if (lengths == 0).any() or lengths.max() > MAX_DIGITS:
        return None
    values = _floats(body.replace("\n", ",").replace(separator, ","), stops.size)
    if values is None:
        return None
    columns = [Cut(body, starts[at::width], stops[at::width]) for at in range(width)]
    return columns, values.reshape(lines, width)


def _floats(text: str, size: int) -> Floats | None:
    """Read so many numbers with commas between them, each by float(); None if one is none."""
    found = np.empty(size)
    at = done = 0
    while done < size:
        # a text for each number takes a hundred bytes a row: only for some at a time
        stop = text.find(",", at + _AT_A_TIME)
        cells = text[at:].split(",") if stop < 0 else text[at:stop].split(",")
        try:
            found[done : done + len(cells)] = np.fromiter(map(float, cells), float, len(cells))
        except ValueError:
            return None
        at, done = stop + 1, done + len(cells)
    return found
