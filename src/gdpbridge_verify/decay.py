"""δ that fall like that of a Gaussian mechanism: from some ε on one inequality is the proof.

With Mills' ratio R(z) < (z² + 2)/(z(z² + 3)), y = ε/μ + μ/2:

    log δ_μ(ε) ≥ log μ - ½log 2π - ε²/2μ² + ε/2 - μ²/8 - log(y² + 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.refusal import Refused

_LINE = "evidence.tail_from"


@dataclass(frozen=True)
class Decay:
    """log δ(ε) ≤ log_factor + linear·ε - ε²/(2 μ_t²) for every ε ≥ start."""

    log_factor: Interval
    start: Fraction
    linear: Fraction = Fraction(0)

    def require_below(
        self, mu: Interval, tail: Interval, start: Fraction, hold: Callable[[str, Interval], None]
    ) -> None:
        """Prove δ ≤ δ_μ from a start on: there, and that the difference of logarithms grows.

        Args:
            mu: μ.
            tail: μ_t².
            start: that ε.
            hold: proves that a number is at least 0.
        """
        if start < self.start:
            raise Refused(_LINE, "the tail's form does not hold yet")
        eps, square = mu.of.exactly(start), mu.square()
        hold("claim.mu.high: not below the tail parameter", square - tail)
        growth = eps * (1 / tail - 1 / square) + (Fraction(1, 2) - self.linear)
        hold(f"{_LINE}: the difference grows", growth - 2 / (eps + square / 2))
        most = self.log_factor + self.linear * start - eps.square() / (2 * tail)
        hold(_LINE, log_tail_below(mu, eps) - most)


def log_tail_below(mu: Interval, eps: Interval) -> Interval:
    """Bound log δ_μ(ε) from below."""
    y = eps / mu + mu / 2
    quadratic = eps / 2 - eps.square() / (2 * mu.square()) - mu.square() / 8
    return mu.log() - (2 * mu.of.pi).log() / 2 + quadratic - (y.square() + 3).log()
