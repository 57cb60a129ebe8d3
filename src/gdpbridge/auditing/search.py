"""Ends of ranges: found in floats by halving, then moved to the safe side until they are proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from gdpbridge.auditing.binomial import STEPS_OUT

__all__ = ["ROUGHLY", "largest", "least_level", "proved_below", "proved_level"]

_HALVINGS = 48
# enough to tell a good rule from a bad one
ROUGHLY = 9
# no parameter of an audit is larger: the attack is then right almost always
_FARTHEST = 512.0
# the smallest p-value that is told
_LEAST_LEVEL = 1e-300


def largest(holds: Callable[[float], bool], halvings: int = _HALVINGS) -> float:
    """Return about the largest value ≥ 0 up to which a condition holds; 0 if it never does."""
    if not holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
        if high > _FARTHEST:
            return low
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def proved_below(value: float, proved: Callable[[float], bool]) -> float:
    """Return the value, or one close below it, at which the condition is proved; 0 if none is."""
    if value <= 0:
        return 0.0
    for share in STEPS_OUT:
        candidate = value * (1 - share)
        if proved(candidate):
            return candidate
    return 0.0


def least_level(holds: Callable[[float], bool]) -> float:
    """Return about the least probability from which on a condition holds; 1 if it never does."""
    low, high = math.log(_LEAST_LEVEL), 0.0
    if holds(_LEAST_LEVEL):
        return _LEAST_LEVEL
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(math.exp(middle)) else (middle, high)
    return math.exp(high)


def proved_level(value: float, proved: Callable[[Fraction], bool]) -> Fraction:
    """Return a probability close above the value at which the condition is proved; 1 if none is."""
    for share in STEPS_OUT:
        candidate = Fraction(value * (1 + share))
        if candidate < 1 and proved(candidate):
            return candidate
    return Fraction(1)
