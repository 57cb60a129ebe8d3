"""A panel: the wave of a line about a place, as a polynomial and a remainder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from flint import arb, arb_mat, arb_poly, fmpq

from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["FARTHEST", "Panel", "power_tables"]

FARTHEST = 2
"""A panel may be used to so many of its radii."""


@dataclass(frozen=True)
class Panel:
    """The wave about a place, as a polynomial in (ε - middle)/radius and a remainder.

    Attributes:
        middle: the place.
        radius: the unit.
        coefficients: those of the polynomial.
        last: a bound of the first term left out, of all nodes, at twice the radius.
    """

    middle: Fraction
    radius: Fraction
    coefficients: list[arb]
    last: arb

    @cached_property
    def _polynomial(self) -> arb_poly:
        return arb_poly(self.coefficients)

    def jet(self, at: arb, length: int) -> list[arb]:
        """Enclose the value and the next Taylor coefficients at every place of a ball."""
        radius = ball(self.radius)
        x = (at - ball(self.middle)) / radius
        if not certainly(abs(x) < FARTHEST):
            return [arb.nan()] * length
        terms = len(self.coefficients)
        moved = self._polynomial(arb_poly([x.mid(), arb(1)]))
        span = x - x.mid()
        found = []
        unit = arb(1)
        for number in range(length):
            value = moved(span)
            # |V^(J)|·x^{J-i}/((J - i)!·i!) with |x| ≤ 2, by `last` = |V^(J)|·2^J/J!
            off = self.last * math.comb(terms, number) / arb(FARTHEST) ** number
            found.append((value + arb(0, off)) * unit)
            moved = moved.derivative() * arb(fmpq(1, number + 1))
            unit /= radius
        return found


@lru_cache(maxsize=32)
def power_tables(terms: int, count: int, bits: int) -> tuple[arb_mat, arb_mat, list[arb]]:
    """Enclose (k/n)^j, k < n in a row: the rows of even j < J, and of odd ones; and all 1/j!."""
    with precision(bits):
        places = [ball(Fraction(k, count)) for k in range(count)]
        rows, shares = [[arb(1)] * count], [arb(1)]
        for j in range(1, terms):
            rows.append([term * x for term, x in zip(rows[-1], places, strict=True)])
            shares.append(shares[-1] / j)
        even, odd = (
            arb_mat(len(some), count, [x for row in some for x in row])
            for some in (rows[::2], rows[1::2])
        )
        return even, odd, shares
