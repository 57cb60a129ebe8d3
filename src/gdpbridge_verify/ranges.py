"""Formulas that change at some ε, for the checker: the formula on each of their ranges.

``piecewise(value, condition, …, otherwise)`` has conditions that compare eps with a number. From
that number on the later formula applies, whichever sign of comparison it is: a δ is continuous in
ε, so that its value there is at most what the later formula says just beyond. A formula for one ε
alone is refused: it may say less than both of its neighbours, and then bounds δ from there on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, exact
from gdpbridge_verify.refusal import Malformed, Undecided, Words
from gdpbridge_verify.taylor import Taylor
from gdpbridge_verify.trees import COMPARISONS, PIECEWISE, Node, constant, is_number

_MOST = 50
_LINE = "mechanism.text"


@dataclass(frozen=True)
class Range:
    """A formula, and between which two numbers it begins to apply; up to the next one's.

    Attributes:
        low: at most where it begins; the same as `high` where that is rational.
        high: at least where it begins.
        formula: what applies.
        is_log: whether that is log δ.
    """

    low: Fraction
    high: Fraction
    formula: Node
    is_log: bool

    @property
    def delta(self) -> Node:
        """The formula of δ."""
        return Node("exp", (self.formula,)) if self.is_log else self.formula


def formulas_of(node: Node, of: Arithmetic) -> list[tuple[tuple[Fraction, Fraction], Node]]:
    """Return brackets of where ranges begin, in order, the first at 0, and what applies there.

    Raises:
        Undecided: where two numbers cannot be told apart at this precision.
    """
    values: dict[Node, Interval] = {}
    for condition in _conditions(node):
        values.setdefault(_bound(condition), _value(_bound(condition), of))
    starts: list[tuple[Fraction, Fraction]] = [(Fraction(0), Fraction(0))]
    brackets = {bound: _bracket(bound, values[bound]) for bound in values}
    if any(one[0] < 0 == one[1] for one in brackets.values()):
        # it may be 0, where a formula may be for ε = 0 alone
        raise Undecided(_LINE)
    # bounds that are not above 0 are behind every ε
    ahead = {bound: one for bound, one in brackets.items() if one[1] > 0}
    for one in sorted(ahead.values()):
        if one == starts[-1] and one[0] == one[1]:
            # one number, written in two ways
            continue
        if one[0] <= starts[-1][1]:
            raise Undecided(_LINE)
        starts.append(one)
    if len(starts) > _MOST:
        raise Malformed(_LINE, Words("of many ranges"), f"of at most {_MOST} ranges")
    place = {bound: starts.index(ahead.get(bound, starts[0])) for bound in brackets}
    found = [_chosen(node, number, place) for number in range(len(starts))]
    for number in range(len(starts)):
        meets = {bound for bound, one in place.items() if one == number}
        if not number:
            meets = {bound for bound in meets if brackets[bound] == starts[0]}
        if _chosen(node, number, place, meets) not in found[max(number - 1, 0) : number + 1]:
            raise Malformed(_LINE, Words("of one eps alone"), "of ranges of eps")
    return list(zip(starts, found, strict=True))


def on_ranges(known: Sequence[Range], low: Fraction, high: Fraction) -> Iterator[Range]:
    """Yield those that may apply somewhere on [low, high]; of a rational start the later one."""
    for number, one in enumerate(known):
        end = known[number + 1] if number + 1 < len(known) else None
        ends_before = end is not None and low >= end.high
        if one.low <= high and not ends_before:
            yield one


def _bracket(bound: Node, value: Interval) -> tuple[Fraction, Fraction]:
    known = constant(bound)
    return (known, known) if known is not None else (exact(value.low), exact(value.high))


def _value(bound: Node, of: Arithmetic) -> Interval:
    return Taylor(of, 0).about(bound, of.exactly(0))[0]


def _conditions(node: Node) -> Iterator[Node]:
    if node.name in COMPARISONS:
        yield node
    for part in node.parts:
        yield from _conditions(part)


def _bound(condition: Node) -> Node:
    first, second = condition.parts
    bound = second if first.name == "eps" else first
    if "eps" not in (first.name, second.name) or not is_number(bound):
        raise Malformed(_LINE, Words("of other conditions"), "of conditions of eps and a number")
    return bound


def _chosen(node: Node, number: int, place: dict[Node, int], meets: Collection[Node] = ()) -> Node:
    """Return what applies on a range, given the first range beyond each bound.

    Of the range's start alone, where eps is equal to the bounds that it meets.
    """
    if node.name == PIECEWISE:
        *pairs, otherwise = node.parts
        for value, condition in zip(pairs[::2], pairs[1::2], strict=True):
            bound, sign = _bound(condition), condition.name
            is_upper = (condition.parts[0].name == "eps") == sign.startswith("<")
            beyond = number >= place[bound]
            holds = sign.endswith("=") if bound in meets else beyond != is_upper
            if holds:
                return _chosen(value, number, place, meets)
        return _chosen(otherwise, number, place, meets)
    parts = tuple(_chosen(one, number, place, meets) for one in node.parts)
    return Node(node.name, parts, node.value)
