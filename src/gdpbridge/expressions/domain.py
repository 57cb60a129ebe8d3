"""Where a formula certainly has no value: not every ball that is "not a number" says so."""

from __future__ import annotations

from flint import arb

from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import Call, Node, Number
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS

__all__ = ["is_undefined"]


def is_undefined(node: Node, eps: arb) -> bool:
    """Whether some part of a formula is certainly undefined or infinite at a point.

    Args:
        node: the formula, in eps alone and without piecewise.
        eps: the exact point.
    """
    if not isinstance(node, Call):
        return False
    if any(is_undefined(part, eps) for part in node.arguments):
        return True
    values = [Evaluation(BALLS, {"eps": eps}).value(part) for part in node.arguments]
    match node.function:
        case "log" | "lgamma":
            return certainly(values[0] <= 0)
        case "log1p":
            return certainly(values[0] <= -1)
        case "sqrt":
            return certainly(values[0] < 0)
        case "/":
            return bool(values[1].is_zero())
        case "**":
            return _is_undefined_power(values[0], node.arguments[1])
    return False


def _is_undefined_power(base: arb, exponent: Node) -> bool:
    if not isinstance(exponent, Number):
        return certainly(base < 0)
    if exponent.value < 0 and base.is_zero():
        return True
    return exponent.value.denominator != 1 and certainly(base < 0)
