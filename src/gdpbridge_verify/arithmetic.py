"""Intervals of MPFR numbers with directed rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify.refusal import OutOfWork, Undecided

# where an upper bound is all that is wanted
_FEW_BITS = 80


class Work:
    """A budget of microseconds, charged by formula, so that it ends alike on every machine."""

    def __init__(self, limit: float = math.inf) -> None:
        self.spent, self.limit = 0.0, limit
        # how much of each line that was proved is to spare
        self.margins: dict[str, float] = {}

    def charge(self, cost: float) -> None:
        """Spend some of the budget; what would be too much is not done, nor charged."""
        if self.spent + cost > self.limit:
            raise OutOfWork
        self.spent += cost


class Arithmetic:
    """Interval operations at one precision, in bits."""

    def __init__(self, precision: int, work: Work | None = None) -> None:
        self.precision = precision
        self.work = work or Work()
        self.down = gmpy2.context(precision=precision, round=gmpy2.RoundDown)
        self.up = gmpy2.context(precision=precision, round=gmpy2.RoundUp)
        # times this, a number rounded up is at most what was rounded
        self.root_two = Interval(self, self.down.sqrt(2), self.up.sqrt(2))
        self.just_below_one = self.exactly(1 - Fraction(1, 1 << (precision - 1)))

    def charge(self, cost: float) -> None:
        """Spend what takes so long with 256 bits or fewer, and longer with more."""
        self.work.charge(cost * max(1.0, self.precision / 256) ** 1.2)

    def coarse(self) -> Arithmetic:
        """Return one of few bits, for bounds that need not be close."""
        return Arithmetic(min(self.precision, _FEW_BITS), self.work)

    def exactly(self, value: Fraction | int) -> Interval:
        """Return the smallest interval around a rational number."""
        top, bottom = gmpy2.mpz(value.numerator), gmpy2.mpz(value.denominator)
        return Interval(self, self.down.div(top, bottom), self.up.div(top, bottom))

    def between(self, low: Fraction, high: Fraction) -> Interval:
        """Return the smallest interval around two rational numbers, low ≤ high."""
        return Interval(self, self.exactly(low).low, self.exactly(high).high)

    @property
    def pi(self) -> Interval:
        """π."""
        return Interval(self, self.down.const_pi(), self.up.const_pi())


class Interval:
    """A closed interval of real numbers; comparisons are true only when certain."""

    __slots__ = ("high", "low", "of")

    def __init__(self, of: Arithmetic, low: mpfr, high: mpfr) -> None:
        self.of, self.low, self.high = of, low, high

    def __neg__(self) -> Interval:
        # the bare minus sign would round to the global context's 53 bits
        return Interval(self.of, self.of.down.minus(self.high), self.of.up.minus(self.low))

    def __add__(self, other: Number) -> Interval:
        low, high = self._ends_of(other)
        return self._made(self.of.down.add(self.low, low), self.of.up.add(self.high, high))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Interval:
        low, high = self._ends_of(other)
        return self._made(self.of.down.sub(self.low, high), self.of.up.sub(self.high, low))

    def __rsub__(self, other: Fraction | int) -> Interval:
        return -(self - other)

    def __mul__(self, other: Number) -> Interval:
        low, high = self._ends_of(other)
        down, up = self.of.down.mul, self.of.up.mul
        if low >= 0:
            # the signs tell which products are the least and the largest, one of infinity too
            least = down(self.low, low if self.low >= 0 else high)
            largest = up(self.high, high if self.high >= 0 else low)
            return self._made(least, largest)
        if self.low >= 0 and isinstance(other, Interval):
            return other * self
        pairs = [(a, b) for a in (self.low, self.high) for b in (low, high)]
        lows = [down(a, b) for a, b in pairs]
        if any(map(gmpy2.is_nan, lows)):
            # 0 times infinity
            return self.everything()
        return self._made(min(lows), max(up(a, b) for a, b in pairs))

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Interval:
        low, high = self._ends_of(other)
        if low > 0:
            least = self.of.down.div(self.low, high if self.low >= 0 else low)
            return self._made(least, self.of.up.div(self.high, low if self.high >= 0 else high))
        if high < 0:
            return -self / -(other if isinstance(other, Interval) else self.of.exactly(other))
        return self.everything()

    def __rtruediv__(self, other: Fraction | int) -> Interval:
        return self.of.exactly(other) / self

    def square(self) -> Interval:
        """Return the squares."""
        return (self * self).positive()

    def exp(self) -> Interval:
        """Return e^x."""
        return self._increasing("exp")

    def expm1(self) -> Interval:
        """Return e^x - 1."""
        return self._increasing("expm1")

    def log(self) -> Interval:
        """Return log x; -inf below where x may be 0, everything where it is nowhere positive."""
        if not self.high > 0:
            return self.everything()
        low = self.of.down.log(self.low) if self.low > 0 else mpfr("-inf")
        return Interval(self.of, low, self.of.up.log(self.high))

    def log1p(self) -> Interval:
        """Return log(1 + x)."""
        if not self.low > -1:
            return (1 + self).log()
        return self._increasing("log1p")

    def sqrt(self) -> Interval:
        """Return the square root of a non-negative number."""
        return self._increasing("sqrt")

    def erfc(self) -> Interval:
        """Return the complementary error function, which decreases."""
        of = self.of
        of.work.charge(_cost_of_erfc(of.precision, float(self.low)))
        highest = of.up.erfc(self.low)
        if self.low >= 1:
            # MPFR is slow there, so one evaluation serves both ends of a narrow interval [a, b]:
            # from a to b erfc falls by less than 2·e^{-a²}·(b - a)
            a, b = self.ends()
            fall = 2 * (b - a) * (-a.square()).exp()
            top = Interval(of, highest, highest)
            if 16 * fall <= top:
                return Interval(of, (top * of.just_below_one - fall).low, highest)
        return Interval(of, of.down.erfc(self.high), highest)

    def normal_tail(self) -> Interval:
        """Return Φ(-x)."""
        return (self / self.of.root_two).erfc() / 2

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(self.of, min(self.low, other.low), max(self.high, other.high))

    def larger(self, other: Interval) -> Interval:
        """Return the larger one of two numbers."""
        return Interval(self.of, max(self.low, other.low), max(self.high, other.high))

    def positive(self) -> Interval:
        """Return the larger one of a number and 0."""
        return self.larger(self.of.exactly(0))

    def ends(self) -> tuple[Interval, Interval]:
        """Return the two ends as intervals."""
        return Interval(self.of, self.low, self.low), Interval(self.of, self.high, self.high)

    def everything(self) -> Interval:
        """Return the whole line: what is known of an undefined value."""
        return Interval(self.of, mpfr("-inf"), mpfr("inf"))

    def __lt__(self, other: Number) -> bool:
        return bool(self.high < self._ends_of(other)[0])

    def __le__(self, other: Number) -> bool:
        return bool(self.high <= self._ends_of(other)[0])

    def __gt__(self, other: Number) -> bool:
        return bool(self.low > self._ends_of(other)[1])

    def __ge__(self, other: Number) -> bool:
        return bool(self.low >= self._ends_of(other)[1])

    def _increasing(self, function: str) -> Interval:
        down, up = getattr(self.of.down, function), getattr(self.of.up, function)
        return self._made(down(self.low), up(self.high))

    def _made(self, low: mpfr, high: mpfr) -> Interval:
        """Return an interval, or the whole line where an end is not a number."""
        if gmpy2.is_nan(low) or gmpy2.is_nan(high):
            return self.everything()
        return Interval(self.of, low, high)

    def _ends_of(self, value: Number) -> tuple[mpfr, mpfr]:
        found = value if isinstance(value, Interval) else self.of.exactly(value)
        return found.low, found.high


def _cost_of_erfc(precision: int, z: float) -> float:
    """Return about how many microseconds MPFR takes."""
    square = z * z
    # between its Taylor and its asymptotic series MPFR carries the bits of e^{-z²} along
    if square < 16 or square > 3.1 * precision:
        return 0.003 * math.pow(precision, 1.5)
    return 0.0015 * math.pow(precision + 1.44 * square, 2.05)


# what stands beside an interval in an expression; fractions are enclosed
Number = Interval | Fraction | int
_HALF = Fraction(1, 2)


class Level(NamedTuple):
    """Numbers from 0 to 1 and one minus them, either of which may be the sharper one."""

    value: Interval
    complement: Interval

    @classmethod
    def of(cls, value: Interval) -> Level:
        """Return numbers, and one minus them."""
        return cls(value, 1 - value)

    def under(self, other: Level) -> Interval:
        """Return by how much it is below another, on the sharper scale."""
        if other.value > _HALF:
            return self.complement - other.complement
        return other.value - self.value


def exact(value: mpfr) -> Fraction:
    """Return the number that an MPFR number is, if that is finite, and not of millions of bits."""
    if not value.is_finite() or abs(gmpy2.get_exp(value)) > 1 << 20:
        raise Undecided("a number without bounds")
    top, bottom = value.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def largest(values: Iterable[Interval]) -> Interval:
    """Return the largest of some numbers."""
    return reduce(Interval.larger, values)
