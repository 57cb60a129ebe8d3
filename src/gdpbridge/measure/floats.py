"""What the float64 methods share: curves compared without cancellation, and their error budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gdpbridge.errors import WorkLimitError
from gdpbridge.gaussian.kernels import log_pair
from gdpbridge.measure.problem import Problem
from gdpbridge.numeric.arrays import Floats

__all__ = ["NOT_PROVED", "Floats", "curve_is_below", "refuse_beyond", "rounded_out", "search"]


NOT_PROVED = "computed in floating point: not proved"

# twice what the float64 curve is tested to
_RELATIVE_ERROR = 2e-12
_LOG_HALF = -math.log(2.0)


def curve_is_below(
    mu: Floats | float, eps: Floats, log_delta: Floats, log_complement: Floats
) -> NDArray[np.bool_]:
    """Return where δ_μ(ε) < δ, compared on whichever of log δ and log(1 - δ) is the longer."""
    log, log_c = log_pair(eps, np.broadcast_to(np.asarray(mu, dtype=np.float64), eps.shape))
    return np.where(log_delta > _LOG_HALF, log_c > log_complement, log < log_delta)


def search(
    eps: Floats, log_delta: Floats, log_complement: Floats, margin: float
) -> tuple[Floats, Floats]:
    """Binary search (P's listing): lattice points mu⁻ ≤ μ(ε, δ) ≤ mu⁺ at most ``margin`` apart."""
    top = 1.0
    while curve_is_below(top, eps, log_delta, log_complement).any():
        top *= 2
    low, high = np.zeros_like(eps), np.full_like(eps, top)
    for _ in range(math.ceil(math.log2(top / margin))):
        middle = (low + high) / 2
        below = curve_is_below(middle, eps, log_delta, log_complement)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low, high


def refuse_beyond(limit: int, needed: int, method: str, problem: Problem) -> None:
    """Refuse work beyond a stated limit, with the number.

    Raises:
        WorkLimitError: if ``needed`` is more than ``limit``.
    """
    if needed > limit:
        raise WorkLimitError(
            f"method {method} would need {needed:,} evaluations for a width of "
            f"{float(problem.tol):g} on [0, {float(problem.end):.6g}], more than its limit of "
            f"{limit:,}: ask for a larger --tol, or use --method certified",
            needed=needed,
            limit=limit,
        )


def rounded_out(low: float, high: float) -> tuple[Fraction, Fraction]:
    """Widen an interval by what the float64 curve may be off."""
    return (
        Fraction(max(low * (1 - _RELATIVE_ERROR), 0.0)),
        Fraction(high * (1 + _RELATIVE_ERROR)),
    )
