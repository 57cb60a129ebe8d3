"""Curves between two others: those of losses without a common lattice, on ever finer ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from flint import arb

from gdpbridge.curves.base import DEFAULT_FAILURE, BoundedCurve, Curve, Floats, Form
from gdpbridge.curves.constants import Constant, upper_bound
from gdpbridge.curves.loss_distribution import loss_curve
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError, Words
from gdpbridge.interval import Interval
from gdpbridge.losses.lattices import MAX_SPAN, between
from gdpbridge.losses.moments import Factor
from gdpbridge.numeric.kinds import Probability

__all__ = ["LEVELS", "BetweenCurve"]

# multiples of the unit that are looked at, the coarsest first; the second for single points
LEVELS = (MAX_SPAN >> 6, MAX_SPAN >> 3, MAX_SPAN)
_USUAL = 1


class BetweenCurve(BoundedCurve):
    """What lies between a curve below and one above δ, each exact for a law on a lattice.

    Args:
        directions: the losses in one direction, or in both.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
        failure: p, where it is the curve past p.
    """

    form = Form.BETWEEN
    # how often both curves can be had, closer each time
    levels = len(LEVELS)

    def __init__(
        self,
        directions: Sequence[Sequence[Factor]],
        tail: Tail,
        end: Constant | None = None,
        failure: Fraction = Fraction(0),
    ) -> None:
        self.directions, self.tail, self.end, self.failure = directions, tail, end, failure
        self.curves = cache(self._curves)

    def _curves(self, level: int) -> tuple[Curve, Curve]:
        """Return the curves below and above at a level."""
        pairs = [between(factors, LEVELS[level]) for factors in self.directions]
        low, high = (loss_curve(laws) for laws in zip(*pairs, strict=True))
        if not self.failure:
            return low, high
        return _past(low, self.failure), _past(high, self.failure)

    @property
    def lower(self) -> Curve:
        """The curve below that single points are taken from."""
        return self.curves(_USUAL)[0]

    @property
    def upper(self) -> Curve:
        """The curve above."""
        return self.curves(_USUAL)[1]

    @property
    def default_failure(self) -> Fraction | None:
        """The mass at infinity and a little more, if there is one."""
        level = self.tail.level
        if level is None or level.value == 0:
            return None
        return DEFAULT_FAILURE + upper_bound(level.value)

    # --- values -----------------------------------------------------------------------------

    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return those of the upper curve."""
        return self.upper.logs(eps)

    def enclose(self, eps: arb) -> Probability:
        """Enclose δ(ε) in what lies between the curves."""
        low, high = self.lower.enclose(eps), self.upper.enclose(eps)
        return Probability(
            lambda: low.log().union(high.log()),
            lambda: low.log_complement().union(high.log_complement()),
        )

    def deltas_at(self, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Take each bound from its curve."""
        return self.lower.deltas_at(eps)[0], self.upper.deltas_at(eps)[1]

    def epsilons_at(self, delta: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Take each bound from its curve."""
        return self.lower.epsilons_at(delta)[0], self.upper.epsilons_at(delta)[1]

    def delta_at(self, eps: Fraction) -> Interval:
        """Take each bound from its curve."""
        return Interval(self.lower.delta_at(eps).low, self.upper.delta_at(eps).high)

    def epsilon_at(self, delta: Fraction) -> Interval:
        """Take each bound from its curve."""
        return Interval(self.lower.epsilon_at(delta).low, self.upper.epsilon_at(delta).high)

    def least_epsilon(self, delta: Floats) -> Floats:
        """Take the upper one of both bounds."""
        return self.upper.least_epsilon(delta)

    def falls_to(self, failure: Fraction) -> Constant:
        """Look along the upper curve."""
        return self.upper.falls_to(failure)

    def log_delta_above(self, eps: Fraction) -> arb:
        """Take the upper curve."""
        return self.upper.log_delta_above(eps)

    def largest_seen(self, more: Sequence[Fraction] = (), enough: float = math.inf) -> arb:
        """Look along the lower curve."""
        return self.lower.largest_seen(more, enough)

    # --- curves -----------------------------------------------------------------------------

    def past(self, failure: Fraction) -> Curve:
        """Cut both curves off where they fall to p."""
        end = self.falls_to(failure)
        if end == 0:
            return zero_curve()
        tail = ConstantTail(end, Fraction(0))
        return BetweenCurve(self.directions, tail, end, failure)

    def piecewise(self, _: Fraction, __: int) -> SmoothCurve:
        """Refuse: there are no smooth pieces."""
        raise InputError(
            "mechanism", Words("composed"), "one whose privacy profile is known exactly"
        )


def _past(curve: Curve, failure: Fraction) -> Curve:
    return curve.past(failure) if curve.tail.after_failure(failure) is None else curve
