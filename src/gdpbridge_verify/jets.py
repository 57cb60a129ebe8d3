"""Values of a function of ε and of its derivative, at a point or on a range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval


@dataclass(frozen=True)
class Jet:
    """What a function of ε and its derivative lie in."""

    value: Interval
    slope: Interval

    @classmethod
    def variable(cls, eps: Interval) -> Jet:
        """Return the jet of ε itself."""
        return cls(eps, eps.of.exactly(1))

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.slope)

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Jet) -> Jet:
        return self + (-other)

    def __mul__(self, other: Jet) -> Jet:
        slope = self.value * other.slope + self.slope * other.value
        return Jet(self.value * other.value, slope)

    def minus(self, number: Fraction) -> Jet:
        """Return the jet less a constant."""
        return Jet(self.value - number, self.slope)

    def scaled(self, factor: Fraction) -> Jet:
        """Return the jet times a constant."""
        return Jet(self.value * factor, self.slope * factor)

    def inverse(self) -> Jet:
        """Return 1/x."""
        return Jet(1 / self.value, -self.slope / self.value.square())

    def square(self) -> Jet:
        """Return x²."""
        return Jet(self.value.square(), 2 * self.value * self.slope)

    def sqrt(self) -> Jet:
        """Return √x."""
        root = self.value.sqrt()
        return Jet(root, self.slope / (2 * root))

    def exp(self) -> Jet:
        """Return e^x."""
        found = self.value.exp()
        return Jet(found, found * self.slope)

    def expm1(self) -> Jet:
        """Return e^x - 1."""
        return Jet(self.value.expm1(), self.value.exp() * self.slope)

    def log(self) -> Jet:
        """Return log x."""
        return Jet(self.value.log(), self.slope / self.value)

    def abs(self) -> Jet:
        """Return |x|; where it may have a kink, both slopes."""
        if self.value >= 0 or self.value <= 0:
            return self if self.value >= 0 else -self
        return -self.least(-self)

    def least(self, other: Jet) -> Jet:
        """Return the smaller of two; where either may be, both slopes."""
        if self.value <= other.value or other.value <= self.value:
            return self if self.value <= other.value else other
        value = -(-self.value).larger(-other.value)
        return Jet(value, self.slope.hull(other.slope))

    def erfc(self) -> Jet:
        """Return the complementary error function."""
        density = (-self.value.square()).exp() / self.value.of.pi.sqrt()
        return Jet(self.value.erfc(), -2 * density * self.slope)

    def phi(self) -> Jet:
        """Return Φ(x) = erfc(-x/√2)/2."""
        root = self.value.of.exactly(2).sqrt()
        return Jet(-self.value / root, -self.slope / root).erfc().scaled(Fraction(1, 2))

    def log1p(self) -> Jet:
        """Return log(1 + x)."""
        return Jet(self.value.log1p(), self.slope / (1 + self.value))
