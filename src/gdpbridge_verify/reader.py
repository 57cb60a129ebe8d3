"""Read a JSON document as the dataclasses whose fields say by their types what may stand there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
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

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def read(self, value: object, place: str) -> Any:
        """Return what a text is read as."""
        if isinstance(value, str) and len(value) <= self.most and self._form.fullmatch(value):
            return self.meaning(value)
        raise Malformed(place, value, f"{self.allowed}, of at most {self.most} characters")


@dataclass(frozen=True)
class Whole:
    """A whole number between two others."""

    least: int
    largest: int

    def read(self, value: object, place: str) -> int:
        """Return a whole number, which neither true nor 1.0 is."""
        if type(value) is int and self.least <= value <= self.largest:
            return value
        raise Malformed(place, value, f"a whole number from {self.least} to {self.largest}")


@dataclass(frozen=True)
class Most:
    """A list, or a table, of at most so many."""

    count: int


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
        # NaN and Infinity are no JSON, and int refuses them
        return json.loads(content.decode(), object_pairs_hook=_unique, parse_constant=int)
    except (ValueError, RecursionError):
        allowed = "a JSON document whose keys are unique"
        raise Malformed("certificate", Words("not JSON"), allowed) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate key")
    return result


def read_as(kind: type[T], document: object, place: str = "certificate") -> T:
    """Return a document as an instance of a dataclass."""
    hint: Any = kind
    found: T = _reader(hint)(document, place)
    return found


@cache
def _reader(hint: Any, most: int = 0) -> Reader:
    """Return what reads a value of a type, and refuses any other."""
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return partial(_object, hint, {name: _reader(one) for name, one in hints.items()})
    if origin is Annotated:
        mark = next((mark for mark in inner[1:] if not isinstance(mark, str)), Most(most))
        return mark.read if isinstance(mark, Text | Whole) else _reader(inner[0], mark.count)
    if origin is tuple:
        return partial(_list, _reader(inner[0]), most)
    if origin is dict:
        return partial(_table, _reader(inner[0]), _reader(inner[1]), most)
    words, rest = list[object](), None
    for one in inner if origin in (Union, UnionType) else (hint,):
        if one in (bool, type(None)) or get_origin(one) is Literal:
            words += [True, False] if one is bool else get_args(one) or [None]
        else:
            rest = _reader(one, most)
    # 1 is not true, nor is 1.0 the number 1
    return partial(_either, {(type(word), word): word for word in words}, rest)


def _either(
    words: dict[tuple[type, object], object], rest: Reader | None, value: object, place: str
) -> Any:
    """Read null, true or false, one of a few words, or what is left."""
    if isinstance(value, str | int | None) and (type(value), value) in words:
        return value
    if rest is None:
        raise Malformed(place, value, " or ".join(map(str, words.values())))
    return rest(value, place)


def _list(item: Reader, most: int, value: object, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise Malformed(place, _size(value), f"a list of at most {most:,}")
    return tuple(item(one, f"{place}[{number}]") for number, one in enumerate(value))


def _table(name: Reader, item: Reader, most: int, value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > most:
        raise Malformed(place, _size(value), f"an object of at most {most:,} names")
    return {name(key, place): item(one, f"{place}.{key}") for key, one in value.items()}


def _object(kind: Any, readers: dict[str, Reader], value: object, place: str) -> Any:
    if not isinstance(value, dict):
        raise Malformed(place, _size(value), f"an object with {', '.join(readers)}")
    # in the order of the declarations: a version that is not known is told first
    given = [name for name in readers if name in value]
    known = {name: readers[name](value[name], f"{place}.{name}") for name in given}
    for one in fields(kind):
        if one.default is MISSING and one.name not in known:
            raise Malformed(f"{place}.{one.name}", Words("missing"), "given")
    if len(known) < len(value):
        raise Malformed(place, Words("one with another name"), ", ".join(readers))
    return kind(**known)


def _size(value: object) -> Words:
    length = f" of {len(value):,}" if isinstance(value, dict | list | tuple) else ""
    return Words(f"a {type(value).__name__}{length}")
