"""Tails that fall at least as fast as some Gaussian curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import (
    Constant,
    constant_text,
    exceeds,
    interval_around,
    logarithm,
)
from gdpbridge.curves.handover import decay_handover
from gdpbridge.curves.sampling import eps_after, eps_before
from gdpbridge.curves.tail import Handover, Level, Obstacle, Tail, TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import digits_of
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = [
    "CoarseDecayTail",
    "CutOffTail",
    "GaussianBoundTail",
    "GaussianCurveTail",
    "GaussianDecayTail",
    "NearGaussianTail",
    "TouchingTail",
]

_BY_TAIL = "the supremum is the tail parameter μ_t, approached as ε grows"
_AT_ZERO = "the supremum is at ε = 0, where δ is that of the Gaussian curve"
_NEARLY = (
    "the lower end is the tail parameter μ_t, and the upper end covers what losses have of steps"
)
_BETWEEN = "it lies between the tail parameter and what the mechanisms' own μ's compose to"


class _Gdp(Tail):
    """Proved to be below some Gaussian curve: it falls to any failure probability."""

    verdict = Verdict.GDP
    status = TailStatus.PROVED

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing: it falls to 0."""
        return None


@dataclass(frozen=True)
class GaussianDecayTail(_Gdp):
    """log δ(ε) ≤ log_factor + linear·ε - ε²/(2 mu_t²) for every ε ≥ start.

    It is an upper bound, but μ_t is exact: no smaller one would do, whatever the factor.

    Attributes:
        log_factor: log B.
        mu_t: the tail parameter, positive.
        start: where the bound begins to hold.
        linear: the factor κ of ε, at most 1/2.
    """

    log_factor: Constant
    mu_t: Constant
    start: Constant
    linear: Constant = Fraction(0)

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"log δ(ε) falls like -ε²/(2·μ_t²) with μ_t = {constant_text(self.mu_t)} from "
            f"ε = {constant_text(self.start)} on, as fast as the Gaussian curve with that μ"
        )

    @property
    def mu_tail(self) -> Interval:
        """Around the parameter."""
        return interval_around(self.mu_t)

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Search for it; see :func:`decay_handover`."""
        end, low, high = decay_handover(
            self.log_factor, self.mu_t, self.start, self.linear, largest=largest, tol=tol
        )
        return _by_form(end, low, high)

    def after_sampling(self, gamma: Fraction) -> GaussianDecayTail:
        """Put ε ≥ ε' + s into the bound, where s is what ε - ε' is at ε' = 1: it only grows."""

        def shift() -> arb:
            return arb(eps_before(arb(1), gamma, BALLS) - 1)

        def log_factor() -> arb:
            s, mu_t = shift(), BALLS.constant(self.mu_t)
            given = BALLS.constant(self.log_factor) + ball(gamma).log()
            return given + BALLS.constant(self.linear) * s - s * s / (2 * mu_t * mu_t)

        def linear() -> arb:
            return BALLS.constant(self.linear) - shift() / BALLS.constant(self.mu_t) ** 2

        def start() -> arb:
            # the given bound must fall from here on
            falling = BALLS.constant(self.linear) * BALLS.constant(self.mu_t) ** 2
            return BALLS.constant(eps_after(self.start, gamma)).max(falling).max(arb(1))

        return GaussianDecayTail(log_factor, self.mu_t, start, linear)


@dataclass(frozen=True)
class CoarseDecayTail(_Gdp):
    """log δ(ε) ≤ log_factor - ε²/(2 width²) for every ε ≥ start, with a width of at least μ_t.

    Attributes:
        log_factor: logarithm of the factor.
        width: the parameter of the bound.
        start: where the bound begins to hold.
        mu_t: an interval that holds the tail parameter, 0 for what falls faster.
    """

    log_factor: Constant
    width: Fraction
    start: Constant
    mu_t: Interval

    @property
    def mu_tail(self) -> Interval:
        """The interval."""
        return self.mu_t

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"from ε = {constant_text(self.start)} on, -log δ(ε) grows at least like a multiple of "
            "ε², as the Gaussian curves do"
        )

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Search for it; the bound says nothing of the least μ."""
        end, _, high = decay_handover(
            self.log_factor, self.width, self.start, Fraction(0), largest=largest, tol=tol
        )
        return _by_form(end, Fraction(0), high)

    def after_sampling(self, gamma: Fraction) -> CoarseDecayTail:
        """Scale the factor: ε' ≤ ε."""
        factor, log_gamma = self.log_factor, logarithm(gamma)

        def log_factor() -> arb:
            return BALLS.constant(factor) + BALLS.constant(log_gamma)

        return CoarseDecayTail(log_factor, self.width, eps_after(self.start, gamma), self.mu_t)


def _by_form(end: Fraction, low: Fraction, high: Fraction) -> Handover:
    note = f"beyond ε = {float(end):.6g} the tail is proved by its declared form"
    return Handover(end, low, high, math.inf, note, in_proof=True)


