"""The tail of a curve that is evaluated up to a rest, of which more is proved otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise

from flint import arb

from gdpbridge.curves.constants import constant_text, upper_bound
from gdpbridge.curves.handover import decay_handover
from gdpbridge.curves.tail import (
    Handover,
    Level,
    Obstacle,
    Scope,
    Tail,
    TailStatus,
    Verdict,
)
from gdpbridge.curves.tails.gaussian import CoarseDecayTail
from gdpbridge.curves.tails.level import ConstantTail
from gdpbridge.curves.tails.unproved import PlateauTail
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_floor, decimal_text, digits_of
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball, fraction_above, to_fraction

__all__ = ["RunsTail", "SettledTail", "covering_mu", "runs_of", "settled_runs"]

_BITS = 192
_DIGITS = 12
# of δ_μ where the losses end, what a rest may be that is not seen in μ
_UNSEEN = arb(2) ** -60
# of the search for a μ: the first one, the growth from one to the next, how many, and how often
# what lies between the last two is halved; steps of ε
_FIRST, _GROWTH, _MOST, _HALVINGS, _STEPS = Fraction(1, 16), Fraction(9, 8), 120, 5, 128


@dataclass(frozen=True)
class SettledTail(Tail):
    """What evaluation says ends with a plateau; another proof decides.

    Attributes:
        plateau: what evaluation says.
        beyond: what else is proved of δ.
        above: a μ with δ ≤ δ_μ everywhere, where δ falls to 0 but the rest hides how.
    """

    plateau: PlateauTail
    beyond: Tail
    above: Callable[[], Fraction] | None = None

    @property
    def verdict(self) -> Verdict:
        """As is proved."""
        return self.beyond.verdict

    @property
    def reason(self) -> str:
        """Why."""
        return self.beyond.reason

    @property
    def mu_tail(self) -> Interval | None:
        """As is proved."""
        return self.beyond.mu_tail

    @property
    def status(self) -> TailStatus:
        """It is proved."""
        return self.beyond.status

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """Return where the losses end if the rest is not seen there; else μ may be loose."""
        if self.verdict is not Verdict.GDP:
            return None
        with precision(_BITS):
            mu = largest()
            if isinstance(self.beyond, ConstantTail):
                end = upper_bound(self.beyond.start)
                rest = BALLS.constant(self.plateau.value).log()
                if certainly(rest < gaussian.log_delta_tail_lower(ball(end), mu) + _UNSEEN.log()):
                    return Handover(end)
            known = self.mu_tail
            low = max(to_fraction(mu.lower()), Fraction(0 if known is None else known.low))
            low = Fraction(decimal_floor(low, digits_of(tol) + 2))
        if self.above is None:
            return None
        note = "what is rarer than all that was integrated leaves μ between bounds"
        high = self.above()
        # of runs, what is evaluated is a bound, and may be above that
        return Handover(Fraction(0), min(low, high), high, math.inf, note, is_sharp=False)

    def after_sampling(self, gamma: Fraction) -> SettledTail:
        """The rest is scaled; γ·δ_μ(ε) ≤ δ_μ(ε')."""
        plateau, beyond = (one.after_sampling(gamma) for one in (self.plateau, self.beyond))
        assert isinstance(plateau, PlateauTail)
        return SettledTail(plateau, beyond, self.above)

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return that nothing is known below the last guarantee."""
        return self.plateau.after_failure(failure)

    @property
    def level(self) -> Level:
        """The last guarantee."""
        return self.plateau.level

    def default_scope(self) -> Scope | None:
        """Up to the last guarantee."""
        return self.plateau.default_scope()


@dataclass(frozen=True)
class RunsTail(Tail):
    """Runs of which each has δ(ε) ≤ δ_μ(ε) for every ε ≥ 0: all are √k·μ-GDP together.

    Attributes:
        mu: the parameter of each.
        times: how many they are.
        least: what the tail parameter of one is at least, and so that of all.

    Source: Dong, Roth and Su (2022), corollary 3.3.
    """

    mu: Callable[[], Fraction]
    times: int
    least: Decimal

    verdict = Verdict.GDP
    status = TailStatus.PROVED

    def of_all(self) -> Fraction:
        """Return √k·μ, rounded up."""
        with precision(_BITS):
            return fraction_above(ball(Fraction(self.times)).sqrt() * ball(self.mu()), _DIGITS)

    @property
    def reason(self) -> str:
        """Why."""
        return f"each of {self.times} runs is μ-GDP with μ = {constant_text(self.mu())}"

    @property
    def mu_tail(self) -> Interval:
        """At most that of all."""
        return Interval(self.least, decimal_text(self.of_all()))

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """Everywhere by that μ, of which nothing says that it is the least."""
        return Handover(Fraction(0), Fraction(0), self.of_all(), math.inf, is_sharp=False)

    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Nothing: it falls to 0."""
        return None

    def after_sampling(self, gamma: Fraction) -> RunsTail:
        """The same: δ is γ times as large, on a scale of ε that hardly differs far out."""
        return self


def runs_of(one: Tail, times: int) -> RunsTail | None:
    """Return what a μ of one run says of several; None where no μ of one is known.

    Args:
        one: the tail of one run.
        times: how many runs.
    """
    above: Callable[[], Fraction] | None = None
    if isinstance(one, SettledTail):
        above = one.above
    elif isinstance(one, ConstantTail) and one.verdict is Verdict.GDP:
        above = partial(_mu_of_bounded, one)
    if above is None:
        return None
    known = one.mu_tail
    return RunsTail(cache(above), times, Decimal(0) if known is None else known.low)


def settled_runs(
    one: Tail, times: int, beyond: Tail | None = None
) -> Callable[[PlateauTail, Callable[[arb], arb]], Tail]:
    """Return what adds to the tail of runs what is known of that of one of them.

    Args:
        one: the tail of one run.
        times: how many runs.
        beyond: how δ of all of them falls, if that is known.
    """

    def settled(plateau: PlateauTail, _: Callable[[arb], arb]) -> Tail:
        runs = runs_of(one, times)
        last = one.beyond if isinstance(one, SettledTail) else one
        if runs is None:
            # what one run gives away, all of them do
            known = isinstance(one, SettledTail) and one.verdict is not Verdict.GDP
            return SettledTail(plateau, last) if known else plateau
        found = beyond
        if found is None and isinstance(last, ConstantTail):
            start = last.start
            found = ConstantTail(lambda: times * BALLS.constant(start), Fraction(0))
        return SettledTail(plateau, found or runs, runs.of_all)

    return settled


def _mu_of_bounded(one: ConstantTail) -> Fraction:
    """Return a μ of losses that are bounded, as pure DP."""
    with precision(_BITS):
        variance = gaussian.variance_of_pure_dp(BALLS.constant(one.start))
        return fraction_above(variance.sqrt(), _DIGITS)


def covering_mu(delta: Callable[[arb], arb], beyond: Tail) -> Fraction:
    """Return a μ with δ ≤ δ_μ everywhere, a little above what a curve up to a rest allows.

    Args:
        delta: encloses δ at an exact ε.
        beyond: a tail of bounded losses or with a decay.

    Raises:
        UndecidedError: if none is found.
    """
    if isinstance(beyond, ConstantTail):
        return _mu_of_bounded(beyond)
    assert isinstance(beyond, CoarseDecayTail)

    def tried(mu: Fraction) -> tuple[Fraction, bool]:
        """Return the μ that the decay allows, which may be more, and whether it is one."""
        end, _, found = decay_handover(
            beyond.log_factor,
            beyond.width,
            beyond.start,
            Fraction(0),
            largest=partial(_exactly, mu),
            tol=Fraction(1, 1000),
        )
        return found, _covers(delta, ball(found).upper(), ball(end))

    low = mu = _FIRST
    for _ in range(_MOST):
        high, covers = tried(mu)
        if covers:
            break
        low = max(mu, high)
        mu = low * _GROWTH
    else:
        raise UndecidedError("no μ was found that covers the whole range")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found, covers = tried(middle)
        low, high = (low, min(found, high)) if covers else (middle, high)
    return fraction_above(ball(high), _DIGITS)


def _exactly(mu: Fraction) -> arb:
    return ball(mu).upper()


def _covers(delta: Callable[[arb], arb], mu: arb, end: arb) -> bool:
    """Whether δ_μ is above δ up to an ε, as δ at the left of each step is below it at the right."""
    with precision(_BITS):
        places = [(end * step / _STEPS).upper() for step in range(_STEPS + 1)]
        return all(
            certainly(delta(left) <= gaussian.probability(right, mu).log().exp())
            for left, right in pairwise(places)
        )
