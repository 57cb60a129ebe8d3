"""Sums of many losses on a lattice without what is rarest, where some mass may be left out.

The law of T runs is made by squaring, and after each product what is at both ends is left out as
long as it is rare enough: a window about the mean, which grows like √T, in place of a range that
grows like T; so are masses between that are as rare. What is left out in all, a mass, is at most
what was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from gdpbridge.losses.sums import LatticeSum, Step
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Cut", "TrimmedSum", "kept", "reach", "tilts_for"]

_BITS = 256
# what a coefficient of a product takes for each bit of their number: some, and a share of the bits
# that the coefficients fall towards both ends; in units of numeric/effort.py
_PRODUCT, _FALL = 1.1, 0.0016
# tilts that are looked at
_TILTS = 48
# a first place, and the masses from there on
_Piece = tuple[int, arb_poly]
# where a piece begins and ends, and what is left out between
Cut = tuple[int, int, list[int]]


class TrimmedSum(LatticeSum):
    """The law of a sum, but for a mass of at most ``spare``; see :class:`LatticeSum`.

    Args:
        unit: the unit.
        steps: the losses, at least one.
        failure: the probability that one of them is infinite.
        start: what the multiples are counted from.
        spare: what may be left out, positive.
        cuts: what was left out of another law with the same places, in place of that.
        joins: whether what is between two multiples of a larger unit is joined to the lower one,
            as where a sum is told; else it is shared by both, for a law that dominates.
    """

    def __init__(
        self,
        unit: Number,
        steps: Sequence[Step],
        failure: Number,
        start: Number,
        spare: Fraction,
        cuts: Sequence[Cut] = (),
        *,
        joins: bool = False,
    ) -> None:
        self._spare, self._joins = spare, joins
        # where pieces were cut, the first time: with more bits they are cut there again
        self.cuts = list(cuts)
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

    def _grid(self) -> tuple[int, int]:
        """Return the same; where units grow, multiples are counted from 0."""
        return (0, 1) if any(step.halvings for step in self._steps) else super()._grid()

    def work(self) -> float:
        """Return about what making the law takes."""
        nats = _nats(self._spare)
        found = total = 0.0
        for step in self._steps:
            width, runs, unit = _widths(step, self._stride or 1, nats), 1, 1
            for act in _acts(step):
                if act is _Act.COARSER:
                    unit *= 2
                else:
                    more = runs if act is _Act.TWICE else 1
                    found += _multiplied((width(runs) + width(more)) / unit)
                    runs += more
            total += width(runs) / unit
            if step is not self._steps[0]:
                found += _multiplied(total)
        return found * (_PRODUCT + _FALL * 2 * nats / math.log(2))

    def _product(self) -> arb_poly:
        stride = self._stride or 1
        again = iter(self.cuts) if self.cuts else None
        shares = sum(2 * step.times.bit_length() + 1 for step in self._steps)
        total: _Piece | None = None
        for step in self._steps:
            # where the unit grows, multiples are counted from 0
            first = 0 if self._first == 0 and stride == 1 else step.places[0]
            coefficients = [arb(0)] * ((step.places[-1] - step.places[0]) // stride + 1)
            for place, mass in zip(step.places, step.masses(), strict=True):
                coefficients[(place - step.places[0]) // stride] += mass
            one = (step.places[0] - first) // stride, arb_poly(coefficients)
            # each of so many pieces of t runs may lack as much
            budget = self._spare / (shares * step.times)
            found, runs, left = one, 1, step.halvings
            for act in _acts(step):
                if act is _Act.COARSER:
                    up = self._up(left)
                    found, one, left = _coarser(found, up), _coarser(one, up), left - 1
                    continue
                more = runs if act is _Act.TWICE else 1
                other = found if act is _Act.TWICE else one
                runs += more
                found = self._cut(_times(found, other), runs * budget, again)
            if total is not None:
                found = self._cut(_times(total, found), self._spare / shares, again)
            total = found
        assert total is not None
        self._offset = total[0]
        return total[1]

    def _up(self, left: int) -> arb:
        """Return the share of what is between two multiples of twice the unit for the upper one.

        P and Q keep their masses.
        """
        if self._joins:
            return arb(0)
        return 1 / (1 + (-number_ball(self.unit) / (1 << left)).exp())

    def _cut(self, piece: _Piece, budget: Fraction, again: Iterator[Cut] | None) -> _Piece:
        """Leave out what is rare at both ends and between, or what was left out before."""
        first, poly = piece
        masses = poly.coeffs()
        if again is None:
            most, least = ball(budget / 4).lower(), ball(budget / 2 / len(masses)).lower()
            start, stop = _rare(masses, most), len(masses) - _rare(masses[::-1], most)
            # products of masses whose sizes vary far take long
            faint = [at for at in range(start, stop) if certainly(masses[at].upper() <= least)]
            cut = start, stop, faint
            self.cuts.append(cut)
        else:
            cut = next(again)
        start, stop, faint = cut
        for at in faint:
            masses[at] = arb(0)
        return first + start, arb_poly(masses[start:stop])


class _Act(Enum):
    """What is done next on the way to the sum of all runs."""

    TWICE = "twice as many runs"
    ONE_MORE = "one run more"
    COARSER = "twice the unit"


def _acts(step: Step) -> Iterator[_Act]:
    """Yield what is done; the unit grows like the deviation of the sum."""
    runs, left = 1, step.halvings
    for act in (*_products(step.times), None):
        while left and runs << 2 * left >= step.times:
            left -= 1
            yield _Act.COARSER
        if act is not None:
            runs += runs if act is _Act.TWICE else 1
            yield act


def _products(times: int) -> Iterator[_Act]:
    for bit in bin(times)[3:]:
        yield _Act.TWICE
        if bit == "1":
            yield _Act.ONE_MORE


def _coarser(piece: _Piece, up: arb) -> _Piece:
    """Return masses on multiples of twice the unit; of those between a share goes up."""
    first, poly = piece
    masses = [arb(0)] * (first % 2) + poly.coeffs()
    masses += [arb(0)] * (len(masses) % 2)
    whole, between = masses[::2], masses[1::2]
    found = [*whole, arb(0)]
    for number, mass in enumerate(between):
        found[number] += (1 - up) * mass
        found[number + 1] += up * mass
    return first // 2, arb_poly(found)


def _times(one: _Piece, other: _Piece) -> _Piece:
    return one[0] + other[0], one[1] * other[1]


def reach(tilts: Floats, logs: tuple[Floats, Floats], nats: float) -> float:
    """Return about how far a sum reaches but for a mass of e^{-nats} at either end, by Chernoff.

    Args:
        tilts: positive.
        logs: of M at the tilts, and at their negatives.
        nats: as above.
    """
    return float(sum(np.min((log + nats) / tilts) for log in logs))


def tilts_for(nats: float, variance: float, largest: float) -> Floats:
    """Return tilts among which are those that count for sums of some variance and range."""
    both = math.sqrt(2 * nats / variance), nats / largest
    return np.geomspace(min(both) / 8, 8 * max(both), _TILTS)


def kept(step: Step, spare: Fraction) -> float:
    """Return about how many multiples of its own unit are kept of the sum of a step's runs.

    Args:
        step: the runs.
        spare: a mass that may be left out.
    """
    return _widths(step, 1, _nats(spare))(step.times)


def _nats(spare: Fraction) -> float:
    with precision(_BITS):
        return float(-ball(spare).log())


def _widths(step: Step, stride: int, nats: float) -> Callable[[int], float]:
    """Return what says about how many multiples are kept of the sum of some runs."""
    places = (np.array(step.places, np.float64) - step.places[0]) / stride
    with precision(_BITS):
        masses = np.array([float(one) for one in step.masses()])
    masses /= masses.sum()
    largest = float(places[-1])
    if not largest:
        return lambda _: 1.0
    middle = float(masses @ places)
    variance = float(masses @ (places - middle) ** 2)

    def width(runs: int) -> float:
        tilts = tilts_for(nats, runs * variance, largest)
        logs = tuple(_log_moments(sign * (places - middle), masses, tilts) for sign in (1, -1))
        up, down = (runs * log for log in logs)
        return min(largest * runs, reach(tilts, (up, down), nats)) + 1

    return cache(width)


def _log_moments(places: Floats, masses: Floats, tilts: Floats) -> Floats:
    """Return log Σ m·e^{tx} for each tilt."""
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    return np.array([np.logaddexp.reduce(logs + tilt * places) for tilt in tilts])


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
