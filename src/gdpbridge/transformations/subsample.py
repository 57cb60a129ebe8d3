"""Subsampling: the mechanism runs on a random sample of the records.

With γ the chance that a record is in the sample and t' = 1 + γ(t - 1) on the scale of t = e^ε,

    δ'(ε') = γ·δ(ε),  ε' = log(1 + γ(e^ε - 1)),

for Poisson samples under add-remove and samples without replacement under replace-one. With
replacement, m draws out of n records under replace-one, γ = 1 - (1 - 1/n)^m and

    δ'(ε') = Σ_{k=1}^m C(m, k) n^{-k} (1 - 1/n)^{m-k} δ_k(ε)

with δ_k the profile for groups of k records (Balle, Barthe and Gaboardi 2020, theorems 8 to 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tails import (
    ConstantTail,
    GaussianBoundTail,
)
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Base, Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.numeric.kinds import Operations, Probability

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["SCHEMES", "Subsampled"]

SCHEMES: dict[str, Neighbours] = {
    "poisson": "add-remove",
    "without-replacement": "replace-one",
    "with-replacement": "replace-one",
}

MAX_DRAWS = 64


@register_transformation
class Subsampled(Profile):
    """A mechanism that is run on a random sample of the records."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["subsampled"] = "subsampled"
    base: Base = Field(
        description="the mechanism that is run on the sample",
        json_schema_extra={"allowed": "a profile"},
    )
    scheme: str = Field(
        default="poisson",
        description="how the sample is drawn",
        json_schema_extra={"allowed": f"one of {', '.join(SCHEMES)}"},
    )
    rate: Real | None = parameter(
        "chance γ that a record is in the sample",
        symbol="γ",
        allowed="a number in (0, 1]",
        typical=(0.01, 1.0),
        effect="raises",
        default=None,
        gt=0,
        le=1,
    )
    sample: Whole | None = parameter(
        "number m of records in the sample, or of draws",
        symbol="m",
        allowed="a whole number ≥ 1",
        typical=(1, 10),
        default=None,
        ge=1,
    )
    population: Whole | None = parameter(
        "number n of records that the sample is drawn from",
        symbol="n",
        allowed="a whole number ≥ 1",
        typical=(10, 1000),
        default=None,
        ge=1,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Give the result the relation that the scheme is stated for."""
        scheme = given.get("scheme", "poisson")
        if scheme in SCHEMES and given.get("neighbours") is None:
            return {**given, "neighbours": SCHEMES[scheme]}
        return given

    def model_post_init(self, _: Any) -> None:
        """Check that the parts fit together."""
        self._check_relation()
        if (self.sample is None) != (self.population is None):
            missing = "population" if self.population is None else "sample"
            raise InputError.missing(missing, "give both sample and population, or a rate")
        if (self.rate is None) == (self.sample is None):
            given = "neither" if self.rate is None else "both"
            raise InputError("rate and sample/population", Words(given), Advice("give one of them"))
        if self.scheme == "poisson":
            self.require(
                "sample",
                self.sample is None,
                Advice(
                    "give a rate such as 0.1: a Poisson sample has no fixed size "
                    "(without-replacement has)"
                ),
            )
        if self.sample is not None and self.scheme == "without-replacement":
            assert self.population is not None
            self.require(
                "sample",
                self.sample <= self.population,
                f"at most {self.population}, the population",
            )
        if self.scheme == "with-replacement":
            self.require(
                "rate",
                self.rate is None,
                Advice(
                    "give sizes such as 10/1000, draws over records: with-replacement needs them"
                ),
            )
            assert self.sample is not None
            self.require(
                "sample",
                self.sample <= MAX_DRAWS,
                f"at most {MAX_DRAWS}, the limit with replacement",
            )
            self.base.group_curve(1)

    def _check_relation(self) -> None:
        if self.scheme not in SCHEMES:
            raise InputError("scheme", self.scheme, f"one of {', '.join(SCHEMES)}")
        relation = SCHEMES[self.scheme]
        if self.neighbours != relation:
            raise InputError(
                "neighbours",
                self.neighbours,
                f"{relation}, the relation that {self.scheme} subsampling is stated for",
            )
        if self.base.neighbours not in (None, relation):
            raise InputError(
                "scheme",
                self.scheme,
                f"one stated for {self.base.neighbours} neighbours, the relation of the "
                f"{self.base.kind} profile: {self.scheme} subsampling amplifies privacy under "
                f"{relation} only",
            )

    def gamma(self) -> Fraction:
        """Return the chance that a record is in the sample."""
        if self.rate is not None:
            return self.exact("rate")
        assert self.sample is not None
        assert self.population is not None
        if self.scheme == "with-replacement":
            return 1 - (1 - Fraction(1, self.population)) ** self.sample
        return Fraction(self.sample, self.population)

    @property
    def profile_is(self) -> Nature:
        """What the base's is, as far as the theorem is tight.

        Poisson samples and those without replacement: the mechanism that answers as without the
        differing record wherever it is not in the sample attains the bound at every ε (Balle,
        Barthe and Gaboardi 2018, section 5), as noise added to a sum does; what else a mechanism
        with the base's profile does, the profile does not say. With replacement, the bound of a
        mixture by its parts is attained by none as a rule.
        """
        if self.scheme == "with-replacement":
            return Nature.BOUND
        attained = self.base.additive_noise or self.gamma() == 1
        return weakest([self.base.profile_is, self.nature if attained else Nature.CLASS])

    @property
    def certified_as(self) -> Profile:
        """A sample of what the base is certified as."""
        base = self.base.certified_as
        if base is self.base:
            return self
        given = {name: getattr(self, name) for name in type(self).model_fields} | {"base": base}
        return type(self)(**given)

    @property
    def leaves_no_trace(self) -> bool:
        """That of the mechanism that is run, where each record is drawn by itself."""
        return self.scheme == "poisson" and self.base.leaves_no_trace

    @property
    def composed_is(self) -> Nature:
        """A bound for samples without replacement, of which a run may be bad either way."""
        if self.gamma() < 1 and self.scheme == "without-replacement":
            return Nature.BOUND
        return super().composed_is

    def build_curve(self) -> Curve:
        """Return the base curve on the new scale of ε.

        Raises:
            InputError: for a mechanism whose curve is not known exactly.
        """
        gamma = self.gamma()
        if self.scheme == "with-replacement":
            return self._with_replacement(gamma)
        return self.base.curve if gamma == 1 else self.base.curve.sampled(gamma)

    def privacy_losses(self) -> Losses:
        """Return the loss of a mechanism on a sample: without replacement, a bound of it.

        Raises:
            InputError: for mechanisms and schemes of which it is not known.
        """
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
        from gdpbridge.losses.transforms.gaussian import GaussianTransform
        from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform

        if self.scheme == "with-replacement":
            raise self._not_composed("poisson or without-replacement sampling for composition")
        rate, mu = self.gamma(), self.base.tail.gaussian_mu
        if mu is None:
            return self._sampled_losses(rate)
        if not isinstance(mu, Fraction):
            raise InputError(
                "mechanism", Words("composed before sampling"), "sampled before composition"
            )
        if not mu or not rate:
            return []
        if rate == 1:
            return [Part(GaussianTransform(mu**2), 1)]
        if self.scheme == "without-replacement":
            return [Part(FixedSizeTransform(mu, rate), 1)]
        return [Part(SampledGaussianTransform(1 / mu, rate), 1)]

    def _not_composed(self, allowed: str) -> InputError:
        return InputError("mechanism", f"{self.base.kind} with {self.scheme} sampling", allowed)

    def _sampled_losses(self, rate: Fraction) -> Losses:
        """Return those of a mechanism with bounded losses: discrete, or like Laplace noise's."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.sampled import sampled_finite
        from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
        from gdpbridge.losses.transforms.exponential import ExponentialTransform
        from gdpbridge.losses.transforms.finite import FiniteTransform
        from gdpbridge.losses.transforms.sampled_exponential import SampledExponentialTransform

        losses = self.base.privacy_losses()
        if rate == 1 or not losses:
            return losses
        refusal = self._not_composed(
            "gaussian, gdp, laplace, pure-dp, approx-dp, randomized-response or discrete noise, "
            "one run of it, on a poisson sample, for composition"
        )
        one = losses[0].transform
        if len(losses) > 1 or losses[0].times > 1 or not losses[0].symmetric:
            raise refusal
        if isinstance(one, FiniteTransform | DiscreteGaussianTransform):
            whole = one if isinstance(one, DiscreteGaussianTransform) else None
            finite = one.cut_off(1) if isinstance(one, DiscreteGaussianTransform) else one
            replaced = self.scheme == "without-replacement"
            return [Part(sampled_finite(finite, rate, replaced=replaced, cut_from=whole), 1)]
        if isinstance(one, ExponentialTransform) and self.scheme == "poisson":
            return [Part(SampledExponentialTransform(one.loss, rate), 1)]
        raise refusal

    def _with_replacement(self, gamma: Fraction) -> Curve:
        draws, population = self.sample, self.population
        assert draws is not None
        assert population is not None
        once = Fraction(1, population)
        groups = [self.base.group_curve(k) for k in range(1, draws + 1)]
        weights = [
            math.comb(draws, k) * once**k * (1 - once) ** (draws - k) / gamma
            for k in range(1, draws + 1)
        ]
        mixture = _mixture(groups, weights)
        return mixture if gamma == 1 else mixture.sampled(gamma)


def _mixture(curves: Sequence[SmoothCurve], weights: Sequence[Fraction]) -> SmoothCurve:
    """Return Σ wₖ·δₖ of growing curves of one piece each, Σ wₖ = 1."""
    parts = [(curve, weight) for curve, weight in zip(curves, weights, strict=True) if weight]
    last = parts[-1][0]
    if last.end is None:
        mu = last.tail.gaussian_mu
        assert mu is not None
        return smooth_curve(_sum(parts, ()), GaussianBoundTail(mu))
    pieces = []
    start: Constant = Fraction(0)
    for number, (curve, _) in enumerate(parts):
        assert curve.end is not None
        pieces.append(Piece(start, _sum(parts[number:], parts[:number])))
        start = curve.end
    return SmoothCurve(pieces, ConstantTail(start, Fraction(0)), start)


def _sum(
    active: Sequence[tuple[SmoothCurve, Fraction]], over: Sequence[tuple[SmoothCurve, Fraction]]
) -> Formula:
    """Return Σ wₖ·δₖ; those that are over have δₖ = 0."""
    gone = sum((weight for _, weight in over), Fraction(0))

    def delta(eps: Any, ops: Operations) -> Probability:
        values = [
            (ops.constant(logarithm(weight)), curve.pieces[0].formula(eps, ops))
            for curve, weight in active
        ]

        def log() -> Any:
            return _log_sum(ops, [log_weight + value.log() for log_weight, value in values])

        def log_complement() -> Any:
            terms = [log_weight + value.log_complement() for log_weight, value in values]
            return _log_sum(ops, [*terms, ops.constant(logarithm(gone))] if gone else terms)

        return Probability(log, log_complement)

    return delta


def _log_sum(ops: Operations, logs: Sequence[Any]) -> Any:
    total = logs[0]
    for other in logs[1:]:
        total = ops.logaddexp(total, other)
    return total
