"""Numbers from a user: read exactly, and refused outside their range."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import MAX_DIGITS, exact

__all__ = ["Real", "exact_between"]

Real = float | int | str | Decimal


def exact_between(
    field: str, value: Real, low: Fraction | int, high: Fraction | int | None, allowed: str
) -> Fraction:
    """Return a number as the rational that it is written as.

    Args:
        field: the argument's name, for the error.
        value: what was given.
        low: the least value allowed.
        high: the largest value allowed, None for no limit.
        allowed: the words that follow "must be" in an error.

    Raises:
        InputError: for what is no number, or outside the range.
    """
    try:
        number = exact(value)
    except ValueError:
        if isinstance(value, str) and len(value) > MAX_DIGITS:
            allowed = f"{allowed}, of at most {MAX_DIGITS:,} digits"
        raise InputError(field, value, allowed) from None
    if number < low or (high is not None and number > high):
        raise InputError(field, value, allowed)
    return number
