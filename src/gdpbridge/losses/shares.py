"""A loss on the multiples of a unit that dominates another one, from masses of P and Q.

What lies between two multiples is shared among them so that P and Q keep their masses: δ is convex
in e^ε, and this is its chord.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from flint import arb

from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = ["Shares", "places"]


def places(loss: arb, unit: Fraction) -> tuple[int, int]:
    """Return two multiples of the unit with all values of a loss between them."""
    units = loss / ball(unit)
    first, last = math.floor(float_below(units)), math.ceil(float_above(units))
    return first, max(last, first + 1)


class Shares:
    """The masses that were shared so far.

    Args:
        unit: the unit.
    """

    def __init__(self, unit: Fraction) -> None:
        self._unit = unit
        self._masses: dict[int, arb] = {}
        self._power = cache(lambda place: ball(unit * place).exp())

    def add(self, ends: tuple[int, int], p: arb, q: arb) -> None:
        """Add masses of P and Q with losses between two multiples."""
        small, large = (self._power(end) for end in ends)
        share = ((p - small * q) * large / (large - small)).max(arb(0)).min(p.max(arb(0)))
        for place, mass in zip(ends, ((p - share).max(arb(0)), share), strict=True):
            self._masses[place] = self._masses.get(place, arb(0)) + mass

    def transform(self, failure: Fraction, reverse: Fraction) -> FiniteTransform:
        """Return the loss, with the chances of infinite losses under P and under Q."""
        # what may be 0 is taken for the most that it may be
        atoms = [
            (self._unit * place, mass if certainly(mass > 0) else mass.upper())
            for place, mass in sorted(self._masses.items())
            if not mass.is_zero()
        ]
        return FiniteTransform(
            [loss for loss, _ in atoms],
            [_held(mass) for _, mass in atoms],
            failure=failure,
            reverse_failure=reverse,
            spacing=self._unit,
        )


def _held(value: arb) -> Callable[[], arb]:
    return lambda: value
