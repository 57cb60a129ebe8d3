"""Thresholded release: noisy counts of the groups that occur, of those alone that are above τ.

A record counts up to c in each of at most k groups. In a group that only it is in, it gives itself
away with the chance p = P(c + noise > τ), else nothing is released. With j such groups, κ = (1-p)^j
is the chance that none gives it away, and the other groups have δ_{k-j}, the profile of noise on
k - j counts: δ(ε) is the largest 1 - κ + κ·δ_{k-j}(ε - log κ), exactly for Gaussian noise, as
groups may be so large that the threshold hides nothing (compare Wilkins, Kifer, Zhang and Karrer
2024).
That is with the record against without it. The other direction, δ_{k-j}(ε + log κ), is the same at
ε = 0 and nowhere larger, since from there on it falls faster: under Q the hazard rate of the loss
is 1/2 for Laplace noise, convex and at least 1/2 from 0 on for Gaussian noise. Of Laplace noise in
several groups δ_j is taken to be that of one number of sensitivity j·c, an upper bound. It never
falls below 1 - (1 - p)^k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb
from pydantic import Field, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant, remembered, upper_bound
from gdpbridge.curves.largest import largest_of
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Formula, Piece, constant_piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter, positive
from gdpbridge.mechanisms.gaussian import MAX_MU, gaussian_curve, gaussian_root
from gdpbridge.mechanisms.laplace import laplace_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import exact, written_above
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball, to_fraction

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["ThresholdedRelease"]

MAX_GROUPS = 50
_BITS = 256
# of a μ, how close one is that is as good
_CLOSE_BITS = 60


@register
class ThresholdedRelease(Profile):
    """Noisy counts of the groups that occur, released where they are above a threshold."""

    nature: ClassVar[Nature] = Nature.OWN
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("add-remove",)
    kind: Literal["thresholded-release"] = "thresholded-release"
    neighbours: Neighbours = "add-remove"
    noise: Literal["gaussian", "laplace"] = Field(
        description="the noise on each count",
        json_schema_extra={"symbol": "NOISE", "allowed": "gaussian or laplace"},
    )
    scale: Real = positive(
        "standard deviation of Gaussian noise, or scale b of Laplace noise",
        symbol="σ",
        typical=(0.5, 5.0),
    )
    threshold: Real = parameter(
        "threshold τ that a noisy count must be above to be released",
        symbol="τ",
        allowed="a finite number, at least what a record counts in a group",
        typical=(10.0, 30.0),
        instead="delta",
        gt=0,
    )
    delta0: Real | None = parameter(
        "the δ of giving away a record alone in its groups, instead of the threshold",
        symbol="δ₀",
        allowed="a number in (0, 0.5)",
        typical=(1e-9, 1e-5),
        default=None,
        alternative=True,
        alias="delta",
        gt=0,
        lt=0.5,
    )
    groups: Whole = parameter(
        "number k of groups that a record counts in at most",
        symbol="k",
        allowed=f"a whole number from 1 to {MAX_GROUPS}",
        typical=(1, 3),
        default=1,
        ge=1,
        le=MAX_GROUPS,
    )
    contribution: Real = positive(
        "what a record counts in a group at most",
        symbol="c",
        typical=(0.5, 2.0),
        default=1.0,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Say the threshold too where δ₀ is given."""
        found = _threshold(given)
        if found is None:
            return given
        if given.get("threshold", found) != found:
            raise InputError("threshold", given["threshold"], "left out beside delta")
        return {**given, "threshold": found}

    def specification(self) -> dict[str, str | None]:
        """Return the threshold alone, which is what was run."""
        return {name: text for name, text in super().specification().items() if name != "delta"}

    def model_post_init(self, _: Any) -> None:
        """Check what the curve depends on."""
        self.require(
            "threshold", self.threshold >= self.contribution, "at least the contribution c"
        )
        limit = MAX_MU / self.groups
        self.require("contribution/scale", self._ratio() <= limit, f"at most {limit:g}")
        far = self._distance() <= MAX_MU
        self.require("threshold/scale", far, f"at most {MAX_MU} beyond the contribution's")

    def _ratio(self) -> Fraction:
        return self.exact("contribution") / self.exact("scale")

    def _distance(self) -> Fraction:
        return (self.exact("threshold") - self.exact("contribution")) / self.exact("scale")

    @property
    def noise_square(self) -> Fraction | None:
        """μ² of Gaussian noise on all groups, None for other noise."""
        return self.groups * self._ratio() ** 2 if self.noise == "gaussian" else None

    @property
    def profile_is(self) -> Nature:
        """A bound for Laplace noise in several groups."""
        return Nature.BOUND if self.noise == "laplace" and self.groups > 1 else Nature.OWN

    @property
    def composed_is(self) -> Nature:
        """A bound: that of a record that is given away and counts in all groups, too."""
        return Nature.BOUND

    def _given_away(self) -> arb:
        """Enclose p."""
        return _passes(self.noise, ball(self._distance()))

    def _log_kept(self, groups: int) -> Callable[[], arb]:
        return lambda: groups * (-self._given_away()).log1p()

    def _failure(self) -> arb:
        return -self._log_kept(self.groups)().expm1()

    def _shared(self, groups: int) -> Formula:
        """Return the profile of noise on so many counts."""
        if self.noise == "laplace":
            return laplace_curve(groups * self._ratio()).pieces[0].formula
        return gaussian_curve(gaussian_root(groups, self._ratio())).pieces[0].formula

    def _end(self, groups: int) -> Fraction | None:
        return groups * self._ratio() if self.noise == "laplace" else None

    def build_curve(self) -> SmoothCurve:
        """Return the largest of all j, and where it becomes constant."""
        found = [_clipped(self._shared(self.groups), self._end(self.groups))]
        for alone in range(1, self.groups):
            shared = _clipped(self._shared(self.groups - alone), self._end(self.groups - alone))
            found.append(_given(shared, remembered(self._log_kept(alone))))
        level = constant_piece(Fraction(0), remembered(self._failure))
        start = self._constant_from(found)
        largest = largest_of([*found, level.formula])
        pieces = [Piece(Fraction(0), largest)] if start else []
        # 1 - κ + κ·δ_j(ε) is below p + (1 - p)·δ_k(ε) for every p ≥ 1 - κ
        mu = gaussian_root(self.groups, self._ratio()) if self.noise == "gaussian" else None
        near = self._nearly_gaussian() if pieces and mu is not None else None
        if near is not None and near[1] < start:
            pieces = [replace(pieces[0], beneath=near[0]), Piece(near[1], largest)]
        tail = ConstantTail(start, self._failure, mu)
        return SmoothCurve([*pieces, constant_piece(start, self._failure)], tail)

    def _nearly_gaussian(self) -> tuple[Constant, Fraction] | None:
        """Return a ν hardly above μ = √k·c/σ, and up to where δ ≤ δ_ν is proved, if it is.

        δ ≤ p + δ_μ with p the level, and δ_ν ≥ δ_μ + (ν - μ)·min φ(x), x = ε/m - m/2, over m in
        [μ, ν] and up to that ε.
        """
        mu = gaussian_root(self.groups, self._ratio())

        def above() -> arb:
            return BALLS.constant(mu) * (1 + arb(2) ** -_CLOSE_BITS)

        with precision(_BITS):
            gap = BALLS.constant(mu) * arb(2) ** -_CLOSE_BITS
            # φ(x) ≥ p/(ν - μ) as far as |x| goes
            square = 2 * (gap / self._failure()).log() - (2 * arb.pi()).log()
            if not certainly(square > above() ** 2 / 4):
                return None
            reach = (BALLS.constant(mu) * (square.sqrt() + BALLS.constant(mu) / 2)).lower()
            return remembered(above), to_fraction(reach)

    def _constant_from(self, formulas: list[Formula]) -> Fraction:
        """Return an ε at which all formulas but the constant are proved to be below it."""

        def below(eps: Fraction) -> bool:
            with precision(_BITS):
                values = (formula(ball(eps), BALLS).log() for formula in formulas)
                level = self._failure().log()
                return all(certainly(one <= level) for one in values)

        low, high = Fraction(0), Fraction(1)
        if below(low):
            return low
        while not below(high):
            low, high = high, 2 * high
            if high > _FARTHEST:
                raise UndecidedError("it could not be proved where δ(ε) becomes constant")
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if below(middle) else (middle, high)
        return high

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        return self.curve if times == 1 else super().composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return noise in all groups and failure, which dominates every number of groups alone."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.exponential import (
            ExponentialLoss,
            ExponentialTransform,
            laplace_transform,
        )
        from gdpbridge.losses.transforms.finite import only_fails
        from gdpbridge.losses.transforms.gaussian import GaussianTransform

        ratio, failure = self._ratio(), upper_bound(self._failure)
        if self.noise == "gaussian":
            variance = self.groups * ratio**2
            return [Part(GaussianTransform(variance), 1), Part(only_fails(failure), 1)]
        half = (1 - failure) / 2
        failing = Part(ExponentialTransform(ExponentialLoss(ratio, half, half, failure)), 1)
        others = self.groups - 1
        return [failing, Part(laplace_transform(ratio), others)] if others else [failing]


