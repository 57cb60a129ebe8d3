"""Losses on lattices: as they are where they have one, else between a law above and a law below.

A density of e^{±x/2} is cut into cells. Above it lies the law that has each cell's mass at the ends
of the cell, so shared that P and Q keep their masses (δ is convex in e^ε, and this is its chord).
Below it lies the law that tells no more than the cell; its loss is the cell's middle. An atom
between two multiples of the unit is shared between them likewise, or rounded down. See
docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.moments import Factor, Moments
from gdpbridge.losses.sums import LatticeSum, Law, Step, added, span
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss, ExponentialTransform
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["MAX_SPAN", "Side", "between", "exactly", "failure_of"]

# multiples of a unit, and sums that are added up one by one
MAX_SPAN = 1 << 18
_MAX_SUMS = 1 << 17
# multiples of a unit, beside the sums that losses may have, from which these are added one by one
_SPARSE = 32
# losses of one run, or of a sum without a common unit, that are kept apart in bounds
_FEW = 64
# runs that may fail: so few that the chance is a number of few digits
_FEW_RUNS = 32
_BITS = 256


class Side(Enum):
    """On which side of a loss its law is."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True)
class _Atoms:
    """One run's finite losses.

    Attributes:
        losses: the losses, growing.
        masses: encloses their probabilities at the working precision.
        times: how many runs.
        unit: a number that all losses are multiples of, if one is known.
        places: the multiples.
    """

    losses: Sequence[Number]
    masses: Callable[[], list[arb]]
    times: int
    unit: Number | None
    places: tuple[int, ...] = ()


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
    return _laws([_atoms(factor) for factor in factors], failure_of(factors))


def _laws(atoms: Sequence[_Atoms], failure: Number) -> Law | None:
    """Return the law of all runs; None if it has too many values."""
    rational = [one for one in atoms if isinstance(one.unit, Fraction)]
    groups: list[tuple[Number, list[Step]]] = []
    if rational:
        unit = _gcd([one.unit for one in rational if isinstance(one.unit, Fraction)])
        steps = [_step(one, unit) for one in rational]
        if span(steps) <= min(
            MAX_SPAN, _SPARSE * math.prod(_most(s.places, s.times) for s in steps)
        ):
            groups.append((unit, steps))
        else:
            rational = []
    loose = []
    for one in atoms:
        if one in rational:
            continue
        most = _most(one.losses, one.times)
        if one.unit is None or span([Step(one.places, one.masses, one.times)]) > _SPARSE * most:
            loose.append(one)
        else:
            groups.append((one.unit, [Step(one.places, one.masses, one.times)]))
    size = math.prod(_most(one.losses, one.times) for one in loose)
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


def _most(values: Sequence[object], times: int) -> int:
    """Return how many values a sum of runs has at most."""
    return math.comb(times + len(values) - 1, times)


def _mosts(steps: Sequence[Step]) -> int:
    return math.prod(_most(step.places, step.times) for step in steps)


def _step(one: _Atoms, unit: Fraction) -> Step:
    assert isinstance(one.unit, Fraction)
    ratio = one.unit / unit
    return Step(tuple(int(place * ratio) for place in one.places), one.masses, one.times)


def _gcd(values: Sequence[Fraction]) -> Fraction:
    """Return the greatest number of which all are multiples."""
    bottom = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * bottom) for value in values)), bottom)


class _Runs:
    """The law of some runs without a common unit: all counts of each loss, by the multinomial."""

    def __init__(self, atoms: _Atoms, failure: Number) -> None:
        self._atoms, self.failure = atoms, failure
        counts = np.array(list(_counts(atoms.times, len(atoms.losses))), np.int64)
        with precision(_BITS):
            sums = counts @ np.array([float(number_ball(loss)) for loss in atoms.losses])
            self._tables: tuple[int, list[list[arb]]] = 0, []
            order = np.argsort(sums, kind="stable")
            self._counts, self.losses = counts[order], np.asarray(sums[order], np.float64)
            logs = [float(self.mass(number).log()) for number in range(order.size)]
            self.log_masses = np.array(logs, np.float64)

    def loss(self, number: int) -> arb:
        """Add up the losses."""
        pairs = zip(self._counts[number].tolist(), self._atoms.losses, strict=True)
        return sum((count * number_ball(loss) for count, loss in pairs), arb(0))

    def mass(self, number: int) -> arb:
        """Multiply the masses' powers over their factorials."""
        bits = working_precision()
        if self._tables[0] != bits:
            self._tables = bits, [self._powers(mass) for mass in self._atoms.masses()]
        found = arb(math.factorial(self._atoms.times))
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


