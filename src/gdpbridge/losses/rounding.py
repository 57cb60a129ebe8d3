"""One run's losses on multiples of a unit, counted from a loss of its own: above, or below.

A density of e^{±x/2} is first cut into cells. Above it lies the law that has each cell's mass at
the ends of the cell, so shared that P and Q keep their masses (δ is convex in e^ε, and this is its
chord); below it the law that tells no more than the cell, whose loss is the cell's middle.

So it is done with an atom between two multiples. Above, it is shared between them. Below, it is
pooled with so much of the next atoms that the loss of the pool, log of the ratio of its masses, is
a multiple: whoever is told no more than that it was one of the pool sees less. P and Q keep their
masses on both sides, so that the mean loss stays and what is off does not add up over the runs. Two
losses are multiples as they are, and a law of two losses stays exact. See docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.sums import Step
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, float_above, float_below, to_fraction

__all__ = ["Atoms", "Side", "cells", "counted", "likeliest"]

_BITS = 256
# shares are whole multiples of one over it; of one donor, no more than this
_SHARES = 1 << 128
_MOST_OF_DONOR = Fraction(1, 2)
# what putting a loss in its place takes, in units of numeric/effort.py
_PLACED = 600


class Side(Enum):
    """On which side of a loss its law is."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True)
class Atoms:
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


def likeliest(atoms: Atoms) -> tuple[int, int]:
    """Return the two losses with the largest √(pq), the smaller one first."""
    with precision(_BITS):
        logs = [
            float(mass.log() - number_ball(loss) / 2)
            for loss, mass in zip(atoms.losses, atoms.masses(), strict=True)
        ]
    order = np.argsort(logs, kind="stable")[-2:].tolist()
    return min(order), max(order)


# --- a density ------------------------------------------------------------------------------------


def cells(loss: ExponentialLoss, count: int, side: Side) -> FiniteTransform:
    """Return the loss that has each of so many cells' mass at its ends, or at its middle."""
    half = loss.width / count
    # from -r to r in half cells: the ends of cells are even, their middles odd
    inner = range(0, 2 * count + 1, 2) if side is Side.ABOVE else range(1, 2 * count, 2)
    places = sorted({0, 2 * count, *inner} if loss.atom else set(inner))
    known: dict[int, list[arb]] = {}

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

    def mass(number: int) -> Callable[[], arb]:
        def value() -> arb:
            bits = working_precision()
            if bits not in known:
                known[bits] = masses()
            return known[bits][number]

        return value

    return FiniteTransform(
        [half * (place - count) for place in places],
        [mass(number) for number in range(len(places))],
        failure=loss.failure,
        reverse_failure=loss.failure,
        symmetric=True,
        spacing=half,
        places=tuple(place - count for place in places),
    )


# --- atoms ----------------------------------------------------------------------------------------


def counted(
    atoms: Atoms, unit: Number, side: Side, exact: tuple[int, int], apart: int | None
) -> tuple[Number, Step]:
    """Return a loss from which multiples of a unit are counted, and the law on these.

    Args:
        atoms: the losses.
        unit: the unit.
        side: whether the law is to dominate that of the losses, or to be dominated.
        exact: two of the losses; the first one is what is counted from.
        apart: by how many units these two differ, if that is known.
    """
    spend(_PLACED * len(atoms.losses))
    start = atoms.losses[exact[0]]
    known = {exact[0]: 0}
    if apart is not None:
        known[exact[1]] = apart
    with precision(_BITS):
        about = [
            (known[number],) * 2 if number in known else _about(loss, start, unit)
            for number, loss in enumerate(atoms.losses)
        ]
    make = _shared if side is Side.ABOVE else _pooled
    return start, make(atoms, start, unit, about)


def _about(loss: Number, start: Number, unit: Number) -> tuple[int, int]:
    """Return the multiples that a loss is between, twice the one that it is."""
    if isinstance(loss, Fraction) and isinstance(start, Fraction) and isinstance(unit, Fraction):
        at = (loss - start) / unit
        return math.floor(at), math.ceil(at)
    over = (number_ball(loss) - number_ball(start)) / number_ball(unit)
    first, last = math.floor(float_below(over)), math.ceil(float_above(over))
    return first, max(last, first + 1)


def _shared(atoms: Atoms, start: Number, unit: Number, about: Sequence[tuple[int, int]]) -> Step:
    """Share each atom between the multiples about it."""
    places = tuple(sorted({end for ends in about for end in ends}))
    index = {place: number for number, place in enumerate(places)}

    def masses() -> list[arb]:
        found = [arb(0)] * len(places)
        size, base = number_ball(unit), number_ball(start)
        for (first, last), loss, mass in zip(about, atoms.losses, atoms.masses(), strict=True):
            if first == last:
                found[index[first]] += mass
                continue
            over = number_ball(loss) - base - size * first
            share = (-over).expm1() / (-size * (last - first)).expm1()
            share = share.max(arb(0)).min(arb(1))
            found[index[first]] += mass * (1 - share)
            found[index[last]] += mass * share
        return found

    return Step(places, masses, atoms.times)


