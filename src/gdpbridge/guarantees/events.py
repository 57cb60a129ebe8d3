"""Two-outcome events that a bound of Rényi divergences allows, and the largest of p - e^ε q.

An event has probability p under one neighbour and q under the other. It is possible under
D_α ≤ ε_α exactly when the two-outcome laws (p, 1-p) and (q, 1-q) obey it: necessary by data
processing, sufficient since the mechanism with these two outcomes is one of the class (Zhu, Dong
and Wang 2022, appendix F.3; Riess et al. 2026, arXiv 2602.04562). The pairs allowed form a convex
region, since p^α q^{1-α} is jointly convex, and δ(ε) = max (p - e^ε q) over it is at every ε the
least δ that the class as a whole has.

Coordinates. Let L be the log likelihood ratio, a on the event and b < a off it, λ = a - b, and let
the law of L under P be tilted by e^{uL}, u = α - 1 ≥ 0. The event then has the probability π, with
log odds θ. About its tilted mean m the ratio is L - m = ωλ or -πλ, ω = 1 - π, and with

    φ(v) = π e^{-vωλ} + ω e^{vπλ} = 1 + v²V(v),    W(v) = log φ(v) / v²

everything is regular, down to u = 0 and to any tiny probability:

    m = (u+1)² W(u+1) - u² W(u)                            as E_P and E_Q have mass 1,
    log p = log π - u² W(u) - uωλ,        log q = log π - (u+1)² W(u+1) - (u+1)ωλ,
    D_α = (u+1)((u+1) W(u+1) - u W(u)),   D₁ = KL = W(1) where u = 0.

The tangent to {D_α = const} at (p, q) is normal to (1, -e^ε) where

    ε = a - log E₁(-uλ) + log E₁(-(u+1)λ),                 E₁(x) = (eˣ - 1)/x.

The region being convex, such a point is the maximum of p - e^ε q over {D_α ≤ ε_α}: an upper bound
of δ(ε) whatever else is asked, and δ(ε) itself as soon as the point obeys all the rest. For ρ-zCDP,
ε_α = ρα for every α > 1, the order that binds is the one at which D_α - ρα is largest: its
derivative in α vanishes too, and the two equations become W(u) = W(u+1) = ρ.

The orders of the pair. K(u) = log E_P e^{uL} has K'' = λ²π(1-π), symmetric about where θ = 0, and
vanishes at 0 and -1. If p + q ≤ 1 that place is at -1/2 or above, so that K(s) - K(-1-s) is convex
for s ≥ -1/2; it vanishes at -1/2 and 0, hence D_α(Q‖P) ≤ D_α(P‖Q) for every α ≥ 1. With bounds in
both orders of the pair the region is the mirror image of itself in p + q = 1, the optimum for ε ≥ 0
has p + q ≤ 1, and there the bounds on D_α(P‖Q) are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.guarantees.quotients import (
    expm1_quotient,
    expm2_quotient,
    log1p_quotient,
    log_expm1_quotient,
    log_expm2_quotient,
    log_sinh_quotient,
)
from gdpbridge.numeric.kinds import SERIES

__all__ = ["Event", "FloatEvent"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """An event in balls or power series, in the coordinates of the module's text.

    Attributes:
        theta: log odds of the event under the tilted law.
        gap: λ, the difference of the two log likelihood ratios, positive.
        tilt: u, at least 0.
    """

    theta: Any
    gap: Any
    tilt: Any

    @cached_property
    def share(self) -> tuple[Any, Any]:
        """π and 1 - π."""
        return _inverse(1 + (-self.theta).exp()), _inverse(1 + self.theta.exp())

    def spread(self, at: Any) -> Any:
        """Return W(v)."""
        inside, outside = self.share
        lam = self.gap
        value = outside * expm2_quotient(-at * outside * lam)
        value += inside * expm2_quotient(at * inside * lam)
        value = lam * lam * inside * outside * value
        return value * log1p_quotient(at * at * value)

    @cached_property
    def near(self) -> Any:
        """W(u)."""
        return self.spread(self.tilt)

    @cached_property
    def far(self) -> Any:
        """W(u + 1)."""
        return self.spread(self.tilt + 1)

    def untilted(self) -> Event:
        """Return the same event seen from P itself."""
        return Event(self.theta - self.tilt * self.gap, self.gap, arb(0))

    def divergence(self, tilt: Any) -> Any:
        """Return D_α(P‖Q) for α = 1 + ``tilt``, of an event seen from P itself."""
        return self.spread(arb(1)) + tilt * self.spread(-tilt)

    def own_divergence(self) -> Any:
        """Return D_α(P‖Q) for the α that belongs to the tilt."""
        up = self.tilt + 1
        return up * (up * self.far - self.tilt * self.near)

    def _ratio_above_mean(self) -> Any:
        return self.share[1] * self.gap

    def log_p(self) -> Any:
        """Return the logarithm of the probability under P."""
        u = self.tilt
        return self._log_inside() - u * u * self.near - u * self._ratio_above_mean()

    def log_not_p(self) -> Any:
        """Return the logarithm of 1 - p."""
        u, inside = self.tilt, self.share[0]
        return -_softplus(self.theta) - u * u * self.near + u * inside * self.gap

    def log_q(self) -> Any:
        """Return the logarithm of the probability under Q."""
        up = self.tilt + 1
        return self._log_inside() - up * up * self.far - up * self._ratio_above_mean()

    def _log_inside(self) -> Any:
        return -_softplus(-self.theta)

    def excess(self) -> Any:
        """Return a - ε, where ε is that of the tangent."""
        near = expm1_quotient(-self.tilt * self.gap)
        far = expm1_quotient(-(self.tilt + 1) * self.gap)
        return SERIES.divide(near, far).log()

    def epsilon(self) -> Any:
        """Return the ε of the tangent to the set of the tilt's own order."""
        u, up = self.tilt, self.tilt + 1
        mean = up * up * self.far - u * u * self.near
        return mean + self._ratio_above_mean() - self.excess()


