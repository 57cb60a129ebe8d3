"""δ̂(ε) as the solution of an equation f(ε, δ) = 0 that cannot be undone step by step.

The unknown is u = log δ, bracketed where f changes its sign and enclosed by bisection; f must be
monotone in δ there, which its derivative in ball arithmetic proves. On a range of ε the solution is
enclosed about that at the centre, and its Taylor coefficients follow from the equation one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, arb_series
from numpy.typing import NDArray

from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import Node
from gdpbridge.guarantees.segments import Segment
from gdpbridge.guarantees.starts import start_of
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, SERIES, Operations

__all__ = ["solved_segment"]

# log δ is looked for between minus 2 to this power and 0
_LEAST_POWER = 60
_FLOAT_STEPS = 120
_EXPANSIONS = 200
_BISECTIONS = 300
_NEWTON_STEPS = 12


def solved_segment(start: Node, difference: Node) -> Segment:
    """Return the solution of ``difference`` = 0 for delta as a segment.

    Args:
        start: where it begins to apply, a formula without names.
        difference: a formula of eps and delta.
    """
    solution = _Solution(difference)
    return Segment(start_of(start), solution, True, solution, slope=solution.slope)


class _Solution:
    """log δ as a function of ε, on any kind of number; 0 where δ would be above 1."""

    def __init__(self, difference: Node) -> None:
        self._difference = difference
        self._centres: dict[tuple[int, arb], arb] = {}
        self._last: arb | None = None

    def __call__(self, eps: Any, ops: Operations) -> Any:
        """Return log δ(ε)."""
        if ops is FLOATS:
            return self._floats(np.asarray(eps, dtype=np.float64))
        if ops is BALLS:
            return self._ball(eps)
        return self._series(eps)

    def _f(self, eps: Any, log_delta: Any, ops: Operations) -> Any:
        return Evaluation(ops, {"eps": eps}, {"delta": log_delta}).value(self._difference)

    # --- floats -----------------------------------------------------------------------------

    def _floats(self, eps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bisect on the exponent of -log δ."""
        with np.errstate(all="ignore"):
            low = np.full(eps.shape, -float(_LEAST_POWER))
            high = np.full(eps.shape, float(_LEAST_POWER))
            at_zero = np.sign(self._f(eps, -np.exp2(low), FLOATS))
            for _ in range(_FLOAT_STEPS):
                middle = (low + high) / 2
                same = np.sign(self._f(eps, -np.exp2(middle), FLOATS)) == at_zero
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            found = np.where(low <= 1 - _LEAST_POWER, 0.0, -np.exp2((low + high) / 2))
            return np.asarray(np.where(self._is_above_one(at_zero), 0.0, found))

    @staticmethod
    def _is_above_one(at_zero: NDArray[np.float64]) -> NDArray[np.bool_]:
        # f > 0 at δ = 1: that much noise is not enough for any δ
        return at_zero > 0

    # --- balls ------------------------------------------------------------------------------

    def _ball(self, eps: arb) -> arb:
        """Enclose the solution at every point of a ball."""
        if eps.is_exact():
            return self._centre(eps)
        # a few bits more than the ball's width deserves are enough
        share, size = eps.rad() / (abs(eps.mid()) + eps.rad()), abs(eps.mid())
        bits = sum(max(0, -int(float(x.log().mid()) / math.log(2))) for x in (share, size, size))
        with precision(min(working_precision(), 64 + bits)):
            centre = self._centre(eps.mid())
            return centre if centre.is_nan() else self._around(eps, centre)

    def _centre(self, eps: arb) -> arb:
        key = working_precision(), eps
        if key not in self._centres:
            if len(self._centres) > 10_000:
                self._centres.clear()
            self._centres[key] = self._solved(eps)
        return self._centres[key]

    def _solved(self, eps: arb) -> arb:
        """Enclose the solution at a point: Newton's method, and a proof by signs."""
        with precision(working_precision() + 64):
            if certainly(self._f(eps, arb(0), BALLS) >= 0):
                return arb(0)
            # the solution found last is often near enough
            found = arb.nan() if self._last is None else self._polished(eps, self._last)
            if found.is_nan():
                candidate = self._bisected(eps)
                found = arb.nan() if candidate is None else self._polished(eps, candidate)
            if not found.is_nan():
                self._last = found.mid()
            return found

    def _polished(self, eps: arb, candidate: arb) -> arb:
        unit = arb(2) ** (64 - working_precision())
        for _ in range(_NEWTON_STEPS):
            step = (self._f(eps, candidate, BALLS) / self._slope(eps, candidate)).mid()
            candidate = (candidate - step).mid()
            if not certainly(candidate < 0):
                return arb.nan()
            if certainly(abs(step) <= -candidate * unit):
                break
        return self._enclosed(eps, candidate, -candidate * unit)

    def _bisected(self, eps: arb) -> arb | None:
        """Return the solution to a few bits, or None if f does not change its sign."""
        low, high = -(arb(2) ** _LEAST_POWER), arb(0)
        if not certainly(self._f(eps, low, BALLS) > 0):
            return None
        for _ in range(_BISECTIONS):
            middle = ((low + high) / 2).mid()
            if high.is_zero():
                middle = (low / 16).mid()
            elif certainly(low < 4 * high):
                middle = -((low * high).sqrt().mid())
            if certainly(self._f(eps, middle, BALLS) > 0):
                low = middle
            else:
                high = middle
            if certainly(low > high * (1 + arb(2) ** -20)):
                break
        return ((low + high) / 2).mid()

    def _enclosed(self, eps: arb, centre: arb, radius: arb) -> arb:
        """Widen a candidate until f has its signs at both ends, for every ε of the ball."""
        for _ in range(_EXPANSIONS):
            low, high = (centre - radius).lower(), (centre + radius).upper().min(arb(0))
            # above 1 the solution is cut off, so that 0 is an upper bound without more
            cut_off = certainly(high >= 0)
            if certainly(self._f(eps, low, BALLS) > 0) and (
                cut_off or certainly(self._f(eps, high, BALLS) < 0)
            ):
                found = low.union(high)
                return found if certainly(self._slope(eps, found) < 0) else arb.nan()
            if certainly(radius > 2 * abs(centre) + 1):
                break
            radius = 4 * radius
        return arb.nan()

    def _slope(self, eps: arb, log_delta: arb) -> arb:
        """Enclose the derivative of f by log δ."""
        value = self._f(arb_series([eps], 2), arb_series([log_delta, 1], 2), SERIES)
        return value[1] if isinstance(value, arb_series) else arb(0)

    def _around(self, eps: arb, centre: arb) -> arb:
        """Enclose the solution for every ε of a ball, given the one at its centre."""
        if centre.is_zero() and certainly(self._f(eps, arb(0), BALLS) >= 0):
            return centre
        radius = eps.rad() / (abs(eps.mid()) + eps.rad())
        if not centre.is_zero():
            radius *= abs(centre)
        return self._enclosed(eps, centre, radius + abs(centre) * arb(2) ** -60)

    def slope(self, low: arb, high: arb) -> arb:
        """Enclose the slope on [low, high] as it would be without the cut at 0."""
        eps = arb_series([low.union(high), 1], 2)
        first = self._ball(eps[0])
        if first.is_zero() or first.is_nan():
            return first
        return self._uncut_slope(eps, first)

    def _uncut_slope(self, eps: arb_series, first: arb) -> arb:
        at_first = self._f(eps, arb_series([first], eps.prec), SERIES)
        return -at_first[1] / self._slope(eps[0], first)

    # --- series -----------------------------------------------------------------------------

    def _series(self, eps: arb_series) -> arb_series:
        """Find the Taylor coefficients one by one: each makes one more of f's vanish."""
        length = eps.prec
        first = self._ball(eps[0])
        if first.is_nan():
            return arb_series([arb.nan()] * length, length)
        if first.is_zero():
            return arb_series([arb(0)], length)
        slope = self._slope(eps[0], first)
        if first.contains(0):
            # to one side the solution is cut off at 0, with slope 0
            kinked = self._uncut_slope(eps, first).union(arb(0))
            return arb_series([first, kinked, *[arb.nan()] * (length - 2)][:length], length)
        found = [first]
        for order in range(1, length):
            so_far = self._f(eps, arb_series(found, length), SERIES)
            found.append(-so_far[order] / slope)
        return arb_series(found, length)
