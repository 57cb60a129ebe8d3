"""Real constants known exactly, or enclosed at whatever precision is in force."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from flint import arb

from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import is_above, with_enough_precision
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import BALLS, ball, to_fraction

__all__ = [
    "MAX_EPS",
    "Constant",
    "constant_text",
    "exceeds",
    "interval_around",
    "logarithm",
    "rational_above",
    "remembered",
    "square_root",
    "upper_bound",
]

# a rational number, or a function that encloses a real one at the working precision
Constant = Fraction | Callable[[], arb]

# the largest ε that can be asked about
MAX_EPS = 1e5

_DIGITS = 25
# digits of a number that statements name as it is
_LONG = 100
_KEPT = 8
_LEAST_FLOAT = Decimal("1e-300")


def logarithm(value: Fraction) -> Constant:
    """Return log of a positive rational as a constant."""
    return lambda: ball(value).log()


def remembered(value: Callable[[], arb]) -> Callable[[], arb]:
    """Return a constant that is computed once at each working precision."""

    @lru_cache(maxsize=_KEPT)
    def at(_: int) -> arb:
        return value()

    return lambda: at(working_precision())


def square_root(value: Fraction) -> Constant:
    """Return the square root of a rational that is not negative, as a rational if it is one."""
    found = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return found if found**2 == value else lambda: ball(value).sqrt()


def interval_around(value: Constant, digits: int = _DIGITS) -> Interval:
    """Return an interval that holds the constant and agrees with it in nearly as many digits."""
    if isinstance(value, Fraction):
        low = high = value
    else:
        with precision(4 * digits):
            enclosure = BALLS.constant(value)
            low, high = to_fraction(enclosure.lower()), to_fraction(enclosure.upper())
    return Interval(decimal_floor(low, digits), decimal_ceiling(high, digits))


def rational_above(value: Constant) -> Fraction:
    """Return a constant if it is a short decimal, else one of twenty digits hardly above it."""
    if not isinstance(value, Fraction):
        return Fraction(interval_around(value, 20).high)
    above = decimal_ceiling(value, _LONG)
    return value if Fraction(above) == value else Fraction(decimal_ceiling(value, 20))


def upper_bound(value: Constant) -> Fraction:
    """Return a rational at least the constant, and closer than any digits that are asked for."""
    if isinstance(value, Fraction):
        return value
    with precision(256):
        return to_fraction(value().upper())


def exceeds(value: Constant, other: Fraction) -> bool:
    """Decide whether a constant is above a rational.

    Raises:
        UndecidedError: if they are too close to be told apart.
    """
    if isinstance(value, Fraction):
        return value > other
    return with_enough_precision(256, lambda: is_above(BALLS.constant(value), ball(other)))


def constant_text(value: Constant) -> str:
    """Return a constant that is not negative, for a reader: its first digits, all certain."""
    low = interval_around(value).low
    if 0 < low < _LEAST_FLOAT:
        return f"{low:.4e}…"
    text = f"{float(decimal_floor(Fraction(low), 10)):.10g}"
    return text if isinstance(value, Fraction) and Fraction(text) == value else f"{text}…"
