"""Different mechanisms run one after another on the same records, where that is known exactly.

Mechanisms whose profiles are the Gaussian curves with μ₁, ..., μ_k compose to the one with
μ² = Σ μ_i² (Dong, Roth and Su 2022, corollary 3.3). For other kinds no exact composition of
different mechanisms is known here; :func:`gdpbridge.compose` adds up their measured μ's.
"""

from __future__ import annotations

from typing import Any, Literal

from flint import arb
from pydantic import Field

from gdpbridge.errors import InputError
from gdpbridge.numeric.kinds import BALLS
from gdpbridge.profiles.base import Base, Profile
from gdpbridge.profiles.constants import Constant
from gdpbridge.profiles.gaussian import gaussian_curve
from gdpbridge.profiles.pieces import Curve
from gdpbridge.profiles.registry import register_transformation
from gdpbridge.profiles.tail import GaussianCurveTail

__all__ = ["MAX_PARTS", "Sequence"]

MAX_PARTS = 1000


@register_transformation
class Sequence(Profile):
    """Several Gaussian mechanisms run one after another on the same records."""

    kind: Literal["sequence"] = "sequence"
    parts: tuple[Base, ...] = Field(
        description="the mechanisms that are run",
        min_length=1,
        max_length=MAX_PARTS,
        json_schema_extra={"allowed": f"a list of 1 to {MAX_PARTS} mechanisms"},
    )

    def model_post_init(self, _: Any) -> None:
        """Check that the parts can be composed."""
        relations = {part.neighbours for part in self.parts} - {None}
        for number, part in enumerate(self.parts):
            if not isinstance(part.tail, GaussianCurveTail):
                raise InputError(
                    f"parts[{number}].kind",
                    part.kind,
                    "gaussian or gdp, whose composition with other mechanisms is known exactly",
                )
            if len(relations) > 1:
                raise InputError(
                    f"parts[{number}].neighbours",
                    part.neighbours,
                    "the same neighbouring relation in every part",
                )
        if self.neighbours is not None and relations - {self.neighbours}:
            raise InputError("neighbours", self.neighbours, "the relation of the parts")

    def build_curve(self) -> Curve:
        """Return the Gaussian curve of all parts together."""
        parameters: list[Constant] = []
        for part in self.parts:
            tail = part.tail
            assert isinstance(tail, GaussianCurveTail)
            parameters.append(tail.mu)

        def mu() -> arb:
            total = arb(0)
            for parameter in parameters:
                at = BALLS.constant(parameter)
                total += at * at
            return total.sqrt()

        return gaussian_curve(mu if any(parameters) else parameters[0])
