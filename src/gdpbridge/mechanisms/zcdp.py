"""ρ-zero-concentrated differential privacy: the exact profile of all mechanisms that have it.

An event of probabilities p and q under neighbours is possible for such a mechanism exactly when
the two-outcome laws obey D_α ≤ ρα for every α > 1 in both orders (Zhu, Dong and Wang 2022, appendix
F.3; Riess et al. 2026, arXiv 2602.04562), and δ(ε) is the largest p - e^ε q over these pairs. At
each ε some ρ-zCDP mechanism attains it, no one mechanism attains all of it. With t from
2t·artanh(t) = ρ, δ(0) = t. It falls as fast as the Gaussian curve with μ = √(2ρ), and lies above
it: a mechanism known to be Gaussian is better described as such.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.guarantees.boundary import zcdp_pieces
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

__all__ = ["ZCDP"]

# below that, float64 does not find the boundary of what is possible
MIN_RHO = 1e-6
MAX_RHO = 1e4


@register
class ZCDP(Profile):
    """Any mechanism known only to be ρ-zero-concentrated differentially private."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["zcdp"] = "zcdp"
    rho: Real = parameter(
        "the ρ of zero-concentrated differential privacy",
        symbol="ρ",
        allowed=f"a number in [{MIN_RHO:g}, {MAX_RHO:g}]",
        typical=(0.005, 5.0),
        effect="raises",
        ge=MIN_RHO,
        le=MAX_RHO,
    )

    def build_curve(self) -> SmoothCurve:
        """Return randomized response first, then the arcs of the boundary of what is possible."""
        rho = self.exact("rho")
        # for α > 1, δ ≤ e^{(α-1)(ρα-ε)}: least at -(ε - ρ)²/(4ρ) = -ρ/4 + ε/2 - ε²/(2·2ρ), ε > ρ
        tail = GaussianDecayTail(-rho / 4, lambda: ball(2 * rho).sqrt(), rho, linear=Fraction(1, 2))
        return SmoothCurve(zcdp_pieces(rho), tail)
