"""Kind → class. The command line, spec files, docs and contract tests all read it from here."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from gdpbridge import plugins
from gdpbridge.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from gdpbridge.mechanisms.base import Profile

__all__ = [
    "find_class",
    "kinds",
    "kinds_with",
    "profile_class",
    "register",
    "register_transformation",
    "transformations",
]

_ROOMS = ("gdpbridge.mechanisms", "gdpbridge.transformations")
_classes: dict[str, type[Profile]] = {}
_transformations: dict[str, type[Profile]] = {}

T = TypeVar("T", bound="type[Profile]")


def register(cls: T) -> T:
    """Class decorator: make a mechanism known under its ``kind``; other packages may use it too.

    Raises:
        ValueError: for a kind that this library has, from another package.
    """
    return _enter(_classes, cls)


def register_transformation(cls: T) -> T:
    """Class decorator: make what turns one mechanism into another known under its ``kind``."""
    return _enter(_transformations, cls)


def _enter(known: dict[str, type[Profile]], cls: T) -> T:
    new: type[Profile] = cls
    kind = new.model_fields["kind"].default
    if not _is_ours(new):
        _load_own()
        if kind in known and _is_ours(known[kind]):
            raise ValueError(f"the kind {kind!r} is one of gdpbridge's own")
    known[kind] = new
    return cls


def _is_ours(cls: type[Profile]) -> bool:
    return cls.__module__.startswith(tuple(f"{room}." for room in _ROOMS))


@cache
def _load_own() -> None:
    # importing each module of these rooms registers what it holds: a new mechanism is a new file
    for room in _ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{room}.{module.name}")


@cache
def _load_all() -> None:
    _load_own()
    for kind in plugins.brought(plugins.MECHANISMS):
        _load_brought(kind)


def _load_brought(kind: str) -> None:
    """Register what another package brings, unless it does so itself."""
    cls = plugins.load(plugins.MECHANISMS, kind)
    if cls is not None and kind not in _classes:
        register(cls)


def kinds() -> dict[str, type[Profile]]:
    """Return every known mechanism class, by kind, in alphabetical order."""
    _load_all()
    return dict(sorted(_classes.items()))


def kinds_with(*ways: str) -> str:
    """Return the kinds that have methods of their own, as words: all of those that one way names.

    Args:
        ways: names of methods, with a space in between.
    """
    known = kinds().items()
    return ", ".join(
        kind for kind, cls in known if any(cls.overrides(*one.split()) for one in ways)
    )


def transformations() -> dict[str, type[Profile]]:
    """Return what makes a mechanism of others, by kind, in alphabetical order."""
    _load_all()
    return dict(sorted(_transformations.items()))


def find_class(kind: str) -> type[Profile] | None:
    """Return the class of a mechanism's kind, or None; others are loaded only if need be."""
    # most kinds have the name of their file, and one file is quicker to load than all
    name = kind.replace("-", "_")
    module = f"{_ROOMS[0]}.{name}"
    if kind not in _classes and name.isidentifier() and importlib.util.find_spec(module):
        importlib.import_module(module)
    elif kind not in _classes and kind in plugins.brought(plugins.MECHANISMS):
        _load_brought(kind)
    return _classes.get(kind) or kinds().get(kind)


def profile_class(kind: str) -> type[Profile]:
    """Return the class of a kind.

    Raises:
        InputError: for an unknown kind, with the nearest known names.
    """
    cls = find_class(kind) or transformations().get(kind)
    if cls is not None:
        return cls
    known = kinds()
    hint = did_you_mean(kind, known)
    raise InputError("mechanism", kind, f"one of {', '.join(known)}{hint}")
