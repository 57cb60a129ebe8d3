"""One run's losses on multiples of a unit, counted from a loss of its own: above, or below.

A density of e^{±x/2} is first cut into cells. Above it lies the law that has each cell's mass at
the ends of the cell, so shared that P and Q keep their masses (δ is convex in e^ε, and this is its
chord); below it the law that tells no more than the cell, whose loss is the cell's middle.

So it is done with an atom between two multiples above: it is shared between them. P and Q keep
their masses, so that the mean loss stays and what is off does not add up over the runs. Two losses
are multiples as they are, and a law of two losses stays exact. Below, each atom is counted as the
nearest multiple, under P and under Q: whoever sees the sum of these alone sees less, and has the
loss that the sum's own two probabilities say (losses/told.py). See docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb

from gdpbridge.losses.sums import Step
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = ["Atoms", "Side", "cells", "counted", "likeliest", "others", "rounded"]

_BITS = 256
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
    atoms: Atoms, unit: Number, exact: tuple[int, int], apart: int | None
) -> tuple[Number, Step]:
    """Return a loss from which multiples of a unit are counted, and a law on these that dominates.

    Args:
        atoms: the losses.
        unit: the unit.
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
    return start, _shared(atoms, start, unit, about)


def rounded(atoms: Atoms, unit: Number, exact: tuple[int, int], apart: int | None) -> Step:
    """Return the law that tells no more of a loss than about which multiple it is.

    Args:
        atoms: the losses.
        unit: the unit.
        exact: two of the losses; the multiples are counted from the first one.
        apart: by how many units these two differ, if that is known.
    """
    spend(_PLACED * len(atoms.losses))
    with precision(_BITS):
        start, size = number_ball(atoms.losses[exact[0]]), number_ball(unit)
        about = [round(float((number_ball(loss) - start) / size)) for loss in atoms.losses]
    if apart is not None:
        about[exact[1]] = apart
    places = tuple(sorted(set(about)))
    index = {place: number for number, place in enumerate(places)}

    def gathered(masses: Callable[[], list[arb]]) -> Callable[[], list[arb]]:
        def found() -> list[arb]:
            total = [arb(0)] * len(places)
            for place, mass in zip(about, masses(), strict=True):
                total[index[place]] += mass
            return total

        return found

    return Step(places, gathered(atoms.masses), atoms.times, gathered(partial(others, atoms)))


def others(atoms: Atoms) -> list[arb]:
    """Enclose the losses' probabilities under Q."""
    pairs = zip(atoms.losses, atoms.masses(), strict=True)
    return [mass * (-number_ball(loss)).exp() for loss, mass in pairs]


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