def _atoms(factor: Factor) -> _Atoms:
    """Return the losses of a run in the factor's direction."""
    transform = factor.transform
    assert isinstance(transform, FiniteTransform)
    losses, masses, unit = transform.losses, transform.masses, transform.spacing
    places = transform.places if unit is not None else ()
    if not factor.mirrored:
        return _Atoms(
            losses, lambda: [number_ball(one) for one in masses], factor.times, unit, places
        )

    def mirrored() -> list[arb]:
        both = zip(reversed(masses), reversed(losses), strict=True)
        return [number_ball(mass) * (-number_ball(loss)).exp() for mass, loss in both]

    return _Atoms(
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


# --- between a law above and a law below ---------------------------------------------------------


def between(factors: Sequence[Factor], points: int) -> tuple[Law, Law]:
    """Return laws below and above the sum of losses, with about so many values.

    Args:
        factors: finite losses and such with a density of e^{±x/2} between two atoms.
        points: how many multiples of the unit the sum may span.
    """
    failure = failure_of(factors)
    few, rest, unit = _parted(factors, points)
    found = []
    for side in Side:
        steps = [_placed(factor, unit, side) for factor in rest]
        laws: list[Law] = [LatticeSum(unit, steps, failure)]
        if few:
            apart = _laws([_atoms(factor) for factor in few], failure)
            assert apart is not None
            laws.append(apart)
        found.append(added(laws, failure))
    above, below = found
    return below, above


def _parted(factors: Sequence[Factor], points: int) -> tuple[list[Factor], list[Factor], Fraction]:
    """Return losses that are kept apart, the others, and the unit of these."""
    few = [
        factor
        for factor in factors
        if isinstance(factor.transform, FiniteTransform)
        and not isinstance(factor.transform.spacing, Fraction)
        and _values(factor) <= _FEW
    ]
    if math.prod(_values(factor) for factor in few) > _FEW:
        few = []
    rest = [factor for factor in factors if factor not in few]
    points //= math.prod(_values(factor) for factor in few)
    return few, rest, _unit(rest, points)


def _values(factor: Factor) -> int:
    """Return how many values the sum of all runs has at most."""
    transform = factor.transform
    assert isinstance(transform, FiniteTransform)
    if transform.spacing is not None:
        places = transform.places
        return factor.times * (places[-1] - places[0]) + 1
    return _most(transform.losses, factor.times)


def _unit(factors: Sequence[Factor], points: int) -> Fraction:
    """Return a unit with which the sum spans about so many multiples, of all losses if it can."""
    with precision(_BITS):
        total = sum((factor.times * _range(factor.transform) for factor in factors), arb(0))
        least = Fraction(float(total)) / points
    known: list[Fraction] = []
    for factor in factors:
        transform = factor.transform
        if isinstance(transform, ExponentialTransform):
            known.append(transform.loss.width)
        elif isinstance(transform, FiniteTransform) and isinstance(transform.spacing, Fraction):
            known.append(transform.spacing)
    common = _gcd(known) if known else Fraction(0)
    if common >= 2 * least:
        # whole cells fit between any two of the losses
        return common / (2 * math.floor(common / (2 * least)))
    widest = max((one for one in known), default=least)
    if widest < 2 * least:
        return least
    return widest / (2 * max(1, math.floor(widest / (2 * least))))


def _range(transform: object) -> arb:
    assert isinstance(transform, FiniteTransform | ExponentialTransform)
    return transform.largest() - transform.least()


def _placed(factor: Factor, unit: Fraction, side: Side) -> Step:
    """Return one run's law on the multiples of the unit, above or below."""
    if isinstance(factor.transform, ExponentialTransform):
        atoms = _cells(factor.transform.loss, factor.times, unit, side)
    else:
        atoms = _atoms(factor)
    if isinstance(atoms.unit, Fraction) and (atoms.unit / unit).denominator == 1:
        return _step(atoms, unit)
    return _rounded(atoms, unit, side)


def _cells(loss: ExponentialLoss, times: int, unit: Fraction, side: Side) -> _Atoms:
    """Return the law of a loss whose density is cut into cells of about two units."""
    count = max(1, math.floor(loss.width / unit))
    half = loss.width / count
    # from -r to r in half cells: the ends of cells are even, their middles odd
    inner = range(0, 2 * count + 1, 2) if side is Side.ABOVE else range(1, 2 * count, 2)
    places = sorted({0, 2 * count, *inner} if loss.atom else set(inner))

    def masses() -> list[arb]:
        density = number_ball(loss.density) * ball(-loss.width / 2).exp()
        atom = ball(loss.atom) * ball(-loss.width / 2).exp()
        share = ball(half / 2)
        inside = 2 * density * (share.tanh() if side is Side.ABOVE else share.sinh())
        found = []
        for place in places:
            weight = arb(0)
            if place in inner:
                at_end = side is Side.ABOVE and place in (0, 2 * count)
                weight = inside / 2 if at_end else inside
            if place in (0, 2 * count):
                weight = weight + atom
            found.append(weight * (ball(half) * (place - count) / 2).exp())
        return found

    losses = [half * (place - count) for place in places]
    return _Atoms(losses, masses, times, half, tuple(place - count for place in places))


def _rounded(atoms: _Atoms, unit: Fraction, side: Side) -> Step:
    """Share each atom between the multiples about it, or round it down."""
    with precision(_BITS):
        size = ball(unit)
        lower = []
        for loss in atoms.losses:
            at = number_ball(loss) / size
            place = math.floor(float(at.mid()))
            while not certainly(at >= place):
                place -= 1
            while certainly(at >= place + 1):
                place += 1
            lower.append(place)
    first = lower[0]
    places = range(first, lower[-1] + 2)

    def masses() -> list[arb]:
        found = [arb(0)] * len(places)
        for place, loss, mass in zip(lower, atoms.losses, atoms.masses(), strict=True):
            share = arb(0)
            if side is Side.ABOVE:
                # P and Q keep their masses; a loss that is the multiple itself stays there
                over = number_ball(loss) - ball(unit) * place
                share = ((-over).expm1() / ball(-unit).expm1()).max(arb(0)).min(arb(1))
            found[place - first] += mass * (1 - share)
            found[place + 1 - first] += mass * share
        return found

    return Step(tuple(places), masses, atoms.times)
