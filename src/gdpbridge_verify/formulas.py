"""A profile δ̂(ε) that is given as text, for the checker: a parser, and values, slopes and bounds.

The text says that the mechanism is (ε, δ̂(ε))-differentially private for every ε ≥ 0, in both orders
of each pair, or if it is exact, that δ̂ is its own profile. δ, the supremum over all of them, is
convex in t = e^ε; it is at most δ̂(ε), and for ε ≤ s at most what is on the line in t through the
points (-1, 1) and (e^s, δ̂(s)), as in tables.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.convex import ConvexCheck
from gdpbridge_verify.document import Evidence, Point
from gdpbridge_verify.jets import Jet
from gdpbridge_verify.kinds import decimal_parameter, parameters_of
from gdpbridge_verify.numbers import binary, exact
from gdpbridge_verify.profile import Decay, Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided

__all__ = ["FormulaCheck", "Node", "parsed"]

_COST_OF_NODE = 8.0
_MAX_DEPTH, _MAX_POWER, _MAX_TOKENS = 50, 200, 400
# how often a range is halved, on which δ̂ is proved to be above a line
_MAX_HALVINGS = 200
_SIGNS = {"−": "-", "·": "*", "×": "*", "⋅": "*", "÷": "/"}
_EPS, _DELTA = ("eps", "epsilon", "ε", "ϵ"), ("delta", "δ")
_TOKEN = re.compile(
    r"[ \t]*(?:([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?)"
    r"|([A-Za-z\u0370-\u03ff][A-Za-z0-9_]*)|(\*\*|[-+*/()=]))"
)
_FUNCTIONS = ("exp", "log", "log1p", "expm1", "sqrt")


@dataclass(frozen=True)
class Node:
    """An operation and what it is applied to; a number has a value, ``eps`` nothing."""

    name: str
    parts: tuple[Node, ...] = ()
    value: Fraction = Fraction(0)


# --- text ----------------------------------------------------------------------------------------


def parsed(text: str, known: dict[str, Fraction]) -> tuple[Node, bool]:
    """Return the right side of ``delta = …``, and whether it is of log δ.

    Raises:
        Malformed: for anything else.
    """
    try:
        return _Parser(text, known).equation()
    except (ValueError, RecursionError, OverflowError):
        raise Malformed("mechanism.text", text, "delta = …, or log_delta = …, of eps") from None


class _Parser:
    def __init__(self, text: str, known: dict[str, Fraction]) -> None:
        for sign, plain in _SIGNS.items():
            text = text.replace(sign, plain)
        self.tokens: list[str] = []
        self.known, self.place, self.depth, end = known, 0, 0, 0
        while end < len(text.rstrip()):
            found = _TOKEN.match(text, end)
            if found is None or len(self.tokens) > _MAX_TOKENS:
                raise ValueError
            self.tokens.append(found[0].strip())
            end = found.end()

    def next(self, *wanted: str) -> str:
        """Take a token if it is one of those that are wanted; "" if not."""
        if self.place < len(self.tokens) and self.tokens[self.place] in wanted:
            self.place += 1
            return self.tokens[self.place - 1]
        return ""

    def need(self, sign: str) -> None:
        """Take a token that must be there."""
        if not self.next(sign):
            raise ValueError(sign)

    def equation(self) -> tuple[Node, bool]:
        """Read all of it."""
        is_log = bool(self.next("log_delta"))
        if not is_log and not self.next(*_DELTA):
            self.need("log")
            self.need("(")
            if not self.next(*_DELTA):
                raise ValueError
            self.need(")")
            is_log = True
        self.need("=")
        found = self.sum()
        if self.place != len(self.tokens):
            raise ValueError
        return found, is_log

    def sum(self) -> Node:
        """Read terms."""
        found = self.product()
        while sign := self.next("+", "-"):
            found = Node(sign, (found, self.product()))
        return found

    def product(self) -> Node:
        """Read factors."""
        found = self.unary()
        while sign := self.next("*", "/"):
            found = Node(sign, (found, self.unary()))
        return found

    def unary(self) -> Node:
        """Read a factor: a minus sign binds less than a power."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError
        if self.next("-"):
            found = Node("-", (Node("number"), self.unary()))
        else:
            found = self.atom()
            if self.next("**"):
                found = Node("**", (found, self.unary()))
        self.depth -= 1
        return found

    def atom(self) -> Node:
        """Read a number, a name, a function or brackets."""
        if self.next("("):
            found = self.sum()
            self.need(")")
            return found
        token = self.tokens[self.place] if self.place < len(self.tokens) else ""
        self.place += 1
        if token in _FUNCTIONS:
            self.need("(")
            found = Node(token, (self.sum(),))
            self.need(")")
            return found
        if token in _EPS:
            return Node("eps")
        if token in self.known:
            return Node("number", value=self.known[token])
        return Node("number", value=Fraction(token))


