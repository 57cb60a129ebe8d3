"""DP-SGD: steps of the Poisson-subsampled Gaussian mechanism, composed exactly between bounds.

Each step samples every record with probability q and adds Gaussian noise of σ times the clipping
norm to the sum (Abadi et al. 2016; for the pairs Zhu, Dong and Wang 2022). For add-remove
neighbours, and for a record that is zeroed out, the pair is P = q·N(1, σ²) + (1 - q)·N(0, σ²)
against N(0, σ²), and both directions count. For replace-one neighbours it is against q·N(-1, σ²) +
(1 - q)·N(0, σ²), which dominates (docs/composition.md has the proof). Batches of a fixed size,
drawn without replacement, are stated for replace-one: a step may be as bad as q·N(2, σ²) + (1 -
q)·N(0, σ²) and N(0, σ²) in either order, and the pair that is as bad as both is composed.

Without sampling, T steps have the Gaussian curve with μ = √T/σ. Sampling lowers δ(ε) everywhere and
does not change how it falls in the limit: μ_t = √T/σ for every q > 0, since a run in which all
records are always sampled still has the probability q^T. So √T/σ is the least μ for the whole
range, whatever q, and the useful statement is one that leaves a failure probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import (
    DEFAULT_FAILURE,
    Neighbours,
    Profile,
    Real,
    Whole,
    parameter,
    positive,
)
from gdpbridge.mechanisms.gaussian import Gaussian, gaussian_curve, gaussian_root
from gdpbridge.mechanisms.registry import register
from gdpbridge.reading.parameters import MAX_WHOLE
from gdpbridge.reading.training import Run, derived, run_of, with_fraction

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["DPSGD", "AsRun"]

MAX_STEPS = 10_000_000
_WHY_FAILURE = (
    "a μ for DP-SGD needs its p or ε_h: sampling does not change how δ(ε) falls in the limit, so "
    "that the one μ for every ε is that of the run without sampling"
)
_FIXED_SIZE = (
    "batches of a fixed size: each step is replaced by one that is as bad as either direction at "
    "every ε, since the larger one of both directions is no bound for several steps"
)


@register
class DPSGD(Profile):
    """Noisy gradient steps on Poisson samples of the records."""

    nature: ClassVar[Nature] = Nature.OWN
    stated_for: ClassVar[tuple[Neighbours, ...]] = get_args(Neighbours)
    samples: ClassVar[bool] = False
    additive_noise: ClassVar[bool] = True
    kind: Literal["dpsgd"] = "dpsgd"
    noise_multiplier: Real = positive(
        "noise multiplier σ: the noise's standard deviation over the clipping norm",
        symbol="σ",
        typical=(0.5, 10.0),
        effect="lowers",
    )
    sample_rate: Real = parameter(
        "sample rate q: the chance that a record is in a step's batch",
        symbol="q",
        allowed="a number in [0, 1], or batch size/records such as 256/60000",
        typical=(0.001, 0.5),
        effect="raises",
        instead="batch_size and records",
        fraction=True,
        ge=0,
        le=1,
    )
    steps: Whole = parameter(
        "number T of steps",
        symbol="T",
        allowed=f"a whole number from 0 to {MAX_STEPS}",
        typical=(1, 10_000),
        effect="raises",
        instead="epochs",
        ge=0,
        le=MAX_STEPS,
    )
    batch_size: Whole | None = parameter(
        "expected number of records in a batch, instead of the sample rate",
        symbol="B",
        allowed=f"a whole number from 1 to {MAX_WHOLE:g}",
        typical=(32, 256),
        effect="raises",
        default=None,
        ge=1,
        le=MAX_WHOLE,
    )
    records: Whole | None = parameter(
        "number of records in the data, with the batch size",
        symbol="N",
        allowed=f"a whole number from 1 to {MAX_WHOLE:g}",
        typical=(1_000, 60_000),
        effect="lowers",
        default=None,
        ge=1,
        le=MAX_WHOLE,
    )
    epochs: Real | None = parameter(
        "passes over the data, instead of the steps",
        symbol="E",
        allowed=f"a number > 0, at most {MAX_STEPS}",
        typical=(1, 10),
        effect="raises",
        default=None,
        gt=0,
        le=MAX_STEPS,
    )
    like: Literal["opacus"] | None = Field(
        default=None,
        description="whose rule turns batch size, records and epochs into rate and steps: "
        "Opacus takes rate 1/L and L steps an epoch, L = records/batch size, rounded up",
        json_schema_extra={"allowed": "opacus"},
    )
    sampling: Literal["poisson", "fixed-size"] = Field(
        default="poisson",
        description="how batches are drawn: each record by itself, or so many without replacement",
        json_schema_extra={"allowed": "poisson or fixed-size", "usual": "poisson"},
    )
    neighbours: Neighbours | None = "add-remove"

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Work out rate and steps where other words are given, and the relation of batches."""
        given = with_fraction(given)
        if given.get("sampling") == "fixed-size" and given.get("neighbours") is None:
            given["neighbours"] = "replace-one"
        return {**given, **cls.derived(given)}

    @classmethod
    def derived(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sample rate and the steps that follow from the other parameters."""
        return derived(with_fraction(given))

    @classmethod
    def unit_of(cls, name: str, given: Mapping[str, Any]) -> Fraction | None:
        """Return q for the epochs: a run is as many steps as it has begun."""
        if name != "epochs":
            return super().unit_of(name, given)
        return cls(**{**given, name: 1}).exact("sample_rate")

    def model_post_init(self, _: Any) -> None:
        """Check the relation that the sampling is stated for."""
        if self.sampling == "fixed-size":
            if self.neighbours != "replace-one":
                raise InputError(
                    "neighbours",
                    self.neighbours,
                    "replace-one, the relation of batches of a fixed size",
                )
            if self.like is not None:
                raise InputError(
                    "sampling", self.sampling, f"poisson, as {self.like} draws batches"
                )

    @cached_property
    def run(self) -> Run:
        """Rate and steps, exactly."""
        return run_of(self.model_dump())

    def exact(self, name: str) -> Fraction:
        """Return a parameter as it is written; the rate as batch size and records have it."""
        rate = self.run.rate
        return rate if name == "sample_rate" and rate is not None else super().exact(name)

    def specification(self) -> dict[str, str | None]:
        """Return noise, rate and steps, from whatever words they were derived, exactly."""
        found = super().specification()
        texts = {name: found[name] for name in ("kind", "neighbours", "noise_multiplier", "steps")}
        if self.sampling != "poisson":
            texts["sampling"] = self.sampling
        rate = self.run.rate
        if rate is not None and self.records is not None:
            return {**texts, "sample_rate": f"{rate.numerator}/{rate.denominator}"}
        return {**texts, "sample_rate": found["sample_rate"]}

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was derived, and why one μ says little without its p."""
        why = () if self.default_failure is None else (_WHY_FAILURE,)
        derived = (f"derived: {self.run.derived}",) if self.run.derived else ()
        return (*derived, *((_FIXED_SIZE,) if self._is_bound else ()), *why)

    @property
    def _is_bound(self) -> bool:
        return self.sampling == "fixed-size" and 0 < self.sample_rate < 1

    @property
    def profile_is(self) -> Nature:
        """A bound for several batches of a fixed size; else the mechanism's own."""
        return Nature.BOUND if self._is_bound and self.steps > 1 else self.nature

    @property
    def composed_is(self) -> Nature:
        """A bound for batches of a fixed size."""
        return Nature.BOUND if self._is_bound else self.nature

    @property
    def default_failure(self) -> Fraction | None:
        """1e-10 where records are sampled: then the least μ for the whole range says little."""
        return DEFAULT_FAILURE if self.steps and 0 < self.sample_rate < 1 else None

    def restated(self, relation: Neighbours) -> DPSGD | None:
        """Return the run for other neighbours: all are known, but of batches of a fixed size."""
        if self.sampling == "fixed-size":
            return None
        return DPSGD(**{**self.model_dump(), "neighbours": relation})

    @property
    def leaves_no_trace(self) -> bool:
        """Not of batches of a fixed size, in which another record takes the place."""
        return self.sampling != "fixed-size"

    def build_curve(self) -> Curve:
        """Return the exact curve where there is one, else one between bounds."""
        return self.composed_curve(1)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` such runs."""
        steps, rate = times * self.steps, self.exact("sample_rate")
        if steps == 0 or rate == 0:
            return gaussian_curve(Fraction(0))
        sigma = self.exact("noise_multiplier")
        if rate == 1:
            return gaussian_curve(gaussian_root(steps, self._apart / sigma))
        if steps == 1 and self.sampling == "fixed-size":
            base = Gaussian(sigma=self.noise_multiplier, sensitivity=2.0, neighbours="replace-one")
            return base.curve.sampled(rate)
        if steps == 1 and self.neighbours != "replace-one":
            return Gaussian(sigma=self.noise_multiplier).curve.sampled(rate)
        return super().composed_curve(times)

    @property
    def _apart(self) -> int:
        """How far neighbours may be apart in a step that looks at the record, in clipping norms."""
        return 2 if self.neighbours == "replace-one" else 1

    def privacy_losses(self) -> Losses:
        """Return the loss of one step and the number of steps."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
        from gdpbridge.losses.transforms.gaussian import GaussianTransform
        from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
        from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform

        sigma, rate = self.exact("noise_multiplier"), self.exact("sample_rate")
        if self.steps == 0 or rate == 0:
            return []
        if rate == 1:
            return [Part(GaussianTransform((self._apart / sigma) ** 2), self.steps)]
        if self.sampling == "fixed-size":
            return [Part(FixedSizeTransform(2 / sigma, rate), self.steps)]
        one = ReplaceOneTransform if self.neighbours == "replace-one" else SampledGaussianTransform
        return [Part(one(sigma, rate), self.steps)]


class AsRun(Profile):
    """A mechanism that is a run of others, as which everything about it is found."""

    @property
    @abstractmethod
    def run(self) -> Profile:
        """The run."""

    @property
    def certified_as(self) -> Profile:
        """The run."""
        return self.run

    @property
    def default_failure(self) -> Fraction | None:
        """That of the run."""
        return self.run.default_failure

    @property
    def profile_is(self) -> Nature:
        """That of the run."""
        return self.run.profile_is

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of the run."""
        return self.run.remarks

    def build_curve(self) -> Curve:
        """Return the curve of the run."""
        return self.run.curve

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of several such runs."""
        return self.run.composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return those of the run."""
        return self.run.privacy_losses()
