"""A range's start, given as a formula without names, as a constant."""

from __future__ import annotations

from gdpbridge.curves.constants import Constant
from gdpbridge.expressions.evaluate import constant_value
from gdpbridge.expressions.tree import Node, Number

__all__ = ["start_of"]


def start_of(node: Node) -> Constant:
    """Return the value of a formula without names."""
    return node.value if isinstance(node, Number) else constant_value(node)
