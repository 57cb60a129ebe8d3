"""The tables of a privacy report: (ε, δ) pairs and the trade-off function, on the safe side."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gdpbridge.convert import beta_at, delta_at, epsilon_at
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import UndecidedError, UndecidedWarning
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_ceiling, float_ceiling
from gdpbridge.risk import Risk

__all__ = [
    "ALPHA",
    "DELTAS",
    "EPSILONS",
    "RATES",
    "AttackRow",
    "DeltaRow",
    "EpsilonRow",
    "Stated",
    "TradeoffRow",
    "attack_rows",
    "delta_rows",
    "epsilon_rows",
    "tradeoff_rows",
]

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0)
DELTAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
# of the first screen
RATES = (1e-1, 1e-2, 1e-3, 1e-4)
# those that Gomez et al. (arXiv 2503.10945) ask to be reported, before the one of the advantage
ALPHA = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)

# a larger μ says nothing worth a number
_CONVERTED = 1000.0


@dataclass(frozen=True)
class Stated:
    """What is stated of every ε: a μ, with a failure probability p."""

    mu: float
    failure: float

    @property
    def binds(self) -> bool:
        """Whether it says anything: an infinite μ does not, nor what fails for certain."""
        return math.isfinite(self.mu) and self.failure < 1


@dataclass(frozen=True)
class DeltaRow:
    """δ at an ε: at most, of the mechanism and of the statement.

    Attributes:
        epsilon: ε.
        delta: δ(ε) of the mechanism, rounded up.
        stated: δ that (μ, p) gives, rounded up; None where μ is infinite or p is 1.
    """

    epsilon: float
    delta: float
    stated: float | None


@dataclass(frozen=True)
class EpsilonRow:
    """The least ε for a δ: of the mechanism and of the statement, rounded up.

    Attributes:
        delta: δ.
        epsilon: ε of the mechanism; infinite where no ε will do, None where it was not decided.
        stated: ε that (μ, p) gives; None where μ is infinite or p is 1.
    """

    delta: float
    epsilon: float | None
    stated: float | None


@dataclass(frozen=True)
class AttackRow:
    """The best true-positive rate at a false-positive rate, rounded up.

    Attributes:
        false_positive_rate: the rate α.
        true_positive_rate: of the mechanism itself.
        stated: what (μ, p) allows; None where μ is infinite or p is 1.
    """

    false_positive_rate: float
    true_positive_rate: float
    stated: float | None


@dataclass(frozen=True)
class TradeoffRow:
    """The attacker's errors at a type I error.

    Attributes:
        alpha: the type I error, or false-positive rate.
        beta: the least type II error f(α) of the mechanism, rounded down.
        true_positive_rate: the best true-positive rate of the mechanism, rounded up.
        stated: the type II error that (μ, p) leaves at least; None where μ is infinite or p is 1.
        note: what is special about this α.
    """

    alpha: float
    beta: float
    true_positive_rate: float
    stated: float | None
    note: str = ""


def delta_rows(profile: Profile, stated: Stated, more: tuple[float, ...] = ()) -> list[DeltaRow]:
    """Return δ at the usual ε, and at others."""
    eps = sorted({*EPSILONS, *(one for one in more if 0 <= one <= MAX_EPS)})
    deltas = np.asarray(profile.delta_bounds(np.array(eps))[1]).tolist()
    return [
        DeltaRow(one, delta, _stated_delta(one, stated))
        for one, delta in zip(eps, deltas, strict=True)
    ]


def _stated_delta(eps: float, stated: Stated) -> float | None:
    if not stated.binds:
        return None
    return delta_at((stated.mu, stated.failure), eps).upper if stated.mu <= _CONVERTED else 1.0


def epsilon_rows(profile: Profile, stated: Stated) -> list[EpsilonRow]:
    """Return the least ε at the usual δ."""
    found = _least_epsilons(profile)
    return [
        EpsilonRow(delta, epsilon, _stated_epsilon(delta, stated))
        for delta, epsilon in zip(DELTAS, found, strict=True)
    ]


def _least_epsilons(profile: Profile) -> list[float | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndecidedWarning)
            return list(np.asarray(profile.epsilon_bounds(np.array(DELTAS))[1]).tolist())
    except (UndecidedError, UndecidedWarning):
        # one that is open, and may be decided by bisection, is not to look like one without an ε
        return [_least_epsilon(profile, delta) for delta in DELTAS]


def _stated_epsilon(delta: float, stated: Stated) -> float | None:
    if not stated.binds:
        return None
    if stated.mu > _CONVERTED:
        return math.inf
    return epsilon_at((stated.mu, stated.failure), delta).upper


def _least_epsilon(profile: Profile, delta: float) -> float | None:
    try:
        return epsilon_at(profile, delta).upper
    except UndecidedError:
        return None


def attack_rows(profile: Profile, risk: Risk | None) -> list[AttackRow]:
    """Return what the mechanism itself allows at low false-positive rates, and what (μ, p) does."""
    beta = np.asarray(profile.tradeoff_bounds(np.array(RATES))[0])
    stated: list[float | None] = [None] * len(RATES)
    if risk is not None:
        stated = [one.true_positive_rate for one in risk.points]
    return [
        AttackRow(rate, _complement(float(low)), one)
        for rate, low, one in zip(RATES, beta, stated, strict=True)
    ]


def tradeoff_rows(profile: Profile, stated: Stated) -> list[TradeoffRow]:
    """Return f(α) at the α that ought to be reported."""
    # where the advantage 1 - α - f(α) is largest, were f symmetric about it
    advantage = float(np.asarray(profile.delta_bounds(0.0)[1]))
    # rounded as it is printed, so that the row holds as it stands there
    own = float(decimal_ceiling(Fraction(1 - advantage) / 2, 4))
    alphas = [*ALPHA, own]
    beta = np.asarray(profile.tradeoff_bounds(np.array(alphas))[0])
    rows = [
        TradeoffRow(alpha, float(low), _complement(float(low)), _stated_beta(alpha, stated))
        for alpha, low in zip(alphas, beta, strict=True)
    ]
    last = rows[-1]
    rows[-1] = TradeoffRow(
        last.alpha, last.beta, last.true_positive_rate, last.stated, "(1 - advantage)/2"
    )
    return sorted(rows, key=lambda row: row.alpha)


def _complement(beta: float) -> float:
    return float_ceiling(1 - Fraction(beta))


def _stated_beta(alpha: float, stated: Stated) -> float | None:
    """Return a lower bound of the type II error under (μ, p)."""
    if not stated.binds:
        return None
    if stated.mu > _CONVERTED:
        return 0.0
    return beta_at((stated.mu, stated.failure), alpha).lower
