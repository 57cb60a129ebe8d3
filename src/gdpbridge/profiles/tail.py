"""What a profile declares about δ(ε) as ε grows: the facts that decide "GDP or not".

Each class is one case of the tail analysis. μ_t² is the upper limit of ε²/(-2 log δ(ε));
a mechanism is GDP for some μ exactly when μ_t is finite and δ(0) < 1, and μ_t is a lower
bound of that μ (Liu, Sun, Jiang and Kong 2022, tail theorem, corrected: finiteness decides).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gdpbridge.profiles.constants import Constant

__all__ = [
    "ConstantTail",
    "GaussianCurveTail",
    "GaussianDecayTail",
    "SlowDecayTail",
    "Tail",
    "UnknownTail",
]


@dataclass(frozen=True)
class ConstantTail:
    """δ(ε) = value for every ε ≥ start: bounded losses where value is 0, a mass at infinity else.

    Attributes:
        start: where the constant part begins.
        value: the constant, in [0, 1].
    """

    start: Constant
    value: Fraction


@dataclass(frozen=True)
class GaussianDecayTail:
    """log δ(ε) = log_factor - ε²/(2 mu_t²) for every ε ≥ start.

    Attributes:
        log_factor: log B.
        mu_t: the tail parameter, positive.
        start: where the equation begins to hold.
    """

    log_factor: Constant
    mu_t: Constant
    start: Constant


@dataclass(frozen=True)
class GaussianCurveTail:
    """δ(ε) = δ_μ(ε) for every ε ≥ 0: the profile is a Gaussian curve.

    Attributes:
        mu: its parameter, possibly 0.
    """

    mu: Constant


@dataclass(frozen=True)
class SlowDecayTail:
    """δ(ε) ≥ factor · e^{-rate·ε} for every ε ≥ start: slower than every Gaussian curve.

    Attributes:
        log_factor: logarithm of the factor.
        rate: the exponential rate.
        start: where the bound begins to hold.
    """

    log_factor: Constant
    rate: Fraction
    start: Constant


@dataclass(frozen=True)
class UnknownTail:
    """Nothing is known beyond what evaluation shows."""


Tail = ConstantTail | GaussianDecayTail | GaussianCurveTail | SlowDecayTail | UnknownTail
