"""Randomized response over k buckets.

With probability p (the noise parameter) the answer is uniform over the k buckets, else the truth.
δ(ε) = (p/k)(e^ε₀ - e^ε)⁺ with e^ε₀ = 1 + k(1 - p)/p (Kairouz, Oh and Viswanath 2016).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import logarithm
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve, zero_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, Probability, ball
from gdpbridge.reading.parameters import MAX_WHOLE

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["RandomizedResponse"]


@register
class RandomizedResponse(Profile):
    """One person's answer out of k, replaced by a random one with a given probability."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["randomized-response"] = "randomized-response"
    neighbours: Neighbours = "replace-one"
    noise_parameter: Real = parameter(
        "probability p that the answer is drawn at random from all buckets",
        symbol="p",
        allowed="a number in (0, 1]",
        typical=(0.05, 1.0),
        effect="lowers",
        gt=0,
        le=1,
    )
    buckets: Whole = parameter(
        "number k of possible answers",
        symbol="k",
        allowed="a whole number ≥ 2, at most 10^12",
        typical=(2, 50),
        effect="raises",
        default=2,
        ge=2,
        le=MAX_WHOLE,
    )

    def build_curve(self) -> SmoothCurve:
        """Return the single piece on [0, ε₀]."""
        noise, buckets = self.exact("noise_parameter"), self.buckets
        share = noise / buckets
        if noise == 1:
            return zero_curve()
        eps0 = logarithm(1 + (1 - noise) / share)

        def delta(eps: Any, ops: Operations) -> Probability:
            top, log_share = ops.constant(eps0), ops.constant(logarithm(share))
            return Probability(
                lambda: log_share + top + ops.log1mexp(eps - top),
                lambda: log_share + ops.log(buckets - 1 + ops.exp(eps)),
            )

        return smooth_curve(delta, ConstantTail(eps0, Fraction(0)), eps0)

    def composed_curve(self, times: int) -> Curve:
        """Return the binomial curve for two possible answers, else that of three losses."""
        noise = self.exact("noise_parameter")
        if self.buckets > 2 and noise < 1:
            return super().composed_curve(times)
        return binomial_curve(Fraction(0) if noise == 1 else logarithm((2 - noise) / noise), times)

    def privacy_losses(self) -> Losses:
        """Return the loss: ±ε₀, or 0 for the answers that are neither record's."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.base import Number
        from gdpbridge.losses.transforms.finite import FiniteTransform

        noise, buckets = self.exact("noise_parameter"), self.buckets
        if noise == 1:
            return []
        share = noise / buckets
        ratio = 1 + (1 - noise) / share

        def top() -> arb:
            return ball(ratio).log()

        found: list[tuple[int, Number, Number]] = [(-1, lambda: -top(), share)]
        if buckets > 2:
            found.append((0, Fraction(0), (buckets - 2) * share))
        found.append((1, top, share + 1 - noise))
        places, losses, masses = zip(*found, strict=True)
        law = FiniteTransform(losses, masses, symmetric=True, spacing=top, places=places)
        return [Part(law, 1)]
