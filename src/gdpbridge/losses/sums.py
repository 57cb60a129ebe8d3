"""Sums of discrete losses, exactly: laws on the multiples of a unit, and of sums of such.

The law of a sum on a lattice is a product of powers of polynomials, whose coefficients are the
masses; nothing is cut off or rounded but the balls of the coefficients. Losses of which no common
unit is known are added up one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import to_fraction

__all__ = ["TIE_BITS", "LatticeSum", "Law", "Step", "added", "span"]

_BITS = 256
# sums that floats do not tell apart are put in order by so many bits; what even they do not tell
# apart is taken to be the same
TIE_BITS = 1024
_CLOSE = 1e-12
# sums that are looked for among the coefficients one by one
_LISTED = 1 << 16
# of which a float's logarithm is good
_LEAST = 1e-290
# what a coefficient of a product takes for each bit of their number and for each bit that the
# coefficients fall towards both ends, and what one takes to be read: in units of numeric/effort.py
_PRODUCT, _FALL, _READ = 1.25, 0.0025, 40


class Law(Protocol):
    """The finite losses of a pair of distributions and their probabilities.

    Attributes:
        losses: the losses, growing.
        log_masses: log of the probability of each, under the distribution whose loss it is.
        failure: the probability of an infinite loss.
    """

    @property
    def losses(self) -> Floats:
        """See the class's attributes."""

    @property
    def log_masses(self) -> Floats:
        """See the class's attributes."""

    @property
    def failure(self) -> Number:
        """See the class's attributes."""

    def loss(self, number: int) -> arb:
        """Enclose a loss, at the working precision."""

    def mass(self, number: int) -> arb:
        """Enclose a probability, at the working precision."""

    @property
    def last(self) -> Number:
        """The largest loss."""


@dataclass(frozen=True)
class Step:
    """One run's law on the multiples of a unit.

    Attributes:
        places: the losses in units, growing.
        masses: encloses their probabilities at the working precision.
        times: how many runs.
        others: the same under the other distribution, where the places are no longer the losses.
        halvings: how often the unit of the places is half of what it is for sums of all runs.
    """

    places: tuple[int, ...]
    masses: Callable[[], list[arb]]
    times: int
    others: Callable[[], list[arb]] | None = None
    halvings: int = 0


