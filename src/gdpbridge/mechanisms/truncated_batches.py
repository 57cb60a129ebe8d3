"""Truncated Poisson batches: DP-SGD whose batches are cut where memory ends.

Each step samples every record by itself with probability q. Of a sample of more than B records, B
are kept at random. Let E be the event that B or more of the other n - 1 records are sampled: its
chance p = P(Bin(n - 1, q) ≥ B) is the same whether and which record differs. Without E nothing is
cut, with the record or without it, and the step is one of DP-SGD; telling whether E happened, and
all about the step where it did, makes matters no better. So T steps are no worse than T steps of
DP-SGD that fail outright with probability 1 - (1 - p)^T, for all neighbours, also where later steps
depend on earlier answers: E is drawn anew in each. (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha
and Zhang 2024 bound the same step by adding p(1 + e^ε) to δ; E is told apart likewise in
dp_accounting.)

What a step with E tells is left open, which costs as much in δ: little as long as B is so large
that a batch is hardly ever cut.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from flint import arb

from gdpbridge.curves.nature import Nature
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter, positive
from gdpbridge.mechanisms.dpsgd import DPSGD, MAX_STEPS, AsRun
from gdpbridge.mechanisms.registry import profile_class, register
from gdpbridge.numeric.exact import written_above
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above
from gdpbridge.reading.parameters import MAX_WHOLE

__all__ = ["TruncatedBatches"]

_BITS = 192


@register
class TruncatedBatches(AsRun):
    """Noisy gradient steps on Poisson samples of which no more than so many records are kept."""

    nature: ClassVar[Nature] = Nature.BOUND
    stated_for: ClassVar[tuple[Neighbours, ...]] = get_args(Neighbours)
    samples: ClassVar[bool] = False
    kind: Literal["truncated-batches"] = "truncated-batches"
    noise_multiplier: Real = positive(
        "noise multiplier σ: the noise's standard deviation over the clipping norm",
        symbol="σ",
        typical=(0.8, 4.0),
        effect="lowers",
    )
    sample_rate: Real = parameter(
        "sample rate q: the chance that a record is sampled in a step",
        symbol="q",
        allowed="a number in (0, 1]",
        typical=(0.001, 0.01),
        effect="raises",
        gt=0,
        le=1,
    )
    steps: Whole = parameter(
        "number T of steps",
        symbol="T",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(10, 100),
        effect="raises",
        ge=1,
        le=MAX_STEPS,
    )
    records: Whole = parameter(
        "number n of records in the data, or more",
        symbol="n",
        allowed=f"a whole number from 1 to {MAX_WHOLE:g}",
        typical=(1_000, 10_000),
        effect="raises",
        ge=1,
        le=MAX_WHOLE,
    )
    max_batch_size: Whole = parameter(
        "largest number B of records in a batch",
        symbol="B",
        allowed=f"a whole number from 1 to {MAX_WHOLE:g}",
        typical=(250, 500),
        effect="lowers",
        ge=1,
        le=MAX_WHOLE,
    )
    neighbours: Neighbours | None = "add-remove"

    def model_post_init(self, _: Any) -> None:
        """Refuse batches that are cut as a rule."""
        self.require(
            "max_batch_size",
            self._cut < 1,
            f"above the expected batch of {self.records * self.sample_rate:g}, and so large that "
            "it is not certain that some batch is cut",
        )

    @cached_property
    def _cut(self) -> float:
        """An upper bound of the chance 1 - (1 - p)^T that a batch is cut."""
        if self.max_batch_size >= self.records:
            return 0.0
        with precision(_BITS):
            # P(Bin(n - 1, q) ≥ B) as an incomplete beta function
            rate, size = ball(self.exact("sample_rate")), self.max_batch_size
            once = rate.beta_lower(arb(size), arb(self.records - size), 1)
            some = -(self.steps * (-once).log1p()).expm1()
            return written_above(Fraction(float_above(some)))

    @cached_property
    def run(self) -> Profile:
        """The steps of DP-SGD, beside a failure where batches can be cut."""
        steps = DPSGD(
            noise_multiplier=self.noise_multiplier,
            sample_rate=self.sample_rate,
            steps=self.steps,
            neighbours=self.neighbours,
        )
        if not self._cut:
            return steps
        # the public name of delta0 is its alias
        given: dict[str, Any] = {"epsilon": 0, "delta": self._cut}
        failing = ApproxDP(**given, neighbours=self.neighbours)
        return profile_class("sequence")(parts=(steps, failing))

    @property
    def profile_is(self) -> Nature:
        """A bound, unless no batch can be cut."""
        return Nature.BOUND if self._cut else self.run.profile_is

    @property
    def leaves_no_trace(self) -> bool:
        """Where nothing is cut; else the run may fail, with or without the record."""
        return True

    def restated(self, relation: Neighbours) -> TruncatedBatches:
        """Return the run for other neighbours."""
        return TruncatedBatches(**{**self.model_dump(), "neighbours": relation})

    @property
    def remarks(self) -> tuple[str, ...]:
        """How likely batches are cut, and what that counts as."""
        own = f"a batch is cut with probability at most {self._cut:.6g}, counted as a failure"
        return (own, *self.run.remarks) if self._cut else self.run.remarks
