"""Groups of any mechanism, by its δ(ε) alone: a chain of k pairs of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from gdpbridge.curves.base import Curve, Form
from gdpbridge.curves.chained import chained_curve
from gdpbridge.curves.constants import Constant, upper_bound
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import InputError, UndecidedError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.table import Table
from gdpbridge.numeric.exact import float_ceiling

__all__ = ["chained", "chained_is"]

# knots of one step, and those of all steps together
_KNOTS = 400
_LEAST, _MOST = 50, 40_000
# δ is told no further than to where it is so small, or so far
_SMALLEST, _FARTHEST = 1e-30, 500.0


def chained_is(base: Profile) -> Nature:
    """Say what the δ(ε) of groups is: a class at best, as that of a chain says no more."""
    exactly = base.straight or base.curve.form is Form.LINEAR
    return weakest([Nature.CLASS, base.composed_is]) if exactly else Nature.BOUND


def chained(base: Profile, size: int) -> Curve:
    """Return the curve for groups of a number of records, 2 or more.

    Raises:
        InputError: for too large a group, or a mechanism of which only values are known.
    """
    curve = base.curve
    if curve.form is Form.VALUES:
        raise InputError("mechanism", base.kind, "one whose δ(ε) is proved, for groups of records")
    if curve.end == 0:
        return curve
    level = curve.tail.level
    if base.straight:
        end = curve.end if curve.end is not None else level and level.start
        assert end is not None
        return chained_curve(curve, [end], _checked(1, size))
    if curve.form is Form.SMOOTH:
        _checked(_LEAST, size)
        try:
            return chained_curve(curve, _grid(curve, size), size)
        except UndecidedError:
            # of what is known up to a rest, its bounds from above are taken
            pass
    if curve.form is not Form.LINEAR:
        curve = _table_above(curve, _checked(_LEAST, size))
    return chained_curve(curve, _knots_of(cast(LinearCurve, curve), size), size)


def _checked(knots: int, size: int) -> int:
    most = _MOST // (2 * knots)
    if size > most:
        raise InputError("size", size, f"at most {most} for this mechanism")
    return size


def _knots_of(curve: LinearCurve, size: int) -> list[Constant]:
    lines, count = curve.lines, curve.lines.count
    if count is None:
        raise InputError(
            "mechanism", Words("one with an infinite number of losses"), "one with finitely many"
        )
    _checked(count, size)

    def end(index: int) -> Constant:
        return lambda: lines.end(index)

    return [end(index) for index in range(count)]


def _grid(curve: Curve, size: int) -> Sequence[Constant]:
    """Return ε at even distances, to where δ ends or is very small."""
    count = _count(size)
    last: Constant = next(iter(curve.known_ends()), _far(curve))
    reach = upper_bound(last)
    return [*(reach * number / count for number in range(1, count)), last]


def _table_above(curve: Curve, size: int) -> Curve:
    """Return what the upper bounds of δ at some ε imply together."""
    reach = upper_bound(next(iter(curve.known_ends()), _far(curve)))
    eps = np.linspace(0.0, float_ceiling(reach), _count(size))
    _, above = curve.delta_bounds(eps)
    return Table(pairs=list(zip(eps.tolist(), above.tolist(), strict=True))).curve


def _count(size: int) -> int:
    return min(_KNOTS, _MOST // (2 * size))


def _far(curve: Curve) -> Fraction:
    reach = float(curve.least_epsilon(np.array([_SMALLEST]))[0])
    return Fraction(min(reach, _FARTHEST))
