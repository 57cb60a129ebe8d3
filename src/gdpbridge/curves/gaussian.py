"""The Gaussian curve δ_μ."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb_series

from gdpbridge.curves.constants import Constant, square_root
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import GaussianCurveTail
from gdpbridge.gaussian import enclosures
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability

__all__ = ["gaussian_curve", "gaussian_root"]


def gaussian_curve(mu: Constant) -> SmoothCurve:
    """Return the curve δ_μ, μ ≥ 0."""

    def delta(eps: Any, ops: Operations) -> Probability:
        width = ops.constant(mu)
        if ops is BALLS:
            return enclosures.probability(eps, width)
        if ops is FLOATS:
            from gdpbridge.gaussian import curve

            return Probability(
                lambda: curve.log_delta(eps, width),
                lambda: curve.log_delta_complement(eps, width),
            )
        low, high = eps[0].lower(), eps[0].upper()
        return Probability(
            lambda: _chained(enclosures.log_delta_series(low, high, width), eps),
            lambda: _chained(enclosures.log_delta_complement_series(low, high, width), eps),
        )

    end = Fraction(0) if mu == 0 else None
    return SmoothCurve((Piece(Fraction(0), delta, beneath=mu),), GaussianCurveTail(mu), end)


def _chained(outer: arb_series, inner: arb_series) -> arb_series:
    """Return the series of outer(inner(x)); ``outer`` is in powers of the step of ``inner``."""
    step = inner - inner[0]
    step = arb_series([0, *step.coeffs()[1:]], inner.prec)
    return outer[0] + outer[1] * step + outer[2] * step * step


def gaussian_root(times: int, mu: Fraction) -> Constant:
    """Return √times·μ."""
    return square_root(times * mu**2)
