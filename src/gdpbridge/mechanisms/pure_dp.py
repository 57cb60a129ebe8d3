"""ε₀-differential privacy: the profile of the worst mechanism that has it.

δ(ε) = (e^ε₀ - e^ε)⁺ / (1 + e^ε₀), attained by binary randomized response; from the exact
partial order of (ε, δ) pairs (Liu, Sun, Jiang and Kong 2022; Dong, Roth and Su 2022, prop. 2.11).
For a group of k it is that of discrete Laplace noise of scale 1/ε₀ on an answer that moves by k,
exactly: the trade-off function of a chain of k pairs is that of this noise, which is ε₀-DP.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.discrete_laplace import (
    discrete_laplace_curve,
    discrete_laplace_losses,
)
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

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve of (size·ε)-DP, a bound as a formula."""
        return pure_dp_curve(size * self.exact("epsilon"))

    def grouped_curve(self, size: int) -> Curve:
        """Return that of noise of scale 1/ε₀ that an answer is moved in by ``size``: no worse."""
        if not self.epsilon or size == 1:
            return self.curve
        most = math.floor(MAX_EPS / self.epsilon)
        if size > most:
            raise InputError("size", size, f"at most {most} for this ε₀")
        return discrete_laplace_curve(self.exact("epsilon"), size)

    def privacy_losses(self) -> Losses:
        """Return the loss of randomized response, the worst ε₀-DP mechanism; none for ε₀ = 0."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import two_valued

        return [Part(two_valued(self.exact("epsilon")), 1)] if self.epsilon else []

    def group_losses(self, size: int) -> Losses:
        """Return the loss of that noise."""
        if not self.epsilon or size == 1:
            return self.privacy_losses()
        return discrete_laplace_losses(self.exact("epsilon"), size)
