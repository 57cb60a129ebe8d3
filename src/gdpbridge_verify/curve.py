"""The Gaussian curve for the checker, from its definition with the complementary error function.

With x = ε/μ - μ/2, y = ε/μ + μ/2, U = e^ε Φ(-y) and φ the normal density:
δ = Φ(-x) - U, δ' = -U, U' = U - φ(x)/μ.
"""

from __future__ import annotations

from functools import cached_property

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Interval, Jet

__all__ = ["GaussianCurve"]

_KEPT = 64


class GaussianCurve:
    """δ_μ for one μ > 0; what was computed at a point is kept for its neighbours."""

    def __init__(self, mu: Interval) -> None:
        self.mu = mu
        self._half = mu / 2
        self._root_two = mu.of.exactly(2).sqrt()
        self._norm = (2 * mu.of.pi).sqrt()
        self._points: dict[tuple[mpfr, mpfr], _Point] = {}

    def log_delta(self, eps: Interval) -> Interval:
        """Enclose log δ_μ(ε) at a point."""
        return self._at(eps).log_delta

    def log_complement(self, eps: Interval) -> Interval:
        """Enclose log(1 - δ_μ(ε)) at a point."""
        return self._at(eps).log_complement

    def tangent(self, eps: Interval) -> tuple[Interval, Interval, Interval]:
        """Enclose P = Φ(-x), Q = Φ(-y) and 1 - P: in e^ε, P - e^ε·Q is the tangent at a point."""
        at = self._at(eps)
        return at.inside, at.shifted, at.left_tail

    def jet(self, low: Interval, high: Interval) -> Jet:
        """Enclose the jet of log δ_μ on [low, high].

        The hazard h = U/δ rises with ε, because δ_μ is log-concave, and so does φ(x)/δ, the
        reciprocal of the falling R(x) - R(y); h' = h + h² - φ(x)/(μδ).
        """
        left, right = self._at(low), self._at(high)
        hazard = left.hazard.hull(right.hazard)
        ratio = left.ratio.hull(right.ratio)
        curvature = (hazard + hazard.square() - ratio / self.mu) / 2
        return Jet(left.log_delta.hull(right.log_delta), -hazard, -curvature)

    def complement_jet(self, low: Interval, high: Interval) -> Jet:
        """Enclose the jet of log(1 - δ_μ) on [low, high].

        With r = U/φ(x), which falls, and c = (1 - δ)/φ(x) = R(-x) + r, the sum of a rising and a
        falling term: g = r/c and g' = g - g² - 1/(μc).
        """
        left, right = self._at(low), self._at(high)
        total = (left.rising + right.falling).hull(right.rising + left.falling)
        growth = left.falling.hull(right.falling) / total
        curvature = (growth - growth.square() - 1 / (self.mu * total)) / 2
        return Jet(left.log_complement.hull(right.log_complement), growth, curvature)

    def log_delta_tail_lower(self, eps: Interval) -> Interval:
        """Bound log δ_μ(ε) from below: log μ - ½log 2π - ε²/2μ² + ε/2 - μ²/8 - log(y² + 3)."""
        mu = self.mu
        y = eps / mu + self._half
        quadratic = eps / 2 - eps.square() / (2 * mu.square()) - mu.square() / 8
        return mu.log() - self._norm.log() + quadratic - (y.square() + 3).log()

    def _at(self, eps: Interval) -> _Point:
        key = eps.low, eps.high
        if key not in self._points:
            # only neighbours share points
            if len(self._points) == _KEPT:
                self._points.clear()
            ratio = eps / self.mu
            self._points[key] = _Point(
                eps, ratio - self._half, ratio + self._half, self._root_two, self._norm
            )
        return self._points[key]


class _Point:
    """What the curve is at one ε; each part is computed when it is first asked for."""

    def __init__(
        self, eps: Interval, x: Interval, y: Interval, root_two: Interval, norm: Interval
    ) -> None:
        self.eps, self.x, self.y, self.root_two, self.norm = eps, x, y, root_two, norm

    def _normal_tail(self, z: Interval) -> Interval:
        """Φ(-z)."""
        return (z / self.root_two).erfc() / 2

    @cached_property
    def inside(self) -> Interval:
        """Φ(-x)."""
        return self._normal_tail(self.x)

    @cached_property
    def shifted(self) -> Interval:
        """Φ(-y)."""
        return self._normal_tail(self.y)

    @cached_property
    def shifted_tail(self) -> Interval:
        """U = e^ε Φ(-y)."""
        return self.eps.exp() * self.shifted

    @cached_property
    def density(self) -> Interval:
        """φ(x)."""
        return (-self.x.square() / 2).exp() / self.norm

    @cached_property
    def delta(self) -> Interval:
        return self.inside - self.shifted_tail

    @cached_property
    def left_tail(self) -> Interval:
        """Φ(x)."""
        return self._normal_tail(-self.x)

    @cached_property
    def log_delta(self) -> Interval:
        return self.delta.log()

    @cached_property
    def log_complement(self) -> Interval:
        return (self.left_tail + self.shifted_tail).log()

    @cached_property
    def hazard(self) -> Interval:
        return self.shifted_tail / self.delta

    @cached_property
    def ratio(self) -> Interval:
        return self.density / self.delta

    @cached_property
    def rising(self) -> Interval:
        return self.left_tail / self.density

    @cached_property
    def falling(self) -> Interval:
        return self.shifted_tail / self.density
