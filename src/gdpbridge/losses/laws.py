"""Discrete laws on a lattice, one that dominates a step's loss and one that it dominates.

Both are piecewise linear curves in t with their knots on a lattice, where a law's curve bends by
the law's mass. Above C lie its chords ("connect the dots": Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022). Below C lie its tangents: between two points of contact a knot takes the smaller
one of their tangents. Either differs from C by a second-order amount and without drift, as both
keep the mean of e^L under Q.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from flint import arb

from gdpbridge.losses.step import Point, Step
from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = [
    "UNIT",
    "Kept",
    "Lattice",
    "Law",
    "LostDigitsError",
    "TooCoarseError",
    "dominated_law",
    "dominating_law",
]

UNIT = 2.0**-53
_BITS = 128
_MAX_BITS = 1024
# what a mass must be known to, relative to it
_ACCURACY_BITS = 50


@dataclass
class Lattice:
    """The losses origin + k·spacing, k a whole number.

    Attributes:
        origin: encloses the loss of k = 0, at the working precision.
        spacing: their distance.
    """

    origin: Callable[[], arb]
    spacing: Fraction

    def loss(self, index: int) -> arb:
        """Enclose a loss."""
        return self.origin() + ball(index * self.spacing)

    @cached_property
    def start(self) -> float:
        """The origin as a float."""
        with precision(_BITS):
            return float(self.origin())

    def losses(self, index: Indices) -> Floats:
        """Return losses as floats, off by a unit or two of rounding."""
        return np.asarray(self.start + index * float(self.spacing), dtype=np.float64)

    def mirrored(self) -> Lattice:
        """Return the lattice of -L."""
        return Lattice(lambda: -self.origin(), self.spacing)


@dataclass(frozen=True)
class Law:
    """Q-masses at lattice points; the losses outside ``ends`` are as they were.

    Attributes:
        lattice: where the losses are.
        index: their numbers, growing.
        log_mass: logarithms of the masses.
        error: how much each logarithm may be off.
        ends: the losses between which the law stands for the step's.
    """

    lattice: Lattice
    index: Indices
    log_mass: Floats
    error: Floats
    ends: tuple[float, float]

    def mirrored(self) -> Law:
        """Return the law of -L under P, which is that of the other direction."""
        loss = self.lattice.losses(self.index)
        log_mass = self.log_mass + loss
        error = self.error + 4 * UNIT * (1 + np.abs(loss) + np.abs(log_mass))
        low, high = self.ends
        return Law(
            self.lattice.mirrored(), -self.index[::-1], log_mass[::-1], error[::-1], (-high, -low)
        )


def dominating_law(step: Step, lattice: Lattice, knots: Indices) -> Law:
    """Return the law of the chords between knots.

    Args:
        step: the privacy loss.
        lattice: where the knots are.
        knots: their numbers, growing. No loss is below the first one if losses have a lower bound,
            which then is the lattice's origin.
    """
    from_bottom = knots[0] == 0 and np.isfinite(step.bottom)

    def masses(points: list[Point]) -> list[arb]:
        below = points[0].below
        if from_bottom:
            # at the least loss itself balls cannot tell on which side they are
            t, below = points[0].t, arb(0)
            call = step.finite_p() - step.finite_q() * t
            points[0] = Point(t, call, below, step.finite_q(), below)
        chain = _Chain(
            [point.t for point in points],
            [point.put for point in points],
            [point.call for point in points],
        )
        first = _Slope(below, points[0].above)
        return chain.masses(first, _Slope(points[-1].below, points[-1].above), step.finite_q())

    for bits in _precisions():
        with precision(bits):
            points = [step.point(lattice.loss(int(index))) for index in knots]
            low = -np.inf if from_bottom else float_above(lattice.loss(int(knots[0])))
            # where nothing is above the last knot, the law stands for every larger loss
            covers = points[-1].above.is_zero()
            high = np.inf if covers else float_below(lattice.loss(int(knots[-1])))
            law = _law(lattice, knots, masses(points))
        if law is not None:
            return Law(*law, (low, high))
    raise LostDigitsError


class Kept(Enum):
    """What a dominated law must keep of the loss: below the calls, the puts, or both.

    A law for calls may leave out losses below its knots, one for puts losses above them; one for
    both keeps the mean of e^L.
    """

    CALLS = "calls"
    PUTS = "puts"
    BOTH = "both"


def dominated_law(
    step: Step, lattice: Lattice, knots: Indices, touching: Sequence[Fraction], kept: Kept
) -> Law:
    """Return the law of tangents between knots.

    Args:
        step: the privacy loss.
        lattice: where the knots are.
        knots: their numbers, growing.
        touching: where between two knots the tangent is taken, in spacings from the origin.
        kept: what the law is for.

    Raises:
        TooCoarseError: if there is no such law.
        LostDigitsError: if a mass is not known at any precision.
    """
    for bits in _precisions():
        with precision(bits):
            law = _Tangents(step, lattice, knots, kept).law(touching)
        if law is not None:
            return Law(*law, (-np.inf, np.inf))
    raise LostDigitsError


def _precisions() -> Iterator[int]:
    """Give growing precisions: a mass is a small difference of large numbers."""
    bits = _BITS
    while bits <= _MAX_BITS:
        yield bits
        bits *= 2


class LostDigitsError(Exception):
    """A mass of a law is not known at any precision allowed."""


class TooCoarseError(Exception):
    """No law on these knots lies below the loss and keeps its mean."""


@dataclass(frozen=True)
class _Slope:
    """The slope of a line: that of its put, and minus that of its call."""

    below: arb
    above: arb


@dataclass(frozen=True)
class _Line:
    """A line below a curve.

    Attributes:
        place: where it touches the curve, in spacings from the origin, or at which end.
        at: gives put and call at t.
        slope: its slope.
    """

    place: Fraction | str
    at: Callable[[arb], tuple[arb, arb]]
    slope: _Slope


class _Tangents:
    """Lines below a curve, each about the middle between two knots."""

    def __init__(self, step: Step, lattice: Lattice, knots: Indices, kept: Kept) -> None:
        self.step, self.lattice, self.knots, self.kept = step, lattice, knots, kept
        self.t = [lattice.loss(int(index)).exp() for index in knots]
        finite_p, finite_q = step.finite_p(), step.finite_q()
        self.finite_q = finite_q
        none, every = _Slope(arb(0), finite_q), _Slope(finite_q, arb(0))
        self.no_loss_below = _Line("below", lambda t: (arb(0), finite_p - finite_q * t), none)
        self.no_loss_above = _Line("above", lambda t: (finite_q * t - finite_p, arb(0)), every)

    def law(self, touching: Sequence[Fraction]) -> tuple[Lattice, Indices, Floats, Floats] | None:
        """Return the law of their lower envelope, None if the precision does not do."""
        inner = [self._line(number, place) for number, place in enumerate(touching)]
        # beyond the knots the last tangents go on, where losses may be left out
        from_bottom = self.knots[0] == 0 and np.isfinite(self.step.bottom)
        opened = self.kept is Kept.CALLS and not from_bottom
        first = inner[0] if opened and inner else self.no_loss_below
        last = inner[-1] if self.kept is Kept.PUTS and inner else self.no_loss_above
        lines = [first, *inner, last]
        self._check_ends(lines)
        bends, puts, calls = [], [], []
        for t, before, after in zip(self.t, lines[:-1], lines[1:], strict=True):
            # one line on both sides of a knot makes no knot
            bends.append(before.place != after.place)
            (put, call), (other_put, other_call) = before.at(t), after.at(t)
            puts.append(put.min(other_put))
            calls.append(call.min(other_call))
        if not any(bends):
            raise TooCoarseError
        bent = np.array(bends)
        index, chain = self.knots[bent], _Chain(self.t, puts, calls).only(bent)
        while True:
            masses = chain.masses(first.slope, last.slope, self.finite_q)
            # where the knots do not make a convex curve, its lower envelope takes their place
            bent = np.array([not mass < 0 for mass in masses])
            if bent.all():
                return _law(self.lattice, index, masses)
            index, chain = index[bent], chain.only(bent)

    def _check_ends(self, lines: Sequence[_Line]) -> None:
        """Refuse a curve that does not meet the lines of no loss at its ends.

        Its law would have another mean, or larger calls. A single knot meets both only where all of
        the loss is.
        """
        for kept_otherwise, line, beside, t, side in (
            (Kept.CALLS, self.no_loss_below, lines[:2], self.t[0], 0),
            (Kept.PUTS, self.no_loss_above, lines[:-3:-1], self.t[-1], 1),
        ):
            end, neighbour = beside
            if self.kept is not kept_otherwise and end is line and not neighbour.at(t)[side] >= 0:
                raise TooCoarseError

    def _line(self, number: int, middle: Fraction) -> _Line:
        """Return a tangent about a place between two knots, or a line of no loss."""
        first, last = Fraction(int(self.knots[number])), Fraction(int(self.knots[number + 1]))
        left, right = self.t[number], self.t[number + 1]
        for place in (middle, first, last):
            offset = ball(place * self.lattice.spacing)
            point = self.step.point(self.lattice.origin() + offset)
            line = _Line(place, partial(_tangent, point), _Slope(point.below, point.above))
            if self._serves(line, left, right):
                return line
        for line in self.no_loss_below, self.no_loss_above:
            if self._serves(line, left, right):
                return line
        raise TooCoarseError

    def _serves(self, line: _Line, left: arb, right: arb) -> bool:
        """Whether what is to be kept is not negative on a line between two knots.

        A law has no negative puts or calls.
        """
        has_puts = self.kept is Kept.CALLS or line.at(left)[0] >= 0
        has_calls = self.kept is Kept.PUTS or line.at(right)[1] >= 0
        return has_puts and has_calls


def _tangent(point: Point, t: arb) -> tuple[arb, arb]:
    """Return put and call of the tangent at a point."""
    return point.put + point.below * (t - point.t), point.call - point.above * (t - point.t)


@dataclass(frozen=True)
class _Chain:
    """Knots of a piecewise linear curve, as puts and as calls."""

    t: list[arb]
    puts: list[arb]
    calls: list[arb]

    def only(self, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _Chain:
        """Return the chain of some of the knots."""
        chosen = [
            [value for value, keep in zip(values, kept, strict=True) if keep]
            for values in (self.t, self.puts, self.calls)
        ]
        return _Chain(*chosen)

    def masses(self, first: _Slope, last: _Slope, total: arb) -> list[arb]:
        """Return by how much the slope changes at each knot.

        Args:
            first: the slope before the first knot.
            last: the slope after the last one.
            total: what a slope's two forms add up to.
        """
        steps = [right - left for left, right in zip(self.t[:-1], self.t[1:], strict=True)]
        # the smaller one of the two forms keeps its digits
        pairs = enumerate(zip(self.puts, self.calls, strict=True))
        switch = next((at for at, (put, call) in pairs if not put < call), len(self.t))
        rises = [first.below] + [
            (self.puts[at + 1] - self.puts[at]) / steps[at] for at in range(len(steps))[:switch]
        ]
        falls = [
            (self.calls[at] - self.calls[at + 1]) / steps[at] for at in range(len(steps))[switch:]
        ] + [last.above]
        middle: list[arb] = []
        if switch == 0:
            falls.insert(0, first.above)
        elif switch == len(self.t):
            rises.append(last.below)
        else:
            middle.append(total - rises[-1] - falls[0])
        return [
            *(right - left for left, right in itertools.pairwise(rises)),
            *middle,
            *(left - right for left, right in itertools.pairwise(falls)),
        ]


def _law(
    lattice: Lattice, index: Indices, masses: list[arb]
) -> tuple[Lattice, Indices, Floats, Floats] | None:
    """Return the parts of a law; None where a mass is not known well enough."""
    logs, kept = [], []
    for number, mass in enumerate(masses):
        if mass.is_zero():
            continue
        if mass.rel_accuracy_bits() < _ACCURACY_BITS or not mass > 0:
            return None
        logs.append(float(mass.log()))
        kept.append(number)
    log_mass = np.array(logs)
    error = 2.0**-_ACCURACY_BITS + 2 * UNIT * np.abs(log_mass)
    return lattice, index[np.array(kept)], log_mass, error
