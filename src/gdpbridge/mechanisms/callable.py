"""A privacy profile given as a Python function, taken on trust.

Nothing of a function can be proved: what a result relies on has to be named when the profile is
made, and stands in every result, none of which is certified.
"""

from __future__ import annotations

import collections.abc
import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import arb
from numpy.typing import NDArray
from pydantic import Field

from gdpbridge.curves.smooth import Curve, Piece
from gdpbridge.curves.tail import UnknownTail
from gdpbridge.errors import InputError
from gdpbridge.guarantees.assumed import TAILS, assumed_tail
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

__all__ = ["TRUSTED", "Callable"]

TRUSTED = ("non-increasing", "upper bound")

Function = collections.abc.Callable[[Any], Any]


class Callable(Profile):
    """A mechanism with δ(ε) given by a Python function, of a float or of an array."""

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
        return (
            f"trusted, not proved: {self.name} does not rise with ε (non-increasing)",
            f"trusted, not proved: {self.name} is at least δ(ε) for every ε (upper bound)",
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the default method does about a function."""
        return (f"{self.name} has no derivatives: the default method is adaptive",)

    @property
    def has_series(self) -> bool:
        """A function has no derivatives."""
        return False

    def build_curve(self) -> Curve:
        """Return the function as a single piece."""
        tail = assumed_tail(self.tail_declared) or UnknownTail()
        return Curve((Piece(Fraction(0), self._probability),), tail)

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
        if self.log:
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)

    def _values(self, eps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the function with the whole array if it takes one, else number by number."""
        if eps.ndim and eps.size > 1:
            try:
                values = np.asarray(self.function(eps), dtype=np.float64)
            except (TypeError, ValueError):
                values = np.empty(0)
            if values.shape == eps.shape:
                return values
        found = [self._value(float(point)) for point in eps.flat]
        return np.array(found, dtype=np.float64).reshape(eps.shape)

    def _value(self, eps: float) -> float:
        value = self.function(eps)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(f"{self.name}({eps!r})", value, "a number") from None


def _ball(log: float) -> arb:
    return arb.neg_inf() if log == -math.inf else ball(Fraction(log))
