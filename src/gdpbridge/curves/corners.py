"""The curve of a trade-off function that is linear between corners of rational numbers.

A test of the errors α and β gives 1 - β - α·e^ε, so that δ(ε) is the upper envelope of the corners'
lines, and a corner with α = 0 a mass at infinity.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.linear import linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, Segments
from gdpbridge.curves.pieces import constant_piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.numeric.kinds import ball

__all__ = ["Corner", "corner_curve", "lower_hull"]

Corner = tuple[Fraction, Fraction]


def lower_hull(points: Iterable[Corner]) -> list[Corner]:
    """Return the corners of the lower convex envelope, by growing α, collinear ones left out."""
    hull: list[Corner] = []
    for point in sorted(set(points)):
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    return hull


def _turn(first: Corner, second: Corner, third: Corner) -> Fraction:
    return (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (
        third[0] - first[0]
    )


def corner_curve(corners: Sequence[Corner], *, cut_off: bool = False) -> Curve:
    """Return δ(ε) of corners with α + β ≤ 1, (0, 1) among them or under them.

    Args:
        corners: of a lower convex envelope, by growing α.
        cut_off: whether less may fail than the first corner says.
    """
    failure = 1 - corners[0][1]
    lines = _CornerLines(corners)
    start = lines.last()
    if not lines.count:
        if not failure:
            return zero_curve()
        return SmoothCurve(
            (constant_piece(Fraction(0), failure),), ConstantTail(Fraction(0), failure)
        )
    kind = PlateauTail if cut_off and failure else ConstantTail
    return linear_curve(lines, kind(start, failure), None if failure else start)


class _CornerLines(ArrayLines):
    """The lines on ε ≥ 0: by falling α, each up to where the next corner's is above it."""

    def __init__(self, corners: Sequence[Corner]) -> None:
        falling = list(reversed(corners))
        crossings: list[Fraction] = [
            (before[1] - after[1]) / (after[0] - before[0]) for before, after in pairwise(falling)
        ]
        # they grow
        first = bisect_right(crossings, 1)
        self._corners, self._crossings = falling[first:], crossings[first:]
        self.beyond = 1 - corners[0][1]
        self.log_beyond = _log(self.beyond)
        starts = [Fraction(1), *self._crossings[:-1]]
        rows = [
            (_log(t), _log(alpha), _log(1 - beta - alpha * t), _log(beta + alpha * start))
            for (alpha, beta), t, start in zip(self._corners, self._crossings, starts, strict=False)
        ]
        columns = np.array(rows, dtype=np.float64).reshape(len(rows), 4).T
        end, log_b, log_at_end, log_complement = columns
        super().__init__(Segments(np.append(0.0, end[:-1]), end, log_b, log_at_end, log_complement))

    def last(self) -> Constant:
        """Return where δ becomes constant."""
        return logarithm(self._crossings[-1]) if self._crossings else Fraction(0)

    def line(self, index: int) -> Line:
        """Return the line of a corner."""
        alpha, beta = self._corners[index]
        return Line(ball(1 - beta), ball(beta), ball(alpha), ball(1 - alpha))

    def end(self, index: int) -> arb:
        """Return where the next corner takes over."""
        return ball(self._crossings[index]).log()


def _log(value: Fraction) -> float:
    """Return log of a rational number of any size, -inf for 0."""
    if value <= 0:
        return -math.inf
    near = float(value)
    if abs(near - 1) < 0.5:
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)
