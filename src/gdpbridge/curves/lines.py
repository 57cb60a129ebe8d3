"""Lines in t = e^ε, of which the curve of every mechanism of discrete losses is made.

On ε ≥ 0 such a curve is the upper envelope of lines a - b·e^ε, line j between two knots, in order
of ε: a and b fall along the lines. For losses y, a_j = P(L ≥ y_j) and b_j = Q(L ≥ y_j), so that
(b_j, 1 - a_j) is a breakpoint of the trade-off curve. There may be a million lines, or no end of
them: they are handed out one at a time as balls, and by arrays of indices as floats.

The floats hold δ at a line's right end and 1 - δ at its left end: from there on both grow by
positive amounts only, and nothing cancels.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.sampling import eps_after, eps_before
from gdpbridge.numeric.arrays import Indices
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

__all__ = [
    "ArrayLines",
    "FailingLines",
    "FloatLines",
    "Floats",
    "Indices",
    "Line",
    "Lines",
    "PastFailureLines",
    "SampledLines",
    "Segments",
    "segments_from",
]

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Line:
    """The line a - b·e^ε as balls; the complements keep the digits of a number close to one.

    Attributes:
        a: its value at e^ε = 0.
        a_complement: 1 - a.
        b: minus its slope.
        b_complement: 1 - b.
    """

    a: arb
    a_complement: arb
    b: arb
    b_complement: arb

    def at(self, t: arb) -> arb:
        """Return a - b·t."""
        return self.a - self.b * t

    def complement_at(self, t: arb) -> arb:
        """Return 1 - (a - b·t)."""
        return self.a_complement + self.b * t


@dataclass(frozen=True)
class Segments:
    """Lines as float64 arrays.

    Attributes:
        start: the left ends.
        end: the right ends.
        log_b: log b.
        log_at_end: log δ at the right ends.
        log_complement_at_start: log(1 - δ) at the left ends.
    """

    start: Floats
    end: Floats
    log_b: Floats
    log_at_end: Floats
    log_complement_at_start: Floats

    def __getitem__(self, index: Any) -> Segments:
        return Segments(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def segments_from(end: Floats, log_b: Floats, log_a_complement: Floats) -> Segments:
    """Return lines as floats from what is known of each, where δ is 0 beyond the last one."""
    start = np.append(0.0, end[:-1])
    log_complement = np.logaddexp(log_a_complement, log_b + start)
    # δ at one end is δ at the next one and what the line between them falls by
    fall = log_b[1:] + end[1:] + FLOATS.log1mexp(end[:-1] - end[1:])
    log_at_end = np.logaddexp.accumulate(np.append(-np.inf, fall[::-1]))[::-1]
    return Segments(start, end, log_b, log_at_end, log_complement)


class Lines(ABC):
    """The lines of a curve on ε ≥ 0; the first one begins at 0."""

    count: int | None
    """How many there are, or None if there is no end of them."""

    @abstractmethod
    def line(self, index: int) -> Line:
        """Return a line, at the working precision."""

    @abstractmethod
    def end(self, index: int) -> arb:
        """Return its right end, at the working precision."""

    @abstractmethod
    def locate(self, eps: Floats) -> Indices:
        """Return the index of the line at each ε, ``count`` beyond the last one."""

    @abstractmethod
    def ends(self, indices: Indices) -> Floats:
        """Return right ends as floats."""

    def start(self, index: int) -> arb:
        """Return a line's left end, at the working precision."""
        return self.end(index - 1) if index > 0 else arb(0)

    def until(self, eps: arb) -> int:
        """Return how many lines it takes to reach ε, as far as balls can tell."""
        number = int(self.locate(np.array([float(eps)]))[0]) + 1
        if self.count is not None:
            number = min(number, self.count)
        while number > 1 and certainly(self.end(number - 2) >= eps):
            number -= 1
        while number != self.count and not certainly(self.end(number - 1) >= eps):
            number += 1
        return number

    def owners(self, eps: arb) -> list[int]:
        """Return the lines that may apply at ε, as far as balls can tell."""
        first = last = self.until(eps) - 1
        while first > 0 and not certainly(self.start(first) < eps):
            first -= 1
        return list(range(first, last + 1))


