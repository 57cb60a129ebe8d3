"""Curves of sums of losses with a density between atoms: δ at any ε, as sharp as asked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from flint import arb

from gdpbridge.curves.base import BoundedCurve, Curve, Floats, Form
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.loss_distribution import larger_constant
from gdpbridge.curves.pieces import ZERO
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError, Words
from gdpbridge.losses.splines import Spline
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Probability

__all__ = ["SplineCurve", "spline_curve"]

_FLOAT_BITS = 64


class SplineCurve(BoundedCurve):
    """The larger δ of some directions.

    Args:
        directions: the losses in one direction, or in both.
        tail: where δ becomes constant, and what it is there.
        failure: p, where it is the curve past p.
    """

    form = Form.POINTS

    def __init__(
        self, directions: Sequence[Spline], tail: ConstantTail, failure: Fraction = Fraction(0)
    ) -> None:
        self.directions, self.tail, self.failure = tuple(directions), tail, failure
        self.end = tail.start if tail.value == 0 else None

    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Round what is known in balls."""
        with precision(_FLOAT_BITS):
            values = [self.enclose(arb(float(one))) for one in np.ravel(eps)]
            logs = [float(value.log().mid()) for value in values]
            rests = [float(value.log_complement().mid()) for value in values]
        shape = np.shape(eps)
        return np.array(logs).reshape(shape), np.minimum(np.array(rests), 0.0).reshape(shape)

    def enclose(self, eps: arb) -> Probability:
        """Take the largest of all directions; between the ends of an ε that is not exact."""
        if not eps.is_exact():
            low, high = (self._at(end) for end in (eps.lower().max(arb(0)), eps.upper()))
            # δ does not rise
            value, rest = low[0].union(high[0]), low[1].union(high[1])
        else:
            value, rest = self._at(eps)
        return ZERO if certainly(value <= 0) else Probability(value.log, rest.log)

    def _at(self, eps: arb) -> tuple[arb, arb]:
        if self.end is not None and certainly(eps >= BALLS.constant(self.end)):
            return arb(0), arb(1)
        found = [one.enclose(eps, self.failure) for one in self.directions]
        value = reduce(arb.max, (value for value, _ in found))
        return value, reduce(arb.min, (rest for _, rest in found))

    def delta_range(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return δ as floats have it."""
        return Curve.delta_range(self, eps)

    def past(self, failure: Fraction) -> Curve:
        """Cut the curve off where it falls to p."""
        end = self.falls_to(failure)
        if end == 0:
            return zero_curve()
        return SplineCurve(self.directions, ConstantTail(end, Fraction(0)), failure)

    def piecewise(self, _: Fraction, __: int) -> SmoothCurve:
        """Refuse: there are no formulas."""
        raise InputError(
            "mechanism", Words("composed"), "one whose privacy profile is known by formulas"
        )


def spline_curve(directions: Sequence[Spline]) -> SplineCurve:
    """Return the curve of the larger direction."""
    start: Constant = larger_constant([one.end for one in directions])
    failure = larger_constant([one.failure for one in directions])
    return SplineCurve(directions, ConstantTail(start, failure))
