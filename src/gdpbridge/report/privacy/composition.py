"""The mechanisms that a reported one is made of, as an indented list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gdpbridge.profiles.base import Profile
from gdpbridge.profiles.title import mechanism_title

__all__ = ["Component", "components"]

_MOST = 200


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


def components(profile: Profile) -> list[Component]:
    """Return what a mechanism is made of, itself first; like parts together, at most 200."""
    found: list[Component] = []
    _collect(profile, 0, 1, found)
    return found[:_MOST]


def _collect(profile: Profile, level: int, count: int, found: list[Component]) -> None:
    data: dict[str, Any] = profile.model_dump()
    inner = profile.inner
    own = {name: value for name, value in data.items() if name != "base"}
    found.append(Component(level, mechanism_title(own), count))
    grouped: dict[str, list[Profile]] = {}
    for part in inner:
        grouped.setdefault(part.model_dump_json(), []).append(part)
    for parts in grouped.values():
        if len(found) < _MOST:
            _collect(parts[0], level + 1, len(parts), found)
