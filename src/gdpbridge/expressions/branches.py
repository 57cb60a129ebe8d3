"""Piecewise formulas as ranges of eps, each with a formula that has no conditions left.

A condition compares eps with a constant. At the constant itself the later formula applies, as a
privacy profile is continuous; what stands for that one ε alone is a range of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

from gdpbridge.errors import InputError
from gdpbridge.expressions.evaluate import constant_value
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
from gdpbridge.expressions.tree import text as text_of
from gdpbridge.numeric.decide import MAX_CONSTANT_PRECISION, is_below, with_enough_precision

__all__ = ["MAX_RANGES", "Range", "ranges_of"]

MAX_RANGES = 50
_BITS = 256


@dataclass(frozen=True)
class Range:
    """A range of eps, up to the start of the next one.

    Attributes:
        start: where it begins, as a formula without names.
        node: the formula there.
        is_point: whether it holds at its start alone.
    """

    start: Node
    node: Node
    is_point: bool = False


def ranges_of(node: Node, field: str, text: str) -> list[Range]:
    """Return the ranges of a formula, in order, the first starting at 0.

    Args:
        node: the formula, its parameters replaced by their values.
        field: the argument that it came from, and
        text: its text, for errors.

    Raises:
        InputError: for a condition that is not eps against a constant, or too many of them.
        UndecidedError: for constants that are too close to 0 or to one another.
    """
    bounds = list(dict.fromkeys(_bound(one, field, text) for one in _conditions(node)))
    zero = Number(Fraction(0))
    starts = [zero, *(bound for bound in bounds if _is_less(zero, bound))]
    if len(starts) > MAX_RANGES:
        raise InputError(field, text, f"a formula with fewer than {MAX_RANGES} conditions")
    starts.sort(key=cmp_to_key(lambda left, right: -1 if _is_less(left, right) else 1))
    # bounds that are not positive are behind every ε
    place = dict.fromkeys(bounds, 0) | {bound: number for number, bound in enumerate(starts)}
    at_zero = {bound for bound in bounds if bound == zero}
    chosen = [_chosen(node, number, place, (field, text)) for number in range(len(starts))]
    found: list[Range] = []
    for number, bound in enumerate(starts):
        meets = {bound} if number else at_zero
        alone = _chosen(node, number, place, (field, text), meets)
        if alone not in chosen[max(number - 1, 0) : number + 1]:
            found.append(Range(bound, alone, is_point=True))
        found.append(Range(bound, chosen[number]))
    return found


def _is_less(left: Node, right: Node) -> bool:
    """Decide which of two constants is the smaller one.

    Raises:
        UndecidedError: if they are too close to be told apart.
    """
    if left == right:
        return False
    values = constant_value(left), constant_value(right)
    if isinstance(left, Number) and isinstance(right, Number):
        return left.value < right.value
    return with_enough_precision(
        _BITS,
        lambda: is_below(values[0](), values[1]()),
        f"{text_of(left)} and {text_of(right)} are too close to be told apart",
        MAX_CONSTANT_PRECISION,
    )


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


def _chosen(
    node: Node,
    number: int,
    place: Mapping[Node, int],
    origin: tuple[str, str],
    meets: Collection[Node] = (),
) -> Node:
    """Return the formula that applies on a range, given the first range beyond each bound.

    Args:
        node: a formula.
        number: that of the range.
        place: of each bound the first range beyond it.
        origin: the field and the text, for errors.
        meets: the bounds that eps is equal to, for the formula at the range's start alone.
    """
    if isinstance(node, Piecewise):
        for value, condition in node.branches:
            bound = _bound(condition, *origin)
            beyond = number >= place[bound]
            holds = "=" in condition.operator if bound in meets else beyond != _is_upper(condition)
            if holds:
                return _chosen(value, number, place, origin, meets)
        return _chosen(node.otherwise, number, place, origin, meets)
    return rebuilt(node, lambda part: _chosen(part, number, place, origin, meets))
