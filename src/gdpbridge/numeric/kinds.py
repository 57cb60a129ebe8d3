"""One set of operations on three kinds of numbers: float64 arrays, balls and power series.

A formula written against :class:`Operations` is evaluated on all three, so that the floats
that search, the balls that prove and the series that differentiate can never disagree on
what the formula is. Their arithmetic is duck-typed (``Any``): flint and NumPy share no base.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_series, fmpq

from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_ceiling, float_ceiling, float_floor
from gdpbridge.numeric.flint_context import precision

__all__ = [
    "BALLS",
    "FLOATS",
    "SERIES",
    "Operations",
    "Probability",
    "ball",
    "float_above",
    "float_below",
    "fraction_above",
    "to_fraction",
]

# beyond it every number is outside the range of floats, and a gigabyte as a fraction before long
_FLOAT_EXPONENTS = 1100
_TAME_BITS = 256


def ball(value: Fraction) -> arb:
    """Return the smallest ball around a rational number at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def to_fraction(value: arb) -> Fraction:
    """Return the exact value of a ball of radius zero."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def fraction_above(value: arb, digits: int) -> Fraction:
    """Return the smallest decimal of so many digits that no number of a ball is above."""
    return Fraction(decimal_ceiling(to_fraction(value.upper()), digits))


def float_below(value: arb) -> float:
    """Return the largest float that is at most every number of a finite ball."""
    return float_floor(to_fraction(_within_reach(value.lower())))


def float_above(value: arb) -> float:
    """Return the smallest float that is at least every number of a finite ball."""
    return float_ceiling(to_fraction(_within_reach(value.upper())))


def _within_reach(value: arb) -> arb:
    """Replace an exact number that floats do not reach by one that rounds to the same floats."""
    if value.is_zero():
        return value
    largest, smallest = arb(2) ** _FLOAT_EXPONENTS, arb(2) ** -_FLOAT_EXPONENTS
    # of exact numbers everything is certain
    too_large, too_small = certainly(abs(value) > largest), certainly(abs(value) < smallest)
    for reach, beyond in (largest, too_large), (smallest, too_small):
        if beyond:
            return reach if certainly(value > 0) else -reach
    return value


class Operations(ABC):
    """What a formula may do with its numbers, besides + - * / and unary minus."""

    @abstractmethod
    def constant(self, value: Fraction | Callable[[], arb]) -> Any:
        """Return a constant: a rational, or a function that encloses it at any precision."""

    @abstractmethod
    def exp(self, x: Any) -> Any:
        """Return e^x."""

    @abstractmethod
    def log(self, x: Any) -> Any:
        """Return log x."""

    @abstractmethod
    def expm1(self, x: Any) -> Any:
        """Return e^x - 1."""

    @abstractmethod
    def log1p(self, x: Any) -> Any:
        """Return log(1 + x)."""

    @abstractmethod
    def log1mexp(self, x: Any) -> Any:
        """Return log(1 - e^x) for x < 0."""

    @abstractmethod
    def log1pexp(self, x: Any) -> Any:
        """Return log(1 + e^x)."""

    @abstractmethod
    def logaddexp(self, x: Any, y: Any) -> Any:
        """Return log(e^x + e^y)."""

    @abstractmethod
    def sqrt(self, x: Any) -> Any:
        """Return the square root."""

    @abstractmethod
    def erfc(self, x: Any) -> Any:
        """Return the complementary error function."""

    @abstractmethod
    def log_erfc(self, x: Any) -> Any:
        """Return log erfc(x)."""

    @abstractmethod
    def lgamma(self, x: Any) -> Any:
        """Return log Γ(x), not a number where x is not positive."""

    @abstractmethod
    def absolute(self, x: Any) -> Any:
        """Return |x|; next to a kink a series knows its first derivative at most."""

    @abstractmethod
    def minimum(self, x: Any, y: Any) -> Any:
        """Return the smaller one; for kinks see :meth:`absolute`."""

    @abstractmethod
    def power(self, x: Any, exponent: Fraction) -> Any:
        """Return x to a rational power; of x > 0 unless the exponent is a whole number."""

    @abstractmethod
    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y, not a number where y may be 0."""


class _Floats(Operations):
    def constant(self, value: Fraction | Callable[[], arb]) -> float:
        if isinstance(value, Fraction):
            return float(value)
        with precision(128):
            return float(value())

    def exp(self, x: Any) -> Any:
        return np.exp(x)

    def log(self, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(x)

    def expm1(self, x: Any) -> Any:
        return np.expm1(x)

    def log1p(self, x: Any) -> Any:
        return np.log1p(x)

    def log1mexp(self, x: Any) -> Any:
        # each form is accurate on its side of log 2 (Maechler 2012, "Accurately computing
        # log(1 - exp(-|a|))"); above 0, where the probability is clipped to 0, it is -inf
        x = np.minimum(x, 0.0)
        with np.errstate(divide="ignore"):
            return np.where(x > -np.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))

    def log1pexp(self, x: Any) -> Any:
        return np.logaddexp(0.0, x)

    def logaddexp(self, x: Any, y: Any) -> Any:
        return np.logaddexp(x, y)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def erfc(self, x: Any) -> Any:
        from scipy.special import erfc

        return erfc(x)

    def log_erfc(self, x: Any) -> Any:
        from scipy.special import log_ndtr

        return log_ndtr(-np.sqrt(2.0) * x) + np.log(2.0)

    def lgamma(self, x: Any) -> Any:
        from scipy.special import gammaln

        # of what is not positive it is not a number
        with np.errstate(invalid="ignore"):
            return gammaln(x) + 0 * np.sqrt(x)

    def absolute(self, x: Any) -> Any:
        return np.abs(x)

    def minimum(self, x: Any, y: Any) -> Any:
        return np.minimum(x, y)

    def power(self, x: Any, exponent: Fraction) -> Any:
        return np.power(x, float(exponent))

    def divide(self, x: Any, y: Any) -> Any:
        return np.divide(x, y)


