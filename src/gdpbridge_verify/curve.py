"""The Gaussian curve for the checker, from its definition with the complementary error function.

With x = ε/μ - μ/2, y = ε/μ + μ/2: δ_μ(ε) = Φ(-x) - e^ε·Φ(-y).
"""

from __future__ import annotations

from typing import NamedTuple

from gdpbridge_verify.arithmetic import Interval, Level


class Tangent(NamedTuple):
    """The line P - e^ε·Q, and 1 - P; it touches the curve at one ε and is nowhere above it."""

    inside: Interval
    outside: Interval
    rest: Interval

    def at(self, eps: Interval) -> Level:
        """Return the line at an ε."""
        fall = eps.exp() * self.outside
        return Level(self.inside - fall, self.rest + fall)


class GaussianCurve:
    """δ_μ for one μ > 0."""

    def __init__(self, mu: Interval) -> None:
        self.mu = mu

    def level(self, eps: Interval) -> Level:
        """Enclose δ_μ(ε)."""
        return self.tangent(eps).at(eps)

    def tangent(self, eps: Interval) -> Tangent:
        """Return the tangent in e^ε: P = Φ(-x) and Q = Φ(-y), as δ_μ' = -e^ε·Φ(-y)."""
        ratio, half = eps / self.mu, self.mu / 2
        x, y = ratio - half, ratio + half
        return Tangent(x.normal_tail(), y.normal_tail(), (-x).normal_tail())
