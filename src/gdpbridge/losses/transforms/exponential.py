"""Losses with a density of e^{-x/2} and atoms at both ends: clipped noise, and bounded ranges.

Under Q the loss has the density (D/2)·e^{-(x+r)/2} on [-r, r] and atoms m at -r and m·e^{-r} at r;
with probability f it is infinite. The pair is symmetric, 1 - f = m(1 + e^{-r}) + D(1 - e^{-r}), and

    F(w) = m·(e^{(w-1)r} + e^{-wr}) + D·r·e^{-r/2}·sinhc((w - 1/2)r),  sinhc x = sinh(x)/x.

Laplace noise has m = D = 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from gdpbridge.losses.transforms.base import Number, Plan, Transform, number_ball
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["ExponentialLoss", "ExponentialTransform", "laplace_transform"]


@dataclass(frozen=True)
class ExponentialLoss:
    """The numbers of such a loss.

    Attributes:
        width: r, positive.
        atom: m, at least 0.
        density: D, positive.
        failure: f in [0, 1).
    """

    width: Fraction
    atom: Fraction
    density: Number
    failure: Fraction = Fraction(0)


class ExponentialTransform(Transform):
    """One run of a mechanism with such a loss."""

    symmetric = True

    def __init__(self, loss: ExponentialLoss) -> None:
        self.loss = loss
        self.failure = self.reverse_failure = loss.failure
        with precision(64):
            density = float(number_ball(loss.density))
        self._floats = float(loss.width), float(loss.atom), density

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        width, atom, density = self._floats
        x = abs(w - 0.5) * width
        log_sinhc = x - math.log(2 * x) + math.log1p(-math.exp(-2 * x)) if x > 1e-6 else 0.0
        # e^{(w-1)r} + e^{-wr} = 2·e^{-r/2}·cosh x
        parts = [math.log(density * width) + log_sinhc]
        if atom:
            parts.append(math.log(2 * atom) + _log_cosh(x))
        top = max(parts)
        return top + math.log(sum(math.exp(part - top) for part in parts)) - width / 2

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        width, start, step = ball(self.loss.width), ball(w - Fraction(1, 2)), ball(h)
        scale = (-width / 2).exp()
        atom = 2 * ball(self.loss.atom) * scale
        density = number_ball(self.loss.density) * width * scale
        found = []
        for number in range(count):
            x = acb(start, step * number) * width
            # sinh(x)/x = sin(ix)/(ix)
            value = (acb(0, 1) * x).sinc() * density
            found.append(value + x.cosh() * atom if self.loss.atom else value)
        return found

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of the bound over F(w)."""
        width, atom, density = self._floats
        log_ends = math.log(2 * atom + density / y) + _log_cosh(abs(w - 0.5) * width) - width / 2
        return min(0.0, log_ends - self.log_size(w))

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb:
        """Bound |F(w + iy')| for y' ≥ y: |sinh| and |cosh| are at most cosh of the real part."""
        width = ball(self.loss.width)
        cosh = (ball(w - Fraction(1, 2)) * width).cosh() * (-width / 2).exp()
        return cosh * (2 * ball(self.loss.atom) + number_ball(self.loss.density) / ball(y))

    def largest(self) -> arb:
        """Return r."""
        return ball(self.loss.width)

    def least(self) -> arb:
        """Return -r."""
        return -ball(self.loss.width)


def laplace_transform(epsilon: Fraction) -> ExponentialTransform:
    """Return the loss of Laplace noise, ε₀ = sensitivity over scale."""
    half = Fraction(1, 2)
    return ExponentialTransform(ExponentialLoss(epsilon, half, half))


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)
