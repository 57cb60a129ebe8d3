"""The Laplace mechanism.

δ(ε) = max(1 - e^{(ε - ε₀)/2}, 0) with ε₀ = sensitivity / scale (Balle, Barthe and Gaboardi
2020, theorem 3).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.mechanisms.base import Profile, Real, positive, sensitivity_parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, Probability

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["Laplace", "laplace_curve", "laplace_losses"]


def laplace_curve(eps0: Fraction) -> SmoothCurve:
    """Return the single piece on [0, ε₀], ε₀ > 0."""

    def delta(eps: Any, ops: Operations) -> Probability:
        return Probability.from_log_complement(ops, (eps - ops.constant(eps0)) / 2)

    return smooth_curve(delta, ConstantTail(eps0, Fraction(0)), eps0)


def laplace_losses(eps0: Fraction) -> Losses:
    """Return the loss of noise with Δ/b = ε₀ > 0."""
    from gdpbridge.losses.moments import Part
    from gdpbridge.losses.transforms.exponential import laplace_transform

    return [Part(laplace_transform(eps0), 1)]


@register
class Laplace(Profile):
    """Laplace noise added to a number (or, with L1 sensitivity, a vector)."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["laplace"] = "laplace"
    scale: Real = positive(
        "scale b of the noise, in the unit of the answer",
        symbol="b",
        typical=(0.2, 20.0),
        effect="lowers",
    )
    sensitivity: Real = sensitivity_parameter(
        "L1 sensitivity Δ of the answer, in its unit",
        effect="raises",
    )

    def model_post_init(self, _: Any) -> None:
        """Check the one thing the curve depends on."""
        ratio = self.exact("sensitivity") / self.exact("scale")
        self.require("sensitivity/scale", ratio <= MAX_EPS, f"at most {MAX_EPS:g}")

    def build_curve(self) -> SmoothCurve:
        """Return the single piece on [0, ε₀]."""
        return self.group_curve(1)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for ``size`` times the sensitivity."""
        return laplace_curve(size * self.exact("sensitivity") / self.exact("scale"))

    def privacy_losses(self) -> Losses:
        """Return the loss of Laplace noise."""
        return self.group_losses(1)

    def group_losses(self, size: int) -> Losses:
        """Return the loss for ``size`` times the sensitivity."""
        return laplace_losses(size * self.exact("sensitivity") / self.exact("scale"))
