"""Truncated Laplace noise: density proportional to e^{-|x|/b} on [-A, A], and 0 beyond.

With ε₀ = Δ/b and A = b·log(1 + (e^ε₀ - 1)/(2δ₀)) it is (ε₀, δ₀)-DP, with the least A that is (Geng,
Ding, Guo and Kumar 2020). For two answers Δ apart the loss falls along a line between the atoms ±ε₀
of (1 - 2δ₀)/2, and is infinite with probability δ₀: with u = e^{(ε-ε₀)/2},
δ(ε) = δ₀ + (1 - u)(1 - δ₀(1 + u) + δ₀(1 - u)/(e^ε₀ - 1)) up to ε₀, then δ₀.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.exponential_loss import exponential_loss_curve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.losses.transforms.exponential import ExponentialLoss, ExponentialTransform
from gdpbridge.mechanisms.base import Profile, Real, parameter, positive, sensitivity_parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["TruncatedLaplace"]

MAX_RATIO = 700


@register
class TruncatedLaplace(Profile):
    """Laplace noise of bounded size added to a number, at the price of a δ."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["truncated-laplace"] = "truncated-laplace"
    scale: Real = positive(
        "scale b of the noise, in the unit of the answer",
        symbol="b",
        typical=(0.2, 20.0),
        effect="lowers",
    )
    delta0: Real = parameter(
        "δ₀, the chance of an answer that the other data set cannot give",
        symbol="δ₀",
        allowed="a number > 0 and < 1/2",
        typical=(1e-12, 0.1),
        gt=0,
        lt=0.5,
        alias="delta",
    )
    sensitivity: Real = sensitivity_parameter(
        "sensitivity Δ of the answer, in its unit",
    )

    def __init__(self, **parameters: Any) -> None:
        # type checkers would make up one that knows δ by the name of its field
        super().__init__(**parameters)

    def model_post_init(self, _: Any) -> None:
        """Check the one thing that the curve depends on beside δ."""
        self.require("sensitivity/scale", self._eps0() <= MAX_RATIO, f"at most {MAX_RATIO}")

    def _eps0(self) -> Fraction:
        return self.exact("sensitivity") / self.exact("scale")

    def _loss(self) -> ExponentialLoss:
        eps0, delta0 = self._eps0(), self.exact("delta0")
        half = Fraction(1, 2)
        return ExponentialLoss(
            eps0, half - delta0, lambda: ball(half) + ball(delta0) / ball(eps0).expm1(), delta0
        )

    def build_curve(self) -> SmoothCurve:
        """Return the piece up to ε₀ and the constant after it."""
        return exponential_loss_curve(self._loss())

    def privacy_losses(self) -> Losses:
        """Return the loss: atoms, a density between them, and failure."""
        from gdpbridge.losses.moments import Part

        return [Part(ExponentialTransform(self._loss()), 1)]
