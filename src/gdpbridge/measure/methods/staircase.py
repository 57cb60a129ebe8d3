"""P's naive listing: two staircases on a fixed grid, one binary search a step.

On the cell [x⁻, x⁺], G lies between μ(x⁻, δ(x⁺)) and μ(x⁺, δ(x⁻)) (Liu, Sun, Jiang and Kong 2022,
staircase theorem; their listings pair the arguments the wrong way round). As 0 ≤ ∂μ/∂ε ≤ √(π/2),
the two maxima differ by at most √(2π)·d for a grid step d (the paper has √2·π there).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from gdpbridge.curves.base import Form
from gdpbridge.measure.floats import NOT_PROVED, refuse_beyond, rounded_out, search
from gdpbridge.measure.method import FLOATS, Method
from gdpbridge.measure.problem import Answer, Problem

__all__ = ["METHOD", "grid_steps", "solve"]

MAX_EVALUATIONS = 2_000_000
_BLOCK = 8192


def grid_steps(problem: Problem) -> int:
    """Return the number of steps whose staircases differ by at most half the tolerance."""
    steps = 2 * math.sqrt(2 * math.pi) * float(problem.end) / float(problem.tol)
    return max(1, math.ceil(steps))


def solve(problem: Problem) -> Answer:
    """Measure with P's naive listing.

    Half the tolerance goes to the staircases and a quarter to each of the two searches.

    Raises:
        WorkLimitError: if more than two million evaluations of the profile would be needed.
    """
    steps = grid_steps(problem)
    refuse_beyond(MAX_EVALUATIONS, steps + 1, "staircase", problem)
    end, margin = float(problem.end), float(problem.tol) / 4
    low, high, at = 0.0, 0.0, 0.0
    for first in range(0, steps, _BLOCK):
        index = np.arange(first, min(first + _BLOCK, steps) + 1)
        points = np.asarray(index * (end / steps), dtype=np.float64)
        log, log_c = problem.curve.logs(points)
        left, right = points[:-1], points[1:]
        lower, _ = search(left, log[1:], log_c[1:], margin)
        _, upper = search(right, log[:-1], log_c[:-1], margin)
        best = int(np.argmax(lower))
        if lower[best] > low:
            # G(x⁺) is at least the lower step
            low, at = float(lower[best]), float(right[best])
        high = max(high, float(upper.max()))
        problem.progress("climbing the staircases", float(points[-1]) / (end or 1.0))
    ends = rounded_out(low, high)
    return Answer(*ends, Fraction(at), steps + 1, steps, (NOT_PROVED,))


METHOD = Method(
    name="staircase",
    sentence="the source paper's naive listing, in floating point",
    assurance=FLOATS,
    handles=frozenset({Form.SMOOTH, Form.LINEAR, Form.VALUES}),
    solve=solve,
)
