"""Different mechanisms run one after another on the same records.

Mechanisms whose profiles are the Gaussian curves with μ₁, ..., μ_k compose exactly to the one with
μ² = Σ μ_i² (Dong, Roth and Su 2022, corollary 3.3). With ρ-zCDP ones among them, Σρ-zCDP and the
μ's that the ρ's imply are bounds, and the smaller δ is taken. With Rényi curves among them, the
divergences of all are added, order by order (Mironov 2017). For others, their privacy losses are
composed between bounds; :func:`gdpbridge.compose` adds up measured μ's instead, which is coarser.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from flint import arb
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.guarantees.concentrated import Concentration
from gdpbridge.guarantees.renyi import renyi_curve
from gdpbridge.mechanisms.base import Neighbours, Profile, as_profile
from gdpbridge.mechanisms.gaussian import gaussian_curve
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.mechanisms.zcdp import concentrated_curve
from gdpbridge.numeric.kinds import BALLS

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses, Part

__all__ = ["MAX_PARTS", "Sequence"]

MAX_PARTS = 1000


def _as_part(value: object) -> object:
    """Accept a part as a profile or as plain data, which may say how often it is run."""
    if not isinstance(value, dict) or "count" not in value:
        return as_profile(value)
    part = as_profile({key: given for key, given in value.items() if key != "count"})
    assert isinstance(part, Profile)
    try:
        return part.compose(value["count"])
    except InputError as error:
        raise error.renamed("count" if error.field == "times" else error.field) from None


@register_transformation
class Sequence(Profile):
    """Several mechanisms run one after another on the same records."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["sequence"] = "sequence"
    parts: tuple[Annotated[SerializeAsAny[Profile], BeforeValidator(_as_part)], ...] = Field(
        description="the mechanisms that are run",
        min_length=1,
        max_length=MAX_PARTS,
        json_schema_extra={"allowed": f"a list of 1 to {MAX_PARTS} mechanisms"},
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the neighbouring relation from the parts, where those that name one agree."""
        parts = given.get("parts")
        if given.get("neighbours") is not None or not isinstance(parts, list | tuple):
            return given
        try:
            built = [_as_part(part) for part in parts]
        except InputError:  # which part it is, is told where each is read by itself
            return given
        relations = {getattr(part, "neighbours", None) for part in built} - {None}
        relation = relations.pop() if len(relations) == 1 else None
        return {**given, "parts": built, "neighbours": relation}

    def model_post_init(self, _: Any) -> None:
        """Check that the parts can be composed."""
        relations = {part.neighbours for part in self.parts} - {None}
        for number, part in enumerate(self.parts):
            if len(relations) > 1:
                raise InputError(
                    f"parts[{number}].neighbours",
                    part.neighbours,
                    "the same neighbouring relation in every part: to_neighbours converts where a "
                    "theorem allows it",
                )
        if self.neighbours is not None and relations - {self.neighbours}:
            raise InputError("neighbours", self.neighbours, "the relation of the parts")
        if self.renyi_orders is not None:
            _ = self.curve
        elif self.concentration is None and self._gaussian_mus() is None:
            # a part that cannot be composed is refused at once
            self.privacy_losses()

    @property
    def profile_is(self) -> Nature:
        """What is composed says what the composition is."""
        return weakest([self.nature, *(profile.composed_is for profile in self.inner)])

    @property
    def certified_as(self) -> Profile:
        """The parts in other words."""
        parts = tuple(part.certified_as for part in self.parts)
        same = all(one is part for one, part in zip(parts, self.parts, strict=True))
        return self if same else Sequence(parts=parts)

    def specification(self) -> dict[str, str | None]:
        """Return the parts' as parts.0.…, parts.1.…, equal ones once and with their count."""
        found: dict[str, str | None] = {"kind": self.kind, "neighbours": self.neighbours}
        for number, (_, part, count) in enumerate(self._counted()):
            if "count" in part.parameters():
                # of its own another one: it is what is composed
                own = {f"base.{name}": text for name, text in part.specification().items()}
                once = {"kind": "composed", "neighbours": part.neighbours, "times": "1"}
                texts = {**once, **own, "count": str(count)}
            else:
                texts = {**part.specification(), "count": str(count)}
            found |= {f"parts.{number}.{name}": text for name, text in texts.items()}
        return found

    def _counted(self) -> list[tuple[int, Profile, int]]:
        """Return the parts, equal ones once where they first come, with that place and a count."""
        counted: dict[str, tuple[int, Profile, int]] = {}
        for number, part in enumerate(self.parts):
            first, _, count = counted.get(key := part.model_dump_json(), (number, part, 0))
            counted[key] = first, part, count + 1
        return list(counted.values())

    @cached_property
    def concentration(self) -> Concentration | None:
        """The sum of those of the parts, if each has one."""
        found = [part.concentration for part in self.parts]
        known = [one for one in found if one is not None]
        return Concentration.total(known) if len(known) == len(found) else None

    @cached_property
    def renyi_orders(self) -> frozenset[Fraction] | None:
        """Those that all parts which are known at some orders alone have in common."""
        found = [part.renyi_orders for part in self.parts]
        known = [one for one in found if one is not None]
        return frozenset.intersection(*known) if known else None

    def renyi_divergence(self, tilt: Fraction) -> Fraction | None:
        """Return the sum of those of the parts, equal ones asked once."""
        total = Fraction(0)
        for number, part, count in self._counted():
            try:
                one = part.renyi_divergence(tilt)
            except InputError as error:
                raise error.renamed(f"parts[{number}].kind") from None
            if one is None:
                return None
            total += count * one
        return total

    def _renyi_curve(self, orders: frozenset[Fraction], times: int) -> Curve:
        found = [(tilt, self.renyi_divergence(tilt)) for tilt in sorted(orders)]
        bounds = tuple(Bound(tilt, times * value) for tilt, value in found if value is not None)
        if not bounds:
            for number, part in enumerate(self.parts):
                if orders and all(part.renyi_divergence(tilt) is None for tilt in orders):
                    raise InputError(
                        f"parts[{number}].kind",
                        part.kind,
                        "one with finite Rényi divergences beside a Rényi curve: of (ε, δ)-DP, "
                        "pure-dp with δ added to what may fail",
                    )
            raise InputError(
                "parts",
                Words("without a common order at which all Rényi divergences are finite"),
                Advice("give Rényi curves at the same orders, and parts that are finite there"),
            )
        return renyi_curve(bounds)

    def _gaussian_mus(self) -> list[Constant] | None:
        """Return the μ's of the parts' Gaussian curves, if all are such."""
        if any(part.composes_beside_others_only for part in self.parts):
            return None
        found = [part.tail.gaussian_mu for part in self.parts]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def restated(self, relation: Neighbours) -> Profile | None:
        """Return the parts for other neighbours, each of which is converted."""
        return Sequence(parts=tuple(part.to_neighbours(relation) for part in self.parts))

    @property
    def grouped_is(self) -> Nature:
        """What the parts for groups say together."""
        return self._of_group(2).profile_is

    def _of_group(self, size: int) -> Sequence:
        return Sequence(parts=tuple(part.group(size) for part in self.parts))

    def grouped_curve(self, size: int) -> Curve:
        """Return the curve of the parts, each of them for groups."""
        return self._of_group(size).curve

    def build_curve(self) -> Curve:
        """Return the curve of all parts together."""
        if self.renyi_orders is not None:
            return self._renyi_curve(self.renyi_orders, 1)
        found = None if self.concentration is not None else self._gaussian_mus()
        if found is None:
            return self.composed_curve(1)

        def mu() -> arb:
            total = arb(0)
            for one in found:
                at = BALLS.constant(one)
                total += at * at
            return total.sqrt()

        return gaussian_curve(mu if any(found) else found[0])

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` runs of all of them."""
        if self.renyi_orders is not None:
            return self._renyi_curve(self.renyi_orders, times)
        if self.concentration is None:
            return super().composed_curve(times)
        return concentrated_curve(self.concentration.times(times))

    def privacy_losses(self) -> Losses:
        """Return those of all parts, like ones together.

        Raises:
            InputError: for a part that does not know its privacy loss.
        """
        # equal parts are composed together, which is much quicker
        found: list[Part] = []
        for number, part, count in self._counted():
            try:
                losses = part.privacy_losses()
            except InputError as error:
                place = f"parts[{number}].kind"
                raise error.renamed(place) from None
            if (
                self.neighbours == "replace-one"
                and part.neighbours is None
                and not all(pair.symmetric for pair in losses)
            ):
                allowed = "replace-one in this part too: each run may be worst in another order"
                raise InputError(f"parts[{number}].neighbours", None, allowed)
            found += [replace(pair, times=count * pair.times) for pair in losses]
        return found
