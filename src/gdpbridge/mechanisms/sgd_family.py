"""Mechanisms whose noise follows σ = (A/ε)·√(log(B/δ)): noisy SGD and its relatives.

Inverted: δ̂(ε) = B·exp(-(σε/A)²), then refined (Liu, Sun, Jiang and Kong 2022, second example;
trade-offs of this form are found in Bassily, Smith and Thakurta 2014 and Abadi et al. 2016).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from flint import arb

from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.guarantees.refine import NaiveProfile, refine
from gdpbridge.mechanisms.base import Profile, Real, positive
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Operations, ball

__all__ = ["SGDFamily"]

_LARGEST = Fraction(10) ** 100


@register
class SGDFamily(Profile):
    """Any mechanism whose noise is σ = (A/ε)·√(log(B/δ)) for every (ε, δ)."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["sgd-family"] = "sgd-family"
    A: Real = positive(
        "factor A of the trade-off",
        symbol="A",
        typical=(0.5, 5.0),
        effect="raises",
    )
    B: Real = positive(
        "factor B inside the logarithm",
        symbol="B",
        typical=(0.01, 10.0),
        effect="raises",
    )
    sigma: Real = positive(
        "noise parameter σ",
        symbol="σ",
        typical=(0.5, 5.0),
        effect="lowers",
    )

    def model_post_init(self, _: Any) -> None:
        """Check that floats hold the square of the one ratio that the curve depends on."""
        ratio = self.exact("sigma") / self.exact("A")
        self.require("sigma/A", ratio <= _LARGEST, f"at most {float(_LARGEST):g}")

    def build_curve(self) -> SmoothCurve:
        """Return the line up to ε_i and the naive profile after it."""
        steepness = (self.exact("sigma") / self.exact("A")) ** 2
        factor = self.exact("B")
        log_factor = logarithm(factor)

        def log_delta(eps: Any, ops: Operations) -> Any:
            return ops.constant(log_factor) - ops.constant(steepness) * (eps * eps)

        def below_one_from() -> arb:
            return (ball(factor).log() / ball(steepness)).sqrt()

        def convex_from() -> arb:
            # δ̂'' has the sign of 2κε² + ε - 1 in t = e^ε, κ = (σ/A)²
            return (-1 + (1 + 8 * ball(steepness)).sqrt()) / (4 * ball(steepness))

        def mu_t() -> arb:
            return 1 / (2 * ball(steepness)).sqrt()

        start: Constant = below_one_from if factor > 1 else Fraction(0)
        pieces, tail_from = refine(NaiveProfile(log_delta, start, convex_from))
        return SmoothCurve(pieces, GaussianDecayTail(log_factor, mu_t, tail_from))
