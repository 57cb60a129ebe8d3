"""Ends of intervals as rational numbers, and the largest of several intervals."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.refusal import Undecided


def exact(value: mpfr) -> Fraction:
    """Return the number that an MPFR number is, if that is finite, and not of millions of bits."""
    if not value.is_finite() or abs(gmpy2.get_exp(value)) > 1 << 20:
        raise Undecided("a number without bounds")
    top, bottom = value.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def largest(values: Iterable[Interval]) -> Interval:
    """Return the largest of some numbers."""
    return reduce(Interval.larger, values)
