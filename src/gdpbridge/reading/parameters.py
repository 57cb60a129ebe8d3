"""Parameters declared once: for validation, the command line, schemas and test draws."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError, Words

__all__ = [
    "MAX_WHOLE",
    "Real",
    "Whole",
    "parameter",
    "positive",
    "read_real",
    "refused",
    "sensitivity_parameter",
    "whole_sensitivity",
]

# far below 2^53, beyond which float64 does not tell whole numbers apart
MAX_WHOLE = 10**12
# a text that reads as a number, such as 1e-9 or 1/2
_NUMBER = re.compile(r"[-+]?[0-9.]+([eE/][-+]?[0-9]+)?")


def read_real(value: object) -> float:
    """Accept every real number type; refuse text and truth values, which pydantic would read.

    Raises:
        ValueError: for what is no number.
    """
    if isinstance(value, bool | np.bool_ | str | bytes) or not hasattr(value, "__float__"):
        raise ValueError("not a number")
    try:
        return float(cast(Any, value))
    except (OverflowError, TypeError, ValueError):
        raise ValueError("not a number") from None


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        # bounds are checked after that, and pydantic cannot make a float of larger ones
        if abs(value) > MAX_WHOLE:
            raise ValueError("too large")
        return value
    number = read_real(value)
    if not number.is_integer():
        raise ValueError("not a whole number")
    return int(number)


Real = Annotated[float, BeforeValidator(read_real)]
Whole = Annotated[int, BeforeValidator(_whole)]


def parameter(
    description: str,
    *,
    symbol: str,
    allowed: str,
    typical: tuple[float, float],
    effect: Literal["raises", "lowers"] | None = None,
    default: Any = ...,
    instead: str = "",
    alternative: bool = False,
    fraction: bool = False,
    usual: float | None = None,
    **bounds: Any,
) -> Any:
    """Declare a parameter once, for validation, the command line, schemas and test draws.

    Args:
        description: what it is, with its unit.
        symbol: how the literature writes it.
        allowed: the words that follow "must be" in an error.
        typical: a range that tests and examples draw from.
        effect: whether a larger value raises or lowers μ, if it does one of the two throughout.
        default: its default; the parameter is required if left out.
        instead: of a required one, the other parameters that it may be derived from.
        alternative: whether it stands instead of another parameter.
        fraction: whether a text such as 1/3 is read, too.
        usual: a value that goes without saying.
        **bounds: pydantic's ``gt``, ``ge``, ``lt`` and ``le``.
    """
    extra: dict[str, Any] = {"symbol": symbol, "allowed": allowed, "typical": list(typical)}
    if effect is not None:
        extra["effect"] = effect
    if fraction:
        extra["fraction"] = True
    if usual is not None:
        extra["usual"] = usual
    if alternative:
        extra["alternative"] = True
    if instead:
        extra["instead"] = instead
    return Field(
        default, description=description, allow_inf_nan=False, json_schema_extra=extra, **bounds
    )


def positive(description: str, **declared: Any) -> Any:
    """Declare a parameter that is a finite number above 0; see :func:`parameter`."""
    return parameter(description, allowed="a finite number > 0", gt=0, **declared)


def sensitivity_parameter(description: str, **declared: Any) -> Any:
    """Declare how much a record may change what is released; 1 if it is not said."""
    return positive(description, symbol="Δ", typical=(0.5, 2.0), default=1.0, **declared)


def whole_sensitivity(most: int, *, typical: tuple[int, int]) -> Any:
    """Declare the sensitivity Δ of an answer that is a whole number, 1 if it is not given."""
    return parameter(
        "sensitivity Δ of the answer",
        symbol="Δ",
        allowed=f"a whole number from 1 to {most}",
        typical=typical,
        effect="raises",
        default=1,
        ge=1,
        le=most,
    )


def refused(error: ValidationError, model: str, fields: Mapping[str, FieldInfo]) -> InputError:
    """Return what Pydantic refuses in the words of its declaration; fields by public name."""
    # what is wrong before what is missing: that may only be missing for it
    first = min(error.errors(), key=lambda one: one["type"] == "missing")
    raised = first.get("ctx", {}).get("error")
    if isinstance(raised, InputError):
        return raised
    name = str(first["loc"][0]) if first["loc"] else model
    if first["type"] == "extra_forbidden" or name not in fields:
        known = ", ".join(key for key in fields if key != "kind")
        return InputError(name, Words("not a parameter"), f"one of {known}")
    extra = cast(dict[str, Any], fields[name].json_schema_extra or {})
    if first["type"] == "missing":
        instead = f", or {extra['instead']}" if "instead" in extra else ""
        return InputError.missing(name, f"give {extra['allowed']}{instead}")
    place = ".".join(str(part) for part in first["loc"] if part != "[key]")
    allowed = str(extra.get("allowed", first["msg"]))
    given = first["input"]
    if "typical" in extra and isinstance(given, str) and _NUMBER.fullmatch(given):
        allowed += ", given as a number and not as text"
    return InputError(place, given, allowed)
