"""The privacy loss of one step of the Poisson-subsampled Gaussian mechanism.

P = q·N(1, σ²) + (1 - q)·N(0, σ²) against Q = N(0, σ²), the sensitivity being 1: the record was in
the data (and sampled at rate q), or it was not. L(x) = log(1 - q + q·e^{(2x - 1)/2σ²}) grows in x
and is convex, its slope is at most 1/σ², and no loss is below log(1 - q).

With u = (t - 1 + q)/q and z = σ·log u + 1/2σ, the x/σ at which L = log t:
C(t) = q·Φ(1/σ - z) - (t - 1 + q)·Φ(-z).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.step import Point, Step
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = ["SubsampledGaussian"]

_GRID = 8192
# a multiple of σ beyond which a normal distribution has less than 1e-40 of its mass
_FAR = 14.0
_SAFETY = 1e-9
_HALVINGS = 60
_BITS = 128


class SubsampledGaussian(Step):
    """One step with noise multiplier σ and sample rate q.

    Args:
        noise_multiplier: σ > 0.
        sample_rate: q in (0, 1].
    """

    def __init__(self, noise_multiplier: Fraction, sample_rate: Fraction) -> None:
        self.noise_multiplier, self.sample_rate = noise_multiplier, sample_rate
        self._sigma, self._q = float(noise_multiplier), float(sample_rate)
        # 1 - q from the exact q: as a difference of floats it would be off where q is close to 1
        self._kept = float(1 - sample_rate)
        self._log_kept = math.log(self._kept) if self._kept else -math.inf
        self.bottom = -math.inf
        if sample_rate < 1:
            with precision(_BITS):
                self.bottom = float_below(self.least_loss())
        self.top = math.inf
        # sampling lowers δ(ε), and leaves how it falls in the limit
        self.tail_variance = 1 / noise_multiplier**2

    def least_loss(self) -> arb:
        """Return log(1 - q); 0 for q = 1."""
        return ball(1 - self.sample_rate).log() if self.sample_rate < 1 else arb(0)

    def greatest_loss(self) -> arb:
        """There is none."""
        return arb(0)

    def point(self, eps: arb) -> Point:
        """Enclose the curve, each tail of the normal distribution by its own erfc."""
        sigma, q = ball(self.noise_multiplier), ball(self.sample_rate)
        t = eps.exp()
        kept = t - ball(1 - self.sample_rate)
        if kept <= 0:
            return Point(t, 1 - t, arb(0), arb(1), arb(0))
        root = arb(2).sqrt()
        at_q = (sigma * (kept / q).log() + 1 / (2 * sigma)) / root
        at_p = at_q - 1 / (sigma * root)
        if at_q > 0:
            above, above_p = at_q.erfc() / 2, at_p.erfc() / 2
            call = q * above_p - kept * above
            return Point(t, call, call - (1 - t), above, 1 - above)
        below, below_p = (-at_q).erfc() / 2, (-at_p).erfc() / 2
        put = kept * below - q * below_p
        return Point(t, put + (1 - t), put, 1 - below, below)

    def _loss(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            sampled = np.log(self._q) + (2 * x - 1) / (2 * self._sigma**2)
            loss: Floats = np.logaddexp(self._log_kept, sampled)
        return loss

    def _score(self, eps: Floats) -> Floats:
        """Return x/σ at a loss, -inf below the least one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            # e^ε - (1 - q), without its cancellation for small q and ε
            near = np.log((np.expm1(np.minimum(eps, 1.0)) + self._q) / self._q)
            far = eps - np.log(self._q) + np.log1p(-self._kept * np.exp(-np.maximum(eps, 1.0)))
            log_u = np.where(eps > 1, far, near)
        score: Floats = self._sigma * log_u + 1 / (2 * self._sigma)
        return np.nan_to_num(score, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def log_mass(self, eps: Floats) -> Floats:
        """Subtract normal distribution functions, on the side where they are small."""
        from scipy.special import log_ndtr

        z = self._score(eps)
        low, high = z[:-1], z[1:]
        upper = low + high > 0
        larger = log_ndtr(np.where(upper, -low, high))
        smaller = log_ndtr(np.where(upper, -high, low))
        with np.errstate(divide="ignore", invalid="ignore"):
            mass: Floats = larger + np.log(-np.expm1(smaller - larger))
        return np.nan_to_num(mass, nan=-np.inf, neginf=-np.inf)

    def reach(self, theta: float, log_share: float) -> tuple[float, float]:
        """Look at the tilted density of x, which has one or two peaks."""
        return self._reach(theta, log_share, math.inf)

    def _reach(self, theta: float, log_share: float, top: float) -> tuple[float, float]:
        sigma, center = self._sigma, 0.0
        if theta < 0:
            center = self._lowered_peak(theta)
        highest = max(theta, 0.0) + _FAR * sigma
        if top < math.inf:
            highest = min(highest, sigma * float(self._score(np.array(top))))
        x = np.linspace(center - _FAR * sigma, highest, _GRID)
        loss = self._loss(x)
        density = theta * loss - x**2 / (2 * sigma**2)
        seen = np.flatnonzero(density >= density.max() + log_share)
        return float(loss[max(seen[0] - 1, 0)]), float(loss[min(seen[-1] + 1, _GRID - 1)])

    def _lowered_peak(self, theta: float) -> float:
        """Return the x < 0 with x = θ·P(sampled given x), where the tilted density is largest."""
        low, high = theta, 0.0
        for _ in range(60):
            x = (low + high) / 2
            loss = float(self._loss(np.array(x)))
            sampled = math.exp(math.log(self._q) + (2 * x - 1) / (2 * self._sigma**2) - loss)
            low, high = (low, x) if x > theta * sampled else (x, high)
        return low

    def log_beyond(self, theta: float, eps: float) -> float:
        """Bound L from there on by its tangent of slope 1/σ² for θ > 0, by ε for θ ≤ 0."""
        from scipy.special import log_ndtr

        z = float(self._score(np.array(eps)))
        if theta <= 0:
            bound = theta * eps + float(log_ndtr(-z))
        else:
            shift = theta / self._sigma
            bound = theta * eps + shift * (shift / 2 - z) + float(log_ndtr(shift - z))
        return bound + _SAFETY * (1 + abs(theta * eps) + z * z + (theta / self._sigma) ** 2)

    def log_short_of(self, theta: float, eps: float) -> float:
        """Use that Q against P is the same pair where nothing is sampled away."""
        if self.bottom >= eps:
            return -math.inf
        if self.sample_rate == 1:
            return self.log_beyond(1 - theta, -eps)
        from scipy.special import log_ndtr

        bound = max(theta * eps, theta * self.bottom)
        z = float(self._score(np.array(eps)))
        if z == -math.inf:
            return -math.inf
        return bound + float(log_ndtr(z)) + _SAFETY * (1 + abs(bound) + z * z)

    def capped(self, log_share: float) -> Step | None:
        """Cut the loss where only a share of P is beyond."""
        from scipy.special import log_ndtr

        def log_beyond(z: float) -> float:
            parts = float(log_ndtr(1 / self._sigma - z)), float(log_ndtr(-z))
            with np.errstate(divide="ignore"):
                return float(
                    np.logaddexp(np.log(self._q) + parts[0], np.log1p(-self._q) + parts[1])
                )

        low, high = 0.0, 1.0
        while log_beyond(high) > log_share:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if log_beyond(middle) > log_share else (low, middle)
        cap = float(self._loss(np.array(high * self._sigma)))
        return _Capped(self, Fraction(cap)) if cap > self.bottom else None


class _Capped(SubsampledGaussian):
    """A step whose losses above a cap count as infinite."""

    cut = True

    def __init__(self, whole: SubsampledGaussian, cap: Fraction) -> None:
        super().__init__(whole.noise_multiplier, whole.sample_rate)
        self.cap, self.top, self.tail_variance = cap, float(cap), Fraction(0)
        with precision(_BITS):
            # P(L > c) = E_Q[(e^L - e^c)⁺] + e^c·Q(L > c)
            last = super().point(ball(cap))
            self.failure = Fraction(float_above(last.call + last.t * last.above))

    def _last(self) -> Point:
        return super().point(ball(self.cap))

    def finite_p(self) -> arb:
        """Enclose P(L ≤ c)."""
        last = self._last()
        return 1 - last.call - last.t * last.above

    def finite_q(self) -> arb:
        """Enclose Q(L ≤ c)."""
        return self._last().below

    def greatest_loss(self) -> arb:
        """Return the cap."""
        return ball(self.cap)

    def point(self, eps: arb) -> Point:
        """Take what is beyond the cap out of the curve."""
        last = self._last()
        if eps >= ball(self.cap):
            t = eps.exp()
            return Point(t, arb(0), self.finite_q() * t - self.finite_p(), arb(0), last.below)
        whole = super().point(eps)
        call = whole.call - last.call - (last.t - whole.t) * last.above
        return Point(whole.t, call, whole.put, whole.above - last.above, whole.below)

    def log_mass(self, eps: Floats) -> Floats:
        """There is none above the cap."""
        return super().log_mass(np.minimum(eps, self.top))

    def reach(self, theta: float, log_share: float) -> tuple[float, float]:
        """Look at the tilted density up to the cap."""
        return self._reach(theta, log_share, self.top)

    def log_beyond(self, theta: float, eps: float) -> float:
        """Bound L by the cap."""
        if eps >= self.top:
            return -math.inf
        return max(theta * eps, theta * self.top) + super().log_beyond(0.0, eps)
