"""Shuffled epochs: the records in random order, cut into T batches, each with Gaussian noise.

It is how most training loops run, and no exact profile of it is known. Two bounds are proved, for
data sets that differ in one record that is or is not without effect (zero-out), σ being the noise
multiplier:

- above: whatever the order, the record is in one batch of an epoch, whose sum it moves by the
  clipping norm at most. Gaussian noise answers with 1/σ, the mean over orders is no worse as δ is
  jointly convex, and E epochs have μ = √E/σ at most.
- below: where all others pull one way, the record's batch is 2/σ off with it and 1/σ without, all
  other batches alike. That the largest batch sum is above C has the chances
  1 - Φ(C - 2/σ)·Φ(C)^{T-1} and 1 - Φ(C - 1/σ)·Φ(C)^{T-1}, and every μ that the mechanism has is at
  least Φ⁻¹ of the one less Φ⁻¹ of the other (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and
  Zhang 2024), at any C and for one epoch, which more epochs do not improve.

δ(ε) is the upper bound. Batches drawn by chance are another mechanism, with another profile: dpsgd
for Poisson batches, random-allocation for each record in one of T batches.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from flint import arb

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.gaussian import MAX_MU, gaussian_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball
from gdpbridge.reading.parameters import MAX_WHOLE

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["ShuffledEpochs"]

_PLACES = 2000


@register
class ShuffledEpochs(Profile):
    """Training on shuffled batches: what is proved of it, above and below."""

    nature: ClassVar[Nature] = Nature.BOUND
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("zero-out",)
    samples: ClassVar[bool] = False
    kind: Literal["shuffled-epochs"] = "shuffled-epochs"
    neighbours: Neighbours | None = "zero-out"
    noise_multiplier: Real = parameter(
        "standard deviation σ of the noise over the clipping norm",
        symbol="σ",
        allowed="a finite number > 0",
        typical=(0.5, 10.0),
        effect="lowers",
        gt=0,
    )
    steps: Whole = parameter(
        "number T of batches in an epoch",
        symbol="T",
        allowed="a whole number ≥ 1, at most 10^12",
        typical=(10, 1000),
        ge=1,
        le=MAX_WHOLE,
    )
    epochs: Whole = parameter(
        "number E of epochs, each in an order of its own",
        symbol="E",
        allowed="a whole number from 1 to 1000000",
        typical=(1, 10),
        effect="raises",
        default=1,
        ge=1,
        le=1_000_000,
    )

    def model_post_init(self, _: object) -> None:
        """Check what the curve depends on."""
        fits = self._square(1) <= MAX_MU**2
        self.require("noise_multiplier", fits, f"so large that √E/σ is at most {MAX_MU}")

    def _square(self, times: int) -> Fraction:
        return times * self.epochs / self.exact("noise_multiplier") ** 2

    @property
    def least_mu(self) -> float:
        """What every μ of it is at least, in floats, of the best C on a grid."""
        from scipy.special import log_ndtr, ndtri, ndtri_exp

        shift, others = 1 / self.noise_multiplier, self.steps - 1
        top = 2 * shift + 10 + math.sqrt(2 * math.log(self.steps))
        c = np.linspace(-2.0, top, _PLACES)
        accepted = [log_ndtr(c - k * shift) + others * log_ndtr(c) for k in (1, 2)]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Φ⁻¹ of 1 - e^a is minus that of e^a
            found = ndtri_exp(accepted[0]) - ndtri_exp(accepted[1])
        usable = np.isfinite(found) & (np.abs(ndtri(np.exp(accepted[1]))) < 8)
        return float(np.max(found[usable], initial=0.0))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is known, and what is not."""
        return (
            "no exact profile of shuffled epochs is known: δ(ε) is that of batches in a fixed "
            "order, an upper bound, for a record against one without effect (zero-out)",
            f"no μ below {self.least_mu:.4g} is possible: the lower bound of Chua et al. (2024), "
            "in floats",
        )

    def build_curve(self) -> SmoothCurve:
        """Return the Gaussian curve of √E/σ."""
        return self.composed_curve(1)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return that for groups of ``size`` records, which move a batch as many times as far."""
        return self.composed_curve(size * size)

    def composed_curve(self, times: int) -> SmoothCurve:
        """Return that of as many times more epochs."""
        square = self._square(times)

        def mu() -> arb:
            return ball(square).sqrt()

        return gaussian_curve(mu)

    def privacy_losses(self) -> Losses:
        """Return the loss of Gaussian noise."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.gaussian import GaussianTransform

        return [Part(GaussianTransform(self._square(1)), 1)]
