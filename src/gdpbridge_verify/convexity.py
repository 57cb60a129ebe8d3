"""Whether a formula can be a mechanism's own δ(ε), for the checker.

With t = e^ε it can if and only if it is convex in t on [1, ∞) and falls, from at most 1, no faster
at t = 1 than the line through (-1, 1) does: δ'(0) ≥ -(1 - δ(0))/2. The mirror image that the other
order of the pair has is then no steeper there (this is proved up to 2^-100). As dδ/dt = δ'/t,
convex in t is δ'' ≥ δ', or with λ = log δ, λ'' + λ'² ≥ λ'. Where a formula is below 0, δ is 0,
which is convex too. Proved on ranges that are halved, and on one without an end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.trees import Node, constant

# whatever the precision of the rest, so that what δ is does not depend on it
BITS = 160
_COST_OF_NODE = 40.0
# how often a range is halved, and how many are looked at in all
_MOST_HALVINGS, _MOST_RANGES = 24, 400
# the last range begins at 2^k
_FARTHEST = 12
# by which δ may fall too fast at 0
_SLACK = Fraction(1, 1 << 100)


@dataclass(frozen=True)
class Curved:
    """What a function of ε and its first two derivatives lie in."""

    value: Interval
    slope: Interval
    bend: Interval

    def __neg__(self) -> Curved:
        return Curved(-self.value, -self.slope, -self.bend)

    def __add__(self, other: Curved) -> Curved:
        return Curved(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    def __mul__(self, other: Curved) -> Curved:
        self.require_a_value()
        other.require_a_value()
        both = _times(self.slope, other.slope)
        return Curved(
            self.value * other.value,
            _times(self.value, other.slope) + _times(self.slope, other.value),
            _times(self.value, other.bend) + 2 * both + _times(self.bend, other.value),
        )

    def under(self, value: Interval, first: Interval, second: Interval) -> Curved:
        """Return f(x) from the values of f, f′ and f″."""
        self.require_a_value()
        bend = _times(second, self.slope.square()) + _times(first, self.bend)
        return Curved(value, _times(first, self.slope), bend)

    def require_a_value(self) -> None:
        """Refuse what may have no value somewhere."""
        if not (self.value.low > mpfr("-inf") or self.value.high < mpfr("inf")):
            raise Unknown

    def exp(self) -> Curved:
        """Return e^x."""
        found = self.value.exp()
        return self.under(found, found, found)

    def log(self) -> Curved:
        """Return log x."""
        return self.under(self.value.log(), 1 / self.value, -1 / self.value.square())

    def power(self, exponent: Fraction) -> Curved:
        """Return x to a power."""
        if exponent == 2:
            of = self.value.of
            return self.under(self.value.square(), 2 * self.value, of.exactly(2))
        return self.log().scaled(exponent).exp()

    def scaled(self, factor: Fraction) -> Curved:
        """Return x times a number."""
        return Curved(self.value * factor, self.slope * factor, self.bend * factor)


class Unknown(Exception):
    """Nothing is known of an operation here."""


def _times(one: Interval, other: Interval) -> Interval:
    """Return the products of numbers: 0 where one is 0, however large the other may be."""
    if one.low == one.high == 0 or other.low == other.high == 0:
        return one.of.exactly(0)
    return one * other


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
    """δ or log δ with its derivatives."""

    def __init__(self, node: Node, of: Arithmetic, *, is_log: bool) -> None:
        self.node, self.of, self.is_log = node, of, is_log
        self.zero, self.one = of.exactly(0), of.exactly(1)

    def starts_well(self) -> bool:
        """Whether 0 ≤ δ(0) ≤ 1, and δ falls there no faster than it can."""
        found = self._start()
        if found is None:
            return False
        fits = found.value >= 0 and found.value <= 1
        # of most mechanisms it is 0
        return bool(fits and 2 * found.slope + 1 - found.value >= -_SLACK)

    def is_convex(self, low: Fraction, high: Fraction | None) -> bool:
        """Whether δ is proved to be convex on a range, and to fall there if that has no end."""
        eps = self._place(low, high)
        for found, is_log in self._known(eps):
            if not is_log and found.value <= 0:
                return True
            falls = high is not None or found.slope <= 0
            if falls and _excess(found, is_log=is_log) >= 0:
                return True
        return False

    def against(self, at: Fraction) -> Fraction | None:
        """Return an ε if δ is proved not to be convex there, or to fall too fast at 0."""
        eps = self._place(at, at)
        for found, is_log in self._known(eps):
            positive = is_log or found.value > 0
            if positive and _excess(found, is_log=is_log) < 0:
                return at
        start = self._start() if at == 0 else None
        if start and (start.value > 1 or 2 * start.slope + 1 - start.value < 0):
            return at
        return None

    def _start(self) -> Curved | None:
        """Enclose δ at 0."""
        try:
            found = self._value(self.node, self._place(Fraction(0), Fraction(0)))
            return found.exp() if self.is_log else found
        except Unknown:
            return None

    def _place(self, low: Fraction, high: Fraction | None) -> Curved:
        ends = self.of.between(low, low if high is None else high)
        eps = ends if high is not None else Interval(self.of, ends.low, mpfr("inf"))
        return Curved(eps, self.one, self.zero)

    def _known(self, eps: Curved) -> list[tuple[Curved, bool]]:
        """Return what is known: log δ first, in which products fall apart, and δ."""
        found = []
        for function, is_log in ((self._log, True), (self._value, False)):
            if is_log or not self.is_log:
                chosen = self._value if self.is_log else function
                try:
                    found.append((chosen(self.node, eps), is_log))
                except Unknown:
                    continue
        return found

    def _value(self, node: Node, eps: Curved) -> Curved:
        """Enclose a formula."""
        self.of.work.charge(_COST_OF_NODE)
        if node.name == "number":
            return Curved(self.of.exactly(node.value), self.zero, self.zero)
        if node.name == "eps":
            return eps
        parts = node.parts
        if node.name in ("+", "-"):
            first, second = (self._value(part, eps) for part in parts)
            return first + (second if node.name == "+" else -second)
        if node.name == "*":
            first, second = (self._value(part, eps) for part in parts)
            return first * second
        if node.name == "/":
            below = constant(parts[1])
            if below:
                return self._value(parts[0], eps).scaled(1 / below)
            return self._value(parts[0], eps) * self._inverse(self._value(parts[1], eps))
        if node.name == "**":
            return self._power(node, eps)
        if node.name in ("min", "max"):
            return self._chosen(node, eps)
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise Unknown
        return function(self._value(parts[0], eps))

    def _power(self, node: Node, eps: Curved) -> Curved:
        base, exponent = self._value(node.parts[0], eps), constant(node.parts[1])
        if exponent == 2:
            return base.power(exponent)
        if exponent is None:
            return (self._value(node.parts[1], eps) * base.log()).exp()
        if exponent.denominator == 1 and 0 <= exponent <= 8:
            found = Curved(self.one, self.zero, self.zero)
            for _ in range(int(exponent)):
                found = found * base
            return found
        return base.power(exponent)

    def _chosen(self, node: Node, eps: Curved) -> Curved:
        first, second = (self._value(part, eps) for part in node.parts)
        smaller, larger = (first, second) if first.value < second.value else (second, first)
        # where they meet is a kink, be it at an end alone
        if not smaller.value < larger.value:
            raise Unknown
        return smaller if node.name == "min" else larger

    def _log(self, node: Node, eps: Curved) -> Curved:
        """Enclose the logarithm of a formula, a factor at a time."""
        if node.name == "exp":
            return self._value(node.parts[0], eps)
        if node.name in ("*", "/"):
            first, second = (self._log(part, eps) for part in node.parts)
            return first + (second if node.name == "*" else -second)
        power = constant(node.parts[1]) if node.name == "**" else None
        if node.name == "sqrt":
            power = Fraction(1, 2)
        if power is not None:
            return self._log(node.parts[0], eps).scaled(power)
        return self._value(node, eps).log()

    def _inverse(self, x: Curved) -> Curved:
        one = 1 / x.value
        return x.under(one, -(one.square()), 2 * one.square() * one)


def _excess(found: Curved, *, is_log: bool) -> Interval:
    """Return δ'' - δ', or what has its sign."""
    slope = found.slope
    return found.bend + slope.square() - slope if is_log else found.bend - slope