@dataclass(frozen=True)
class _Pool:
    """Atoms that are pooled, and rounded down to a multiple, which their loss is hardly above.

    Attributes:
        place: the multiple.
        whole: those of which all that is left belongs to it.
        part: one that a share of is taken; None for none.
        donor: the number of an earlier pool that a share of is taken; None for none.
        share: the share, a number of few bits.
    """

    place: int
    whole: tuple[int, ...]
    part: int | None = None
    donor: int | None = None
    share: Fraction = Fraction(0)


class _Pools:
    """Pools, with the masses of P and Q that they have at the working precision."""

    def __init__(self, atoms: Atoms, start: Number, unit: Number) -> None:
        self._size, self._start = number_ball(unit), number_ball(start)
        self._p = atoms.masses()
        pairs = zip(atoms.losses, self._p, strict=True)
        self._q = [mass * (-number_ball(loss)).exp() for loss, mass in pairs]
        # what is left of each
        self._left = [Fraction(1)] * len(self._p)
        self.made: list[tuple[int, arb, arb]] = []

    def shared(self, pool: _Pool) -> _Pool | None:
        """Return a pool with a share of so much more that its loss reaches the multiple, if any."""
        p, q = self._sums(pool)
        t = (self._start + self._size * pool.place).exp()
        if pool.part is not None:
            most, up = self._left[pool.part], 1
            more_p, more_q = self._p[pool.part], self._q[pool.part]
        else:
            assert pool.donor is not None
            most, up = _MOST_OF_DONOR, 0
            _, more_p, more_q = self.made[pool.donor]
        needed = (t * q - p) / (more_p - t * more_q)
        if not needed.is_finite():
            return None
        share = Fraction(math.floor(to_fraction(needed.mid()) * _SHARES) + 2 * up, _SHARES)
        if not 0 <= share < most:
            return None
        p, q = p + ball(share) * more_p, q + ball(share) * more_q
        return replace(pool, share=share) if certainly(p >= t * q) else None

    def _sums(self, pool: _Pool) -> tuple[arb, arb]:
        found = arb(0), arb(0)
        for k in pool.whole:
            left = ball(self._left[k])
            found = found[0] + left * self._p[k], found[1] + left * self._q[k]
        return found

    def make(self, pool: _Pool) -> None:
        """Take a pool out of what is left."""
        p, q = self._sums(pool)
        for k in pool.whole:
            self._left[k] = Fraction(0)
        share = ball(pool.share)
        if pool.part is not None:
            self._left[pool.part] -= pool.share
            p, q = p + share * self._p[pool.part], q + share * self._q[pool.part]
        elif pool.donor is not None:
            place, other_p, other_q = self.made[pool.donor]
            self.made[pool.donor] = place, (1 - share) * other_p, (1 - share) * other_q
            p, q = p + share * other_p, q + share * other_q
        self.made.append((pool.place, p, q))


def _pooled(atoms: Atoms, start: Number, unit: Number, about: Sequence[tuple[int, int]]) -> Step:
    """Pool each atom between two multiples with parts of others, by growing losses."""
    with precision(_BITS):
        pools = _Pools(atoms, start, unit)
        found: list[_Pool] = []

        def make(pool: _Pool) -> None:
            pools.make(pool)
            found.append(pool)

        waiting: list[int] = []
        goal = 0
        for number, (first, last) in enumerate(about):
            if waiting and first >= goal and (first, last) != (goal, goal):
                pool = pools.shared(_Pool(goal, tuple(waiting), part=number))
                if pool is None:
                    # all of it is too little
                    waiting.append(number)
                    continue
                make(pool)
                waiting = []
            if first == last:
                make(_Pool(first, (number,)))
            else:
                goal = max(goal, last) if waiting else last
                waiting.append(number)
        if waiting:
            # no loss among them is below that
            make(_last(pools, _Pool(about[waiting[0]][0], tuple(waiting))))
    places = tuple(sorted({pool.place for pool in found}))

    def masses() -> list[arb]:
        again = _Pools(atoms, start, unit)
        for pool in found:
            again.make(pool)
        total = dict.fromkeys(places, arb(0))
        for place, p, _ in again.made:
            total[place] += p
        return [total[place] for place in places]

    return Step(places, masses, atoms.times)


def _last(pools: _Pools, rest: _Pool) -> _Pool:
    """Return the largest losses with a share of an earlier pool, or as they are, rounded down."""
    for donor in reversed(range(len(pools.made))):
        if pools.made[donor][0] < rest.place:
            pool = pools.shared(replace(rest, donor=donor))
            if pool is not None:
                return pool
    return rest
