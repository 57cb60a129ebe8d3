"""The exact laws of sums of discrete losses: on their lattices, or added up one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.moments import Factor, Moments
from gdpbridge.losses.rounding import Atoms
from gdpbridge.losses.sums import LatticeSum, Law, Step, added, span
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision

__all__ = [
    "MAX_SPAN",
    "atoms_of",
    "common_measure",
    "exactly",
    "failure_of",
    "laws_of",
    "most_values",
    "step_on",
]

# multiples of a unit, and sums that are added up one by one
MAX_SPAN = 1 << 18
_MAX_SUMS = 1 << 17
# multiples of a unit, beside the sums that losses may have, from which these are added one by one
_SPARSE = 32
# runs that may fail: so few that the chance is a number of few digits
_FEW_RUNS = 32
_BITS = 256
# what one of many sums takes, for each loss, in units of numeric/effort.py
_SUM = 10


def failure_of(factors: Sequence[Factor]) -> Number:
    """Return the probability that one of the losses is infinite."""
    shares = [f.transform.reverse_failure if f.mirrored else f.transform.failure for f in factors]
    failing = [(one, f.times) for one, f in zip(shares, factors, strict=True) if one]
    known = [(one, times) for one, times in failing if isinstance(one, Fraction)]
    runs: int = sum(times for _, times in known)
    if len(known) == len(failing) and runs <= _FEW_RUNS:
        return 1 - Fraction(math.prod((1 - one) ** times for one, times in known))
    return Moments(factors).failure


# --- exactly ------------------------------------------------------------------------------------


def exactly(factors: Sequence[Factor]) -> Law | None:
    """Return the exact law of the sum of finite losses; None if it has too many values."""
    return laws_of([atoms_of(factor) for factor in factors], failure_of(factors))


def laws_of(atoms: Sequence[Atoms], failure: Number) -> Law | None:
    """Return the law of all runs; None if it has too many values."""
    rational = [one for one in atoms if isinstance(one.unit, Fraction)]
    groups: list[tuple[Number, list[Step]]] = []
    if rational:
        unit = common_measure([one.unit for one in rational if isinstance(one.unit, Fraction)])
        steps = [step_on(one, unit) for one in rational]
        if span(steps) <= min(
            MAX_SPAN, _SPARSE * math.prod(most_values(s.places, s.times) for s in steps)
        ):
            groups.append((unit, steps))
        else:
            rational = []
    loose = []
    for one in atoms:
        if one in rational:
            continue
        most = most_values(one.losses, one.times)
        if one.unit is None or span([Step(one.places, one.masses, one.times)]) > _SPARSE * most:
            loose.append(one)
        else:
            groups.append((one.unit, [Step(one.places, one.masses, one.times)]))
    size = math.prod(most_values(one.losses, one.times) for one in loose)
    for _, steps in groups:
        if span(steps) > MAX_SPAN:
            return None
        # many multiples of a unit may be no sum at all
        size *= min(span(steps) + 1, _mosts(steps))
    if (len(groups) + len(loose) > 1 or loose) and size > _MAX_SUMS:
        return None
    laws: list[Law] = [LatticeSum(unit, steps, failure) for unit, steps in groups]
    laws += [_Runs(one, failure) for one in loose]
    return added(laws, failure)


def most_values(values: Sequence[object], times: int) -> int:
    """Return how many values a sum of runs has at most."""
    return math.comb(times + len(values) - 1, times)


def _mosts(steps: Sequence[Step]) -> int:
    return math.prod(most_values(step.places, step.times) for step in steps)


def step_on(one: Atoms, unit: Fraction) -> Step:
    """Return a law on multiples of a unit that its own unit is such a multiple of."""
    assert isinstance(one.unit, Fraction)
    ratio = one.unit / unit
    return Step(tuple(int(place * ratio) for place in one.places), one.masses, one.times)


def common_measure(values: Sequence[Fraction]) -> Fraction:
    """Return the greatest number of which all are multiples."""
    bottom = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * bottom) for value in values)), bottom)


class _Runs:
    """The law of some runs without a common unit: all counts of each loss, by the multinomial."""

    def __init__(self, atoms: Atoms, failure: Number) -> None:
        self._atoms, self.failure = atoms, failure
        spend(_SUM * most_values(atoms.losses, atoms.times) * (1 + len(atoms.losses)))
        counts = np.array(list(_counts(atoms.times, len(atoms.losses))), np.int64)
        with precision(_BITS):
            sums = counts @ np.array([float(number_ball(loss)) for loss in atoms.losses])
            self._tables: tuple[int, list[list[arb]]] = 0, []
            self._balls: tuple[int, list[arb]] = 0, []
            order = np.argsort(sums, kind="stable")
            self._counts, self.losses = counts[order], np.asarray(sums[order], np.float64)
            logs = [float(self.mass(number).log()) for number in range(order.size)]
            self.log_masses = np.array(logs, np.float64)

    def loss(self, number: int) -> arb:
        """Add up the losses."""
        bits = working_precision()
        if self._balls[0] != bits:
            self._balls = bits, [number_ball(loss) for loss in self._atoms.losses]
        pairs = zip(self._counts[number].tolist(), self._balls[1], strict=True)
        return sum((count * loss for count, loss in pairs), arb(0))

    def mass(self, number: int) -> arb:
        """Multiply the masses' powers over their factorials."""
        bits = working_precision()
        if self._tables[0] != bits:
            tables = [self._powers(mass) for mass in self._atoms.masses()]
            # rounded: with all its digits each product would take long
            orders = arb.fac_ui(self._atoms.times)
            self._tables = bits, [[orders * one for one in tables[0]], *tables[1:]]
        found = arb(1)
        for count, table in zip(self._counts[number].tolist(), self._tables[1], strict=True):
            found = found * table[count]
        return found

    def _powers(self, mass: arb) -> list[arb]:
        found = [arb(1)]
        for count in range(1, self._atoms.times + 1):
            found.append(found[-1] * mass / count)
        return found

    @property
    def last(self) -> Number:
        """Return the largest sum."""
        times, last = self._atoms.times, self._atoms.losses[-1]
        return times * last if isinstance(last, Fraction) else lambda: times * number_ball(last)


def _counts(times: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to share some runs among the losses."""
    if kinds == 1:
        yield (times,)
        return
    for first in range(times + 1):
        for others in _counts(times - first, kinds - 1):
            yield (first, *others)


def atoms_of(factor: Factor) -> Atoms:
    """Return the losses of a run in the factor's direction."""
    transform = factor.transform
    assert isinstance(transform, FiniteTransform)
    losses, masses, unit = transform.losses, transform.masses, transform.spacing
    places = transform.places if unit is not None else ()
    if not factor.mirrored:
        return Atoms(
            losses, lambda: [number_ball(one) for one in masses], factor.times, unit, places
        )

    def mirrored() -> list[arb]:
        both = zip(reversed(masses), reversed(losses), strict=True)
        return [number_ball(mass) * (-number_ball(loss)).exp() for mass, loss in both]

    return Atoms(
        [_minus(loss) for loss in reversed(losses)],
        mirrored,
        factor.times,
        unit,
        tuple(-place for place in reversed(places)),
    )


def _minus(value: Number) -> Number:
    if isinstance(value, Fraction):
        return -value
    return lambda: -value()