class FloatLines(Lines):
    """Lines that know their floats too."""

    beyond: Constant = Fraction(0)
    """δ beyond the last line."""

    log_beyond: float = -math.inf
    """Its logarithm."""

    @abstractmethod
    def segments(self, indices: Indices) -> Segments:
        """Return lines as floats."""

    def ends(self, indices: Indices) -> Floats:
        """Return right ends as floats."""
        return self.segments(indices).end

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return δ(ε) on floats and balls.

        There is no power series: the curve is not smooth, and its supremum needs none.
        """
        if ops is FLOATS:
            return self._float_value(np.asarray(eps, dtype=np.float64))
        if ops is BALLS:
            return self._ball_value(eps)
        raise NotImplementedError("a curve made of lines has no power series")

    def _float_value(self, eps: Floats) -> Probability:
        index = self.locate(eps)
        inside = np.ones(eps.shape, bool) if self.count is None else index < self.count
        log = np.full(eps.shape, self.log_beyond)
        log_complement = np.log1p(-np.exp(log))
        part, at = self.segments(index[inside]), eps[inside]
        fallen = part.log_b + part.end + FLOATS.log1mexp(at - part.end)
        log[inside] = np.logaddexp(part.log_at_end, fallen)
        risen = part.log_b + at + FLOATS.log1mexp(part.start - at)
        log_complement[inside] = np.logaddexp(part.log_complement_at_start, risen)
        return Probability(lambda: log, lambda: log_complement)

    def _ball_value(self, eps: arb) -> Probability:
        t, owners = eps.exp(), self.owners(eps)
        values = [(line.at(t), line.complement_at(t)) for line in map(self.line, owners)]
        if owners[-1] + 1 == self.count:
            last = self.end(owners[-1])
            if not certainly(eps <= last):
                value = BALLS.constant(self.beyond)
                rest = value, 1 - value
                values = [rest] if certainly(eps > last) else [*values, rest]
        value, complement = values[0]
        for other, other_complement in values[1:]:
            value, complement = value.union(other), complement.union(other_complement)
        return Probability(value.log, complement.log)


class ArrayLines(FloatLines):
    """Lines whose floats are held in arrays."""

    def __init__(self, floats: Segments) -> None:
        self.floats = floats
        self.count = floats.end.size

    def locate(self, eps: Floats) -> Indices:
        """Search the right ends."""
        return np.searchsorted(self.floats.end, eps, side="left").astype(np.int64)

    def segments(self, indices: Indices) -> Segments:
        """Take the lines from the arrays."""
        return self.floats[indices]


class DerivedLines(Lines):
    """Lines made from others, one from one, with the same ends unless overridden."""

    def __init__(self, base: Lines) -> None:
        self.base, self.count = base, base.count

    def end(self, index: int) -> arb:
        """Return the end of the line it is made from."""
        return self.base.end(index)

    def locate(self, eps: Floats) -> Indices:
        """Locate the line it is made from."""
        return self.base.locate(eps)

    def ends(self, indices: Indices) -> Floats:
        """Return the ends of the lines they are made from."""
        return self.base.ends(indices)


class PastFailureLines(DerivedLines):
    """(δ - p)/(1 - p) as far as it is positive.

    Args:
        base: the lines of δ.
        failure: p in (0, 1).
        end: an ε from which δ ≤ p.
    """

    def __init__(self, base: Lines, failure: Fraction, end: arb) -> None:
        super().__init__(base)
        self.failure = failure
        self.count = base.until(end)

    def line(self, index: int) -> Line:
        """Take the failure out of a line."""
        line, kept = self.base.line(index), ball(1 - self.failure)
        b = line.b / kept
        return Line((line.a - ball(self.failure)) / kept, line.a_complement / kept, b, 1 - b)


class FailingLines(DerivedLines):
    """The lines of p + (1 - p)·δ."""

    def __init__(self, base: Lines, failure: Constant) -> None:
        super().__init__(base)
        self.failure = failure

    def line(self, index: int) -> Line:
        """Mix a line with the constant 1."""
        line, failed = self.base.line(index), BALLS.constant(self.failure)
        kept = 1 - failed
        return Line(
            failed + kept * line.a,
            kept * line.a_complement,
            kept * line.b,
            failed + kept * line.b_complement,
        )


class SampledLines(DerivedLines):
    """γ(a - b·t) with t = 1 + (t' - 1)/γ is again a line, with the same slope."""

    def __init__(self, base: Lines, gamma: Fraction) -> None:
        super().__init__(base)
        self.gamma = gamma

    def line(self, index: int) -> Line:
        """Return the line in t'."""
        line, gamma, missed = self.base.line(index), ball(self.gamma), ball(1 - self.gamma)
        return Line(
            gamma * line.a + missed * line.b,
            gamma * line.a_complement + missed * line.b_complement,
            line.b,
            line.b_complement,
        )

    def end(self, index: int) -> arb:
        """Return the right end on the new scale."""
        return BALLS.constant(eps_after(lambda: self.base.end(index), self.gamma))

    def locate(self, eps: Floats) -> Indices:
        """Locate the ε before sampling."""
        return self.base.locate(eps_before(eps, self.gamma, FLOATS))

    def ends(self, indices: Indices) -> Floats:
        """Return right ends on the new scale."""
        eps, missed = self.base.ends(indices), float(1 - self.gamma)
        # e^ε'/e^ε = 1 - (1 - γ)(1 - e^{-ε}) = γ + (1 - γ)e^{-ε}; a small γ is lost from the first
        with np.errstate(divide="ignore", invalid="ignore"):
            near = FLOATS.log1p(missed * FLOATS.expm1(-eps))
            far = FLOATS.log(float(self.gamma) + missed * FLOATS.exp(-eps))
            result: Floats = np.where(np.isinf(eps), eps, eps + np.where(eps < 1, near, far))
        return result
