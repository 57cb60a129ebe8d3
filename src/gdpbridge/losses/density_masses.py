"""The mass of a density on a range: that of its Taylor polynomial, with the remainder enclosed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, arb_series

from gdpbridge.numeric.decide import certainly

__all__ = ["ORDER", "Cell", "Density", "Side", "side_of"]

# of Taylor polynomials
ORDER = 28
# of a mass, what its enclosure may be wide; where a formula has a kink, of 1
_RELATIVE = arb(2) ** -80
_AT_KINKS = arb(2) ** -90
_TINY = arb(2) ** -2000
_FLOAT_STEPS, _NEAR = 30, 2.0**-48


@dataclass(frozen=True)
class Density:
    """A density.

    Attributes:
        value: its power series from that of x, not a number where it is not known.
        log: that of its logarithm.
    """

    value: Callable[[arb_series], arb_series]
    log: Callable[[arb_series], arb_series]


@dataclass(frozen=True)
class Side:
    """One density on a cell: its mass, and the polynomial that it is made of, with remainder."""

    mass: arb
    terms: tuple[arb, ...]

    def up_to(self, shift: arb) -> arb:
        """Return the mass from the middle to the middle plus the shift."""
        total = arb(0)
        for order in reversed(range(len(self.terms))):
            total = total * shift + self.terms[order] / (order + 1)
        return total * shift


@dataclass(frozen=True)
class Cell:
    """A range of x: the loss is monotonic on it, or hardly varies.

    Attributes:
        low: where it begins.
        high: where it ends.
        p: P on it.
        q: Q on it.
        loss: encloses the loss on all of it.
        rises: whether the loss rises; None where it hardly varies.
        course: the loss as a polynomial about the middle, in floats; empty where it has none.
    """

    low: arb
    high: arb
    p: Side
    q: Side
    loss: arb
    rises: bool | None
    course: tuple[float, ...] = ()

    @property
    def middle(self) -> arb:
        """Return what the polynomials are about."""
        return ((self.low + self.high) / 2).mid()

    def guess(self, loss: float) -> arb:
        """Return where the loss is about so large: by Newton's method in floats."""
        if not self.course:
            return self.middle
        reach = float((self.high - self.low) / 2)
        shift = 0.0
        for _ in range(_FLOAT_STEPS):
            value = slope = 0.0
            for term in reversed(self.course):
                value, slope = value * shift + term, slope * shift + value
            if not slope:
                return self.middle
            moved = min(max(shift - (value - loss) / slope, -reach), reach)
            if abs(moved - shift) <= _NEAR * reach:
                break
            shift = moved
        return (self.middle + moved).mid() if math.isfinite(moved) else self.middle


def side_of(density: Density, middle: arb, radius: arb, around: arb) -> Side | None:
    """Return a density's mass on a cell, None where it is not known closely."""
    over = density.value(arb_series([around, 1], ORDER + 1))
    if not over[0].is_finite():
        return None
    values = over[0].max(arb(0))
    if certainly(values * radius < _TINY):
        return Side(2 * values * radius, (values,))
    last = over[ORDER]
    if not last.is_finite():
        mass = 2 * values * radius
        return Side(mass, (values,)) if certainly(arb(mass.rad()) < _AT_KINKS) else None
    at = density.value(arb_series([middle, 1], ORDER))
    terms = (*(at[order] for order in range(ORDER)), last)
    side = Side(arb(0), terms)
    mass = side.up_to(radius) - side.up_to(-radius)
    if not certainly(arb(mass.rad()) < _RELATIVE * abs(mass)):
        return None
    return Side(mass, terms)
