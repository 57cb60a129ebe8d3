"""Solving an equation for delta by undoing, one by one, what is done to it."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from gdpbridge.expressions.evaluate import is_non_negative
from gdpbridge.expressions.logarithms import logarithm_of, quotient
from gdpbridge.expressions.shape import shape_of
from gdpbridge.expressions.tree import Call, Name, Node, Number, call, has_name

__all__ = ["isolated"]

_DELTA = Name("delta")


def isolated(left: Node, right: Node) -> tuple[Node, bool] | None:
    """Solve ``left = right`` for delta, where it stands once and can be reached.

    Each step has one solution, and one only.

    Returns:
        The formula, and whether it is that of log delta; None if this does not work.

    Raises:
        TooLargeError: if a constant grows beyond the limits.
    """
    if has_name(left, "delta") == has_name(right, "delta"):
        return None
    node, target = (left, right) if has_name(left, "delta") else (right, left)
    while node != _DELTA:
        if node == Call("log", (_DELTA,)):
            return target, True
        step = _undone(node, target)
        if step is None:
            return None
        node, target = step
    log = logarithm_of(target)
    return (target, False) if log is None else (log, True)


def _undone(node: Node, target: Node) -> tuple[Node, Node] | None:
    """Return the part of ``node`` with delta in it, and what it must be equal to."""
    if not isinstance(node, Call):
        return None
    inside = [part for part in node.arguments if has_name(part, "delta")]
    if len(inside) != 1:
        return None
    part = inside[0]
    if len(node.arguments) == 1:
        solved = _undo_function(node.function, part, target)
    elif len(node.arguments) == 2:
        first = part is node.arguments[0]
        solved = _undo_operator(node.function, first, node.arguments[1 if first else 0], target)
        if node.function == "**" and first:
            solved = _undo_power(part, node.arguments[1], target)
    else:
        return None
    return None if solved is None else (part, solved)


def _undo_function(function: str, part: Node, target: Node) -> Node | None:
    match function:
        case "neg":
            return call("neg", target)
        case "exp":
            return call("log", target)
        case "log":
            return call("exp", target)
        case "expm1":
            return call("log1p", target)
        case "log1p":
            return call("expm1", target)
        case "sqrt" if _is_certainly_non_negative(target):
            return call("**", target, Number(Fraction(2)))
        case "abs" if is_non_negative(part):
            return target
    return None


def _undo_operator(function: str, first: bool, other: Node, target: Node) -> Node | None:
    match function:
        case "+":
            return call("-", target, other)
        case "-":
            return call("+", target, other) if first else call("-", other, target)
        case "*":
            return quotient(target, other)
        case "/":
            return call("*", target, other) if first else quotient(other, target)
        case "**" if not first:
            return quotient(call("log", target), call("log", other))
    return None


def _undo_power(part: Node, exponent: Node, target: Node) -> Node | None:
    if not isinstance(exponent, Number) or exponent.value == 0:
        return None
    power = exponent.value
    if not (_is_certainly_non_negative(target) and is_non_negative(part)):
        return None
    return call("**", target, Number(1 / power))


def _is_certainly_non_negative(node: Node) -> bool:
    return shape_of(node, arb(0), None).sign == 1
