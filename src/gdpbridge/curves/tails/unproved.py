"""Tails that are not proved: unknown, estimated, or taken on trust."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import (
    MAX_EPS,
    Constant,
    constant_text,
    exceeds,
    rational_above,
)
from gdpbridge.curves.sampling import eps_after
from gdpbridge.curves.tail import Handover, Level, Obstacle, Scope, Tail, TailStatus, Verdict
from gdpbridge.curves.tails.level import times
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import float_ceiling

__all__ = ["AssumedTail", "EstimatedTail", "PlateauTail", "UnknownTail"]

_INFINITE = Interval("Infinity", "Infinity")
# an estimate is known no closer than to that share of itself
_ESTIMATE = 1e-6


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
class UnknownTail(_Unknown):
    """Nothing is known beyond what evaluation shows."""

    reason = "nothing is known of δ(ε) for large ε, and no finite range decides"

    def after_sampling(self, gamma: Fraction) -> UnknownTail:
        """Nothing is known of it either."""
        return self


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
        return PlateauTail(eps_after(self.start, gamma), times(self.value, gamma))

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
