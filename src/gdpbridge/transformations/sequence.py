"""Different mechanisms run one after another on the same records.

Mechanisms whose profiles are the Gaussian curves with μ₁, ..., μ_k compose exactly to the one with
μ² = Σ μ_i² (Dong, Roth and Su 2022, corollary 3.3). For others, their privacy losses are composed
between bounds; :func:`gdpbridge.compose` adds up measured μ's instead, which is coarser.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb
from pydantic import Field

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Counted, Profile
from gdpbridge.mechanisms.gaussian import gaussian_curve
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.numeric.kinds import BALLS

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses, Part

__all__ = ["MAX_PARTS", "Sequence"]

MAX_PARTS = 1000


@register_transformation
class Sequence(Profile):
    """Several mechanisms run one after another on the same records."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["sequence"] = "sequence"
    parts: tuple[Counted, ...] = Field(
        description="the mechanisms that are run",
        min_length=1,
        max_length=MAX_PARTS,
        json_schema_extra={"allowed": f"a list of 1 to {MAX_PARTS} mechanisms"},
    )

    def model_post_init(self, _: Any) -> None:
        """Check that the parts can be composed."""
        relations = {part.neighbours for part in self.parts} - {None}
        for number, part in enumerate(self.parts):
            if len(relations) > 1:
                raise InputError(
                    f"parts[{number}].neighbours",
                    part.neighbours,
                    "the same neighbouring relation in every part",
                )
        if self.neighbours is not None and relations - {self.neighbours}:
            raise InputError("neighbours", self.neighbours, "the relation of the parts")
        if any(part.tail.gaussian_mu is None for part in self.parts):
            # a part that cannot be composed is refused at once
            self.privacy_losses()

    @property
    def profile_is(self) -> Nature:
        """What is composed says what the composition is."""
        return weakest([self.nature, *(profile.composed_is for profile in self.inner)])

    def build_curve(self) -> Curve:
        """Return the curve of all parts together."""
        found = [part.tail.gaussian_mu for part in self.parts]
        parameters: list[Constant] = [parameter for parameter in found if parameter is not None]
        if len(parameters) < len(self.parts):
            return self.composed_curve(1)

        def mu() -> arb:
            total = arb(0)
            for parameter in parameters:
                at = BALLS.constant(parameter)
                total += at * at
            return total.sqrt()

        return gaussian_curve(mu if any(parameters) else parameters[0])

    def privacy_losses(self) -> Losses:
        """Return those of all parts, like ones together.

        Raises:
            InputError: for a part that does not know its privacy loss.
        """
        # equal parts are composed together, which is much quicker
        counted: dict[str, tuple[int, Profile, int]] = {}
        for number, part in enumerate(self.parts):
            first, _, count = counted.get(key := part.model_dump_json(), (number, part, 0))
            counted[key] = first, part, count + 1
        found: list[Part] = []
        for number, part, count in counted.values():
            try:
                losses = part.privacy_losses()
            except InputError as error:
                place = f"parts[{number}].kind"
                raise error.renamed(place) from None
            found += [replace(pair, times=count * pair.times) for pair in losses]
        return found
