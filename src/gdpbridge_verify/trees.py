"""Formulas as text, for the checker: a parser, and equations that are solved for δ.

A trade-off, noise = g(ε, δ), says of a mechanism with that noise that it is (ε, δ)-DP for every
solution. Where δ stands once, it is undone what is done to it, by steps that each have one solution
and one only; where one would have none, the formula has no value or a negative one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from gdpbridge_verify.parameters import parameter
from gdpbridge_verify.refusal import Malformed

T = TypeVar("T")

_MAX_DEPTH, _MAX_TOKENS = 50, 400
_SIGNS = {"−": "-", "·": "*", "×": "*", "⋅": "*", "÷": "/", "≤": "<=", "≥": ">="}
_EPS, _DELTA = ("eps", "epsilon", "ε", "ϵ"), ("delta", "δ")
_TOKEN = re.compile(
    r"[ \t]*(?:([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?)"
    r"|([A-Za-z\u0370-\u03ff][A-Za-z0-9_]*)|(\*\*|<=|>=|[-+*/()=,<>]))"
)
_NAME = re.compile(r"[A-Za-z\u0370-\u03ff][A-Za-z0-9_]*")
_GREEK = {"σ": "sigma", "μ": "mu", "µ": "mu", "γ": "gamma"}
FUNCTIONS = ("exp", "log", "log1p", "expm1", "sqrt", "abs", "erfc", "Phi", "lgamma", "erf")
OF_SEVERAL = ("min", "max")
PIECEWISE = "piecewise"
COMPARISONS = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Node:
    """An operation and what it is applied to; a number has a value, names have nothing."""

    name: str
    parts: tuple[Node, ...] = ()
    value: Fraction = Fraction(0)


def parsed(text: str, known: dict[str, Fraction]) -> tuple[Node, bool]:
    """Return the right side of ``delta = …``, and whether it is of log δ."""
    return _read(text, known, Parser.formula, "delta = …, or log_delta = …, of eps")


def sides_of(text: str, known: dict[str, Fraction]) -> tuple[Node, Node]:
    """Return both sides of an equation of eps and delta."""
    return _read(text, known, Parser.equation, "an equation of eps and delta")


def _read(text: str, known: dict[str, Fraction], read: Callable[[Parser], T], allowed: str) -> T:
    try:
        parser = Parser(text, known)
        found = read(parser)
        if parser.place == len(parser.tokens):
            return found
    except (ValueError, RecursionError, OverflowError):
        pass
    raise Malformed("mechanism.text", text, allowed)


def decimal_parameter(name: str, text: str | None) -> Fraction:
    """Return a number of either sign that a formula has a name for."""
    sign, rest = (-1, text[1:]) if text and text.startswith("-") else (1, text)
    return sign * parameter(name, rest, (lambda _: True, "a number"))


class Parser:
    """Formulas of eps, by a grammar whose words are few."""

    # no parameters are called so
    words: tuple[str, ...] = (*FUNCTIONS, *OF_SEVERAL, PIECEWISE, *_EPS, *_DELTA)
    # whether formulas may have ranges
    with_ranges = True
    # whether they are evaluated at points alone
    at_points = False

    def __init__(self, text: str, known: dict[str, Fraction]) -> None:
        for sign, plain in _SIGNS.items():
            text = text.replace(sign, plain)
        # a name that is read as another one, as σ is as sigma, would be of no parameter
        taken = {*self.words, *_GREEK}
        if any(not _NAME.fullmatch(name) or name in taken for name in known):
            raise ValueError
        self.tokens: list[str] = []
        self.known, self.place, self.depth, end = known, 0, 0, 0
        self.with_delta = False
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

    def equation(self) -> tuple[Node, Node]:
        """Read what is equal; it may have delta in it."""
        self.with_delta = True
        left = self.sum()
        self.need("=")
        return left, self.sum()

    def formula(self) -> tuple[Node, bool]:
        """Read what delta or its logarithm is."""
        is_log = bool(self.next("log_delta"))
        if not is_log and not self.next(*_DELTA):
            self.need("log")
            self.need("(")
            if not self.next(*_DELTA):
                raise ValueError
            self.need(")")
            is_log = True
        self.need("=")
        return self.sum(), is_log

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
        if token in FUNCTIONS:
            self.need("(")
            inner = self.sum()
            self.need(")")
            return self.applied(token, inner)
        if token in OF_SEVERAL:
            self.need("(")
            found = self.sum()
            while self.next(","):
                found = Node(token, (found, self.sum()))
            self.need(")")
            return found
        if token == PIECEWISE and self.with_ranges:
            return self.piecewise()
        if token in _EPS:
            return Node("eps")
        if token in _DELTA and self.with_delta:
            return Node("delta")
        token = _GREEK.get(token, token)
        if token in self.known:
            return Node("number", value=self.known[token])
        return Node("number", value=Fraction(token))

    def applied(self, function: str, inner: Node) -> Node:
        """Return a function of a formula; of log Γ no slopes are known: it is of numbers."""
        if function == "lgamma" and not (self.at_points or is_number(inner)):
            raise ValueError(function)
        if function == "erf":
            return Node("-", (Node("number", value=Fraction(1)), Node("erfc", (inner,))))
        return Node(function, (inner,))

    def piecewise(self) -> Node:
        """Read values with conditions, and what is otherwise."""
        self.need("(")
        parts = [self.sum()]
        self.need(",")
        while True:
            left = self.sum()
            sign = self.next(*COMPARISONS)
            if not sign:
                raise ValueError
            condition = Node(sign, (left, self.sum()))
            self.need(",")
            # a value, or what is otherwise
            parts += [condition, self.sum()]
            if not self.next(","):
                break
        self.need(")")
        return Node(PIECEWISE, tuple(parts))


def is_number(node: Node) -> bool:
    """Whether a formula is free of variables."""
    return node.name not in ("eps", "delta", "x", PIECEWISE) and all(map(is_number, node.parts))


def constant(node: Node) -> Fraction | None:
    """Return the number that a node of numbers and plain operations is, None for others."""
    if node.name == "number":
        return node.value
    if node.name not in ("+", "-", "*", "/"):
        return None
    left, right = map(constant, node.parts)
    if left is None or right is None:
        return None
    if node.name == "/":
        return left / right if right else None
    return left + right if node.name == "+" else left - right if node.name == "-" else left * right


# --- an equation, solved for δ -------------------------------------------------------------------


def isolated(text: str, left: Node, right: Node) -> tuple[Node, bool]:
    """Solve an equation for δ; return the formula, and whether it is of log δ."""
    node, target = (left, right) if _has_delta(left) else (right, left)
    if _has_delta(left) != _has_delta(right):
        while node.name != "delta":
            if node == Node("log", (Node("delta"),)):
                return target, True
            step = _undone(node, target)
            if step is None:
                break
            node, target = step
        else:
            return target, False
    raise Malformed("mechanism.text", text, "an equation that can be undone to have delta alone")


_INVERSES = {"exp": "log", "log": "exp", "expm1": "log1p", "log1p": "expm1"}


def _undone(node: Node, target: Node) -> tuple[Node, Node] | None:
    """Return the part of a node with δ in it, and what it must be equal to."""
    inside = [part for part in node.parts if _has_delta(part)]
    if len(inside) != 1:
        return None
    part, name = inside[0], node.name
    if name in _INVERSES:
        return part, Node(_INVERSES[name], (target,))
    if name == "sqrt":
        # √x is never negative
        square = Node("**", (target, Node("number", value=Fraction(2))))
        return (part, square) if _is_positive(target) else None
    if len(node.parts) != 2:
        return None
    first = part is node.parts[0]
    other = node.parts[first]
    if name == "+":
        return part, Node("-", (target, other))
    if name == "-":
        return part, Node("+", (target, other)) if first else Node("-", (other, target))
    if name == "*":
        return part, Node("/", (target, other))
    if name == "/" and _is_factor(other):
        return part, Node("*", (target, other)) if first else Node("/", (other, target))
    power = constant(other) if name == "**" and first else None
    if power and part.name == "delta" and _is_positive(target):
        return part, Node("**", (target, Node("number", value=1 / power)))
    return None


def _has_delta(node: Node) -> bool:
    return node.name == "delta" or any(map(_has_delta, node.parts))


def _is_positive(node: Node) -> bool:
    """Whether a formula is above 0 for every ε > 0, wherever it has a value."""
    if node.name == "number":
        return node.value > 0
    if node.name == "**":
        return _is_positive(node.parts[0])
    if node.name in ("+", "*", "/", "sqrt"):
        return all(map(_is_positive, node.parts))
    return node.name in ("eps", "exp")


def _is_factor(node: Node) -> bool:
    """Whether a formula is of one sign, and not 0, for every ε > 0."""
    is_negative = node.name == "-" and constant(node.parts[0]) == 0
    return _is_positive(node.parts[1] if is_negative else node) or bool(constant(node))
