"""The discrete Gaussian mechanism: P(x) ∝ e^{-x²/(2σ²)} on the whole numbers.

It is not the Gaussian mechanism of the same σ, and a little less private (Canonne, Kamath and
Steinke 2020). The formulas are those of :mod:`gdpbridge.curves.discrete_gaussian`.

For a vector of whole numbers, each with such noise, Δ may be the L1 sensitivity: the proof is that
for :mod:`gdpbridge.mechanisms.discrete_laplace`. By L2 sensitivity the worst case is known below 2:
then no number moves by more than 1, and m = ⌊Δ₂²⌋ ≤ 3 numbers do at most, which are m runs on one
number that moves by 1. With Δ₂ = 2 one number may move by 2, or four by 1, and neither is known to
be as bad as the other at every ε.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.discrete_gaussian import discrete_gaussian_curve
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.nature import Nature
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
from gdpbridge.mechanisms.base import Profile, Real, Whole, positive, whole_sensitivity
from gdpbridge.mechanisms.registry import register

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["DiscreteGaussian"]

MAX_SENSITIVITY = 100
MAX_MU = 1000
# the losses are Δ/σ² apart, and all up to where the tail takes over are looked at
MAX_LOSSES = 10_000


@register
class DiscreteGaussian(Profile):
    """Discrete Gaussian noise added to a whole number."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["discrete-gaussian"] = "discrete-gaussian"
    sigma: Real = positive(
        "parameter σ of the noise: P(x) is proportional to e^(-x²/(2σ²))",
        symbol="σ",
        typical=(0.3, 10.0),
        effect="lowers",
    )
    sensitivity: Whole = whole_sensitivity(MAX_SENSITIVITY, typical=(1, 5))

    def model_post_init(self, _: Any) -> None:
        """Check the size of the losses and how dense they are."""
        self.require("sensitivity/sigma", self._mu_t() <= MAX_MU, f"at most {MAX_MU}")
        dense = self.exact("sigma") ** 2 <= MAX_LOSSES * self.sensitivity
        self.require("sigma", dense, f"at most {math.sqrt(MAX_LOSSES * self.sensitivity):g}")

    def _mu_t(self) -> Fraction:
        return self.sensitivity / self.exact("sigma")

    def of_group(self, size: int) -> DiscreteGaussian:
        """Return that of ``size`` times the sensitivity."""
        return DiscreteGaussian(**{**self.model_dump(), "sensitivity": size * self.sensitivity})

    def build_curve(self) -> LinearCurve:
        """Return the lines between the losses, without end."""
        return discrete_gaussian_curve(self._transform())

    def privacy_losses(self) -> Losses:
        """Return the loss."""
        from gdpbridge.losses.moments import Part

        return [Part(self._transform(), 1)]

    def _transform(self) -> DiscreteGaussianTransform:
        return DiscreteGaussianTransform(self.exact("sigma") ** 2, self.sensitivity)
