"""The loss of the Gaussian mechanism on a Poisson sample: quadrature on a shifted line.

P = (1 - q)·N(0, σ²) + q·N(1, σ²) against Q = N(0, σ²), in units of the noise u:

    F(w) = ∫ φ(u) g(u)^w du,   g(u) = 1 - q + q·e^{t(u)},   t(u) = u/σ - 1/(2σ²),

whose integrand is analytic for |Im u| < πσ. On Im u = v in [0, πσ) the argument of g lies in
[0, v/σ], so that |g^w| ≤ |g|^{Re w} for all Im w ≥ 0: nodes on Im u = b have an error that does not
grow with Im w, where those on the real line fail for large ones. See docs/composition.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import acb, arb

from gdpbridge.losses.transforms.base import Plan, exponential_sums
from gdpbridge.losses.transforms.gaussian import normal_tail
from gdpbridge.losses.transforms.sampled_search import Quadrature, SampledGaussianSearch
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.kinds import ball

__all__ = ["SampledGaussianTransform"]

# what a real node takes, in units of numeric/effort.py
_EACH_TERM = 100


class SampledGaussianTransform(SampledGaussianSearch):
    """One step of the Poisson-subsampled Gaussian mechanism, add-remove neighbours.

    Args:
        sigma: the noise multiplier σ, positive.
        rate: the sample rate q, strictly between 0 and 1.
    """

    # whether p and q are two laws, so that F(0) = F(1) = 1
    _laws = True

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        assert isinstance(plan, Quadrature)
        height = plan.shift + plan.strip
        if plan.strip > plan.shift or not certainly(ball(height) < arb.pi() * ball(self.sigma)):
            raise ArithmeticError("a strip that the integrand's bound does not hold on")
        shift = ball(plan.shift)
        exponents, losses = self._exponents(plan, w, [acb(x, shift) for x in _places(plan)])
        sums = exponential_sums(exponents, losses, h, count)
        cut = self._cut(plan, w)
        share = 2 * self._strip_error(plan, w, height)
        # F(w) ≤ |sum| + cut + share·F(w)
        size = (abs(sums[0]) + cut) / (1 - share)
        if not certainly(share < 1):
            raise ArithmeticError("a quadrature that is too coarse for any bound")
        around = arb(0, share * size + cut)
        square = acb(around, around)
        return [acb(sums[0].real + around), *(value + square for value in sums[1:])]

    def size(self, w: Fraction, log_error: float) -> arb:
        """Bound F(w) from above by nodes on the real line, where the strip goes up and down.

        With w real no argument matters, so that all of section 2's bounds hold on both sides.
        """
        if self._laws and w in (0, 1):
            return arb(1)
        plan = self.real_plan(w, log_error)
        if not certainly(ball(plan.strip) < arb.pi() * ball(self.sigma)):
            raise ArithmeticError("a strip that the integrand's bound does not hold on")
        spend(_EACH_TERM * plan.terms)
        exponents, _ = self._exponents(plan, w, _places(plan))
        total = sum((exponent.exp() for exponent in exponents), arb(0)) + self._cut(plan, w)
        share = 2 * self._strip_error(plan, w, plan.strip)
        if not certainly(share < 1):
            raise ArithmeticError("a quadrature that is too coarse for any bound")
        return total / (1 - share)

    def _exponents(
        self, plan: Quadrature, w: Fraction, places: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return log of the terms of the sum for w, and L, at real or complex nodes."""
        losses, bases = self._logs(places)
        tilt = ball(w)
        scale = (ball(plan.step) / (2 * arb.pi()).sqrt()).log()
        return [
            loss * tilt + base + (scale - place * place / 2)
            for place, loss, base in zip(places, losses, bases, strict=True)
        ], losses

    def _logs(self, places: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return L and b at nodes: what is integrated is φ·e^{b + wL}."""
        sigma, rate = ball(self.sigma), ball(self.rate)
        inverse, drift = 1 / sigma, 1 / (2 * sigma * sigma)
        kept = 1 - rate
        losses = [(kept + rate * (u * inverse - drift).exp()).log() for u in places]
        return losses, [arb(0)] * len(places)

    def _far_logs(self, places: list[Any], shift: arb) -> tuple[list[Any], list[Any]]:
        """Return L and b on Im u = shift."""
        return self._logs([acb(x, shift) for x in places])

    def _lift(self, height: Fraction) -> arb:
        """Bound |φ| on Im u = height, over φ on the real line."""
        return (ball(height * height) / 2).exp()

    def _strip_error(self, plan: Quadrature, w: Fraction, height: Fraction) -> arb:
        """Return e^{height²/2}/(e^{2πa/η} - 1), as much more as |g| may be smaller off the line."""
        growth = self._lift(height) * self._thinned(w, height)
        return growth / (2 * arb.pi() * ball(plan.strip / plan.step)).expm1()

    def _thinned(self, w: Fraction, height: Fraction) -> arb:
        """Bound the integral of |e^{b + wL}|·φ on Im u = height, over F(w), but for e^{height²/2}.

        |g| may be smaller than on the real line, which counts where its power is below 0.
        """
        powers = self._below_zero(w)
        if powers == 0:
            return arb(1)
        cosine = ball(height / (2 * self.sigma)).cos()
        if not cosine > 0:
            raise ArithmeticError("a strip that is too wide")
        found = (ball(powers) * cosine.log()).exp()
        least = self._least_modulus()
        if least is None or not certainly(2 * ball(height) < arb.pi() * ball(self.sigma)):
            return found
        # F(w) ≥ 1 there
        return found.min((ball(w) * least.log()).exp())

    def _least_modulus(self) -> arb | None:
        """Bound |g| from below where cos(Im u/σ) ≥ 0; None where that bounds no integrand."""
        return 1 - ball(self.rate)

    def _cut(self, plan: Quadrature, w: Fraction) -> arb:
        """Bound the nodes left out, all on Im u = shift."""
        below, above = plan.first * plan.step, plan.last * plan.step
        low, high = self._middle(w)
        if below > low or above < high:
            raise ArithmeticError("nodes that leave out the middle")
        cost = self._lift(plan.shift) * self._thinned(w, plan.shift)
        return cost * (self._cut_below(w, ball(below)) + self._cut_above(w, ball(above)))

    def _log_g_ball(self, x: arb) -> arb:
        sigma, rate = ball(self.sigma), ball(self.rate)
        return (1 - rate + rate * (x / sigma - 1 / (2 * sigma * sigma)).exp()).log()

    def _cut_below(self, w: Fraction, x: arb) -> arb:
        """Bound ∫ φ·g^w below x: g grows, and lies above 1 - q."""
        tail = normal_tail(-x)
        power = self._log_g_ball(x) if w >= 0 else ball(1 - self.rate).log()
        return (ball(w) * power).exp() * tail

    def _cut_above(self, w: Fraction, x: arb) -> arb:
        """Bound ∫ φ·g^w above x: g ≤ (g(x)/e^{t(x)})·e^t there, and g ≥ g(x).

        For w < 0 by no less than the tail itself, as off the real line g may be near its least.
        """
        tilt, log_g = ball(w), self._log_g_ball(x)
        if w < 0:
            return (tilt * log_g).exp().max(arb(1)) * normal_tail(x)
        sigma = ball(self.sigma)
        log_k = log_g - (x / sigma - 1 / (2 * sigma * sigma))
        moved = tilt * log_k + tilt * (tilt - 1) / (2 * sigma * sigma)
        return moved.exp() * normal_tail(x - tilt / sigma)

    def least(self) -> arb | None:
        """Return log(1 - q), which no loss reaches."""
        return (-ball(self.rate)).log1p()

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb:
        """Bound |F(w + iy')| for y' ≥ y by the integral of absolute values on Im u = v.

        |F| ≤ e^{v²/2} ∫ φ·|g(u + iv)|^w e^{-y·arg g(u + iv)} du, which falls in y. That integral is
        the trapezoid sum of a real function, analytic in a strip with a ≤ v and a + v < πσ, or
        a + v < πσ/2, in which its modulus is bounded as on a line, with e^{a²/2}, whatever y.
        """
        assert isinstance(plan, Quadrature)
        reach = (plan.shift + plan.strip) * (1 if plan.strip <= plan.shift else 2)
        if not certainly(ball(reach) < arb.pi() * ball(self.sigma)):
            raise ArithmeticError("a strip that is too wide")
        places, shift = _places(plan), ball(plan.shift)
        losses, bases = self._far_logs(places, shift)
        tilt, height = ball(w), ball(y)
        # e^{v²/2}·φ(u) is what is left of |φ(u + iv)|
        total = sum(
            (
                (tilt * loss.real + base.real - height * loss.imag - x * x / 2).exp()
                for x, loss, base in zip(places, losses, bases, strict=True)
            ),
            arb(0),
        )
        total *= ball(plan.step) / (2 * arb.pi()).sqrt()
        growth = self._lift(plan.strip) * self._thinned(w, plan.strip + plan.shift)
        error = 2 * growth * size / (2 * arb.pi() * ball(plan.strip / plan.step)).expm1()
        return (total + error) * self._lift(plan.shift) + self._cut(plan, w)


def _places(plan: Quadrature) -> list[Any]:
    """Return the nodes' real parts."""
    step = ball(plan.step)
    return [step * j for j in range(plan.first, plan.last + 1)]
