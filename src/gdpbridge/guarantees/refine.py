"""Refinement of a profile that was inverted from a trade-off σ = g(ε, δ).

Each pair (ε₀, δ̂(ε₀)) also implies smaller ε at a larger δ: by the exact partial order the implied
curve is, in t = e^ε, the straight line through (t₀, δ̂(t₀)) and (-1, 1). The refined profile is the
lower envelope of all these lines and δ̂ (Liu, Sun, Jiang and Kong 2022, theorem on the partial
order). With h(t) = (1 - δ̂(t))/(1 + t) the best line is the one with the largest h.

The naive profile must be, in t, first concave (possibly nowhere) and then convex, and tend to 0.
Then N = -(1 + t)² h' rises and falls to -1, so that it has at most one zero on the convex part:
there h has its maximum, at ε_i. Below ε_i the line is the better one, except near 0 if h
starts out even larger there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, arb_series

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Piece
from gdpbridge.numeric.decide import (
    MorePrecisionError,
    certainly,
    is_above,
    is_below,
    with_enough_precision,
)
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import BALLS, SERIES, Operations, Probability, to_fraction

__all__ = ["NaiveProfile", "line_to", "refine"]

# enough to decide which of the shapes a profile has
_SHAPE_BITS = 256


@dataclass(frozen=True)
class NaiveProfile:
    """An inverted trade-off, before refinement.

    Attributes:
        log_delta: log δ̂(ε) on any kind of number.
        below_one_from: the ε ≥ 0 from which δ̂ ≤ 1.
        convex_from: an ε from which δ̂ is convex in e^ε; before it, concave.
    """

    log_delta: Callable[[Any, Operations], Any]
    below_one_from: Constant
    convex_from: Constant


def refine(naive: NaiveProfile) -> tuple[tuple[Piece, ...], Constant]:
    """Return the refined pieces, and the ε from which the naive profile is what applies.

    Raises:
        UndecidedError: if the shape cannot be decided (parameters at an exact borderline).
    """
    plain = Piece(
        Fraction(0), lambda eps, ops: Probability.from_log(ops, naive.log_delta(eps, ops))
    )

    def shape() -> tuple[_Root | None, _Root | None]:
        touching = _tangent_point(naive)
        return touching, _crossing(naive, touching) if touching else None

    undecided = "whether the naive profile can be refined is a borderline case"
    touching, crossing = with_enough_precision(_SHAPE_BITS, shape, undecided)
    if touching is None:
        return (plain,), Fraction(0)
    line, rest = line_to(naive.log_delta, touching), Piece(touching, plain.formula)
    if crossing is None:
        return (Piece(Fraction(0), line), rest), touching
    return (plain, Piece(crossing, line), rest), touching


def line_to(
    log_delta: Callable[[Any, Operations], Any], touching: Constant
) -> Callable[[Any, Operations], Probability]:
    """Return the line through (-1, 1) and the touching point: 1 - δ = h·(1 + e^ε)."""

    def log_height() -> arb:
        at = BALLS.constant(touching)
        return BALLS.log1mexp(log_delta(at, BALLS)) - BALLS.log1pexp(at)

    def log_touching() -> arb:
        return log_delta(BALLS.constant(touching), BALLS)

    def delta(eps: Any, ops: Operations) -> Probability:
        at, log_at = ops.constant(touching), ops.constant(log_touching)
        height = ops.constant(log_height)

        def log() -> Any:
            # δ = δ_i + h (e^ε_i - e^ε), written so that nothing cancels where δ is tiny
            steepness = ops.exp(height + at - log_at)
            return log_at + ops.log1p(-steepness * ops.expm1(eps - at))

        return Probability(log, lambda: height + ops.log1pexp(eps))

    return delta


class _Root:
    """A zero found on demand, to whatever precision is in force, and proved by a sign change."""

    def __init__(self, function: Callable[[arb], arb], low: Constant, high: Constant) -> None:
        self._function, self._low, self._high = function, low, high
        self._known: dict[int, arb] = {}

    def __call__(self) -> arb:
        """Return a ball that holds the zero, at whose ends the function changes sign."""
        bits = working_precision()
        if bits not in self._known:
            self._known[bits] = self._located(bits)
        return self._known[bits]

    def _located(self, bits: int) -> arb:
        """Solve with as many bits as the signs need, which may be more than the ones in force."""
        undecided = "a breakpoint of the refined profile could not be enclosed"
        return with_enough_precision(bits, lambda: self._solve(working_precision()), undecided)

    def _solve(self, bits: int) -> arb:
        low, high = BALLS.constant(self._low).mid(), BALLS.constant(self._high).mid()
        at_low, at_high = self._function(low), self._function(high)
        rising = certainly(at_low < 0) and certainly(at_high > 0)
        if not (rising or (certainly(at_low > 0) and certainly(at_high < 0))):
            raise MorePrecisionError
        for _ in range(2 * bits):
            # a zero far below 1 is a matter of its exponent
            wide = certainly(low > 0) and certainly(high > 4 * low)
            middle = ((low * high).sqrt() if wide else (low + high) / 2).mid()
            value = self._function(middle)
            if value.contains(0):
                return self._widened(middle, bits)
            low, high = (low, middle) if certainly(value > 0) == rising else (middle, high)
        return low.union(high)

    def _widened(self, middle: arb, bits: int) -> arb:
        """Enlarge a point whose sign is lost to rounding until both ends have their signs."""
        radius = abs(middle) * arb(2) ** -bits
        for _ in range(bits):
            radius *= 2
            left, right = (
                self._function((middle - radius).mid()),
                self._function((middle + radius).mid()),
            )
            if (certainly(left < 0) and certainly(right > 0)) or (
                certainly(left > 0) and certainly(right < 0)
            ):
                return middle + arb(0, radius)
        raise MorePrecisionError


def _slope_sign(naive: NaiveProfile) -> Callable[[arb], arb]:
    """Return N(ε) = -δ̂'(ε)(1 + e^{-ε}) - (1 - δ̂(ε)), of the sign of dh/dε."""

    def sign(eps: arb) -> arb:
        series = naive.log_delta(arb_series([eps, 1], 2), SERIES).exp()
        value, slope = series[0], series[1]
        return -slope * (1 + (-eps).exp()) - (1 - value)

    return sign


def _tangent_point(naive: NaiveProfile) -> _Root | None:
    """Return ε_i, the place of the maximum of h on the convex part, or None if h only falls."""
    sign = _slope_sign(naive)
    start = BALLS.constant(naive.convex_from).max(BALLS.constant(naive.below_one_from)).upper()
    if not is_above(start) or is_below(sign(start)):
        return None
    factor = arb(2)
    while not certainly(sign(start * factor) < 0):
        factor *= factor
    return _Root(sign, to_fraction(start), to_fraction((start * factor).mid()))


def _crossing(naive: NaiveProfile, touching: _Root) -> _Root | None:
    """Return where the naive profile rises above the line, or None if it starts above it."""
    line = line_to(naive.log_delta, touching)

    def gap(eps: arb) -> arb:
        return naive.log_delta(eps, BALLS) - line(eps, BALLS).log()

    at_start = BALLS.constant(naive.below_one_from)
    # δ̂ = 1 where it begins, and the line is below 1
    if is_above(at_start) or is_above(gap(at_start)):
        return None
    # N is positive here, so that h has left its valley and the line is below
    middle = BALLS.constant(naive.convex_from).lower()
    return _Root(gap, Fraction(0), to_fraction(middle))