def constant(node: Node) -> Fraction | None:
    """Return the number that a node of numbers and plain operations is, None for others."""
    if node.name == "number":
        return node.value
    if node.name not in "+-*/":
        return None
    left, right = map(constant, node.parts)
    if left is None or right is None:
        return None
    if node.name == "/":
        return left / right if right else None
    return left + right if node.name == "+" else left - right if node.name == "-" else left * right


# --- values and slopes ---------------------------------------------------------------------------


def jet_of(node: Node, eps: Jet) -> Jet:
    """Enclose a formula with its derivatives, at a point or on a range."""
    of = eps.value.of
    of.work.charge(_COST_OF_NODE)
    if node.name == "number":
        return Jet(of.exactly(node.value), of.exactly(0))
    if node.name == "eps":
        return eps
    first = jet_of(node.parts[0], eps)
    if node.name == "**":
        return _power(first, node.parts[1], eps)
    if node.name in _FUNCTIONS:
        function: Callable[[], Jet] = getattr(first, node.name)
        return function()
    second = jet_of(node.parts[1], eps)
    if node.name == "*":
        return first * second
    if node.name == "/":
        return _quotient(first, second)
    return first + second if node.name == "+" else first - second


def _quotient(first: Jet, second: Jet) -> Jet:
    found, of = first * second.inverse(), first.value.of
    if first.value > 0 and second.value.low == 0 and second.value.high > 0:
        # next to a pole
        least = of.down.div(first.value.low, second.value.high)
        return Jet(Interval(of, least, mpfr("inf")), found.slope)
    return found


