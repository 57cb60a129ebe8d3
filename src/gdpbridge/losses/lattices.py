"""Losses on lattices: as they are where they have one, else between a law above and a law below.

Each part's losses are put on multiples of one unit, counted from a loss of its own; the unit is a
share of the distance of two losses of the part that counts most. See losses/rounding.py and
docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.moments import Factor, Moments
from gdpbridge.losses.rounding import Atoms, Side, cells, counted, likeliest
from gdpbridge.losses.sampled import sampled_finite
from gdpbridge.losses.sums import LatticeSum, Law, Step, added, span
from gdpbridge.losses.transforms.base import Number, Transform, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialTransform
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.losses.transforms.sampled_exponential import SampledExponentialTransform
from gdpbridge.losses.trimmed import TrimmedSum
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["MAX_SPAN", "between", "exactly", "failure_of"]

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
# units that two losses of one run are apart, and cells of a density on a sample
_MOST_SHARES, _MOST_CELLS = 1 << 11, 1 << 13
# what one of many sums takes, for each loss, in units of numeric/effort.py
_SUM = 10


@dataclass(frozen=True)
class Unit:
    """What losses are counted in.

    Attributes:
        size: the unit.
        transform: the loss that two values of are so many units apart; None for none.
        count: how many.
    """

    size: Number
    transform: Transform | None = None
    count: int = 0


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


def _laws(atoms: Sequence[Atoms], failure: Number) -> Law | None:
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


def _step(one: Atoms, unit: Fraction) -> Step:
    assert isinstance(one.unit, Fraction)
    ratio = one.unit / unit
    return Step(tuple(int(place * ratio) for place in one.places), one.masses, one.times)


def _gcd(values: Sequence[Fraction]) -> Fraction:
    """Return the greatest number of which all are multiples."""
    bottom = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * bottom) for value in values)), bottom)


class _Runs:
    """The law of some runs without a common unit: all counts of each loss, by the multinomial."""

    def __init__(self, atoms: Atoms, failure: Number) -> None:
        self._atoms, self.failure = atoms, failure
        spend(_SUM * _most(atoms.losses, atoms.times) * (1 + len(atoms.losses)))
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


def _atoms(factor: Factor) -> Atoms:
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


# --- between a law above and a law below ---------------------------------------------------------


def between(
    factors: Sequence[Factor], points: int, spare: Fraction = Fraction(0)
) -> tuple[Law, Law]:
    """Return laws below and above the sum of losses, with about so many values.

    Args:
        factors: finite losses, and such with a density of e^{±x/2} between two atoms, also on
            samples.
        points: how many multiples of the unit the sum may span.
        spare: a mass that may count as a failure above, and be left out below.
    """
    # less than nothing would be taken from what fails
    assert spare >= 0
    failure = failure_of(factors)
    few, rest, unit = _parted(factors, points, spare)
    found = []
    for side in Side:
        counted = [_placed(factor, unit, side) for factor in rest]
        steps = [step for _, step in counted]
        lost = failure
        if spare:
            lost = _and_spare(failure, spare) if side is Side.ABOVE else failure
            laws: list[Law] = [TrimmedSum(unit.size, steps, lost, _total(counted), spare)]
        else:
            laws = [LatticeSum(unit.size, steps, failure, _total(counted))]
        if few:
            apart = _laws([_atoms(factor) for factor in few], failure)
            assert apart is not None
            laws.append(apart)
        found.append(added(laws, lost))
    above, below = found
    return below, above


def _and_spare(failure: Number, spare: Fraction) -> Number:
    if isinstance(failure, Fraction):
        return failure + spare
    return lambda: failure() + ball(spare)


def _total(counted: Sequence[tuple[Number, Step]]) -> Number:
    """Return what all runs' losses are counted from."""
    known = [start * step.times for start, step in counted if isinstance(start, Fraction)]
    if len(known) == len(counted):
        return sum(known, Fraction(0))
    return lambda: sum((number_ball(start) * step.times for start, step in counted), arb(0))


def _parted(
    factors: Sequence[Factor], points: int, spare: Fraction
) -> tuple[list[Factor], list[Factor], Unit]:
    """Return losses that are kept apart, the others, and the unit of these."""
    few = [
        factor
        for factor in factors
        if isinstance(factor.transform, FiniteTransform)
        and not isinstance(factor.transform.spacing, Fraction)
        and _values(factor) <= _FEW
    ]
    if len(few) == len(factors) or math.prod(_values(factor) for factor in few) > _FEW:
        few = []
    rest = [factor for factor in factors if factor not in few]
    points //= math.prod(_values(factor) for factor in few)
    return few, rest, _unit(rest, points, spare)


def _values(factor: Factor) -> int:
    """Return how many values the sum of all runs has at most."""
    transform = factor.transform
    assert isinstance(transform, FiniteTransform)
    if transform.spacing is not None:
        places = transform.places
        return factor.times * (places[-1] - places[0]) + 1
    return _most(transform.losses, factor.times)


