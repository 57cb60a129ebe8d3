"""ρ-zero-concentrated differential privacy: what it implies of any mechanism that has it.

δ̂(ε) = exp(-(ε - ρ)²/(4ρ)) for ε ≥ ρ (Bun and Steinke 2016, proposition 1.3), then refined by the
partial order of (ε, δ) pairs. It falls as fast as the Gaussian curve with μ = √(2ρ), and lies above
it: a mechanism known to be Gaussian is better described as such.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from flint import arb

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.guarantees.refine import NaiveProfile, refine
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, ball

__all__ = ["ZCDP"]

MAX_RHO = 1e4


@register
class ZCDP(Profile):
    """Any mechanism known only to be ρ-zero-concentrated differentially private."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["zcdp"] = "zcdp"
    rho: Real = parameter(
        "the ρ of zero-concentrated differential privacy",
        symbol="ρ",
        allowed=f"a number > 0 and at most {MAX_RHO:g}",
        typical=(0.005, 5.0),
        effect="raises",
        gt=0,
        le=MAX_RHO,
    )

    def build_curve(self) -> SmoothCurve:
        """Return the line up to where the refinement touches, and the bound itself after it."""
        rho = self.exact("rho")

        def log_delta(eps: Any, ops: Operations) -> Any:
            beyond = eps - ops.constant(rho)
            return -(beyond * beyond) / ops.constant(4 * rho)

        def convex_from() -> arb:
            # with κ = 1/(4ρ) and w = ε - ρ, δ̂'' has the sign of 2κw² + w - 1 in t = e^ε
            steepness = ball(1 / (4 * rho))
            return ball(rho) + (-1 + (1 + 8 * steepness).sqrt()) / (4 * steepness)

        pieces, tail_from = refine(NaiveProfile(log_delta, rho, convex_from))
        # -(ε - ρ)²/(4ρ) = -ρ/4 + ε/2 - ε²/(2·2ρ)
        tail = GaussianDecayTail(
            -rho / 4, lambda: ball(2 * rho).sqrt(), tail_from, linear=Fraction(1, 2)
        )
        return SmoothCurve(pieces, tail)
