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
from typing import TYPE_CHECKING, Any, Literal

from flint import arb
from pydantic import Field, model_validator

from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.linear import DerivedLines, Floats, Indices, Line, Lines
from gdpbridge.curves.smooth import Curve, Formula, Piece
from gdpbridge.curves.tail import (
    AssumedTail,
    CoarseDecayTail,
    ConstantTail,
    EstimatedTail,
    GaussianBoundTail,
    GaussianCurveTail,
    GaussianDecayTail,
    PlateauTail,
    SlowDecayTail,
    SlowerTail,
    Tail,
    UnknownTail,
)
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Base, Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

if TYPE_CHECKING:
    from gdpbridge.losses.step import Losses

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
            raise InputError(missing, "missing", "given where the other of the two is")
        if (self.rate is None) == (self.sample is None):
            given = "neither" if self.rate is None else "both"
            raise InputError("rate and sample/population", given, "given one and not the other")
        if self.scheme == "poisson":
            self.require(
                "sample",
                self.sample is None,
                "a rate such as 0.1: a Poisson sample has no fixed size (without-replacement does)",
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
                "sizes such as 10/1000, draws over records, for with-replacement",
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
    def certifiable(self) -> bool:
        """The checker of certificates does not know samples yet."""
        return False

    def build_curve(self) -> Curve:
        """Return the base curve on the new scale of ε.

        Raises:
            InputError: for a mechanism whose curve is not known exactly.
        """
        gamma = self.gamma()
        if self.base.curve.bounds is not None:
            raise InputError("mechanism", self.base.kind, "sampled before it is composed")
        if self.scheme == "with-replacement":
            return self._with_replacement(gamma)
        return self.base.curve if gamma == 1 else _subsampled(self.base.curve, gamma)

    def privacy_losses(self) -> Losses:
        """Return the loss of a Poisson-subsampled Gaussian mechanism.

        Raises:
            InputError: for other mechanisms and schemes.
        """
        from gdpbridge.losses.step import LossPair
        from gdpbridge.losses.subsampled_gaussian import SubsampledGaussian

        tail = self.base.tail
        if self.scheme != "poisson" or not isinstance(tail, GaussianCurveTail):
            raise InputError(
                "mechanism",
                f"{self.base.kind} with {self.scheme} sampling",
                "gaussian or gdp with poisson sampling for composition",
            )
        if not isinstance(tail.mu, Fraction):
            raise InputError("mechanism", "composed before sampling", "sampled before composition")
        return [LossPair(SubsampledGaussian(1 / tail.mu, self.gamma()), 1)] if tail.mu else []

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
        return mixture if gamma == 1 else _subsampled(mixture, gamma)


def _mixture(curves: Sequence[Curve], weights: Sequence[Fraction]) -> Curve:
    """Return Σ wₖ·δₖ of growing curves of one piece each, Σ wₖ = 1."""
    parts = [(curve, weight) for curve, weight in zip(curves, weights, strict=True) if weight]
    last = parts[-1][0]
    if last.end is None:
        assert isinstance(last.tail, GaussianCurveTail)
        return Curve((Piece(Fraction(0), _sum(parts, ())),), GaussianBoundTail(last.tail.mu))
    pieces = []
    start: Constant = Fraction(0)
    for number, (curve, _) in enumerate(parts):
        assert curve.end is not None
        pieces.append(Piece(start, _sum(parts[number:], parts[:number])))
        start = curve.end
    return Curve(tuple(pieces), ConstantTail(start, Fraction(0)), end=start)


def _sum(
    active: Sequence[tuple[Curve, Fraction]], over: Sequence[tuple[Curve, Fraction]]
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


def _before(eps: Any, gamma: Fraction, ops: Operations) -> Any:
    """Return the ε before subsampling: e^ε = 1 + (e^ε' - 1)/γ, without cancellation or overflow."""
    return eps + ops.log1p(ops.constant((1 - gamma) / gamma) * -ops.expm1(-eps))


def _after(eps: Constant, gamma: Fraction) -> Constant:
    """Return the ε' after subsampling: e^ε' = 1 + γ(e^ε - 1)."""
    if eps == 0:
        return Fraction(0)

    def mapped() -> arb:
        return (ball(gamma) * BALLS.constant(eps).expm1()).log1p()

    return mapped


def _subsampled(curve: Curve, gamma: Fraction) -> Curve:
    """Return γ·δ on the new scale, 0 < γ < 1."""
    pieces = tuple(
        Piece(_after(piece.start, gamma), _scaled(piece.formula, gamma), piece.by_chords)
        for piece in curve.pieces
    )
    end = None if curve.end is None else _after(curve.end, gamma)
    lines = None if curve.lines is None else _SubsampledLines(curve.lines, gamma)
    return Curve(pieces, _tail(curve.tail, gamma), end, lines)


def _scaled(formula: Formula, gamma: Fraction) -> Formula:
    log_gamma, log_missed = logarithm(gamma), logarithm(1 - gamma)

    def delta(eps: Any, ops: Operations) -> Probability:
        base = formula(_before(eps, gamma, ops), ops)
        return Probability(
            lambda: ops.constant(log_gamma) + base.log(),
            # 1 - γδ = (1 - γ) + γ(1 - δ)
            lambda: ops.logaddexp(
                ops.constant(log_missed), ops.constant(log_gamma) + base.log_complement()
            ),
        )

    return delta


class _SubsampledLines(DerivedLines):
    """γ(a - b·t) with t = 1 + (t' - 1)/γ is again a line, with the same slope."""

    def __init__(self, base: Lines, gamma: Fraction) -> None:
        super().__init__(base)
        self.gamma = gamma

    def line(self, index: int) -> Line:
        """Return the line in t'."""
        line, gamma, missed = self.base.line(index), ball(self.gamma), ball(1 - self.gamma)
        return Line(
            gamma * line.a + missed * line.b,
            gamma * line.a_complement + missed * line.b_complement,
            line.b,
            line.b_complement,
        )

    def end(self, index: int) -> arb:
        """Return the right end on the new scale."""
        return (ball(self.gamma) * self.base.end(index).expm1()).log1p()

    def locate(self, eps: Floats) -> Indices:
        """Locate the ε before subsampling."""
        return self.base.locate(_before(eps, self.gamma, FLOATS))

    def ends(self, indices: Indices) -> Floats:
        """Return right ends on the new scale."""
        eps, missed = self.base.ends(indices), float(1 - self.gamma)
        # e^ε'/e^ε = 1 - (1 - γ)(1 - e^{-ε})
        result: Floats = eps + FLOATS.log1p(missed * FLOATS.expm1(-eps))
        return result


def _tail(tail: Tail, gamma: Fraction) -> Tail:
    """Return the tail of γ·δ(ε) as a function of ε', where ε' ≤ ε ≤ ε' - log γ."""
    log_gamma = logarithm(gamma)
    match tail:
        case ConstantTail(start, value):
            return ConstantTail(_after(start, gamma), _times(value, gamma))
        case GaussianCurveTail(mu) | GaussianBoundTail(mu):
            # δ_μ falls: γ·δ_μ(ε) ≤ δ_μ(ε'), and log γ is nothing beside ε²
            return GaussianBoundTail(mu)
        case GaussianDecayTail():
            return _decay(tail, gamma)
        case SlowDecayTail(log_factor, rate, start):

            def lower_log_factor() -> arb:
                return BALLS.constant(log_factor) + ball(1 + rate) * ball(gamma).log()

            return SlowDecayTail(lower_log_factor, rate, _after(start, gamma))
        case PlateauTail(start, value):
            return PlateauTail(_after(start, gamma), _times(value, gamma))
        case CoarseDecayTail(log_factor, width, start, mu_t):
            return CoarseDecayTail(
                _sum_of(log_factor, log_gamma), width, _after(start, gamma), mu_t
            )
        case SlowerTail(form, start):
            return SlowerTail(form, _after(start, gamma))
        case EstimatedTail() | AssumedTail():
            return tail
        case _:
            return UnknownTail()


def _decay(tail: GaussianDecayTail, gamma: Fraction) -> GaussianDecayTail:
    """Put ε ≥ ε' + s into the bound, where s is what ε - ε' is at ε' = 1: it only grows."""

    def shift() -> arb:
        return arb(_before(arb(1), gamma, BALLS) - 1)

    def log_factor() -> arb:
        s, mu_t = shift(), BALLS.constant(tail.mu_t)
        given = BALLS.constant(tail.log_factor) + ball(gamma).log()
        return given + BALLS.constant(tail.linear) * s - s * s / (2 * mu_t * mu_t)

    def linear() -> arb:
        return BALLS.constant(tail.linear) - shift() / BALLS.constant(tail.mu_t) ** 2

    def start() -> arb:
        # the given bound must fall from here on
        falling = BALLS.constant(tail.linear) * BALLS.constant(tail.mu_t) ** 2
        return BALLS.constant(_after(tail.start, gamma)).max(falling).max(arb(1))

    return GaussianDecayTail(log_factor, tail.mu_t, start, linear)


def _times(value: Constant, gamma: Fraction) -> Constant:
    if isinstance(value, Fraction):
        return gamma * value
    return lambda: ball(gamma) * value()


def _sum_of(first: Constant, second: Constant) -> Constant:
    return lambda: BALLS.constant(first) + BALLS.constant(second)
