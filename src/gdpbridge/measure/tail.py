"""Where the head ends: from which ε on the declared tail proves δ ≤ δ_μ for good."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import ball as gaussian
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, to_fraction
from gdpbridge.profiles.constants import Constant
from gdpbridge.profiles.pieces import Curve
from gdpbridge.profiles.tail import GaussianDecayTail

__all__ = ["Handover", "gaussian_decay_handover", "upper_bound"]

_MAX_EPS = arb(2) ** 60
_TIGHTENING_STEPS = 8


@dataclass(frozen=True)
class Handover:
    """The tail's part of a whole-range statement.

    Attributes:
        end: the tail is proved from here on.
        low: at most sup G, from the tail alone.
        high: for this μ, and so for every larger one, δ ≤ δ_μ on [end, ∞).
    """

    end: Fraction
    low: Fraction
    high: Fraction


def upper_bound(value: Constant) -> Fraction:
    """Return a rational at least the constant, and hardly more."""
    if isinstance(value, Fraction):
        return value
    with precision(256):
        return to_fraction(value().upper())


def gaussian_decay_handover(curve: Curve, tail: GaussianDecayTail, bits: int) -> Handover:
    """Find where log δ = log B - ε²/(2μ_t²) is proved to stay below log δ_μ.

    Let μ ≥ μ_t. The elementary lower bound of log δ_μ exceeds log δ by a difference that grows
    with ε as soon as y = ε/μ + μ/2 ≥ 4/μ: one inequality at one ε proves the whole tail.

    Args:
        curve: the profile's curve.
        tail: its declared tail.
        bits: the precision; μ is taken as close to sup G as these allow.

    Raises:
        UndecidedError: if no such ε was found.
    """
    with precision(bits):
        mu_t = BALLS.constant(tail.mu_t)
        mu = mu_t.upper()
        at_zero = curve.enclose(arb(0))
        if at_zero.log() > arb.neg_inf():
            mu = mu.max(gaussian.mu_of(arb(0), at_zero).lower())
        start = BALLS.constant(tail.start).upper()

        def holds(eps: arb) -> bool:
            decay = BALLS.constant(tail.log_factor) - eps * eps / (2 * mu_t * mu_t)
            growing = eps / mu + mu / 2 >= 4 / mu
            return bool(growing and gaussian.log_delta_tail_lower(eps, mu) >= decay)

        low, high = start, start.max(arb(1))
        while not holds(high):
            low, high = high, 2 * high
            if high > _MAX_EPS:
                raise UndecidedError("the tail could not be shown to lie below a Gaussian curve")
        for _ in range(_TIGHTENING_STEPS):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if holds(middle) else (middle, high)
        return Handover(to_fraction(high), to_fraction(mu_t.lower()), to_fraction(mu))
