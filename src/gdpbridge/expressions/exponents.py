"""Formulas that are a constant times e to the power of a polynomial with rational factors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gdpbridge.expressions.tree import Call, Name, Node, Number, names

__all__ = ["exponent_of"]

# powers of x by what they are multiplied with; without zeros
Polynomial = Mapping[int, Fraction]

_HIGHEST = 16


def exponent_of(node: Node, name: str) -> Polynomial | None:
    """Return the polynomial of a formula c·e^{polynomial}, without its constant term.

    Args:
        node: the formula.
        name: what the polynomial is of; all other names are constants.

    Returns:
        None for a formula that is not plainly of that form.
    """
    found = _exponent(node, name)
    return None if found is None else {power: c for power, c in found.items() if power and c}


def _exponent(node: Node, name: str) -> Polynomial | None:
    if name not in names(node):
        return {}
    match node:
        case Call("exp", (inner,)):
            return _polynomial(inner, name)
        case Call("*" | "/" as function, (left, right)):
            return _sum(_exponent(left, name), _exponent(right, name), 1 if function == "*" else -1)
        case Call("**", (base, Number(power))):
            return _scaled(_exponent(base, name), power)
    return None


def _polynomial(node: Node, name: str) -> Polynomial | None:
    match node:
        case Number(value):
            return {0: value}
        case Name(own) if own == name:
            return {1: Fraction(1)}
        case Call("neg", (inner,)):
            return _scaled(_polynomial(inner, name), Fraction(-1))
        case Call("+" | "-" as function, (left, right)):
            return _sum(
                _polynomial(left, name), _polynomial(right, name), 1 if function == "+" else -1
            )
        case Call("*", (left, right)):
            return _product(_polynomial(left, name), _polynomial(right, name))
        case Call("/", (left, Number(value))) if value:
            return _scaled(_polynomial(left, name), 1 / value)
        case Call("**", (base, Number(power))) if power.denominator == 1 and 0 <= power <= _HIGHEST:
            found: Polynomial | None = {0: Fraction(1)}
            for _ in range(int(power)):
                found = _product(found, _polynomial(base, name))
            return found
    return None


def _sum(first: Polynomial | None, second: Polynomial | None, sign: int) -> Polynomial | None:
    if first is None or second is None:
        return None
    return {
        power: first.get(power, Fraction(0)) + sign * second.get(power, Fraction(0))
        for power in {*first, *second}
    }


def _scaled(found: Polynomial | None, by: Fraction) -> Polynomial | None:
    return None if found is None else {power: by * c for power, c in found.items()}


def _product(first: Polynomial | None, second: Polynomial | None) -> Polynomial | None:
    if first is None or second is None or max(first, default=0) + max(second, default=0) > _HIGHEST:
        return None
    total: dict[int, Fraction] = {}
    for one, c in first.items():
        for other, d in second.items():
            total[one + other] = total.get(one + other, Fraction(0)) + c * d
    return total
