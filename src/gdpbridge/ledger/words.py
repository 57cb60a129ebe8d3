"""What may be written into a ledger: names, texts, keys, times and numbers, checked here only."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, get_args

from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Neighbours

__all__ = [
    "RESERVED",
    "checked_dataset",
    "checked_key",
    "checked_name",
    "checked_number",
    "checked_parts",
    "checked_text",
    "checked_time",
    "stamp",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAME_ALLOWED = "1 to 100 letters, digits, dots, dashes and underscores"
_RELATIONS = get_args(Neighbours)
_LONGEST_TEXT, _LONGEST_KEY, _LONGEST_UNIT, _MOST_PARTS = 1000, 200, 100, 10_000
# what a column of whole numbers holds in every database
_MOST_NUMBER = 2**31 - 1
# a reservation's end has such a key
RESERVED = re.compile(r"(commit|cancel):")


def checked_name(field: str, name: object) -> str:
    """Return the name of a data set, a partition or a part.

    Raises:
        InputError: for another text.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(field, name, _NAME_ALLOWED)
    return name


def checked_text(field: str, value: object, *, empty: bool = False) -> str:
    """Return a text for people: printable, so that no terminal takes it for a command.

    Raises:
        InputError: for one that is too long, blank unless that is allowed, or not printable.
    """
    fine = isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable()
    if not fine or not ((empty and value == "") or str(value).strip()):
        least = 0 if empty else 1
        raise InputError(field, value, f"{least} to {_LONGEST_TEXT:,} printable characters")
    return str(value)


def checked_key(key: object) -> str:
    """Return an idempotency key as a user may give it.

    Raises:
        InputError: for another one.
    """
    if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        raise InputError("key", key, f"1 to {_LONGEST_KEY} printable characters")
    if not key.strip():
        raise InputError("key", key, f"1 to {_LONGEST_KEY} printable characters, not all blank")
    if RESERVED.match(key):
        raise InputError("key", key, "one that does not begin with commit: or cancel:")
    return key


def checked_dataset(name: object, unit: object, neighbours: object) -> dict[str, Any]:
    """Return the description of a data set.

    Raises:
        InputError: for a name, a unit or a relation that is not allowed.
    """
    found = checked_text("unit", unit)
    if len(found) > _LONGEST_UNIT:
        raise InputError("unit", unit, f"at most {_LONGEST_UNIT} characters")
    if neighbours not in _RELATIONS:
        raise InputError("neighbours", neighbours, " or ".join(map(repr, _RELATIONS)))
    return {"name": checked_name("dataset", name), "unit": found, "neighbours": neighbours}


def checked_parts(parts: object) -> list[str]:
    """Return the names of a partition's parts.

    Raises:
        InputError: for what is not 1 to 10,000 names, each once.
    """
    allowed = f"1 to {_MOST_PARTS:,} names, each once"
    if isinstance(parts, str | bytes):
        raise InputError("parts", parts, allowed)
    try:
        found = [checked_name("part", part) for part in parts]  # type: ignore[attr-defined]
    except TypeError:
        raise InputError("parts", parts, allowed) from None
    if not found or len(set(found)) < len(found) or len(found) > _MOST_PARTS:
        raise InputError("parts", found, allowed)
    return found


def checked_number(field: str, number: object, allowed: str, *, least: int = 1) -> int:
    """Return the number of an entry, or how many.

    Raises:
        InputError: for what is no whole number, or too large for any ledger.
    """
    if (
        not isinstance(number, int)
        or isinstance(number, bool)
        or not least <= number <= _MOST_NUMBER
    ):
        raise InputError(field, number, allowed)
    return number


def stamp(when: datetime) -> str:
    """Return a moment as it is written: in UTC, to the microsecond."""
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def checked_time(text: str) -> datetime:
    """Return the moment that :func:`stamp` wrote.

    Raises:
        ValueError: for another text, such as a time without its zone.
    """
    found = datetime.fromisoformat(text)
    if found.tzinfo is None or stamp(found) != text:
        raise ValueError("a time that is not in UTC to the microsecond")
    return found
