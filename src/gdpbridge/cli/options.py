"""Options that several commands share, each declared once, and lists of numbers in them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import typer

from gdpbridge.errors import InputError

__all__ = ["AsJson", "listed"]

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document instead of text")]

_MOST = 10_000


def listed(name: str, words: list[str] | None) -> list[str] | None:
    """Return each number of lists "1,2" and ranges "0:1:0.1", whose last one is within the end.

    Raises:
        InputError: for a range that is none, or has too many numbers.
    """
    if words is None:
        return None
    found: list[str] = []
    for part in (part for word in words for part in word.split(",")):
        found += _ranged(name, part) if ":" in part else [part]
    return found


def _ranged(name: str, text: str) -> list[str]:
    allowed = f"a number, a list 0.5,1 or a range 0.1:2:0.1 of at most {_MOST} numbers"
    try:
        first, last, step = (Decimal(part) for part in text.split(":"))
        count = int((last - first) / step) + 1
    except (ArithmeticError, ValueError):
        raise InputError(name, text, allowed) from None
    if not (step > 0 and 1 <= count <= _MOST):
        raise InputError(name, text, allowed)
    return [str(first + number * step) for number in range(count)]
