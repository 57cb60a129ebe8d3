"""Curves that are linear in t = e^ε between knots, as every mechanism of discrete losses has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb

from gdpbridge.curves.base import Form
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.lines import FailingLines, FloatLines, Lines, PastFailureLines, SampledLines
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import PiecewiseCurve, SmoothCurve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

__all__ = ["LinearCurve", "linear_curve"]

_BITS = 384
# a line touches its Gaussian curve well inside its range: of so many, the first ones, it is tried
_TRIED = 4


class LinearCurve(PiecewiseCurve):
    """A curve of lines in e^ε; its pieces have no power series.

    Args:
        lines: the lines.
        pieces: the pieces that give its values, the lines' own formula among them.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
    """

    form = Form.LINEAR

    def __init__(
        self, lines: Lines, pieces: Sequence[Piece], tail: Tail, end: Constant | None = None
    ) -> None:
        super().__init__(pieces, tail, end)
        self.lines = lines

    def places(self) -> list[arb]:
        """Return the middles of the first lines."""
        count = min(self.lines.count or _TRIED, _TRIED)
        ends = [arb(0), *(self.lines.end(index) for index in range(count))]
        return [arb(0), *(((low + high) / 2).mid() for low, high in pairwise(ends))]

    def piecewise(self, eps: Fraction, most: int) -> SmoothCurve:
        """Return the lines on [0, ε] one by one, as pieces with power series.

        Raises:
            InputError: if there are more than ``most``.
        """
        with precision(_BITS):
            count = self.lines.until(ball(eps))
        if count > most:
            raise InputError("the number of lines of the base", count, f"at most {most}")
        return SmoothCurve(tuple(self._one_by_one(count)), self.tail, self.end)

    def sampled(self, gamma: Fraction) -> LinearCurve:
        """Put lines and pieces on the new scale."""
        return LinearCurve(
            SampledLines(self.lines, gamma),
            self._sampled_pieces(gamma),
            self.tail.after_sampling(gamma),
            self._sampled_end(gamma),
        )

    def failing(self, failure: Constant, log_kept: Constant) -> LinearCurve:
        """Return p + (1 - p)·δ for a curve that falls to 0, p > 0; log_kept is log(1 - p)."""
        assert self.end is not None
        pieces = self._failing_pieces(failure, log_kept)
        return LinearCurve(
            FailingLines(self.lines, failure), pieces, ConstantTail(self.end, failure)
        )

    def _past(self, pieces: list[Piece], end: Constant, failure: Fraction) -> LinearCurve:
        lines = PastFailureLines(self.lines, failure, BALLS.constant(end))
        return LinearCurve(lines, pieces, ConstantTail(end, Fraction(0)), end)

    def _one_by_one(self, count: int) -> Iterator[Piece]:
        for index in range(count):
            yield Piece(self._start(index), self._line(index))
        if count == self.lines.count and self.end is None:
            yield Piece(self._start(count), _level(self.lines, count - 1))

    def _start(self, index: int) -> Constant:
        return Fraction(0) if index == 0 else lambda: self.lines.end(index - 1)

    def _line(self, index: int) -> Formula:
        """Return one line as a smooth formula, which floats take from the whole."""

        def delta(eps: Any, ops: Operations) -> Probability:
            if ops is FLOATS:
                log, log_complement = self.logs(eps)
                return Probability(lambda: log, lambda: log_complement)
            line, t = self.lines.line(index), ops.exp(eps)
            return Probability(lambda: ops.log(line.at(t)), lambda: ops.log(line.complement_at(t)))

        return delta


def _level(lines: Lines, index: int) -> Formula:
    """Return the constant that a line ends at: δ does not rise beyond it."""

    def log() -> arb:
        return lines.line(index).at(lines.end(index).exp()).log()

    def log_complement() -> arb:
        return lines.line(index).complement_at(lines.end(index).exp()).log()

    def delta(eps: Any, ops: Operations) -> Probability:
        # 0·ε keeps the kind and shape of ε
        return Probability(
            lambda: ops.constant(log) + 0 * eps, lambda: ops.constant(log_complement) + 0 * eps
        )

    return delta


def linear_curve(lines: FloatLines, tail: Tail, end: Constant | None = None) -> LinearCurve:
    """Return the curve of lines that know their floats."""
    return LinearCurve(lines, (Piece(Fraction(0), lines.formula),), tail, end)
