"""What guarantees (ε, δ̂(ε)) for every ε imply: refinement of a profile of any shape.

Each pair (s, δ̂(s)) also bounds δ at every ε ≤ s: by the exact partial order (Liu, Sun, Jiang and
Kong 2022) 1 - δ(ε) ≥ (1 + e^ε)·h(s) with h(s) = (1 - δ̂(s))/(1 + e^s). So the implied profile is
δ(ε) = 1 - (1 + e^ε)·H(ε), H(ε) = sup{h(s): s ≥ ε}. H is found from right to left: it follows h
where h falls and nothing later is larger, and is constant up to a local maximum of h elsewhere.

N(ε) = -δ̂'(ε)(1 + e^{-ε}) - (1 - δ̂(ε)) has the sign of h'. It is proved on cells; between two cells
of different signs there is a turn. Where even narrow cells do not tell, no curve is claimed. Of
δ̂(ε) = a - b·e^ε, with numbers a and b, N is a number: h goes one way, and H is between h at the
ends, whichever way that is. Randomized response has N = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.errors import UndecidedError
from gdpbridge.expressions.lines import is_line
from gdpbridge.guarantees.falling import Passage
from gdpbridge.guarantees.refine import line_to
from gdpbridge.guarantees.segments import BITS, EDGE, Guarantees, Segment, doubling
from gdpbridge.numeric.decide import MorePrecisionError, certainly, is_above, with_enough_precision
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball, to_fraction

__all__ = ["implied_pieces"]

_MAX_CELLS = 20_000
# more narrow ranges without a sign than a formula has turns: N vanishes on a whole range
_MAX_UNKNOWN = 12
# a cell this narrow is a turn if N is monotone on it, one as narrow as the next in any case
_NARROW = arb(2) ** -24
_NARROWEST = arb(2) ** -200


def implied_pieces(whole: Guarantees, start: Constant, end: Constant | None) -> tuple[Piece, ...]:
    """Return the pieces of the implied profile.

    Args:
        whole: the guarantees, checked not to rise.
        start: where δ̂ falls to 1.
        end: where δ̂ falls to 0, if it does.

    Raises:
        UndecidedError: if the shape of h cannot be decided.
    """

    def attempt() -> tuple[Piece, ...]:
        return tuple(_Sweep(whole, start, end).pieces(_Signs(whole, start, end).runs()))

    return with_enough_precision(BITS, attempt, "whether the formula can be refined is undecided")


@dataclass(frozen=True)
class _Run:
    """A range on which N has one sign.

    Attributes:
        low: where it begins.
        high: where it ends.
        sign: that of N; 0 for a narrow range where it is not known, and for a flat one.
        segment: the part of the formula.
        is_flat: whether N is a number that is not told from 0.
    """

    low: arb
    high: arb
    sign: int
    segment: Segment
    is_flat: bool = False


class _Signs:
    """The sign of N, cell by cell, on the range where δ̂ is between 0 and 1."""

    def __init__(self, whole: Guarantees, start: Constant, end: Constant | None) -> None:
        self.whole = whole
        self.start = BALLS.constant(start).lower()
        self.end = ball(whole.reach) if end is None else BALLS.constant(end).upper()
        self.cells = self.unknown = 0

    def runs(self) -> list[_Run]:
        """Return adjacent runs, those of one sign in a row joined within each segment."""
        runs: list[_Run] = []
        for segment, low, high in self.whole.ranges():
            first = True
            for run in self._of_segment(segment, low.max(self.start), high.min(self.end)):
                if not first and runs[-1].sign == run.sign:
                    runs[-1] = replace(runs[-1], high=run.high)
                else:
                    runs.append(run)
                first = False
        return runs

    def _of_segment(self, segment: Segment, low: arb, high: arb) -> list[_Run]:
        if certainly(low >= high):
            return []
        if segment.tree is not None and not segment.is_log and is_line(segment.tree):
            known = _sign(segment, low, low)
            return [_Run(low, high, known or 0, segment, is_flat=known is None)]
        found: list[_Run] = []
        stack = doubling(low, high)
        while stack:
            left, right = stack.pop()
            self.cells += 1
            if self.cells > _MAX_CELLS:
                raise UndecidedError("the shape of the formula takes too many cells to decide")
            sign = _sign(segment, left, right)
            if sign is None and not self._is_narrow(segment, left, right):
                middle = ((left + right) / 2).mid()
                stack += [(middle, right), (left, middle)]
                continue
            self.unknown += sign is None
            if self.unknown > _MAX_UNKNOWN:
                raise _borderline(_Run(left, right, 0, segment))
            found.append(_Run(left, right, sign or 0, segment))
        return found

    def _is_narrow(self, segment: Segment, low: arb, high: arb) -> bool:
        width = (high - low) / (1 + high)
        if certainly(low <= self.start):
            return certainly(width < ball(EDGE))
        if certainly(width < _NARROWEST):
            return True
        return certainly(width < _NARROW) and _has_one_turn(segment, low, high)


def _sign(segment: Segment, low: arb, high: arb) -> int | None:
    """Return the sign of N on a cell, if it has one throughout."""
    for bound in (_slope_sign, _slope_sign_about_centre):
        value = bound(segment, low, high)
        if certainly(value > 0):
            return 1
        if certainly(value < 0):
            return -1
    return None


def _delta_taylor(segment: Segment, low: arb, high: arb, length: int) -> list[arb]:
    """Enclose δ̂ and its Taylor coefficients on a cell, clipped to where it is a probability."""
    c = segment.taylor(low, high, length)
    if not segment.is_log:
        return [arb(0)] * length if certainly(c[0] <= 0) else c
    value = c[0].exp()
    if length == 2:
        return [value, value * c[1]]
    return [value, value * c[1], value * (c[2] + c[1] * c[1] / 2)]


def _slope_sign(segment: Segment, low: arb, high: arb) -> arb:
    value, slope = _delta_taylor(segment, low, high, 2)
    return _n(low.union(high), value, slope)


def _n(eps: arb, value: arb, slope: arb) -> arb:
    return -slope * (1 + (-eps).exp()) - (1 - value)


def _slope_of_n(segment: Segment, low: arb, high: arb) -> arb:
    _, slope, half_second = _delta_taylor(segment, low, high, 3)
    falling = (-low.union(high)).exp()
    return -2 * half_second * (1 + falling) + slope * (1 + falling)


def _slope_sign_about_centre(segment: Segment, low: arb, high: arb) -> arb:
    middle = ((low + high) / 2).mid()
    return _slope_sign(segment, middle, middle) + _slope_of_n(segment, low, high) * (
        low.union(high) - middle
    )


def _has_one_turn(segment: Segment, low: arb, high: arb) -> bool:
    """Whether N is monotone throughout, so that it has one zero at most."""
    slope = _slope_of_n(segment, low, high)
    return certainly(slope < 0) or certainly(slope > 0)


@dataclass(frozen=True)
class _Line:
    """The line through a point of the formula that is the better bound to the left of it."""

    formula: Formula
    log_height: Callable[[], arb]


class _Sweep:
    """Goes through the runs from right to left, keeping the largest h seen."""

    def __init__(self, whole: Guarantees, start: Constant, end: Constant | None) -> None:
        self.whole, self.start, self.end = whole, start, end
        self.line: _Line | None = None
        self.found: list[Piece] = []

    def pieces(self, runs: list[_Run]) -> list[Piece]:
        """Return the pieces, from left to right."""
        if not runs:
            if self.end is None:
                raise UndecidedError("where the formula falls below 1 is a borderline case")
            # δ̂ falls from 1 to 0 at once
            self.line = _line_to_zero(self.end)
        for number in range(len(runs) - 1, -1, -1):
            run = runs[number]
            before = runs[number - 1] if number else None
            after = runs[number + 1] if number + 1 < len(runs) else None
            self._visit(run, before, after)
        if self.line is not None:
            self.found.append(Piece(Fraction(0), self.line.formula))
        return list(reversed(self.found))

    def _visit(self, run: _Run, before: _Run | None, after: _Run | None) -> None:
        if run.sign > 0:
            self._rising(run, after)
        elif run.sign < 0:
            if after is None and self._drops_to_zero(run):
                assert self.end is not None
                self.line = _line_to_zero(self.end)
            self._falling(run, before)
        elif run.is_flat:
            self._flat(run, after)
        elif before is None:
            self._edge(run, after)
        else:
            self._turn(run, before, after)

    def _rising(self, run: _Run, after: _Run | None) -> None:
        """h rises: what is at the right end, or later, is larger."""
        if self.line is not None:
            return
        if after is None:
            if self.end is None:
                raise _borderline(run)
            # δ̂ falls to 0 here, and stays there
            self.line = _line_to_zero(self.end)
        else:
            self._touch(after.segment, after.segment.start)

    def _touch(self, segment: Segment, at: Constant) -> None:
        self.found.append(Piece(at, segment.formula))
        self.line = _line(segment, at)

    def _falling(self, run: _Run, before: _Run | None) -> None:
        """h falls: it is H where nothing later is larger."""
        if self.line is not None:
            crossing = self._crossing(run)
            if crossing is None:
                return
            self.found.append(Piece(crossing, self.line.formula))
            self.line = None
        starts = before is None or before.segment is not run.segment
        if before is None and self.start == 0:
            self.found.append(Piece(Fraction(0), run.segment.formula))
        elif before is None:
            # δ̂ falls below 1 by a jump
            self._touch(run.segment, self.start)
        elif starts and before.sign < 0 and not self._jumps(before, run):
            self.found.append(Piece(run.segment.start, run.segment.formula))
        elif starts and before.sign <= 0:
            self._touch(run.segment, run.segment.start)
        elif not starts and before.sign > 0:
            self._touch(run.segment, to_fraction(run.low))

    def _drops_to_zero(self, run: _Run) -> bool:
        """Whether δ̂ is still positive where it ends, so that it falls to 0 by a jump."""
        if self.end is None:
            return False
        end = BALLS.constant(self.end)
        value = _delta_taylor(run.segment, end, end, 2)[0]
        if value.is_nan():
            # beyond the end the formula may be undefined
            end = end.lower()
            value = _delta_taylor(run.segment, end, end, 2)[0]
        return is_above(value, _NARROWEST)

    def _jumps(self, before: _Run, run: _Run) -> bool:
        """Whether δ̂ falls by a jump between two parts, as far as anyone can tell."""
        at = BALLS.constant(run.segment.start)
        left, right = before.segment.log(at, BALLS), run.segment.log(at, BALLS)
        # parts that agree in hundreds of bits are taken to join
        return not certainly(abs(left - right) < _NARROWEST)

    def _crossing(self, run: _Run) -> Constant | None:
        """Return where h falls below the line's height on a run, None if it is below all along."""
        line = self.line
        assert line is not None
        segment = run.segment

        def excess(eps: arb) -> arb:
            return _log_height(segment, eps) - line.log_height()

        first = excess(run.low)
        if first.is_nan() and _starts_at_one(segment, run.low, line):
            return None
        if certainly(first < 0):
            return None
        if not (certainly(first > 0) and certainly(excess(run.high) < 0)):
            raise MorePrecisionError
        return Passage(excess, to_fraction(run.low), to_fraction(run.high))

    def _flat(self, run: _Run, after: _Run | None) -> None:
        """h is a number, as far as anyone can tell: H is that, or what is larger later."""

        def here() -> arb:
            # where there is no part after it, it ends where δ̂ does
            ends = [run.low] if after is None else [run.low, BALLS.constant(after.segment.start)]
            heights = [_log_height(run.segment, eps) for eps in ends]
            return heights[0].union(heights[-1])

        before = self.line
        if before is None:
            if self.end is None:
                raise _borderline(run)
            before = _line_to_zero(self.end)
        elif certainly(here() < before.log_height()):
            return
        elif certainly(here() > before.log_height()):
            assert after is not None
            self.found.append(Piece(after.segment.start, before.formula))
            self.line = _Line(_flat(here), here)
            return
        later = before.log_height
        self.line = _Line(_flat(lambda: here().union(later())), lambda: here().union(later()))

    def _turn(self, run: _Run, before: _Run, after: _Run | None) -> None:
        """N changes its sign, or jumps across 0, within a narrow range."""
        if self.line is not None:
            if not self._is_below(run):
                raise _borderline(run)
        elif after is None and self.end is not None:
            end = BALLS.constant(self.end)
            self.line = _line_to_zero(lambda: run.low.union(end))
        elif after is None or (before.sign, after.sign) != (1, -1):
            raise _borderline(run)
        elif _has_one_turn(run.segment, run.low, run.high):
            ends = to_fraction(run.low), to_fraction(run.high)
            self._touch(run.segment, Passage(lambda eps: _slope_sign(run.segment, eps, eps), *ends))
        else:
            self._touch(run.segment, lambda: run.low.union(run.high))

    def _is_below(self, run: _Run) -> bool:
        """Whether h is below the line's height on a narrow run, as δ̂ does not rise."""
        assert self.line is not None
        largest = _log_height_between(run.segment, run.low, run.high)
        return certainly(largest < self.line.log_height())

    def _edge(self, run: _Run, after: _Run | None) -> None:
        """The narrow range at the left end, where N may vanish or be infinite."""
        if self.line is not None:
            if not self._is_below(run):
                raise _borderline(run)
            return
        if after is None or self.start != 0:
            raise _borderline(run)
        segment, low, high = run.segment, run.low, run.high
        middle = high / 2

        def log_height() -> arb:
            return _log_height_between(segment, low, high)

        self.found.append(Piece(lambda: middle.union(high), segment.formula))
        self.found.append(Piece(Fraction(0), _flat(log_height)))


