"""(ε₀, δ₀)-differential privacy: the profile of the worst mechanism that has it.

δ(ε) = δ₀ + (1 - δ₀)(e^ε₀ - e^ε)⁺ / (1 + e^ε₀), the exact partial order of (ε, δ) pairs
(Liu, Sun, Jiang and Kong 2022). With δ₀ > 0 it is not GDP: δ never falls below δ₀.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from gdpbridge.numeric.kinds import Operations, Probability
from gdpbridge.profiles.base import MAX_EPS, Profile, Real, parameter
from gdpbridge.profiles.constants import logarithm
from gdpbridge.profiles.pieces import Curve, Piece
from gdpbridge.profiles.pure_dp import pure_dp_curve, pure_dp_delta
from gdpbridge.profiles.registry import register
from gdpbridge.profiles.tail import ConstantTail

__all__ = ["ApproxDP"]


@register
class ApproxDP(Profile):
    """Any mechanism known only to be (ε, δ)-differentially private."""

    kind: Literal["approx-dp"] = "approx-dp"
    epsilon: Real = parameter(
        "the ε of (ε, δ)-differential privacy",
        symbol="ε₀",
        allowed=f"a number in [0, {MAX_EPS:g}]",
        typical=(0.05, 10.0),
        ge=0,
        le=MAX_EPS,
    )
    delta0: Real = parameter(
        "the δ of (ε, δ)-differential privacy",
        symbol="δ₀",
        allowed="a number in [0, 1)",
        typical=(1e-12, 0.1),
        ge=0,
        lt=1,
        alias="delta",
    )

    def build_curve(self) -> Curve:
        """Return the piece on [0, ε₀] and the constant after it."""
        eps0, delta0 = self.exact("epsilon"), self.exact("delta0")
        tail = ConstantTail(eps0, delta0)
        if delta0 == 0:
            return pure_dp_curve(eps0)

        def head(eps: Any, ops: Operations) -> Probability:
            pure = pure_dp_delta(eps, ops.constant(eps0), ops)
            log_kept = ops.constant(logarithm(1 - delta0))
            return Probability(
                lambda: ops.logaddexp(ops.constant(logarithm(delta0)), log_kept + pure.log()),
                lambda: log_kept + pure.log_complement(),
            )

        def rest(eps: Any, ops: Operations) -> Probability:
            # 0·ε keeps the kind and shape of ε
            return Probability(
                lambda: ops.constant(logarithm(delta0)) + 0 * eps,
                lambda: ops.constant(logarithm(1 - delta0)) + 0 * eps,
            )

        constant = Piece(eps0, rest)
        return Curve((constant,) if eps0 == 0 else (Piece(Fraction(0), head), constant), tail)
