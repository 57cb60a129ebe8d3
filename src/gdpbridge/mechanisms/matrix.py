"""The matrix mechanism: C·x + noise, from which all sums of x are estimated, as DP-FTRL does.

With Gaussian noise of deviation σ times the clipping norm it is exactly μ-GDP with μ = s/σ, s the
sensitivity of C: how far a record moves C·x, over the clipping norm. A record takes part in one
step, in every b-th step (fixed), or in up to k steps at least b apart; in each it adds a vector of
at most the clipping norm. s is proved: see ``participations`` and ``separation`` (Denisov et al.
2022; Choquette-Choo et al. 2023). Where C has inner products of both signs, or is not banded below
b, s is an upper bound, and so is δ(ε). Batches are not sampled: without amplification.
"""

from __future__ import annotations

import io
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from flint import arb
from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.guarantees.participation import (
    MAX_SIZE,
    Participation,
    Sensitivity,
    of_matrix,
    of_toeplitz,
)
from gdpbridge.mechanisms.base import Profile, Real, Whole, parameter, positive
from gdpbridge.mechanisms.gaussian import MAX_MU, gaussian_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import decimal_text, float_text
from gdpbridge.numeric.kinds import ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["MAX_STEPS", "Matrix", "OfMatrix"]

MAX_STEPS = 20_000
# of a certificate's parameters
_MOST_TEXT = 100_000
_MAX_BYTES = 2**26


def plain_matrix(values: Any) -> Any:
    """Return entries as lists of numbers, as specifications hold them."""
    return None if values is None else np.asarray(values, dtype=np.float64).tolist()


class OfMatrix(Profile):
    """Gaussian noise that a matrix C correlates."""

    file: str | None = Field(
        default=None,
        description="the matrix C, or one column: the coefficients of a Toeplitz matrix",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "entries",
            "allowed": "an npy or CSV file",
        },
    )
    entries: Annotated[Any, PlainSerializer(plain_matrix)] = Field(
        default=None,
        description="the matrix or the coefficients themselves, instead of a file",
        json_schema_extra={
            "untyped": True,
            "typed": "1,0;0.5,1",
            "allowed": "rows of numbers, or a list of numbers",
        },
    )
    sigma: Real = positive(
        "standard deviation σ of the noise over the clipping norm",
        symbol="σ",
        typical=(0.5, 20.0),
        effect="lowers",
    )

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Check that there is one matrix."""
        if (self.file is None) == (self.entries is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and entries", Words(given), Advice("give one of them"))

    @cached_property
    def _read(self) -> Floats:
        """C, or the coefficients, as floats."""
        return matrix_in(self.file) if self.file is not None else matrix_of(self.entries)


@register
class Matrix(OfMatrix):
    """Correlated Gaussian noise: a matrix factorisation, as in DP-FTRL."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["matrix"] = "matrix"
    steps: Whole | None = parameter(
        "number n of steps of a Toeplitz matrix; as many as coefficients if left out",
        symbol="n",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(10, 1000),
        default=None,
        ge=1,
        le=MAX_STEPS,
    )
    participations: Whole = parameter(
        "number k of steps that a record takes part in at most",
        symbol="k",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(1, 10),
        default=1,
        ge=1,
        le=MAX_STEPS,
    )
    separation: Whole = parameter(
        "number b of steps that these are apart at least",
        symbol="b",
        allowed=f"a whole number from 1 to {MAX_STEPS}",
        typical=(1, 100),
        default=1,
        ge=1,
        le=MAX_STEPS,
    )
    fixed: bool = Field(
        default=False,
        strict=True,
        description="a record takes part in every b-th step exactly, as in epochs of one order",
        json_schema_extra={"symbol": "fixed", "allowed": "true or false"},
    )
    _sensitivity: Sensitivity = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Read the matrix and prove its sensitivity, so that errors come at once."""
        super().model_post_init(context)
        among = Participation(self.participations, self.separation, self.fixed)
        self._sensitivity = _found(self._read, self.steps, among)
        largest = self._sensitivity.square <= (MAX_MU * self.exact("sigma")) ** 2
        self.require("sigma", largest, f"so large that the sensitivity over it is at most {MAX_MU}")

    @property
    def profile_is(self) -> Nature:
        """A bound where the sensitivity is one."""
        return Nature.OWN if self._sensitivity.is_attained else Nature.BOUND

    @property
    def sensitivity(self) -> float:
        """The proved sensitivity of C, rounded up."""
        return float(np.nextafter(float(self._sensitivity.square) ** 0.5, np.inf))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was proved of C."""
        proved = "exactly" if self._sensitivity.is_attained else "at most"
        return (f"the sensitivity of C is {proved} {self.sensitivity:.10g}",)

    def specification(self) -> dict[str, str | None]:
        """Return C by its rows, or the coefficients of a Toeplitz matrix, as binary numbers."""
        found: dict[str, str | None] = {"kind": self.kind, "neighbours": self.neighbours}
        numbers = ("sigma", "participations", "separation")
        found |= {name: decimal_text(self.exact(name)) for name in numbers}
        found |= {"fixed": "true"} if self.fixed else {}
        size = self.steps or self._read.shape[-1]
        rows = np.atleast_2d(self._read)[:, :size].tolist()
        texts = (" ".join(map(float_text, row)) for row in rows)
        return found | {"steps": decimal_text(Fraction(size)), "entries": "; ".join(texts)}

    @property
    def beyond_certificates(self) -> str:
        """A sensitivity that is bounded row by row, or a matrix of too many numbers."""
        if not (self._sensitivity.is_attained or self.fixed):
            return "there is no certificate yet for steps that C does not keep apart"
        if len(str(self.specification()["entries"])) > _MOST_TEXT:
            return f"there is no certificate for a matrix of over {_MOST_TEXT:,} characters"
        return ""

    def _mu(self, scale: int = 1) -> Constant:
        square = self._sensitivity.square * Fraction(scale) ** 2 / self.exact("sigma") ** 2

        def mu() -> arb:
            return ball(square).sqrt()

        return mu if square else Fraction(0)

    def build_curve(self) -> SmoothCurve:
        """Return δ_μ with μ = s/σ."""
        return gaussian_curve(self._mu())

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for groups of records of the same pattern."""
        return gaussian_curve(self._mu(size))

    def composed_curve(self, times: int) -> SmoothCurve:
        """Return the curve of √times·μ."""
        square = times * self._sensitivity.square / self.exact("sigma") ** 2
        return gaussian_curve(lambda: ball(square).sqrt()) if square else self.build_curve()

    def privacy_losses(self) -> Losses:
        """Return the loss of Gaussian noise."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.gaussian import GaussianTransform

        square = self._sensitivity.square / self.exact("sigma") ** 2
        return [Part(GaussianTransform(square), 1)] if square else []


