"""The loss of the Gaussian mechanism: L is N(-μ²/2, μ²) under Q, and so F(w) = e^{μ²(w² - w)/2}."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.base import Plan, Transform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import ball

__all__ = ["GaussianTransform", "log_normal_tail", "normal_tail"]

# beyond it erfc is 0 in floats, and Mills' ratio is 1/x to a thousandth
_FAR = 35.0


class GaussianTransform(Transform):
    """N(0, 1) against N(μ, 1); runs with μ₁, μ₂, … are one with μ² = Σ μ_i².

    Args:
        variance: μ², positive.
    """

    symmetric = True

    def __init__(self, variance: Fraction) -> None:
        self.variance = self.tail_variance = variance

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        return float(self.variance) * w * (w - 1) / 2

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, mean and variance."""
        variance = float(self.variance)
        half = variance / 2
        return half * w * (w - 1), half * (2 * w - 1), np.full(w.shape, variance)

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        half, start, step = ball(self.variance / 2), ball(w), ball(h)
        places = [acb(start, step * number) for number in range(count)]
        return [(half * (place * place - place)).exp() for place in places]

    def log_decay(self, w: float, y: float) -> float:
        """Return log |F(w + iy)|/F(w), which is exact."""
        return -float(self.variance) * y * y / 2

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb:
        """Bound |F(w + iy')| for y' ≥ y: it is e^{μ²(w² - w - y'²)/2}."""
        return ball(self.variance / 2 * (w * w - w - y * y)).exp()


def normal_tail(x: arb) -> arb:
    """Return P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def log_normal_tail(x: float) -> float:
    """Return its logarithm in float64."""
    if x < _FAR:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi))
