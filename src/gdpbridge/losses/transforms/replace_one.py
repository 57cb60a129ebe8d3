"""The loss of the Gaussian mechanism on a Poisson sample, where a record is replaced.

P = (1 - q)·N(0, σ²) + q·N(1, σ²) against Q = (1 - q)·N(0, σ²) + q·N(-1, σ²). In units of the noise

    F(w) = ∫ φ(u) A(u)^w B(u)^{1-w} du,   A(u) = 1 - q + q·e^{u/σ - 1/(2σ²)},   B(u) = A(-u).

On Im u = v in [0, πσ) the argument of A lies in [0, v/σ] and that of B in [-v/σ, 0], so that the
modulus of the integrand is at most φ·A^{Re w}·B^{1 - Re w} at Re u, times powers of a cosine where
an exponent is below 0, for all Im w ≥ 0. All else is as for one mixture; see docs/composition.md,
which also has why the pair dominates.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import ball

__all__ = ["ReplaceOneTransform"]

_HALF = Fraction(1, 2)
_HALF_WAY = 0.5
# towards the maxima of what is integrated
_ROUNDS = 10


class ReplaceOneTransform(SampledGaussianTransform):
    """One step of the Poisson-subsampled Gaussian mechanism, replace-one neighbours.

    Args:
        sigma: the noise multiplier σ, positive.
        rate: the sample rate q, strictly between 0 and 1.
    """

    symmetric = True

    @property
    def gaussian_variance(self) -> Fraction:
        """For q ≤ 1/2 the parts of both mixtures match up so that none is more than 1 apart."""
        return self.tail_variance * (1 if self.rate <= _HALF else 4)

    # --- floats --------------------------------------------------------------------------------

    def _log_weight(self, w: Floats, u: Floats) -> tuple[Floats, Floats]:
        ahead, back = self._log_g(u), self._log_g(-u)
        return w * ahead + (1 - w) * back, ahead - back

    def _below_zero(self, w: Any) -> Any:
        return min(w, 0) + min(1 - w, 0)

    def _log_flat(self, w: float) -> float:
        return math.inf

    def _maxima(self, w: Floats) -> tuple[Floats, Floats]:
        """Return places before and after all maxima: uσ = w·pull(u) + (w - 1)·pull(-u) there.

        The mirror image of w is 1 - w, so that w ≥ 1/2 is enough. The first term then grows with u,
        and the second one, of any sign, lies between those at both ends.
        """
        mirrored = w < _HALF_WAY
        tilt = np.where(mirrored, 1 - w, w)
        low, high = np.minimum(tilt - 1, 0.0) / self._s, (2 * tilt - 1) / self._s
        high = np.maximum(high, tilt / self._s)
        for _ in range(_ROUNDS):
            back = np.stack([(tilt - 1) * self._pull(-low), (tilt - 1) * self._pull(-high)])
            low, high = (
                (tilt * self._pull(low) + back.min(axis=0)) / self._s,
                (tilt * self._pull(high) + back.max(axis=0)) / self._s,
            )
        return np.where(mirrored, -high, low), np.where(mirrored, -low, high)

    def _log_cut_above(self, w: float, x: float, shift: float) -> float:
        back = self._log_g_at(-x) if w <= 1 else self._log_unsampled
        return super()._log_cut_above(w, x, shift) + (1 - w) * back

    def _log_cut_below(self, w: float, x: float, shift: float) -> float:
        return self._log_cut_above(1 - w, -x, shift)

    def _shifted_logs(self, w: float, u: Floats, shifts: Floats) -> tuple[Floats, Floats]:
        first, second = self._log_g_off(u, shifts), self._log_g_off(-u, -shifts)
        return w * first[0] + (1 - w) * second[0], first[1] - second[1]

    # --- balls ---------------------------------------------------------------------------------

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        return min((w - 1) / self.sigma, Fraction(0)), max(w / self.sigma, Fraction(0))

    def _logs(self, places: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return L = log A/B and log B."""
        logs, _ = super()._logs(places)
        sigma, rate = ball(self.sigma), ball(self.rate)
        drift = 1 / (2 * sigma * sigma)
        bases = [(1 - rate + rate * (-u / sigma - drift).exp()).log() for u in places]
        return [log - base for log, base in zip(logs, bases, strict=True)], bases

    def _least_modulus(self) -> None:
        """Return None: of A and B one has a positive power."""
        return None

    def _cut_above(self, w: Fraction, x: arb) -> arb:
        """Bound the integrand's integral above x: A as for one mixture, B falls to 1 - q."""
        log_b = self._log_g_ball(-x) if w <= 1 else ball(1 - self.rate).log()
        return super()._cut_above(w, x) * (ball(1 - w) * log_b).exp()

    def _cut_below(self, w: Fraction, x: arb) -> arb:
        return self._cut_above(1 - w, -x)

    def largest(self) -> None:
        """Return None: losses of either sign have no end."""
        return None

    def least(self) -> None:
        """Return None: losses of either sign have no end."""
        return None