def _passes(noise: str, away: arb) -> arb:
    """Enclose the chance that noise of scale 1 is above a place."""
    return (away / arb(2).sqrt()).erfc() / 2 if noise == "gaussian" else (-away).exp() / 2


def _threshold(given: dict[str, Any]) -> float | None:
    """Return a threshold hardly above the least with 1 - (1 - p)^k ≤ δ₀; none without a δ₀."""
    defaults = {"delta": None, "scale": None, "contribution": 1, "groups": 1}
    found: list[Any] = [given.get(name, default) for name, default in defaults.items()]
    noise = given.get("noise")
    if noise not in ("gaussian", "laplace") or not all(
        type(one) in (int, float) and 0 < one < math.inf for one in found
    ):
        return None
    delta, scale, contribution, groups = map(exact, found)
    if delta >= _HALF:
        return None
    once = -math.expm1(math.log1p(-float(delta)) / float(groups))
    away = -NormalDist().inv_cdf(once) if noise == "gaussian" else -math.log(2 * once)
    with precision(_BITS):
        while True:
            place = contribution + scale * Fraction(away)
            if place > _MOST:
                raise InputError("scale", float(scale), "one whose threshold is at most 1e300")
            threshold = written_above(place)
            distance = ball((exact(threshold) - contribution) / scale)
            kept = int(groups) * (-_passes(noise, distance)).log1p()
            if certainly(-kept.expm1() <= ball(delta)):
                return threshold
            away = away * (1 + 1e-15) + 1e-300


_HALF, _MOST = Fraction(1, 2), Fraction(10**300)
# an ε at which a Gaussian curve is far below any p that is told from 0
_FARTHEST = 2**26
_BISECTIONS = 60


def _clipped(formula: Formula, end: Fraction | None) -> Formula:
    """Return a formula that is 0 beyond its end."""
    if end is None:
        return formula

    def delta(eps: Any, ops: Operations) -> Probability:
        if ops is BALLS and certainly(eps >= ball(end)):
            return Probability(arb.neg_inf, lambda: arb(0))
        inner = formula(eps, ops)
        if ops is not FLOATS:
            return inner
        return Probability(inner.log, lambda: FLOATS.minimum(inner.log_complement(), 0.0))

    return delta


def _given(shared: Formula, log_kept: Callable[[], arb]) -> Formula:
    """Return 1 - κ + κ·δ(ε - log κ)."""

    def delta(eps: Any, ops: Operations) -> Probability:
        kept = ops.constant(log_kept)
        inner = shared(eps - kept, ops)
        return Probability(
            lambda: ops.logaddexp(ops.log1mexp(kept), kept + inner.log()),
            lambda: kept + inner.log_complement(),
        )

    return delta
