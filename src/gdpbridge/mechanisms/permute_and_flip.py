"""Permute-and-flip: candidates in random order, each taken with the chance e^{-ε(q* - q)/(2Δ)}.

It is the same as adding exponential noise of scale 2Δ/ε and reporting the largest score (Ding,
Kifer, Sayed, Steinke and Zhang 2021), and not the exponential mechanism.

Let G(x) be the chance that the noisy maximum over a set of outcomes is more than x above that over
the others, x in scales. A record moves x by ε at most, by ε/2 if it moves all scores the same way.
Where all others are below x, the density of a maximum of exponentials is the chance that exactly
one exceeds x, at most the chance that one does: so -G' ≤ G, and -G' ≤ 1 - G by symmetry. Among all
such G, Laplace's distribution moves G farthest, and two candidates attain it. So the exact profile
over all scores is that of Laplace noise, δ(x) = 1 - e^{(x-ε)/2}; each x has an event and scores of
its own. Several runs are bounded by the composed loss of Laplace noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.mechanisms.base import Profile, Real
from gdpbridge.mechanisms.exponential import monotonic_parameter, selection_epsilon
from gdpbridge.mechanisms.laplace import laplace_curve, laplace_losses
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["PermuteAndFlip"]


@register
class PermuteAndFlip(Profile):
    """Permute-and-flip: the largest score after exponential noise is added to each."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["permute-and-flip"] = "permute-and-flip"
    epsilon: Real = selection_epsilon()
    monotonic: bool = monotonic_parameter()

    def _shift(self) -> Fraction:
        return self.exact("epsilon") / (2 if self.monotonic else 1)

    @property
    def composed_is(self) -> Nature:
        """A bound: no one mechanism attains the whole curve."""
        return Nature.BOUND

    @property
    def certified_as(self) -> Profile:
        """The mechanism of general scores with the same curve, where a float holds its ε."""
        shift = float(self._shift())
        if not self.monotonic or exact(shift) != self._shift():
            return self
        return PermuteAndFlip(epsilon=shift, neighbours=self.neighbours)

    def build_curve(self) -> SmoothCurve:
        """Return Laplace's curve."""
        return self.group_curve(1)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for ``size`` times the ε."""
        return laplace_curve(size * self._shift()) if self.epsilon else zero_curve()

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        return self.curve if times == 1 else super().composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return the loss of Laplace noise, which dominates; none for ε = 0."""
        return laplace_losses(self._shift()) if self.epsilon else []
