"""The tree of a formula: immutable, small, and free of any arithmetic but exact rationals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

__all__ = [
    "FUNCTIONS",
    "MAX_DEPTH",
    "MAX_NODES",
    "Call",
    "Condition",
    "Name",
    "Node",
    "Number",
    "Piecewise",
    "TooLargeError",
    "call",
    "calls",
    "constants_folded",
    "has_name",
    "names",
    "rebuilt",
    "size",
    "substituted",
    "text",
]

MAX_NODES = 1000
MAX_DEPTH = 100
# larger exponents make numbers that nothing below can hold
MAX_EXPONENT = 1000
MAX_BITS = 4096

# the least and the largest number of arguments
FUNCTIONS: dict[str, tuple[int, int]] = {
    "exp": (1, 1),
    "log": (1, 1),
    "log1p": (1, 1),
    "expm1": (1, 1),
    "sqrt": (1, 1),
    "erf": (1, 1),
    "erfc": (1, 1),
    "lgamma": (1, 1),
    "Phi": (1, 1),
    "abs": (1, 1),
    "min": (2, 20),
    "max": (2, 20),
}


class TooLargeError(Exception):
    """A constant, or the whole formula, beyond a stated limit; says which, as words after "be"."""


@dataclass(frozen=True, slots=True)
class Number:
    """A rational constant."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator ("+", "-", "*", "/", "**", "neg") or a function, and what it is applied to."""

    function: str
    arguments: tuple[Node, ...]
    is_constant: bool = field(init=False, compare=False, repr=False)
    """Whether it is free of names and conditions."""

    def __post_init__(self) -> None:
        constant = all(
            isinstance(part, Number) or (isinstance(part, Call) and part.is_constant)
            for part in self.arguments
        )
        object.__setattr__(self, "is_constant", constant)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison "<", "<=", ">" or ">=" of two formulas."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Piecewise:
    """The value of the first condition that holds, or ``otherwise``."""

    branches: tuple[tuple[Node, Condition], ...]
    otherwise: Node


Node = Number | Name | Call | Piecewise


def call(function: str, *arguments: Node) -> Node:
    """Return an operator or function applied to its arguments, rational constants folded.

    Raises:
        TooLargeError: if a constant grows beyond the limits.
    """
    values = [argument.value for argument in arguments if isinstance(argument, Number)]
    if function == "**" and isinstance(arguments[1], Number):
        _check_exponent(arguments[1].value)
    if len(values) < len(arguments):
        return Call(function, arguments)
    folded = _folded(function, values)
    if folded is None:
        return Call(function, arguments)
    if max(folded.numerator.bit_length(), folded.denominator.bit_length()) > MAX_BITS:
        raise TooLargeError(f"free of constants with more than {MAX_BITS} bits")
    return Number(folded)


def _check_exponent(value: Fraction) -> None:
    if abs(value) > MAX_EXPONENT:
        raise TooLargeError(f"free of constant exponents above {MAX_EXPONENT}")


def _folded(function: str, values: list[Fraction]) -> Fraction | None:
    first, last = values[0], values[-1]
    match function:
        case "neg":
            return -first
        case "+":
            return first + last
        case "-":
            return first - last
        case "*":
            return first * last
        case "/" if last:
            return first / last
        case "**" if last.denominator == 1 and (first or last > 0):
            bits = max(first.numerator.bit_length(), first.denominator.bit_length())
            if bits * abs(last) > 2 * MAX_BITS:
                raise TooLargeError(f"free of constants with more than {MAX_BITS} bits")
            return first ** int(last)
        case "abs":
            return abs(first)
        case "min":
            return min(values)
        case "max":
            return max(values)
    return None


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, Call):
        yield from node.arguments
    elif isinstance(node, Piecewise):
        for value, condition in node.branches:
            yield from (value, condition.left, condition.right)
        yield node.otherwise


def size(node: Node) -> tuple[int, int]:
    """Return the number of nodes and the depth, without recursion."""
    nodes, depth, stack = 0, 0, [(node, 1)]
    while stack:
        current, level = stack.pop()
        nodes, depth = nodes + 1, max(depth, level)
        stack.extend((child, level + 1) for child in _children(current))
    return nodes, depth


def names(node: Node) -> set[str]:
    """Return the names that a formula uses."""
    if isinstance(node, Name):
        return {node.name}
    return set().union(*(names(child) for child in _children(node)))


def calls(node: Node) -> set[str]:
    """Return the functions and operators that a formula uses."""
    own = {node.function} if isinstance(node, Call) else set()
    return own.union(*(calls(child) for child in _children(node)))


def has_name(node: Node, name: str) -> bool:
    """Whether a formula uses a name."""
    return name in names(node)


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a formula with ``change`` applied to the parts of its root."""
    if isinstance(node, Call):
        return call(node.function, *(change(argument) for argument in node.arguments))
    if isinstance(node, Piecewise):
        branches = tuple(
            (change(value), Condition(test.operator, change(test.left), change(test.right)))
            for value, test in node.branches
        )
        return Piecewise(branches, change(node.otherwise))
    return node


def substituted(node: Node, values: Mapping[str, Node]) -> Node:
    """Return a formula with names replaced, and rational constants folded.

    Raises:
        TooLargeError: if a constant grows beyond the limits.
    """
    if isinstance(node, Name):
        return values.get(node.name, node)
    return rebuilt(node, lambda part: substituted(part, values))


def constants_folded(node: Node) -> Node:
    """Return a formula with rational constants folded; raises as :func:`substituted` does."""
    return substituted(node, {})


_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}


def text(node: Node) -> str:
    """Return a formula as text that parses to the same tree."""
    return _text(node, 0)


def _text(node: Node, binding: int) -> str:
    match node:
        case Number(value):
            own, written = _number(value)
        case Name(name):
            own, written = 5, name
        case Call("neg", (inner,)):
            own, written = 3, f"-{_text(inner, 3)}"
        case Call("**", (base, exponent)):
            own, written = 4, f"{_text(base, 5)}**{_text(exponent, 3)}"
        case Call(function, (left, right)) if function in _BINDING:
            own = _BINDING[function]
            written = f"{_text(left, own)} {function} {_text(right, own + 1)}"
        case Call(function, arguments):
            own, written = 5, f"{function}({', '.join(_text(part, 0) for part in arguments)})"
        case Piecewise(branches, otherwise):
            parts = [
                f"{_text(value, 0)}, {_text(test.left, 0)} {test.operator} {_text(test.right, 0)}"
                for value, test in branches
            ]
            own, written = 5, f"piecewise({', '.join(parts)}, {_text(otherwise, 0)})"
    return written if own >= binding else f"({written})"


def _number(value: Fraction) -> tuple[int, str]:
    if value < 0:
        return 3, f"-{_number(-value)[1]}"
    if value.denominator == 1:
        return 5, str(value.numerator)
    return 2, f"{value.numerator}/{value.denominator}"