def _power(base: Jet, exponent: Node, eps: Jet) -> Jet:
    times = constant(exponent)
    if times is None or times.denominator != 1 or abs(times) > _MAX_POWER:
        return (jet_of(exponent, eps) * base.log()).exp()
    found = Jet(base.value.of.exactly(1), base.slope * 0)
    for bit in bin(abs(int(times)))[2:]:
        found = found.square()
        found = found * base if bit == "1" else found
    return found if times >= 0 else found.inverse()


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
        if node.name in "+-":
            first, second = map(self.value, node.parts)
            return first.plus(second, 1 if node.name == "+" else -1)
        if node.name == "log":
            return self.log(node.parts[0])
        if node.name == "exp":
            return self._bounded(self.value(node.parts[0]))
        power = constant(node.parts[1]) if node.name == "**" else None
        if node.name == "*" or power == 2:
            first, second = self.value(node.parts[0]), self.value(node.parts[node.name == "*"])
            return self._product(first, second)
        number = constant(node.parts[1]) if node.name == "/" else None
        if number:
            return self.value(node.parts[0]).times(1 / self.of.exactly(number))
        raise Refused("evidence.tail_from", f"what {node.name} does far out is not known")

    def _product(self, one: _Far, two: _Far) -> _Far:
        if any(not (part.low == part.high == 0) for part in self._beyond(one, two)):
            raise Refused("evidence.tail_from", "it is of a degree above 2")
        square = one.square * two.rest + one.linear * two.linear + one.rest * two.square
        return _Far(square, one.linear * two.rest + one.rest * two.linear, one.rest * two.rest)

    @staticmethod
    def _beyond(one: _Far, two: _Far) -> tuple[Interval, ...]:
        linear = one.linear * two.square, one.square * two.linear
        return (*linear, one.square * two.square)

    def _bounded(self, power: _Far) -> _Far:
        """Enclose e^x: between 0 and its largest value, at T if x falls."""
        if not (power.square <= 0 and power.linear <= 0):
            raise Refused("evidence.tail_from", "an exponential may rise")
        top = (power.square * self.start.square() + power.linear * self.start + power.rest).exp()
        return _Far(self.zero, self.zero, Interval(self.of, mpfr(0), top.high))

    def log(self, node: Node) -> _Far:
        """Enclose the logarithm of a formula that is positive."""
        if node.name == "exp":
            return self.value(node.parts[0])
        if node.name in "*/":
            first, second = map(self.log, node.parts)
            return first.plus(second, 1 if node.name == "*" else -1)
        power = constant(node.parts[1]) if node.name == "**" else Fraction(1, 2)
        if node.name in ("**", "sqrt") and power is not None:
            return self.log(node.parts[0]).times(self.of.exactly(power))
        value = self.value(node)
        at_start = value.linear * self.start + value.rest
        if not (value.square.low == value.square.high == 0 and value.linear >= 0 and at_start > 0):
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
        own = {name: text for name, text in self.spec.items() if not name.startswith("set.")}
        text, exactly = own.pop("text", None), own.pop("exact", "false")
        parameters_of(own)
        if exactly not in ("true", "false"):
            raise Malformed("mechanism.exact", exactly, "true or false")
        self.nature_of_kind = "own" if exactly == "true" else "bound"
        self.formula, self.is_log = parsed(
            text or "",
            {
                name.removeprefix("set."): decimal_parameter(name, value)
                for name, value in self.spec.items()
                if name.startswith("set.")
            },
        )
        if self.evidence.tail_from is None:
            return Tail("nothing is said of the tail", square=None, known=False)
        return self._far_out(binary(self.evidence.tail_from))

    def _far_out(self, start: Fraction) -> Tail:
        if not start > 0:
            raise Malformed("evidence.tail_from", "0x0p+0", "a number > 0")
        far = _FarOut(start, self.arithmetic)
        log = far.value(self.formula) if self.is_log else far.log(self.formula)
        if not log.square < 0:
            raise Refused("evidence.tail_from", "δ does not fall like e^{-ε²}")
        if not (log.linear.is_bounded_below() and log.rest.is_bounded_below()):
            raise Refused("evidence.tail_from", "δ may fall faster than is known")
        # before it δ̂ must not vanish: δ would do so for good
        self._above("evidence.tail_from", Fraction(0), Fraction(0), start)
        decay = Decay(log.rest.ends()[1], start, exact(log.linear.high))
        return Tail.gaussian(1 / (-2 * log.square), decay)

    @cached_property
    def _touching(self) -> list[Fraction]:
        return [binary(one) for one in self.evidence.touching or ()]

    def value(self, eps: Jet) -> Jet:
        """Enclose δ̂."""
        found = jet_of(self.formula, eps)
        return found.exp() if self.is_log else found

    def _at(self, at: Fraction) -> Interval:
        """Enclose δ̂; where it is negative, δ is 0."""
        found = self.value(Jet.variable(self.arithmetic.exactly(at))).value
        zero = mpfr(0)
        return Interval(found.of, max(found.low, zero), max(found.high, zero))

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
        """Prove δ̂ > a - b·e^ε on [0, end], by halving where it cannot be seen at once."""
        stack = [(Fraction(0), end, 0)]
        while stack:
            low, high, halvings = stack.pop()
            if self._is_above(a, b, low, high):
                continue
            if halvings == _MAX_HALVINGS:
                raise Undecided(line)
            middle = (low + high) / 2
            stack += [(middle, high, halvings + 1), (low, middle, halvings + 1)]

    def _is_above(self, a: Fraction, b: Fraction, low: Fraction, high: Fraction) -> bool:
        exactly = self.arithmetic.exactly
        inside = [place for place in self._touching if low <= place <= high]
        centre = inside[0] if inside else (low + high) / 2

        def difference(eps: Jet) -> Jet:
            return (self.value(eps) + eps.exp().scaled(b)).minus(a)

        cell = difference(Jet.variable(self.arithmetic.between(low, high)))
        if cell.value > 0:
            return True
        point = difference(Jet.variable(exactly(centre))).value
        if point < 0:
            raise Refused("evidence.event", f"δ is smaller at ε = {float(centre):.12g}")
        away = self.arithmetic.between(low - centre, high - centre)
        return point + cell.slope * away > 0
