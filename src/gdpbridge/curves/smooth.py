"""Curves made of pieces: formulas on adjacent ranges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.curves.base import Curve, Form
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import (
    ZERO,
    Formula,
    Piece,
    constant_piece,
    failing,
    past,
    sampled,
)
from gdpbridge.curves.sampling import eps_after
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS, FLOATS, Probability, ball

__all__ = ["PiecewiseCurve", "SmoothCurve", "smooth_curve", "zero_curve"]


class PiecewiseCurve(Curve):
    """A curve whose values come from pieces.

    Args:
        pieces: adjacent pieces, the first starting at 0.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
    """

    def __init__(self, pieces: Sequence[Piece], tail: Tail, end: Constant | None = None) -> None:
        self.pieces, self.tail, self.end = tuple(pieces), tail, end

    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Evaluate each piece on what is in its range."""
        log = np.full(eps.shape, -np.inf)
        log_complement = np.zeros(eps.shape)
        starts = [FLOATS.constant(piece.start) for piece in self.pieces]
        stop = np.inf if self.end is None else FLOATS.constant(self.end)
        owner = np.searchsorted(np.array(starts[1:]), eps, side="right")
        for number, piece in enumerate(self.pieces):
            mine = (owner == number) & (eps < stop)
            if mine.any():
                value = piece.formula(eps[mine], FLOATS)
                # rounding near δ = 0 and δ = 1 must not leave [0, 1]
                log[mine] = np.fmin(np.nan_to_num(value.log(), nan=-np.inf, neginf=-np.inf), 0.0)
                log_complement[mine] = np.fmin(
                    np.nan_to_num(value.log_complement(), nan=0.0, neginf=-np.inf), 0.0
                )
        return log, log_complement

    def enclose(self, eps: arb) -> Probability:
        """Take the union of all pieces whose range may hold ε."""
        before_end = True
        if self.end is not None:
            end = BALLS.constant(self.end)
            if certainly(eps >= end):
                return ZERO
            before_end = certainly(eps < end)
        values = [piece.formula(eps, BALLS) for piece in self.pieces_on(eps, eps)]
        return Probability(
            lambda: _hull([value.log() for value in values]) if before_end else arb.nan(),
            lambda: _hull(
                [value.log_complement() for value in values] + ([] if before_end else [arb(0)])
            ),
        )

    def pieces_on(self, low: arb, high: arb) -> list[Piece]:
        """Return every piece whose range may meet [low, high], as far as balls can tell."""
        starts = [BALLS.constant(piece.start) for piece in self.pieces]
        stops = [*starts[1:], None if self.end is None else BALLS.constant(self.end)]
        return [
            piece
            for piece, start, stop in zip(self.pieces, starts, stops, strict=True)
            if not (certainly(high < start) or (stop is not None and certainly(low >= stop)))
        ]

    def corners(self) -> list[Constant]:
        """Return where pieces meet, where the curve ends, and where it becomes constant."""
        return [*(piece.start for piece in self.pieces), *self.known_ends()]

    def past(self, failure: Fraction) -> Curve:
        """Cut the curve off where it falls to p."""
        end = self.falls_to(failure)
        if end == 0:
            return zero_curve()
        stop = end() if callable(end) else ball(end)
        pieces = [
            replace(piece, formula=past(piece.formula, failure))
            for piece in self.pieces
            if not certainly(BALLS.constant(piece.start) >= stop)
        ]
        return self._past(pieces, end, failure)

    @abstractmethod
    def _past(self, pieces: list[Piece], end: Constant, failure: Fraction) -> Curve:
        """Return the curve past p > 0, from its pieces and its end."""

    def _sampled_pieces(self, gamma: Fraction) -> list[Piece]:
        return [
            Piece(eps_after(piece.start, gamma), sampled(piece.formula, gamma), piece.by_chords)
            for piece in self.pieces
        ]

    def _sampled_end(self, gamma: Fraction) -> Constant | None:
        return None if self.end is None else eps_after(self.end, gamma)

    def _failing_pieces(self, failure: Constant, log_kept: Constant) -> list[Piece]:
        assert self.end is not None
        head = [
            Piece(piece.start, failing(piece.formula, failure, log_kept))
            for piece in self.pieces
            if self.end != 0
        ]
        return [*head, constant_piece(self.end, failure)]


class SmoothCurve(PiecewiseCurve):
    """A curve of formulas.

    Args:
        pieces: adjacent pieces, the first starting at 0.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
        has_series: whether the formulas can be differentiated, as proofs want it.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        tail: Tail,
        end: Constant | None = None,
        *,
        has_series: bool = True,
    ) -> None:
        super().__init__(pieces, tail, end)
        self.has_series = has_series

    @property
    def form(self) -> Form:
        """Smooth, unless only values are known."""
        return Form.SMOOTH if self.has_series else Form.VALUES

    def fails_at_zero(self) -> bool:
        """Whether δ(0) = 1: it can be seen where there are values only, as the tail cannot tell."""
        if super().fails_at_zero():
            return True
        return not self.has_series and bool(self.logs(np.zeros(1))[0][0] == 0)

    def _near(self, failure: Fraction) -> float:
        # a function that is taken on trust may be slow, and is asked no more than it must be
        return (
            float(self.least_epsilon(np.array([float(failure)]))[0]) if self.has_series else np.inf
        )

    def piecewise(self, _: Fraction, __: int) -> SmoothCurve:
        """It is made of smooth pieces already."""
        return self

    def sampled(self, gamma: Fraction) -> SmoothCurve:
        """Put each piece on the new scale."""
        return SmoothCurve(
            self._sampled_pieces(gamma),
            self.tail.after_sampling(gamma),
            self._sampled_end(gamma),
            has_series=self.has_series,
        )

    def failing(self, failure: Constant, log_kept: Constant) -> SmoothCurve:
        """Return p + (1 - p)·δ for a curve that falls to 0, p > 0; log_kept is log(1 - p)."""
        assert self.end is not None
        return SmoothCurve(
            self._failing_pieces(failure, log_kept),
            ConstantTail(self.end, failure),
            has_series=self.has_series,
        )

    def _past(self, pieces: list[Piece], end: Constant, failure: Fraction) -> SmoothCurve:
        tail = ConstantTail(end, Fraction(0))
        return SmoothCurve(pieces, tail, end, has_series=self.has_series)


def smooth_curve(formula: Formula, tail: Tail, end: Constant | None = None) -> SmoothCurve:
    """Return the curve of a single formula."""
    return SmoothCurve((Piece(Fraction(0), formula),), tail, end)


def zero_curve() -> SmoothCurve:
    """Return δ = 0: nothing is told."""
    nothing = Fraction(0)
    return smooth_curve(lambda *_: ZERO, ConstantTail(nothing, nothing), nothing)


def _hull(balls: list[arb]) -> arb:
    result = balls[0]
    for other in balls[1:]:
        result = result.union(other)
    return result
