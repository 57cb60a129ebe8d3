"""A profile δ̂(ε) that is given as text, for the checker: values, slopes and bounds.

The text says that the mechanism is (ε, δ̂(ε))-differentially private for every ε ≥ 0, in both orders
of each pair, or if it is exact, that δ̂ is its own profile. δ, the supremum over all of them, is
convex in t = e^ε; it is at most δ̂(ε), and for ε ≤ s at most what is on the line in t through the
points (-1, 1) and (e^s, δ̂(s)), as in tables.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, exact
from gdpbridge_verify.convex import ConvexCheck
from gdpbridge_verify.convexity import BITS, can_be_own
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.parameters import apart, parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.ranges import Range, formulas_of, on_ranges
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.taylor import Taylor, coefficient
from gdpbridge_verify.trees import (
    OF_SEVERAL,
    PIECEWISE,
    Node,
    constant,
    decimal_parameter,
    isolated,
    parsed,
    sides_of,
)

# how often a range is halved, on which δ̂ is proved to be above a line
_MAX_HALVINGS = 200
# from which on it is asked whether both are lines
_MANY_CELLS = 400


def _line_of(a: Fraction, b: Fraction) -> Node:
    """Return a - b·e^ε."""
    rest = Node("*", (Node("number", value=b), Node("exp", (Node("eps"),))))
    return Node("-", (Node("number", value=a), rest))


# --- far out -------------------------------------------------------------------------------------


class _Far(NamedTuple):
    """What lies in square·ε² + linear·ε + rest for every ε from some place T on."""

    square: Interval
    linear: Interval
    rest: Interval

    def plus(self, other: _Far, sign: int = 1) -> _Far:
        """Return the sum, or the difference."""
        return _Far(*(one + two * sign for one, two in zip(self, other, strict=True)))

    def times(self, factor: Interval) -> _Far:
        """Return the product with a number."""
        return _Far(*(one * factor for one in self))


class _FarOut:
    """Formulas on [T, ∞)."""

    def __init__(self, start: Fraction, of: Arithmetic) -> None:
        self.of, self.start = of, of.exactly(start)
        self.zero = of.exactly(0)

    def value(self, node: Node) -> _Far:
        """Enclose a formula."""
        if node.name == "number":
            return _Far(self.zero, self.zero, self.of.exactly(node.value))
        if node.name == "eps":
            return _Far(self.zero, self.of.exactly(1), self.zero)
        if node.name in ("+", "-"):
            first, second = map(self.value, node.parts)
            return first.plus(second, 1 if node.name == "+" else -1)
        if node.name == "log":
            return self.log(node.parts[0])
        if node.name == "exp":
            return self._bounded(self.value(node.parts[0]))
        if node.name == "abs":
            found = self.value(node.parts[0])
            if found.square >= 0 and found.linear >= 0 and self._at_start(found) >= 0:
                return found
        power = constant(node.parts[1]) if node.name == "**" else None
        if node.name == "*" or power == 2:
            first, second = self.value(node.parts[0]), self.value(node.parts[node.name == "*"])
            return self._product(first, second)
        if node.name == "/":
            above, below = node.parts
            if number := constant(below):
                return self.value(above).times(1 / self.of.exactly(number))
            if below.name == "/" and (number := constant(below.parts[0])):
                # x/(a/b) is x·b/a where b is positive from T on
                found = self.value(below.parts[1])
                if self._is_positive(found):
                    product = self._product(self.value(above), found)
                    return product.times(1 / self.of.exactly(number))
        raise Refused("evidence.tail_from", f"what {node.name} does far out is not known")

    def _product(self, one: _Far, two: _Far) -> _Far:
        if any(not (part.low == part.high == 0) for part in self._beyond(one, two)):
            raise Refused("evidence.tail_from", "it is of a degree above 2")
        square = one.square * two.rest + one.linear * two.linear + one.rest * two.square
        return _Far(square, one.linear * two.rest + one.rest * two.linear, one.rest * two.rest)

    def _chosen(self, smaller: bool, one: _Far, two: _Far) -> _Far:
        """Return which of two is the smaller from T on, or the other one."""
        for first, second in ((one, two), (two, one)):
            above = first.plus(second, -1)
            steep = 2 * above.square * self.start + above.linear
            # it does not rise from what it is at T
            if above.square <= 0 and steep <= 0 and self._at_start(above) <= 0:
                return first if smaller else second
        raise Refused("evidence.tail_from", "which one is the smaller far out is not known")

    def _log_erfc(self, node: Node) -> _Far:
        """Enclose log erfc(x) for x ≥ 0: between -x² - log(√π·(x + 1)) and -x²."""
        value, half = self.value(node.parts[0]), self.of.exactly(1)
        if node.name == "Phi":
            # erfc(-x/√2)/2
            value, half = value.times(-1 / self.of.exactly(2).sqrt()), half / 2
        at_start = value.linear * self.start + value.rest
        is_line = value.square.low == value.square.high == 0
        if not (is_line and value.linear >= 0 and at_start >= 0):
            raise Refused("evidence.tail_from", "an error function far out is not known")
        square = self._product(value, value).times(self.of.exactly(-1))
        # log(x + 1) is at most its tangent at T
        top = at_start + 1
        least = -(self.of.pi.sqrt() * top).log()
        fall = Interval(self.of, (-value.linear / top).low, mpfr(0))
        rest = Interval(self.of, least.low, mpfr(0))
        return square.plus(_Far(self.zero, fall, rest + half.log()))

    @staticmethod
    def _beyond(one: _Far, two: _Far) -> tuple[Interval, ...]:
        linear = one.linear * two.square, one.square * two.linear
        return (*linear, one.square * two.square)

    def _bounded(self, power: _Far) -> _Far:
        """Enclose e^x: between 0 and its largest value, at T if x falls."""
        if not (power.square <= 0 and power.linear <= 0):
            raise Refused("evidence.tail_from", "an exponential may rise")
        top = self._at_start(power).exp()
        return _Far(self.zero, self.zero, Interval(self.of, mpfr(0), top.high))

    def _is_positive(self, far: _Far) -> bool:
        """Whether it is a line that does not fall, and is above 0."""
        is_line = far.square.low == far.square.high == 0
        return bool(is_line and far.linear >= 0 and self._at_start(far) > 0)

    def _at_start(self, far: _Far) -> Interval:
        return far.square * self.start.square() + far.linear * self.start + far.rest

    def log(self, node: Node) -> _Far:
        """Enclose the logarithm of a formula that is positive."""
        if node.name == "exp":
            return self.value(node.parts[0])
        if node.name in ("*", "/"):
            first, second = map(self.log, node.parts)
            return first.plus(second, 1 if node.name == "*" else -1)
        if node.name in OF_SEVERAL:
            return self._chosen(node.name == "min", *map(self.log, node.parts))
        if node.name in ("erfc", "Phi"):
            return self._log_erfc(node)
        power = constant(node.parts[1]) if node.name == "**" else Fraction(1, 2)
        if node.name in ("**", "sqrt") and power is not None:
            return self.log(node.parts[0]).times(self.of.exactly(power))
        value = self.value(node)
        at_start = value.linear * self.start + value.rest
        if not self._is_positive(value):
            raise Refused("evidence.tail_from", "a logarithm far out is not known")
        # log v ≤ log v(T) + v'·(ε - T)/v(T), and it does not fall
        slope = Interval(self.of, mpfr(0), (value.linear / at_start).high)
        return _Far(self.zero, slope, at_start.log())


# --- the lines -----------------------------------------------------------------------------------


class FormulaCheck(ConvexCheck):
    """The lines of a certificate of a formula, at one precision."""

    uses = frozenset({"touching", "event"})

    def build(self) -> Tail:
        """Read the text, and find how δ̂ falls far out if the tail is what is claimed."""
        own, given = apart(self.spec, "set.")
        text = own.pop("text", None) or ""
        self.is_solved = own["kind"] == "tradeoff"
        exactly = "false" if self.is_solved else own.pop("exact", "false")
        parameters_of(own)
        if exactly not in ("true", "false"):
            raise Malformed("mechanism.exact", exactly, "true or false")
        known = {name: decimal_parameter(f"set.{name}", given[name]) for name in given}
        self._ranges = self._read(text, known)
        of, one = Arithmetic(BITS, self.arithmetic.work), self._ranges[-1]
        is_own = (
            exactly == "true"
            and len(self._ranges) == 1
            and can_be_own(one.formula, of, is_log=one.is_log) is True
        )
        # what is not proved to be any mechanism's δ is at most a bound of one
        self.nature_of_kind = "own" if is_own else "bound"
        if self.evidence.tail_from is None:
            return Tail("nothing is said of the tail", square=None, known=False)
        return self._far_out(binary(self.evidence.tail_from))

    def _read(self, text: str, known: dict[str, Fraction]) -> list[Range]:
        """Return the formula on each of its ranges."""
        if self.is_solved:
            sides, is_log = Node("=", sides_of(text, known)), False
        else:
            sides, is_log = parsed(text, known)
        found = []
        parts = [((Fraction(0), Fraction(0)), sides)]
        if PIECEWISE in text:
            parts = formulas_of(sides, self.arithmetic)
        for (low, high), node in parts:
            formula, of_log = isolated(text, *node.parts) if self.is_solved else (node, is_log)
            found.append(Range(low, high, formula, of_log))
        return found

    def _far_out(self, start: Fraction) -> Tail:
        last = self._ranges[-1]
        if not start > last.high:
            allowed = "a number > 0, from where one formula holds"
            raise Malformed("evidence.tail_from", about(start), allowed)
        if not (last.is_log or self.is_solved) and self._value(last, start) <= 0:
            return Tail.ends(start)
        far = _FarOut(start, self.arithmetic)
        log = far.value(last.formula) if last.is_log else far.log(last.formula)
        if not log.square < 0:
            raise Refused("evidence.tail_from", "δ does not fall like e^{-ε²}")
        if not (min(log.linear.low, log.rest.low).is_finite()):
            raise Refused("evidence.tail_from", "δ may fall faster than is known")
        # before it δ̂ must not vanish: δ would do so for good
        self._above("evidence.tail_from", Fraction(0), Fraction(0), start)
        decay = Decay(log.rest.ends()[1], start, exact(log.linear.high))
        return Tail.gaussian(1 / (-2 * log.square), decay)

    @cached_property
    def _touching(self) -> list[Fraction]:
        return [binary(one) for one in self.evidence.touching or ()]

    @cached_property
    def _values(self) -> Taylor:
        return Taylor(self.arithmetic, 0)

    @cached_property
    def _slopes(self) -> Taylor:
        return Taylor(self.arithmetic, 1)

    def _value(self, one: Range, at: Fraction) -> Interval:
        return self._values.about(one.delta, self.arithmetic.exactly(at))[0]

    def _at(self, at: Fraction) -> Interval:
        """Enclose δ̂; where two ranges may meet, either formula."""
        found = [self._on(one, at) for one in on_ranges(self._ranges, at, at)]
        return Interval(
            self.arithmetic, min(one.low for one in found), max(one.high for one in found)
        )

    def _on(self, one: Range, at: Fraction) -> Interval:
        """Enclose δ̂; where a formula is negative, δ is 0; of a trade-off it is no solution."""
        found = self._value(one, at)
        if self.is_solved and not found > 0:
            if found <= 0:
                raise Refused("mechanism.text", f"it has no solution at ε = {about(at)}")
            raise Undecided("mechanism.text")
        return found.positive()

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Of a mechanism's own profile no event is needed."""
        if self.nature_of_kind == "own":
            return self._at(at) - wanted.value
        return super().excess(at, wanted, proof)

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare δ̂, or the line through (-1, 1) that touches it farther out."""
        point = self.arithmetic.exactly(at)
        for end in self._touching:
            if end >= at:
                share = (1 + point.exp()) / (1 + self.arithmetic.exactly(end).exp())
                if level.complement <= share * (1 - self._at(end)):
                    return
        self.hold(line, level.value - self._at(at))

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Prove that p - e^ε·q ≤ δ̂(ε), and so for the other order of the pair."""
        if not 0 < q <= p < 1:
            raise Malformed(line, "out of range", "two probabilities between 0 and 1")
        for a, b in ((p, q), (1 - q, 1 - p)):
            top = (self.arithmetic.exactly(a) / self.arithmetic.exactly(b)).log()
            self._above(line, a, b, max(exact(top.high), Fraction(0)))

    def _above(self, line: str, a: Fraction, b: Fraction, end: Fraction) -> None:
        """Prove δ̂ > a - b·e^ε on [0, end], for each formula where it may apply."""
        ends = [*(one.high for one in self._ranges[1:]), end]
        for one, most in zip(self._ranges, ends, strict=True):
            if one.low <= end:
                self._above_on(one, line, a, b, min(most, end))

    def _above_on(self, one: Range, line: str, a: Fraction, b: Fraction, end: Fraction) -> None:
        """Prove it up to an end, by halving where it cannot be seen at once."""
        stack, tried = [(one.low, end, 0)], 0
        while stack:
            low, high, halvings = stack.pop()
            tried += 1
            if self._is_above(one, a, b, low, high):
                continue
            if tried > _MANY_CELLS and self._is_line_above(one, a, b, (low, high)):
                continue
            if halvings == _MAX_HALVINGS:
                raise Undecided(line)
            middle = (low + high) / 2
            stack += [(middle, high, halvings + 1), (low, middle, halvings + 1)]

    def _is_line_above(
        self, one: Range, a: Fraction, b: Fraction, ends: tuple[Fraction, Fraction]
    ) -> bool:
        """Whether δ̂ is a line in e^ε, so that the difference is, and is above 0 at both ends."""
        from gdpbridge_verify.straight import line_below

        straight = None if one.is_log else line_below(one.formula)
        if straight is None:
            return False
        difference, taylor = Node("-", (straight, _line_of(a, b))), Taylor(self.arithmetic, 0)
        return all(taylor.about(difference, self.arithmetic.exactly(at))[0] > 0 for at in ends)

    def _is_above(
        self, one: Range, a: Fraction, b: Fraction, low: Fraction, high: Fraction
    ) -> bool:
        exactly = self.arithmetic.exactly
        inside = [place for place in self._touching if low <= place <= high]
        centre = inside[0] if inside else (low + high) / 2
        difference = Node("-", (one.delta, _line_of(a, b)))
        cell = self._slopes.about(difference, self.arithmetic.between(low, high))
        if cell[0] > 0:
            return True
        point = self._values.about(difference, exactly(centre))[0]
        if point < 0:
            raise Refused("evidence.event", f"δ is smaller at ε = {about(centre)}")
        away = self.arithmetic.between(low - centre, high - centre)
        return point + coefficient(cell, 1) * away > 0