def _found(read: Floats, steps: int | None, among: Participation) -> Sensitivity:
    if read.ndim == 2 and steps is not None and steps != read.shape[1]:
        raise InputError("steps", steps, f"{read.shape[1]}, as many as C has columns, or left out")
    if read.ndim == 1:
        size = steps or read.size
        known = of_toeplitz([Fraction(one) for one in read.tolist()], size, among)
        if known is not None:
            return known
        if size > MAX_SIZE:
            raise InputError(
                "steps", size, f"at most {MAX_SIZE} for coefficients that rise or are negative"
            )
        padded = np.append(read[:size], np.zeros(max(size - read.size, 0)))
        rows = np.arange(size)[:, None] - np.arange(size)[None, :]
        read = np.where(rows >= 0, padded[np.maximum(rows, 0)], 0.0)
    if read.shape[1] > MAX_SIZE or read.shape[0] > 4 * MAX_SIZE:
        raise InputError(
            "the size of C", f"{read.shape[0]} by {read.shape[1]}", f"at most {MAX_SIZE} columns"
        )
    return of_matrix(read, among)


def matrix_in(name: str) -> Floats:
    """Return the matrix in an npy or CSV file, one row or column as a list.

    Raises:
        InputError: for what is no such file.
    """
    data = read_bounded(name, _MAX_BYTES)
    try:
        if data.startswith(b"\x93NUMPY"):
            return matrix_of(np.load(io.BytesIO(data), allow_pickle=False))
        read = np.loadtxt(io.StringIO(data.decode("utf-8-sig")), delimiter=",", ndmin=2)
    except (ValueError, EOFError, OSError) as error:
        raise InputError("file", name, f"a matrix of numbers as npy or CSV ({error})") from None
    return matrix_of(read)


def matrix_of(values: Any) -> Floats:
    """Return entries as floats, one row or column as a list.

    Raises:
        InputError: for what is no matrix of finite numbers.
    """
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("entries", Words("no numbers"), "rows of numbers of one length") from None
    if found.ndim == 2 and 1 in found.shape:
        found = found.ravel()
    if found.ndim not in (1, 2) or not found.size or not np.isfinite(found).all():
        raise InputError(
            "entries", Words("of another shape, or infinite"), "a matrix, or a list of numbers"
        )
    return found
