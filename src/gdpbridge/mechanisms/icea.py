"""The invisibility cloak encoder algorithm for private sums in the shuffled model.

(ε, δ)-DP if m > 10·log(n/(εδ)) for n users and m messages each (Ghazi, Pagh and Velingker 2019).
Inverted: δ̂(ε) = (n/ε)·e^{-m/10}, then refined. It decays like 1/ε: not GDP.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from flint import arb

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import SlowDecayTail
from gdpbridge.guarantees.refine import NaiveProfile, refine
from gdpbridge.mechanisms.base import Neighbours, Profile, Whole, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, ball
from gdpbridge.reading.parameters import MAX_WHOLE

__all__ = ["ICEA"]


@register
class ICEA(Profile):
    """The invisibility cloak encoder: n users send m messages each through a shuffler."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["icea"] = "icea"
    neighbours: Neighbours = "replace-one"
    messages: Whole = parameter(
        "number m of messages that each user sends",
        symbol="m",
        allowed="a whole number ≥ 1, at most 10^4",
        typical=(10, 100),
        effect="lowers",
        ge=1,
        le=10**4,
    )
    users: Whole = parameter(
        "number n of users",
        symbol="n",
        allowed="a whole number ≥ 1, at most 10^12",
        typical=(2, 100),
        effect="raises",
        ge=1,
        le=MAX_WHOLE,
    )

    def build_curve(self) -> SmoothCurve:
        """Return the line up to ε_i and the naive profile after it."""
        users, exponent = self.users, Fraction(-self.messages, 10)

        def log_scale() -> arb:
            return ball(Fraction(users)).log() + ball(exponent)

        def log_delta(eps: Any, ops: Operations) -> Any:
            return ops.constant(log_scale) - ops.log(eps)

        # δ̂ is 1 at ε = n·e^{-m/10} and convex in e^ε everywhere
        pieces, tail_from = refine(NaiveProfile(log_delta, lambda: log_scale().exp(), Fraction(0)))
        # 1/ε ≥ e^{-ε}
        return SmoothCurve(pieces, SlowDecayTail(log_scale, Fraction(1), tail_from))
