"""Amounts of privacy as exact rationals: μ² and p. Nothing is rounded but upward, as stated here.

A float stands for the decimal it prints as, and a fraction may be written as such: 1/11. A μ or p
whose denominator is longer than 40 digits is rounded up to 40 or 80 decimal places. Sums are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import ceiling_to_places, exact

__all__ = [
    "FAILURE_ALLOWED",
    "MU_ALLOWED",
    "ZERO",
    "Amount",
    "Number",
    "amount_text",
    "failure_ceiling",
    "failure_of",
    "from_text",
    "mu_of",
    "root_ceiling",
    "root_floor",
    "square_of",
    "within",
]

Number = float | int | str | Decimal | Fraction

MU_ALLOWED = "a number from 1e-30 to 1e6, or a fraction such as 1/11"
FAILURE_ALLOWED = "0, or a number from 1e-300 to below 1, or a fraction such as 1/11"

_PLACES = 40
_LEAST_MU, _MOST_MU = Fraction(1, 10**30), Fraction(10**6)
_LEAST_FAILURE = Fraction(1, 10**300)
_LONGEST = 400
_FRACTION = re.compile(r"\s*([0-9]{1,40})\s*/\s*([0-9]{1,40})\s*")
# sums stay this short: an amount that would make one longer is rounded up to the sum's own grid
_GRID = 10 ** (2 * _PLACES)
_MOST_DENOMINATOR = 10**240


@dataclass(frozen=True)
class Amount:
    """What is spent, or may be: a sum of μ² and a sum of failure probabilities.

    Attributes:
        square: the sum of μ².
        failure: the sum of p.
    """

    square: Fraction
    failure: Fraction

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.square + other.square, self.failure + other.failure)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.square - other.square, self.failure - other.failure)

    def fits(self, limit: Amount) -> bool:
        """Whether neither part is above the limit's."""
        return self.square <= limit.square and self.failure <= limit.failure

    @staticmethod
    def largest(amounts: Iterable[Amount]) -> Amount:
        """Return the larger of each part, 0 of nothing."""
        found = list(amounts)
        return Amount(
            max((one.square for one in found), default=Fraction(0)),
            max((one.failure for one in found), default=Fraction(0)),
        )


ZERO = Amount(Fraction(0), Fraction(0))


def mu_of(field: str, value: Number) -> Fraction:
    """Read a μ to spend or to set a budget to.

    Raises:
        InputError: for what is no number from 1e-30 to 1e6.
    """
    number = _number(field, value, MU_ALLOWED)
    if not _LEAST_MU <= number <= _MOST_MU:
        raise InputError(field, value, MU_ALLOWED)
    return _short(number, _PLACES)


def square_of(field: str, value: Number) -> Fraction:
    """Read a μ².

    Raises:
        InputError: for what is no number from 1e-60 to 1e12.
    """
    allowed = "a number from 1e-60 to 1e12, or a fraction such as 1/11"
    number = _number(field, value, allowed)
    if not _LEAST_MU**2 <= number <= _MOST_MU**2:
        raise InputError(field, value, allowed)
    return _short(number, 2 * _PLACES)


def failure_of(field: str, value: Number) -> Fraction:
    """Read a failure probability.

    Raises:
        InputError: for what is neither 0 nor a number from 1e-300 to below 1.
    """
    number = _number(field, value, FAILURE_ALLOWED)
    if number != 0 and not _LEAST_FAILURE <= number < 1:
        raise InputError(field, value, FAILURE_ALLOWED)
    rounded = _short(number, 2 * _PLACES)
    if rounded >= 1:
        raise InputError(field, value, FAILURE_ALLOWED)
    return rounded


def failure_ceiling(field: str, value: Fraction) -> Fraction:
    """Return a computed failure probability, however small, rounded up to what is kept.

    Raises:
        InputError: if that is 1 or more.
    """
    return failure_of(field, max(value, _LEAST_FAILURE) if value else value)


def within(total: Fraction, amount: Fraction) -> Fraction:
    """Return what an amount is charged as on top of a total: itself, unless sums grew too long.

    A sum's denominator may have 240 digits. Past that, the amount is rounded up to the next
    multiple of the sum's own unit, which is at most 1e-80.
    """
    grid = math.lcm(total.denominator, _GRID)
    if math.lcm(grid, amount.denominator) <= _MOST_DENOMINATOR:
        return amount
    return Fraction(math.ceil(amount * grid), grid)


def amount_text(value: Fraction) -> str:
    """Return an amount exactly: as a decimal where it ends, else as a fraction."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1 or places > 300:
        return f"{value.numerator}/{value.denominator}"
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def from_text(text: str) -> Fraction:
    """Return what :func:`amount_text` wrote.

    Raises:
        ValueError: for another text.
    """
    if len(text) > 2 * _LONGEST or not re.fullmatch(r"[0-9]+(\.[0-9]+|/[0-9]*[1-9][0-9]*)?", text):
        raise ValueError(f"not an amount: {text[:40]!r}")
    return Fraction(text)


def root_floor(square: Fraction, places: int = 20) -> Fraction:
    """Return √square: exactly where it is rational, else rounded down to decimal places."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    scale = 10**places
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator), scale)


def root_ceiling(square: Fraction, places: int = 20) -> Fraction:
    """Return √square: exactly where it is rational, else rounded up to decimal places."""
    down = root_floor(square, places)
    return down if down**2 == square else down + Fraction(1, 10**places)


def _number(field: str, value: Number, allowed: str) -> Fraction:
    if isinstance(value, Fraction):
        return value
    try:
        if isinstance(value, str):
            if found := _FRACTION.fullmatch(value):
                return Fraction(int(found[1]), int(found[2]))
            if len(value) > _LONGEST:
                raise ValueError("too long")
        return exact(value)
    except (ValueError, ZeroDivisionError):
        raise InputError(field, value, allowed) from None


def _short(number: Fraction, places: int) -> Fraction:
    if number.denominator <= 10**places:
        return number
    return Fraction(ceiling_to_places(number, places))
