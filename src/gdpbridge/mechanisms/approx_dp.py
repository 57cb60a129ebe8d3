"""(ε₀, δ₀)-differential privacy: the profile of the worst mechanism that has it.

δ(ε) = δ₀ + (1 - δ₀)(e^ε₀ - e^ε)⁺ / (1 + e^ε₀), the exact partial order of (ε, δ) pairs
(Liu, Sun, Jiang and Kong 2022). With δ₀ > 0 it is not GDP: δ never falls below δ₀.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS, logarithm
from gdpbridge.curves.nature import Nature
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.pure_dp import pure_dp_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["ApproxDP"]


@register
class ApproxDP(Profile):
    """Any mechanism known only to be (ε, δ)-differentially private."""

    nature: ClassVar[Nature] = Nature.CLASS
    straight: ClassVar[bool] = True
    kind: Literal["approx-dp"] = "approx-dp"
    epsilon: Real = parameter(
        "the ε of (ε, δ)-differential privacy",
        symbol="ε₀",
        allowed=f"a number in [0, {MAX_EPS:g}]",
        typical=(0.05, 10.0),
        effect="raises",
        ge=0,
        le=MAX_EPS,
    )
    delta0: Real = parameter(
        "the δ of (ε, δ)-differential privacy",
        symbol="δ₀",
        allowed="a number in [0, 1)",
        typical=(1e-12, 0.1),
        effect="raises",
        ge=0,
        lt=1,
        alias="delta",
    )

    def __init__(self, **parameters: Any) -> None:
        # type checkers would make up one that knows δ by the name of its field
        super().__init__(**parameters)

    def build_curve(self) -> Curve:
        """Return the piece on [0, ε₀] and the constant after it."""
        delta0 = self.exact("delta0")
        pure = pure_dp_curve(self.exact("epsilon"))
        return pure.failing(delta0, logarithm(1 - delta0)) if delta0 else pure

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` randomized responses that may fail each time."""
        pure, delta0 = binomial_curve(self.exact("epsilon"), times), self.exact("delta0")
        if delta0 == 0:
            return pure
        if times <= _EXACT_TIMES:
            return pure.failing(1 - (1 - delta0) ** times, logarithm((1 - delta0) ** times))

        def log_kept() -> arb:
            return times * ball(1 - delta0).log()

        return pure.failing(lambda: -log_kept().expm1(), log_kept)

    def privacy_losses(self) -> Losses:
        """Return the loss of randomized response that fails outright now and then."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import two_valued

        return [Part(two_valued(self.exact("epsilon"), self.exact("delta0")), 1)]


# beyond it, the failure probability of all runs together has too many digits
_EXACT_TIMES = 8
