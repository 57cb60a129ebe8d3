"""Mechanisms as plain data: a file in TOML or JSON, or a dictionary, and back.

A mechanism is {kind, its parameters, neighbours}. On top of that, ``subsample`` (a table with what
:meth:`Profile.subsample` takes), ``compose`` (a number of runs), ``group`` (of so many records) and
``to_neighbours`` (a relation) apply in this order, and a mechanism of ``parts`` runs several after
one another. A table ``release`` says what reports print of the release. Errors name the place
inside the data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gdpbridge.errors import InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import kinds, profile_class
from gdpbridge.specification.release import Release

__all__ = [
    "MAX_BYTES",
    "MAX_LEVELS",
    "load_profile",
    "parse_release",
    "parse_specification",
    "parsed_specification",
    "read_specification",
]

MAX_BYTES = 2**20
MAX_LEVELS = 20
_WORDS = ("subsample", "compose", "group", "to_neighbours")
_RELEASE = "release"


def load_profile(source: str | Path | Mapping[str, Any]) -> Profile:
    """Return the profile that a specification describes.

    Args:
        source: the path of a TOML or JSON file, or its content as a dictionary;
            ``profile.model_dump()`` is one.

    Raises:
        InputError: if it does not describe a mechanism, naming the place: ``parts[1].scale``.
    """
    if isinstance(source, str | Path):
        return parse_specification(read_specification(source))
    return _built(_without_release(source), "", 0)


def parse_specification(content: bytes) -> Profile:
    """Return the profile that the content of a file describes; errors as :func:`load_profile`."""
    return _built(_without_release(parsed_specification(content)), "", 0)


def parse_release(content: bytes, *, whole: bool = False) -> Release | None:
    """Return what the content of a file says of the release, None if it says nothing.

    Args:
        content: TOML or JSON.
        whole: whether the file describes the release alone, not a mechanism with it; its fields
            may also stand in a table ``release`` there.

    Raises:
        InputError: for a field that is not known or not a text.
    """
    data = parsed_specification(content)
    if whole and not (isinstance(data, Mapping) and isinstance(data.get(_RELEASE), Mapping)):
        return Release.from_data(data)
    if isinstance(data, Mapping) and _RELEASE in data:
        return Release.from_data(data[_RELEASE])
    return None


def _without_release(data: object) -> object:
    if not isinstance(data, Mapping) or _RELEASE not in data:
        return data
    # what is wrong there is wrong for every command
    Release.from_data(data[_RELEASE])
    return {name: value for name, value in data.items() if name != _RELEASE}


def read_specification(path: str | Path) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise InputError("spec", str(path), f"a readable file ({why})") from None


def parsed_specification(content: bytes) -> object:
    """Return the plain data of a file in TOML or JSON.

    Raises:
        InputError: for what is neither.
    """
    if len(content) > MAX_BYTES:
        raise InputError("spec", Words("too large"), f"at most {MAX_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith(("{", "[")) and not _is_toml_table(text):
            return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(
            "spec", Words("nested too deeply"), f"at most {MAX_LEVELS} levels deep"
        ) from None
    except UnicodeDecodeError:
        raise InputError("spec", Words("not text"), "TOML or JSON in UTF-8") from None
    except ValueError as error:
        raise InputError(
            "spec", Words("not TOML or JSON"), f"well formed ({_first_line(error)})"
        ) from None


def _is_toml_table(text: str) -> bool:
    """Whether a text that begins with a bracket begins with a TOML table, not a JSON list."""
    first = text.lstrip().splitlines()[0].strip()
    return first.startswith("[") and first.strip("[]").replace(".", "").isidentifier()


def _first_line(error: ValueError) -> str:
    return (str(error).splitlines() or ["no details"])[0][:120]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refused(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")


def _built(data: object, place: str, level: int) -> Profile:
    """Build a mechanism from its data at a place such as ``parts[1].``."""
    where = place.rstrip(".") or "spec"
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise InputError(where, Words(_kind_of(data)), "a table with the kind of a mechanism")
    if level > MAX_LEVELS:
        raise InputError(where, Words("nested too deeply"), f"at most {MAX_LEVELS} levels deep")
    given = {key: value for key, value in data.items() if key not in _WORDS}
    if "parts" in given:
        given.setdefault("kind", "sequence")
        given["parts"] = _parts(given["parts"], place, level)
    if "base" in given:
        given["base"] = _built(given["base"], f"{place}base.", level + 1)
    try:
        profile = _of_kind(given)
    except InputError as error:
        raise _placed(error, place) from None
    return _transformed(profile, data, place)


def _parts(parts: object, place: str, level: int) -> list[Profile]:
    if not isinstance(parts, list | tuple):
        raise InputError(f"{place}parts", Words(_kind_of(parts)), "a list of mechanisms")
    return [_part(part, f"{place}parts[{number}].", level + 1) for number, part in enumerate(parts)]


def _part(data: object, place: str, level: int) -> Profile:
    """Build a part of a sequence, which may say how often it is run."""
    if not isinstance(data, Mapping) or "count" not in data:
        return _built(data, place, level)
    profile = _built({key: value for key, value in data.items() if key != "count"}, place, level)
    try:
        return profile.compose(data["count"])
    except InputError as error:
        raise error.renamed(
            f"{place}{'count' if error.field == 'times' else error.field}"
        ) from None


def _of_kind(given: dict[str, Any]) -> Profile:
    if "kind" not in given:
        raise InputError.missing("kind", f"give one of {', '.join(kinds())}")
    kind = given["kind"]
    if not isinstance(kind, str):
        raise InputError("kind", Words(_kind_of(kind)), "the name of a kind of mechanism")
    try:
        cls = profile_class(kind)
    except InputError as error:
        raise error.renamed("kind") from None
    return cls(**given)


def _transformed(profile: Profile, data: Mapping[str, Any], place: str) -> Profile:
    if "subsample" in data:
        options = data["subsample"]
        allowed = ("rate", "scheme", "sample", "population")
        if not isinstance(options, Mapping):
            raise InputError(
                f"{place}subsample", Words(_kind_of(options)), f"a table of {', '.join(allowed)}"
            )
        for name in options:
            if name not in allowed:
                raise InputError(
                    f"{place}subsample.{name}", Words("not known"), f"one of {', '.join(allowed)}"
                )
        try:
            profile = profile.subsample(**cast(dict[str, Any], dict(options)))
        except InputError as error:
            raise _placed(error, f"{place}subsample.") from None
    for word, parameter in zip(_WORDS[1:], ("times", "size", "to_neighbours"), strict=True):
        if word not in data:
            continue
        try:
            profile = getattr(profile, word)(data[word])
        except InputError as error:
            field = "" if error.field == parameter else error.field
            raise error.renamed(f"{place}{word}{f'.{field}' if field else ''}") from None
    return profile


def _placed(error: InputError, place: str) -> InputError:
    return error.renamed(f"{place}{error.field}")


def _kind_of(value: object) -> str:
    """Name the kind of a value in the words of the file formats."""
    names = {dict: "a table", list: "a list", str: "a text", bool: "true or false", int: "a number"}
    return names.get(type(value), "a number" if isinstance(value, float) else "a value")
