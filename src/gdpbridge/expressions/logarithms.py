"""The logarithm of a formula as a formula, where exponentials can be undone."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.expressions.evaluate import is_non_negative
from gdpbridge.expressions.tree import Call, Node, Number, call

__all__ = ["logarithm_of", "quotient"]


def quotient(top: Node, bottom: Node) -> Node:
    """Return top/bottom without fractions or exponentials below the line."""
    if isinstance(bottom, Call) and bottom.function == "/":
        return quotient(_product(top, bottom.arguments[1]), bottom.arguments[0])
    if isinstance(bottom, Call) and bottom.function == "exp":
        return _product(top, Call("exp", (call("neg", bottom.arguments[0]),)))
    return call("/", top, bottom)


def _product(left: Node, right: Node) -> Node:
    return right if left == Number(Fraction(1)) else call("*", left, right)


def logarithm_of(node: Node) -> Node | None:
    """Return log of a product that has an exponential in it, of which the rest is plainly positive.

    None for other formulas: they are as good as their logarithms.
    """
    log = _log(node)
    return log if log is not None and _has_exponential(node) else None


def _has_exponential(node: Node) -> bool:
    if not isinstance(node, Call):
        return False
    if node.function == "exp":
        return True
    return node.function in ("*", "/", "**", "sqrt") and any(
        _has_exponential(part) for part in node.arguments
    )


def _log(node: Node) -> Node | None:
    match node:
        case Number(value) if value > 0:
            return Number(Fraction(0)) if value == 1 else Call("log", (node,))
        case Number():
            return None
        case Call("exp", (inner,)):
            return inner
        case Call("*" | "/" as operator, (left, right)):
            first, second = _log(left), _log(right)
            if first is None or second is None:
                return None
            return call("+" if operator == "*" else "-", first, second)
        case Call("**", (base, Number() as power)):
            log = _log(base)
            return None if log is None else call("*", power, log)
        case Call("sqrt", (inner,)):
            log = _log(inner)
            return None if log is None else call("/", log, Number(Fraction(2)))
    return Call("log", (node,)) if is_non_negative(node) else None
