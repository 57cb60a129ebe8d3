"""Random allocation: each record takes part in one of k steps of an epoch, drawn at random.

Also called balls and bins: batches are drawn afresh in every epoch, each record in exactly one. A
step adds Gaussian noise of deviation σ, the noise multiplier times the clipping norm. With the
record one step's sum is up to 1/σ larger: P is the mean of k normal laws, one for each step, Q has
none, and that pair dominates, also where later steps depend on earlier answers (Chua, Ghazi,
Harrison, Kamath, Kumar, Leeman, Manurangsi, Sinha and Zhang 2025; Feldman and Shenfeld 2025).

No closed form of its δ(ε) is known. With P/Q = M = ΣX_i/k, X_i independent and lognormal under Q,
it is E(M - e^ε)⁺ or E(1 - e^ε·M)⁺, both convex in M. Spreading each X_i, and sums of them, to the
places of a geometric grid (Feldman and Shenfeld 2025), with the same mean, bounds both from above:
what is measured is an upper bound, proved, and some thousandths above the truth. Epochs are
composed.

Whatever the steps that are drawn, Gaussian noise answers for E of them, and δ is jointly convex: it
stays below the Gaussian curve with μ = √E/σ. As for DP-SGD, it falls as slowly in the limit: the
same step is drawn in all epochs with the probability k^{1-E}.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from gdpbridge.curves.base import Curve
from gdpbridge.curves.composition import cut_off_curve
from gdpbridge.curves.constants import square_root
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import CutOffTail, PlateauTail
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.registry import register

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Part

__all__ = ["RandomAllocation"]

MAX_STEPS = 10_000
MAX_EPOCHS = 32


@register
class RandomAllocation(Profile):
    """Training where each record is in one batch of an epoch, drawn at random."""

    nature: ClassVar[Nature] = Nature.BOUND
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("add-remove", "zero-out")
    kind: Literal["random-allocation"] = "random-allocation"
    neighbours: Neighbours = "add-remove"
    noise_multiplier: Real = parameter(
        "standard deviation σ of the noise over the clipping norm",
        symbol="σ",
        allowed="a number from 0.3 to 100",
        typical=(0.8, 4.0),
        effect="lowers",
        ge=0.3,
        le=100,
    )
    steps: Whole = parameter(
        "number k of steps in an epoch",
        symbol="k",
        allowed=f"a whole number from 2 to {MAX_STEPS}",
        typical=(10, 20),
        ge=2,
        le=MAX_STEPS,
    )
    epochs: Whole = parameter(
        "number E of epochs",
        symbol="E",
        allowed=f"a whole number from 1 to {MAX_EPOCHS}",
        typical=(1, 2),
        effect="raises",
        default=1,
        ge=1,
        le=MAX_EPOCHS,
    )

    @cached_property
    def _transform(self) -> FiniteTransform:
        from gdpbridge.losses.allocation import allocated

        return allocated(1 / self.exact("noise_multiplier"), self.steps)

    def _part(self, times: int) -> Part:
        from gdpbridge.losses.moments import Part

        return Part(self._transform, times * self.epochs)

    @property
    def leaves_no_trace(self) -> bool:
        """Yes: whichever step it is in, that step's sum is as without it."""
        return True

    @property
    def beyond_certificates(self) -> str:
        """They are of few steps: the checker adds up all of them once more."""
        from gdpbridge_verify.allocation import takes_too_long

        if takes_too_long(1 / self.exact("noise_multiplier"), self.steps):
            return "there is no certificate for an allocation that takes so long to check yet"
        return ""

    @property
    def least_failure(self) -> Fraction:
        """None beside the default one: what is beyond is cut off."""
        return Fraction(1)

    def build_curve(self) -> Curve:
        """Return the lines of the law that dominates."""
        return self.composed_curve(1)

    def as_runs(self, times: int) -> Profile | None:
        """Return as many times more epochs."""
        epochs = times * self.epochs
        return self.model_copy(update={"epochs": epochs}) if epochs <= MAX_EPOCHS else None

    def composed_curve(self, times: int) -> Curve:
        """Return those of as many times more epochs."""
        square = times * self.epochs / self.exact("noise_multiplier") ** 2

        def settled(plateau: PlateauTail, _: object) -> Tail:
            return CutOffTail(square_root(square), None, plateau.start, plateau.value)

        return cut_off_curve(self._part(times), settled)
