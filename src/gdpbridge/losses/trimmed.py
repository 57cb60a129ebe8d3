"""Sums of many losses on a lattice without what is rarest, where some mass may be left out.

The law of T runs is made by squaring, and after each product what is at both ends is left out as
long as it is rare enough: a window about the mean, which grows like √T, in place of a range that
grows like T; so are masses between that are as rare. What is left out in all, a mass, is at most
what was given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from gdpbridge.losses.sums import LatticeSum, Step
from gdpbridge.losses.transforms.base import Number
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["TrimmedSum"]

_BITS = 256
# what a coefficient of a product takes for each bit of their number: some, and a share of the bits
# that the coefficients fall towards both ends; in units of numeric/effort.py
_PRODUCT, _FALL = 1.1, 0.0016
# a first place, and the masses from there on
_Piece = tuple[int, arb_poly]
# where a piece begins and ends, and what is left out between
_Cut = tuple[int, int, list[int]]


class TrimmedSum(LatticeSum):
    """The law of a sum, but for a mass of at most ``spare``; see :class:`LatticeSum`.

    Args:
        unit: the unit.
        steps: the losses, at least one.
        failure: the probability that one of them is infinite.
        start: what the multiples are counted from.
        spare: what may be left out, positive.
    """

    def __init__(
        self,
        unit: Number,
        steps: Sequence[Step],
        failure: Number,
        start: Number,
        spare: Fraction,
    ) -> None:
        self._spare = spare
        # where pieces were cut, the first time: with more bits they are cut there again
        self._cuts: list[_Cut] = []
        super().__init__(unit, steps, failure, start)

    @cached_property
    def _kept(self) -> NDArray[np.int64]:
        """The coefficients that were not left out."""
        spend(self.work())
        with precision(_BITS):
            self._powers = _BITS, self._product()
        return np.arange(len(self._powers[1]))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The losses in units."""
        kept = self._kept
        return self._first + (self._stride or 1) * (self._offset + kept)

    def work(self) -> float:
        """Return about what making the law takes; how much is kept is seen by Bernstein."""
        stride = self._stride or 1
        with precision(_BITS):
            nats = float(-ball(self._spare).log())
        found = total = 0.0
        for step in self._steps:
            places = (np.array(step.places, np.float64) - step.places[0]) / stride
            with precision(_BITS):
                masses = np.array([float(one) for one in step.masses()])
            masses /= masses.sum()
            variance = float(masses @ (places - masses @ places) ** 2)
            width = partial(_kept, variance, float(places[-1]), nats)
            runs = 1
            for bit in bin(step.times)[3:]:
                found += _multiplied(2 * width(runs))
                runs *= 2
                if bit == "1":
                    found += _multiplied(width(runs) + width(1))
                    runs += 1
            total += width(runs)
            if step is not self._steps[0]:
                found += _multiplied(total)
        return found * (_PRODUCT + _FALL * 2 * nats / math.log(2))

    def _product(self) -> arb_poly:
        stride = self._stride or 1
        again = iter(self._cuts) if self._cuts else None
        shares = sum(2 * step.times.bit_length() + 1 for step in self._steps)
        total: _Piece | None = None
        for step in self._steps:
            coefficients = [arb(0)] * ((step.places[-1] - step.places[0]) // stride + 1)
            for place, mass in zip(step.places, step.masses(), strict=True):
                coefficients[(place - step.places[0]) // stride] += mass
            one = 0, arb_poly(coefficients)
            # each of so many pieces of t runs may lack as much
            budget = self._spare / (shares * step.times)
            found, runs = one, 1
            for bit in bin(step.times)[3:]:
                found, runs = self._cut(_times(found, found), 2 * runs * budget, again), 2 * runs
                if bit == "1":
                    found, runs = (
                        self._cut(_times(found, one), (runs + 1) * budget, again),
                        runs + 1,
                    )
            if total is not None:
                found = self._cut(_times(total, found), self._spare / shares, again)
            total = found
        assert total is not None
        self._offset = total[0]
        return total[1]

    def _cut(self, piece: _Piece, budget: Fraction, again: Iterator[_Cut] | None) -> _Piece:
        """Leave out what is rare at both ends and between, or what was left out before."""
        first, poly = piece
        masses = poly.coeffs()
        if again is None:
            most, least = ball(budget / 4).lower(), ball(budget / 2 / len(masses)).lower()
            start, stop = _rare(masses, most), len(masses) - _rare(masses[::-1], most)
            # products of masses whose sizes vary far take long
            faint = [at for at in range(start, stop) if certainly(masses[at].upper() <= least)]
            cut = start, stop, faint
            self._cuts.append(cut)
        else:
            cut = next(again)
        start, stop, faint = cut
        for at in faint:
            masses[at] = arb(0)
        return first + start, arb_poly(masses[start:stop])


def _times(one: _Piece, other: _Piece) -> _Piece:
    return one[0] + other[0], one[1] * other[1]


def _kept(variance: float, largest: float, nats: float, runs: int) -> float:
    """Return about how many multiples are kept of the sum of some runs."""
    about = 2 * (math.sqrt(2 * nats * variance * runs) + nats * largest / 3)
    return min(largest * runs, about) + 1


def _multiplied(length: float) -> float:
    return length * math.log2(length + 1)


def _rare(masses: Sequence[arb], most: arb) -> int:
    """Return how many of the first masses together are at most so much."""
    total, number = arb(0), 0
    while number < len(masses) - 1:
        total = (total + masses[number]).upper()
        if not certainly(total <= most):
            break
        number += 1
    return number
