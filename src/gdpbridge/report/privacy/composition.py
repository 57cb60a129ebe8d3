"""What a report says of a mechanism itself: its words, its parts, the files it was read from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.opacus import OpacusHistory
from gdpbridge.specification.title import mechanism_title

__all__ = [
    "Component",
    "InputFile",
    "components",
    "input_files",
    "input_paths",
    "published",
    "title_of",
]

_MOST = 200
_LONGEST_TITLE = 300
_STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Component:
    """A mechanism inside the reported one.

    Attributes:
        level: how deep inside.
        what: its kind and parameters.
        count: how many like it stand there.
    """

    level: int
    what: str
    count: int = 1


@dataclass(frozen=True)
class InputFile:
    """A file that a mechanism was read from.

    Attributes:
        name: its name, without its folder.
        size: its size in bytes; None if it can't be read any more.
        sha256: its SHA-256 in hexadecimal digits; None likewise.
    """

    name: str
    size: int | None
    sha256: str | None


def published(data: Any) -> Any:
    """Return a mechanism's plain data without the folders of this machine."""
    if isinstance(data, dict):
        return {
            name: _name(value) if name == "file" and isinstance(value, str) else published(value)
            for name, value in data.items()
        }
    return [published(one) for one in data] if isinstance(data, list | tuple) else data


def _name(path: str) -> str:
    return "standard input" if path == _STANDARD_INPUT else Path(path).name


def title_of(profile: Profile) -> str:
    """Return a mechanism, and the parts of a sequence, in one line."""
    if isinstance(profile, OpacusHistory):
        return f"opacus: {title_of(profile.run)}"
    parts = getattr(profile, "parts", None)
    if not parts:
        return mechanism_title(published(profile.model_dump()))
    titles = [
        f"{f'{one.count} times ' if one.count > 1 else ''}{one.what}"
        for one in components(profile)[1:]
        if one.level == 1
    ]
    text = "; then ".join(titles)
    return text if len(text) <= _LONGEST_TITLE else f"{text[:_LONGEST_TITLE]}…"


def components(profile: Profile) -> list[Component]:
    """Return what a mechanism is made of, itself first; like parts together, at most 200."""
    found: list[Component] = []
    _collect(profile, 0, 1, found)
    return found[:_MOST]


def _collect(profile: Profile, level: int, count: int, found: list[Component]) -> None:
    if isinstance(profile, OpacusHistory):
        profile = profile.run
    data: dict[str, Any] = published(profile.model_dump())
    own = {name: value for name, value in data.items() if name != "base"}
    found.append(Component(level, mechanism_title(own), count))
    grouped: dict[str, list[Profile]] = {}
    for part in profile.inner:
        grouped.setdefault(part.model_dump_json(), []).append(part)
    for parts in grouped.values():
        if len(found) < _MOST:
            _collect(parts[0], level + 1, len(parts), found)


def input_files(profile: Profile) -> list[InputFile]:
    """Return the files that a mechanism and its parts were read from, each once."""
    return [_input(path) for path in input_paths(profile)]


def input_paths(profile: Profile) -> list[str]:
    """Return the paths of those files; - for standard input."""
    own = getattr(profile, "file", None)
    inner = [path for part in profile.inner for path in input_paths(part)]
    return list(dict.fromkeys([own, *inner] if isinstance(own, str) else inner))


def _input(path: str) -> InputFile:
    nothing = InputFile(_name(path), None, None)
    try:
        # standard input and the like were read to their end already
        if path == _STANDARD_INPUT or not Path(path).is_file():
            return nothing
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError:
        return nothing
    return InputFile(_name(path), size, digest) if size else nothing