@dataclass(frozen=True)
class GaussianCurveTail(_Gdp):
    """δ(ε) = δ_μ(ε) for every ε ≥ 0: the profile is a Gaussian curve.

    Attributes:
        mu: its parameter, possibly 0.
    """

    mu: Constant

    @property
    def reason(self) -> str:
        """Why."""
        return f"the privacy profile is the Gaussian curve with μ = {constant_text(self.mu)}"

    @property
    def mu_tail(self) -> Interval:
        """Around the parameter."""
        return interval_around(self.mu)

    @property
    def gaussian_mu(self) -> Constant:
        """The parameter."""
        return self.mu

    def ceiling(self, tol: Fraction) -> Fraction:
        """Return the parameter, rounded up."""
        return Fraction(interval_around(self.mu, digits_of(tol) + 25).high)

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Everywhere, by the parameter and by nothing less."""
        note = "G(ε) = μ for every ε: the profile is a Gaussian curve"
        return Handover(Fraction(0), *_ends(self.mu, self.mu, tol), note=note)

    def after_sampling(self, gamma: Fraction) -> GaussianBoundTail:
        """δ_μ falls: γ·δ_μ(ε) ≤ δ_μ(ε'), and log γ is nothing beside ε²."""
        return GaussianBoundTail(self.mu)


@dataclass(frozen=True)
class GaussianBoundTail(_Gdp):
    """δ(ε) ≤ δ_μ(ε) for every ε ≥ 0; where μ_t = μ, the least μ for the whole range is this one.

    Attributes:
        mu: the parameter of the bound, positive.
        mu_t: the tail parameter, where it is smaller than μ; else None.
    """

    mu: Constant
    mu_t: Constant | None = None

    @property
    def reason(self) -> str:
        """Why."""
        bound = f"δ(ε) stays below the Gaussian curve with μ = {constant_text(self.mu)}, and falls"
        if self.mu_t is None:
            return f"{bound} as slowly in the limit"
        return f"{bound} as slowly as the one with μ = {constant_text(self.mu_t)} in the limit"

    @property
    def mu_tail(self) -> Interval:
        """Around the tail parameter."""
        return interval_around(self._limit)

    @property
    def _limit(self) -> Constant:
        return self.mu if self.mu_t is None else self.mu_t

    def ceiling(self, tol: Fraction) -> Fraction:
        """Return the parameter, rounded up."""
        return Fraction(interval_around(self.mu, digits_of(tol) + 25).high)

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Everywhere, by the bound; nothing below the tail parameter will do."""
        low, high = _ends(self._limit, self.mu, tol)
        note = _BY_TAIL if self.mu_t is None else _BETWEEN
        return Handover(Fraction(0), low, high, math.inf, note, is_proved=self.mu_t is None)

    def after_sampling(self, gamma: Fraction) -> GaussianBoundTail:
        """As for a Gaussian curve; the limit is the same too."""
        return self


@dataclass(frozen=True)
class NearGaussianTail(GaussianBoundTail):
    """The same where δ is so near to the Gaussian curve with μ_t that this is all of the proof."""

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"δ(ε) is nearly that of the Gaussian curve with μ = {constant_text(self._limit)}, and "
            "falls as slowly in the limit"
        )

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Everywhere, by the bound; nothing below the tail parameter will do."""
        low, high = _ends(self._limit, self.mu, tol)
        return Handover(Fraction(0), low, high, math.inf, _NEARLY, is_sharp=False)


@dataclass(frozen=True)
class CutOffTail(GaussianBoundTail):
    """The same of a curve with no losses beyond an ε: their probability counts as a failure.

    Attributes:
        last: where what is known of δ becomes constant, though δ falls.
        value: what it then is, positive.
        close: gives a μ that is hardly above μ_t and proved to cover every ε, or None.
    """

    last: Constant = Fraction(0)
    value: Constant = Fraction(1)
    close: Callable[[], Fraction | None] = lambda: None

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Everywhere, by the bound, or closely where that is known."""
        covering = self.close()
        if covering is None:
            return super().covered_from(largest, tol)
        return NearGaussianTail(covering, self._limit).covered_from(largest, tol)

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that nothing is known below the rest."""
        if not exceeds(self.value, failure):
            return None
        words = f"at least {constant_text(self.value)}: rarer losses are not looked at"
        return Obstacle(words, is_proved=False)

    @property
    def level(self) -> Level:
        """What is left."""
        return Level(self.last, self.value)


@dataclass(frozen=True)
class TouchingTail(_Gdp):
    """δ(ε) ≤ δ_μ(ε) for every ε ≥ 0, with δ(0) = δ_μ(0): μ is the least one for the whole range.

    Attributes:
        mu: the parameter of the bound, positive.
        decay: how δ falls, for its own μ_t ≤ μ.
    """

    mu: Constant
    decay: GaussianDecayTail

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"δ(ε) stays below the Gaussian curve with μ = {constant_text(self.mu)}, and "
            f"{self.decay.reason}"
        )

    @property
    def mu_tail(self) -> Interval:
        """That of the decay."""
        return self.decay.mu_tail

    def ceiling(self, tol: Fraction) -> Fraction:
        """Return the parameter, rounded up."""
        return Fraction(interval_around(self.mu, digits_of(tol) + 25).high)

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Everywhere, by the bound; nothing less will do at 0."""
        return Handover(Fraction(0), *_ends(self.mu, self.mu, tol), note=_AT_ZERO)

    def after_sampling(self, gamma: Fraction) -> GaussianDecayTail:
        """Return what the decay says: γ·δ(0) is below δ_μ(0)."""
        return self.decay.after_sampling(gamma)


def _ends(low: Constant, high: Constant, tol: Fraction) -> tuple[Fraction, Fraction]:
    digits = digits_of(tol) + 8
    return Fraction(interval_around(low, digits).low), Fraction(interval_around(high, digits).high)
