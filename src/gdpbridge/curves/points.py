"""Single points of a curve, proved: δ(ε), and the least ε for a δ, as floats and as intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import UndecidedError, UndecidedWarning
from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import Probability, ball, float_above, float_below, to_fraction

__all__ = [
    "enclosed",
    "float_epsilons",
    "least_epsilon",
    "least_log_above",
    "proved_deltas",
    "proved_epsilons",
    "proved_from",
]

Floats = NDArray[np.float64]
Enclose = Callable[[arb], Probability]
LogDelta = Callable[[arb], arb]

_BITS = 160
_MAX_BITS = 8192
# a guess in floats is off by a few neighbours: so often is the distance doubled
_DOUBLINGS = 64
# in a search for an ε: how far
_FARTHEST = 2.0**200


def proved_deltas(enclose: Enclose, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
    """Return bounds of δ at some ε ≥ 0."""
    pairs = [_delta(enclose, one) for one in eps]
    low, high = np.reshape(pairs, (len(eps), 2)).T
    return low, high


def _delta(enclose: Enclose, eps: Fraction) -> tuple[float, float]:
    bits = _BITS
    while bits <= _MAX_BITS:
        with precision(bits):
            value = enclose(ball(eps))
            log = value.log()
            if not log.is_nan():
                delta = log.exp()
                return max(float_below(delta), 0.0), min(float_above(delta), 1.0)
            rest = value.log_complement().lower()
        bits *= 2
    # the precision cannot tell it from 0, but perhaps from more
    with precision(_MAX_BITS):
        return 0.0, 1.0 if rest.is_nan() else min(float_above(-rest.expm1()), 1.0)


def proved_epsilons(
    enclose: Enclose, delta: Sequence[Fraction], guess: Floats
) -> tuple[Floats, Floats]:
    """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ, for some δ.

    Args:
        enclose: encloses δ(ε).
        delta: the δ.
        guess: about these ε.

    Raises:
        UndecidedError: at the precision cap, if that is so for every δ; else an
            :class:`UndecidedWarning` names those that are open, from 0 to infinity.
    """
    low, high = np.zeros(len(delta)), np.full(len(delta), np.inf)
    open_: dict[int, UndecidedError] = {}
    for number, (target, near) in enumerate(zip(delta, guess.tolist(), strict=True)):
        try:
            low[number], high[number] = _epsilon(enclose, target, near)
        except UndecidedError as error:
            open_[number] = error
    if len(open_) == len(delta) and open_:
        raise open_[0]
    if open_:
        places = ", ".join(f"δ = {float(delta[number]):g} (number {number})" for number in open_)
        said = f"undecided, so that ε is only known to be at least 0: {places}"
        warnings.warn(said, UndecidedWarning, stacklevel=4)
    return low, high


def _epsilon(enclose: Enclose, delta: Fraction, guess: float) -> tuple[float, float]:
    if not math.isfinite(guess):
        return MAX_EPS, math.inf
    high, step = guess, math.ulp(guess)
    for _ in range(_DOUBLINGS):
        if _delta(enclose, Fraction(high))[1] <= delta:
            break
        high, step = high + step, 2 * step
    else:
        raise UndecidedError(f"no ε was found where δ(ε) is proved to be at most {float(delta):g}")
    low, step = high, math.ulp(high)
    while low > 0 and not _delta(enclose, Fraction(low))[0] > delta:
        low, step = max(low - step, 0.0), 2 * step
    return low, high


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


def proved_from(enclose: Enclose, failure: Fraction) -> Fraction:
    """Return the least float from which δ(ε) ≤ p is proved.

    Raises:
        UndecidedError: if no such ε was found.
    """
    with precision(128):
        log_failure = ball(failure).log()

        def holds(eps: float) -> bool:
            return certainly(enclose(ball(Fraction(eps))).log() <= log_failure)

        if holds(0.0):
            return Fraction(0)
        high = 1.0
        while not holds(high):
            high *= 2
            if high > _FARTHEST:
                raise UndecidedError(f"no ε was found where δ(ε) falls to {float(failure):g}")
        low = 0.0 if high == 1.0 else high / 2
        _, high = _halved(lambda eps: not holds(eps), low, high)
    return Fraction(high)


# a bound of log δ is as close as that, unless the precision cap comes first
_SHARP = 2.0**-40


def least_log_above(
    enclose: Enclose, eps: Fraction, place: Callable[[arb, int], arb], bits: int = 256
) -> arb:
    """Return a ball whose upper end is at least log δ(ε), and closely.

    Args:
        enclose: encloses δ.
        eps: the ε.
        place: gives the exact number ≤ ε at which to look, at a precision in bits.
        bits: the precision to begin with.

    Raises:
        UndecidedError: if δ could not be told from 0.
    """
    while bits <= _MAX_BITS:
        with precision(bits):
            log = enclose(place(ball(eps), bits)).log()
            if certainly(log == arb.neg_inf()) or certainly(log.rad() < _SHARP):
                return log
            if 2 * bits > _MAX_BITS and not log.is_nan():
                return log
        bits *= 2
    raise UndecidedError(f"δ at eps_h = {float(eps):g} could not be told from 0")


# digits of an interval for a number; below the least one they are of no use, and a fraction of it
# would fill the memory
_DIGITS = 20
_LEAST = Decimal("1e-4000")


def enclosed(value: Callable[[], arb]) -> Interval:
    """Return an interval of some twenty digits for a number ≥ 0, enclosed at any precision.

    Raises:
        UndecidedError: at the precision cap.
    """
    bits = _BITS
    while bits <= _MAX_BITS:
        with precision(bits):
            enclosure = value()
            if certainly(enclosure >= 0) and certainly(enclosure < arb(str(_LEAST))):
                return Interval(0, _LEAST)
            if enclosure.is_finite() and (
                enclosure.is_exact() or enclosure.rel_accuracy_bits() > _BITS // 2
            ):
                low, high = to_fraction(enclosure.lower()), to_fraction(enclosure.upper())
                return Interval(decimal_floor(low, _DIGITS), decimal_ceiling(high, _DIGITS))
        bits *= 2
    raise UndecidedError(f"undecided with {_MAX_BITS} bits of precision")


# δ above 0 is looked for up to there
_LAST = 2.0**1000


def least_epsilon(log_delta: LogDelta, target: Fraction) -> Interval:
    """Bisect down to floats at one of which δ is proved above the target, at the other not above.

    They are neighbours, but for a float between them where δ is the target itself; infinite where
    no ε will do.
    """
    if target == 0:
        return Interval("Infinity", "Infinity")

    def is_above(eps: float) -> bool | None:
        """Tell whether δ(ε) is above the target; None where no precision tells them apart."""
        bits = _BITS
        while bits <= _MAX_BITS:
            with precision(bits):
                log, bound = log_delta(ball(Fraction(eps))), ball(target).log()
                if certainly(log > bound):
                    return True
                if certainly(log <= bound):
                    return False
            bits *= 2
        return None

    low, high = 0.0, 1.0
    if is_above(low) is False:
        return Interval(0, 0)
    while (above := is_above(high)) is not False:
        low, high = (high if above else low), 2 * high
        if high > _LAST:
            return Interval("Infinity" if above else Decimal(low), "Infinity")
    # δ may be the target itself on the way, as at a row of a table
    first, _ = _halved(lambda eps: is_above(eps) is True, low, high)
    _, last = _halved(lambda eps: is_above(eps) is not False, first, high)
    return Interval(Decimal(first), Decimal(last))


def _halved(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return the neighbouring floats between which a condition ends."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
