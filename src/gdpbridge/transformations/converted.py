"""Conversion: the same mechanism, stated for other neighbours than it was.

What each relation calls neighbours: data sets of which one has a record more (add-remove); of
which one record differs (replace-one); or of which one record is without effect in one of them, a
zero in a sum (zero-out; Kairouz et al. 2021). What leads from one to another:

- A kind that knows its pair of distributions for both is taken with the other one.
- Noise added to a sum, on Poisson samples or on none: to zero a record out, or to leave it out,
  gives the same sum, so that add-remove and zero-out are one.
- To zero a record out is to replace it: δ(ε) for replace-one bounds that for zero-out.
- To replace a record is to remove one and to add another, or to zero it out and back: replace-one
  is a group of two of add-remove or zero-out. So is zero-out of add-remove: a record is removed,
  and one without effect added.

Nothing leads from replace-one to add-remove: the number of records may have been given away.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Base, Neighbours, Profile
from gdpbridge.mechanisms.registry import register_transformation

if TYPE_CHECKING:
    from gdpbridge.guarantees.concentrated import Concentration
    from gdpbridge.losses.moments import Losses

__all__ = ["Converted"]

_SAID, _TWO_RECORDS = "converted from", "neighbours differ in 2 records"
_SUMS = {"add-remove", "zero-out"}
_TWO_MOVES = {
    ("add-remove", "replace-one"): "one record is removed and another added, a group of two",
    ("zero-out", "replace-one"): "one record is zeroed out and another put there, a group of two",
    ("add-remove", "zero-out"): "a record is removed and one without effect added, a group of two",
}


@register_transformation
class Converted(Profile):
    """A mechanism for other neighbours than those that it was stated for."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["converted"] = "converted"
    base: Base = Field(description="the mechanism as it was stated")
    neighbours: Neighbours = Field(
        description="the neighbouring relation that it is converted to",
        json_schema_extra={"allowed": "'add-remove', 'replace-one' or 'zero-out'"},
    )

    def model_post_init(self, _: Any) -> None:
        """Refuse what no theorem says, and groups of mechanisms whose groups are not known."""
        _ = self._found.curve

    @cached_property
    def _rule(self) -> tuple[Profile, Nature, str]:
        """The mechanism that has the curve, what that is at best, and why, as words."""
        own, wanted = self.base.neighbours, self.neighbours
        if own is None:
            raise InputError.missing(
                "neighbours", "name the relation that the mechanism is stated for, to convert it"
            )
        stated = self.base.restated(wanted)
        if stated is not None:
            return stated, Nature.OWN, "its pair of distributions is known for both"
        if {own, wanted} == _SUMS and self.base.leaves_no_trace:
            why = "noise is added to a sum, in which a zeroed record is as one that is left out"
            return self.base, Nature.OWN, why
        if (own, wanted) == ("replace-one", "zero-out"):
            return self.base, Nature.BOUND, "to zero a record out is to replace it"
        if (own, wanted) in _TWO_MOVES:
            return self.base.group(2), Nature.BOUND, _TWO_MOVES[own, wanted]
        raise InputError(
            "neighbours",
            wanted,
            Advice(
                f"no theorem leads from {own} to {wanted} neighbours for {self.base.kind}: the "
                "number of records may have been given away"
            ),
        )

    @property
    def _found(self) -> Profile:
        return self._rule[0]

    @property
    def profile_is(self) -> Nature:
        """That of the mechanism that has the curve, and a bound after two moves."""
        return weakest([self._rule[1], self._found.profile_is])

    @property
    def composed_is(self) -> Nature:
        """That of the mechanism that has the curve, and a bound after two moves."""
        return weakest([self._rule[1], self._found.composed_is])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was converted, and by what right."""
        own = f"{_SAID} {self.base.neighbours} to {self.neighbours} neighbours: {self._rule[2]}"
        # of two moves, who is protected is told here
        kept = [text for text in self._found.remarks if not text.startswith(_TWO_RECORDS)]
        # what is made of others says so for each of them
        return tuple(kept) if any(text.startswith(_SAID) for text in kept) else (own, *kept)

    @property
    def certified_as(self) -> Profile:
        """The mechanism that has the curve, which says which neighbours are meant."""
        return self._found.certified_as

    @property
    def default_failure(self) -> Any:
        """That of the mechanism that has the curve."""
        return self._found.default_failure

    @property
    def leaves_no_trace(self) -> bool:
        """That of the mechanism that has the curve."""
        return self._found.leaves_no_trace

    @property
    def concentration(self) -> Concentration | None:
        """That of the mechanism that has the curve."""
        return self._found.concentration

    @property
    def renyi_orders(self) -> Any:
        """Those of the mechanism that has the curve."""
        return self._found.renyi_orders

    def renyi_divergence(self, tilt: Any) -> Any:
        """Return that of the mechanism that has the curve."""
        return self._found.renyi_divergence(tilt)

    def build_curve(self) -> Curve:
        """Return the curve for these neighbours."""
        return self._found.curve

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` runs."""
        return self._found.composed_curve(times)

    def grouped_curve(self, size: int) -> Curve:
        """Return the curve for groups, each record of which is converted."""
        return self._found.grouped_curve(size)

    def privacy_losses(self) -> Losses:
        """Return those of the mechanism that has the curve."""
        return self._found.privacy_losses()