def _abs(x: Curved) -> Curved:
    if x.value > 0 or x.value < 0:
        return x if x.value > 0 else -x
    raise Unknown


def _erfc(x: Curved) -> Curved:
    density = (-x.value.square()).exp() / x.value.of.pi.sqrt()
    return x.under(x.value.erfc(), -2 * density, 4 * x.value * density)


def _phi(x: Curved) -> Curved:
    root = x.value.of.exactly(2).sqrt()
    scale = -1 / root
    narrowed = Curved(x.value * scale, x.slope * scale, x.bend * scale)
    return _erfc(narrowed).scaled(Fraction(1, 2))


def _sqrt(x: Curved) -> Curved:
    root = x.value.sqrt()
    return x.under(root, 1 / (2 * root), -1 / (4 * root * x.value))


def _log1p(x: Curved) -> Curved:
    one = x.value.of.exactly(1)
    return Curved(one + x.value, x.slope, x.bend).log()


def _expm1(x: Curved) -> Curved:
    found = x.exp()
    return Curved(x.value.expm1(), found.slope, found.bend)


_FUNCTIONS: dict[str, Callable[[Curved], Curved]] = {
    "abs": _abs,
    "erfc": _erfc,
    "exp": Curved.exp,
    "expm1": _expm1,
    "log": Curved.log,
    "log1p": _log1p,
    "Phi": _phi,
    "sqrt": _sqrt,
}
