"""Rényi divergences at finitely many orders as one guarantee: its curve and its tail.

Far out there is an event with p = q·2e^ε and a small q: it obeys the bound at α = 1 + u as soon as
p·(2e^ε)^u ≤ c = e^{uε_α} - 1, as what is off the event adds at most 1. It gains p - e^ε q = p/2.
The largest u is the last one to bind, so that δ(ε) ≥ c·2^{-u-1}·e^{-uε} from some ε on: it falls no
faster than exponentially, and no finite μ covers every ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

from flint import arb

from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import SlowDecayTail
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.boundary import Bound, renyi_pieces
from gdpbridge.losses.moments import Losses, Moments
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, fraction_above

__all__ = ["divergence_of", "renyi_curve", "slow_tail"]

_BITS = 192
_DOUBLINGS = 60
# of a divergence that is no fraction, rounded up
_DIGITS = 20


@cache
def renyi_curve(bounds: tuple[Bound, ...]) -> SmoothCurve:
    """Return δ(ε) of the class of mechanisms with these divergences in both orders of the pair.

    Raises:
        UndecidedError: if the boundary of what is possible is lost.
    """
    return SmoothCurve(renyi_pieces(bounds), slow_tail(bounds))


def slow_tail(bounds: Iterable[Bound]) -> SlowDecayTail:
    """Return how it falls; the largest order is above 1.

    Raises:
        UndecidedError: if the place where the largest order takes over was not found.
    """
    bounds = tuple(bounds)
    last = max(bounds)
    start = Fraction(1)
    with precision(_BITS):
        for _ in range(_DOUBLINGS):
            if all(_possible(last, one, start) for one in bounds):
                break
            start *= 2
        else:
            raise UndecidedError("it could not be proved which order binds for large ε")
    return SlowDecayTail(
        lambda: _log_excess(last) - ball(last.tilt + 1) * arb(2).log(), last.tilt, start
    )


def _log_excess(bound: Bound) -> arb:
    """Return log of e^{uε_α} - 1."""
    return ball(bound.tilt * bound.value).expm1().log()


def _possible(last: Bound, other: Bound, eps: Fraction) -> bool:
    """Whether the event that the largest order allows is possible, at ε and at every larger one."""
    log_ratio = ball(eps) + arb(2).log()
    log_p = _log_excess(last) - ball(last.tilt) * log_ratio
    # p ≤ 1/2, and so p + q ≤ 1; p falls
    if not certainly(log_p <= -arb(2).log()):
        return False
    if other.tilt:
        # p·(2e^ε)^u falls unless u is the largest one, for which it stays at its bound
        return other == last or certainly(
            log_p + ball(other.tilt) * log_ratio <= _log_excess(other)
        )
    # D₁ ≤ p·log(p/q), which falls as soon as u·log(2e^ε) ≥ 1
    falls = certainly(ball(last.tilt) * log_ratio >= 1)
    return falls and certainly(log_p + log_ratio.log() <= ball(other.value).log())


def divergence_of(losses: Losses, tilt: Fraction) -> Fraction | None:
    """Bound D_α in both orders of a pair with these losses, α = 1 + tilt > 1.

    Returns:
        None where it is infinite.
    """
    worst = Fraction(0)
    if not losses:
        return worst
    for backward in (False, True):
        moments = Moments([part.factor(backward=backward) for part in losses])
        with precision(_BITS):
            if not certainly(moments.failure() <= 0) or not float(tilt) < moments.domain[1]:
                return None
            value = moments.bound(tilt).log() / ball(tilt)
            worst = max(worst, fraction_above(value, _DIGITS))
    return worst if math.isfinite(worst) else None
