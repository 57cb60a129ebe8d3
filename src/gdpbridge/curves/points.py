"""Single points of a curve, proved: bounds of δ(ε), and of the least ε for a δ, as floats."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.smooth import Curve
from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = ["proved_deltas", "proved_epsilons"]

Floats = NDArray[np.float64]

_BITS = 160
_MAX_BITS = 8192
# a guess in floats is off by a few neighbours: so often is the distance doubled
_DOUBLINGS = 64


def proved_deltas(curve: Curve, eps: Floats) -> tuple[Floats, Floats]:
    """Return bounds of δ at one-dimensional ε ≥ 0."""
    if curve.bounds is not None:
        found = curve.bounds.at(eps)
        # the logarithm is off by its last digit, and so is what it is of by as much
        low = np.exp(found.log_low) * (1 - _off(found.log_low))
        high = np.minimum(np.exp(found.log_high) * (1 + _off(found.log_high)), 1.0)
        low = np.maximum(np.nextafter(low, -1.0), 0.0)
        high = np.minimum(np.nextafter(high, 2.0), 1.0)
        # rounding has nothing to do with what is exactly 0
        return (
            np.where(found.log_low == -np.inf, 0.0, low),
            np.where(found.log_high == -np.inf, 0.0, high),
        )
    pairs = [_delta(curve, float(one)) for one in eps]
    low, high = np.reshape(pairs, (eps.size, 2)).T
    return low, high


def _off(log: Floats) -> Floats:
    """How much a number read from its logarithm may be off, relative to it."""
    return 2.0**-51 * (2 + np.where(np.isfinite(log), np.abs(log), 0.0))


def _delta(curve: Curve, eps: float) -> tuple[float, float]:
    bits = _BITS
    while bits <= _MAX_BITS:
        with precision(bits):
            log = curve.enclose(ball(Fraction(eps))).log()
            if not log.is_nan():
                delta = log.exp()
                return max(float_below(delta), 0.0), min(float_above(delta), 1.0)
        bits *= 2
    # the precision cannot tell it from 0
    return 0.0, math.ulp(0.0)


def proved_epsilons(curve: Curve, delta: Floats, guess: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ.

    Args:
        curve: the curve.
        delta: one-dimensional.
        guess: about these ε.

    Raises:
        UndecidedError: at the precision cap.
    """
    low, high = np.zeros(delta.size), np.full(delta.size, np.inf)
    for number, (target, near) in enumerate(zip(delta.tolist(), guess.tolist(), strict=True)):
        low[number], high[number] = _epsilon(curve, target, near)
    return low, high


def _epsilon(curve: Curve, delta: float, guess: float) -> tuple[float, float]:
    if not math.isfinite(guess):
        return MAX_EPS, math.inf
    high, step = guess, math.ulp(guess)
    for _ in range(_DOUBLINGS):
        if _delta(curve, high)[1] <= delta:
            break
        high, step = high + step, 2 * step
    else:
        raise UndecidedError(f"no ε was found where δ(ε) is proved to be at most {delta:g}")
    low, step = high, math.ulp(high)
    while low > 0 and not _delta(curve, low)[0] > delta:
        low, step = max(low - step, 0.0), 2 * step
    return low, high
