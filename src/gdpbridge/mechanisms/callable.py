"""A privacy profile given as a Python function, taken on trust.

Nothing of a function can be proved: what a result relies on has to be named when the profile is
made, and stands in every result, none of which is certified.
"""

from __future__ import annotations

import collections.abc
import math
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from flint import arb
from numpy.typing import NDArray
from pydantic import Field

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import UnknownTail
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.guarantees.assumed import TAILS, assumed_tail
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

__all__ = ["TRUSTED", "Callable"]

TRUSTED = ("non-increasing", "upper bound")

# how much a function may rise that is computed in floats: far more than sums of rounding errors do,
# of δ itself and of a 1 that cancels, and far less than what makes a difference to μ
_RELATIVE, _ABSOLUTE = 1e-9, 1e-14

Function = collections.abc.Callable[[Any], Any]


class Callable(Profile):
    """A mechanism with δ(ε) given by a Python function, of a float or of an array."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["callable"] = "callable"
    function: Function = Field(
        exclude=True,
        description="gives δ(ε) for ε ≥ 0",
        json_schema_extra={"allowed": "a function of ε"},
    )
    name: str = Field(
        "", description="what to call it", json_schema_extra={"allowed": "a name as text"}
    )
    trusted: tuple[str, ...] = Field(
        description="what is taken on trust",
        json_schema_extra={"allowed": f"a list with {' and '.join(map(repr, TRUSTED))}"},
    )
    log: bool = Field(
        False,
        description="whether the function gives log δ(ε)",
        json_schema_extra={"allowed": "true or false"},
    )
    is_exact: bool = Field(
        False,
        alias="exact",
        description="whether the function is the mechanism's own δ(ε), not only an upper bound",
        json_schema_extra={"allowed": "true or false"},
    )
    tail_declared: str | None = Field(
        None,
        alias="tail",
        description="what is taken for granted of δ beyond ε = 100, without proof",
        json_schema_extra={"allowed": TAILS},
    )

    def __init__(self, function: Function | None = None, **parameters: Any) -> None:
        given = parameters if function is None else {"function": function, **parameters}
        if callable(given.get("function")) and "name" not in given:
            given["name"] = getattr(given["function"], "__name__", "function")
        super().__init__(**given)

    def model_post_init(self, _: Any) -> None:
        """Insist that everything relied on is named."""
        if set(self.trusted) != set(TRUSTED):
            allowed = f"a list of all that is relied on: {' and '.join(map(repr, TRUSTED))}"
            raise InputError("trusted", list(self.trusted), allowed)
        assumed_tail(self.tail_declared)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the user vouches for."""
        value = "is the mechanism's own" if self.is_exact else "is at least"
        word = "exact" if self.is_exact else "upper bound"
        return (
            f"trusted, not proved: {self.name} does not rise with ε (non-increasing)",
            f"trusted, not proved: {self.name} {value} δ(ε) for every ε ({word})",
        )

    @property
    def profile_is(self) -> Nature:
        """The mechanism's own where the user says so."""
        return Nature.OWN if self.is_exact else self.nature

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the default method does about a function."""
        return (f"{self.name} has no derivatives: the default method is adaptive",)

    def build_curve(self) -> SmoothCurve:
        """Return the function as a single piece."""
        tail = assumed_tail(self.tail_declared) or UnknownTail()
        return SmoothCurve((Piece(Fraction(0), self._probability),), tail, has_series=False)

    def _probability(self, eps: Any, ops: Operations) -> Probability:
        if ops is FLOATS:
            return Probability.from_log(ops, self._logs(np.asarray(eps, dtype=np.float64)))
        if ops is not BALLS:
            raise TypeError("a function has no power series")
        # it does not rise, so that the ends of a ball bound it
        ends = np.array([max(float(eps.lower()), 0.0), float(eps.upper())])
        left, right = (_ball(float(log)) for log in self._logs(ends))
        return Probability.from_log(BALLS, left.union(right))

    def _logs(self, eps: NDArray[np.float64]) -> NDArray[np.float64]:
        values = self._values(eps)
        top = 0.0 if self.log else 1.0
        wrong = np.isnan(values) | (values > top)
        if not self.log:
            wrong |= values < 0
        if wrong.any():
            at = float(eps[wrong].flat[0])
            allowed = "at most 0" if self.log else "in [0, 1]"
            raise InputError(
                f"{self.name}({at!r})", float(values[wrong].flat[0]), f"a number {allowed}"
            )
        self._refuse_rise(eps.ravel(), values.ravel())
        if self.log:
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)

    def _refuse_rise(self, eps: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Refuse a function that is seen to rise, by more than its own rounding explains.

        Raises:
            InputError: naming two ε between which it rises.
        """
        if eps.size < 2:
            return
        order = np.argsort(eps, kind="stable")
        at, found = eps[order], values[order]
        least = np.minimum.accumulate(found)[:-1]
        size = np.where(np.isfinite(least), np.abs(least), 0.0)
        slack = _RELATIVE * (1 + size) if self.log else _RELATIVE * size + _ABSOLUTE
        rises = np.flatnonzero(found[1:] > least + slack)
        if rises.size:
            last = int(rises[0])
            first = int(np.argmin(found[: last + 1]))
            log = "log δ " if self.log else ""
            raise InputError(
                self.name,
                Words(
                    f"rising from {log}{found[first]:.6g} at ε = {at[first]:.6g} to "
                    f"{found[last + 1]:.6g} at ε = {at[last + 1]:.6g}"
                ),
                "non-increasing, as it is trusted to be",
            )

    def _values(self, eps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the function with the whole array if it takes one, else number by number."""
        if eps.ndim and eps.size > 1:
            try:
                values = np.asarray(self.function(eps), dtype=np.float64)
            except Exception:
                # whatever it is, numbers one by one will show it
                values = np.empty(0)
            if values.shape == eps.shape:
                return values
        found = [self._value(float(point)) for point in eps.flat]
        return np.array(found, dtype=np.float64).reshape(eps.shape)

    def _value(self, eps: float) -> float:
        place = f"{self.name}({eps!r})"
        try:
            value = self.function(eps)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            advice = Advice(f"the function itself failed ({said})")
            raise InputError(place, Words(said), advice) from error
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(place, value, "a number") from None


def _ball(log: float) -> arb:
    return arb.neg_inf() if log == -math.inf else ball(Fraction(log))
