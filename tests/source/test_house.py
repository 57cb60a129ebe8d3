"""How the source is built: no circles, small modules, and a folder for newcomers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import gdpbridge
from gdpbridge.profiles import kinds

SOURCE = Path(gdpbridge.__file__).parent
LONGEST = 450


def circles(
    modules: Iterable[str], imported_by: Callable[[str], Iterable[str]]
) -> list[frozenset[str]]:
    """Every set of modules that import each other, however far around (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in imported_by(module):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            place = stack.index(module)
            circle = frozenset(stack[place:])
            del stack[place:]
            if len(circle) > 1:
                found.append(circle)

    for module in modules:
        if module not in number:
            visit(module)
    return found


def test_circles_are_found() -> None:
    """The search finds a circle, whole, and only that."""
    graph = {"a": ["b"], "b": ["c"], "c": ["d", "a"], "d": []}
    assert circles(graph, graph.__getitem__) == [frozenset("abc")]


def _graph(*, for_types_too: bool) -> Any:
    grimp = pytest.importorskip("grimp")
    return grimp.build_graph(
        "gdpbridge", exclude_type_checking_imports=not for_types_too, cache_dir=None
    )


def test_no_module_imports_itself_in_a_circle() -> None:
    """Whatever a module needs is below it, imports inside functions included."""
    graph = _graph(for_types_too=False)
    found = circles(sorted(graph.modules), graph.find_modules_directly_imported_by)
    assert found == []


def test_circles_for_types_are_pairs() -> None:
    """Names that only annotations need close circles of two, and none that are longer."""
    graph = _graph(for_types_too=True)
    found = circles(sorted(graph.modules), graph.find_modules_directly_imported_by)
    assert [sorted(circle) for circle in found if len(circle) > 2] == []


def test_modules_are_small() -> None:
    """No module has more than 450 lines."""
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert not [path for path, length in lengths.items() if length > LONGEST]


def test_mechanisms_hold_one_file_a_kind() -> None:
    """Beside the contract and the registry, each file of mechanisms/ is the home of a kind."""
    homes = {cls.__module__ for cls in kinds().values()} | {"gdpbridge.mechanisms.callable"}
    files = {path.stem for path in (SOURCE / "mechanisms").glob("*.py")}
    assert {
        f"gdpbridge.mechanisms.{name}" for name in files - {"__init__", "base", "registry"}
    } == {home for home in homes if home.startswith("gdpbridge.mechanisms.")}


def test_every_module_says_what_it_is() -> None:
    """Each has a docstring of one sentence first, and names what it offers in ``__all__``."""
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        if "migrations" in name or path.name in ("__init__.py", "__main__.py"):
            continue
        module = importlib.import_module(name)
        assert module.__doc__, name
        assert all(hasattr(module, one) for one in getattr(module, "__all__", ())), name
