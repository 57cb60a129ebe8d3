"""Curves made of pieces: what the measuring methods see of a mechanism.

A curve is a non-increasing δ(ε) on [0, ∞) with values in [0, 1], given by smooth formulas on
adjacent ranges. The formulas are evaluated on float64 arrays, balls and power series alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.constants import Constant
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability

if TYPE_CHECKING:
    from gdpbridge.curves.bounded import CurveBounds
    from gdpbridge.curves.linear import Lines
    from gdpbridge.curves.tail import Tail

__all__ = ["ZERO", "Curve", "Formula", "Piece", "chord", "constant_piece"]

Formula = Callable[[Any, Operations], Probability]

ZERO = Probability(arb.neg_inf, lambda: arb(0))


@dataclass(frozen=True)
class Piece:
    """A smooth part of a curve.

    Attributes:
        start: where it begins; it ends where the next piece begins.
        formula: gives δ(ε) for ε in its range. Where it is below zero its logarithm is not a
            number, and δ is 0.
        by_chords: whether δ is convex in e^ε on the range and proofs should bound it by chords
            there: for formulas that are sharp at points only.
    """

    start: Constant
    formula: Formula
    by_chords: bool = False

    def bracket(self) -> tuple[arb, arb]:
        """Return exact numbers about the start, wide enough to tell what lies on either side."""
        start = BALLS.constant(self.start)
        if start.is_exact():
            return start, start
        pad = start * arb(2) ** -(working_precision() // 2)
        return (start - pad).lower(), (start + pad).upper()


def chord(formula: Formula, low: arb, high: arb) -> Formula:
    """Return the line in e^ε through two points of a formula that is convex in e^ε.

    Args:
        formula: the formula.
        low: the exact ε of the left point.
        high: that of the right one; in between the line is an upper bound of the formula.
    """
    left, right = formula(low, BALLS), formula(high, BALLS)
    delta, other = left.log().exp(), right.log().exp()
    complement = left.log_complement().exp()
    steepness = (delta - other) / (high - low).expm1()

    def line(eps: Any, ops: Operations) -> Probability:
        # each is written about the end at which it is small, so that nothing cancels there
        def log() -> Any:
            fall = steepness * (high - low).exp() * -ops.expm1(eps - high)
            return ops.log(other + fall)

        return Probability(log, lambda: ops.log(complement + steepness * ops.expm1(eps - low)))

    return line


def constant_piece(start: Constant, value: Constant) -> Piece:
    """Return the piece on which δ is a constant, strictly between 0 and 1."""

    def log() -> arb:
        return BALLS.constant(value).log()

    def log_complement() -> arb:
        return (-BALLS.constant(value)).log1p()

    def delta(eps: Any, ops: Operations) -> Probability:
        # 0·ε keeps the kind and shape of ε
        return Probability(
            lambda: ops.constant(log) + 0 * eps, lambda: ops.constant(log_complement) + 0 * eps
        )

    return Piece(start, delta)


@dataclass(frozen=True)
class Curve:
    """A privacy profile as the measuring methods see it.

    Attributes:
        pieces: adjacent pieces, the first starting at 0.
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
        lines: the lines that the curve is made of, where it is linear in e^ε between knots; its
            pieces then have no power series.
        bounds: what it lies between, where it is known no better; its pieces then give the upper
            bound on floats, an enclosure on balls, and have no power series.
    """

    pieces: tuple[Piece, ...]
    tail: Tail
    end: Constant | None = None
    lines: Lines | None = None
    bounds: CurveBounds | None = None

    def logs(self, eps: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log δ(ε) and log(1 - δ(ε)) in float64, of the shape of ``eps``."""
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
        """Enclose δ(ε) at an exact ε ≥ 0; nan where the precision cannot tell it from 0."""
        if self.end is not None and eps >= BALLS.constant(self.end):
            return ZERO
        values = [piece.formula(eps, BALLS) for piece in self.pieces_on(eps, eps)]
        return Probability(
            lambda: _hull([value.log() for value in values]),
            lambda: _hull([value.log_complement() for value in values]),
        )

    def pieces_on(self, low: arb, high: arb) -> list[Piece]:
        """Return every piece whose range may meet [low, high], as far as balls can tell."""
        starts = [BALLS.constant(piece.start) for piece in self.pieces]
        stops = [*starts[1:], None if self.end is None else BALLS.constant(self.end)]
        return [
            piece
            for piece, start, stop in zip(self.pieces, starts, stops, strict=True)
            if not high < start and (stop is None or not low >= stop)
        ]


def _hull(balls: list[arb]) -> arb:
    result = balls[0]
    for other in balls[1:]:
        result = result.union(other)
    return result
