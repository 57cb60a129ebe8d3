"""Bounds of μ and ε from error rates at thresholds, for independent runs.

At a threshold fixed beforehand false positives and false negatives are binomial. With a⁺ and b⁺
upper bounds of the two rates, each failing with half of the level, every f-DP mechanism has
b⁺ ≥ f(a⁺) unless one of them failed: so μ ≥ Φ⁻¹(1 - a⁺) - Φ⁻¹(b⁺), and
ε ≥ log((1 - δ - b⁺)/a⁺) and log((1 - δ - a⁺)/b⁺).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from gdpbridge.auditing.binomial import (
    BITS,
    proved_upper_rate,
    quantile_below,
    upper_rates,
)
from gdpbridge.auditing.hypotheses import Hypothesis
from gdpbridge.auditing.search import least_level, proved_level
from gdpbridge.auditing.task import Claim, Finding, Task
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_below

__all__ = ["Rates", "bounds_of", "separations"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Rates:
    """False positives and false negatives at one threshold or several.

    Attributes:
        false_positives: how many runs without the record were taken for runs with it, shape (n,).
        negatives: how many runs without the record there were, shape (n,).
        false_negatives: how many runs with the record were missed, shape (n,).
        positives: how many runs with the record there were, shape (n,).
    """

    false_positives: Counts
    negatives: Counts
    false_negatives: Counts
    positives: Counts

    def one(self, index: int) -> tuple[int, int, int, int]:
        """Return the four counts at one threshold."""
        return (
            int(self.false_positives[index]),
            int(self.negatives[index]),
            int(self.false_negatives[index]),
            int(self.positives[index]),
        )


def separations(rates: Rates, level: float, hypothesis: Hypothesis | None) -> NDArray[np.float64]:
    """Return in float64 how far each threshold goes: a bound of μ, or the distance to a claim.

    Args:
        rates: the counts.
        level: the level at one threshold.
        hypothesis: what to contradict; if None, μ is what counts.
    """
    a = upper_rates(rates.false_positives, rates.negatives, level / 2)
    b = upper_rates(rates.false_negatives, rates.positives, level / 2)
    if hypothesis is None:
        return np.asarray(-special.ndtri(a) - special.ndtri(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        # f is symmetric: how far below the curve, seen from either axis
        above = np.log(hypothesis.errors(a)) - np.log(b)
        beside = np.log(hypothesis.errors(b)) - np.log(a)
    return np.asarray(np.fmax(above, beside))


def bounds_of(
    rates: Rates, task: Task, *, method: str, theorem: str, assumptions: tuple[str, ...]
) -> Finding:
    """Return what all thresholds together prove, each at its share of the level.

    Args:
        rates: the counts at each threshold.
        task: the level, the δ and the claim.
        method: the method's name, for the result.
        theorem: likewise.
        assumptions: likewise.
    """
    number = rates.false_positives.size
    share = task.level / number
    level = float(share)
    at = int(np.argmax(separations(rates, level, None)))
    false_positives, negatives, false_negatives, positives = rates.one(at)
    a, b = _corner(rates, at, share)
    mu = _mu_below(a, b)
    epsilon = max(
        (_epsilon_below(*_corner(rates, one, share), task.delta))
        for one in {at, int(np.argmax(_epsilons(rates, level, task.delta)))}
    )
    p_value = None if task.claim is None else _p_value(rates, level, number, task.claim)
    attack = (
        f"{positives - false_negatives} of {positives} runs with the record recognised, with "
        f"{false_positives} false alarms in {negatives} runs without it: the rate of false alarms "
        f"is at most {a:.4g}, that of misses at most {b:.4g}"
    )
    counts: dict[str, int | float] = {
        "true_positives": positives - false_negatives,
        "positives": positives,
        "false_positives": false_positives,
        "negatives": negatives,
        "thresholds": number,
        "false_positive_rate_at_most": a,
        "false_negative_rate_at_most": b,
    }
    return Finding(method, mu, epsilon, p_value, attack, counts, theorem, assumptions)


def _corner(rates: Rates, at: int, share: Fraction) -> tuple[float, float]:
    """Return proved upper bounds of both rates."""
    false_positives, negatives, false_negatives, positives = rates.one(at)
    return (
        proved_upper_rate(false_positives, negatives, share / 2),
        proved_upper_rate(false_negatives, positives, share / 2),
    )


def _mu_below(a: float, b: float) -> float:
    if a >= 1 or b >= 1:
        return 0.0
    with precision(BITS):
        first = quantile_below(1 - arb(a))
        second = quantile_below(1 - arb(b))
        if first is None or second is None:
            return 0.0
        return max(float_below(arb(first) + arb(second)), 0.0)


def _epsilons(rates: Rates, level: float, delta: float) -> NDArray[np.float64]:
    a = upper_rates(rates.false_positives, rates.negatives, level / 2)
    b = upper_rates(rates.false_negatives, rates.positives, level / 2)
    with np.errstate(divide="ignore"):
        above = np.log(np.maximum(1 - delta - b, 0)) - np.log(a)
        beside = np.log(np.maximum(1 - delta - a, 0)) - np.log(b)
    return np.asarray(np.fmax(above, beside))


def _epsilon_below(a: float, b: float, delta: float) -> float:
    with precision(BITS):
        rest = 1 - ball(Fraction(delta))
        sides = [(rest - arb(miss)) / arb(alarm) for miss, alarm in ((b, a), (a, b))]
        return max([0.0, *(float_below(side.log()) for side in sides if certainly(side > 1))])


def _p_value(rates: Rates, level: float, number: int, claim: Claim) -> float:
    """Return the least level at which a threshold contradicts the claim, proved; 1 if none does."""
    f = claim.hypothesis
    # each threshold has the same share of the level, so that one decides
    at = int(np.argmax(separations(rates, level, f)))
    one = Rates(*(np.array([count]) for count in rates.one(at)))

    def contradicts(share: float) -> bool:
        return bool(separations(one, share, f)[0] > 0)

    found = least_level(contradicts)
    share = proved_level(found, lambda level: _proved_below_curve(one, level, f))
    return min(float(share * number) * (1 + 2.0**-52), 1.0)


def _proved_below_curve(rates: Rates, share: Fraction, f: Hypothesis) -> bool:
    a, b = _corner(rates, 0, share)
    with precision(BITS):
        if math.isclose(a, 1.0) or math.isclose(b, 1.0):
            return False
        return certainly(f.error_below(Fraction(a)) > arb(b)) or certainly(
            f.error_below(Fraction(b)) > arb(a)
        )