def _borderline(run: _Run) -> UndecidedError:
    return UndecidedError(
        "whether the formula can be refined is a borderline case near eps = "
        f"{float(run.low):.10g}: it can be measured as it stands (naive)"
    )


def _log_height(segment: Segment, eps: arb) -> arb:
    """Return log h."""
    return BALLS.log1mexp(segment.log(eps, BALLS)) - BALLS.log1pexp(eps)


def _log_height_between(segment: Segment, low: arb, high: arb) -> arb:
    """Enclose the supremum of log h on [low, high], as far as it is not below h(high)."""
    kept = BALLS.log1mexp(segment.log(high, BALLS))
    return (kept - BALLS.log1pexp(high)).union(kept - BALLS.log1pexp(low))


def _starts_at_one(segment: Segment, eps: arb, line: _Line) -> bool:
    """Whether δ̂ is so near 1, or above it, that h is below the line's height."""
    value = segment.point(eps)
    if value.is_nan():
        # at 0 itself the formula may be infinite or undefined
        return eps.is_zero()
    delta = value.exp() if segment.is_log else value
    return certainly(1 - delta < line.log_height().exp())


def _line(segment: Segment, at: Constant) -> _Line:
    def log_height() -> arb:
        return _log_height(segment, BALLS.constant(at))

    vanishes = not segment.is_log and certainly(segment.point(BALLS.constant(at)) <= 0)
    return _line_to_zero(at) if vanishes else _Line(line_to(segment.log, at), log_height)


def _line_to_zero(at: Constant) -> _Line:
    def log_height() -> arb:
        return -BALLS.log1pexp(BALLS.constant(at))

    return _Line(_flat(log_height), log_height)


def _flat(log_height: Callable[[], arb]) -> Formula:
    """Return 1 - (1 + e^ε)·h for a constant h."""

    def delta(eps: Any, ops: Operations) -> Probability:
        log_complement = ops.constant(log_height) + ops.log1pexp(eps)
        return Probability.from_log_complement(ops, log_complement)

    return delta
