"""What other packages bring: objects that they name by entry points."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

__all__ = ["MECHANISMS", "METHODS", "brought", "load"]

MECHANISMS = "gdpbridge.mechanisms"
"""Each names a kind of mechanism and its class."""

METHODS = "gdpbridge.methods"
"""Each names a measuring method and its :class:`~gdpbridge.measure.Method`."""


@cache
def brought(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is loaded."""
    return {point.name: point for point in entry_points(group=group)}


@cache
def load(group: str, name: str) -> Any:
    """Return what an entry point names; None, with a warning, if its package cannot be loaded.

    One broken package must not take all the others along.
    """
    point = brought(group)[name]
    try:
        return point.load()
    except Exception as error:
        whose = f"{group} {name} of {point.dist.name if point.dist else point.value}"
        warnings.warn(
            f"{whose} is left out: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2
        )
        return None
