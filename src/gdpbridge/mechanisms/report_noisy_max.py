"""Report noisy max: noise is added to every score, and the place of the largest one reported.

It is in textbooks (Dwork and Roth 2014, section 3.3). What δ(ε) is depends on the noise, at one and
the same scale b and sensitivity Δ of a score; with r = 2Δ/b, or Δ/b if a record moves all scores
the same way:

- gumbel: the exponential mechanism. The exact profile over all scores is that of the bounded range
  r, (1 - e^{(ε-r)/2})²/(1 - e^{-r}).
- exponential: permute-and-flip (Ding, Kifer, Sayed, Steinke and Zhang 2021). The exact one is 1 -
  e^{(ε-r)/2}.
- laplace: at most that, by the argument of permute-and-flip: of Laplace noise too, the density of
  the maximum is at most 1/b times the chance that it is exceeded. It is an upper bound.

The number that is largest is not reported: whoever releases it releases a noisy score beside the
place, and composes both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.mechanisms.base import Profile, Real, positive, sensitivity_parameter
from gdpbridge.mechanisms.bounded_range import (
    MAX_RANGE,
    BoundedRange,
    range_curve,
    range_losses,
)
from gdpbridge.mechanisms.exponential import monotonic_parameter
from gdpbridge.mechanisms.laplace import laplace_curve, laplace_losses
from gdpbridge.mechanisms.permute_and_flip import PermuteAndFlip
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["ReportNoisyMax"]


@register
class ReportNoisyMax(Profile):
    """Noise added to every score, and the place of the largest one reported."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["report-noisy-max"] = "report-noisy-max"
    noise: Literal["gumbel", "exponential", "laplace"] = Field(
        description="the noise",
        json_schema_extra={"symbol": "NOISE", "allowed": "gumbel, exponential or laplace"},
    )
    scale: Real = positive(
        "scale b of the noise, in the unit of a score",
        symbol="b",
        typical=(0.5, 20.0),
        effect="lowers",
    )
    sensitivity: Real = sensitivity_parameter(
        "how much a record may change one score, in its unit",
        effect="raises",
    )
    monotonic: bool = monotonic_parameter()

    def model_post_init(self, _: Any) -> None:
        """Check the one thing the curve depends on."""
        self.require("sensitivity/scale", self._shift() <= MAX_RANGE, f"at most {MAX_RANGE / 2:g}")

    def _shift(self) -> Fraction:
        ratio = self.exact("sensitivity") / self.exact("scale")
        return ratio if self.monotonic else 2 * ratio

    @property
    def profile_is(self) -> Nature:
        """A bound for Laplace noise."""
        return Nature.BOUND if self.noise == "laplace" else Nature.CLASS

    @property
    def composed_is(self) -> Nature:
        """A bound: no one mechanism attains the whole curve."""
        return Nature.BOUND

    @property
    def certified_as(self) -> Profile:
        """The mechanism in other words, where floats hold their number exactly."""
        shift = float(self._shift())
        if self.noise == "laplace" or exact(shift) != self._shift():
            return self
        if self.noise == "gumbel":
            return BoundedRange(range=shift, neighbours=self.neighbours)
        return PermuteAndFlip(epsilon=shift, neighbours=self.neighbours)

    def build_curve(self) -> SmoothCurve:
        """Return the curve of the mechanism that the noise makes of it."""
        return self.group_curve(1)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for ``size`` times the sensitivity."""
        shift = size * self._shift()
        return range_curve(shift) if self.noise == "gumbel" else laplace_curve(shift)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        return self.curve if times == 1 else super().composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return the loss of the pair that dominates."""
        shift = self._shift()
        return range_losses(shift) if self.noise == "gumbel" else laplace_losses(shift)
