"""Rényi divergences of the best of a random number of runs (Papernot and Steinke 2022).

Of K runs the best one is released, K from a truncated negative binomial distribution of shape η and
parameter γ (theorem 2), or from a Poisson distribution (theorem 6, shape infinite):

    ε'(λ) = ε(λ) + (1+η)((1 - 1/ν)ε(ν) + log(1/γ)/ν) + log E[K]/(λ-1)   for any order ν ≥ 1,
    ε'(λ) = ε(λ) + E[K]·δ(log(1 + 1/(λ-1))) + log E[K]/(λ-1).

Everything is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

from flint import arb

from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, fraction_above

__all__ = ["best_of_poisson", "best_of_truncated", "log_inverse_gamma"]

_BITS = 192
_DIGITS = 20
_HALVINGS = 120
_HAIR = Fraction(1, 2**60)

Divergences = Mapping[Fraction, Fraction]


def best_of_truncated(known: Divergences, mean: Fraction, shape: Fraction) -> Divergences:
    """Return ε' for a truncated negative binomial number of runs.

    Args:
        known: ε(1 + u) of one run, by u.
        mean: E[K], at least 1.
        shape: η, at least 0; 1 is geometric, 0 logarithmic.
    """
    with precision(_BITS):
        log_gamma = -log_inverse_gamma(mean, shape)
        extras = [
            (1 + ball(shape)) * (ball(tilt / (1 + tilt)) * ball(value) - log_gamma / ball(1 + tilt))
            for tilt, value in known.items()
        ]
        least = reduce(arb.min, extras) if extras else arb(0)
        return _with_mean(known, mean, lambda _: least)


def best_of_poisson(known: Divergences, mean: Fraction, delta: Callable[[arb], arb]) -> Divergences:
    """Return ε' for a Poisson number of runs, from an upper bound of δ(ε) of one."""
    with precision(_BITS):
        return _with_mean(
            known, mean, lambda tilt: ball(mean) * delta((1 / ball(tilt)).log1p().lower())
        )


def _with_mean(known: Divergences, mean: Fraction, extra: Callable[[Fraction], arb]) -> Divergences:
    found = {}
    for tilt, value in known.items():
        total = ball(value) + extra(tilt) + ball(mean).log() / ball(tilt)
        found[tilt] = fraction_above(total, _DIGITS)
    return found


def log_inverse_gamma(mean: Fraction, shape: Fraction) -> arb:
    """Return a number at least log(1/γ), and hardly above it."""
    if mean == 1:
        return arb(0)
    low, high = 0.0, 1.0
    # E[K] grows with log(1/γ)
    while not certainly(_mean(arb(high), shape) >= ball(mean)):
        low, high = high, 2 * high
        if math.isinf(high):
            raise UndecidedError("no parameter of the distribution has this mean")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if certainly(_mean(arb(middle), shape) >= ball(mean)):
            high = middle
        else:
            low = middle
        if high - low <= float(_HAIR) * high:
            break
    return arb(high)


def _mean(size: arb, shape: Fraction) -> arb:
    """Return E[K] at γ = e^{-size}."""
    # 1/γ - 1
    odds = size.expm1()
    if shape == 0:
        return odds / size
    eta = ball(shape)
    return eta * odds / -(-eta * size).expm1()
