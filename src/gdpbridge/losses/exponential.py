"""The lattice's step of a loss with a density of e^{-x/2} and atoms at both ends.

With u = e^{(ε-r)/2}, C(t) = (1 - u)(m(1 + u) + D(1 - u)); both directions are the same.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from gdpbridge.losses.step import Point, Step
from gdpbridge.losses.transforms.base import number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["ExponentialStep"]


class ExponentialStep(Step):
    """One run of a mechanism with such a loss."""

    symmetric = True

    def __init__(self, loss: ExponentialLoss) -> None:
        self.loss = loss
        self.failure = self.reverse_failure = loss.failure
        self.bottom, self.top = -float(loss.width), float(loss.width)
        with precision(64):
            self._density = float(number_ball(loss.density))

    def least_loss(self) -> arb:
        """Return -r."""
        return ball(-self.loss.width)

    def greatest_loss(self) -> arb:
        """Return r."""
        return ball(self.loss.width)

    def point(self, eps: arb) -> Point:
        """Enclose the curve."""
        t, finite = eps.exp(), self.finite_q()
        if certainly(eps <= self.least_loss()):
            return Point(t, finite * (1 - t), arb(0), finite, arb(0))
        if certainly(eps >= self.greatest_loss()):
            return Point(t, arb(0), finite * (t - 1), arb(0), finite)
        width = ball(self.loss.width)
        atom, density = ball(self.loss.atom), number_ball(self.loss.density)
        u, mirrored = ((eps - width) / 2).exp(), (-(eps + width) / 2).exp()

        def call(at: arb) -> arb:
            return (1 - at) * (atom * (1 + at) + density * (1 - at))

        least = (-width).exp()
        above = atom * least + density * (mirrored - least)
        return Point(t, call(u), t * call(mirrored), above, atom + density * (1 - mirrored))

    def _above(self, eps: Floats) -> Floats:
        least, atom = math.exp(-self.top), float(self.loss.atom)
        inside = np.exp(-(np.clip(eps, self.bottom, self.top) + self.top) / 2) - least
        inside = atom * least + self._density * inside
        whole = 1.0 - float(self.failure)
        return np.where(eps < self.bottom, whole, np.where(eps >= self.top, 0.0, inside))

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
