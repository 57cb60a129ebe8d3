"""Balls of complex numbers: a midpoint of MPC's and a radius of MPFR's, rounded upward.

MPC rounds the real and the imaginary part of each operation correctly, so that a midpoint is off by
at most 2^{-p} of its size, or by the least number there is; every operation adds twice the one,
and the other, to its radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import gmpy2
from gmpy2 import mpc, mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Number
from gdpbridge_verify.refusal import Undecided

# radii are sums of small numbers: a few digits of them are enough
_RADIUS_BITS = 53


class Complexes:
    """Operations on balls at the precision of an arithmetic."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.nearest = gmpy2.context(precision=arithmetic.precision)
        self.up = gmpy2.context(precision=_RADIUS_BITS, round=gmpy2.RoundUp)
        self.down = gmpy2.context(precision=_RADIUS_BITS, round=gmpy2.RoundDown)
        self.unit = gmpy2.exp2(1 - arithmetic.precision)
        # what is smaller may be rounded to 0
        self.least = gmpy2.next_above(mpfr(0))

    def of(self, real: Number, imaginary: Number = 0) -> Ball:
        """Return a ball about a rectangle."""
        parts, radius = [], mpfr(0)
        for part in (real, imaginary):
            one = part if isinstance(part, Interval) else self.arithmetic.exactly(part)
            middle = self.nearest.div(self.nearest.add(one.low, one.high), 2)
            off = max(self.up.sub(one.high, middle), self.up.sub(middle, one.low))
            parts.append(middle)
            radius = self.up.add(radius, off)
        return Ball(self, mpc(*parts, self.arithmetic.precision), radius)

    def zero(self, radius: mpfr) -> Ball:
        """Return the ball about 0."""
        return Ball(self, mpc(0), radius)


@dataclass(frozen=True, slots=True)
class Ball:
    """All complex numbers within a radius of a midpoint; real numbers may stand beside it."""

    field: Complexes
    middle: mpc
    radius: mpfr

    def size(self) -> mpfr:
        """Return a number not below any size in the ball."""
        return self.field.up.add(self._middle_size(), self.radius)

    def real(self) -> Interval:
        """Return where the real parts lie."""
        return self._around(self.middle.real)

    def imaginary(self) -> Interval:
        """Return where the imaginary parts lie."""
        return self._around(self.middle.imag)

    def conjugate(self) -> Ball:
        """Return the conjugates."""
        opposite = self.field.nearest.minus(self.middle.imag)
        middle = mpc(self.middle.real, opposite, self.field.arithmetic.precision)
        return Ball(self.field, middle, self.radius)

    def __neg__(self) -> Ball:
        return Ball(self.field, self.field.nearest.minus(self.middle), self.radius)

    def __add__(self, given: Ball | Number) -> Ball:
        other = self._ball(given)
        radius = self.field.up.add(self.radius, other.radius)
        return self._rounded(self.field.nearest.add(self.middle, other.middle), radius)

    __radd__ = __add__

    def __sub__(self, other: Ball | Number) -> Ball:
        return self + -other

    def __rsub__(self, other: Number) -> Ball:
        return -self + other

    def __mul__(self, given: Ball | Number) -> Ball:
        up, other = self.field.up, self._ball(given)
        radius = up.add(
            up.mul(self._middle_size(), other.radius), up.mul(self.radius, other.size())
        )
        return self._rounded(self.field.nearest.mul(self.middle, other.middle), radius)

    __rmul__ = __mul__

    def exp(self) -> Ball:
        """Return the exponentials: |e^{z + d} - e^z| ≤ |e^z|·(e^{|d|} - 1)."""
        middle = self.field.nearest.exp(self.middle)
        up = self.field.up
        # the size of the exact e^z is at most that of what it is rounded to, and two units
        size = up.mul(up.hypot(middle.real, middle.imag), up.add(1, up.mul(2, self.field.unit)))
        size = up.add(size, self.field.least)
        return self._rounded(middle, up.mul(size, up.expm1(self.radius)))

    def log(self) -> Ball:
        """Return the principal logarithms: |log(z + d) - log z| ≤ -log(1 - |d|/|z|)."""
        up, down = self.field.up, self.field.down
        # an absolute value would be rounded
        if self.middle.real <= self.radius and -self.radius <= self.middle.imag <= self.radius:
            raise Undecided("a logarithm next to its branch cut")
        # where that may be 1 or more, it is off by infinity, or by no number, and refused below
        share = up.div(self.radius, down.hypot(self.middle.real, self.middle.imag))
        off = up.minus(down.log1p(down.minus(share)))
        return self._rounded(self.field.nearest.log(self.middle), off)

    def inverse(self) -> Ball:
        """Return the reciprocals."""
        up, down = self.field.up, self.field.down
        least = down.sub(down.hypot(self.middle.real, self.middle.imag), self.radius)
        if not least > 0:
            raise Undecided("a division by what may be 0")
        off = up.div(self.radius, down.square(least))
        return self._rounded(self.field.nearest.div(1, self.middle), off)

    def _ball(self, other: Ball | Number) -> Ball:
        return other if isinstance(other, Ball) else self.field.of(other)

    def _middle_size(self) -> mpfr:
        return self.field.up.hypot(self.middle.real, self.middle.imag)

    def _rounded(self, middle: mpc, radius: mpfr) -> Ball:
        up = self.field.up
        rounding = up.mul(up.hypot(middle.real, middle.imag), self.field.unit)
        total = up.add(up.add(radius, rounding), self.field.least)
        if not gmpy2.is_finite(total):
            raise Undecided("a number too large to be followed")
        return Ball(self.field, middle, total)

    def _around(self, part: mpfr) -> Interval:
        of = self.field.arithmetic
        return Interval(of, of.down.sub(part, self.radius), of.up.add(part, self.radius))


def cosine(x: Interval) -> Interval:
    """Return the cosine of numbers in [0, π], where it decreases."""
    of = x.of
    if not (x.low >= 0 and x.high <= of.down.const_pi()):
        return Interval(of, mpfr(-1), mpfr(1))
    return Interval(of, of.down.cos(x.high), of.up.cos(x.low))