class LatticeSum:
    """The law of the sum of independent losses on the multiples of a unit.

    Args:
        unit: the unit.
        steps: the losses, at least one.
        failure: the probability that one of them is infinite.
        start: what the multiples are counted from.
    """

    def __init__(
        self,
        unit: Number,
        steps: Sequence[Step],
        failure: Number,
        start: Number = Fraction(0),
    ) -> None:
        self.unit, self.failure, self._start = unit, failure, start
        self._steps, self._powers, self._sizes = steps, (0, arb_poly()), (0, arb(), arb())
        self._first, self._stride = self._grid()
        with precision(_BITS):
            self.losses: Floats = self._floats()
            spend(_READ * self.places.size)
            masses = (self.mass(number) for number in range(self.places.size))
            self.log_masses: Floats = np.array([_log(mass) for mass in masses])

    def _grid(self) -> tuple[int, int]:
        """Return the least multiple, and what all are apart by multiples of."""
        steps = self._steps
        gaps = (place - step.places[0] for step in steps for place in step.places)
        return sum(step.times * step.places[0] for step in steps), math.gcd(*gaps)

    @cached_property
    def _kept(self) -> NDArray[np.int64]:
        """The coefficients that are not 0, as far as they are easily seen."""
        stride = self._stride or 1
        found = np.zeros(1, np.int64)
        for step in self._steps:
            places = (np.array(step.places, np.int64) - step.places[0]) // stride
            sums = _multiples(places, step.times)
            if sums is None or sums.size * found.size > _LISTED:
                return np.arange(span(self._steps) + 1)
            found = np.unique(found[:, None] + sums)
        return found

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The losses in units."""
        return self._first + (self._stride or 1) * self._kept

    def _floats(self) -> Floats:
        if self._start == 0:
            return np.asarray(self.places * float(number_ball(self.unit)), np.float64)
        # what they are counted from may be far off
        return np.array([float(self.loss(number)) for number in range(self.places.size)])

    def loss(self, number: int) -> arb:
        """Return a multiple of the unit, counted from the start."""
        bits = working_precision()
        if self._sizes[0] != bits:
            self._sizes = bits, number_ball(self.unit), number_ball(self._start)
        _, size, start = self._sizes
        return size * int(self.places[number]) + start

    def mass(self, number: int) -> arb:
        """Enclose a coefficient."""
        # more digits than asked for do no harm, and one product serves several precisions
        bits = max(working_precision(), _BITS)
        if self._powers[0] != bits:
            spend(self.work() * bits / _BITS)
            with precision(bits):
                self._powers = bits, self._product()
        return self._powers[1][int(self._kept[number])]

    def work(self) -> float:
        """Return what making the law takes at 256 bits, in units of numeric/effort.py."""
        stride = self._stride or 1
        found = length = fall = 0.0
        for number, step in enumerate(self._steps):
            own = step.times * (step.places[-1] - step.places[0]) // stride + 1
            with precision(_BITS):
                masses = step.masses()
            fell = -step.times * (_log(masses[0]) + _log(masses[-1])) / math.log(2)
            # by squaring, half as long ones before the last
            found += 2 * _product_work(own, fell) if step.times > 1 else 0
            length, fall = length + own, fall + fell
            found += _product_work(length, fall) if number else 0
        return found

    def _product(self) -> arb_poly:
        stride, found = self._stride or 1, []
        for step in self._steps:
            coefficients = [arb(0)] * ((step.places[-1] - step.places[0]) // stride + 1)
            for place, mass in zip(step.places, step.masses(), strict=True):
                coefficients[(place - step.places[0]) // stride] += mass
            found.append(arb_poly(coefficients) ** step.times)
        # like lengths first
        while len(found) > 1:
            found = sorted(found, key=len)
            found = [*found[2:], found[0] * found[1]]
        return found[0]

    @property
    def last(self) -> Number:
        """Return the largest multiple."""
        place = int(self.places[-1])
        if isinstance(self.unit, Fraction) and isinstance(self._start, Fraction):
            return self.unit * place + self._start
        return lambda: number_ball(self.unit) * place + number_ball(self._start)


def span(steps: Sequence[Step]) -> int:
    """Return how many multiples of what they have in common a sum may be, less one."""
    stride = math.gcd(*(place - step.places[0] for step in steps for place in step.places)) or 1
    return sum(step.times * (step.places[-1] - step.places[0]) for step in steps) // stride


def _product_work(length: float, fall: float) -> float:
    """Return what a product of so many coefficients takes, in units of numeric/effort.py."""
    return length * (_PRODUCT * math.log2(length + 1) + _FALL * fall)


def _log(mass: arb) -> float:
    value = float(mass.mid())
    if value > _LEAST:
        return math.log(value)
    # the logarithm of 0 is no number
    return -math.inf if mass.is_zero() else float(mass.abs_upper().log().mid())


def _multiples(places: NDArray[np.int64], times: int) -> NDArray[np.int64] | None:
    """Return all sums of so many places from 0 on; None if there are too many."""
    if places.size == 1:
        return np.zeros(1, np.int64)
    gaps = np.diff(places)
    if (gaps == gaps[0]).all():
        sums = np.arange(times * (places.size - 1) + 1) * gaps[0]
        return sums if sums.size <= _LISTED else None
    # the sums of so many runs, as the bits of a number that are 1
    shifts, reached = places.tolist(), 1
    for _ in range(times):
        found = 0
        for shift in shifts:
            found |= reached << shift
        reached = found
    if reached.bit_count() > _LISTED:
        return None
    data = reached.to_bytes(-(-reached.bit_length() // 8), "little")
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64)


class Pairs:
    """The law of the sum of two independent losses, one by one.

    Args:
        one: the law of the first.
        other: that of the second.
        failure: the probability that one of both is infinite.
    """

    def __init__(self, one: Law, other: Law, failure: Number) -> None:
        self._laws, self.failure = (one, other), failure
        spend(_READ * one.losses.size * other.losses.size)
        sums = (one.losses[:, None] + other.losses).ravel()
        order = np.argsort(sums, kind="stable")
        self._first, self._second = np.divmod(order, other.losses.size)
        self.losses: Floats = sums[order]
        self._settle()
        self.log_masses: Floats = one.log_masses[self._first] + other.log_masses[self._second]

    def _settle(self) -> None:
        """Put sums that are close in their order, in balls."""
        scale = max(1.0, *(float(np.abs(law.losses).max()) for law in self._laws))
        close = np.append(np.diff(self.losses) < _CLOSE * scale, False)
        start = 0
        with precision(TIE_BITS):
            while start < close.size:
                stop = start
                while close[stop]:
                    stop += 1
                if stop > start:
                    run = list(range(start, stop + 1))
                    run.sort(key=lambda number: to_fraction(self.loss(number).mid()))
                    for values in (self._first, self._second):
                        values[start : stop + 1] = values[run]
                start = stop + 1

    def loss(self, number: int) -> arb:
        """Add up two losses."""
        one, other = self._laws
        return one.loss(int(self._first[number])) + other.loss(int(self._second[number]))

    def mass(self, number: int) -> arb:
        """Multiply two probabilities."""
        one, other = self._laws
        return one.mass(int(self._first[number])) * other.mass(int(self._second[number]))

    @property
    def last(self) -> Number:
        """Add up the largest ones."""
        one, other = (law.last for law in self._laws)
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return one + other
        return lambda: number_ball(one) + number_ball(other)


def added(laws: Sequence[Law], failure: Number) -> Law:
    """Return the law of the sum of independent losses."""
    first, *others = laws
    for other in others:
        first = Pairs(first, other, failure)
    return first
