"""Formulas for sympy, an optional extra: made from our tree, never from text.

Symbolic limits may take for ever, so that they are computed in a process of their own, which is
ended after a few seconds.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from functools import reduce
from typing import Any

from gdpbridge.errors import MissingExtraError
from gdpbridge.expressions.child import run_isolated
from gdpbridge.expressions.parse import parse_expression
from gdpbridge.expressions.tree import Call, Name, Node, Number, Piecewise, text

__all__ = ["tail_limit", "to_sympy"]

_SECONDS = 4


def tail_limit(tree: Node, is_log: bool) -> float | None:
    """Return the limit of ε/√(-2 log δ) for ε → ∞, or None if it was not found.

    Args:
        tree: a formula of δ, or of log δ, in eps alone.
        is_log: which of the two.

    Raises:
        MissingExtraError: if sympy is not installed.
    """
    if importlib.util.find_spec("sympy") is None:
        raise MissingExtraError("symbolic", "a symbolic limit")
    try:
        limit = float(
            run_isolated(__name__, ["log" if is_log else "value"], text(tree), seconds=_SECONDS)
        )
    except (subprocess.SubprocessError, OSError, ValueError):
        return None
    return None if math.isnan(limit) or limit < 0 else limit


def to_sympy(node: Node) -> Any:
    """Return a formula as a sympy expression in positive symbols.

    Raises:
        MissingExtraError: if sympy is not installed.
    """
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("symbolic", "a symbolic formula") from None
    return _Translation(sympy).of(node)


class _Translation:
    def __init__(self, sympy: Any) -> None:
        self.sympy = sympy

    def of(self, node: Node) -> Any:
        sympy = self.sympy
        match node:
            case Number(value):
                return sympy.Rational(value.numerator, value.denominator)
            case Name(name):
                return sympy.Symbol(name, positive=True)
            case Piecewise(branches, otherwise):
                pairs = [(self.of(value), self._condition(test)) for value, test in branches]
                return sympy.Piecewise(*pairs, (self.of(otherwise), True))
            case Call(function, arguments):
                return self._applied(function, [self.of(part) for part in arguments])
        raise TypeError(node)

    def _condition(self, test: Any) -> Any:
        relation = {"<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge"}[test.operator]
        return getattr(self.sympy, relation)(self.of(test.left), self.of(test.right))

    def _applied(self, function: str, parts: list[Any]) -> Any:
        sympy = self.sympy
        first, last = parts[0], parts[-1]
        match function:
            case "neg":
                return -first
            case "+":
                return first + last
            case "-":
                return first - last
            case "*":
                return first * last
            case "/":
                return first / last
            case "**":
                return first**last
            case "log1p":
                return sympy.log(1 + first)
            case "expm1":
                return sympy.exp(first) - 1
            case "lgamma":
                return sympy.loggamma(first)
            case "Phi":
                return sympy.erfc(-first / sympy.sqrt(2)) / 2
            case "abs":
                return sympy.Abs(first)
            case "min" | "max":
                return reduce(sympy.Min if function == "min" else sympy.Max, parts)
        return getattr(sympy, function)(first)


def main() -> None:
    """Print the limit for the formula on standard input; run in a process of its own."""
    import sympy

    expression = to_sympy(parse_expression(sys.stdin.read(), "formula"))
    eps = sympy.Symbol("eps", positive=True)
    log = expression if sys.argv[1] == "log" else sympy.log(expression)
    squared = sympy.limit(eps**2 / (-2 * log), eps, sympy.oo)
    value = math.inf if squared is sympy.oo else math.sqrt(float(squared))
    sys.stdout.write(f"{value!r}\n")
