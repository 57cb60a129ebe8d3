"""From text to a tree, by a strict grammar and within stated limits.

The parser keeps its own stack, and every limit is checked before anything is evaluated, so that
no text can make it recurse, hang or eat memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import InputError
from gdpbridge.expressions.tree import (
    FUNCTIONS,
    MAX_DEPTH,
    MAX_NODES,
    Call,
    Condition,
    Name,
    Node,
    Number,
    Piecewise,
    size,
)

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["MAX_LENGTH", "SPELLINGS", "Equation", "parse_equation", "parse_expression"]

MAX_LENGTH = 2000
MAX_DIGITS = 100
MAX_POWER_OF_TEN = 400

_GRAMMAR = r"""
equation: sum "=" sum
expression: sum
?sum: product | sum PLUS product | sum MINUS product
?product: unary | product TIMES unary | product OVER unary
?unary: power | MINUS unary
?power: atom | atom POWER unary
?atom: NUMBER | NAME | NAME "(" _arguments ")" -> application | "(" sum ")"
_arguments: argument ("," argument)*
?argument: sum | sum COMPARISON sum -> condition

PLUS: "+"
MINUS: "-" | "−"
TIMES: "*" | "·" | "×" | "⋅"
OVER: "/" | "÷"
POWER: "**"
COMPARISON: "<=" | ">=" | "<" | ">" | "≤" | "≥"
NUMBER: /([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/
NAME: /[A-Za-z\u0370-\u03ff][A-Za-z0-9_\u0370-\u03ff\u2080-\u2089]*/
%ignore /[ \t]+/
"""

_WORDS = {
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "OVER": "/",
    "POWER": "**",
    "COMPARISON": "< or >",
    "NUMBER": "a number",
    "NAME": "a name",
    "LPAR": "an opening bracket",
    "RPAR": "a closing bracket",
    "COMMA": "a comma",
    "EQUAL": "=",
    "$END": "the end",
}
_OPERATORS = {"PLUS": "+", "MINUS": "-", "TIMES": "*", "OVER": "/", "POWER": "**"}
_COMPARISONS = {"≤": "<=", "≥": ">="}
# other spellings of names; a micro sign is what keyboards give for mu
SPELLINGS = {
    "ε": "eps", "ϵ": "eps", "δ": "delta", "σ": "sigma", "μ": "mu", "\u00b5": "mu", "γ": "gamma",
    "epsilon": "eps",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Equation:
    """Two formulas that are equal."""

    left: Node
    right: Node


def parse_equation(text: str, field: str) -> Equation:
    """Parse ``left = right``.

    Args:
        text: the equation.
        field: the name of the argument, for errors.

    Raises:
        InputError: if it is not an equation, with the column, or beyond a stated limit.
    """
    left, right = _parse(text, field, "equation").children
    return Equation(left, right)


def parse_expression(text: str, field: str) -> Node:
    """Parse one formula; arguments and errors as for :func:`parse_equation`."""
    node: Node = _parse(text, field, "expression").children[0]
    return node


@cache
def _lark() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", start=["equation", "expression"], maybe_placeholders=False)


def _parse(text: str, field: str, start: str) -> Any:
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    if not isinstance(text, str):
        raise InputError(field, text, "a formula as text")
    if len(text) > MAX_LENGTH:
        raise InputError(field, text, f"a formula of at most {MAX_LENGTH} characters")
    shown = text.replace("\u00b5", "μ")
    _refuse_deep_brackets(text, field)
    try:
        tree = _lark().parse(shown, start=start)
    except UnexpectedCharacters as error:
        found = repr(shown[error.column - 1])
        power = "; a power is written **" if shown[error.column - 1] in "^²³" else ""
        said = f"{found} is not part of any formula{power}"
        raise _at(text, field, error.column, said) from None
    except UnexpectedToken as error:
        at_end = error.token.type == "$END"
        column = len(text) + 1 if at_end else int(error.column)
        parser: Any = error.interactive_parser
        expected = _expected(parser.accepts())
        raise _at(text, field, column, f"expected {expected}") from None
    except UnexpectedInput:
        raise InputError(field, text, "a formula") from None
    return _Builder(text, field).built(tree)


def _refuse_deep_brackets(text: str, field: str) -> None:
    depth = 0
    for column, character in enumerate(text, 1):
        depth += (character == "(") - (character == ")")
        if depth > MAX_DEPTH:
            raise _at(text, field, column, f"more than {MAX_DEPTH} brackets inside one another")


def _expected(accepted: set[str]) -> str:
    order = list(_WORDS)
    words = [_WORDS[name] for name in sorted(accepted, key=order.index)]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _at(text: str, field: str, column: int, problem: str) -> InputError:
    return InputError(field, text, f"a formula (at column {column}: {problem})")


class _Builder:
    """Makes our tree of the parser's, from the leaves up and without recursion."""

    def __init__(self, text: str, field: str) -> None:
        self._text, self._field = text, field

    def built(self, tree: Any) -> Any:
        """Return the parser's root with our nodes as its children."""
        # children come before parents in this order
        for subtree in tree.iter_subtrees():
            subtree.children = [self._node(child) for child in subtree.children]
        tree.children = [self._value(child) for child in tree.children]
        for node in tree.children:
            nodes, depth = size(node)
            if depth > MAX_DEPTH:
                raise InputError(
                    self._field,
                    self._text,
                    f"a formula of at most {MAX_DEPTH} operations inside one another",
                )
            if nodes > MAX_NODES:
                raise InputError(self._field, self._text, f"a formula of at most {MAX_NODES} terms")
        return tree

    def _node(self, child: Any) -> Any:
        if hasattr(child, "children"):
            return self._of_rule(child)
        if child.type == "NUMBER":
            return self._number(child)
        # names stay tokens until it is known whether they are applied
        return child

    def _of_rule(self, rule: Any) -> Node | Condition:
        kind, parts = str(rule.data), rule.children
        if kind == "application":
            return self._application(parts[0], [self._value(part) for part in parts[1:]])
        values = [part if _is_operator(part) else self._value(part) for part in parts]
        if kind == "condition":
            left, operator, right = values
            return Condition(_COMPARISONS.get(str(operator), str(operator)), left, right)
        if len(values) == 2:
            return Call("neg", (values[1],))
        return Call(_OPERATORS[values[1].type], (values[0], values[2]))

    def _value(self, part: Any) -> Any:
        if getattr(part, "type", None) != "NAME":
            return part
        name = SPELLINGS.get(str(part), str(part))
        if name in FUNCTIONS or name == "piecewise":
            raise self._problem(part, f"{name} is a function: expected ( after it")
        return Name(name)

    def _application(self, token: Any, arguments: list[Any]) -> Node:
        name = str(token)
        if name == "piecewise":
            return self._piecewise(token, arguments)
        if name not in FUNCTIONS:
            known = ", ".join([*FUNCTIONS, "piecewise"])
            raise self._problem(token, f"{name} is not a function, expected one of {known}")
        if any(isinstance(argument, Condition) for argument in arguments):
            raise self._problem(token, f"a comparison stands in {name}, expected only in piecewise")
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise self._problem(token, f"{name} has {len(arguments)} arguments, expected {wanted}")
        if name == "erf":
            return Call("-", (Number(Fraction(1)), Call("erfc", tuple(arguments))))
        return Call(name, tuple(arguments))

    def _piecewise(self, token: Any, arguments: list[Any]) -> Node:
        values, tests = arguments[0:-1:2], arguments[1::2]
        regular = (
            len(arguments) >= 3
            and len(values) == len(tests)
            and all(isinstance(test, Condition) for test in tests)
            and not any(isinstance(value, Condition) for value in [*values, arguments[-1]])
        )
        if not regular:
            form = "piecewise(value, condition, ..., otherwise)"
            raise self._problem(token, f"piecewise is incomplete, expected {form}")
        return Piecewise(tuple(zip(values, tests, strict=True)), arguments[-1])

    def _number(self, token: Any) -> Number:
        if len(token) > MAX_DIGITS:
            raise self._problem(token, f"a number longer than {MAX_DIGITS} characters")
        number = Decimal(str(token))
        if abs(number.adjusted()) > MAX_POWER_OF_TEN:
            raise self._problem(token, f"a number beyond 1e±{MAX_POWER_OF_TEN}")
        return Number(Fraction(number))

    def _problem(self, token: Any, problem: str) -> InputError:
        return _at(self._text, self._field, int(token.column), problem)


def _is_operator(part: Any) -> bool:
    return getattr(part, "type", None) in (*_OPERATORS, "COMPARISON")
