"""The Gaussian mechanism, and μ-GDP itself: profiles that are a Gaussian curve δ_μ.

The Gaussian mechanism is exactly μ-GDP with μ = sensitivity / sigma (Dong, Roth and Su 2022,
theorem 1; Balle and Wang 2018).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gdpbridge.curves.gaussian import gaussian_curve, gaussian_root
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.mechanisms.base import Profile, Real, parameter, positive, sensitivity_parameter
from gdpbridge.mechanisms.registry import register

if TYPE_CHECKING:
    from gdpbridge.guarantees.concentrated import Concentration
    from gdpbridge.losses.moments import Losses

__all__ = ["GDP", "Gaussian", "gaussian_curve", "gaussian_root"]

MAX_MU = 1000


def gaussian_losses(mu: Fraction) -> Losses:
    """Return the loss of a μ-GDP mechanism, none for μ = 0."""
    from gdpbridge.losses.moments import Part
    from gdpbridge.losses.transforms.gaussian import GaussianTransform

    return [Part(GaussianTransform(mu * mu), 1)] if mu else []


@register
class Gaussian(Profile):
    """Gaussian noise added to a number or a vector."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["gaussian"] = "gaussian"
    sigma: Real = positive(
        "standard deviation σ of the noise, in the unit of the answer",
        symbol="σ",
        typical=(0.1, 20.0),
        effect="lowers",
    )
    sensitivity: Real = sensitivity_parameter(
        "L2 sensitivity Δ of the answer, in its unit",
        effect="raises",
    )

    def model_post_init(self, _: Any) -> None:
        """Check the one thing the curve depends on."""
        self.require("sensitivity/sigma", self._mu() <= MAX_MU, f"at most {MAX_MU}")

    def _mu(self) -> Fraction:
        return self.exact("sensitivity") / self.exact("sigma")

    def build_curve(self) -> SmoothCurve:
        """Return δ_μ with μ = sensitivity / sigma."""
        return gaussian_curve(self._mu())

    @property
    def concentration(self) -> Concentration:
        """μ."""
        from gdpbridge.guarantees.concentrated import Concentration

        return Concentration.of_gdp(self._mu())

    def composed_curve(self, times: int) -> SmoothCurve:
        """Return the curve of √times·μ."""
        return gaussian_curve(gaussian_root(times, self._mu()))

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for ``size`` times the sensitivity."""
        return gaussian_curve(size * self._mu())

    def privacy_losses(self) -> Losses:
        """Return the loss of Gaussian noise."""
        return self.group_losses(1)

    def group_losses(self, size: int) -> Losses:
        """Return the loss for ``size`` times the sensitivity."""
        return gaussian_losses(size * self._mu())


@register
class GDP(Profile):
    """A mechanism known to be μ-GDP."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["gdp"] = "gdp"
    mu: Real = parameter(
        "the μ of Gaussian differential privacy",
        symbol="μ",
        allowed=f"a number in [0, {MAX_MU}]",
        typical=(0.01, 10.0),
        effect="raises",
        ge=0,
        le=MAX_MU,
    )

    def build_curve(self) -> SmoothCurve:
        """Return δ_μ."""
        return gaussian_curve(self.exact("mu"))

    @property
    def concentration(self) -> Concentration:
        """μ."""
        from gdpbridge.guarantees.concentrated import Concentration

        return Concentration.of_gdp(self.exact("mu"))

    def composed_curve(self, times: int) -> SmoothCurve:
        """Return the curve of √times·μ."""
        return gaussian_curve(gaussian_root(times, self.exact("mu")))

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve of size·μ: μ-GDP for one record is (size·μ)-GDP for ``size``."""
        return gaussian_curve(size * self.exact("mu"))

    def privacy_losses(self) -> Losses:
        """Return the loss of the Gaussian mechanism, the worst μ-GDP one; none for μ = 0."""
        return self.group_losses(1)

    def group_losses(self, size: int) -> Losses:
        """Return that of size·μ."""
        return gaussian_losses(size * self.exact("mu"))
