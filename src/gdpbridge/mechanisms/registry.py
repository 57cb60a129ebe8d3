"""Kind → class. The command line, spec files, docs and contract tests all read it from here."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from gdpbridge.errors import InputError

if TYPE_CHECKING:
    from gdpbridge.mechanisms.base import Profile

__all__ = [
    "find_class",
    "kinds",
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
    """Class decorator: make a mechanism known under its ``kind``."""
    known: type[Profile] = cls
    _classes[known.model_fields["kind"].default] = known
    return cls


def register_transformation(cls: T) -> T:
    """Class decorator: make what turns one mechanism into another known under its ``kind``."""
    known: type[Profile] = cls
    _transformations[known.model_fields["kind"].default] = known
    return cls


@cache
def _load_all() -> None:
    # importing each module of these rooms registers what it holds: a new mechanism is a new file
    for room in _ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{room}.{module.name}")


def kinds() -> dict[str, type[Profile]]:
    """Return every known mechanism class, by kind, in alphabetical order."""
    _load_all()
    return dict(sorted(_classes.items()))


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
    near = difflib.get_close_matches(kind, known, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError("mechanism", kind, f"one of {', '.join(known)}{hint}")
