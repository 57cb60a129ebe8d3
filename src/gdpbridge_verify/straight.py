"""Formulas that are a line in e^ε, a + b·e^ε with numbers a and b, read off the way they stand."""

from __future__ import annotations

from gdpbridge_verify.trees import Node, is_number

_ZERO = Node("number")


def line_below(node: Node) -> Node | None:
    """Return a line in e^ε that a formula is, or is the larger one of it and 0; None for none."""
    if node.name == "max" and _ZERO in node.parts:
        node = node.parts[node.parts[0] == _ZERO]
    return node if _is_sum(node) else None


def _is_sum(node: Node) -> bool:
    name, parts = node.name, node.parts
    if is_number(node):
        return True
    if name in ("+", "-"):
        return all(map(_is_sum, parts))
    if name == "*":
        return any(map(is_number, parts)) and all(map(_is_sum, parts))
    if name == "/":
        return is_number(parts[1]) and _is_sum(parts[0])
    return name in ("exp", "expm1") and _is_shifted(parts[0])


def _is_shifted(node: Node) -> bool:
    """Whether a formula is ε plus a number."""
    if node.name == "eps":
        return True
    if node.name not in ("+", "-"):
        return False
    first, second = node.parts
    if _is_shifted(first):
        return is_number(second)
    return node.name == "+" and is_number(first) and _is_shifted(second)
