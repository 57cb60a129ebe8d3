"""Groups: the same mechanism, with data sets as neighbours that differ in k records.

Where the profile is one of noise, k records move the answer by k times the sensitivity; a μ-GDP
mechanism is kμ-GDP for groups, an ε-DP one is at worst discrete Laplace noise of scale 1/ε whose
answer moves by k, and ranges of privacy losses add up. A ρ-zCDP mechanism is k²ρ-zCDP, an upper
bound (Bun and Steinke 2016). Of any other mechanism, all that δ(ε) says of a chain of k pairs of
neighbours is said (Dong, Roth and Su 2022, theorem 2.14): exactly where it is made of lines in e^ε,
else by chords between some ε, a bound. A user with at most k records is such a group.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb
from pydantic import Field, model_validator

from gdpbridge.curves.base import DEFAULT_FAILURE, Curve
from gdpbridge.curves.constants import exceeds
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Base, Profile, Whole, parameter, with_relation_of_base
from gdpbridge.mechanisms.gaussian import gaussian_curve
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.mechanisms.zcdp import concentrated_curve
from gdpbridge.numeric.kinds import BALLS
from gdpbridge.transformations.chained import chained, chained_is

if TYPE_CHECKING:
    from gdpbridge.guarantees.concentrated import Concentration
    from gdpbridge.losses.moments import Losses

__all__ = ["MAX_SIZE", "Grouped"]

MAX_SIZE = 1_000_000
_TINY = DEFAULT_FAILURE / 1000


@register_transformation
class Grouped(Profile):
    """A mechanism that protects groups of records, such as all of a user's."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["grouped"] = "grouped"
    base: Base = Field(description="the mechanism that is run")
    size: Whole = parameter(
        "number k of records in a group",
        symbol="k",
        allowed=f"a whole number from 1 to {MAX_SIZE}",
        typical=(1, 10),
        effect="raises",
        ge=1,
        le=MAX_SIZE,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the neighbouring relation from the mechanism that is run."""
        return with_relation_of_base(given)

    def model_post_init(self, _: Any) -> None:
        """Refuse kinds whose profile for groups is not known."""
        _ = self.curve

    @property
    def profile_is(self) -> Nature:
        """That of the mechanism's profile for groups."""
        if self.size == 1:
            return self.base.profile_is
        return self.base.grouped_is if self._known is not None else chained_is(self.base)

    @property
    def default_failure(self) -> Fraction | None:
        """A usual one where δ is told as far as it is not very small."""
        if self._known is None and self.size > 1 and self.profile_is is Nature.BOUND:
            known = self.tail.level is not None and exceeds(self.tail.level.value, _TINY)
            return None if known else DEFAULT_FAILURE
        return self.curve.default_failure

    @property
    def remarks(self) -> tuple[str, ...]:
        """Who is protected."""
        own = f"neighbours differ in {self.size} records: what is protected is a group of so many"
        return (own, *super().remarks)

    @property
    def leaves_no_trace(self) -> bool:
        """That of the mechanism that is run."""
        return self.base.leaves_no_trace

    @property
    def concentration(self) -> Concentration | None:
        """That of the mechanism that is run, for groups."""
        one = self.base.concentration
        return None if one is None else one.group(self.size)

    @cached_property
    def _known(self) -> Curve | None:
        """The curve for groups, of a kind that knows it."""
        try:
            return self.base.grouped_curve(self.size)
        except InputError as error:
            if error.field == "size":
                raise
            return None

    def build_curve(self) -> Curve:
        """Return the curve for groups."""
        if self.size == 1:
            return self.base.curve
        return chained(self.base, self.size) if self._known is None else self._known

    def grouped_curve(self, size: int) -> Curve:
        """Return the curve for groups of so many of these groups."""
        return self.base.group(size * self.size).curve

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` runs, each of which the group takes part in."""
        known, mu = self.concentration, self.tail.gaussian_mu
        if known is not None:
            return concentrated_curve(known.times(times))
        if mu is None:
            return super().composed_curve(times)
        return gaussian_curve(lambda: BALLS.constant(mu) * arb(times).sqrt())

    def privacy_losses(self) -> Losses:
        """Return those of the mechanism that is run, for groups."""
        return self.base.group_losses(self.size)
