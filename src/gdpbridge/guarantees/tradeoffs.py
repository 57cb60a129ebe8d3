"""Trade-off functions as formulas and as functions: corners of a convex function below them.

On a cell of α where β is convex, its tangent at the middle lies below; elsewhere two lines do, with
the least and the greatest slope. Cells are halved until what is lost is a thousandth of the δ that
the tangent stands for. A β(0) and a β(1) within 10⁻³⁰ of 1 and 0 are taken to be 1 and 0, and β is
taken to fall between 0 and 2⁻¹⁰⁰, where a formula as √α tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.corners import Corner, lower_hull
from gdpbridge.errors import Advice, InputError, UndecidedError
from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.parse import parse_equation
from gdpbridge.expressions.tree import Name, Node, names
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import SERIES, ball, to_fraction

__all__ = ["corners_of_formula", "corners_of_function"]

_BITS = 192
_LOST = arb(2) ** -12
_MOST_CELLS = 40_000
_SAME = arb(2) ** -100
# a δ that is of no use
_UNSEEN = arb(2) ** -60
# of α, and of 1 - α, at either end
_LEAST = Fraction(1, 2**100)
_SAMPLES = 2000
_FIRST = 1e-15
# of β, what rounding may take from convexity
_SLACK = 1e-9


def corners_of_formula(text: str, field: str) -> list[Corner]:
    """Return corners of a convex function below β(α), proved.

    Args:
        text: "beta = …", a formula of alpha.
        field: the parameter, for errors.

    Raises:
        InputError: for a text that is no such formula, or a β that is not in [0, 1 - α].
        UndecidedError: for a formula that could not be followed in a bounded number of cells.
    """
    equation = parse_equation(text, field)
    node = equation.right
    if equation.left != Name("beta") or "piecewise" in text or names(node) - {"alpha", "pi"}:
        allowed = "beta = ..., with a formula of alpha (min and max may be used)"
        raise InputError(field, text, allowed)
    with precision(_BITS):
        least = ball(_LEAST)
        found = [*_at_end(node, arb(0), least), *_at_end(node, 1 - least, arb(1))]
        waiting = [(least, arb(1) / 2), (arb(1) / 2, 1 - least)]
        while waiting:
            low, high = waiting.pop()
            corners = _below(node, low, high, text, field)
            if corners is None:
                # α spans many orders of magnitude
                middle = _between(low, high)
                waiting += [(low, middle), (middle, high)]
            else:
                found += corners
            if len(found) + len(waiting) > _MOST_CELLS:
                raise UndecidedError(f"{field} could not be followed near alpha = {float(low):g}")
    return lower_hull([*found, (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))])


def _between(low: arb, high: arb) -> arb:
    """Return a middle of a cell that may span many orders of magnitude, of α or of 1 - α."""
    if certainly(high > 4 * low):
        return (low * high).sqrt().mid()
    if certainly(1 - low > 4 * (1 - high)):
        return (1 - ((1 - low) * (1 - high)).sqrt()).mid()
    return ((low + high) / 2).mid()


def _value(node: Node, alpha: arb, order: int) -> arb_series:
    at = arb_series([alpha, 1], order)
    value = Evaluation(SERIES, {"alpha": at, "pi": arb.pi()}).value(node)
    return value if isinstance(value, arb_series) else arb_series([value], order)


def _at_end(node: Node, low: arb, high: arb) -> list[Corner]:
    """Return what is below β next to 0 or 1; 0 where nothing is known."""
    over = _value(node, low.union(high), 2)
    end, value = (low, arb(1)) if low.is_zero() else (high, arb(0))
    there = _value(node, end, 1)[0]
    if over[1].is_finite() and certainly(abs(there - value) < _SAME):
        inner = high if low.is_zero() else low
        slope = over[1].lower() if low.is_zero() else over[1].upper()
        return _corners([(end, value), (inner, value + slope * (inner - end))])
    least = over[0] if over[0].is_finite() else _value(node, high, 1)[0]
    return _corners((one, least if least.is_finite() else arb(0)) for one in (low, high))


def _corners(points: Iterable[tuple[arb, arb]]) -> list[Corner]:
    return [
        (to_fraction(alpha.mid()), min(max(to_fraction(beta.lower()), Fraction(0)), Fraction(1)))
        for alpha, beta in points
    ]


def _below(node: Node, low: arb, high: arb, text: str, field: str) -> list[Corner] | None:
    """Return corners below β on a cell, None where they would lie too far below."""
    middle = ((low + high) / 2).mid()
    at, over = _value(node, middle, 2), _value(node, low.union(high), 3)
    value = at[0]
    if certainly(value < 0) or certainly(value > 1 - middle):
        shown = f"{text}, so {float(value):.6g} at alpha = {float(middle):.6g}"
        raise InputError(field, shown, Advice("keep beta in [0, 1 - alpha]: guessing does as well"))
    if not (value.is_finite() and over[1].is_finite()):
        narrow = certainly(high - low < low * arb(2) ** -60) and over[0].is_finite()
        return _corners((end, over[0]) for end in (low, high)) if narrow else None
    convex = over[2].is_finite() and certainly(over[2] >= 0) and at[1].is_finite()
    slopes = (at[1], at[1]) if convex else (arb(over[1].upper()), arb(over[1].lower()))
    ends = (low, value + slopes[0] * (low - middle)), (high, value + slopes[1] * (high - middle))
    # of a convex function, what a tangent loses at the ends of its cell
    lost = arb(0)
    for end, beta in ends:
        lost = lost.max((_value(node, end, 1)[0] - beta).upper())
    steep = abs(at[1])
    if certainly(steep < 1):
        # of the inverse function, along α
        allowed = _LOST * (steep - middle * steep - value)
    else:
        allowed = _LOST * (1 - value - middle * steep)
    narrow = certainly(high - low < low.min(1 - high) * arb(2) ** -40)
    if not (certainly(lost <= allowed.max(_UNSEEN)) or narrow):
        return None
    return _corners([ends[0], (middle, value), ends[1]])


def corners_of_function(function: Callable[[float], float], field: str) -> list[Corner]:
    """Return corners below a function that is trusted to fall, and to be convex where it looks so.

    Between two samples a convex function lies above the lines through those before and those after.

    Raises:
        InputError: for a value that is not in [0, 1 - α].
    """
    side = np.geomspace(_FIRST, 0.5, _SAMPLES // 2)
    points = [
        _sample(function, float(alpha), field) for alpha in (0, *side, *(1 - side[-2::-1]), 1)
    ]
    points = sorted(set(points))
    if not _looks_convex(points):
        steps = [(left[0], right[1]) for left, right in pairwise(points)]
        return lower_hull([*steps, (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))])
    found = [points[0], points[-1]]
    for number in range(len(points) - 1):
        found.append(_crossing(points, number))
    return lower_hull([*found, (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))])


def _sample(function: Callable[[float], float], alpha: float, field: str) -> Corner:
    try:
        beta = float(function(alpha))
    except Exception as error:
        said = f"the function itself failed at alpha = {alpha:g} ({type(error).__name__}: {error})"
        raise InputError(field, alpha, Advice(said)) from error
    if not -1e-12 <= beta <= 1 - alpha + 1e-12:
        raise InputError(f"{field}({alpha!r})", beta, f"a number in [0, {1 - alpha:g}]")
    return Fraction(alpha), Fraction(min(max(beta, 0.0), 1 - alpha))


def _slope(one: Corner, other: Corner) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])


def _looks_convex(points: Sequence[Corner]) -> bool:
    triples = zip(points, points[1:], points[2:], strict=False)
    return all(
        float(middle[1] - left[1] - _slope(left, right) * (middle[0] - left[0]))
        <= _SLACK * float(middle[1]) + 1e-15
        for left, middle, right in triples
    )


def _crossing(points: Sequence[Corner], number: int) -> Corner:
    """Return where the lines before and after an interval cross, or the lower one of its ends."""
    left, right = points[number], points[number + 1]
    if number == 0 or number + 2 == len(points):
        return left[0], right[1]
    before, after = _slope(points[number - 1], left), _slope(right, points[number + 2])
    if before >= after:
        return left[0], right[1]
    at = (right[1] - left[1] + before * left[0] - after * right[0]) / (before - after)
    at = min(max(at, left[0]), right[0])
    return at, max(left[1] + before * (at - left[0]), Fraction(0))