class _Balls(Operations):
    def constant(self, value: Fraction | Callable[[], arb]) -> Any:
        return ball(value) if isinstance(value, Fraction) else value()

    def exp(self, x: Any) -> Any:
        return x.exp() if _is_tame(x) else _exp_beyond(x)

    def log(self, x: Any) -> Any:
        return x.log()

    def expm1(self, x: Any) -> Any:
        return x.expm1() if _is_tame(x) else _exp_beyond(x) - 1

    def log1p(self, x: Any) -> Any:
        return x.log1p()

    def log1mexp(self, x: Any) -> Any:
        return (-self.expm1(x)).log()

    def log1pexp(self, x: Any) -> Any:
        return self.log1p(self.exp(x))

    def logaddexp(self, x: Any, y: Any) -> Any:
        return x + self.log1pexp(y - x)

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def erfc(self, x: Any) -> Any:
        return x.erfc() if _is_tame(x) else _exp_beyond(-x)

    def log_erfc(self, x: Any) -> Any:
        return self.log(self.erfc(x))

    def lgamma(self, x: Any) -> Any:
        # of others Arb says so, but works on huge ones for ever
        return x.lgamma() if _is_tame(x) else x * arb.nan()

    def absolute(self, x: Any) -> Any:
        return abs(x)

    def minimum(self, x: Any, y: Any) -> Any:
        return x.min(y)

    def power(self, x: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            whole = x ** abs(exponent.numerator)
            return whole if exponent >= 0 else self.divide(arb(1), whole)
        return self.exp(ball(exponent) * self.log(x))

    def divide(self, x: Any, y: Any) -> Any:
        return x / y


class _Series(_Balls):
    """Truncated power series; only their constant terms need more care than exp and log."""

    def absolute(self, x: Any) -> Any:
        if isinstance(x, arb):
            return abs(x)
        return _chosen(x, -x, x[0])

    def minimum(self, x: Any, y: Any) -> Any:
        difference = y - x
        if isinstance(difference, arb):
            return x.min(y)
        # one of the two is a series, and so must both be
        zero = 0 * difference
        return _chosen(x + zero, y + zero, difference[0])

    def divide(self, x: Any, y: Any) -> Any:
        if isinstance(x, arb) and isinstance(y, arb):
            return x / y
        if (y if isinstance(y, arb) else y[0]).contains(0):
            # python-flint raises where Arb knows nothing
            length = x.prec if isinstance(y, arb) else y.prec
            return arb_series([arb.nan()] * length, length)
        return x / y

    def expm1(self, x: Any) -> Any:
        if isinstance(x, arb) or not _is_tame(x):  # a constant
            return super().expm1(x)
        return _with_constant_term(x.exp(), x[0].expm1())

    def log1p(self, x: Any) -> Any:
        if isinstance(x, arb):
            return x.log1p()
        return _with_constant_term((1 + x).log(), x[0].log1p())


def _is_tame(x: Any) -> bool:
    """Whether e^x has an exponent of reasonable size: Arb would work on any other for ever."""
    constant = x if isinstance(x, arb) else x[0]
    return certainly(abs(constant) < arb(2) ** _TAME_BITS)


def _exp_beyond(x: Any) -> Any:
    """Enclose e^x, or what is below it, where x is huge: nearly 0, or nothing is known."""
    if not isinstance(x, arb):
        return arb_series([arb.nan()] * x.prec, x.prec)
    if certainly(x == arb.neg_inf()):
        return arb(0)
    return arb(0).union(arb(2) ** -(2**64)) if certainly(x < 0) else arb.nan()


def _chosen(x: arb_series, y: arb_series, sign: arb) -> arb_series:
    """Return x where ``sign`` is positive and y where it is negative, both where it is neither."""
    if certainly(sign > 0):
        return x
    if certainly(sign < 0):
        return y
    value = x[0].union(y[0])
    if x.prec == 2:
        # at a kink both one-sided slopes lie in this hull, and so does every difference quotient
        return arb_series([value, x[1].union(y[1])], 2)
    return arb_series([value, *[arb.nan()] * (x.prec - 1)], x.prec)


def _with_constant_term(series: arb_series, constant: arb) -> arb_series:
    coefficients = list(series.coeffs())
    return arb_series([constant, *coefficients[1:]], series.prec)


@dataclass(frozen=True)
class Probability:
    """A probability held by logarithms, so that neither end of [0, 1] loses digits.

    Attributes:
        log: gives the logarithm of the probability.
        log_complement: gives the logarithm of one minus the probability.
    """

    log: Callable[[], Any]
    log_complement: Callable[[], Any]

    @classmethod
    def from_log(cls, ops: Operations, log: Any) -> Probability:
        """Build from log p, where p is not close to one."""
        return cls(lambda: log, lambda: ops.log1mexp(log))

    @classmethod
    def from_log_complement(cls, ops: Operations, log_complement: Any) -> Probability:
        """Build from log(1 - p), where p is not close to zero."""
        return cls(lambda: ops.log1mexp(log_complement), lambda: log_complement)


FLOATS = _Floats()
BALLS = _Balls()
SERIES = _Series()
