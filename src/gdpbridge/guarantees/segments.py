"""From a formula δ̂(ε) to the curve it implies: checks first, then refinement.

A statement "(ε, δ̂(ε))-DP for every ε" is taken for what it says. Where δ̂ exceeds 1 it says nothing,
where it is below 0 it says δ = 0. It must not rise: a mechanism that is (ε, δ)-DP is (ε', δ)-DP for
every ε' > ε, so that a rise is a mistake in the formula; that it does not is proved before anything
else, by the formula's structure or by the sign of its derivative in ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.constants import Constant
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.expressions.domain import is_undefined
from gdpbridge.expressions.shape import shape_of
from gdpbridge.expressions.tree import Node
from gdpbridge.guarantees.falling import Passage
from gdpbridge.numeric.decide import (
    MAX_PRECISION,
    MorePrecisionError,
    certainly,
    is_below,
    with_enough_precision,
)
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    SERIES,
    Operations,
    Probability,
    ball,
    to_fraction,
)

__all__ = ["BITS", "EDGE", "TOP", "Guarantees", "Segment", "doubling"]

# everything is proved up to here, a little beyond the largest ε that can be asked for
TOP = Fraction(2**17)
BITS = 512
_MAX_CELLS = 4000
_NARROWEST = Fraction(1, 2**40)
# so near 0 a formula may be undefined, or have an infinite slope
EDGE = Fraction(1, 2**120)
_ORDERS = 6
_LEAST = Fraction(1, 2**200)
_SMALLEST_REACH = Fraction(1, 16)
# where a head ends by default, and a little more: before it precision is raised
_WANTED_REACH = Fraction(128)

Value = Callable[[Any, Operations], Any]


@dataclass(frozen=True)
class Segment:
    """One formula and where it begins to apply.

    Attributes:
        start: where it begins.
        value: gives δ̂(ε), or log δ̂(ε).
        is_log: which of the two.
        log: gives log δ̂(ε), not a number where δ̂ is below 0.
        log_complement: gives log(1 - δ̂(ε)) where the formula has it, else None.
        tree: the formula of ``value``, where there is one.
        slope: encloses the slope of ``value`` on a range, leaving out where it is cut off at 1.
        is_point: whether it holds at its start alone.
    """

    start: Constant
    value: Value
    is_log: bool
    log: Value
    log_complement: Value | None = None
    tree: Node | None = None
    slope: Callable[[arb, arb], arb] | None = None
    is_point: bool = False

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return δ̂(ε) as the measuring methods want it."""
        if ops is FLOATS:
            with np.errstate(all="ignore"):
                log = np.minimum(self.log(eps, ops) + 0 * eps, 0.0)
            return Probability.from_log(ops, log)
        log = self.log(eps, ops) + 0 * eps
        if self.log_complement is None:
            return Probability.from_log(ops, log)
        complement = self.log_complement
        return Probability(lambda: log, lambda: complement(eps, ops) + 0 * eps)

    @property
    def cap(self) -> int:
        """What ``value`` is where δ̂ = 1."""
        return 0 if self.is_log else 1

    def point(self, eps: arb) -> arb:
        """Enclose ``value`` at a point."""
        return self.value(eps, BALLS)

    def taylor(self, low: arb, high: arb, length: int) -> list[arb]:
        """Enclose the Taylor coefficients of ``value`` at every point of [low, high]."""
        # a constant formula knows nothing of the series it is given
        series = self.value(arb_series([low.union(high), 1], length), SERIES)
        if isinstance(series, arb):
            return [series, *[arb(0)] * (length - 1)]
        return [series[k] for k in range(length)]


