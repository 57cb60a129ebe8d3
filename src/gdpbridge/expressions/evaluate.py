"""The value of a tree on any kind of number: floats, balls and power series alike.

Logarithms are pushed towards the leaves wherever the parts are known to be non-negative, so that
a δ far below the smallest float keeps its digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, ClassVar

from flint import arb

from gdpbridge.expressions.tree import Call, Name, Node, Number
from gdpbridge.numeric.decide import AccurateConstant
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, ball

__all__ = ["Evaluation", "constant_value", "is_non_negative"]

_HALF = Fraction(1, 2)
# a formula has far fewer; each holds one ball
_CONSTANTS = 4096
_SIGNS: dict[int, tuple[Node, bool]] = {}


def is_non_negative(node: Node) -> bool:
    """Whether a formula without piecewise is plainly ≥ 0 (or undefined) for every ε, δ ≥ 0."""
    # the same few trees are asked about at every place
    known = _SIGNS.get(id(node))
    if known is None or known[0] is not node:
        if len(_SIGNS) >= _CONSTANTS:
            _SIGNS.clear()
        known = _SIGNS[id(node)] = node, _is_non_negative(node)
    return known[1]


def _is_non_negative(node: Node) -> bool:
    match node:
        case Number(value):
            return value >= 0
        case Name(name):
            return name in ("eps", "delta", "pi")
        case Call("exp" | "sqrt" | "erfc" | "Phi" | "abs"):
            return True
        case Call("**", (base, Number(exponent))):
            even = exponent.denominator == 1 and exponent.numerator % 2 == 0
            return even or exponent.denominator != 1 or is_non_negative(base)
        case Call("**", (base, _)):
            return is_non_negative(base)
        case Call("max", parts):
            return any(is_non_negative(part) for part in parts)
        case Call("+" | "*" | "/" | "min" | "log1p" | "expm1", parts):
            return all(is_non_negative(part) for part in parts)
    return False


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of formulas without piecewise.

    Attributes:
        ops: the kind of number.
        values: the value of each name.
        logs: logarithms of names whose logarithm is what is known.
    """

    ops: Operations
    values: Mapping[str, Any]
    logs: Mapping[str, Any] = field(default_factory=dict)
    keeps_constants: ClassVar[bool] = True
    """Whether constant parts are as accurate as the precision in force, however much cancels."""

    def value(self, node: Node) -> Any:
        """Return the value of a formula; not a number where it is undefined."""
        ops = self.ops
        match node:
            case Number(value):
                return ops.constant(value)
            case Call() if node.is_constant and self.keeps_constants:
                return ops.constant(constant_value(node))
            case Name(name):
                return self.values[name] if name in self.values else ops.exp(self.logs[name])
            case Call("neg", (inner,)):
                return -self.value(inner)
            case Call("+", (left, right)):
                return self.value(left) + self.value(right)
            case Call("-", (left, right)):
                return self.value(left) - self.value(right)
            case Call("*", (left, right)):
                return self.value(left) * self.value(right)
            case Call("/", (left, right)):
                return ops.divide(self.value(left), self.value(right))
            case Call("**", (base, Number(exponent))):
                if exponent == _HALF:
                    return ops.sqrt(self.value(base))
                return ops.power(self.value(base), exponent)
            case Call("**", (base, exponent)):
                return ops.exp(self.value(exponent) * self.log(base))
            case Call("Phi", (inner,)):
                return ops.erfc(self._for_erfc(inner)) * ops.constant(_HALF)
            case Call("abs", (inner,)):
                return ops.absolute(self.value(inner))
            case Call("log", (inner,)):
                return self.log(inner)
            case Call("min", parts):
                return reduce(ops.minimum, [self.value(part) for part in parts])
            case Call("max", parts):
                return -reduce(ops.minimum, [-self.value(part) for part in parts])
            case Call("exp" | "log1p" | "expm1" | "sqrt" | "erfc" | "lgamma" as function, (inner,)):
                return getattr(ops, function)(self.value(inner))
        raise TypeError(f"not resolved: {node}")

    def log(self, node: Node) -> Any:
        """Return the logarithm of a formula, without leaving the range of floats on the way."""
        value = self._log(node)
        # a part that may be 0 has no logarithm, though the whole has
        return self.ops.log(self.value(node)) if self._is_lost(value) else value

    def _is_lost(self, value: Any) -> bool:
        return self.ops is not FLOATS and _is_nan(value)

    def _log(self, node: Node) -> Any:
        ops = self.ops
        match node:
            case Number(value) if value > 0:
                return ops.constant(lambda: ball(value).log())
            case Call() if node.is_constant and self.keeps_constants:
                return ops.constant(constant_value(Call("log", (node,))))
            case Name(name) if name in self.logs:
                return self.logs[name]
            case Call("exp", (inner,)):
                return self.value(inner)
            case Call("sqrt", (inner,)):
                return self.log(inner) * ops.constant(_HALF)
            case Call("**", (base, Number(exponent))) if is_non_negative(base):
                return self.log(base) * ops.constant(exponent)
            case Call("**", (base, exponent)) if is_non_negative(base):
                return self.value(exponent) * self.log(base)
            case Call("*", (left, right)) if is_non_negative(left) and is_non_negative(right):
                return self.log(left) + self.log(right)
            case Call("/", (left, right)) if is_non_negative(left) and is_non_negative(right):
                return self.log(left) - self.log(right)
            case Call("+", (left, right)) if is_non_negative(left) and is_non_negative(right):
                return ops.logaddexp(self.log(left), self.log(right))
            case Call("-", (left, right)) if is_non_negative(left) and is_non_negative(right):
                log = self.log(left)
                return log + ops.log1mexp(self.log(right) - log)
            case Call("erfc", (inner,)):
                return ops.log_erfc(self.value(inner))
            case Call("Phi", (inner,)):
                return ops.log_erfc(self._for_erfc(inner)) + ops.constant(_log_half)
            case Call("min", parts) if all(is_non_negative(part) for part in parts):
                return reduce(ops.minimum, [self.log(part) for part in parts])
            case Call("max", parts) if all(is_non_negative(part) for part in parts):
                return -reduce(ops.minimum, [-self.log(part) for part in parts])
        return ops.log(self.value(node))

    def _for_erfc(self, inner: Node) -> Any:
        """Return x with Φ(inner) = erfc(x)/2."""
        return -self.value(inner) * self.ops.constant(_root_half)


@lru_cache(maxsize=_CONSTANTS)
def constant_value(node: Node) -> AccurateConstant:
    """Return the value of a formula without names, as accurate as the precision in force."""
    is_log = isinstance(node, Call) and node.function == "log"
    return AccurateConstant(lambda: _Constants(BALLS, {}).value(node), is_log=is_log)


class _Constants(Evaluation):
    """Evaluation part by part, at the working precision."""

    keeps_constants = False


def _log_half() -> arb:
    return -arb(2).log()


def _root_half() -> arb:
    return (arb(1) / 2).sqrt()


def _is_nan(value: Any) -> bool:
    constant = value if isinstance(value, arb) else value[0]
    return bool(constant.is_nan())
