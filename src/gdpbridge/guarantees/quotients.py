"""Quotients of exponentials that stay smooth where numerator and denominator vanish.

E₁(x) = (eˣ - 1)/x = ∫ e^{sx} ds, E₂(x) = (eˣ - 1 - x)/x² = ∫ (1 - s) e^{sx} ds and
L₁(x) = log(1 + x)/x = ∫ ds/(1 + sx), integrals over s in [0, 1]. Every derivative of them is
monotone, the integrands being so; the values at both ends of a ball hence enclose all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, arb_series
from numpy.typing import NDArray

from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import working_precision

__all__ = [
    "expm1_quotient",
    "expm2_quotient",
    "log1p_quotient",
    "log_expm1_quotient",
    "log_expm2_quotient",
    "log_sinh_quotient",
]

Floats = NDArray[np.float64]

# nearer to 0 than that a Taylor series in x is summed: the recurrences would cancel
_NEAR_BITS = 6
_FLOAT_NEAR = 0.5
_FLOAT_TERMS = 14
# Σ x^m / (m + 2)!, the last term first
_HALVED = [1 / math.factorial(m + 2) for m in reversed(range(_FLOAT_TERMS))]


def expm1_quotient(x: Any) -> Any:
    """Return E₁ of a ball or a power series."""
    return _apply(_moments, x)


def expm2_quotient(x: Any) -> Any:
    """Return E₂ of a ball or a power series."""

    def coefficients(point: arb, length: int) -> list[arb]:
        if _is_near(point):
            return _near_moments(point, length, weighted=True)
        moments = _moments(point, length + 1)
        # coefficient k is ∫ (1 - s) s^k e^{sx} / k!
        return [one - (k + 1) * moments[k + 1] for k, one in enumerate(moments[:-1])]

    return _apply(coefficients, x)


def log1p_quotient(x: Any) -> Any:
    """Return L₁ of a ball or a power series above -1."""

    def coefficients(point: arb, length: int) -> list[arb]:
        if not _is_near(point):
            over = (1 + arb_series([point, 1], length)).log()
            first = point.log1p()
            rest = [over[k] for k in range(1, length)]
            found = arb_series([first, *rest], length) / arb_series([point, 1], length)
            return [found[k] for k in range(length)]
        return _near_logarithm(point, length)

    return _apply(coefficients, x)


def _apply(coefficients: Callable[[arb, int], list[arb]], x: Any) -> Any:
    """Evaluate a function of monotone derivatives, given its Taylor coefficients at a point."""
    if isinstance(x, arb):
        return _enclosed(coefficients, x, 1)[0]
    found = _enclosed(coefficients, x[0], x.prec)
    step = x - x[0]
    value = arb_series([found[-1]], x.prec)
    for one in reversed(found[:-1]):
        value = value * step + one
    return value


def _enclosed(coefficients: Callable[[arb, int], list[arb]], x: arb, length: int) -> list[arb]:
    if not x.is_finite():
        return [arb.nan()] * length
    if x.is_exact():
        return coefficients(x, length)
    ends = (coefficients(end, length) for end in (x.lower(), x.upper()))
    return [low.union(high) for low, high in zip(*ends, strict=True)]


def _is_near(point: arb) -> bool:
    return certainly(abs(point) < arb(2) ** -_NEAR_BITS)


def _moments(point: arb, length: int) -> list[arb]:
    """Return ∫ s^k e^{sx} ds / k! for k below ``length``, by parts."""
    if _is_near(point):
        return _near_moments(point, length, weighted=False)
    power = point.exp()
    found = [point.expm1() / point]
    factorial = arb(1)
    for k in range(1, length):
        factorial *= k
        # I_k = (eˣ - k I_{k-1})/x, divided by k!
        found.append((power / factorial - found[-1]) / point)
    return found


def _near_moments(point: arb, length: int, weighted: bool) -> list[arb]:
    """Sum the moments of e^{sx}, weighted by 1 - s or not, as series in x."""
    terms = working_precision() // _NEAR_BITS + 2
    found = []
    scale = arb(1)
    for k in range(length):
        scale *= max(k, 1)
        total, factor = arb(0), arb(1)
        for m in range(terms):
            weight = (m + k + 1) * (m + k + 2) if weighted else m + k + 1
            total += factor / weight
            factor = factor * point / (m + 1)
        # the terms left out fall faster than a geometric series of ratio 1/2
        found.append((total + arb(0, 2 * abs(factor))) / scale)
    return found


def _near_logarithm(point: arb, length: int) -> list[arb]:
    terms = working_precision() // _NEAR_BITS + 4
    found = []
    for k in range(length):
        # (-1)^k Σ C(m + k, k) (-x)^m / (m + k + 1)
        total, factor = arb(0), arb(1)
        for m in range(terms):
            total += factor / (m + k + 1)
            factor = -factor * point * (m + k + 1) / (m + 1)
        # for |x| < 1/64 and the few k asked for, each term is below half of the one before
        rest = arb(0, 2 * abs(factor))
        found.append((total + rest) * (-1) ** k)
    return found


# --- floats -----------------------------------------------------------------------------------


def log_expm2_quotient(x: Floats) -> Floats:
    """Return log E₂(x) in float64."""
    near = np.abs(x) < _FLOAT_NEAR
    small = np.where(near, x, 0.0)
    series = np.zeros_like(small)
    for coefficient in _HALVED:
        series = coefficient + small * series
    up = np.where(~near & (x > 0), x, 1.0)
    down = np.where(~near & (x < 0), x, -1.0)
    above = up - 2 * np.log(up) + np.log1p(-(1 + up) * np.exp(-up))
    far = np.where(x > 0, above, np.log(np.expm1(down) - down) - 2 * np.log(-down))
    return np.where(near, np.log(series), far)


def log_expm1_quotient(x: Floats) -> Floats:
    """Return log E₁(x) in float64."""
    near = np.abs(x) < 1e-5
    safe = np.where(near, 1.0, x)
    size = np.abs(safe)
    # E₁(x) = eˣ E₁(-x)
    far = np.maximum(safe, 0.0) + np.log(-np.expm1(-size)) - np.log(size)
    return np.where(near, np.log1p(x / 2 + x * x / 6), far)


def log_sinh_quotient(x: Floats) -> Floats:
    """Return log(sinh(x)/x) for x ≥ 0 in float64."""
    near = x < _FLOAT_NEAR
    square = np.where(near, x * x, 0.0)
    series = np.zeros_like(square)
    for m in reversed(range(1, _FLOAT_TERMS // 2)):
        # Σ x^{2m} / (2m + 1)! without its first term, by Horner's rule
        series = (1.0 + series) * square / ((2 * m) * (2 * m + 1))
    far = np.where(near, 1.0, x)
    return np.where(near, np.log1p(series), far + np.log(-np.expm1(-2 * far) / (2 * far)))