@dataclass(frozen=True)
class Guarantees:
    """What a formula says for every ε.

    Attributes:
        segments: its parts, the first starting at 0.
        field: the argument that it came from, and
        text: its text, for errors.
        reach: what is proved of the formula holds up to here; beyond it is not used.
    """

    segments: tuple[Segment, ...]
    field: str
    text: str
    reach: Fraction = TOP

    def segment_at(self, eps: arb) -> Segment:
        """Return the part that applies at an exact point."""
        for segment in reversed(self.segments[1:]):
            if not is_below(eps, BALLS.constant(segment.start)):
                return segment
        return self.segments[0]

    def ranges(self) -> list[tuple[Segment, arb, arb]]:
        """Return the parts with exact ends of their ranges, wide enough for certain."""
        starts = [BALLS.constant(segment.start) for segment in self.segments]
        ends = [*starts[1:], ball(self.reach)]
        return [
            (segment, start.lower(), end.upper())
            for segment, start, end in zip(self.segments, starts, ends, strict=True)
        ]

    def above_one(self, eps: arb) -> arb:
        """Return a number that is positive where δ̂ ≥ 1, and negative where δ̂ < 1."""
        segment = self.segment_at(eps)
        excess = segment.point(eps) - segment.cap
        return arb(1) if certainly(excess >= 0) else excess

    def above_zero(self, eps: arb) -> arb:
        """Return a number of the sign of δ̂."""
        segment = self.segment_at(eps)
        return arb(1) if segment.is_log else segment.point(eps)

    def start(self) -> Constant | None:
        """Return where δ̂ falls below 1: 0 if it does so at once, None if it never does.

        Raises:
            UndecidedError: if it cannot be told from 1 at the end.
        """
        last = ball(self.reach)
        if with_enough_precision(BITS, lambda: not is_below(self.above_one(last))):
            return None
        return self._passage(self.above_one)

    def end(self) -> Constant | None:
        """Return where δ̂ falls to 0: 0 if it does so at once, None if that is not proved.

        A formula without an end is as good: it then cannot be told from 0 where it is 0.
        """
        if not certainly(self.above_zero(ball(self.reach)) <= 0):
            return None
        return self._passage(self.above_zero)

    def _passage(self, above: Callable[[arb], arb]) -> Constant:
        # at 0 itself the formula may be infinite, undefined, or 1 for that one point; where it
        # cannot be told from 1 that near 0, the cells next to 0 show what it does
        if certainly(above(ball(_LEAST)) > 0):
            return self._exactly(Passage(above, _LEAST, self.reach), above)
        return Fraction(0)

    def _exactly(self, found: Passage, above: Callable[[arb], arb]) -> Constant:
        """Return the start of a part, if that is where the passage is."""
        for segment in self.segments[1:]:
            at = BALLS.constant(segment.start)
            if at.is_exact() and found().overlaps(at) and certainly(above(at) <= 0):
                return segment.start
        return found

    def checked(self) -> Guarantees:
        """Prove that the formula does not rise.

        Returns:
            The same, as far as that is proved; later parts are capped by the end of earlier ones
            where rounding cannot tell.

        Raises:
            InputError: if it rises, or is undefined somewhere; with the numbers.
            UndecidedError: if neither could be proved.
        """
        undecided = "it could not be told whether the formula has a value everywhere"
        return with_enough_precision(BITS, self._checked_now, undecided)

    def _checked_now(self) -> Guarantees:
        """Prove it at the working precision."""
        with precision(working_precision(), _ORDERS):
            reach, used = TOP, 0
            for segment, low, high in self.ranges():
                used += 1
                if segment.is_point:
                    continue
                proved = _Falling(self, segment).prove(low, high)
                if certainly(proved < high):
                    reach = to_fraction(proved)
                    break
            joined = replace(self, segments=tuple(self._joined(used)), reach=reach)
            return joined.within_evaluation()

    def within_evaluation(self) -> Guarantees:
        """Stop where numbers of any size give out, as a tower of exponentials makes them do."""
        reach = self.reach
        while not _is_within_reach(self.segment_at(ball(reach)), ball(reach)):
            if reach <= _WANTED_REACH and working_precision() < MAX_PRECISION:
                raise MorePrecisionError
            reach /= 2
            if reach < _SMALLEST_REACH:
                at = ball(reach)
                raise self.undefined(self.segment_at(at), at)
        return replace(self, reach=reach)

    def undefined(self, segment: Segment, eps: arb) -> Exception:
        """Return the error for a formula without a value somewhere, if it has certainly none."""
        if segment.tree is not None and not is_undefined(segment.tree, eps):
            return MorePrecisionError()
        return InputError(
            self.field,
            self.text,
            f"a formula with a value for every eps > 0: it has none at eps = {_shown(eps)}",
        )

    def _joined(self, used: int) -> list[Segment]:
        joined = [self.segments[0]]
        for segment in self.segments[1:used]:
            before = joined[-1]
            at = BALLS.constant(segment.start)
            left, right = (_delta(one, at).min(arb(1)) for one in (before, segment))
            if certainly(left < right):
                raise self.rise(at.mid(), left, None, right)
            # nothing is said by what has no value, or is 1
            empty = before.is_point and (left.is_nan() or certainly(left >= 1))
            fits = empty or certainly(right <= left)
            joined.append(segment if fits else _capped(segment, before))
        return [segment for segment in joined if not segment.is_point]

    def rise(self, low: arb, at_low: arb, high: arb | None, at_high: arb) -> InputError:
        """Return the error for a formula that rises, by a jump if there is no upper place."""
        place = "just beyond" if high is None else f"at {_shown(high)}"
        return InputError(
            self.field,
            self.text,
            "a formula for delta that does not rise with eps: it is "
            f"{_shown(at_low)} at eps = {_shown(low)} and {_shown(at_high)} {place}",
        )


