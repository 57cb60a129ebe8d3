"""A curve seen past a failure probability p: what must be Gaussian of an approximate statement.

δ ≤ p + (1 - p)·δ_μ on [0, ∞) holds exactly when (δ - p)/(1 - p) ≤ δ_μ wherever δ > p. A mixture
that fails outright with probability p and is μ-GDP otherwise has such a profile.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.linear import PastFailureLines
from gdpbridge.curves.smooth import ZERO, Curve, Formula, Piece
from gdpbridge.curves.tail import ConstantTail, PlateauTail
from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball, float_below

__all__ = ["below_from", "past_failure"]

_MAX_EPS = 2.0**200


def past_failure(curve: Curve, failure: Fraction) -> Curve:
    """Return ε ↦ max((δ(ε) - p)/(1 - p), 0) for a p in (0, 1) that δ falls to.

    Raises:
        UndecidedError: if no ε with δ(ε) ≤ p was found.
    """
    end = below_from(curve, failure)
    if end == 0:
        return Curve((Piece(end, lambda *_: ZERO),), ConstantTail(end, Fraction(0)), end)
    stop = end() if callable(end) else ball(end)
    kept = [piece for piece in curve.pieces if not BALLS.constant(piece.start) >= stop]
    pieces = tuple(replace(piece, formula=_past(piece.formula, failure)) for piece in kept)
    lines = None if curve.lines is None else PastFailureLines(curve.lines, failure, stop)
    return Curve(pieces, ConstantTail(end, Fraction(0)), end, lines, curve.bounds)


def _past(formula: Formula, failure: Fraction) -> Formula:
    def delta(eps: Any, ops: Operations) -> Probability:
        whole = formula(eps, ops)
        log_p, log_kept = ops.constant(logarithm(failure)), ops.constant(logarithm(1 - failure))

        def log() -> Any:
            value = whole.log()
            return value + ops.log1mexp(log_p - value) - log_kept

        return Probability(log, lambda: whole.log_complement() - log_kept)

    return delta


def below_from(curve: Curve, failure: Fraction) -> Constant:
    """Return an ε from which δ(ε) ≤ p is proved; the least one, up to rounding.

    Raises:
        UndecidedError: if no such ε was found.
    """
    if isinstance(curve.tail, ConstantTail | PlateauTail) and failure == curve.tail.value:
        return curve.tail.start
    if curve.bounds is not None:
        with precision(128):
            return curve.bounds.below_from(float_below(ball(failure).log()))
    with precision(128):
        log_failure = ball(failure).log()

        def holds(eps: float) -> bool:
            log = curve.enclose(ball(Fraction(eps))).log()
            return bool(log <= log_failure)

        if holds(0.0):
            return Fraction(0)
        high = 1.0
        while not holds(high):
            high *= 2
            if high > _MAX_EPS:
                raise UndecidedError(f"no ε was found where δ(ε) falls to {float(failure):g}")
        low = 0.0 if high == 1.0 else high / 2
        # δ is non-increasing: the least float at which it is proved
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if holds(middle) else (middle, high)
    return Fraction(high)
