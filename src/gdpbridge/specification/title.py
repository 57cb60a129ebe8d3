"""A mechanism in one line, for titles and legends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic.fields import FieldInfo

from gdpbridge.mechanisms.callable import Callable
from gdpbridge.mechanisms.registry import profile_class

__all__ = ["mechanism_title", "number_text"]

# rows that a title names
_PHASES = 3


def mechanism_title(mechanism: dict[str, Any], *, short: bool = False) -> str:
    """Return a mechanism's plain data as one line: its kind and parameters, by symbols if short."""
    if isinstance(mechanism.get("base"), dict):
        own = {name: value for name, value in mechanism.items() if name != "base"}
        both = (mechanism["base"], own)
        return "; ".join(mechanism_title(one, short=short) for one in both)
    # a function that is taken on trust has no words on the command line
    trusted = mechanism["kind"] == "callable"
    fields = (Callable if trusted else profile_class(mechanism["kind"])).parameters()
    parts = [
        part
        for name, field in fields.items()
        if name in mechanism
        for part in _part(name, field, mechanism[name], short)
    ]
    if mechanism["neighbours"] is not None:
        parts.append(f"neighbours {mechanism['neighbours']}")
    return f"{mechanism['kind']}: {', '.join(parts)}"


def _part(name: str, field: FieldInfo, value: Any, short: bool) -> Iterator[str]:
    """A parameter with its symbol; nothing for one that is left out, or as usual."""
    extra = cast(dict[str, Any], field.json_schema_extra)
    symbol = extra.get("symbol", name)
    if value is not None and extra.get("usual") == value:
        return
    match value:
        case None | False:
            return
        case True:
            yield name
        case dict():
            yield from (f"{key} = {number_text(number)}" for key, number in value.items())
        case [*_] if columns := extra.get("columns"):
            for row in value[:_PHASES]:
                yield ", ".join(
                    f"{column} = {number_text(one)}"
                    for column, one in zip(columns, row, strict=False)
                )
            if len(value) > _PHASES:
                yield f"and {len(value) - _PHASES:,} more"
        case list() | tuple():
            yield f"{len(value):,} {name}"
        case str():
            yield value if field.is_required() else f"{name} {value}"
        case _:
            label = (
                symbol
                if short or name in (symbol, "eps_h")
                else f"{name.replace('_', ' ')} {symbol}"
            )
            yield f"{label} = {number_text(value)}"


def number_text(value: float) -> str:
    """A number as it was written: 2 for 2.0."""
    return f"{value:g}" if f"{value:g}" == repr(float(value)).removesuffix(".0") else repr(value)
