"""Single points of a curve, proved: δ(ε), and the least ε for a δ, as floats and as intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import UndecidedError, UndecidedWarning, WorkLimitError
from gdpbridge.interval import Interval
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import (
    MAX_PRECISION,
    MorePrecisionError,
    certainly,
    with_enough_precision,
)
from gdpbridge.numeric.effort import within
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Probability, ball, float_above, float_below, to_fraction

__all__ = [
    "LEAST_SHOWN",
    "delta_interval",
    "each_answered",
    "enclosed",
    "float_epsilons",
    "least_epsilon",
    "log_delta_above",
    "proved_delta",
    "proved_deltas",
    "proved_epsilons",
    "proved_from",
]

Enclose = Callable[[arb], Probability]

_BITS = 160
# bounds of δ agree in so many bits, more than a float has and twenty digits need
_ACCURACY = 72
# digits of an interval for a number; below the least one they are of no use, and a fraction of it
# would fill the memory
_DIGITS = 20
LEAST_SHOWN = Decimal("1e-4000")
# a guess in floats is off by a few neighbours: so often is the distance doubled
_DOUBLINGS = 64
# in a search for an ε: how far
_FARTHEST = 2.0**1000
# where one of several places takes too much work
_ELSEWHERE = "ask at other places; more noise or fewer runs take less"
# a δ that agrees with another one in 300 digits, as at a row of a table, may be the same
_TIE_BITS = 1024


# --- δ at an ε --------------------------------------------------------------------------------


def proved_delta(enclose: Enclose, eps: Fraction) -> tuple[arb, arb]:
    """Return exact bounds of δ(ε) that agree in 72 bits, unless the precision cap comes first.

    Args:
        enclose: encloses δ.
        eps: ε ≥ 0.
    """
    low, high = arb(0), arb(1)

    def attempt() -> tuple[arb, arb]:
        nonlocal low, high
        low, high = _bounds(enclose(ball(eps)))
        if certainly(high - low <= high * arb(2) ** -_ACCURACY):
            return low, high
        raise MorePrecisionError

    try:
        return with_enough_precision(_BITS, attempt)
    except UndecidedError:
        # δ cannot be told from 0, or ε from a place where δ falls by a jump
        return low, high


def _bounds(delta: Probability) -> tuple[arb, arb]:
    """Return exact bounds in [0, 1] of an enclosure."""
    log = delta.log()
    # what cannot be told from 0 has no logarithm, and one minus it does
    value = -BALLS.expm1(delta.log_complement()) if log.is_nan() else BALLS.exp(log)
    if value.is_nan():
        return arb(0), arb(1)
    return value.lower().max(arb(0)), value.upper().min(arb(1))


def delta_interval(enclose: Enclose, eps: Fraction) -> Interval:
    """Return an interval for δ(ε), of twenty digits where they are certain."""
    low, high = proved_delta(enclose, eps)
    return _rounded(low, high)


def _rounded(low: arb, high: arb) -> Interval:
    """Round exact numbers ≥ 0 outward to twenty digits."""
    if certainly(high == 0):
        return Interval(0, 0)
    least = ball(Fraction(LEAST_SHOWN))
    if certainly(high < least):
        return Interval(0, LEAST_SHOWN)
    down = Decimal(0) if certainly(low < least) else decimal_floor(to_fraction(low), _DIGITS)
    return Interval(down, decimal_ceiling(to_fraction(high), _DIGITS))


def log_delta_above(enclose: Enclose, eps: Fraction) -> arb:
    """Return a ball whose upper end is at least log δ(ε), and closely; see :func:`proved_delta`."""
    _, high = proved_delta(enclose, eps)
    with precision(_BITS):
        return arb.neg_inf() if high.is_zero() else high.log()


def proved_deltas(enclose: Enclose, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
    """Return bounds of δ at some ε ≥ 0."""
    pairs = [_float_bounds(enclose, one) for one in eps]
    low, high = np.reshape(pairs, (len(eps), 2)).T
    return low, high


def _float_bounds(enclose: Enclose, eps: Fraction) -> tuple[float, float]:
    low, high = proved_delta(enclose, eps)
    return float_below(low), float_above(high)


# --- the least ε for a δ ----------------------------------------------------------------------


def _is_above(
    enclose: Enclose, eps: float, target: Fraction, most: int = MAX_PRECISION
) -> bool | None:
    """Tell whether δ(ε) is above a number; None where no precision tells them apart."""

    def attempt() -> bool:
        low, high = _bounds(enclose(ball(Fraction(eps))))
        if certainly(low > ball(target)):
            return True
        if certainly(high <= ball(target)):
            return False
        raise MorePrecisionError

    try:
        return with_enough_precision(_BITS, attempt, most=most)
    except UndecidedError:
        return None


def proved_epsilons(
    enclose: Enclose, delta: Sequence[Fraction], guess: Floats
) -> tuple[Floats, Floats]:
    """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ, for some δ.

    Args:
        enclose: encloses δ(ε).
        delta: the δ.
        guess: about these ε; infinite for what is beyond the largest ε.

    Raises:
        UndecidedError: see :func:`each_answered`.
    """
    near = dict(zip(delta, guess.tolist(), strict=True))
    return each_answered(lambda one: _epsilon(enclose, one, near[one]), "δ", delta, math.inf)


def each_answered(
    answer: Callable[[Fraction], tuple[float, float]],
    name: str,
    places: Sequence[Fraction],
    largest: float,
) -> tuple[Floats, Floats]:
    """Return bounds at some places; one that is undecided does not close the others.

    Args:
        answer: the bounds at a place; asked in the order of the places, once for each.
        name: what the places are.
        places: the places.
        largest: the upper bound where nothing is known.

    Raises:
        UndecidedError: if every one is undecided; else an :class:`UndecidedWarning` names those.
        WorkLimitError: likewise, where that would be more work than is allowed for one.
    """
    ends = np.tile([0.0, largest], (len(places), 1))
    once = cache(answer)
    undecided: dict[int, UndecidedError | WorkLimitError] = {}
    for number in sorted(range(len(places)), key=lambda number: places[number]):
        try:
            with within(f"what is asked at {name} = {float(places[number]):g}", _ELSEWHERE):
                ends[number] = once(places[number])
        except (UndecidedError, WorkLimitError) as error:
            undecided[number] = error
    if undecided:
        if len(undecided) == len(places):
            raise undecided[min(undecided)]
        open_ = [f"{name} = {float(places[one]):g} (number {one})" for one in sorted(undecided)]
        said = f"undecided, so that nothing is said there: {', '.join(open_)}"
        warnings.warn(said, UndecidedWarning, stacklevel=5)
    return ends[:, 0], ends[:, 1]


def _epsilon(enclose: Enclose, delta: Fraction, guess: float) -> tuple[float, float]:
    high, step = guess, math.ulp(guess)
    if not math.isfinite(guess):
        return _above_until(enclose, delta, MAX_EPS), math.inf
    for _ in range(_DOUBLINGS):
        if _is_above(enclose, high, delta) is False:
            return _above_until(enclose, delta, high), high
        high, step = high + step, 2 * step
    raise UndecidedError(f"no ε was found where δ(ε) is proved to be at most {float(delta):g}")


def _above_until(enclose: Enclose, delta: Fraction, eps: float) -> float:
    """Return an ε, a little below the one given, up to where δ(ε) is proved to be above δ."""
    low, step = eps, math.ulp(eps)
    while low > 0 and _is_above(enclose, low, delta) is not True:
        low, step = max(low - step, 0.0), 2 * step
    return low


def float_epsilons(log_delta: Callable[[Floats], Floats], delta: Floats) -> Floats:
    """Return the least float ε in [0, 1e5] with a computed log δ(ε) ≤ log δ, inf for none."""
    with np.errstate(divide="ignore"):
        logs = np.log(delta)
    # floats ≥ 0 are in the order of their bits, so that halving these finds neighbours
    low = np.full(delta.shape, -1, dtype=np.int64)
    high = np.full(delta.shape, np.float64(MAX_EPS).view(np.int64))
    reached = log_delta(high.view(np.float64)) <= logs
    while (high - low > 1).any():
        middle = low + (high - low + 1) // 2
        below = log_delta(middle.view(np.float64)) <= logs
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return np.where(reached, high.view(np.float64), np.inf)


def proved_from(enclose: Enclose, failure: Fraction, guess: float = math.inf) -> Fraction:
    """Return the least float from which δ(ε) ≤ p is proved; a guess at it saves work.

    Raises:
        UndecidedError: if no such ε was found.
    """
    _, last = _bracket(enclose, failure, _TIE_BITS, guess)
    if math.isinf(last):
        raise UndecidedError(f"no ε was found where δ(ε) falls to {float(failure):g}")
    return Fraction(last)


def least_epsilon(enclose: Enclose, target: Fraction) -> Interval:
    """Return floats at one of which δ is proved above a number, and at the other not above.

    They are neighbours, but for a float between them where δ is the number itself; infinite where
    no ε will do.
    """
    if target == 0:
        return Interval("Infinity", "Infinity")
    first, last = _bracket(enclose, target, MAX_PRECISION)
    return Interval(Decimal(first), Decimal(last))


# of a guess in floats, what it may be off
_NEAR = 2.0**-40


def _bracket(
    enclose: Enclose, target: Fraction, most: int, guess: float = math.inf
) -> tuple[float, float]:
    """Bisect from 0 and 1 on, or about a guess, for where δ falls to a number.

    Up to the first ε it is above the number, from the last one not above.

    Both are 0 where it never is, and infinite where it always is.
    """

    def above(eps: float) -> bool | None:
        return _is_above(enclose, eps, target, most)

    low, high = 0.0, 1.0
    near = (guess * (1 - _NEAR), guess * (1 + _NEAR)) if 0 < guess < MAX_EPS else (1.0, 0.0)
    if near[0] < near[1] and above(near[0]) is True and above(near[1]) is False:
        low, high = near
    elif above(low) is False:
        return 0.0, 0.0
    while (found := above(high)) is not False:
        low, high = (high if found else low), 2 * high
        if high > _FARTHEST:
            return (math.inf if found else low), math.inf
    # δ may be the number itself on the way, as at a row of a table
    first, _ = _halved(lambda eps: above(eps) is True, low, high)
    _, last = _halved(lambda eps: above(eps) is not False, first, high)
    return first, last


def _halved(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return the neighbouring floats between which a condition ends."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


# --- any number -------------------------------------------------------------------------------


def enclosed(value: Callable[[], arb]) -> Interval:
    """Return an interval of some twenty digits for a number ≥ 0, enclosed at any precision.

    Raises:
        UndecidedError: at the precision cap.
    """

    def attempt() -> Interval:
        enclosure = value()
        if enclosure.is_finite():
            low, high = enclosure.lower().max(arb(0)), enclosure.upper()
            close = certainly(high - low <= high * arb(2) ** -_ACCURACY)
            if close or certainly(high < ball(Fraction(LEAST_SHOWN))):
                return _rounded(low, high)
        raise MorePrecisionError

    return with_enough_precision(_BITS, attempt)