def _inverse(x: Any) -> Any:
    return SERIES.divide(arb(1), x)


def _softplus(x: Any) -> Any:
    return (1 + x.exp()).log() if not isinstance(x, arb) else x.exp().log1p()


@dataclass(frozen=True)
class FloatEvent:
    """The same event in float64 arrays."""

    theta: Floats
    gap: Floats
    tilt: Floats

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        return -np.logaddexp(0.0, -self.theta), -np.logaddexp(0.0, self.theta)

    def spread(self, at: Floats) -> Floats:
        """Return W(v), by logarithms of sums of positive terms."""
        inside, outside = self._logs
        pi, omega, lam = np.exp(inside), np.exp(outside), self.gap
        log = 2 * np.log(lam) + inside + outside
        left, right = log_expm2_quotient(
            np.stack(np.broadcast_arrays(-at * omega * lam, at * pi * lam))
        )
        log = log + np.logaddexp(outside + left, inside + right)
        size = np.maximum(np.abs(at), 1e-150)
        scaled = log + 2 * np.log(size)
        small = scaled < -30.0
        # log(1 + v²V)/v², or V where the two are the same number
        far = np.logaddexp(0.0, np.where(small, 0.0, scaled)) / np.where(small, 1.0, size * size)
        return np.asarray(np.where(small, np.exp(np.where(small, log, 0.0)), far))

    @cached_property
    def near(self) -> Floats:
        """W(u)."""
        return self.spread(self.tilt)

    @cached_property
    def far(self) -> Floats:
        """W(u + 1)."""
        return self.spread(self.tilt + 1)

    def untilted(self) -> FloatEvent:
        """Return the same event seen from P itself."""
        return FloatEvent(self.theta - self.tilt * self.gap, self.gap, np.zeros_like(self.tilt))

    def divergence(self, tilt: Floats) -> Floats:
        """Return D_α(P‖Q) for α = 1 + ``tilt``, of an event seen from P itself."""
        return self.spread(np.ones_like(tilt)) + tilt * self.spread(-tilt)

    def own_divergence(self) -> Floats:
        """Return D_α(P‖Q) for the α that belongs to the tilt."""
        up = self.tilt + 1
        return up * (up * self.far - self.tilt * self.near)

    def log_p(self) -> Floats:
        """Return log p."""
        (inside, outside), u = self._logs, self.tilt
        return inside - u * u * self.near - u * np.exp(outside) * self.gap

    def log_not_p(self) -> Floats:
        """Return log(1 - p)."""
        (inside, outside), u = self._logs, self.tilt
        return outside - u * u * self.near + u * np.exp(inside) * self.gap

    def log_q(self) -> Floats:
        """Return log q."""
        (inside, outside), up = self._logs, self.tilt + 1
        return inside - up * up * self.far - up * np.exp(outside) * self.gap

    def excess(self) -> Floats:
        """Return a - ε, where ε is that of the tangent."""
        u = self.tilt
        return log_expm1_quotient(-u * self.gap) - log_expm1_quotient(-(u + 1) * self.gap)

    def epsilon(self) -> Floats:
        """Return the ε of the tangent."""
        u, up, half = self.tilt, self.tilt + 1, self.gap / 2
        mean = up * up * self.far - u * u * self.near
        # with ω - ½ for ω the parts that are linear in a small λ are not there to cancel
        small = up * half < 1
        slim = np.where(small, half, 0.0)
        near = log_sinh_quotient(up * slim) - log_sinh_quotient(u * slim)
        near = near - np.tanh(self.theta / 2) * half
        far = np.exp(self._logs[1]) * self.gap - self.excess()
        return mean + np.where(small, near, far)
