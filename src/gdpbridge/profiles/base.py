"""The contract of a privacy profile: parameters declared once, a curve, and what holds of it."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.profiles.pieces import Curve
from gdpbridge.profiles.tail import Tail

__all__ = ["Neighbours", "Profile", "Real", "Whole", "parameter"]

Neighbours = Literal["add-remove", "replace-one"]

MAX_EPS = 1e5


def _real(value: object) -> float:
    """Accept every real number type; refuse text and truth values, which pydantic would read."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise ValueError("not a number")
    try:
        return float(cast(Any, value))
    except (OverflowError, TypeError, ValueError):
        raise ValueError("not a number") from None


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _real(value)
    if not number.is_integer():
        raise ValueError("not a whole number")
    return int(number)


Real = Annotated[float, BeforeValidator(_real)]
Whole = Annotated[int, BeforeValidator(_whole)]


def parameter(
    description: str,
    *,
    symbol: str,
    allowed: str,
    typical: tuple[float, float],
    default: Any = ...,
    **bounds: Any,
) -> Any:
    """Declare a parameter once, for validation, the command line, schemas and test draws.

    Args:
        description: what it is, with its unit.
        symbol: how the literature writes it.
        allowed: the words that follow "must be" in an error.
        typical: a range that tests and examples draw from.
        default: its default; the parameter is required if left out.
        **bounds: pydantic's ``gt``, ``ge``, ``lt`` and ``le``.
    """
    extra: dict[str, Any] = {"symbol": symbol, "allowed": allowed, "typical": list(typical)}
    return Field(
        default, description=description, allow_inf_nan=False, json_schema_extra=extra, **bounds
    )


class Profile(BaseModel):
    """A mechanism's privacy profile δ(ε), ε ≥ 0, as a frozen value.

    Subclasses declare their parameters with :func:`parameter` and give their curve. A float
    parameter stands for the decimal it prints as: 0.2 means 1/5.

    Raises:
        InputError: (a ``ValueError``) for a parameter outside its range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    kind: str
    neighbours: Neighbours | None = Field(
        None,
        description="the neighbouring relation that the sensitivity or guarantee is stated for",
        json_schema_extra={"allowed": "'add-remove' or 'replace-one'"},
    )

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise self._input_error(error) from None

    @abstractmethod
    def build_curve(self) -> Curve:
        """Return the pieces and the tail; called once."""

    @cached_property
    def curve(self) -> Curve:
        """The profile as the measuring methods see it."""
        return self.build_curve()

    @property
    def tail(self) -> Tail:
        """What is known of δ(ε) for large ε."""
        return self.curve.tail

    def log_delta(self, eps: ArrayLike) -> float | NDArray[np.float64]:
        """Return log δ(ε) in float64.

        Args:
            eps: ε in [0, 1e5], a number or an array.

        Returns:
            A float for a number, an array of the shape of ``eps`` otherwise; -inf where δ is 0.

        Raises:
            InputError: for ε outside the range.
        """
        return _like(eps, self.curve.logs(_checked_eps(eps))[0])

    def delta(self, eps: ArrayLike) -> float | NDArray[np.float64]:
        """Return δ(ε) in float64; arguments as in :meth:`log_delta`."""
        return _like(eps, np.exp(self.curve.logs(_checked_eps(eps))[0]))

    def gdpt(self, eps: ArrayLike) -> float | NDArray[np.float64]:
        """Return the GDP transform G(ε) = μ(ε, δ(ε)) in float64; arguments as in :meth:`log_delta`.

        The mechanism is μ-GDP exactly when μ is at least the supremum of G.
        """
        from gdpbridge.gaussian.pairs import mu_from_logs

        points = _checked_eps(eps)
        return _like(eps, mu_from_logs(points, *self.curve.logs(points)))

    @classmethod
    def parameters(cls) -> dict[str, FieldInfo]:
        """Return the declared parameters, by public name, without ``kind`` and ``neighbours``."""
        return {
            name: field
            for name, field in cls._public_fields().items()
            if name not in ("kind", "neighbours")
        }

    @classmethod
    def _public_fields(cls) -> dict[str, FieldInfo]:
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    def exact(self, name: str) -> Fraction:
        """Return a parameter as the rational number it is written as."""
        return exact(getattr(self, name))

    def specification(self) -> dict[str, str | None]:
        """Return kind, relation and parameters as text, numbers as exact decimals."""
        return {
            name: decimal_text(exact(value)) if isinstance(value, float | int) else value
            for name, value in self.model_dump().items()
        }

    def require(self, name: str, holds: bool, allowed: str) -> None:
        """Refuse parameters that are each allowed but not together.

        Raises:
            InputError: if ``holds`` is false; ``name`` may name a quotient of parameters.
        """
        if not holds:
            value = getattr(self, name, None)
            shown = value if value is not None else self._quotient(name)
            raise InputError(name, shown, allowed)

    def _quotient(self, name: str) -> float:
        top, bottom = (getattr(self, part) for part in name.split("/"))
        return float(top / bottom)

    @classmethod
    def _input_error(cls, error: ValidationError) -> InputError:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else cls.__name__
        fields = cls._public_fields()
        if first["type"] == "missing":
            extra = cast(dict[str, Any], fields[name].json_schema_extra)
            return InputError(name, "missing", f"given: {extra['allowed']}")
        if first["type"] == "extra_forbidden" or name not in fields:
            known = ", ".join(key for key in fields if key != "kind")
            return InputError(name, "not a parameter", f"one of {known}")
        extra = cast(dict[str, Any], fields[name].json_schema_extra or {})
        return InputError(name, first["input"], str(extra.get("allowed", first["msg"])))


def _checked_eps(eps: ArrayLike) -> NDArray[np.float64]:
    allowed = f"a number or an array of numbers in [0, {MAX_EPS:g}]"
    try:
        points = np.asarray(eps)
        if points.dtype.kind not in "iuf":
            raise TypeError
        points = points.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("eps", eps, allowed) from None
    outside = ~((points >= 0) & (points <= MAX_EPS))
    if outside.any():
        raise InputError("eps", points[outside].flat[0], allowed)
    return points


def _like(given: ArrayLike, values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(values) if np.ndim(given) == 0 else values
