"""The exponential mechanism: an outcome is drawn with a weight of e^{εq/(2Δ)}, q its score.

The privacy losses of two outcomes are at most ε apart, and ε/2 if a record moves all scores the
same way (monotonic). With two outcomes and the right scores every such pair of losses occurs, so
that the exact profile over all scores is that of this bounded range; see bounded-range (Dong,
Durfee and Rogers 2020). It is what adding Gumbel noise of scale 2Δ/ε and reporting the largest
score does, too. Adding exponential noise is permute-and-flip: another mechanism, with another
profile.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.nature import Nature
from gdpbridge.mechanisms.base import Profile, Real, Whole, parameter
from gdpbridge.mechanisms.bounded_range import (
    MAX_RANGE,
    BoundedRange,
    BoundedRangeFamily,
    runs_parameter,
)
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact

__all__ = ["Exponential", "monotonic_parameter", "selection_epsilon"]


def selection_epsilon() -> Any:
    """Declare the ε that sets the weights of a selection."""
    return parameter(
        "the ε that sets the weights e^(εq/(2Δ)): the mechanism is ε-DP",
        symbol="ε",
        allowed=f"a number in [0, {MAX_RANGE}]",
        typical=(0.05, 10.0),
        effect="raises",
        ge=0,
        le=MAX_RANGE,
    )


def monotonic_parameter() -> Any:
    """Declare whether a record moves all scores the same way."""
    return Field(
        default=False,
        strict=True,
        description="a record moves all scores the same way, as counts do",
        json_schema_extra={"symbol": "monotonic", "allowed": "true or false"},
    )


@register
class Exponential(BoundedRangeFamily):
    """The exponential mechanism: an outcome is drawn, the likelier the better it scores."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["exponential"] = "exponential"
    epsilon: Real = selection_epsilon()
    monotonic: bool = monotonic_parameter()
    runs: Whole = runs_parameter()

    def width(self) -> Fraction:
        """Return ε, or half of it."""
        return self.exact("epsilon") / (2 if self.monotonic else 1)

    @property
    def certified_as(self) -> Profile:
        """The mechanism as one of bounded range, where floats hold its range exactly."""
        width = float(self.width())
        if exact(width) != self.width():
            return self
        return BoundedRange(range=width, runs=self.runs, neighbours=self.neighbours)
