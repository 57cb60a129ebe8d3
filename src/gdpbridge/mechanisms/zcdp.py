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
from typing import TYPE_CHECKING, ClassVar, Literal

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.least import least_pieces
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import TouchingTail
from gdpbridge.guarantees.concentrated import (
    MAX_RHO,
    MIN_RHO,
    Concentration,
    zcdp_curve,
    zcdp_mu,
    zcdp_tail,
)
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.gaussian import gaussian_curve, gaussian_losses
from gdpbridge.mechanisms.registry import register

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["ZCDP", "concentrated_curve"]


@register
class ZCDP(Profile):
    """Any mechanism known only to be ρ-zero-concentrated differentially private."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["zcdp"] = "zcdp"
    rho: Real = parameter(
        "the ρ of zero-concentrated differential privacy",
        symbol="ρ",
        allowed=f"a number in [{float(MIN_RHO):g}, {float(MAX_RHO):g}]",
        typical=(0.005, 5.0),
        effect="raises",
        ge=float(MIN_RHO),
        le=float(MAX_RHO),
    )

    @property
    def composed_is(self) -> Nature:
        """A bound: no one mechanism attains the whole curve."""
        return Nature.BOUND

    @property
    def concentration(self) -> Concentration:
        """ρ."""
        return Concentration.of_zcdp(self.exact("rho"))

    def renyi_divergence(self, tilt: Fraction) -> Fraction:
        """Return ρα."""
        return self.exact("rho") * (1 + tilt)

    def build_curve(self) -> SmoothCurve:
        """Return randomized response first, then the arcs of the boundary of what is possible."""
        return zcdp_curve(self.exact("rho"))

    def composed_curve(self, times: int) -> Curve:
        """Return the smaller δ of Σρ-zCDP and √(Σμ²)-GDP."""
        return concentrated_curve(self.concentration.times(times))

    @property
    def grouped_is(self) -> Nature:
        """A bound."""
        return Nature.BOUND

    def grouped_curve(self, size: int) -> SmoothCurve:
        """Return the curve of size²·ρ-zCDP (Bun and Steinke 2016, proposition 27)."""
        rho = size * size * self.exact("rho")
        self.require("rho", rho <= MAX_RHO, f"at most {float(MAX_RHO / size**2):g} for this group")
        return zcdp_curve(rho)

    def privacy_losses(self) -> Losses:
        """Return the loss of a mechanism that is μ-GDP, as this one is."""
        return gaussian_losses(upper_bound(zcdp_mu(self.exact("rho"))))


def concentrated_curve(known: Concentration) -> SmoothCurve:
    """Return the curve of mechanisms run together: the smaller δ of what is known of them.

    Σρ-zCDP is closer far out, √(Σμ²)-GDP near 0.

    Raises:
        UndecidedError: if the μ of one of them could not be proved.
    """
    if known == Concentration.of_zcdp(known.rho):
        return zcdp_curve(known.rho)
    mu = known.mu()
    if not known.counts:
        return gaussian_curve(mu)
    gaussian = gaussian_curve(mu)
    if known.rho > MAX_RHO:
        return gaussian
    pieces = least_pieces(gaussian, zcdp_curve(known.rho))
    if len(pieces) == 1:
        return gaussian
    decay = zcdp_tail(known.rho)
    touches = pieces[0] is gaussian.pieces[0]
    return SmoothCurve(pieces, TouchingTail(mu, decay) if touches else decay)
