"""Read a JSON document as the dataclasses that declare it: no more, no less, and in little memory.

Each field's type says what may stand there; nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gdpbridge_verify.refusal import Malformed, Words

MAX_BYTES = 16 * 2**20
# commas and brackets: each comes with a value, which takes memory
MAX_MARKS = 1_000_000

T = TypeVar("T")
Reader = Callable[[object, str], Any]


@dataclass(frozen=True)
class Text:
    """A text that has a form, and at most so many characters; and what it is read as."""

    allowed: str
    most: int
    pattern: str = "(.|\n)*"
    meaning: Callable[[str], Any] = str


@dataclass(frozen=True)
class Whole:
    """A whole number between two others."""

    least: int
    largest: int


@dataclass(frozen=True)
class Most:
    """A list, or a table, of at most so many."""

    count: int


# --- JSON ------------------------------------------------------------------------------------


def content_of(path: str | Path, field: str = "certificate") -> bytes:
    """Return what a file holds, or a little more than is allowed of it."""
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Malformed(field, str(path), f"a readable file ({error.strerror})") from None
    except ValueError:
        raise Malformed(field, str(path), "a path") from None


def parsed(content: bytes) -> object:
    """Return what a JSON text holds."""
    if len(content) > MAX_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MAX_MARKS:
        allowed = f"at most {MAX_BYTES:,} bytes and {MAX_MARKS:,} commas and brackets"
        raise Malformed("certificate", Words("too large"), allowed)
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant
        )
    except (ValueError, RecursionError):
        raise Malformed(
            "certificate", Words("not JSON"), "a JSON document whose keys are unique"
        ) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate key")
    return result


def _constant(name: str) -> object:
    raise ValueError(name)


# --- the declarations ------------------------------------------------------------------------


def read_as(kind: type[T], document: object, place: str = "certificate") -> T:
    """Return a document as an instance of a dataclass."""
    hint: Any = kind
    found: T = _reader(hint)(document, place)
    return found


@cache
def _reader(hint: Any, most: int = 0) -> Reader:
    """Return what reads a value of a type, and refuses any other."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marks = [mark for mark in inner[1:] if not isinstance(mark, str)]
        if marks and not isinstance(marks[0], Most):
            return _text(marks[0]) if isinstance(marks[0], Text) else _whole(marks[0])
        return _reader(inner[0], marks[0].count if marks else most)
    if origin in (Union, UnionType):
        return _either(inner, most)
    if origin is Literal:
        return _one_of(inner)
    if origin is tuple:
        return _list(_reader(inner[0]), most)
    if origin is dict:
        return _table(_reader(inner[0]), _reader(inner[1]), most)
    return _object(hint) if is_dataclass(hint) else _one_of((True, False))


def _those(allowed: str, holds: Callable[[Any], object]) -> Reader:
    def read(value: object, place: str) -> object:
        if not holds(value):
            raise Malformed(place, value, allowed)
        return value

    return read


def _text(mark: Text) -> Reader:
    form = re.compile(mark.pattern)

    def read(value: object, place: str) -> Any:
        if isinstance(value, str) and len(value) <= mark.most and form.fullmatch(value):
            return mark.meaning(value)
        raise Malformed(place, value, f"{mark.allowed}, of at most {mark.most} characters")

    return read


def _whole(mark: Whole) -> Reader:
    return _those(
        f"a whole number from {mark.least} to {mark.largest}",
        # neither true nor 1.0 is a whole number
        lambda value: type(value) is int and mark.least <= value <= mark.largest,
    )


def _one_of(allowed: tuple[object, ...]) -> Reader:
    return _those(
        " or ".join(map(str, allowed)),
        lambda value: any(type(value) is type(one) and value == one for one in allowed),
    )


def _either(hints: tuple[Any, ...], most: int) -> Reader:
    """Read null, one of a few words, or what is left."""
    words = [word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)]
    words += [None] if type(None) in hints else []
    others = [hint for hint in hints if hint is not type(None) and get_origin(hint) is not Literal]
    rest = _reader(others[0], most) if others else _one_of(tuple(words))

    def read(value: object, place: str) -> Any:
        is_word = value is None or isinstance(value, str)
        return value if is_word and value in words else rest(value, place)

    return read


def _list(item: Reader, most: int) -> Reader:
    def read(value: object, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) > most:
            raise Malformed(place, _size(value), f"a list of at most {most:,}")
        return tuple(item(one, f"{place}[{number}]") for number, one in enumerate(value))

    return read


def _table(name: Reader, item: Reader, most: int) -> Reader:
    def read(value: object, place: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > most:
            raise Malformed(place, _size(value), f"an object of at most {most:,} names")
        return {name(key, place): item(one, f"{place}.{key}") for key, one in value.items()}

    return read


def _object(kind: Any) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {one.name: _reader(hints[one.name]) for one in fields(kind)}
    needed = [one.name for one in fields(kind) if one.default is MISSING]

    def read(value: object, place: str) -> Any:
        if not isinstance(value, dict):
            raise Malformed(place, _size(value), f"an object with {', '.join(readers)}")
        # in the order of the declarations: a version that is not known is told first
        known = {
            name: one(value[name], f"{place}.{name}")
            for name, one in readers.items()
            if name in value
        }
        for name in needed:
            if name not in value:
                raise Malformed(f"{place}.{name}", Words("missing"), "given")
        if len(known) < len(value):
            raise Malformed(place, Words("one with another name"), ", ".join(readers))
        return kind(**known)

    return read


def _size(value: object) -> Words:
    length = f" of {len(value):,}" if isinstance(value, dict | list | tuple) else ""
    return Words(f"a {type(value).__name__}{length}")
