"""What profiles declare about δ(ε) as ε grows: one class for each case of the tail analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import (
    MAX_EPS,
    Constant,
    constant_text,
    exceeds,
    interval_around,
    logarithm,
    rational_above,
    upper_bound,
)
from gdpbridge.curves.handover import decay_handover
from gdpbridge.curves.sampling import eps_after, eps_before
from gdpbridge.curves.tail import Handover, Level, Obstacle, Scope, Tail, TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import digits_of, float_ceiling
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = [
    "AssumedTail",
    "CertainFailureTail",
    "CoarseDecayTail",
    "ConstantTail",
    "EstimatedTail",
    "FloorTail",
    "GaussianBoundTail",
    "GaussianCurveTail",
    "GaussianDecayTail",
    "PlateauTail",
    "SlowDecayTail",
    "SlowerTail",
    "UnknownTail",
]

_INFINITE = Interval("Infinity", "Infinity")
# an estimate is known no closer than to that share of itself
_ESTIMATE = 1e-6
_BY_TAIL = "the supremum is the tail parameter μ_t, approached as ε grows"
_BETWEEN = "it lies between the tail parameter and what the mechanisms' own μ's compose to"
CERTAIN = "δ(0) = 1, while every Gaussian curve is below 1 there: no finite μ will do"


class _Gdp(Tail):
    """Proved to be below some Gaussian curve: it falls to any failure probability."""

    verdict = Verdict.GDP
    status = TailStatus.PROVED

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing: it falls to 0."""
        return None


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


class _Unknown(Tail):
    """Nothing that decides is known."""

    verdict = Verdict.UNKNOWN
    status = TailStatus.UNKNOWN

    @property
    def mu_tail(self) -> Interval | None:
        """It is unknown."""
        return None

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """No such μ is known."""
        return None

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing is known to."""
        return None


@dataclass(frozen=True)
class ConstantTail(Tail):
    """δ(ε) = value for every ε ≥ start: bounded losses where value is 0, a mass at infinity else.

    Attributes:
        start: where the constant part begins.
        value: the constant, in [0, 1]; 0 as a fraction.
    """

    start: Constant
    value: Constant

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
        return ConstantTail(eps_after(self.start, gamma), _times(self.value, gamma))

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that the constant is larger, if it is."""
        return _never_below(self.value, failure)

    @property
    def level(self) -> Level:
        """The constant."""
        return Level(self.start, self.value)

    def default_scope(self) -> Scope:
        """Fail with the mass at infinity."""
        return Scope() if self.value == 0 else Scope(failure=rational_above(self.value))


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


def _ends(low: Constant, high: Constant, tol: Fraction) -> tuple[Fraction, Fraction]:
    digits = digits_of(tol) + 8
    return Fraction(interval_around(low, digits).low), Fraction(interval_around(high, digits).high)


@dataclass(frozen=True)
class FloorTail(_NotGdp):
    """δ(ε) ≥ value for every ε ≥ 0, while every Gaussian curve falls to 0.

    Attributes:
        value: the bound, positive.
    """

    value: Fraction

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
        return _never_below(self.value, failure)


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


@dataclass(frozen=True)
class EstimatedTail(_Unknown):
    """μ_t is known without proof, by a limit that a computer algebra system found.

    Attributes:
        mu_t: the estimate, possibly infinite.
        source: what it comes from, as words that follow "by".
    """

    status = TailStatus.ESTIMATED
    mu_t: float
    source: str

    @property
    def reason(self) -> str:
        """Why."""
        return f"the tail is not proved; μ_t is estimated by {self.source}"

    @property
    def mu_tail(self) -> Interval:
        """No more than a float64 estimate says."""
        return Interval(self.mu_t * (1 - _ESTIMATE), self.mu_t * (1 + _ESTIMATE))

    def after_sampling(self, gamma: Fraction) -> EstimatedTail:
        """The limit is the same."""
        return self


@dataclass(frozen=True)
class AssumedTail(Tail):
    """δ(ε) ≤ δ_μ(ε) for every ε ≥ start because the user says so; or, without μ, no such μ exists.

    Attributes:
        mu: the parameter of the bound, or None.
        start: where it is said to begin to hold.
        text: the words that the user gave.
    """

    status = TailStatus.ESTIMATED
    mu: Fraction | None
    start: Fraction
    text: str

    @property
    def verdict(self) -> Verdict:
        """As the user says."""
        return Verdict.NOT_GDP if self.mu is None else Verdict.GDP

    @property
    def reason(self) -> str:
        """What is assumed."""
        if self.mu is None:
            told = "the tail is slower than every Gaussian curve"
        else:
            told = (
                f"δ(ε) ≤ δ_μ(ε) with μ = {constant_text(self.mu)} for every "
                f"ε ≥ {constant_text(self.start)}"
            )
        return f"assumed, not proved: {told} ({self.text})"

    @property
    def mu_tail(self) -> Interval:
        """At most the parameter; what rests on it is not proved."""
        return _INFINITE if self.mu is None else Interval(0, float_ceiling(self.mu))

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """Return where the user's words take over."""
        if self.mu is None:
            return None
        note = f"beyond ε = {float(self.start):g} the tail is assumed, not proved"
        return Handover(self.start, high=self.mu, note=note, is_proved=False)

    def after_sampling(self, gamma: Fraction) -> AssumedTail:
        """γ·δ_μ(ε) ≤ δ_μ(ε')."""
        return self

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing is said to."""
        return None


@dataclass(frozen=True)
class PlateauTail(_Unknown):
    """δ(ε) ≤ value for every ε ≥ start, and nothing more is known: the end of a finite table.

    Attributes:
        start: where the last guarantee is.
        value: what it guarantees, positive.
    """

    start: Constant
    value: Constant

    @property
    def reason(self) -> str:
        """Why."""
        return (
            f"the last guarantee is δ ≤ {constant_text(self.value)} at "
            f"ε = {constant_text(self.start)}, and how δ(ε) falls beyond it is not known"
        )

    def after_sampling(self, gamma: Fraction) -> PlateauTail:
        """Scale the guarantee."""
        return PlateauTail(eps_after(self.start, gamma), _times(self.value, gamma))

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that nothing is known below the last guarantee."""
        if not exceeds(self.value, failure):
            return None
        words = f"at least {constant_text(self.value)}: nothing is known below it"
        return Obstacle(words, is_proved=False)

    @property
    def level(self) -> Level:
        """The last guarantee."""
        return Level(self.start, self.value)

    def default_scope(self) -> Scope | None:
        """Up to the last guarantee."""
        last = min(rational_above(self.start), Fraction(MAX_EPS))
        return Scope(eps_h=last) if last else None


@dataclass(frozen=True)
class UnknownTail(_Unknown):
    """Nothing is known beyond what evaluation shows."""

    reason = "nothing is known of δ(ε) for large ε, and no finite range decides"

    def after_sampling(self, gamma: Fraction) -> UnknownTail:
        """Nothing is known of it either."""
        return self


def _times(value: Constant, gamma: Fraction) -> Constant:
    if isinstance(value, Fraction):
        return gamma * value
    return lambda: ball(gamma) * value()


def _never_below(value: Constant, failure: Fraction) -> Obstacle | None:
    if not exceeds(value, failure):
        return None
    least = constant_text(value)
    return Obstacle(f"δ(ε) never falls below {least}, more than the failure probability")
