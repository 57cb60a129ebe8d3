"""Piecewise formulas as ranges of eps, each with a formula that has no conditions left.

A condition compares eps with a constant. At the constant itself the later formula applies: a
privacy profile is continuous, so that nothing hangs on one point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import (
    Call,
    Condition,
    Name,
    Node,
    Number,
    Piecewise,
    names,
    rebuilt,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = ["MAX_RANGES", "Range", "ranges_of"]

MAX_RANGES = 50
_BITS = 256


@dataclass(frozen=True)
class Range:
    """A range of eps, up to the start of the next one.

    Attributes:
        start: where it begins, as a formula without names.
        node: the formula there.
    """

    start: Node
    node: Node


def ranges_of(node: Node, field: str, text: str) -> list[Range]:
    """Return the ranges of a formula, in order, the first starting at 0.

    Args:
        node: the formula, its parameters replaced by their values.
        field: the argument that it came from, and
        text: its text, for errors.

    Raises:
        InputError: for a condition that is not eps against a constant, or too many of them.
    """
    with precision(_BITS):
        starts: list[tuple[arb, Node]] = [(arb(0), Number(Fraction(0)))]
        for condition in _conditions(node):
            bound = _bound(condition, field, text)
            at = _enclosed(bound)
            if at > 0 and all(bound != other for _, other in starts):
                starts.append((at, bound))
        if len(starts) > MAX_RANGES:
            raise InputError(field, text, f"a formula with fewer than {MAX_RANGES} conditions")
        starts.sort(key=lambda start: start[0].mid())
        for (left, _), (right, _) in pairwise(starts):
            if not left < right:
                raise UndecidedError("two conditions are too close to be told apart")
        return [Range(bound, _chosen(node, at, field, text)) for at, bound in starts]


def _conditions(node: Node) -> Iterator[Condition]:
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from _conditions(argument)
    elif isinstance(node, Piecewise):
        for value, condition in node.branches:
            yield condition
            yield from _conditions(value)
        yield from _conditions(node.otherwise)


def _is_upper(condition: Condition) -> bool:
    """Whether the condition holds below its bound."""
    return (condition.left == Name("eps")) == (condition.operator[0] == "<")


def _bound(condition: Condition, field: str, text: str) -> Node:
    sides = [condition.left, condition.right]
    if Name("eps") in sides:
        sides.remove(Name("eps"))
        if not names(sides[0]) and not any(_conditions(sides[0])):
            return sides[0]
    raise InputError(field, text, "a formula whose conditions each compare eps with a constant")


def _enclosed(bound: Node) -> arb:
    if isinstance(bound, Number):
        return ball(bound.value)
    value: arb = Evaluation(BALLS, {}).value(bound)
    return value


def _chosen(node: Node, start: arb, field: str, text: str) -> Node:
    """Return the formula that applies from ``start`` on."""
    if isinstance(node, Piecewise):
        for value, condition in node.branches:
            at = _enclosed(_bound(condition, field, text))
            beyond = start >= at or start.overlaps(at)
            if beyond != _is_upper(condition):
                return _chosen(value, start, field, text)
        return _chosen(node.otherwise, start, field, text)
    return rebuilt(node, lambda part: _chosen(part, start, field, text))