def _unit(factors: Sequence[Factor], points: int, spare: Fraction) -> Unit:
    """Return a unit with which the sum spans about so many multiples, of all losses if it can."""
    with precision(_BITS):
        total = float(sum((factor.times * _range(factor.transform) for factor in factors), arb(0)))
        if spare:
            total = min(total, _window(factors, spare))
        least = Fraction(total) / points
        loose = [factor for factor in factors if not _is_rational(factor)]
        if loose:
            # what counts most has two of its losses on the lattice
            spans = [(_span(factor), factor) for factor in loose]
            most = max(spans, key=lambda one: one[1].times * float(number_ball(one[0])) ** 2)
            return _share_of(*most, least)
    known: list[Fraction] = []
    for factor in factors:
        transform = factor.transform
        if isinstance(transform, ExponentialTransform):
            known.append(transform.loss.width)
        elif isinstance(transform, FiniteTransform) and isinstance(transform.spacing, Fraction):
            known.append(transform.spacing)
    common = _gcd(known)
    if common >= 2 * least:
        # whole cells fit between any two of the losses
        return Unit(common / (2 * math.floor(common / (2 * least))))
    widest = max(known)
    if widest < 2 * least:
        return Unit(least)
    return Unit(widest / (2 * max(1, math.floor(widest / (2 * least)))))


def _window(factors: Sequence[Factor], spare: Fraction) -> float:
    """Return about how far a sum reaches but for some mass, by Bernstein's inequality."""
    place = np.ones(1)
    variance = sum(one.times * float(one.transform.log_shapes(place)[2][0]) for one in factors)
    widest = max(float(_range(one.transform)) for one in factors)
    nats = float(-ball(spare).log())
    return 2 * (math.sqrt(2 * nats * variance) + 2 * nats * widest / 3)


def _is_rational(factor: Factor) -> bool:
    """Whether all losses are multiples of a rational number, or have a density between such."""
    one = factor.transform
    return isinstance(one, ExponentialTransform) or (
        isinstance(one, FiniteTransform) and isinstance(one.spacing, Fraction)
    )


def _share_of(span: Number, factor: Factor, least: Fraction) -> Unit:
    """Return a unit that is a whole share of a span, and not below the least one."""
    most = max(1, math.floor(float(number_ball(span)) / float(least)))
    most = min(most, _MOST_SHARES)
    one = factor.transform
    # a density has cells of two units; of a few losses, some shares leave less between
    count = max(1, most - most % 2)
    if isinstance(one, FiniteTransform) and len(one.losses) <= _FEW:
        count = _best_count(one, float(number_ball(span)), most)
    size = span / count if isinstance(span, Fraction) else lambda: number_ball(span) / count
    return Unit(size, one, count)


def _best_count(one: FiniteTransform, span: float, most: int) -> int:
    """Return the share of a span with the least variance between the multiples of the unit."""
    losses = np.array([float(number_ball(loss)) for loss in one.losses])
    masses = np.array([float(number_ball(mass)) for mass in one.masses])
    start = losses[likeliest(_atoms(Factor(one, 1, mirrored=False)))[0]]
    counts = np.arange(max(1, most // 2), most + 1)
    rest = np.mod((losses - start) / span * counts[:, None], 1.0)
    return int(counts[np.argmin((rest * (1 - rest)) @ masses / counts**2)])


def _span(factor: Factor) -> Number:
    """Return how far the two losses are apart that are the likeliest, or the ends of a density."""
    one = factor.transform
    if not isinstance(one, FiniteTransform):
        assert isinstance(one, SampledExponentialTransform)
        ends = one.ends()
        return lambda: number_ball(ends[1]) - number_ball(ends[0])
    if len(one.losses) == 1:
        return Fraction(1)
    first, last = (
        one.losses[index] for index in likeliest(_atoms(replace(factor, mirrored=False)))
    )
    return lambda: number_ball(last) - number_ball(first)


def _range(transform: object) -> arb:
    assert isinstance(
        transform, FiniteTransform | ExponentialTransform | SampledExponentialTransform
    )
    return transform.largest() - transform.least()


def _placed(factor: Factor, unit: Unit, side: Side) -> tuple[Number, Step]:
    """Return what a run's losses are counted from, and its law on the multiples of the unit."""
    one = factor.transform
    apart = unit.count if one is unit.transform else None
    if isinstance(one, FiniteTransform):
        atoms = _atoms(factor)
        exact = likeliest(atoms)
    else:
        assert isinstance(one, ExponentialTransform | SampledExponentialTransform)
        made = _cut(one, unit, side)
        atoms = _atoms(Factor(made, factor.times, factor.mirrored))
        # of a run that may fail, a sample has one more loss, the least
        more = int(isinstance(one, SampledExponentialTransform) and one.loss.failure > 0)
        last = len(made.losses) - 1
        exact = (0, last - more) if factor.mirrored else (more, last)
        if not one.loss.atom:
            apart = None
    size = unit.size
    if (
        isinstance(atoms.unit, Fraction)
        and isinstance(size, Fraction)
        and (atoms.unit / size).denominator == 1
    ):
        return Fraction(0), _step(atoms, size)
    return counted(atoms, size, side, exact, apart)


def _cut(
    one: ExponentialTransform | SampledExponentialTransform, unit: Unit, side: Side
) -> FiniteTransform:
    """Return a loss whose density is cut into cells of about two units."""
    size = unit.size
    if not isinstance(size, Fraction):
        with precision(_BITS):
            size = Fraction(float(number_ball(size)))
    spans = one.loss.width / size
    if isinstance(one, ExponentialTransform):
        return cells(one.loss, max(1, math.floor(spans)), side)
    # those of the loss itself are at most so many times as wide as those of the sample's
    count = min(max(1, math.ceil(spans * Fraction(one.steepest()))), _MOST_CELLS)
    return sampled_finite(cells(one.loss, count, side), one.gamma, replaced=False)
