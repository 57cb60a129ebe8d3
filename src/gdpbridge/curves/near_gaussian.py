"""The curve of losses that are nearly one Gaussian loss: δ_μ, a little more and a little less."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.between import BetweenCurve
from gdpbridge.curves.constants import square_root
from gdpbridge.curves.gaussian import gaussian_curve
from gdpbridge.curves.pieces import Formula
from gdpbridge.curves.smooth import smooth_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.losses.near_gaussian import Nearness
from gdpbridge.numeric.kinds import Operations, Probability, ball

__all__ = ["NearGaussianCurve"]


class NearGaussianCurve(BetweenCurve):
    """δ_μ/Θ - R·e^{-x²/2} ≤ δ ≤ δ_μ + R·e^{-x²/2} with x = ε/μ - μ/2.

    Args:
        near: μ², Θ and R.
        tail: what is known of δ(ε) for large ε.
    """

    levels = 1

    def __init__(self, near: Nearness, tail: Tail) -> None:
        super().__init__((), tail)
        self.near = near
        self._gaussian = gaussian_curve(square_root(near.variance))

    def _curves(self, level: int) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
        """Return the curves below and above, whatever the level: of both directions."""
        low, high = smooth_curve(self._lower, self.tail), smooth_curve(self._upper, self.tail)
        return (low,), (high,)

    @property
    def default_failure(self) -> None:
        """None: a μ for every ε is known."""
        return None

    def _log_gap(self, eps: Any, ops: Operations) -> Any:
        """Return log of R·e^{-x²/2}."""
        root = ops.constant(square_root(self.near.variance))
        x = eps / root - root / 2
        return ops.constant(lambda: ball(self.near.gap).log()) - x * x / 2

    def _delta(self, eps: Any, ops: Operations) -> Probability:
        formula: Formula = self._gaussian.pieces[0].formula
        return formula(eps, ops)

    def _upper(self, eps: Any, ops: Operations) -> Probability:
        delta, gap = self._delta(eps, ops), self._log_gap(eps, ops)

        def log_complement() -> Any:
            rest = delta.log_complement()
            return rest + ops.log1mexp(gap - rest)

        return Probability(lambda: ops.logaddexp(delta.log(), gap), log_complement)

    def _lower(self, eps: Any, ops: Operations) -> Probability:
        delta, gap = self._delta(eps, ops), self._log_gap(eps, ops)
        norm = ops.constant(lambda: ball(self.near.norm).log())

        def log() -> Any:
            least = delta.log() - norm
            return least + ops.log1mexp(gap - least)

        def log_complement() -> Any:
            # 1 - δ_μ/Θ = 1/Θ·(1 - δ_μ) + (1 - 1/Θ)
            rest = ops.logaddexp(delta.log_complement() - norm, ops.log1mexp(-norm) + 0 * gap)
            return ops.logaddexp(rest, gap)

        return Probability(log, log_complement)

    # --- values ---------------------------------------------------------------------------------

    def enclose(self, eps: arb) -> Probability:
        """Enclose δ(ε) in what lies between the curves."""
        low, high = (one.enclose(eps) for (one,) in (self.lower, self.upper))

        def log() -> arb:
            least = low.log()
            # far out the lower curve is below 0
            return least.union(high.log()) if least.is_finite() else arb.nan()

        return Probability(log, lambda: low.log_complement().union(high.log_complement()))

    def past(self, failure: Fraction) -> Curve:
        """Cut both curves off where they fall to p."""
        return _NearPast(self, failure)


class _NearPast(BetweenCurve):
    """What is past p of such a curve."""

    levels = 1

    def __init__(self, whole: NearGaussianCurve, failure: Fraction) -> None:
        end = whole.falls_to(failure)
        super().__init__((), ConstantTail(end, Fraction(0)), end, failure)
        self._whole = whole

    def _curves(self, level: int) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
        (low,), (high,) = self._whole.curves(level)
        return (low.past(self.failure),), (high.past(self.failure),)
