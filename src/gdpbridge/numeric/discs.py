"""Entire functions on a disc: a Taylor polynomial, and a bound of what it leaves out.

If |f| ≤ B where |x| ≤ ρ, ρ > 1, then Taylor's coefficients are at most Bρ^{-j} (Cauchy), and what
comes after the first J of them is at most Bρ^{-J}/(1 - 1/ρ) for |x| ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_poly, arb_series

from gdpbridge.numeric.flint_context import precision, working_precision

__all__ = ["Disc", "Entire"]


@dataclass(frozen=True)
class Disc:
    """Places ε = middle + radius·x, |x| ≤ 1.

    Attributes:
        middle: exact.
        radius: exact, positive.
        growth: ρ > 1: up to ρ radii away functions are bounded.
        count: J, how many terms are kept.
    """

    middle: arb
    radius: arb
    growth: arb
    count: int

    @property
    def reach(self) -> arb:
        """How far from the middle functions are bounded."""
        return self.growth * self.radius

    def mirrored(self) -> Disc:
        """Return the places -ε."""
        return Disc(-self.middle, self.radius, self.growth, self.count)

    def constant(self, value: arb) -> Entire:
        """Return a constant."""
        return Entire(arb_poly([value]), abs(value))

    def exponential(self, rate: arb) -> Entire:
        """Return e^{rate·ε}."""
        with precision(working_precision(), self.count):
            terms = arb_series([rate * self.middle, rate * self.radius], self.count).exp()
        size = (rate * self.middle + abs(rate) * self.reach).exp()
        return Entire(arb_poly(terms.coeffs()), size)

    def rest(self, size: arb) -> arb:
        """Bound what the terms leave out of a function, for |x| ≤ 1."""
        return size * self.growth**-self.count / (1 - 1 / self.growth)


@dataclass(frozen=True)
class Entire:
    """A function on a disc.

    Attributes:
        terms: Taylor's polynomial in x, of J terms at most.
        modulus: a bound of its modulus where |x| ≤ ρ, at complex places too.
    """

    terms: arb_poly
    modulus: arb

    def __add__(self, other: Entire) -> Entire:
        return Entire(self.terms + other.terms, self.modulus + other.modulus)

    def __sub__(self, other: Entire) -> Entire:
        return Entire(self.terms - other.terms, self.modulus + other.modulus)

    def scaled(self, factor: arb) -> Entire:
        """Return a multiple."""
        return Entire(self.terms * factor, self.modulus * abs(factor))

    def mirrored(self) -> Entire:
        """Return the function of -x."""
        return Entire(self.terms(arb_poly([0, -1])), self.modulus)
