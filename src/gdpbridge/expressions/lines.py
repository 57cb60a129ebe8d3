"""Formulas that are a line in e^ε: a + b·e^ε with numbers a and b, read off the tree."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.expressions.tree import Call, Name, Node, Number, names

__all__ = ["is_line"]


_ZERO = Number(Fraction(0))


def is_line(node: Node) -> bool:
    """Whether a formula of eps without piecewise is a line in e^eps, by the way it is written.

    A maximum with 0 counts as the line: where it is 0, there is no δ left.
    """
    match node:
        case Call("max", (one, other)) if _ZERO in (one, other):
            return _is_sum(other if one == _ZERO else one)
    return _is_sum(node)


def _is_sum(node: Node) -> bool:
    if not names(node):
        return True
    match node:
        case Call("neg", (part,)):
            return _is_sum(part)
        case Call("+" | "-", (left, right)):
            return _is_sum(left) and _is_sum(right)
        case Call("*", (left, right)) if not names(left) or not names(right):
            return _is_sum(left) and _is_sum(right)
        case Call("/", (left, right)) if not names(right):
            return _is_sum(left)
        case Call("exp" | "expm1", (part,)):
            return _is_shifted(part)
    return False


def _is_shifted(node: Node) -> bool:
    """Whether a formula is eps plus a number."""
    match node:
        case Name("eps"):
            return True
        case Call("+", (left, right)):
            ways = (left, right), (right, left)
            return any(_is_shifted(one) and not names(other) for one, other in ways)
        case Call("-", (left, right)):
            return _is_shifted(left) and not names(right)
    return False
