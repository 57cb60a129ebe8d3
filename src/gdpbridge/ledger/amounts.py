"""Amounts of privacy as exact rationals: μ² and p. Nothing is rounded but upward, as stated here.

A float stands for the decimal it prints as, and a fraction may be written as such: 1/11. A μ whose
denominator is longer than 40 digits is rounded up to 40 decimal places, a μ² or p to 80. Sums are
exact; where their common denominator would grow past 240 digits, what is added is rounded up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import gmpy2

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import ceiling_to_places, exact

__all__ = [
    "FAILURE_ALLOWED",
    "GRID",
    "MOST_DENOMINATOR",
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
# sums stay this short: an amount that would make one longer is rounded up to the grid
GRID = 10 ** (2 * _PLACES)
MOST_DENOMINATOR = 10**240
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+|/[0-9]*[1-9][0-9]*)?")
# sums of the first format had up to 240 digits for each partition; no more than these are read
_LONGEST_SUM = 20_000
_QUICK = 1000


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
    """Return what an amount is charged as: itself, unless sums would grow too long.

    A data set's sums may have a common denominator of 240 digits. Past that, the amount is rounded
    up to 80 decimal places, which all sums have in common.

    Args:
        total: the sum so far, or any number with the common denominator of all sums.
        amount: what is asked for, as :func:`square_of` and :func:`failure_of` return it.
    """
    grid = math.lcm(total.denominator, GRID)
    joint = math.lcm(grid, amount.denominator)
    if joint == grid or joint <= MOST_DENOMINATOR:
        return amount
    return Fraction(math.ceil(amount * GRID), GRID)


def amount_text(value: Fraction) -> str:
    """Return an amount exactly, however long: as a decimal where it ends, else as a fraction."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1 or places > 300:
        return f"{_digits(value.numerator)}/{_digits(value.denominator)}"
    digits = _digits(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def from_text(text: str) -> Fraction:
    """Return what :func:`amount_text` wrote.

    Raises:
        ValueError: for another text.
    """
    if len(text) > _LONGEST_SUM or not _AMOUNT.fullmatch(text):
        raise ValueError(f"not an amount: {text[:40]!r}")
    if len(text) <= _QUICK:
        return Fraction(text)
    over, slash, under = text.partition("/")
    if slash:
        return Fraction(int(gmpy2.mpz(over)), int(gmpy2.mpz(under)))
    whole, _, part = text.partition(".")
    return Fraction(int(gmpy2.mpz(whole + part)), 10 ** len(part))


def _digits(number: int) -> str:
    # Python itself refuses numbers of more than 4300 digits, against the time that it takes
    return gmpy2.mpz(number).digits() if number.bit_length() > 4 * _QUICK else str(number)


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
