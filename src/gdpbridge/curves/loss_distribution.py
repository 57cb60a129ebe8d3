"""The curve of a privacy loss distribution, whose losses are discrete.

In each direction δ(ε) = δ_∞ + Σ_{y > ε} P(L = y)·(1 - e^{ε - y}), which is linear in e^ε between
losses: line j, from loss y_{j-1} to y_j, is a_j - b_j·e^ε with a_j = P(L ≥ y_j) and
b_j = Σ_{y ≥ y_j} P(L = y)·e^{-y}. Where both directions are given, δ is the larger one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.linear import linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, Segments
from gdpbridge.curves.pieces import constant_piece
from gdpbridge.curves.remade import Plain
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.errors import Advice, InputError, UndecidedError, Words
from gdpbridge.losses.sums import Law
from gdpbridge.losses.transforms.base import number_ball
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import is_above, with_enough_precision
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import FLOATS, ball, to_fraction

__all__ = ["ROUNDING", "Direction", "larger_constant", "loss_curve"]


# what the masses of a distribution, added up in float64, may miss
ROUNDING = 1e-12
# what those of a mechanism's own law may be above 1, and the largest loss whose e^y is a float
_MUCH, _LARGEST = 2.0**-41, 700
_BITS = 256
# two curves that agree in 300 digits are taken to be the same: where both directions have the same
# losses they are, and no precision would ever tell
_TIE_BITS = 1024
# in place of one side
_BOTH = -1
# sums of masses that are kept as balls
_MOST_SUMS = 200_000
# what a loss takes in sums of balls, and a piece of the larger curve, in units of numeric/effort.py
_SUMMED, _COMPARED = 30, 60


@dataclass(eq=False)
class Direction(Plain):
    """One direction's privacy loss distribution, repaired.

    Attributes:
        losses: the finite losses, growing.
        masses: the probability of each under the distribution whose loss it is, positive.
        failure: δ_∞, the probability of an infinite loss.
        spacing: a number that every loss is a whole multiple of; None if there is none.
        remarks: what was repaired, a sentence each.
    """

    losses: Floats
    masses: Floats
    failure: Fraction
    spacing: Fraction | None
    remarks: tuple[str, ...]

    @cached_property
    def exact_losses(self) -> Sequence[Fraction]:
        """The losses as rational numbers."""
        if self.spacing is None:
            return [exact(loss) for loss in self.losses.tolist()]
        spacing = self.spacing
        return [spacing * k for k in self.index.tolist()]

    @cached_property
    def unit(self) -> Fraction:
        """A number that every loss is a whole multiple of, which may be very small."""
        if self.spacing is not None:
            return self.spacing
        losses = self.exact_losses
        bottom = math.lcm(*(loss.denominator for loss in losses))
        return Fraction(math.gcd(*(int(loss * bottom) for loss in losses)) or 1, bottom)

    @property
    def index(self) -> NDArray[np.int64]:
        """The losses in spacings."""
        assert self.spacing is not None
        return np.rint(self.losses / float(self.spacing)).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Direction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def is_possible(self) -> bool:
        """Whether P and Q = e^{-L}·P are both of mass 1 at most, but for the rounding of floats."""
        if self.losses.min(initial=0) < -_LARGEST:
            return False
        totals = [*self.masses, float(self.failure)], self.masses * np.exp(-self.losses)
        return all(math.fsum(one) <= 1 + _MUCH for one in totals)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.losses.tobytes(), self.masses.tobytes(), self.failure, self.spacing

    @cached_property
    def log_masses(self) -> Floats:
        """Log of the probability of each."""
        return np.asarray(np.log(self.masses))

    @property
    def last(self) -> Fraction:
        """The largest loss."""
        return self.exact_losses[-1]

    def loss(self, number: int) -> arb:
        """Enclose a loss, at the working precision."""
        return ball(self.exact_losses[number])

    def mass(self, number: int) -> arb:
        """Enclose a probability, at the working precision."""
        return arb(float(self.masses[number]))


def loss_curve(directions: Sequence[Law], *, cut_off: bool = False) -> Curve:
    """Return the curve of the larger direction.

    Args:
        directions: the losses in one direction, or in both.
        cut_off: whether a failure probability of at most 1e-12 is taken to be a tail that was cut.
    """
    failure = larger_constant([one.failure for one in directions])
    found = [_DirectionLines(one) for one in directions if one.losses.max(initial=0) > 0]
    end = larger_constant([one.last for one in found]) if found else Fraction(0)
    level = float(number_ball(failure))
    kind = PlateauTail if cut_off and 0 < level <= ROUNDING else ConstantTail
    tail: Tail = kind(end, failure)
    if not found:
        if not failure:
            return zero_curve()
        if level >= 1:
            raise InputError(
                "pld", Words("without finite losses"), Advice("give at least one finite loss")
            )
        return SmoothCurve((constant_piece(end, failure),), tail)
    lines = found[0] if len(found) == 1 else _Larger(found[0], found[1], failure)
    stop = end if not failure else None
    return linear_curve(lines, tail, stop)


def larger_constant(values: Sequence[Constant]) -> Constant:
    """Return the largest of some constants."""
    known = [value for value in values if isinstance(value, Fraction)]
    if len(known) == len(values):
        return max(known)
    with precision(_TIE_BITS):
        return max(values, key=lambda value: to_fraction(number_ball(value).mid()))


class _DirectionLines(ArrayLines):
    """The lines of one direction on ε ≥ 0, one for each positive loss."""

    def __init__(self, one: Law) -> None:
        self.one, self.beyond = one, one.failure
        self.first = int(np.searchsorted(one.losses, 0.0, side="right"))
        self.last = one.last
        self.log_beyond = _log(one.failure)
        log_mass = one.log_masses
        end = one.losses[self.first :]
        log_b = np.logaddexp.accumulate((log_mass - one.losses)[::-1])[::-1][self.first :]
        log_below = np.append(-np.inf, np.logaddexp.accumulate(log_mass))
        start = np.append(0.0, end[:-1])
        # both grow by positive amounts only, and nothing cancels
        log_complement = np.logaddexp(log_below[self.first : -1], log_b + start)
        fall = log_b[1:] + end[1:] + FLOATS.log1mexp(end[:-1] - end[1:])
        log_at_end = np.logaddexp.accumulate(np.append(self.log_beyond, fall[::-1]))[::-1]
        super().__init__(Segments(start, end, log_b, log_at_end, log_complement))
        # sums are kept for every loss, or for every so many of very many
        self._stride = max(1, one.losses.size // _MOST_SUMS)
        self._sums: dict[int, list[tuple[arb, arb]]] = {}

    def line(self, index: int) -> Line:
        """Sum from the next checkpoint above."""
        start = self.first + index
        block = -(-start // self._stride)
        p, q = self._checkpoints()[block - self.first // self._stride]
        for number in range(start, min(block * self._stride, self.one.losses.size)):
            one_p, one_q = self._masses(number)
            p, q = p + one_p, q + one_q
        a = p + number_ball(self.one.failure)
        return Line(a, 1 - a, q, 1 - q)

    def _masses(self, number: int) -> tuple[arb, arb]:
        p = self.one.mass(number)
        return p, p * (-self.one.loss(number)).exp()

    def _checkpoints(self) -> list[tuple[arb, arb]]:
        """The sums of masses under both distributions from every so many positive losses on."""
        bits = working_precision()
        if bits not in self._sums:
            size = self.one.losses.size
            spend(_SUMMED * (size - self.first) * bits / _BITS)
            p, q = arb(0), arb(0)
            found = [(p, q)]
            for number in range(size - 1, self.first // self._stride * self._stride - 1, -1):
                one_p, one_q = self._masses(number)
                p, q = p + one_p, q + one_q
                if number % self._stride == 0:
                    found.append((p, q))
            self._sums[bits] = found[::-1]
        return self._sums[bits]

    def end(self, index: int) -> arb:
        """Return a loss."""
        return self.one.loss(self.first + index)


class _Larger(ArrayLines):
    """The lines of the larger one of two curves."""

    def __init__(self, one: _DirectionLines, other: _DirectionLines, failure: Constant) -> None:
        self.sides, self.beyond = (one, other), failure
        self.log_beyond = _log(failure)
        ends = np.union1d(one.floats.end, other.floats.end)
        spend(_COMPARED * ends.size)
        starts = np.append(0.0, ends[:-1])
        owner = [self._larger_at(np.asarray(at, dtype=np.float64)) for at in (starts, ends)]
        middles = (starts + ends) / 2
        index = [side.locate(middles) for side in self.sides]
        self._parts: list[tuple[int, int]] = []
        self._crossings: list[bool] = []
        stops: list[float] = []
        for cell in range(ends.size):
            first, last = int(owner[0][cell]), int(owner[1][cell])
            # where both meet, as at 0, either will do
            first = first if first != _BOTH else last
            last = last if last != _BOTH else first
            if first == _BOTH:
                first = last = 0
            if first != last:
                self._add(first, int(index[first][cell]), math.nan, True, stops)
            self._add(last, int(index[last][cell]), float(ends[cell]), False, stops)
        self.count = len(self._parts)
        with precision(_BITS):
            stop = [
                float(self.end(number)) if math.isnan(value) else value
                for number, value in enumerate(stops)
            ]
        super().__init__(self._segments(np.array(stop)))

    def _add(self, side: int, index: int, stop: float, crossing: bool, stops: list[float]) -> None:
        if self._parts and self._parts[-1] == (side, index) and not self._crossings[-1]:
            stops[-1], self._crossings[-1] = stop, crossing
            return
        self._parts.append((side, index))
        self._crossings.append(crossing)
        stops.append(stop)

    def _larger_at(self, eps: Floats) -> NDArray[np.int64]:
        """Return which side is larger, settled in balls where floats cannot tell."""
        logs = [side.formula(eps, FLOATS).log() for side in self.sides]
        found = (logs[1] > logs[0]).astype(np.int64)
        with np.errstate(invalid="ignore"):
            close = np.flatnonzero(~(np.abs(logs[0] - logs[1]) > 1e-9))
        for number in close.tolist():
            found[number] = self._larger_in_balls(exact(float(eps[number])))
        return found

    def _larger_in_balls(self, eps: Fraction) -> int:
        """Return which side is larger, or that they meet."""

        def second() -> bool:
            values = [side._ball_value(ball(eps)) for side in self.sides]
            return is_above(values[1].log(), values[0].log())

        try:
            return int(with_enough_precision(_BITS, second, most=_TIE_BITS))
        except UndecidedError:
            return _BOTH

    def _segments(self, end: Floats) -> Segments:
        start = np.append(0.0, end[:-1])
        log_b, log_at_end, log_complement = (np.empty(end.size) for _ in range(3))
        for side, lines in enumerate(self.sides):
            mine = np.array([part[0] == side for part in self._parts])
            at = lines.formula(end[mine], FLOATS)
            log_at_end[mine] = at.log()
            log_complement[mine] = lines.formula(start[mine], FLOATS).log_complement()
            index = np.array([part[1] for part in self._parts])[mine]
            known = np.minimum(index, lines.floats.end.size - 1)
            log_b[mine] = np.where(
                index < lines.floats.end.size, lines.floats.log_b[known], -np.inf
            )
        return Segments(start, end, log_b, log_at_end, log_complement)

    def line(self, index: int) -> Line:
        """Take a line from its side."""
        side, number = self._parts[index]
        lines = self.sides[side]
        if number == lines.count:
            failure = number_ball(lines.one.failure)
            return Line(failure, 1 - failure, arb(0), arb(1))
        return lines.line(number)

    def end(self, index: int) -> arb:
        """Return a loss, or where two lines cross."""
        if self._crossings[index]:
            before, after = self.line(index), self.line(index + 1)
            return ((before.a - after.a) / (before.b - after.b)).log()
        side, number = self._parts[index]
        following = self._parts[index + 1] if index + 1 < len(self._parts) else None
        if following is not None and following[0] != side:
            # the sides change at a loss of the other one
            other = self.sides[following[0]]
            return other.end(following[1] - 1) if following[1] else arb(0)
        lines = self.sides[side]
        return lines.end(min(number, lines.floats.end.size - 1))


def _log(failure: Constant) -> float:
    level = float(number_ball(failure))
    return math.log(level) if level > 0 else -math.inf