def _capped(segment: Segment, before: Segment) -> Segment:
    """Keep a part below the end of the one before it, where it is not certain to be."""

    def limit(ops: Operations, part: Callable[[Segment], Value]) -> Any:
        return ops.constant(lambda: part(before)(BALLS.constant(segment.start), BALLS))

    def log(eps: Any, ops: Operations) -> Any:
        return ops.minimum(segment.log(eps, ops), limit(ops, lambda one: one.log))

    def value(eps: Any, ops: Operations) -> Any:
        if segment.is_log:
            return log(eps, ops)
        end = ops.constant(lambda: _delta(before, BALLS.constant(segment.start)))
        return ops.minimum(segment.value(eps, ops), end)

    # for large ε the cap makes no difference: the tree tells the tail
    return Segment(
        segment.start, value, segment.is_log, log, tree=segment.tree, is_point=segment.is_point
    )


def _is_within_reach(segment: Segment, eps: arb) -> bool:
    value = segment.point(eps)
    if not value.is_finite():
        return False
    return certainly(value <= 0) or bool(segment.log(eps, BALLS).is_finite())


def _delta(segment: Segment, eps: arb) -> arb:
    value = segment.point(eps)
    return value.exp() if segment.is_log else value


def _shown(value: arb) -> str:
    return f"{float(value.mid()):.10g}"


class _Falling:
    """The proof that one part does not rise where it is between 0 and 1."""

    def __init__(self, whole: Guarantees, segment: Segment) -> None:
        self.whole, self.segment = whole, segment

    def prove(self, low: arb, high: arb) -> arb:
        """Prove it on [low, high] by bisection, or as far as that goes; return how far."""
        if self._by_shape(low, None):
            return high
        stack = doubling(low, high)
        left = low
        for _ in range(_MAX_CELLS):
            if not stack:
                return high
            left, right = stack.pop()
            if self._falls(left, right):
                continue
            self._refuse_rise(left, right)
            if left.is_zero() and certainly(right < ball(EDGE)):
                continue  # the implied profile there rests on what lies to the right
            if not left.is_zero() and certainly(right - left < ball(_NARROWEST) * right):
                break
            middle = ((left + right) / 2).mid()
            stack += [(middle, right), (left, middle)]
        if certainly(left >= 1):
            return left
        raise UndecidedError(
            f"it could not be proved that the formula does not rise near eps = {_shown(left)}"
        )

    def _by_shape(self, low: arb, high: arb | None) -> bool:
        tree = self.segment.tree
        return tree is not None and shape_of(tree, low, high).trend in (0, -1)

    def _falls(self, low: arb, high: arb) -> bool:
        if self._by_shape(low, high):
            return True
        segment = self.segment
        if segment.slope is not None and certainly(segment.slope(low, high) <= 0):
            return True
        value, slope = segment.taylor(low, high, 2)
        if certainly(value >= segment.cap) or certainly(slope <= 0):
            return True
        if not segment.is_log and certainly(value <= 0):
            return True
        middle = ((low + high) / 2).mid()
        bend = 2 * segment.taylor(low, high, 3)[2] * (low.union(high) - middle)
        if certainly(segment.taylor(middle, middle, 2)[1] + bend <= 0):
            return True
        # f' = f'(a) + f''(a) h + ... + f⁽ᵏ⁾(somewhere) h^(k-1)/(k-1)!, all of them ≤ 0
        if not low.is_zero():
            return False
        on_cell = segment.taylor(low, high, _ORDERS)
        at_low = segment.taylor(low, low, _ORDERS)
        for order in range(2, _ORDERS):
            if not certainly(at_low[order - 1] <= 0):
                return False
            if certainly(on_cell[order] <= 0):
                return True
        return False

    def _refuse_rise(self, low: arb, high: arb) -> None:
        at_low, at_high = (self._clipped(eps) for eps in (low, high))
        if certainly(at_low < at_high):
            raise self.whole.rise(low, at_low, high, at_high)

    def _clipped(self, eps: arb) -> arb:
        delta = _delta(self.segment, eps)
        if delta.is_nan() and certainly(eps > 0):
            raise self.whole.undefined(self.segment, eps)
        return delta if delta.is_nan() else delta.min(arb(1)).max(arb(0))


def doubling(low: arb, high: arb) -> list[tuple[arb, arb]]:
    """Return cells from ``low`` to ``high`` that double in width, the last one first."""
    ends = [low]
    step = (low / 4).max(arb(1)).mid()
    while certainly(ends[-1] < high):
        ends.append((ends[-1] + step).min(high).mid())
        step *= 2
    return list(reversed(list(pairwise(ends))))
