"""Which way a formula goes, read off its tree: a proof of monotony without any cells.

Sums, products and compositions of monotone parts are monotone where their directions and signs
fit. Nothing is assumed of derivatives, so that kinks and infinite slopes do no harm. A part that
becomes infinite counts as such: 1/ε falls on [0, ∞) from +∞.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import Call, Name, Node, Number, names
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS

__all__ = ["Shape", "shape_of"]


@dataclass(frozen=True)
class Shape:
    """What is certain of a formula on a range.

    Attributes:
        trend: 0 constant, 1 non-decreasing, -1 non-increasing, None unknown.
        sign: 1 for ≥ 0, -1 for ≤ 0, None unknown.
    """

    trend: int | None
    sign: int | None

    def flipped(self) -> Shape:
        """The shape of minus the formula."""
        return Shape(_times(self.trend, -1), _times(self.sign, -1))

    def inverse(self) -> Shape:
        """The shape of one divided by the formula."""
        return Shape(None if self.sign is None else _times(self.trend, -1), self.sign)


_UNKNOWN = Shape(None, None)
_INCREASING = {"exp": 1, "sqrt": 1, "erfc": -1, "Phi": 1, "log": 1, "log1p": 1, "expm1": 1}
_NON_NEGATIVE = {"exp", "sqrt", "erfc", "Phi"}
_KEEPS_SIGN = {"log1p", "expm1"}


def shape_of(node: Node, low: arb, high: arb | None) -> Shape:
    """Return the shape of a formula of eps, without piecewise, for eps in [low, high] or [low, ∞).

    Args:
        node: the formula.
        low: the exact lower end, ≥ 0.
        high: the exact upper end; None for infinity.
    """
    shape = _of_parts(node, low, high)
    if shape.sign is not None or shape.trend is None:
        return shape
    return Shape(shape.trend, _sign_at_ends(node, shape.trend, low, high))


def _sign_at_ends(node: Node, trend: int, low: arb, high: arb | None) -> int | None:
    """Tell the sign of a monotone formula from its values at the ends of the range."""
    least, most = (low, high) if trend >= 0 else (high, low)
    if trend == 0:
        least = most = low
    if least is not None and certainly(_at(node, least) >= 0):
        return 1
    if most is not None and certainly(_at(node, most) <= 0):
        return -1
    return None


def _at(node: Node, eps: arb) -> arb:
    value: arb = Evaluation(BALLS, {"eps": eps}).value(node)
    return value


def _of_parts(node: Node, low: arb, high: arb | None) -> Shape:
    if not names(node):
        return Shape(0, None)
    match node:
        case Name("eps"):
            return Shape(1, 1)
        case Call("**", (base, exponent)) if not names(exponent):
            return _power(shape_of(base, low, high), exponent)
        case Call("**", (base, exponent)):
            # b^x = e^(x log b), and log b rises with b where it is defined
            log = Call("log", (base,))
            return Shape(shape_of(Call("*", (exponent, log)), low, high).trend, 1)
        case Call(function, arguments):
            shapes = [shape_of(argument, low, high) for argument in arguments]
            return _applied(function, shapes)
    return _UNKNOWN


def _applied(function: str, shapes: list[Shape]) -> Shape:
    first, last = shapes[0], shapes[-1]
    match function:
        case "neg":
            return first.flipped()
        case "+":
            return _sum(first, last)
        case "-":
            return _sum(first, last.flipped())
        case "*":
            return _product(first, last)
        case "/":
            return _product(first, last.inverse())
        case "abs":
            return Shape(_times(first.trend, first.sign), 1)
        case "min" | "max":
            signs = {shape.sign for shape in shapes}
            certain = 1 if function == "max" else -1
            sign = signs.pop() if len(signs) == 1 else (certain if certain in signs else None)
            return Shape(_common([shape.trend for shape in shapes]), sign)
    if function == "lgamma" or (function in ("log", "sqrt", "log1p") and first.sign != 1):
        return _UNKNOWN  # it falls and rises, or may be undefined
    sign = 1 if function in _NON_NEGATIVE else first.sign if function in _KEEPS_SIGN else None
    return Shape(_times(first.trend, _INCREASING[function]), sign)


def _sum(left: Shape, right: Shape) -> Shape:
    return Shape(_common([left.trend, right.trend]), left.sign if left.sign == right.sign else None)


def _product(left: Shape, right: Shape) -> Shape:
    if left.trend == 0 or right.trend == 0:
        factor, other = (left, right) if left.trend == 0 else (right, left)
        return Shape(_times(other.trend, factor.sign), _times(other.sign, factor.sign))
    if left.sign is None or right.sign is None:
        return _UNKNOWN
    sign = left.sign * right.sign
    # |f g| follows |f| and |g|
    size = _common([_times(left.trend, left.sign), _times(right.trend, right.sign)])
    return Shape(_times(size, sign), sign)


def _power(base: Shape, exponent: Node) -> Shape:
    power = shape_of(exponent, arb(0), None).sign
    if isinstance(exponent, Number) and exponent.value.denominator == 1:
        odd = exponent.value.numerator % 2
        if base.sign is None:
            # an odd positive power rises everywhere
            return (
                Shape(base.trend, None) if odd and power == 1 else Shape(None, None if odd else 1)
            )
        size = _times(base.trend, base.sign)
        sign = base.sign if odd else 1
        return Shape(_times(_times(size, power), sign), sign)
    if base.sign != 1:
        return _UNKNOWN
    return Shape(_times(base.trend, power), 1)


def _times(trend: int | None, factor: int | None) -> int | None:
    if trend == 0:
        return 0
    return None if trend is None or factor is None else trend * factor


def _common(trends: list[int | None]) -> int | None:
    moving = set(trends) - {0}
    if not moving:
        return 0
    return moving.pop() if len(moving) == 1 else None
