"""The Skellam mechanism: noise that is the difference of two equal Poisson numbers.

P(x) = e^{-v}·I_{|x|}(v) with the variance v, a modified Bessel function, on the whole numbers; sums
of such noise are such noise, as secure aggregation needs (Agarwal, Kairouz and Liu 2021). For two
answers Δ apart the loss at x is log P(x)/P(x - Δ), which falls with x: δ(ε) is linear in e^ε
between losses, and is summed in ball arithmetic. Beyond all numbers that are looked at lie some
10⁻²³, which count as an outright failure: losses grow without end, though slowly.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from flint import arb_series

from gdpbridge.curves.atoms import atoms_curve
from gdpbridge.curves.base import Curve
from gdpbridge.curves.composition import cut_off_curve
from gdpbridge.curves.nature import Nature
from gdpbridge.losses.densities import Pair
from gdpbridge.losses.density_masses import Density
from gdpbridge.mechanisms.base import Profile, Real, Whole, parameter, whole_sensitivity
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

__all__ = ["Skellam"]

MAX_VARIANCE = 10_000
MAX_SENSITIVITY = 1000
# multiples of the unit of a loss that runs are composed on
_POINTS, _MOST = 1024, 1 << 17


@register
class Skellam(Profile):
    """Skellam noise added to a whole number."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["skellam"] = "skellam"
    variance: Real = parameter(
        "variance v of the noise",
        symbol="v",
        allowed=f"a number > 0, at most {MAX_VARIANCE}",
        typical=(0.5, 50.0),
        effect="lowers",
        gt=0,
        le=MAX_VARIANCE,
    )
    sensitivity: Whole = whole_sensitivity(MAX_SENSITIVITY, typical=(1, 5))

    @cached_property
    def pair(self) -> Pair:
        """The noise about 0 and about Δ."""
        variance = self.exact("variance")

        def density(centre: int) -> Density:
            def value(x: arb_series) -> arb_series:
                v = ball(variance)
                order = abs(x[0] - centre)
                return arb_series([(-v).exp() * v.bessel_i(order)], x.prec)

            return Density(value, lambda x: value(x).log())

        return Pair(density(0), density(self.sensitivity), None, None, integers=True)

    @property
    def least_failure(self) -> Fraction:
        """None beside the default one: what is beyond is cut off."""
        return Fraction(1)

    @property
    def composed_is(self) -> Nature:
        """A bound: the loss on a lattice dominates."""
        return Nature.BOUND

    def of_group(self, size: int) -> Skellam:
        """Return that of ``size`` times the sensitivity."""
        return Skellam(**{**self.model_dump(), "sensitivity": size * self.sensitivity})

    def build_curve(self) -> Curve:
        """Return the lines between the losses; both directions are alike."""
        return atoms_curve([self.pair])

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        from gdpbridge.losses.moments import Part

        if times == 1:
            return self.curve
        points = max(2, min(_POINTS, _MOST // times))
        return cut_off_curve(Part(self.pair.lattice(self.pair.unit(points)), times))
