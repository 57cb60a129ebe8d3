"""Composition: the same mechanism run several times on the same records, exactly.

k runs of an (ε₀, δ₀)-DP mechanism are at worst k randomized responses, and fail with probability
1 - (1 - δ₀)^k (Kairouz, Oh and Viswanath 2015); k runs of a μ-GDP one are √k·μ-GDP (Dong, Roth and
Su 2022). Later runs may depend on the answers of earlier ones.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import (
    Base,
    Neighbours,
    Profile,
    Whole,
    parameter,
    with_relation_of_base,
)
from gdpbridge.mechanisms.gaussian import gaussian_curve
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.numeric.kinds import BALLS

if TYPE_CHECKING:
    from gdpbridge.guarantees.concentrated import Concentration
    from gdpbridge.losses.moments import Losses

__all__ = ["MAX_TIMES", "Composed"]

MAX_TIMES = 1_000_000


@register_transformation
class Composed(Profile):
    """A mechanism that is run several times on the same records."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["composed"] = "composed"
    base: Base = Field(description="the mechanism that is run")
    times: Whole = parameter(
        "number k of runs",
        symbol="k",
        allowed=f"a whole number from 1 to {MAX_TIMES}",
        typical=(1, 100),
        effect="raises",
        ge=1,
        le=MAX_TIMES,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the neighbouring relation from the mechanism that is run."""
        return with_relation_of_base(given)

    def model_post_init(self, _: Any) -> None:
        """Check that the composition is known."""
        if self.neighbours != self.base.neighbours:
            raise InputError(
                "neighbours",
                self.neighbours,
                f"{self.base.neighbours}, the relation of the {self.base.kind} profile",
            )
        # kinds that do not compose are refused here
        if not self.base.composes_beside_others_only:
            _ = self.curve

    @property
    def profile_is(self) -> Nature:
        """What is composed says what the composition is."""
        return weakest([self.nature, *(profile.composed_is for profile in self.inner)])

    @property
    def certified_as(self) -> Profile:
        """Runs of the mechanism in other words; of one run alone more may be known than of runs."""
        base = self.base.certified_as
        if self.times == 1 and self.curve is self.base.curve:
            return base
        if (runs := base.as_runs(self.times)) is not None:
            return runs
        return self if base is self.base else Composed(base=base, times=self.times)

    @property
    def composes_beside_others_only(self) -> bool:
        """That of the mechanism that is run."""
        return self.base.composes_beside_others_only

    @property
    def concentration(self) -> Concentration | None:
        """That of the mechanism that is run, as many times more."""
        one = self.base.concentration
        return None if one is None else one.times(self.times)

    @property
    def renyi_orders(self) -> frozenset[Fraction] | None:
        """Those of the mechanism that is run."""
        return self.base.renyi_orders

    def renyi_divergence(self, tilt: Fraction) -> Fraction | None:
        """Return that of one run, as many times more."""
        one = self.base.renyi_divergence(tilt)
        return None if one is None else self.times * one

    def build_curve(self) -> Curve:
        """Return the curve of all runs together."""
        return self.base.composed_curve(self.times)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` times as many runs."""
        self.require("times", self.times * times <= MAX_TIMES, f"at most {MAX_TIMES} in all")
        return self.base.composed_curve(self.times * times)

    def restated(self, relation: Neighbours) -> Profile | None:
        """Return as many runs for other neighbours, each of which is converted."""
        return self.base.to_neighbours(relation).compose(self.times)

    def grouped_curve(self, size: int) -> Curve:
        """Return size·μ, where all runs together have a Gaussian curve; else the runs' groups."""
        mu = self.tail.gaussian_mu
        if mu is None:
            return self.base.group(size).composed_curve(self.times)
        return gaussian_curve(lambda: size * BALLS.constant(mu))

    def privacy_losses(self) -> Losses:
        """Return those of the mechanism that is run, as many times more."""
        return [replace(pair, times=self.times * pair.times) for pair in self.base.privacy_losses()]
