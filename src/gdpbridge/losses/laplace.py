"""The privacy loss of Laplace noise: on [-ε₀, ε₀] with ε₀ = Δ/b, and mass at both ends.

There C(t) = 1 - √t·e^{-ε₀/2}; both directions are the same.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.step import Point, Step
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import ball

__all__ = ["LaplaceLoss"]


class LaplaceLoss(Step):
    """The loss of Laplace noise with Δ/b = ε₀ > 0."""

    symmetric = True

    def __init__(self, eps0: Fraction) -> None:
        self.eps0 = eps0
        self.bottom, self.top = -float(eps0), float(eps0)

    def least_loss(self) -> arb:
        """Return -ε₀."""
        return ball(-self.eps0)

    def greatest_loss(self) -> arb:
        """Return ε₀."""
        return ball(self.eps0)

    def point(self, eps: arb) -> Point:
        """Enclose the curve."""
        t = eps.exp()
        if eps <= -self.greatest_loss():
            return Point(t, 1 - t, arb(0), arb(1), arb(0))
        if eps >= self.greatest_loss():
            return Point(t, arb(0), t - 1, arb(0), arb(1))
        root = (eps / 2).exp()
        least = (ball(-self.eps0) / 2).exp()
        above = least / (2 * root)
        return Point(t, 1 - root * least, root * (root - least), above, 1 - above)

    def _above(self, eps: Floats) -> Floats:
        inside = np.exp(-(np.clip(eps, self.bottom, self.top) + self.top) / 2) / 2
        return np.where(eps < self.bottom, 1.0, np.where(eps >= self.top, 0.0, inside))

    def log_mass(self, eps: Floats) -> Floats:
        """Subtract the tails."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(-np.diff(self._above(eps)), 0.0)))

    def reach(self, theta: float, log_share: float) -> tuple[float, float]:
        """Return all of the range."""
        return self.bottom, self.top

    def log_beyond(self, theta: float, eps: float) -> float:
        """Bound e^{θL} by the larger end."""
        if eps >= self.top:
            return -math.inf
        return max(theta * eps, theta * self.top) + 1e-9 * (1 + abs(theta * self.top))

    def log_short_of(self, theta: float, eps: float) -> float:
        """Likewise, as losses are the same in both directions."""
        return self.log_beyond(1 - theta, -eps)
