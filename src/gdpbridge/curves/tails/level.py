"""The tail that stays at a level: bounded losses, or a mass at infinity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import (
    Constant,
    constant_text,
    exceeds,
    interval_around,
    rational_above,
    upper_bound,
)
from gdpbridge.curves.sampling import eps_after
from gdpbridge.curves.tail import Handover, Level, Obstacle, Scope, Tail, TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import digits_of
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = ["ConstantTail", "mu_past", "never_below", "times"]

_INFINITE = Interval("Infinity", "Infinity")


@dataclass(frozen=True)
class ConstantTail(Tail):
    """δ(ε) = value for every ε ≥ start: bounded losses where value is 0, a mass at infinity else.

    Attributes:
        start: where the constant part begins.
        value: the constant, in [0, 1]; 0 as a fraction.
        beneath: a μ with which δ(ε) ≤ value + (1 - value)·δ_μ(ε) for every ε ≥ 0, if one is known.
    """

    start: Constant
    value: Constant
    beneath: Constant | None = None

    @property
    def verdict(self) -> Verdict:
        """GDP where it falls to 0."""
        return Verdict.GDP if self.value == 0 else Verdict.NOT_GDP

    @property
    def reason(self) -> str:
        """Why."""
        if self.value == 0:
            return (
                "the privacy loss is bounded: δ(ε) = 0 for every "
                f"ε ≥ {constant_text(self.start)}, so that every Gaussian curve lies above the tail"
            )
        return (
            f"δ(ε) stays at {constant_text(self.value)} for every ε ≥ {constant_text(self.start)}, "
            "while every Gaussian curve falls to 0"
        )

    @property
    def mu_tail(self) -> Interval:
        """0, or infinite."""
        return Interval(0, 0) if self.value == 0 else _INFINITE

    @property
    def status(self) -> TailStatus:
        """It is proved."""
        return TailStatus.PROVED

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """Return where δ becomes 0."""
        return Handover(upper_bound(self.start)) if self.value == 0 else None

    def after_sampling(self, gamma: Fraction) -> ConstantTail:
        """Scale the constant."""
        return ConstantTail(eps_after(self.start, gamma), times(self.value, gamma))

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that the constant is larger, if it is."""
        return never_below(self.value, failure)

    @property
    def level(self) -> Level:
        """The constant."""
        return Level(self.start, self.value)

    def ceiling_past(self, failure: Fraction, tol: Fraction) -> Fraction | None:
        """Return the μ of what lies above."""
        return None if self.beneath is None else mu_past(self.beneath, self.value, failure, tol)

    def default_scope(self) -> Scope:
        """Fail with the mass at infinity."""
        if self.value == 0:
            return Scope()
        return Scope(failure=min(rational_above(self.value), Fraction(1)))


def mu_past(mu: Constant, value: Constant, failure: Fraction, tol: Fraction) -> Fraction:
    """Return the least M with v + (1 - v)·δ_μ ≤ p + (1 - p)·δ_M at every ε ≥ 0, rounded up, p ≥ v.

    With Mills' ratio R, ∂ log(1 - δ_m)/∂m = -1/(R(-x) + R(x + m)), x = ε/m - m/2, whose size falls
    with ε as R is convex, so that 1 - δ_M ≤ a·(1 - δ_μ) holds everywhere where it does at ε = 0.
    There it is Φ(-M/2) ≤ a·Φ(-μ/2), a = (1 - v)/(1 - p).
    """

    def least() -> arb:
        root = arb(8).sqrt()
        share = (1 - BALLS.constant(value)) / ball(1 - failure)
        twice = share * (BALLS.constant(mu) / root).erfc()
        return arb(0) if certainly(twice >= 1) else root * twice.min(arb(1)).erfcinv()

    return Fraction(interval_around(least, digits_of(tol) + 25).high)


def never_below(value: Constant, failure: Fraction) -> Obstacle | None:
    """Return that δ stays above p, if it does: it is at least ``value``."""
    # no precision tells a probability next to 1 from 1
    if failure >= 1 or not exceeds(value, failure):
        return None
    least = constant_text(value)
    return Obstacle(f"δ(ε) never falls below {least}, more than the failure probability")


def times(value: Constant, gamma: Fraction) -> Constant:
    """Return γ times a constant."""
    if isinstance(value, Fraction):
        return gamma * value
    return lambda: ball(gamma) * value()
