"""Real constants known exactly, or enclosed at whatever precision is in force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball, to_fraction

__all__ = ["Constant", "constant_text", "interval_around", "logarithm"]

# a rational number, or a function that encloses a real one at the working precision
Constant = Fraction | Callable[[], arb]

_DIGITS = 25


def logarithm(value: Fraction) -> Constant:
    """Return log of a positive rational as a constant."""
    return lambda: ball(value).log()


def interval_around(value: Constant) -> Interval:
    """Return an interval of some twenty digits that holds the constant."""
    if isinstance(value, Fraction):
        low = high = value
    else:
        with precision(4 * _DIGITS):
            enclosure = BALLS.constant(value)
            low, high = to_fraction(enclosure.lower()), to_fraction(enclosure.upper())
    return Interval(decimal_floor(low, _DIGITS), decimal_ceiling(high, _DIGITS))


def constant_text(value: Constant) -> str:
    """Return a constant for a reader: exact if short, else with an ellipsis."""
    if isinstance(value, Fraction):
        text = f"{float(value):.10g}"
        return text if Fraction(text) == value else f"{text}…"
    return f"{float(interval_around(value).low):.10g}…"
