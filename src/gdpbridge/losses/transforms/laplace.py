"""The loss of Laplace noise: two atoms ±ε₀ and a density between them.

With ε₀ = Δ/b, P(L = ε₀) = 1/2, Q(L = -ε₀) = 1/2, and between the two places of the noise L falls
linearly. Integrating gives

    F(w) = e^{(w-1)ε₀}/2 + e^{-wε₀}/2 + (ε₀/2)·e^{-ε₀/2}·sinhc((1/2 - w)ε₀),  sinhc x = sinh(x)/x,

which is unchanged by w → 1 - w, as the pair is symmetric.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb

from gdpbridge.losses.transforms.base import Plan, Transform
from gdpbridge.numeric.kinds import ball

__all__ = ["LaplaceTransform"]


class LaplaceTransform(Transform):
    """Laplace noise on one number.

    Args:
        epsilon: ε₀, sensitivity over scale, positive.
    """

    symmetric = True

    def __init__(self, epsilon: Fraction) -> None:
        self.epsilon = epsilon

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        eps = float(self.epsilon)
        x = abs(0.5 - w) * eps
        log_sinhc = x - math.log(2 * x) + math.log1p(-math.exp(-2 * x)) if x > 1e-6 else 0.0
        parts = ((w - 1) * eps, -w * eps, math.log(eps) - eps / 2 + log_sinhc)
        top = max(parts)
        return top + math.log(sum(math.exp(part - top) for part in parts) / 2)

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        eps, start, step = ball(self.epsilon), ball(w), ball(h)
        middle = ball(Fraction(1, 2) - w)
        scale = eps * (-eps / 2).exp()
        turn = acb(0, 1)
        found = []
        for number in range(count):
            place = acb(start, step * number)
            # sinh(x)/x = sin(ix)/(ix)
            sinhc = (turn * acb(middle, -step * number) * eps).sinc()
            found.append((((place - 1) * eps).exp() + (-place * eps).exp() + scale * sinhc) / 2)
        return found

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of the bound over F(w)."""
        eps = float(self.epsilon)
        ends = max((w - 1) * eps, -w * eps)
        both = math.exp((w - 1) * eps - ends) + math.exp(-w * eps - ends)
        return min(0.0, ends + math.log(both * (1 + 1 / (2 * y)) / 2) - self.log_size(w))

    def beyond(self, plan: Plan, w: Fraction, y: Fraction) -> arb:
        """Bound |F(w + iy')| for y' ≥ y: the atoms, and |sinh((1/2 - w)ε₀)/(1/2 - w)| ≤ cosh/y."""
        eps, at = ball(self.epsilon), ball(w)
        ends = ((at - 1) * eps).exp() + (-at * eps).exp()
        # (1/2)·e^{-ε₀/2}·|sinh x| ≤ (1/4)·(e^{(w-1)ε₀} + e^{-wε₀})
        return ends / 2 * (1 + 1 / (2 * ball(y)))

    def largest(self) -> arb:
        """Return ε₀."""
        return ball(self.epsilon)

    def least(self) -> arb:
        """Return -ε₀."""
        return -ball(self.epsilon)
