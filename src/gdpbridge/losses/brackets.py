"""Losses between two laws on the multiples of one unit: one above, and one below.

Each part's losses are put on multiples of one unit, counted from a loss of its own; the unit is a
share of the distance of two losses of the part that counts most, and of many runs it is finer for
one run, and grows. See losses/rounding.py, losses/told.py and docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.lattices import (
    atoms_of,
    common_measure,
    failure_of,
    laws_of,
    most_values,
    step_on,
)
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.rounding import (
    Atoms,
    Side,
    cells,
    counted,
    likeliest,
    others,
    rounded,
)
from gdpbridge.losses.sampled import sampled_finite
from gdpbridge.losses.sums import LatticeSum, Law, Step, added
from gdpbridge.losses.told import ToldSum
from gdpbridge.losses.transforms.base import Number, Transform, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialTransform
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.losses.transforms.sampled_exponential import SampledExponentialTransform
from gdpbridge.losses.trimmed import TrimmedSum, reach, tilts_for
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["between"]

# losses of one run, or of a sum without a common unit, that are kept apart in bounds
_FEW = 64
_BITS = 256
# units that two losses of one run are apart, and cells of a density on a sample
_MOST_SHARES, _MOST_CELLS = 1 << 11, 1 << 13
# of the variance of a run: what may be added without a finer unit
_CLOSE = 1e-7
# of a range that is divided by
_LEAST = 1e-300


@dataclass(frozen=True)
class Unit:
    """What losses are counted in.

    Attributes:
        size: the unit.
        transform: the loss that two values of are so many units apart; None for none.
        count: how many.
        halvings: how often the unit of all runs was halved for one run.
    """

    size: Number
    transform: Transform | None = None
    count: int = 0
    halvings: int = 0


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
    fine = [_finer(unit, factor, points if spare else 0) for factor in rest]
    pairs = list(zip(rest, fine, strict=True))
    placed = [_placed(factor, one) for factor, one in pairs]
    least, most = _ends(failure)
    above: Law
    if spare:
        most += spare
        above = TrimmedSum(unit.size, [step for _, step in placed], most, _total(placed), spare)
    else:
        above = LatticeSum(unit.size, [step for _, step in placed], most, _total(placed))
    below: Law = ToldSum([_told(factor, one) for factor, one in pairs], least, spare)
    if not few:
        return below, above
    apart = laws_of([atoms_of(factor) for factor in few], failure)
    assert apart is not None
    return added([below, apart], least), added([above, apart], most)


def _ends(failure: Number) -> tuple[Fraction, Fraction]:
    """Return bounds of a probability to fail, of which only the order may be known."""
    if isinstance(failure, Fraction):
        return failure, failure
    with precision(_BITS):
        found = failure()
        return max(to_fraction(found.lower()), Fraction(0)), to_fraction(found.upper())


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
    return most_values(transform.losses, factor.times)


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
    common = common_measure(known)
    if common >= 2 * least:
        # whole cells fit between any two of the losses
        return Unit(common / (2 * math.floor(common / (2 * least))))
    widest = max(known)
    if widest < 2 * least:
        return Unit(least)
    return Unit(widest / (2 * max(1, math.floor(widest / (2 * least)))))


def _window(factors: Sequence[Factor], spare: Fraction) -> float:
    """Return about how far a sum reaches but for some mass."""
    place = np.zeros(1)
    variance = sum(float(one.log_shapes(place)[2][0]) for one in factors)
    widest = max(float(_range(one.transform)) for one in factors)
    nats = float(-ball(spare).log())
    if not variance or not widest:
        return math.inf
    tilts = tilts_for(nats, variance, widest)
    up, down = (
        np.sum([one.log_sizes(sign * tilts) for one in factors], axis=0) for sign in (1, -1)
    )
    return reach(tilts, (up, down), nats)


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
    losses, masses = _over(one)
    counts = np.arange(max(1, most // 2), most + 1)
    rest = np.mod(losses / span * counts[:, None], 1.0)
    return int(counts[np.argmin((rest * (1 - rest)) @ masses / counts**2)])


def _off(one: Transform, unit: float) -> float:
    """Return about the variance of what is between multiples of a unit."""
    if not isinstance(one, FiniteTransform):
        return unit**2 / 4
    losses, masses = _over(one)
    rest = np.mod(losses / unit, 1.0)
    return float((rest * (1 - rest)) @ masses) * unit**2


def _over(one: FiniteTransform) -> tuple[Floats, Floats]:
    """Return how far losses are over the one that multiples are counted from, and their masses."""
    with precision(_BITS):
        losses = np.array([float(number_ball(loss)) for loss in one.losses])
        masses = np.array([float(number_ball(mass)) for mass in one.masses])
    return losses - losses[likeliest(atoms_of(Factor(one, 1, mirrored=False)))[0]], masses


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
        one.losses[index] for index in likeliest(atoms_of(replace(factor, mirrored=False)))
    )
    return lambda: number_ball(last) - number_ball(first)


def _range(transform: object) -> arb:
    assert isinstance(
        transform, FiniteTransform | ExponentialTransform | SampledExponentialTransform
    )
    return transform.largest() - transform.least()


def _finer(unit: Unit, factor: Factor, points: int) -> Unit:
    """Return the unit for one run, of so many multiples at most: it may grow with the deviation."""
    one = factor.transform
    if isinstance(one, FiniteTransform) and _is_whole(one.spacing, unit.size):
        return unit
    with precision(_BITS):
        step = float(number_ball(unit.size))
        most = points * step / max(float(_range(one)), _LEAST)
    most_halvings = max(0, min(math.frexp(most)[1] - 1, (factor.times.bit_length() - 1) // 2))
    variance = float(one.log_shapes(np.ones(1))[2][0])
    halvings = 0
    while halvings < most_halvings and _off(one, step / 2**halvings) > _CLOSE * variance:
        halvings += 1
    size, power = unit.size, 1 << halvings
    if isinstance(size, Fraction):
        return Unit(size / power, unit.transform, unit.count * power, halvings)
    return Unit(lambda: number_ball(size) / power, unit.transform, unit.count * power, halvings)


def _placed(factor: Factor, unit: Unit) -> tuple[Number, Step]:
    """Return what a run's losses are counted from, and a law on multiples that dominates."""
    atoms, exact, apart = _counted(factor, unit, Side.ABOVE)
    if _is_whole(atoms.unit, unit.size):
        assert isinstance(unit.size, Fraction)
        return Fraction(0), replace(step_on(atoms, unit.size), halvings=unit.halvings)
    start, step = counted(atoms, unit.size, exact, apart)
    return start, replace(step, halvings=unit.halvings)


