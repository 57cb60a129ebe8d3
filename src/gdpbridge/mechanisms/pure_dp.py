"""ε₀-differential privacy: the profile of the worst mechanism that has it.

δ(ε) = (e^ε₀ - e^ε)⁺ / (1 + e^ε₀), attained by binary randomized response; from the exact
partial order of (ε, δ) pairs (Liu, Sun, Jiang and Kong 2022; Dong, Roth and Su 2022, prop. 2.11).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, Probability

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["PureDP", "pure_dp_curve", "pure_dp_delta"]


def pure_dp_delta(eps: Any, eps0: Any, ops: Operations) -> Probability:
    """Return (e^ε₀ - e^ε)/(1 + e^ε₀) for ε ≤ ε₀."""
    return Probability(
        lambda: ops.log1mexp(eps - eps0) - ops.log1pexp(-eps0),
        lambda: ops.log1pexp(eps) - ops.log1pexp(eps0),
    )


def pure_dp_curve(eps0: Fraction) -> SmoothCurve:
    """Return the curve of ε₀-DP."""

    def delta(eps: Any, ops: Operations) -> Probability:
        return pure_dp_delta(eps, ops.constant(eps0), ops)

    return smooth_curve(delta, ConstantTail(eps0, Fraction(0)), eps0)


@register
class PureDP(Profile):
    """Any mechanism known only to be ε-differentially private."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["pure-dp"] = "pure-dp"
    epsilon: Real = parameter(
        "the ε of ε-differential privacy",
        symbol="ε₀",
        allowed=f"a number in [0, {MAX_EPS:g}]",
        typical=(0.05, 10.0),
        effect="raises",
        ge=0,
        le=MAX_EPS,
    )

    def build_curve(self) -> SmoothCurve:
        """Return the single piece on [0, ε₀]."""
        return pure_dp_curve(self.exact("epsilon"))

    def composed_curve(self, times: int) -> Curve:
        """Return the binomial curve of ``times`` randomized responses."""
        return binomial_curve(self.exact("epsilon"), times)

    @property
    def grouped_is(self) -> Nature:
        """A bound: of what an ε₀-DP mechanism says of k records, little is as bad at every ε."""
        return Nature.BOUND

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve of (size·ε₀)-DP."""
        return pure_dp_curve(size * self.exact("epsilon"))

    def privacy_losses(self) -> Losses:
        """Return the loss of randomized response, the worst ε₀-DP mechanism; none for ε₀ = 0."""
        return self.group_losses(1)

    def group_losses(self, size: int) -> Losses:
        """Return the loss of randomized response with size·ε₀."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import two_valued

        return [Part(two_valued(size * self.exact("epsilon")), 1)] if self.epsilon else []
