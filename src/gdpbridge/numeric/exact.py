"""Exact values of what users write, and decimal rounding with a direction.

A float given as a parameter stands for the decimal number it prints as: 0.2 means 1/5, in
Python, on the command line and in a file alike. That makes thirty-digit answers mean
something, and costs half an ulp of the binary value at most.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction

__all__ = [
    "MAX_DIGITS",
    "bound_above",
    "ceiling_to_places",
    "decimal_ceiling",
    "decimal_floor",
    "decimal_text",
    "digits_of",
    "exact",
    "float_ceiling",
    "float_floor",
    "floor_to_places",
    "is_decimal",
    "rational",
    "rational_text",
    "written_above",
    "written_below",
]


_WIDE = Context(prec=6000, Emin=-(10**9), Emax=10**9)
_MAX_EXPONENT = 5000
MAX_DIGITS = 4000
"""As a fraction a number takes the square of its length in time, and Python prints 4300 digits."""


def exact(value: float | int | str | Decimal) -> Fraction:
    """Return the rational number that ``value`` is written as.

    Raises:
        ValueError: for nan, infinities, text that is not a decimal number, and numbers with more
            than a few thousand digits before or after the point.
    """
    # float subclasses (NumPy's) print otherwise than plain floats do
    return rational(float.__repr__(value) if isinstance(value, float) else value)


def rational(value: float | int | str | Decimal) -> Fraction:
    """Return the number that ``value`` is: a float's binary value, text and decimals exactly.

    Raises:
        ValueError: as for :func:`exact`.
    """
    if isinstance(value, bool) or not isinstance(value, float | int | str | Decimal):
        raise ValueError(f"not a number: {value!r}")
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"not a decimal number: {value!r}") from None
    # 1e999999999 is short to write, and would be a gigabyte as a fraction
    long = len(number.as_tuple().digits) > MAX_DIGITS
    if long or not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        raise ValueError(f"not a number of reasonable size: {value!r}")
    return Fraction(number)


def is_decimal(value: Fraction) -> bool:
    """Whether a decimal fraction of not too many digits is the number itself."""
    number = _WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(number) == value


def decimal_text(value: Fraction) -> str:
    """Return a terminating decimal fraction exactly, as text.

    Raises:
        ValueError: if it does not terminate.
    """
    number = _WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))
    if Fraction(number) != value:
        raise ValueError(f"not a decimal fraction: {value}")
    return str(number.normalize(_WIDE))


def rational_text(value: Fraction) -> str:
    """Return a rational number exactly, as text: a decimal where it is one, else p/q."""
    return decimal_text(value) if is_decimal(value) else str(value)


def float_text(value: float) -> str:
    """Return a finite float exactly: a hexadecimal integer times a power of two."""
    mantissa, power = math.frexp(value)
    number, power = int(abs(mantissa) * 2**53), power - 53
    zeros = (number & -number).bit_length() - 1 if number else 53
    return f"{'-' if value < 0 else ''}0x{number >> zeros:x}p{power + zeros:+d}"


def float_floor(value: Decimal | Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    return _directed(value, -math.inf)


def float_ceiling(value: Decimal | Fraction) -> float:
    """Return the smallest float that is at least ``value``."""
    return _directed(value, math.inf)


def bound_above(value: Fraction) -> float:
    """Return the float that prints as a decimal, or else the smallest one that is at least it."""
    nearest = float(value)
    return nearest if exact(nearest) == value else float_ceiling(value)


def written_below(value: Fraction) -> float:
    """Return a float that prints as a decimal at most ``value``, the nearest such if there is one.

    A parameter stands for the decimal that it prints as, which may be on the other side.
    """
    number = math.nextafter(float(value), math.inf)
    while exact(number) > value:
        number = math.nextafter(number, -math.inf)
    return number


def written_above(value: Fraction) -> float:
    """Return a float that prints as a decimal at least ``value``."""
    return -written_below(-value)


def _directed(value: Decimal | Fraction, towards: float) -> float:
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    number = Fraction(value)
    try:
        nearest = float(number)
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    if math.isinf(nearest):
        wrong_side = nearest != towards
    else:
        wrong_side = (
            Fraction(nearest) > number if towards == -math.inf else Fraction(nearest) < number
        )
    return math.nextafter(nearest, towards) if wrong_side else nearest


def decimal_floor(value: Fraction, digits: int) -> Decimal:
    """Return the largest decimal of ``digits`` significant digits that is at most ``value``."""
    return _decimal(value, digits, ROUND_FLOOR)


def decimal_ceiling(value: Fraction, digits: int) -> Decimal:
    """Return the smallest decimal of ``digits`` significant digits that is at least ``value``."""
    return _decimal(value, digits, ROUND_CEILING)


def _decimal(value: Fraction, digits: int, rounding: str) -> Decimal:
    context = Context(prec=digits, rounding=rounding, Emin=_WIDE.Emin, Emax=_WIDE.Emax)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def floor_to_places(value: Fraction, places: int) -> Decimal:
    """Return the largest decimal with ``places`` decimal places that is at most ``value``."""
    return Decimal(math.floor(value * 10**places)).scaleb(-places, _WIDE)


def ceiling_to_places(value: Fraction, places: int) -> Decimal:
    """Return the smallest decimal with ``places`` decimal places that is at least ``value``."""
    return Decimal(math.ceil(value * 10**places)).scaleb(-places, _WIDE)


def digits_of(tol: Fraction) -> int:
    """Return the number of decimal places that a tolerance speaks of: 9 for 1e-9 and for 5e-9."""
    return max(0, -decimal_floor(tol, 5).adjusted())
