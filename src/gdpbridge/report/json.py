"""Records as JSON. Numbers are JSON numbers, infinities the strings "inf" and "-inf", never NaN.

The ends of an interval stay safe however they are read. An end is written as its exact decimal if
the double that a reader makes of it lies outside the interval or on its end; else as the nearest
double that does. An interval narrower than 1e-14, which doubles cannot hold, is written as its
exact decimals, and a reader who wants its digits parses them as decimals.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from gdpbridge.interval import Interval

__all__ = ["interval_ends", "to_json"]

_NARROW = 1e-14
# decimal exponents from which the zeros after the point are left out
_TINY = -30


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """Return a record, or any plain data, as an indented JSON document.

    Args:
        value: dataclasses, mappings, sequences, intervals, numbers, text, truth values and None.
        ascii_only: whether other characters are written as escapes.
    """
    return _json(value, "\n", ascii_only)


def interval_ends(interval: Interval) -> tuple[str, str]:
    """Return the JSON numbers (or strings for infinities) of an interval's ends."""
    if interval.width < _NARROW:
        return _decimal(interval.low), _decimal(interval.high)
    low = interval.low if Decimal(float(interval.low)) <= interval.low else interval.lower
    high = interval.high if Decimal(float(interval.high)) >= interval.high else interval.upper
    return _number(low), _number(high)


def _json(value: Any, line: str, ascii_only: bool) -> str:
    inner = f"{line}  "

    def below(part: Any) -> str:
        return _json(part, inner, ascii_only)

    def text(part: str) -> str:
        return json.dumps(part, ensure_ascii=ascii_only)

    match value:
        case None | bool():
            return json.dumps(value)
        case Enum():
            return text(value.value)
        case str():
            return text(value)
        case int() | float():
            return _number(value)
        case Interval():
            low, high = interval_ends(value)
            return f'{{"low": {low}, "high": {high}}}'
        case Mapping():
            return _block(
                "{}", (f"{text(key)}: {below(part)}" for key, part in value.items()), line
            )
        case Sequence():
            return _block("[]", map(below, value), line)
        case _ if hasattr(value, "document"):
            # a record that is laid out otherwise than its fields are
            return _json(value.document(), line, ascii_only)
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _json(fields, line, ascii_only)


def _block(brackets: str, parts: Iterable[str], line: str) -> str:
    inside = f",{line}  ".join(parts)
    return f"{brackets[0]}{line}  {inside}{line}{brackets[1]}" if inside else brackets


def _number(value: float | int | Decimal) -> str:
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, float) and math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    return json.dumps(value, allow_nan=False)


def _decimal(value: Decimal) -> str:
    """A decimal as a JSON number, digit by digit."""
    if value.is_infinite():
        return '"inf"' if value > 0 else '"-inf"'
    if value and value.adjusted() < _TINY:
        return format(value, "e")
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
