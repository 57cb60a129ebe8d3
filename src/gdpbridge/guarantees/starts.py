"""A range's start, given as a formula without names, as a constant."""

from __future__ import annotations

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import Node, Number
from gdpbridge.numeric.kinds import BALLS

__all__ = ["start_of"]


def start_of(node: Node) -> Constant:
    """Return the value of a formula without names."""
    if isinstance(node, Number):
        return node.value

    def value() -> arb:
        return Evaluation(BALLS, {}).value(node)

    return value
