"""The public door to the mechanisms names every kind, and each by its own class."""

from __future__ import annotations

import ast
from pathlib import Path

from gdpbridge import profiles


def _typed_names() -> set[str]:
    """What a type checker sees in the module."""
    tree = ast.parse(Path(str(profiles.__file__)).read_text(encoding="utf-8"))
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_kind_is_named_and_typed() -> None:
    """Each registered class, and the two that are in no registry, can be imported with its type."""
    classes = {cls.__name__ for cls in profiles.kinds().values()} | {"Callable", "Sequence"}
    functions = {"kinds", "profile_class"}
    assert set(profiles.__all__) == classes | functions
    assert classes <= _typed_names()


def test_names_are_the_classes() -> None:
    """A name gives the class that the registry holds for its kind."""
    for kind, cls in profiles.kinds().items():
        assert getattr(profiles, cls.__name__) is profiles.profile_class(kind)
