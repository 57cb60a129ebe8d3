"""Sums of independent lognormal numbers on a geometric grid, spread so that convex means only grow.

On the grid e^{ih} the sum of e^{ih} and e^{jh}, i ≤ j, lies log(1 + e^{-(j-i)h})/h places above j:
the same share of its mass goes to the two places about it for all pairs that are so far apart, and
the mean stays. So few places serve small and large sums alike (Feldman and Shenfeld 2025).

Masses are whole multiples of 2⁻²⁵⁶, rounded down, and of a share the upper one is: what is lost
counts as a failure, of Q by the mass and of P by its value times the mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["ONE", "Grid", "Law", "sum_of_lognormals"]

_SCALE = 256
ONE = 1 << _SCALE
"""The mass 1."""
_BITS = 2 * _SCALE
# a mass below 2⁻¹⁴⁰ is dropped: a thousand of these are nothing beside any δ that is asked for
_LEAST = 1 << (_SCALE - 140)
# of one number; the error falls with its square, and the time grows with it
_PLACES = 1400
# deviations of z below and above which a number is not told apart; above, of z less μ
_BELOW, _ABOVE = 9, 11


@dataclass(frozen=True)
class Law:
    """Masses, in multiples of 2⁻²⁵⁶.

    Attributes:
        zero: that of the number 0.
        first: the place of the first one of the others.
        masses: of that place and those after it, as whole numbers.
    """

    zero: int
    first: int
    masses: NDArray[Any]

    def trimmed(self) -> Law:
        """Return it without tiny masses at its ends."""
        kept = np.flatnonzero(self.masses >= _LEAST)
        low, high = int(kept[0]), int(kept[-1]) + 1
        return Law(self.zero, self.first + low, self.masses[low:high])

    def refined(self) -> Law:
        """Return it on the grid of half the step."""
        masses = np.array([0] * (2 * len(self.masses) - 1), dtype=object)
        masses[::2] = self.masses
        return Law(self.zero, 2 * self.first, masses)


class Grid:
    """The places e^{ih}.

    Args:
        step: h.
    """

    def __init__(self, step: Fraction) -> None:
        self.step = step
        self._shares: list[tuple[int, int]] = []

    def place(self, index: int) -> arb:
        """Return e^{ih}."""
        return ball(self.step * index).exp()

    def lognormal(self, mu: Fraction) -> Law:
        """Return the law of e^{μz - μ²/2}, z normal."""

        def tail(z: Fraction) -> arb:
            return (ball(z) / arb(2).sqrt()).erfc() / 2

        first = math.floor(-(_BELOW + mu / 2) * mu / self.step)
        last = math.ceil((_ABOVE + mu / 2) * mu / self.step)
        with precision(_BITS):
            # beyond each place, the mass and the mean of what is there
            above = []
            for index in range(first, last + 1):
                z = self.step * index / mu + mu / 2
                above.append((tail(z), tail(z - mu)))
            masses = np.array([0] * (last - first + 1), dtype=object)
            low = arb(0)
            # what is below the first place is shared between it and 0
            ends = [arb(0), *(self.place(index) for index in range(first, last + 1))]
            beyond = [(arb(1), arb(1)), *above]
            zero = 0
            for number, end in enumerate(ends[1:]):
                q, p = (
                    one - other
                    for one, other in zip(beyond[number], beyond[number + 1], strict=True)
                )
                low = ends[number]
                whole, upper = _floor(q), _floor((p - low * q) / (end - low))
                upper = min(upper, whole)
                masses[number] += upper
                if number:
                    masses[number - 1] += whole - upper
                else:
                    zero = whole - upper
            masses[-1] += _floor(above[-1][0])
        return Law(zero, first, masses).trimmed()

    def sum(self, one: Law, other: Law) -> Law:
        """Return the law of a sum of independent numbers."""
        first = min(one.first, other.first)
        last = max(law.first + len(law.masses) for law in (one, other))
        a, b = (
            np.concatenate(
                [[0] * (law.first - first), law.masses, [0] * (last - law.first - len(law.masses))]
            ).astype(object)
            for law in (one, other)
        )
        size = last - first
        self._prepare(size)
        masses = np.array([0] * (size + self._shares[0][0] + 2), dtype=object)
        masses[:size] += (one.zero * b + other.zero * a) >> _SCALE
        for apart in range(size):
            pairs = a[: size - apart] * b[apart:]
            if apart:
                # of two alike both orders are the same
                pairs += pairs if one is other else a[apart:] * b[: size - apart]
            pairs >>= _SCALE
            up, share = self._shares[apart]
            upper = (pairs * share) >> _SCALE
            start, stop = apart + up, size + up
            masses[start:stop] += pairs - upper
            masses[start + 1 : stop + 1] += upper
        return Law(one.zero * other.zero >> _SCALE, first, masses).trimmed()

    def _prepare(self, size: int) -> None:
        """Find how far up the sum of two places lies, and the share of the place above that."""
        with precision(_BITS):
            height = ball(self.step).expm1()
            for apart in range(len(self._shares), size):
                more = ball(-self.step * apart).exp()
                up = math.floor(to_fraction((more.log1p() / ball(self.step)).lower()))
                base = self.place(up)
                self._shares.append((up, _floor((1 + more - base) / (base * height))))


def sum_of_lognormals(mu: Fraction, count: int) -> tuple[Grid, Law]:
    """Return the law of the sum of ``count`` such numbers, by halves, and its grid.

    Sums of many numbers are close together, and get a finer grid: it holds the places of the other.

    Args:
        mu: the deviation of their logarithms.
        count: how many.
    """
    levels = [{count}]
    while max(levels[-1]) > 1:
        halves = ((one // 2, one - one // 2) for one in levels[-1])
        levels.append({half for pair in halves for half in pair if half})
    span = (_BELOW + _ABOVE + mu) * mu
    grid = Grid(Fraction(float(span) / _PLACES).limit_denominator(1 << 60))
    laws = {1: grid.lognormal(mu)}
    for level in levels[-2::-1]:
        laws = {
            one: laws[1] if one == 1 else grid.sum(laws[one // 2], laws[one - one // 2])
            for one in sorted(level)
        }
        while max(len(law.masses) for law in laws.values()) <= _PLACES // 2:
            grid = Grid(grid.step / 2)
            laws = {one: law.refined() for one, law in laws.items()}
    return grid, laws[count]


def _floor(value: arb) -> int:
    return max(math.floor(to_fraction(value.lower()) * ONE), 0)
