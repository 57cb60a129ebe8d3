"""Tails that are slower than every Gaussian curve, and certain failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import Constant, constant_text
from gdpbridge.curves.sampling import eps_after
from gdpbridge.curves.tail import Handover, Obstacle, Tail, TailStatus, Verdict
from gdpbridge.curves.tails.level import mu_past, never_below
from gdpbridge.curves.tails.unproved import UnknownTail
from gdpbridge.interval import Interval
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = ["CERTAIN", "CertainFailureTail", "FloorTail", "SlowDecayTail", "SlowerTail"]

_INFINITE = Interval("Infinity", "Infinity")
CERTAIN = "δ(0) = 1, while every Gaussian curve is below 1 there: no finite μ will do"


class _NotGdp(Tail):
    """Proved to be below no Gaussian curve."""

    verdict = Verdict.NOT_GDP
    status = TailStatus.PROVED

    @property
    def mu_tail(self) -> Interval | None:
        """Infinite."""
        return _INFINITE

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """There is no such μ."""
        return None

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing: it falls to 0, if slowly."""
        return None


@dataclass(frozen=True)
class FloorTail(_NotGdp):
    """δ(ε) ≥ value for every ε ≥ 0, while every Gaussian curve falls to 0.

    Attributes:
        value: the bound, positive.
        beneath: a μ with which δ(ε) ≤ value + (1 - value)·δ_μ(ε) for every ε ≥ 0, if one is known.
    """

    value: Fraction
    beneath: Constant | None = None

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"δ(ε) stays above {constant_text(self.value)} for every ε, while every Gaussian curve "
            "falls to 0"
        )

    def after_sampling(self, gamma: Fraction) -> FloorTail:
        """Scale the bound."""
        return FloorTail(gamma * self.value)

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that the bound is larger, if it is."""
        return never_below(self.value, failure)

    def ceiling_past(self, failure: Fraction, tol: Fraction) -> Fraction | None:
        """Return the μ of what lies above."""
        return None if self.beneath is None else mu_past(self.beneath, self.value, failure, tol)


@dataclass(frozen=True)
class SlowDecayTail(_NotGdp):
    """δ(ε) ≥ factor · e^{-rate·ε} for every ε ≥ start: slower than every Gaussian curve.

    Attributes:
        log_factor: logarithm of the factor.
        rate: the exponential rate.
        start: where the bound begins to hold.
    """

    log_factor: Constant
    rate: Fraction
    start: Constant

    @property
    def reason(self) -> str:
        """Why."""
        exponent = "ε" if self.rate == 1 else f"{constant_text(self.rate)}·ε"
        return (
            f"for ε ≥ {constant_text(self.start)}, δ(ε) stays above a multiple of "
            f"e^(-{exponent}), while every Gaussian curve falls like e^(-ε²/(2μ²))"
        )

    def after_sampling(self, gamma: Fraction) -> SlowDecayTail:
        """Put ε ≤ ε' - log γ into the bound."""

        def log_factor() -> arb:
            return BALLS.constant(self.log_factor) + ball(1 + self.rate) * ball(gamma).log()

        return SlowDecayTail(log_factor, self.rate, eps_after(self.start, gamma))


@dataclass(frozen=True)
class SlowerTail(_NotGdp):
    """-log δ(ε) grows like a function that is small beside ε²: slower than every Gaussian curve.

    Attributes:
        form: that function, as text.
        start: where a multiple of it begins to be a bound.
    """

    form: str
    start: Constant

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"from ε = {constant_text(self.start)} on, -log δ(ε) grows like {self.form}, while "
            "that of every Gaussian curve grows like ε²"
        )

    def after_sampling(self, gamma: Fraction) -> SlowerTail:
        """The growth is the same."""
        return SlowerTail(self.form, eps_after(self.start, gamma))


@dataclass(frozen=True)
class CertainFailureTail(_NotGdp):
    """δ(0) = 1, and δ falls only afterwards: no Gaussian curve lies above it near 0."""

    # it is about ε = 0: how the tail falls was not looked at
    status = TailStatus.UNKNOWN
    mu_tail = None
    reason = "δ(0) = 1, while every Gaussian curve is below 1"
    fails_at_zero = True

    def after_sampling(self, gamma: Fraction) -> UnknownTail:
        """γ·δ(0) is below 1, and nothing else is known."""
        return UnknownTail()

    def after_failure(self, failure: Fraction) -> Obstacle:
        """δ(0) = 1 is above p + (1 - p)·δ_μ(0) for every μ."""
        return Obstacle(CERTAIN)
