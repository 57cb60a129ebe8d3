"""The curve of composed privacy losses: smooth curves above and below δ, as close as asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from flint import arb

from gdpbridge.curves.base import BoundedCurve, Curve, Floats, Form, failure_above
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Formula, Piece, past
from gdpbridge.curves.points import LEAST_SHOWN, each_answered
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError, UndecidedError, Words, WorkLimitError
from gdpbridge.interval import Interval
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Line
from gdpbridge.losses.line_integral import DEFAULT_DIGITS, ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import (
    decimal_ceiling,
    decimal_floor,
    float_ceiling,
    float_floor,
    rational,
)
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import (
    FLOATS,
    Operations,
    Probability,
    ball,
    float_above,
    float_below,
    to_fraction,
)

__all__ = ["COARSE_DIGITS", "FEW_NODES", "ComposedCurve"]

# enough where the supremum is not near
COARSE_DIGITS = 5
# what most μ take, and nodes of a line that is made to all digits at once
SEEN_DIGITS, FEW_NODES = 14, 128
# log of a δ of which all those digits are less than any float beside 1 tells
_BESIDE_ONE = math.log(1e-6)
# how far past the end of a range a line goes, relative to it
_PAST_END = 1e-6
# of log δ: lines are made for twelve digits
_LINES_APART = arb(2) ** -36
# of δ, in a decimal
_SHOWN_DIGITS = 20
_NOTHING = ball(Fraction(LEAST_SHOWN))
_SPARE_BITS = 64


class ComposedCurve(BoundedCurve):
    """What lies between smooth curves above and below the larger one of both directions.

    Args:
        parts: the mechanisms and how often each is run.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
        failure: p, where it is the curve past p.
        whole: the curve that it is part of, whose lines serve it too.
    """

    form = Form.COMPOSED

    def __init__(
        self,
        parts: tuple[Part, ...],
        tail: Tail,
        end: Constant | None = None,
        failure: Fraction = Fraction(0),
        whole: ComposedCurve | None = None,
    ) -> None:
        self.parts, self.tail, self.end, self.failure = parts, tail, end, failure
        # log of a δ below which digits are those of it; then where δ is nothing, and a bound there
        self._digits, self._least = DEFAULT_DIGITS, -math.inf
        self._nothing: tuple[Fraction, arb] | None = None
        self.loss_to: Callable[..., ComposedLoss] = (
            cache(ComposedLoss(parts).to) if whole is None else whole.loss_to
        )

    @property
    def loss(self) -> ComposedLoss:
        """The loss, to the usual digits."""
        return self.loss_to(self._digits, self._least)

    @cached_property
    def beside_one(self) -> Curve:
        """The same curve, of which no digits are asked for that no float beside 1 has."""
        return self._to(DEFAULT_DIGITS, _BESIDE_ONE)

    def roughly(self, least: float) -> Curve:
        """Return the same curve to few digits, below log of a δ of that: for searches."""
        return self._to(COARSE_DIGITS, least)

    def _to(self, digits: int, least: float) -> ComposedCurve:
        found = ComposedCurve(self.parts, self.tail, self.end, self.failure, self)
        found._digits, found._least = digits, least
        return found

    @property
    def default_failure(self) -> Fraction | None:
        """Known to any ε, but not at once for every ε, unless the losses are bounded."""
        with precision(128):
            certain = max(float_above(one.moments.failure()) for one in self.loss.directions)
        if self.tail.level is not None and not certain:
            return None
        return failure_above(Fraction(max(certain, 0.0)))

    # --- values -----------------------------------------------------------------------------

    def _ends(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact bounds of δ(ε), past p; a line may go on to another ε."""
        if isinstance(self.end, Fraction) and eps >= self.end:
            return arb(0), arb(0)
        if self._nothing is not None and eps >= self._nothing[0]:
            # δ falls
            return arb(0), self._nothing[1]
        found = self._past_failure(*self.loss.delta(eps, stop))
        if certainly(found[1] < 10 ** (1 - self._digits) * math.exp(self._least)):
            self._nothing = eps, found[1]
        return found

    def _past_failure(self, low: arb, high: arb) -> tuple[arb, arb]:
        if not self.failure:
            return low, high
        with precision(256):
            p, kept = ball(self.failure), ball(1 - self.failure)
            return ((low - p) / kept).lower().max(arb(0)), ((high - p) / kept).upper().max(arb(0))

    def enclose(self, eps: arb) -> Probability:
        """Enclose δ(ε) in what lies between the curves."""
        first, last = to_fraction(eps.lower()), to_fraction(eps.upper())
        if isinstance(self.end, Fraction) and first >= self.end:
            return Probability(arb.neg_inf, lambda: arb(0))
        # δ does not rise
        low, high = self._ends(last)[0], self._ends(max(first, Fraction(0)))[1]
        return Probability(
            lambda: low.log().union(high.log()),
            lambda: _log_rest(low).union(_log_rest(high)),
        )

    def seen_at(self, eps: arb, stop: Fraction | None = None) -> Probability:
        """Look along a line in one direction: a coarse one, or one of few nodes that serves μ."""
        at = to_fraction(eps.upper())
        if isinstance(self.end, Fraction):
            if at >= self.end:
                return Probability(arb.neg_inf, lambda: arb(0))
            # a measurement goes on a little past the end
            stop = self.end + short(_PAST_END * (1 + float(self.end)))
        fine = self.loss_to(SEEN_DIGITS, self.floor).directions[0]
        with suppress(UndecidedError, WorkLimitError):
            fine.stretch(at, stop, FEW_NODES)
        low, _ = self._past_failure(
            *self.loss_to(COARSE_DIGITS, self.floor).directions[0].delta(at, stop)
        )
        return Probability(low.log, lambda: _log_rest(low))

    @property
    def floor(self) -> float:
        """Log of p, beside which δ counts."""
        return math.log(self.failure) if self.failure else -math.inf

    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return those of the upper curve."""
        flat = np.ravel(eps)
        log, rest = np.full(flat.size, -np.inf), np.zeros(flat.size)
        last = Fraction(float(flat.max())) if flat.size else Fraction(0)
        for index in np.argsort(flat, kind="stable").tolist():
            at = Fraction(float(flat[index]))
            if isinstance(self.end, Fraction) and at >= self.end:
                break
            high = self._ends(at, last)[1]
            if not certainly(high > 0):
                continue
            with precision(self.loss.directions[0].bits):
                above = float(high.log().mid())
                left = _log_rest(high)
                below = float(left.mid())
            # e to the power of them must not be on the unsafe side
            log[index] = min(above + _hair(above), 0.0)
            rest[index] = min(below - _hair(below), 0.0)
        return log.reshape(eps.shape), rest.reshape(eps.shape)

    def deltas_at(self, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Round the proved ends outward; one line serves what lies close together."""
        last = max(eps, default=Fraction(0))

        def rounded(at: Fraction) -> tuple[float, float]:
            low, high = self._ends(at, last)
            return max(float_below(low), 0.0), min(float_above(high), 1.0)

        return each_answered(rounded, "ε", eps, 1.0)

    def delta_at(self, eps: Fraction) -> Interval:
        """Round the proved ends outward to decimals."""
        if self.end is None and all(
            one.is_at_most_by_chernoff(eps, _NOTHING) for one in self.loss.directions
        ):
            # no digits of it are of use
            return Interval(0, LEAST_SHOWN)
        low, high = (to_fraction(value) for value in self._ends(eps))
        return Interval(
            max(decimal_floor(low, _SHOWN_DIGITS), Decimal(0)),
            min(decimal_ceiling(high, _SHOWN_DIGITS), Decimal(1)),
        )

    def _epsilons(self, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ; None for none."""
        if delta >= 1:
            return Fraction(0), Fraction(0)
        level = self.tail.level
        if level is not None and callable(level.start) and delta <= _rational(level.value):
            if delta < _rational(level.value):
                return None
            with precision(128):
                start = level.start()
                return to_fraction(start.lower()), to_fraction(start.upper())
        if delta == 0 and level is None:
            return None
        return self.loss.epsilon(self.failure + (1 - self.failure) * delta)

    def epsilon_at(self, delta: Fraction) -> Interval:
        """Round the proved ends outward to decimals."""
        found = self._epsilons(delta)
        if found is None:
            return Interval("Infinity", "Infinity")
        low, high = found
        return Interval(decimal_floor(low, _SHOWN_DIGITS), decimal_ceiling(high, _SHOWN_DIGITS))

    def epsilons_at(self, delta: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Round the proved ends outward."""

        def rounded(target: Fraction) -> tuple[float, float]:
            ends = self._epsilons(target)
            if ends is None:
                return math.inf, math.inf
            return float_floor(ends[0]), float_ceiling(ends[1])

        return each_answered(rounded, "δ", delta, math.inf)

    def least_epsilon(self, delta: Floats) -> Floats:
        """Take the upper one of both bounds."""
        targets = [rational(float(one)) for one in np.ravel(delta)]
        return self.epsilons_at(targets)[1].reshape(delta.shape)

    def falls_to(self, failure: Fraction) -> Constant:
        """Look along the upper curve."""
        level = self.tail.level
        if level is not None and level.value == failure:
            return level.start
        found = self._epsilons(failure)
        assert found is not None
        return found[1]

    def log_bound(self, eps: Fraction) -> float:
        """Return log of Chernoff's bound of δ(ε), and of p_∞, in floats: nothing is proved."""
        found = -math.inf
        for direction in self.loss.directions:
            if not direction.moments.domain[1] > 0:
                return 0.0
            bound = float(direction.moments.tilts.at(np.array([float(eps)])).bound[0])
            with precision(64):
                failure = max(float_above(direction.moments.failure()), 0.0)
            found = max(found, math.log(min(math.exp(bound) + failure, 1.0) or 1e-300))
        return found

    def log_delta_above(self, eps: Fraction) -> arb:
        """Take the upper curve, and as much more as another line may be above this one."""
        high = self._ends(eps)[1]
        return high.log() + _LINES_APART if certainly(high > 0) else arb.neg_inf()

    # --- curves -----------------------------------------------------------------------------

    def past(self, failure: Fraction) -> Curve:
        """Cut the curve off where it has fallen to p, or a hair further on, where it is 0."""
        level = self.tail.level
        known = level is not None and level.value == failure
        end = level.start if level is not None and known else self._fallen_to(failure)
        if end == 0:
            return zero_curve()
        return ComposedCurve(self.parts, ConstantTail(end, Fraction(0)), end, failure, self)

    def _fallen_to(self, failure: Fraction) -> Fraction:
        """Return an ε from which δ(ε) ≤ p is proved, hardly beyond the least or a little."""
        loss = self.loss_to(COARSE_DIGITS)
        ends = [direction.end_by_chernoff(failure) for direction in loss.directions]
        near = [end for end in ends if end is not None]
        if len(near) == len(ends):
            return max(near)
        found = loss.epsilon(failure)
        assert found is not None
        return found[1]

    def piecewise(self, eps: Fraction, _: int) -> SmoothCurve:
        """Return the upper curve, of the larger direction where both are close."""
        if len(self.loss.directions) > 1:
            raise InputError(
                "mechanism",
                Words("composed, with two directions"),
                "one whose privacy profile is the same in both directions",
            )
        direction = self.loss.directions[0]
        pieces = [
            Piece(stretch.start, self.upper_formula(direction, stretch.line))
            for stretch in direction.cover(Fraction(0), eps)
        ]
        return SmoothCurve(pieces, self.tail, self.end)

    def upper_formula(self, direction: Direction, line: Line) -> Formula:
        """Return the smooth function above δ that one line gives, past p."""

        def delta(eps: Any, ops: Operations) -> Probability:
            if ops is FLOATS:
                return _on_floats(delta, eps, direction.bits)

            def log() -> Any:
                return direction.upper(line, eps).log()

            def log_complement() -> Any:
                return direction.upper_complement(line, eps).log()

            return Probability(log, log_complement)

        return past(delta, self.failure) if self.failure else delta

    def chernoff_formula(self, direction: Direction, tilt: Fraction) -> Formula:
        """Return Chernoff's bound of δ at one tilt, past p; for 0 the total variation distance."""

        def delta(eps: Any, ops: Operations) -> Probability:
            if ops is FLOATS:
                return _on_floats(delta, eps, direction.bits)
            moments = direction.moments
            if tilt:
                value = moments.chernoff(tilt, eps) + moments.failure()
            else:
                value = moments.distance() + 0 * eps
            return Probability(value.log, (1 - value).log)

        return past(delta, self.failure) if self.failure else delta

    def chord_formula(self, direction: Direction, end: Fraction, rest: arb) -> Formula:
        """Return what the chord of 1 - δ from e^ε = 0 to a bound of it at an end shows, past p."""

        def delta(eps: Any, ops: Operations) -> Probability:
            if ops is FLOATS:
                return _on_floats(delta, eps, direction.bits)
            left = rest * (eps - ball(end)).exp()
            return Probability((1 - left).log, left.log)

        return past(delta, self.failure) if self.failure else delta


def _on_floats(formula: Formula, eps: Floats, bits: int) -> Probability:
    """Evaluate a formula of balls on floats, one by one."""
    from gdpbridge.numeric.kinds import BALLS

    with precision(bits):
        values = [formula(arb(float(at)), BALLS) for at in np.ravel(eps)]
        log = np.array([_float(value.log) for value in values]).reshape(np.shape(eps))
        rest = np.array([_float(value.log_complement) for value in values]).reshape(np.shape(eps))
    return Probability(lambda: log, lambda: rest)


def _log_rest(value: arb) -> arb:
    """Return log(1 - v) of an exact number, which may have more digits than the precision."""
    with precision(max(working_precision(), value.bits() + _SPARE_BITS)):
        rest = 1 - value
        return rest.log() if certainly(rest > 0) else arb.neg_inf()


def _hair(log: float) -> float:
    """How much e^log may be off in floats, relative to it."""
    return 2.0**-51 * (1 + abs(log)) if np.isfinite(log) else 0.0


def _float(value: Callable[[], arb]) -> float:
    found = value()
    return float(found.mid()) if found.is_finite() else float("nan")


def _rational(value: Constant) -> Fraction:
    assert isinstance(value, Fraction)
    return value
