"""What a line takes: how its terms are evaluated, with how many bits, and how much work that is."""

from __future__ import annotations

import math

from gdpbridge.losses.choice import Choice
from gdpbridge.losses.moments import Moments
from gdpbridge.losses.transforms.base import Plan
from gdpbridge.numeric.effort import PartLimitError, spend

__all__ = ["SHORT_BITS", "depth_of", "needs_of", "require_reach"]

_GUARD_BITS = 24
# log of the terms over the error, however large an error is allowed
_LEAST_DEPTH = 4.0
# nodes times terms of each, in numbers of so many bits: some seconds
MAX_WORK, SHORT_BITS = 30_000_000, 128
_FEWEST_DIGITS, _LAST_RESORT = -5.0, 3


def needs_of(
    moments: Moments, choice: Choice, log_error: float
) -> tuple[tuple[Plan, ...], int, int]:
    """Return how each factor is evaluated for a relative error, with how many bits, and the work.

    The work is in units of numeric/effort.py.
    """
    depth = depth_of(choice, log_error)
    plans = tuple(
        factor.plan(
            choice.c, -(depth + math.log(16 * len(moments.factors)) + math.log(factor.times))
        )
        for factor in moments.factors
    )
    pairs = [(factor.transform, plan) for factor, plan in zip(moments.factors, plans, strict=True)]
    bits = int(depth / math.log(2)) + moments.times.bit_length() + _GUARD_BITS
    bits += max(transform.bits_lost(plan) for transform, plan in pairs)
    work = sum(one.work(plan, choice.h, choice.count + 1) for one, plan in pairs)
    return plans, bits, int(work * _size(bits))


def depth_of(choice: Choice, log_error: float) -> float:
    """Return log of the terms over the error."""
    return max(choice.lost - log_error, _LEAST_DEPTH)


def _size(bits: int) -> float:
    """Return how long a product takes, beside one of the shortest numbers that count."""
    return max(bits, SHORT_BITS) / SHORT_BITS


def require_reach(work: int, log_error: float) -> None:
    """Refuse a line that would take many seconds."""
    # where two digits are all that is wanted, no line with fewer comes after
    most = MAX_WORK if log_error < _FEWEST_DIGITS else _LAST_RESORT * MAX_WORK
    if work > most:
        raise PartLimitError(
            f"the privacy loss of these parameters falls off too slowly: {work} terms would be "
            "needed",
            work,
            most,
        )
    spend(work)
