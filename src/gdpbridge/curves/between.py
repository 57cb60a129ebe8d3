"""Curves between two others: those of losses without a common lattice, on ever finer ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb

from gdpbridge.curves.base import BoundedCurve, Curve, Floats, Form, failure_above
from gdpbridge.curves.constants import Constant, upper_bound
from gdpbridge.curves.loss_distribution import larger_constant, loss_curve
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail, CutOffTail
from gdpbridge.errors import InputError, Words, WorkLimitError
from gdpbridge.interval import Interval
from gdpbridge.losses.brackets import between
from gdpbridge.losses.lattices import MAX_SPAN, failure_of
from gdpbridge.losses.moments import Factor, Moments
from gdpbridge.losses.transforms.base import number_ball
from gdpbridge.numeric.effort import what_is_left
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import Probability, to_fraction

__all__ = ["LEVELS", "BetweenCurve"]

# multiples of the unit that are looked at, the coarsest first; the second for single points
LEVELS = (MAX_SPAN >> 6, MAX_SPAN >> 3, MAX_SPAN)
# of what was cut off, which reaches far, and whose unit grows with the runs
_COARSER = (MAX_SPAN >> 6, MAX_SPAN >> 4, MAX_SPAN >> 2)
_USUAL = 1
# of the probability to fail, what rare sums may be left out
_BITS, _SPARE_BITS, _MOST_VARIANCE = 128, 128, 5000.0


class BetweenCurve(BoundedCurve):
    """What lies between a curve below and one above δ, each exact for a law on a lattice.

    Args:
        directions: the losses in one direction, or in both.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
        failure: p, where it is the curve past p.
        whole: what it is the curve past p of, whose laws serve both.
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
        whole: BetweenCurve | None = None,
    ) -> None:
        self._cut_from = whole
        self.directions, self.tail, self.end, self.failure = directions, tail, end, failure
        self.curves = cache(self._curves)

    def _curves(self, level: int) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
        """Return the curves below and above at a level, one for each direction."""
        if self._cut_from is not None:
            low, high = self._cut_from.curves(level)
            return tuple(_past(one, self.failure) for one in low), tuple(
                _past(one, self.failure) for one in high
            )
        points = (_COARSER if isinstance(self.tail, CutOffTail) else LEVELS)[level]
        pairs = [between(factors, points, self._spare) for factors in self.directions]
        below, above = (
            tuple(loss_curve([law]) for law in laws) for laws in zip(*pairs, strict=True)
        )
        return below, above

    @cached_property
    def _spare(self) -> Fraction:
        """A mass that is nothing beside the probability to fail, and beside 1 - δ(0)."""
        if isinstance(self.tail, CutOffTail):
            # as much again as was cut off
            return upper_bound(self.tail.value)
        with precision(_BITS):
            found = [number_ball(failure_of(factors)) for factors in self.directions]
            # what is not known to be positive leaves nothing to spare
            failing = max(to_fraction(_largest(found).lower()), Fraction(0))
        _, deviation = Moments(self.directions[0]).shape(0.0)
        # 1 - δ(0) of a Gaussian of that deviation has a quarter of these digits
        bits = math.ceil(min(deviation**2, _MOST_VARIANCE) / 2 / math.log(2))
        return failing / (1 << _SPARE_BITS + bits)

    @property
    def lower(self) -> tuple[Curve, ...]:
        """The curves below that single points are taken from, of which the largest one counts."""
        return self._usual[0]

    @property
    def upper(self) -> tuple[Curve, ...]:
        """The curves above."""
        return self._usual[1]

    @property
    def _usual(self) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
        """What lies between lattices that fit in what is left of a question's work."""
        try:
            with what_is_left("what lies between the usual lattices"):
                return self.curves(_USUAL)
        except WorkLimitError:
            return self.curves(0)

    @property
    def default_failure(self) -> Fraction | None:
        """The mass at infinity and a little more, if there is one."""
        level = self.tail.level
        if level is None or level.value == 0:
            return None
        if isinstance(self.tail, CutOffTail) and self.tail.close() is not None:
            # one μ for every ε is known, and closely
            return None
        return failure_above(upper_bound(level.value))

    # --- values -----------------------------------------------------------------------------

    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return those of the upper curves."""
        logs, complements = zip(*(curve.logs(eps) for curve in self.upper), strict=True)
        return np.max(logs, axis=0), np.min(complements, axis=0)

    def enclose(self, eps: arb) -> Probability:
        """Enclose δ(ε) in what lies between the curves."""
        low, high = (
            [curve.enclose(eps) for curve in curves] for curves in (self.lower, self.upper)
        )

        def log() -> arb:
            return _largest(one.log() for one in low).union(_largest(one.log() for one in high))

        def log_complement() -> arb:
            ends = [_largest(-one.log_complement() for one in side) for side in (low, high)]
            return -ends[0].union(ends[1])

        return Probability(log, log_complement)

    def deltas_at(self, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Take each bound from its curves."""
        low = [curve.deltas_at(eps)[0] for curve in self.lower]
        return np.max(low, axis=0), np.max(
            [curve.deltas_at(eps)[1] for curve in self.upper], axis=0
        )

    def epsilons_at(self, delta: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Take each bound from its curves."""
        low = [curve.epsilons_at(delta)[0] for curve in self.lower]
        high = [curve.epsilons_at(delta)[1] for curve in self.upper]
        return np.max(low, axis=0), np.max(high, axis=0)

    def delta_at(self, eps: Fraction) -> Interval:
        """Take each bound from its curves."""
        return Interval(
            max(curve.delta_at(eps).low for curve in self.lower),
            max(curve.delta_at(eps).high for curve in self.upper),
        )

    def epsilon_at(self, delta: Fraction) -> Interval:
        """Take each bound from its curves."""
        return Interval(
            max(curve.epsilon_at(delta).low for curve in self.lower),
            max(curve.epsilon_at(delta).high for curve in self.upper),
        )

    def least_epsilon(self, delta: Floats) -> Floats:
        """Take the upper one of all bounds."""
        return np.max([curve.least_epsilon(delta) for curve in self.upper], axis=0)

    def falls_to(self, failure: Fraction) -> Constant:
        """Look along the upper curves."""
        return larger_constant([curve.falls_to(failure) for curve in self.upper])

    def log_delta_above(self, eps: Fraction) -> arb:
        """Take the upper curves."""
        return _largest(curve.log_delta_above(eps) for curve in self.upper)

    def largest_seen(self, more: Sequence[Fraction] = (), enough: float = math.inf) -> arb:
        """Look along the lower curves."""
        return _largest(curve.largest_seen(more, enough) for curve in self.lower)

    # --- curves -----------------------------------------------------------------------------

    def past(self, failure: Fraction) -> Curve:
        """Cut both curves off where they fall to p."""
        end = self.falls_to(failure)
        if end == 0:
            return zero_curve()
        tail = ConstantTail(end, Fraction(0))
        return BetweenCurve(self.directions, tail, end, failure, self)

    def piecewise(self, _: Fraction, __: int) -> SmoothCurve:
        """Refuse: there are no smooth pieces."""
        raise InputError(
            "mechanism", Words("composed"), "one whose privacy profile is known exactly"
        )


def _largest(values: Iterable[arb]) -> arb:
    first, *others = values
    for other in others:
        first = first.max(other)
    return first


def _past(curve: Curve, failure: Fraction) -> Curve:
    if not failure:
        return curve
    return curve.past(failure) if curve.tail.after_failure(failure) is None else curve
