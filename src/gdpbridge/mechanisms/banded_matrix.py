"""Banded matrix mechanisms on samples: the noise of DP-FTRL, amplified as that of DP-SGD is.

C is lower triangular and 0 from b below its diagonal on. Records are split into b groups, each by
itself and without a look at others, which take turns: step t draws each record of group t mod b
with the chance b·q, q being the expected batch over all records, so that a record takes part in at
most ⌈T/b⌉ steps, b apart. These steps touch no row of C together. With κ the largest norm of a
column, the run tells no more than ⌈T/b⌉ steps of DP-SGD with noise multiplier σ/κ and sample rate
b·q, also where later steps depend on earlier answers (Choquette-Choo, Ganesh, McKenna, McMahan,
Rush, Thakurta and Xu 2023, theorem 4). It tells as much where a group has ⌈T/b⌉ columns of that
norm.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import InputError
from gdpbridge.guarantees.participation import Sensitivity, of_banded
from gdpbridge.mechanisms.base import Neighbours, Real, Whole, parameter
from gdpbridge.mechanisms.dpsgd import DPSGD, AsRun
from gdpbridge.mechanisms.matrix import MAX_STEPS, OfMatrix
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import written_above, written_below

__all__ = ["BandedMatrix"]


@register
class BandedMatrix(OfMatrix, AsRun):
    """Correlated Gaussian noise on samples: banded matrix factorisation, as in DP-FTRL."""

    nature: ClassVar[Nature] = Nature.OWN
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("add-remove", "zero-out")
    samples: ClassVar[bool] = False
    kind: Literal["banded-matrix"] = "banded-matrix"
    neighbours: Neighbours | None = "add-remove"
    bands: Whole = parameter(
        "number b of bands of C, and of groups of records that take turns",
        symbol="b",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(2, 64),
        ge=1,
        le=MAX_STEPS,
    )
    sample_rate: Real = parameter(
        "sample rate q: the expected batch over all records",
        symbol="q",
        allowed="a number in (0, 1/b]",
        typical=(0.001, 0.01),
        effect="raises",
        gt=0,
        le=1,
    )
    steps: Whole | None = parameter(
        "number T of steps of a Toeplitz matrix; as many as coefficients if left out",
        symbol="T",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(10, 1000),
        default=None,
        ge=1,
        le=MAX_STEPS,
    )

    def model_post_init(self, context: Any) -> None:
        """Read the matrix, so that errors come at once."""
        super().model_post_init(context)
        self.require("sample_rate", self.bands * self.exact("sample_rate") <= 1, "at most 1/b")
        _ = self.run

    @cached_property
    def _parts(self) -> tuple[int, Sensitivity]:
        """The number of steps, and the square of κ."""
        read = self._read
        size = self.steps or read.shape[-1]
        if read.ndim == 2 and read.shape != (size, size):
            shape = f"{read.shape[0]} by {read.shape[1]}"
            raise InputError("the size of C", shape, "square, with as many columns as steps")
        found = of_banded(read, size, self.bands)
        if found is None or not found.square:
            raise InputError(
                "bands",
                self.bands,
                "the number of bands of C: it must be lower triangular, 0 from so far below its "
                "diagonal on, and not 0 everywhere",
            )
        return size, found

    @cached_property
    def run(self) -> DPSGD:
        """The steps of DP-SGD, with no more noise and no smaller rate than here."""
        size, found = self._parts
        square = self.exact("sigma") ** 2 / found.square
        noise = written_below(Fraction(math.isqrt(square * 10**60 // 1), 10**30))
        return DPSGD(
            noise_multiplier=noise,
            sample_rate=written_above(self.bands * self.exact("sample_rate")),
            steps=math.ceil(size / self.bands),
            neighbours=self.neighbours,
        )

    @property
    def _is_exact(self) -> bool:
        noise, rate = self.run.exact("noise_multiplier"), self.run.exact("sample_rate")
        found = self._parts[1]
        return (
            found.is_attained
            and noise * noise * found.square == self.exact("sigma") ** 2
            and rate == self.bands * self.exact("sample_rate")
        )

    @property
    def profile_is(self) -> Nature:
        """A bound where no group has all columns of the largest norm, or floats were rounded."""
        own = Nature.OWN if self._is_exact else Nature.BOUND
        return weakest([own, self.run.profile_is])

    @property
    def leaves_no_trace(self) -> bool:
        """Whatever steps it is drawn in, their sums are as without it."""
        return True

    @property
    def remarks(self) -> tuple[str, ...]:
        """What it was reduced to, and on what conditions."""
        run = self.run
        return (
            f"as DP-SGD with noise multiplier {run.noise_multiplier:.10g}, sample rate "
            f"{run.sample_rate:.10g} and {run.steps} steps, where records are split into "
            f"{self.bands} groups each by itself, and a step draws from one group, each record "
            "by itself (Choquette-Choo et al. 2023)",
            *run.remarks,
        )
