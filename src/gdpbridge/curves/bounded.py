"""Curves that are known between bounds: those of composed privacy losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from gdpbridge.curves.base import DEFAULT_FAILURE, Curve, Form
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import PiecewiseCurve, SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail, FloorTail, GaussianBoundTail
from gdpbridge.errors import InputError, UndecidedError, Words
from gdpbridge.interval import Interval
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import float_ceiling, float_floor
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    Operations,
    Probability,
    ball,
    float_above,
    float_below,
)

if TYPE_CHECKING:
    from gdpbridge.losses.composition import Bounds, ComposedLoss, Resolution
    from gdpbridge.losses.moments import Losses, Part

__all__ = ["CurveBounds", "composed_loss_curve"]


# relative to μ where it is below 1: the width of intervals for μ that a plain evaluation aims at
_WIDTH = 6e-5
# in a search for an ε: how many are looked at at once, how often, and how far
_SECTIONS = 33
_NARROWINGS = 11
_LEAST_END = 1e-300
_LEAST = 5e-324
_FARTHEST = 2.0**200
# at first, to see how large μ is
_FIRST_WIDTH = 1e-2


@dataclass(frozen=True)
class CurveBounds:
    """A curve δ(ε) between bounds that come as close as asked.

    Attributes:
        directions: the composed privacy loss, of P against Q and, if it differs, of Q against P.
    """

    directions: tuple[ComposedLoss, ...]

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the loss, roughly: about the size of μ."""
        return max(loss.deviation for loss in self.directions)

    @property
    def evaluations(self) -> int:
        """How many points of the mechanisms' curves have been evaluated."""
        return sum(loss.evaluations for loss in self.directions)

    @property
    def end(self) -> float:
        """An ε that no finite loss exceeds in either direction."""
        return max(loss.largest for loss in self.directions)

    @property
    def failure(self) -> Fraction:
        """The probability of an infinite loss, the larger one of both directions."""
        return max(loss.failure for loss in self.directions)

    def first_width(self) -> float:
        """Return a coarse width, with which to see how large μ is."""
        return _FIRST_WIDTH * min(1.0, self.deviation)

    def at(self, eps: Floats) -> Bounds:
        """Bound δ(ε), as closely as an interval for μ of a relative width of 6e-5 asks."""
        points = np.ravel(eps)
        return self._both(points, self._width_for(points))

    def epsilon(self, delta: Floats) -> tuple[Floats, Floats]:
        """Bound the least ε ≥ 0 with δ(ε) ≤ δ, as closely; infinite where there is none.

        Args:
            delta: δ in [0, 1], one-dimensional.
        """
        low, high = np.zeros(delta.size), np.zeros(delta.size)
        least = float(self.failure)
        never = (delta < least) | ((delta == 0) & (self.end == np.inf))
        low[never], high[never] = np.inf, np.inf
        asked = ~never & (delta < 1)
        if asked.any():
            log_delta = np.log(np.maximum(delta[asked], _LEAST))
            end = float(self.below_from(float(log_delta.min())))
            width = self._width_for(np.array([end]))
            low[asked], high[asked] = (
                self._narrow(log_delta, end, width, high=side) for side in (False, True)
            )
        return low, high

    def _narrow(self, log_delta: Floats, end: float, width: float, *, high: bool) -> Floats:
        """Return the ε at which one of the bounds falls to δ, on the safe side."""
        first, last = np.zeros(log_delta.size), np.full(log_delta.size, end)
        shares = np.linspace(0.0, 1.0, _SECTIONS)
        for _ in range(_NARROWINGS):
            eps = first[:, None] + (last - first)[:, None] * shares
            found = self._both(eps.ravel(), width)
            logs = (found.log_high if high else found.log_low).reshape(eps.shape)
            below = logs <= log_delta[:, None]
            # the upper bound is known to be below at the end; the lower one is below before it
            index = np.where(below.any(axis=1), below.argmax(axis=1), _SECTIONS - 1)
            rows = np.arange(eps.shape[0])
            first, last = eps[rows, np.maximum(index - 1, 0)], eps[rows, index]
        return last if high else first

    def _width_for(self, eps: Floats) -> float:
        """Return a width that is small beside μ(ε, δ(ε))."""
        from gdpbridge.gaussian.kernels import mu_from_logs

        width = self.first_width()
        if eps.size == 0:
            return width
        rough = self._both(eps, width)
        mu = float(np.max(mu_from_logs(eps, rough.log_high, rough.log_rest_at_high)))
        # where δ is 0 throughout there is nothing to be close to
        return min(_WIDTH * min(1.0, mu), width) if mu > 0 else width

    def below_from(self, log_delta: float) -> Fraction:
        """Return an ε from which log δ(ε) is proved to be at most a number.

        Raises:
            UndecidedError: if no such ε was found.
        """
        width, end = self.first_width(), max(self.deviation, _LEAST_END)
        while self._both(np.array([end]), width).log_high[0] > log_delta:
            end *= 2
            if end > _FARTHEST:
                raise UndecidedError(f"no ε was found where δ(ε) falls to {np.exp(log_delta):g}")
        return Fraction(float(self._narrow(np.array([log_delta]), end, width, high=True)[0]))

    def _both(self, eps: Floats, width: float) -> Bounds:
        """Bound the larger of both directions; the second is looked at where it may be larger."""
        first, *others = self.directions
        found = first.within(width).bounds(eps)
        for other in others:
            found = found.larger(self._where_larger(other.within(width), eps, found))
        return found

    @staticmethod
    def _where_larger(direction: Resolution, eps: Floats, than: Bounds) -> Bounds:
        result = direction.rough_bounds(eps)
        wanted = ~(result.log_high < than.log_low)
        if wanted.any():
            result = result.narrowed(wanted, direction.bounds(eps[wanted]))
        return result

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return δ(ε): the upper bound on floats, what lies between the bounds on balls."""
        if ops is FLOATS:
            points = np.asarray(eps, dtype=np.float64)
            found = self.at(points)
            log, rest = found.log_high, found.log_rest_at_high
            return Probability(
                lambda: log.reshape(points.shape), lambda: rest.reshape(points.shape)
            )
        if ops is BALLS:
            found = self.at(np.array([max(float_below(eps), 0.0), float_above(eps)]))
            return Probability(
                lambda: _between(found.log_low[1], found.log_high[0]),
                lambda: _between(found.log_rest_at_high[0], found.log_rest_at_low[1]),
            )
        raise NotImplementedError("a curve known between bounds has no power series")


def _between(low: float, high: float) -> arb:
    if high == -np.inf:
        return arb.neg_inf()
    return arb(low).union(arb(high)) if low > -np.inf else arb.nan()


class LatticeCurve(PiecewiseCurve):
    """The curve of composed privacy losses: its piece is the upper bound on floats."""

    form = Form.BETWEEN
    # far out, bounds of composed losses take long; the best ε for this α is nearly as good
    least_alpha = 1e-30

    def __init__(
        self,
        bounds: CurveBounds,
        pieces: Sequence[Piece],
        tail: Tail,
        end: Constant | None = None,
    ) -> None:
        super().__init__(pieces, tail, end)
        self.bounds = bounds

    @property
    def default_failure(self) -> Fraction | None:
        """Known to any ε, but not at once for every ε, unless the losses are bounded."""
        failure = self.bounds.failure
        return None if self.tail.level is not None and not failure else DEFAULT_FAILURE + failure

    def delta_bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Read them from their logarithms."""
        found = self.bounds.at(eps)
        # the logarithm is off by its last digit, and so is what it is of by as much
        low = np.exp(found.log_low) * (1 - _off(found.log_low))
        high = np.minimum(np.exp(found.log_high) * (1 + _off(found.log_high)), 1.0)
        low = np.maximum(np.nextafter(low, -1.0), 0.0)
        high = np.minimum(np.nextafter(high, 2.0), 1.0)
        # rounding has nothing to do with what is exactly 0
        return (
            np.where(found.log_low == -np.inf, 0.0, low),
            np.where(found.log_high == -np.inf, 0.0, high),
        )

    def deltas_at(self, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Bound δ at ε as floats, rounded to either side."""
        sides = [[max(float_floor(one), 0.0), float_ceiling(one)] for one in eps]
        ends = np.array(sides, dtype=np.float64).reshape(len(eps), 2).T
        points = np.unique(ends)
        low, high = self.delta_bounds(points)
        places = np.searchsorted(points, ends)
        return low[places[1]], high[places[0]]

    def epsilons_at(self, delta: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Bound ε for δ as floats, rounded to either side."""
        sides = [[max(float_floor(one), 0.0), min(float_ceiling(one), 1.0)] for one in delta]
        ends = np.array(sides, dtype=np.float64).reshape(len(delta), 2).T
        points = np.unique(ends)
        low, high = self.bounds.epsilon(points)
        places = np.searchsorted(points, ends)
        return low[places[1]], high[places[0]]

    def delta_range(self, eps: Floats) -> tuple[Floats, Floats]:
        """The proved bounds: there are no others."""
        low, high = self.delta_bounds(np.ravel(eps))
        return low.reshape(eps.shape), high.reshape(eps.shape)

    def least_epsilon(self, delta: Floats) -> Floats:
        """Take the upper one of both bounds."""
        return self.bounds.epsilon(np.ravel(delta))[1].reshape(delta.shape)

    def delta_at(self, eps: Fraction) -> Interval:
        """Bound δ at ε as a float, rounded to either side."""
        low, high = self.deltas_at([eps])
        return Interval(Decimal(low[0]), Decimal(high[0]))

    def epsilon_at(self, delta: Fraction) -> Interval:
        """Bound ε for δ as a float, rounded to either side."""
        low, high = self.epsilons_at([delta])
        return Interval(Decimal(low[0]), Decimal(high[0]))

    def falls_to(self, failure: Fraction) -> Constant:
        """Look along the upper bound."""
        level = self.tail.level
        if level is not None and level.value == failure:
            return level.start
        with precision(128):
            return self.bounds.below_from(float_below(ball(failure).log()))

    def log_delta_above(self, eps: Fraction) -> arb:
        """Take the upper bound."""
        return arb(float(self.bounds.at(np.array([float_floor(eps)])).log_high[0]))

    def sampled(self, _: Fraction) -> Curve:
        """Refuse: the bounds are as close as an answer for μ asks, on their own scale of ε."""
        raise InputError("mechanism", Words("composed"), "sampled before it is composed")

    def piecewise(self, _: Fraction, __: int) -> SmoothCurve:
        """Refuse: there are no smooth pieces."""
        raise InputError(
            "mechanism", Words("composed"), "one whose privacy profile is known exactly"
        )

    def _past(self, pieces: list[Piece], end: Constant, _: Fraction) -> LatticeCurve:
        return LatticeCurve(self.bounds, pieces, ConstantTail(end, Fraction(0)), end)


def _off(log: Floats) -> Floats:
    """How much a number read from its logarithm may be off, relative to it."""
    return 2.0**-51 * (2 + np.where(np.isfinite(log), np.abs(log), 0.0))


def composed_loss_curve(losses: Losses) -> Curve:
    """Return the curve of mechanisms run one after the other, also adaptively.

    Args:
        losses: privacy losses and how often each is composed.
    """
    from gdpbridge.curves.composed import ComposedCurve
    from gdpbridge.losses.composition import ComposedLoss
    from gdpbridge.losses.pairs import on_lattices

    if not losses:
        return zero_curve()

    tail = _tail(losses)
    end = tail.level.start if tail.level is not None and tail.level.value == 0 else None
    if any(part.transform.tail_variance for part in losses):
        return ComposedCurve(tuple(losses), tail, end)

    # without a part whose transform decays a line would need too many nodes
    pairs = [on_lattices(part) for part in losses]
    symmetric = all(pair.step.symmetric for pair in pairs)
    directions = tuple(
        ComposedLoss([pair.directed(reverse=reverse) for pair in pairs])
        for reverse in ((False,) if symmetric else (False, True))
    )
    bounds = CurveBounds(directions)
    return LatticeCurve(bounds, (Piece(Fraction(0), bounds.formula),), tail, end)


def _tail(losses: Losses) -> Tail:
    failure = _failure(losses)

    def mu_t() -> arb:
        return _variance(losses).sqrt()

    def mu() -> arb:
        # what has losses up to B is B-DP, and so μ-GDP for μ = -2·Φ⁻¹(1/(1 + e^B))
        total = ball(
            sum((part.times * part.transform.gaussian_variance for part in losses), Fraction(0))
        )
        for part in losses:
            if not part.transform.tail_variance:
                share = 1 / (1 + _largest(part).exp())
                one = 2 * arb(2).sqrt() * (2 * share).erfcinv()
                total += part.times * one * one
        return total.sqrt()

    def largest() -> arb:
        return sum((part.times * _largest(part) for part in losses), arb(0))

    if all(not part.transform.tail_variance for part in losses):
        return ConstantTail(largest, failure)
    if failure:
        return FloorTail(failure)
    if all(0 < one.tail_variance == one.gaussian_variance for one in (p.transform for p in losses)):
        return GaussianBoundTail(mu_t)
    return GaussianBoundTail(mu, mu_t)


def _failure(losses: Losses) -> Fraction:
    """Return the probability of an infinite loss, of the direction where it is larger."""
    from gdpbridge.losses.moments import Moments

    with precision(128):
        found = [
            Moments([part.factor(backward=backward) for part in losses]).failure()
            for backward in (False, True)
        ]
        return Fraction(max(0.0, *(float_above(one) for one in found)))


def _variance(losses: Losses) -> arb:
    return ball(sum((part.times * part.transform.tail_variance for part in losses), Fraction(0)))


def _largest(part: Part) -> arb:
    """Return the greatest finite loss of either direction."""
    ends = [part.factor(backward=backward).largest() for backward in (False, True)]
    first, other = (end if end is not None else arb.pos_inf() for end in ends)
    return first.max(other)
