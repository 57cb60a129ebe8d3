"""The smaller one of two curves at each ε, where both are upper bounds of the same profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import MorePrecisionError, certainly
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import FLOATS, SERIES

__all__ = ["least_pieces"]

# where two curves cross is searched for on so many points, evenly in log ε, from here on
_POINTS = 600
_LEAST_EPS = 1e-9
_BISECTIONS = 60
_NEWTON_STEPS = 60
_SLACK_BITS = 16


def least_pieces(first: SmoothCurve, second: SmoothCurve) -> tuple[Piece, ...]:
    """Return the pieces of whichever curve is the smaller one, from one crossing to the next.

    The crossings are searched for in floats, as far out as can be asked, and enclosed in balls. At
    one of them both curves are the same: what is returned is an upper bound that does not rise,
    even if one was overlooked.
    """
    grid = np.append(0.0, np.geomspace(_LEAST_EPS, MAX_EPS, _POINTS))
    ahead = _float_lead(first, second, grid)
    # where they agree as far as floats tell, nothing is said
    known = np.flatnonzero(ahead != 0)
    if not known.size:
        return first.pieces
    order = (first, second) if ahead[known[0]] < 0 else (second, first)
    crossings = [
        Crossing(first, second, _bisected(first, second, grid[low], grid[high]))
        for low, high in pairwise(known.tolist())
        if (ahead[low] < 0) != (ahead[high] < 0)
    ]
    pieces: list[Piece] = []
    for number in range(len(crossings) + 1):
        low = crossings[number - 1] if number else None
        high = crossings[number] if number < len(crossings) else None
        pieces += _between(order[number % 2], low, high)
    return tuple(pieces)


def _float_lead(first: SmoothCurve, second: SmoothCurve, eps: Floats) -> Floats:
    log, complement = first.logs(eps)
    other, other_complement = second.logs(eps)
    # whichever of δ and 1 - δ is the smaller one tells more
    with np.errstate(invalid="ignore"):
        found = np.where(log < -np.log(2), log - other, other_complement - complement)
    return np.nan_to_num(found)


def _bisected(first: SmoothCurve, second: SmoothCurve, low: float, high: float) -> float:
    sign = np.sign(_float_lead(first, second, np.array([low]))[0])
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        same = np.sign(_float_lead(first, second, np.array([middle]))[0]) == sign
        low, high = (middle, high) if same else (low, middle)
    return (low + high) / 2


def _between(curve: SmoothCurve, low: Crossing | None, high: Crossing | None) -> list[Piece]:
    """Return the pieces of a curve between two crossings."""
    starts = [FLOATS.constant(piece.start) for piece in curve.pieces]
    begin, end = (low.near if low else 0.0), (high.near if high else np.inf)
    found = []
    for piece, start, stop in zip(curve.pieces, starts, [*starts[1:], np.inf], strict=True):
        if start >= end or stop <= begin:
            continue
        if low is not None and start <= begin:
            found.append(Piece(low, piece.formula, piece.by_chords))
        else:
            found.append(piece)
    return found


@dataclass
class Crossing:
    """Where two curves cross, as a constant.

    Attributes:
        first: a curve.
        second: the other one.
        near: the place as floats find it.
    """

    first: SmoothCurve
    second: SmoothCurve
    near: float
    _known: dict[int, arb] = field(default_factory=dict)

    def __call__(self) -> arb:
        """Enclose it at the working precision: the difference changes its sign there."""
        bits = working_precision()
        if bits not in self._known:
            self._known[bits] = self._enclosed()
        return self._known[bits]

    def _enclosed(self) -> arb:
        point = self._polished()
        unit = point * arb(2) ** (_SLACK_BITS - working_precision())
        for _ in range(working_precision() // 2):
            low, high = (point - unit).lower(), (point + unit).upper()
            signs = [self._sign(end) for end in (low, high)]
            if signs[0] * signs[1] < 0:
                return low.union(high)
            unit *= 4
        raise MorePrecisionError("two curves could not be told apart near where they cross")

    def _polished(self) -> arb:
        point = arb(self.near)
        unit = arb(2) ** (_SLACK_BITS // 2 - working_precision())
        for _ in range(_NEWTON_STEPS):
            at = arb_series([point, 1], 2)
            one, other = (
                curve.pieces_on(point, point)[0].formula(at, SERIES).log()
                for curve in (self.first, self.second)
            )
            step = ((one[0] - other[0]) / (one[1] - other[1])).mid()
            if not step.is_finite():
                break
            point = (point - step).mid()
            if certainly(abs(step) <= point * unit):
                break
        return point

    def _sign(self, eps: arb) -> int:
        one, other = (curve.enclose(eps).log() for curve in (self.first, self.second))
        if certainly(one > other):
            return 1
        return -1 if certainly(one < other) else 0
