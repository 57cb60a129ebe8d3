"""A sampled Gaussian loss of noise in a window alone, with soft edges.

A step's noise u counts with a share: χ(u) = Φ((u - u₀)/τ) above a lower edge, 1 - χ below an upper
one, and the product of both between the two. Off the real line |χ(x + iv)| ≤ e^{v²/2τ²}·χ(x), as χ
is an integral of normal densities, and the same of 1 - χ: what is integrated grows by
e^{v²(1 + Σ 1/τ²)/2}, not by e^{v²/2} alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.base import Plan
from gdpbridge.losses.transforms.gaussian import log_normal_tail, normal_tail
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.losses.transforms.sampled_search import Quadrature
from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import ball

__all__ = ["Edge", "WindowTransform", "log_tail"]

# float64 nodes: how far they reach, in units of the noise and of an edge, and how many
_REACH, _EDGES, _COUNT = 12.0, 14.0, 240
_ROUNDS = 3


@dataclass(frozen=True)
class Edge:
    """A soft step Φ((u - place)/width).

    Attributes:
        place: u₀.
        width: τ, positive.
    """

    place: Fraction
    width: Fraction

    def log_share(self, u: Floats, *, above: bool) -> Floats:
        """Return log χ, or log(1 - χ), in float64."""
        from scipy.special import log_ndtr

        sign = 1 if above else -1
        return np.asarray(log_ndtr(sign * (u - float(self.place)) / float(self.width)))

    def share(self, u: Any, *, above: bool) -> Any:
        """Enclose χ, or 1 - χ, at a real or complex place."""
        unit = (-1 if above else 1) / (ball(self.width) * arb(2).sqrt())
        return ((u - ball(self.place)) * unit).erfc() / 2


class WindowTransform(SampledGaussianTransform):
    """∫ φ·(1 - χ₂)·g^w, or ∫ φ·χ₁·(1 - χ₂)·g^w.

    Args:
        sigma: the noise multiplier σ, positive.
        rate: the sample rate q, strictly between 0 and 1.
        low: the lower edge, None for none.
        high: the upper edge, at a place that is at least 0 and that of the lower one.
    """

    _laws = False

    def __init__(self, sigma: Fraction, rate: Fraction, low: Edge | None, high: Edge) -> None:
        super().__init__(sigma, rate)
        self.distance = Fraction(1)
        self.low, self.high = low, high
        edges = [high] if low is None else [low, high]
        # 1 + Σ 1/τ²
        self._bend_exactly = 1 + sum((1 / edge.width**2 for edge in edges), Fraction(0))
        self._edges = [(float(edge.place), float(edge.width)) for edge in edges]

    # --- floats --------------------------------------------------------------------------------

    @cached_property
    def _bend(self) -> float:
        return float(self._bend_exactly)

    def bits_lost(self, plan: Plan) -> int:
        """Return by how much the terms on a line are larger than on the real one."""
        assert isinstance(plan, Quadrature)
        return int(float(plan.shift) ** 2 * self._bend / 2 / math.log(2))

    def _log_share(self, u: Floats) -> Floats:
        found = self.high.log_share(u, above=False)
        return found if self.low is None else found + self.low.log_share(u, above=True)

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        """Return places that are close together at the edges, and log of how far apart they are."""
        first, last = self._edges[0], self._edges[-1]
        start = -_REACH if self.low is None else first[0] - _EDGES * first[1]
        u = np.linspace(start, last[0] + _EDGES * last[1], _COUNT)
        x, _ = self._spread(u)
        # equal steps of x, by Newton's method
        wanted, step = np.linspace(x[0], x[-1], _COUNT), (x[-1] - x[0]) / (_COUNT - 1)
        u = np.interp(wanted, x, u)
        for _ in range(_ROUNDS):
            x, density = self._spread(u)
            u = u + (wanted - x) / density
        return u, np.log(step / self._spread(u)[1] / math.sqrt(2 * math.pi))

    def _spread(self, u: Floats) -> tuple[Floats, Floats]:
        """Return x = Σ asinh((u - u₀)/τ) and its derivative."""
        off = [(u - place, width) for place, width in self._edges]
        x = np.sum([np.arcsinh(one / width) for one, width in off], axis=0)
        return x, np.sum([1 / np.hypot(one, width) for one, width in off], axis=0)

    def _grid(self, w: Floats, far: float = 0.0) -> tuple[Floats, Indices]:
        u, _ = self._points
        return np.tile(u, w.size), np.arange(w.size, dtype=np.int64) * u.size

    def _log_steps(self, u: Floats) -> Floats:
        return np.resize(self._points[1], u.shape)

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, and mean and variance of L under the tilt.

        With a large w, what is left far beyond a soft edge weighs more than all else; places do not
        reach there, where g is q·e^t.
        """
        log, mean, variance = super().log_shapes(w)
        start, width = self._edges[-1]
        pull, square = w / self._s, width**2
        place = (pull * square + start) / (1 + square)
        top = (place**2 * (1 + 1 / square) - start**2 / square) / 2
        far = w * (self._log_q - 0.5 / self._s**2) + top + math.log(width)
        beyond = place > self._points[0][-1]
        return np.where(beyond, np.logaddexp(log, far), log), mean, variance

    def _log_weight(self, w: Floats, u: Floats) -> tuple[Floats, Floats]:
        log, loss = super()._log_weight(w, u)
        return log + self._log_share(u), loss

    @property
    def masses(self) -> tuple[arb, arb]:
        """Return what is above the upper edge of P and of Q: ∫ φ·g·χ and ∫ φ·χ."""
        edge, rate = self.high, ball(self.rate)
        spread = ball(1 + edge.width**2).sqrt()
        usual, moved = (
            normal_tail(ball(place) / spread) for place in (edge.place, edge.place - 1 / self.sigma)
        )
        return usual + rate * (moved - usual), usual

    def below(self, x: arb) -> arb:
        """Bound ∫ φ·χ below x of the upper edge's χ."""
        if not certainly(x <= ball(self.high.place)):
            return arb(1)
        return _tail(_mirrored(self.high), Fraction(0), -x)

    def _shifted_logs(self, w: float, u: Floats, shifts: Floats) -> tuple[Floats, Floats]:
        log, angle = super()._shifted_logs(w, u, shifts)
        return log + self._log_share(u), angle

    @property
    def _cut_bends(self) -> tuple[float, float]:
        low, high = (1 + width**-2 for _, width in (self._edges[0], self._edges[-1]))
        return 1.0 if self.low is None else low, high

    def _log_cut_below(self, w: float, x: float, shift: float) -> float:
        if self.low is None:
            return super()._log_cut_below(w, x, shift)
        place, width = self._edges[0]
        power = self._log_g_at(x) if w >= 0 else self._log_unsampled
        return self._log_shift_cost(w, shift) + w * power + log_tail(-place, width, 0.0, -x)

    def _log_cut_above(self, w: float, x: float, shift: float) -> float:
        if w < 0:
            return super()._log_cut_above(w, x, shift)
        moved = w * (self._log_g_at(x) - x / self._s)
        tail = log_tail(*self._edges[-1], w / self._s, x)
        return self._log_shift_cost(w, shift) + moved + tail

    def _log_flat(self, w: float) -> float:
        return math.inf

    # --- balls ---------------------------------------------------------------------------------

    def _least_modulus(self) -> None:
        """Return None: F(w) may be below 1."""
        return None

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        low, high = Fraction(0), self.high
        if self.low is not None:
            low = self.low.place / (1 + self.low.width**2)
        square = high.width**2
        top = (w / self.sigma * square + high.place) / (1 + square)
        return low, max(top, high.place)

    def _lift(self, height: Fraction) -> arb:
        """Bound how much what is integrated, but for g, grows off the real line."""
        return (ball(height * height * self._bend_exactly) / 2).exp()

    def _share(self, u: Any) -> Any:
        found = self.high.share(u, above=False)
        return found if self.low is None else found * self.low.share(u, above=True)

    def _logs(self, places: list[Any]) -> tuple[list[Any], list[Any]]:
        losses, _ = super()._logs(places)
        return losses, [self._share(u).log() for u in places]

    def _far_logs(self, places: list[Any], shift: arb) -> tuple[list[Any], list[Any]]:
        """Return L on Im u = shift, and log of the share on the real line."""
        losses, _ = super()._logs([acb(x, shift) for x in places])
        return losses, [acb(self._share(x).log()) for x in places]

    def _cut_below(self, w: Fraction, x: arb) -> arb:
        """Bound ∫ φ·χ·g^w below x, where φ·e^{-(u - u₀)²/2τ²}/2 still grows."""
        if self.low is None:
            return super()._cut_below(w, x)
        power = self._log_g_ball(x) if w >= 0 else ball(1 - self.rate).log()
        return (ball(w) * power).exp() * _tail(_mirrored(self.low), Fraction(0), -x)

    def _cut_above(self, w: Fraction, x: arb) -> arb:
        """Bound ∫ φ·(1 - χ)·g^w above x: g ≤ (g(x)/e^{x/σ})·e^{u/σ} there."""
        if w < 0:
            return super()._cut_above(w, x)
        moved = ball(w) * (self._log_g_ball(x) - x / ball(self.sigma))
        return moved.exp() * _tail(self.high, w / self.sigma, x)


def _mirrored(edge: Edge) -> Edge:
    return Edge(-edge.place, edge.width)


def _tail(edge: Edge, pull: Fraction, x: arb) -> arb:
    """Return ∫ φ·e^{pull·u}·e^{-(u - u₀)²/2τ²}/2 above x; from u₀ on 1 - χ is no more than that.

    What is integrated falls from (pull + u₀/τ²)/(1 + 1/τ²) on.
    """
    square = edge.width**2
    bend, place = ball(1 + 1 / square).sqrt(), (pull * square + edge.place) / (1 + square)
    top = ball(place * place * (1 + 1 / square) - edge.place**2 / square) / 2
    return top.exp() / (2 * bend) * normal_tail((x - ball(place)) * bend)


def log_tail(start: float, width: float, pull: float, x: float) -> float:
    """Return its logarithm in float64."""
    bend, square = 1 + width**-2, width**2
    place = (pull * square + start) / (1 + square)
    top = (place * place * bend - start * start / square) / 2
    return top - math.log(4 * bend) / 2 + log_normal_tail((x - place) * math.sqrt(bend))
