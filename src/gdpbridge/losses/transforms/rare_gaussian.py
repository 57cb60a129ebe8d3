"""The part of a sampled Gaussian loss that a few steps' noise may bring, and the rest of it.

The steps are split by their noise u, softly: χ(u) = Φ((u - u₀)/τ) of each is rare, 1 - χ usual. Off
the real line |χ(x + iv)| ≤ e^{v²/2τ²}·χ(x), as χ is an integral of normal densities, and the same
of 1 - χ: what is integrated grows by e^{v²(1 + 1/τ²)/2}, not by e^{v²/2} alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.gaussian import log_normal_tail, normal_tail
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.losses.transforms.sampled_search import Complexes
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import ball

__all__ = ["SplitGaussianTransform"]


class SplitGaussianTransform(SampledGaussianTransform):
    """∫ φ·χ·g^w, or ∫ φ·(1 - χ)·g^w for w ≥ 0.

    Args:
        sigma: the noise multiplier σ, positive.
        rate: the sample rate q, strictly between 0 and 1.
        start: u₀, at least 0.
        width: τ, positive.
        rare: whether it is χ that counts, and not 1 - χ.
    """

    def __init__(
        self, sigma: Fraction, rate: Fraction, start: Fraction, width: Fraction, *, rare: bool
    ) -> None:
        super().__init__(sigma, rate)
        self.start, self.width, self.rare = start, width, rare
        self._sign = 1 if rare else -1

    # --- floats --------------------------------------------------------------------------------

    @property
    def _bend(self) -> float:
        return 1 + float(self.width) ** -2

    def _log_share(self, u: Floats) -> Floats:
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(self._sign * (u - float(self.start)) / float(self.width)))

    @property
    def _step(self) -> float:
        return min(super()._step, 0.6 * float(self.width))

    def _log_weight(self, w: Any, u: Floats) -> Floats:
        return super()._log_weight(w, u) + self._log_share(u)

    def _maxima(self, w: Floats) -> tuple[Floats, Floats]:
        start = float(self.start)
        first, last = super()._maxima(w)
        if self.rare:
            return np.maximum(first, start), np.maximum(last, start)
        return np.minimum(first, start), np.minimum(last, start)

    def _shifted_logs(self, w: float, u: Complexes) -> tuple[Floats, Floats]:
        log, angle = super()._shifted_logs(w, u)
        return log + self._log_share(u.real), angle

    def _log_cut_below(self, w: float, x: float, shift: float) -> float:
        found = super()._log_cut_below(w, x, shift)
        return found + float(self._log_share(np.array([x]))[0]) if self.rare else found

    def _log_cut_above(self, w: float, x: float, shift: float) -> float:
        if self.rare:
            return super()._log_cut_above(w, x, shift)
        sigma, start, width = self._s, float(self.start), float(self.width)
        place = (w / sigma + start / width**2) / self._bend
        top = (place**2 * self._bend - (start / width) ** 2 - w / sigma**2) / 2
        log_k = self._log_g_at(x) - (x / sigma - 0.5 / sigma**2)
        tail = log_normal_tail((x - place) * math.sqrt(self._bend))
        return w * log_k + top + tail - math.log(2 * math.sqrt(self._bend))

    def _log_flat(self, w: float) -> float:
        return math.inf

    # --- balls ---------------------------------------------------------------------------------

    def _least_modulus(self) -> None:
        """Return None: F(w) may be below 1."""
        return None

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        if self.rare:
            return super()._middle(w)
        bend = 1 + 1 / self.width**2
        place = (w / self.sigma + self.start / self.width**2) / bend
        return Fraction(0), max(place, self.start)

    def _lift(self, height: Fraction) -> arb:
        """Bound how much what is integrated, but for g, grows off the real line."""
        return (ball(height * height * (1 + 1 / self.width**2)) / 2).exp()

    def _share_ball(self, u: Any) -> Any:
        unit = -self._sign / (ball(self.width) * arb(2).sqrt())
        return ((u - ball(self.start)) * unit).erfc() / 2

    def _logs(self, places: list[Any]) -> tuple[list[Any], list[Any]]:
        losses, _ = super()._logs(places)
        return losses, [self._share_ball(u).log() for u in places]

    def _far_logs(self, places: list[Any], shift: arb) -> tuple[list[Any], list[Any]]:
        """Return L on Im u = shift, and log χ on the real line."""
        losses, _ = super()._logs([acb(x, shift) for x in places])
        return losses, [acb(self._share_ball(x).log()) for x in places]

    def _cut_below(self, w: Fraction, x: arb) -> arb:
        found = super()._cut_below(w, x)
        return found * self._share_ball(x) if self.rare else found

    def _cut_above(self, w: Fraction, x: arb) -> arb:
        """Bound ∫ φ·(1 - χ)·g^w above x ≥ u₀: 1 - χ ≤ e^{-(u - u₀)²/2τ²}/2 there."""
        if self.rare:
            return super()._cut_above(w, x)
        if w < 0:
            raise ArithmeticError("what is usual has no place below 0")
        sigma, bend = ball(self.sigma), ball(1 + 1 / self.width**2)
        place = ball(w / self.sigma + self.start / self.width**2) / bend
        top = (place * place * bend - ball((self.start / self.width) ** 2 + w / self.sigma**2)) / 2
        log_k = self._log_g_ball(x) - (x / sigma - 1 / (2 * sigma * sigma))
        tail = normal_tail((x - place) * bend.sqrt()) / bend.sqrt() / 2
        return (ball(w) * log_k + top).exp() * tail
