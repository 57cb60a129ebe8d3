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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer

from gdpbridge.curves.base import Curve
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.guarantees.participation import Sensitivity, of_banded
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter, positive
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.matrix import MAX_STEPS, matrix_in, matrix_of, plain_matrix
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import written_above, written_below

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["BandedMatrix"]


@register
class BandedMatrix(Profile):
    """Correlated Gaussian noise on samples: banded matrix factorisation, as in DP-FTRL."""

    nature: ClassVar[Nature] = Nature.OWN
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("add-remove", "zero-out")
    samples: ClassVar[bool] = False
    kind: Literal["banded-matrix"] = "banded-matrix"
    neighbours: Neighbours | None = "add-remove"
    file: str | None = Field(
        default=None,
        description="the matrix C, or one column: the coefficients of a Toeplitz matrix",
        json_schema_extra={"symbol": "FILE", "word": True, "allowed": "an npy or CSV file"},
    )
    entries: Annotated[Any, PlainSerializer(plain_matrix)] = Field(
        default=None,
        description="the matrix or the coefficients themselves, instead of a file",
        json_schema_extra={"untyped": True, "allowed": "rows of numbers, or a list of numbers"},
    )
    sigma: Real = positive(
        "standard deviation σ of the noise over the clipping norm",
        symbol="σ",
        typical=(0.5, 20.0),
        effect="lowers",
    )
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

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the matrix, so that errors come at once."""
        if (self.file is None) == (self.entries is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and entries", Words(given), Advice("give one of them"))
        self.require("sample_rate", self.bands * self.exact("sample_rate") <= 1, "at most 1/b")
        _ = self.run

    @cached_property
    def _parts(self) -> tuple[int, Sensitivity]:
        """The number of steps, and the square of κ."""
        read = matrix_in(self.file) if self.file is not None else matrix_of(self.entries)
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
        noise = written_below(Fraction(math.isqrt(math.floor(square * 10**60)), 10**30))
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
    def composed_is(self) -> Nature:
        """As one run is."""
        return self.profile_is

    @property
    def certified_as(self) -> Profile:
        """The steps of DP-SGD."""
        return self.run

    @property
    def leaves_no_trace(self) -> bool:
        """Whatever steps it is drawn in, their sums are as without it."""
        return True

    @property
    def default_failure(self) -> Fraction | None:
        """That of the steps of DP-SGD."""
        return self.run.default_failure

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

    def build_curve(self) -> Curve:
        """Return the curve of the steps of DP-SGD."""
        return self.run.curve

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of several such runs."""
        return self.run.composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return those of the steps of DP-SGD."""
        return self.run.privacy_losses()
