"""Where a falling function passes zero, to whatever precision is in force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Passage"]

_MAX_STEPS = 20_000


class Passage:
    """The place where a function goes from positive to zero or below, enclosed on demand.

    Nothing but signs is asked of the function, so that it may jump, or stay at zero afterwards.

    Attributes:
        low: where it is positive.
        high: where it is at most zero.
    """

    def __init__(self, function: Callable[[arb], arb], low: Fraction, high: Fraction) -> None:
        self.low, self.high = low, high
        self._function = function
        self._known: dict[int, arb] = {}

    def __call__(self) -> arb:
        """Return a ball at whose ends the function is proved positive and at most zero."""
        bits = working_precision()
        if bits not in self._known:
            self._known[bits] = self._located(bits)
        return self._known[bits]

    def _located(self, bits: int) -> arb:
        undecided = "a breakpoint of the profile could not be enclosed"
        return with_enough_precision(bits, lambda: self._bisected(bits), undecided)

    def _bisected(self, bits: int) -> arb:
        """Bisect until the ends agree in nearly all bits.

        Raises:
            MorePrecisionError: if a sign is lost to rounding.
        """
        low, high = ball(self.low).mid(), ball(self.high).mid()
        unit = arb(2) ** -(bits - bits // 8)
        for _ in range(_MAX_STEPS):
            if certainly(high - low <= high * unit):
                break
            wide = certainly(low > 0) and certainly(high > 4 * low)
            middle = ((low * high).sqrt() if wide else (low + high) / 2).mid()
            # rounding may hide the sign at the very place, but not beside it as well
            for point in (middle, (middle + (high - middle) / 4).mid()):
                value = self._function(point)
                if certainly(value > 0):
                    low = point
                    break
                if certainly(value <= 0):
                    high = point
                    break
            else:
                raise MorePrecisionError
        return low.union(high)
