"""Numbers as a report prints them: a few digits, rounded to the safe side, all in one form."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.specification.title import number_text

__all__ = ["plain", "rounded_down", "rounded_up"]

_DIGITS = 4
_MOST_DIGITS = 15
_SMALL, _LARGE = Decimal("1e-4"), Decimal("1e7")
_PADDED = re.compile(r"e([+-])0*(\d)")


def plain(value: float) -> str:
    """Return a number as somebody wrote it: 1e-5 for 1e-05."""
    if math.isinf(value):
        return "∞"
    return _PADDED.sub(lambda found: f"e{found[1].strip('+')}{found[2]}", number_text(value))


def rounded_up(value: float | Interval, digits: int = _DIGITS) -> str:
    """Return an upper bound to some digits, rounded up."""
    if isinstance(value, Interval):
        value = value.upper
    if math.isinf(value) or number_text(value) == f"{value:.{digits}g}":
        # the second is a number as somebody wrote it, such as a p of 1e-10
        return plain(value)
    return _shown(decimal_ceiling(Fraction(value), digits))


def rounded_down(value: float) -> str:
    """Return a lower bound to some digits, rounded down.

    One that is so near to 1 that four digits hide how near is shown with all its nines.
    """
    if not value or math.isinf(value):
        return plain(value)
    exact, digits = Fraction(value), _DIGITS
    while (
        exact < 1 and digits < _MOST_DIGITS and decimal_floor(exact, digits) < 1 - 2 * (1 - exact)
    ):
        digits += 1
    return _shown(decimal_floor(exact, digits))


def _shown(value: Decimal) -> str:
    if _SMALL <= value < _LARGE:
        return f"{value:f}"
    return _PADDED.sub(lambda found: f"e{found[1].strip('+')}{found[2]}", f"{value:e}")
