"""Where the head ends: from which ε on the declared tail proves δ ≤ δ_μ for good."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.smooth import Curve
from gdpbridge.curves.tail import GaussianDecayTail
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import ball as gaussian
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, to_fraction

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
    """Find where log δ ≤ log B + κε - ε²/(2μ_t²) is proved to stay below log δ_μ.

    Let μ ≥ μ_t, and y = ε/μ + μ/2. The elementary lower bound of log δ_μ exceeds the bound of log δ
    by a difference whose derivative, ε(1/μ_t² - 1/μ²) + 1/2 - κ - 2y/(μ(y² + 3)), is positive for
    good as soon as ε(1/μ_t² - 1/μ²) + 1/2 - κ is at least 2/(μy): one inequality at one ε proves
    the whole tail.

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
        for eps in _places(curve):
            value = curve.enclose(eps)
            if value.log() > arb.neg_inf():
                mu = mu.max(gaussian.mu_of(eps, value).lower())
        spread = 1 / (mu_t * mu_t) - 1 / (mu * mu)
        linear = BALLS.constant(tail.linear)
        slack = arb(1) / 2 - linear
        start = BALLS.constant(tail.start).upper()

        def holds(eps: arb) -> bool:
            decay = BALLS.constant(tail.log_factor) + linear * eps
            decay -= eps * eps / (2 * mu_t * mu_t)
            growing = slack + eps * spread >= 2 / (eps + mu * mu / 2)
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


def _places(curve: Curve) -> list[arb]:
    """Return some ε at which G is a good lower bound of its supremum."""
    if curve.lines is None:
        return [arb(0)]
    # a line touches its Gaussian curve well inside its range
    ends = [arb(0), *(curve.lines.end(index) for index in range(min(curve.lines.count or 4, 4)))]
    return [arb(0), *(((low + high) / 2).mid() for low, high in pairwise(ends))]
