"""Whether a formula can be a mechanism's own δ(ε), for the checker.

With t = e^ε it can if and only if it is convex in t on [1, ∞) and falls, from at most 1, no faster
at t = 1 than the line through (-1, 1) does: δ'(0) ≥ -(1 - δ(0))/2. The mirror image that the other
order of the pair has is then no steeper there (this is proved up to 2^-100). As dδ/dt = δ'/t,
convex in t is δ'' ≥ δ', or with λ = log δ, λ'' + λ'² ≥ λ'. Where a formula is below 0, δ is 0,
which is convex too. Proved on ranges that are halved, and on one without an end.
"""

from __future__ import annotations

from fractions import Fraction

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.taylor import Series, Taylor, coefficient
from gdpbridge_verify.trees import Node, constant

# whatever the precision of the rest, so that what δ is does not depend on it
BITS = 160
# how often a range is halved, and how many are looked at in all
_MOST_HALVINGS, _MOST_RANGES = 24, 400
# the last range begins at 2^k
_FARTHEST = 12
# by which δ may fall too fast at 0
_SLACK = Fraction(1, 1 << 100)


def can_be_own(node: Node, of: Arithmetic, *, is_log: bool) -> bool | Fraction:
    """Return whether a formula is proved to be some mechanism's δ, or an ε that shows it is not.

    Args:
        node: the formula, of δ or of its logarithm.
        of: the arithmetic, whose work is charged.
        is_log: whether it is of log δ.
    """
    while node.name == "max" and not is_log and (rest := _positive_part(node)):
        node = rest
    shape = _Shape(node, of, is_log=is_log)
    ends = [Fraction(0), *(Fraction(2**power) for power in range(-1, _FARTHEST))]
    last = next((k for k, end in enumerate(ends) if k and shape.is_convex(end, None)), None)
    if not shape.starts_well():
        found = shape.against(Fraction(0))
        return False if found is None else found
    reach = ends[last] if last else Fraction(4)
    waiting, looked = [(Fraction(0), reach, 0)], 0
    while waiting:
        low, high, halvings = waiting.pop()
        looked += 1
        if shape.is_convex(low, high):
            continue
        middle = (low + high) / 2
        found = shape.against(middle)
        if found is not None:
            return found
        if halvings == _MOST_HALVINGS or looked > _MOST_RANGES:
            return False
        waiting += [(middle, high, halvings + 1), (low, middle, halvings + 1)]
    return last is not None


def _positive_part(node: Node) -> Node | None:
    """Return x of max(0, x), None for others."""
    known = [constant(part) for part in node.parts]
    for number, other in zip(known, node.parts[::-1], strict=True):
        if number is not None and number <= 0:
            return other
    return None


class _Shape:
    """δ or log δ with its first two derivatives."""

    def __init__(self, node: Node, of: Arithmetic, *, is_log: bool) -> None:
        self.of, self._taylor = of, Taylor(of, 2, smooth=True)
        self._delta = Node("exp", (node,)) if is_log else node
        # what is known, and whether of log δ, in which products fall apart
        self._known = [(node, True)] if is_log else [(_logarithm(node), True), (node, False)]

    def starts_well(self) -> bool:
        """Whether 0 ≤ δ(0) ≤ 1, and δ falls there no faster than it can."""
        found = self._at(self._delta, Fraction(0), Fraction(0))
        # of most mechanisms it is 0
        rest = 2 * coefficient(found, 1) + 1 - found[0]
        return bool(found[0] >= 0 and found[0] <= 1 and rest >= -_SLACK)

    def is_convex(self, low: Fraction, high: Fraction | None) -> bool:
        """Whether δ is proved to be convex on a range, and to fall there if that has no end."""
        for node, is_log in self._known:
            found = self._at(node, low, high)
            if not is_log and found[0] <= 0:
                return True
            falls = high is not None or coefficient(found, 1) <= 0
            if falls and _excess(found, is_log=is_log) >= 0:
                return True
        return False

    def against(self, at: Fraction) -> Fraction | None:
        """Return an ε if δ is proved not to be convex there, or to fall too fast at 0."""
        for node, is_log in self._known:
            found = self._at(node, at, at)
            if (is_log or found[0] > 0) and _excess(found, is_log=is_log) < 0:
                return at
        if at:
            return None
        start = self._at(self._delta, at, at)
        return at if start[0] > 1 or 2 * coefficient(start, 1) + 1 - start[0] < 0 else None

    def _at(self, node: Node, low: Fraction, high: Fraction | None) -> Series:
        """Enclose a formula on a range, which may have no end."""
        ends = self.of.between(low, low if high is None else high)
        eps = ends if high is not None else Interval(self.of, ends.low, mpfr("inf"))
        return self._taylor.about(node, eps)


def _logarithm(node: Node) -> Node:
    """Return the logarithm of a formula, a factor at a time; it has no value where one has none."""
    if node.name == "exp":
        return node.parts[0]
    if node.name in ("*", "/"):
        first, second = map(_logarithm, node.parts)
        return Node("+" if node.name == "*" else "-", (first, second))
    power = constant(node.parts[1]) if node.name == "**" else None
    if node.name == "sqrt":
        power = Fraction(1, 2)
    if power is not None:
        return Node("*", (Node("number", value=power), _logarithm(node.parts[0])))
    return Node("log", (node,))


def _excess(found: Series, *, is_log: bool) -> Interval:
    """Return δ'' - δ', or what has its sign."""
    slope, bend = coefficient(found, 1), 2 * coefficient(found, 2)
    return bend + slope.square() - slope if is_log else bend - slope
