"""One step of DP-SGD in which a record is replaced, for the checker; Poisson samples.

P = (1 - q)·N(0, σ²) + q·N(1, σ²) against Q = (1 - q)·N(0, σ²) + q·N(-1, σ²):
F(w) = ∫ φ(u)·g(u)^w·g(-u)^{1-w} du, with the g of one mixture. See docs/check-a-mu.md.
"""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.transforms import Nodes, SampledGaussian

__all__ = ["ReplacedGaussian"]


class ReplacedGaussian(SampledGaussian):
    """φ·e^{b + wL} with b = log g(-u) and L = log g(u) - b; the argument of L grows with Im u."""

    symmetric = True
    keeps_modulus = False

    @property
    def gaussian_variance(self) -> Fraction:
        """For q ≤ 1/2 the parts of both mixtures match up so that none is more than 1 apart."""
        return self.tail_variance * (1 if 2 * self.rate <= 1 else 4)

    def _below_zero(self, w: Fraction) -> Fraction:
        return min(w, Fraction(0)) + min(1 - w, Fraction(0))

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        return min((w - 1) / self.sigma, Fraction(0)), max(w / self.sigma, Fraction(0))

    def _tilted(self, w: Fraction) -> tuple[Fraction, Fraction]:
        return self._middle(w)

    def _logs(self, field: Complexes, nodes: Nodes) -> tuple[list[Ball], list[Ball]]:
        bases = self._log_mixture(field, nodes, -1)
        logs = self._log_mixture(field, nodes, 1)
        return [log - base for log, base in zip(logs, bases, strict=True)], bases

    def _cut_above(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        """Bound the integral above x: g(-u) falls there, to 1 - q."""
        back = self._log_g(of, -x) if w <= 1 else of.exactly(1 - self.rate).log()
        return super()._cut_above(of, w, x) * (of.exactly(1 - w) * back).exp()

    def _cut_below(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        return self._cut_above(of, 1 - w, -x)
