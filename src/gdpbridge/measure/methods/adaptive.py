"""First-order bounds that split only the cells which can still hold the supremum.

On [x⁻, x⁺] a non-increasing δ has G ≤ μ(x⁺, δ(x⁻)); nothing else is asked of the profile. Near a
maximum G is flat, so that about tol^(-1/2) cells remain: far fewer than a fixed grid's 1/tol.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gdpbridge.curves.base import Form
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.measure.floats import NOT_PROVED, refuse_beyond, rounded_out
from gdpbridge.measure.method import FLOATS, Method
from gdpbridge.measure.problem import Answer, Problem

__all__ = ["METHOD", "solve"]

MAX_EVALUATIONS = 20_000_000
_FIRST_CELLS = 64


def solve(problem: Problem) -> Answer:
    """Measure by bisection of the cells that can still hold the supremum.

    Raises:
        WorkLimitError: if more than twenty million evaluations would be needed.
    """
    # a share of the tolerance is kept back for outward rounding
    tol = 0.9 * float(problem.tol)
    points = np.linspace(0.0, float(problem.end), _FIRST_CELLS + 1)
    log, log_c = problem.curve.logs(points)
    values = mu_from_logs(points, log, log_c)
    evaluations = points.size
    best = int(np.argmax(values))
    low, at, high, cells = float(values[best]), float(points[best]), 0.0, 0
    left, right = points[:-1], points[1:]
    log, log_c = log[:-1], log_c[:-1]
    while left.size:
        upper = mu_from_logs(right, log, log_c)
        middle = (left + right) / 2
        # a cell as narrow as two neighbouring floats cannot be split
        open_ = (upper > low + tol) & (left < middle) & (middle < right)
        done = upper[~open_]
        high, cells = max(high, float(done.max(initial=0.0))), cells + done.size
        left, middle, right = left[open_], middle[open_], right[open_]
        log, log_c = log[open_], log_c[open_]
        evaluations += middle.size
        refuse_beyond(MAX_EVALUATIONS, evaluations, "adaptive", problem)
        log_m, log_c_m = problem.curve.logs(middle)
        values = mu_from_logs(middle, log_m, log_c_m)
        if values.size and values.max() > low:
            best = int(np.argmax(values))
            low, at = float(values[best]), float(middle[best])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        log, log_c = np.concatenate([log, log_m]), np.concatenate([log_c, log_c_m])
        problem.progress(f"splitting {left.size:,} cells", 1.0 - left.size / (evaluations + 1))
    # a function taken on trust may rise by its rounding
    high = max(low, high)
    return Answer(*rounded_out(low, high), Fraction(at), evaluations, cells, (NOT_PROVED,))


METHOD = Method(
    name="adaptive",
    sentence="splitting cells in floating point",
    assurance=FLOATS,
    handles=frozenset({Form.SMOOTH, Form.LINEAR, Form.VALUES}),
    solve=solve,
)
