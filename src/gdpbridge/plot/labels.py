"""Names beside their lines: each where no line and no other name is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gdpbridge.numeric.arrays import Floats

__all__ = ["Canvas", "Place", "places"]

# pixels: of a letter on average, a line of text, the distance of a name from its line
_LETTER, _LINE, _APART = 6.8, 13.0, 6.0
# farther from its line, and what that costs, where there is no room beside it
_FARTHER = ((0.0, 0.0), (14.0, 1.0), (32.0, 1.5))
_HIGH, _DEEP = 10.0, 3.0
# more room than this is no better
_ENOUGH = 5.0
_TRIED = 40


@dataclass(frozen=True)
class Place:
    """A name's left end: data coordinates, and how many pixels from there."""

    x: float
    y: float
    dx: float
    dy: float


@dataclass(frozen=True)
class Canvas:
    """From data to pixels, from the left and from above."""

    width: float
    height: float
    x_domain: tuple[float, float]
    y_domain: tuple[float, float]
    log_x: bool
    log_y: bool

    def pixels(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return where points are drawn, those outside at the edge."""
        across = _share(x, self.x_domain, self.log_x)
        up = _share(y, self.y_domain, self.log_y)
        return self.width * across, self.height * (1 - up)


def _share(values: Floats, domain: tuple[float, float], log: bool) -> Floats:
    low, high = np.log10(domain) if log else domain
    at = np.log10(np.maximum(values, 1e-320)) if log else values
    return np.asarray(np.clip((at - low) / ((high - low) or 1.0), 0.0, 1.0))


def places(
    names: Sequence[str],
    lines: Sequence[tuple[Floats, Floats]],
    canvas: Canvas,
    levels: Sequence[tuple[float, str, bool]] = (),
) -> list[Place]:
    """Return a place for each name.

    Args:
        names: what is written.
        lines: x and y of each line, x ascending, both of the same shape (n,), n ≥ 1.
        canvas: what they are drawn on.
        levels: level lines that are there: height, label at its right end, whether below it.
    """
    drawn = [canvas.pixels(x, y) for x, y in lines]
    taken: list[tuple[float, float, float]] = []
    in_the_way = [_dense(*line) for line in drawn]
    for height, label, is_below in levels:
        across, down = canvas.pixels(np.array(canvas.x_domain), np.full(2, height))
        in_the_way.append(_dense(across, down))
        width = _LETTER * len(label)
        taken.append((canvas.width - width - 4, down[0] + (14.0 if is_below else -4.0), width))
    found = []
    for name, (x, y), (across, down) in zip(names, lines, drawn, strict=True):
        width = _LETTER * len(name)
        best, most = (0, _APART, -_APART), -np.inf
        for place in np.unique(np.linspace(0, x.size - 1, _TRIED).astype(int)):
            for left, below, (more, cost) in product((False, True), (False, True), _FARTHER):
                dx = -width - _APART if left else _APART
                dy = _LINE + 2 + more if below else -_APART - more
                start, base = across[place] + dx, down[place] + dy
                if not (start >= 2 and start + width <= canvas.width - 2):
                    continue
                if not (_LINE <= base <= canvas.height - 4):
                    continue
                room = min(_room(start, base, width, in_the_way), _apart(start, base, width, taken))
                value = min(room, _ENOUGH) + min(room, 60.0) / 60.0 - cost
                if value > most:
                    best, most = (int(place), dx, dy), value
        place, dx, dy = best
        taken.append((across[place] + dx, down[place] + dy, width))
        found.append(Place(float(x[place]), float(y[place]), dx, dy))
    return found


def _dense(across: Floats, down: Floats) -> tuple[Floats, Floats]:
    """Return the points of a line, no more than about two pixels apart."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(across), np.diff(down)))])
    at = np.linspace(0.0, along[-1], int(along[-1] / 2) + 2)
    return np.interp(at, along, across), np.interp(at, along, down)


def _room(start: float, base: float, width: float, drawn: Sequence[tuple[Floats, Floats]]) -> float:
    """Return how far a text is from all lines."""
    found = np.inf
    for across, down in drawn:
        beside = np.maximum(np.maximum(start - across, across - start - width), 0.0)
        above = np.maximum(np.maximum(base - _HIGH - down, down - base - _DEEP), 0.0)
        found = min(found, float(np.hypot(beside, above).min()))
    return found


def _apart(
    start: float, base: float, width: float, taken: Sequence[tuple[float, float, float]]
) -> float:
    """Return how far a text is from those that are there."""
    return min(
        (
            max(abs(base - one[1]) - _LINE, one[0] - start - width, start - one[0] - one[2])
            for one in taken
        ),
        default=np.inf,
    )
