"""Binomial tails and quantiles of the normal law, proved in ball arithmetic.

P[Bin(n, p) ≤ k] is its largest term times a sum of ratios that fall from term to term, so that what
is left out is at most a geometric series. Clopper and Pearson (1934) take for an upper bound of p
the p at which that tail is the level; floats find it, and the tail at the answer is proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray
from scipy import special

from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_below

__all__ = [
    "BITS",
    "lower_tail",
    "normal",
    "proved_upper_rate",
    "quantile_below",
    "terms_upwards",
    "upper_rates",
]

# twice a double's digits: sums of 10^5 terms lose a few of them
BITS = 128
# a float that is off by rounding is moved by these shares of itself until it can be proved
STEPS_OUT = (1e-13, 1e-11, 1e-9, 1e-6, 1e-3, 0.1)
# below it a normal quantile is beyond what doubles of a probability hold
_LEAST = 1e-300


def upper_rates(failures: ArrayLike, trials: ArrayLike, level: float) -> NDArray[np.float64]:
    """Return Clopper-Pearson upper bounds of a rate in float64; 1 where every trial failed.

    Args:
        failures: counts k, arrays that broadcast with ``trials``.
        trials: counts n ≥ k.
        level: the probability allowed that a bound is below the rate.
    """
    k, n = np.broadcast_arrays(np.asarray(failures, np.float64), np.asarray(trials, np.float64))
    inside = k < n
    found = special.betainccinv(k + 1, np.where(inside, n - k, 1.0), level)
    return np.where(inside, found, 1.0)


def proved_upper_rate(failures: int, trials: int, level: Fraction) -> float:
    """Return a float p at which P[Bin(trials, p) ≤ failures] is proved to be at most the level."""
    if failures >= trials:
        return 1.0
    guess = float(upper_rates(failures, trials, float(level)))
    with precision(BITS):
        for share in STEPS_OUT:
            p = min(guess * (1 + share) + share * 1e-200, 1.0)
            if certainly(lower_tail(failures, trials, ball(Fraction(p))) <= ball(level)):
                return p
    return 1.0


def lower_tail(k: int, n: int, p: arb) -> arb:
    """Return P[Bin(n, p) ≤ k] at the working precision, for p in (0, 1) or exactly 1."""
    if k >= n:
        return arb(1)
    if k < 0 or certainly(p == 1):
        return arb(0)
    odds = (1 - p) / p
    term = total = arb(1)
    for j in range(k, 0, -1):
        ratio = odds * j / (n - j + 1)
        term *= ratio
        total += term
        if certainly(ratio < 0.999) and certainly(term < total * 1e-30):
            # the ratios fall further on the way down
            total += arb(0).union(term * ratio / (1 - ratio))
            break
    return total * _term(k, n, p)


def terms_upwards(k: int, n: int, p: arb) -> Iterator[arb]:
    """Yield P[Bin(n, p) = j] for j = k, k + 1, …, n."""
    odds = p / (1 - p)
    term = _term(k, n, p)
    for j in range(k, n + 1):
        yield term
        term = term * odds * (n - j) / (j + 1)


def _term(k: int, n: int, p: arb) -> arb:
    ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    rest = (n - k) * (1 - p).log() if k < n else arb(0)
    return (ways + k * p.log() + rest).exp()


def normal(x: arb) -> arb:
    """Return Φ(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def quantile_below(p: arb) -> float | None:
    """Return a float x with Φ(x) ≤ p, close to the largest; None if p is too small for one.

    Args:
        p: a ball within (0, 1]; at 1 the answer is finite, and safe.
    """
    low = min(float_below(p), 1 - 2.0**-53)
    if low <= _LEAST:
        return None
    guess = float(special.ndtri(low))
    for share in STEPS_OUT:
        x = guess - share * (1 + abs(guess))
        if certainly(normal(arb(x)) <= p):
            return x
    raise UndecidedError(f"no quantile of the normal law was proved at {low!r}")
