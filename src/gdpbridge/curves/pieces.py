"""Formulas for δ(ε), the ranges on which they apply, and formulas made from others.

A formula is evaluated on float64 arrays, balls and power series alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.sampling import eps_before
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import BALLS, Operations, Probability

__all__ = ["ZERO", "Formula", "Piece", "chord", "constant_piece", "failing", "past", "sampled"]

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
        beneath: a μ with δ ≤ δ_μ on the range, where one is known beforehand.
    """

    start: Constant
    formula: Formula
    by_chords: bool = False
    beneath: Constant | None = None

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


def past(formula: Formula, failure: Fraction) -> Formula:
    """Return (δ - p)/(1 - p)."""

    def delta(eps: Any, ops: Operations) -> Probability:
        whole = formula(eps, ops)
        log_p, log_kept = ops.constant(logarithm(failure)), ops.constant(logarithm(1 - failure))

        def log() -> Any:
            value = whole.log()
            return value + ops.log1mexp(log_p - value) - log_kept

        return Probability(log, lambda: whole.log_complement() - log_kept)

    return delta


def failing(formula: Formula, failure: Constant, log_kept: Constant) -> Formula:
    """Return p + (1 - p)·δ, from p > 0 and log(1 - p)."""

    def log_failure() -> arb:
        return BALLS.constant(failure).log()

    def delta(eps: Any, ops: Operations) -> Probability:
        value, kept = formula(eps, ops), ops.constant(log_kept)
        return Probability(
            lambda: ops.logaddexp(ops.constant(log_failure), kept + value.log()),
            lambda: kept + value.log_complement(),
        )

    return delta


def sampled(formula: Formula, gamma: Fraction) -> Formula:
    """Return γ·δ on the scale of ε after sampling, 0 < γ < 1."""
    log_gamma, log_missed = logarithm(gamma), logarithm(1 - gamma)

    def delta(eps: Any, ops: Operations) -> Probability:
        base = formula(eps_before(eps, gamma, ops), ops)
        return Probability(
            lambda: ops.constant(log_gamma) + base.log(),
            # 1 - γδ = (1 - γ) + γ(1 - δ)
            lambda: ops.logaddexp(
                ops.constant(log_missed), ops.constant(log_gamma) + base.log_complement()
            ),
        )

    return delta