def _told(factor: Factor, unit: Unit) -> Step:
    """Return the law of a run that tells no more than multiples."""
    atoms, exact, apart = _counted(factor, unit, Side.BELOW)
    if _is_whole(atoms.unit, unit.size):
        assert isinstance(unit.size, Fraction)
        step = step_on(atoms, unit.size)
        return replace(step, others=lambda: others(atoms), halvings=unit.halvings)
    return replace(rounded(atoms, unit.size, exact, apart), halvings=unit.halvings)


def _is_whole(spacing: Number | None, size: Number) -> bool:
    """Whether what all losses are multiples of is itself a multiple of a unit."""
    if not isinstance(spacing, Fraction) or not isinstance(size, Fraction):
        return False
    return (spacing / size).denominator == 1


def _counted(factor: Factor, unit: Unit, side: Side) -> tuple[Atoms, tuple[int, int], int | None]:
    """Return a run's losses, two of them, and by how many units these differ, if that is known."""
    one = factor.transform
    apart = unit.count if one is unit.transform else None
    if isinstance(one, FiniteTransform):
        atoms = atoms_of(factor)
        return atoms, likeliest(atoms), apart
    assert isinstance(one, ExponentialTransform | SampledExponentialTransform)
    made = _cut(one, unit, side)
    # of a run that may fail, a sample has one more loss, the least
    more = int(isinstance(one, SampledExponentialTransform) and one.loss.failure > 0)
    last = len(made.losses) - 1
    exact = (0, last - more) if factor.mirrored else (more, last)
    return (
        atoms_of(Factor(made, factor.times, factor.mirrored)),
        exact,
        apart if one.loss.atom else None,
    )


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
