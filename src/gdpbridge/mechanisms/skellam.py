"""The Skellam mechanism: noise that is the difference of two equal Poisson numbers.

P(x) = e^{-v}·I_{|x|}(v) with the variance v, a modified Bessel function, on the whole numbers; sums
of such noise are such noise, as secure aggregation needs (Agarwal, Kairouz and Liu 2021). For two
answers Δ apart the loss at x is log P(x)/P(x - Δ), which falls with x: δ(ε) is linear in e^ε
between losses, and is summed in ball arithmetic. Beyond all numbers that are looked at lie some
10⁻²³, which count as an outright failure: losses grow without end, though slowly.

At x = -y ≤ 0 the loss is at most Δ·asinh((y + Δ)/v), as I_n(v)/I_{n+1}(v) ≤ e^{asinh((n+1)/v)}
(Amos 1974). With z = ε/Δ a loss above ε needs y > v·sinh(z) - Δ, of which the chance is at most
e^{-v(z·sinh z - cosh z + 1) + zΔ} by Chernoff's bound at z. As the bracket is at least z²/2 + z⁴/8,
-log δ(ε) ≥ ε²v/(2Δ²) - (3/4)·(2Δ⁴/v)^{1/3}, and in truth it grows faster: μ_t = 0. As asinh is
concave on [0, ∞), losses of k runs that add up to ε need Σ max(y_i, 0) > k(v·sinh(z) - Δ) with
z = ε/(kΔ); and E e^{z·max(y, 0)} ≤ 1 + e^{v(cosh z - 1)} is no more than twice the latter, so
that -log δ(ε) is at least k times the above at ε/k, less k·log 2. Each run is μ-GDP for a μ of the
whole range, and all of them √k·μ-GDP.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Literal

from flint import arb, arb_series

from gdpbridge.curves.atoms import atoms_curve
from gdpbridge.curves.base import Curve
from gdpbridge.curves.composition import cut_off_curve
from gdpbridge.curves.constants import square_root, upper_bound
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import (
    CoarseDecayTail,
    PlateauTail,
    SettledTail,
    covering_mu,
    runs_of,
    settled_runs,
)
from gdpbridge.interval import Interval
from gdpbridge.losses.densities import Pair
from gdpbridge.losses.density_masses import Density
from gdpbridge.mechanisms.base import Profile, Real, Whole, parameter, whole_sensitivity
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

__all__ = ["Skellam"]

MAX_VARIANCE = 10_000
MAX_SENSITIVITY = 1000
# multiples of the unit of one run's loss that runs are composed on
_POINTS = 2048


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
        return atoms_curve([self.pair], self._settled)

    def _settled(self, plateau: PlateauTail, delta: Callable[[arb], arb]) -> Tail:
        beyond = self._decay(1)
        return SettledTail(plateau, beyond, partial(covering_mu, delta, beyond))

    def _decay(self, times: int) -> CoarseDecayTail:
        """Return how δ falls far out."""
        moved, variance = self.sensitivity, self.exact("variance")

        def log_factor() -> arb:
            one = 3 * (ball(2 * moved**4 / variance).log() / 3).exp() / 4
            return times * (one + (arb(2).log() if times > 1 else 0))

        width = upper_bound(square_root(times * moved**2 / variance))
        return CoarseDecayTail(log_factor, width, Fraction(0), Interval(0, 0))

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        from gdpbridge.losses.moments import Part

        if times == 1:
            return self.curve
        runs = runs_of(self.tail, times)
        settled = settled_runs(self.tail, times, self._decay(times))
        law = self.pair.lattice(self.pair.unit(_POINTS))
        # x → Δ - x leads from the one order to the other
        part = Part(law, times, reverse=law)
        return cut_off_curve(part, settled, None if runs is None else runs.of_all)
