"""An interval with exact ends that can say which of its digits are sure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import float_ceiling, float_floor

__all__ = ["Interval"]

_TINY = -30
# one minus a number, by as many digits
_UNDER, _OVER = (Context(prec=60, rounding=one) for one in (ROUND_FLOOR, ROUND_CEILING))
# a float holds nothing much smaller
_NOTHING = Decimal("1e-300")


@dataclass(frozen=True, init=False)
class Interval:
    """A closed interval [low, high] of numbers; those of μ, δ, ε and errors are never negative.

    The ends are kept as exact decimals, so that an interval narrower than a float's
    spacing keeps its width; :attr:`lower` and :attr:`upper` are floats rounded outward.

    Attributes:
        low: the exact lower end.
        high: the exact upper end, possibly ``Decimal("Infinity")``.
    """

    low: Decimal
    high: Decimal

    def __init__(self, low: Decimal | float | int | str, high: Decimal | float | int | str) -> None:
        try:
            lower, upper = Decimal(low), Decimal(high)
        except (InvalidOperation, TypeError, ValueError):
            lower = upper = Decimal("nan")
        if lower.is_nan() or upper.is_nan() or lower > upper:
            raise InputError("interval", f"[{low}, {high}]", "two numbers, the lower end first")
        object.__setattr__(self, "low", lower)
        object.__setattr__(self, "high", upper)

    @property
    def lower(self) -> float:
        """The lower end as a float, rounded down."""
        return float_floor(self.low)

    @property
    def upper(self) -> float:
        """The upper end as a float, rounded up."""
        return float_ceiling(self.high)

    @property
    def width(self) -> float:
        """``high - low``, rounded up; 0 for a single point, also at infinity."""
        if self.low == self.high:
            return 0.0
        if self.high.is_infinite():
            return math.inf
        return float_ceiling(Fraction(self.high) - Fraction(self.low))

    @property
    def complement(self) -> Interval:
        """One minus the numbers, finite ones, rounded outward."""
        return Interval(_UNDER.subtract(1, self.high), _OVER.subtract(1, self.low))

    @property
    def is_vague(self) -> bool:
        """Whether the ends are so far apart that they say little: by over a tenth of the upper one.

        Where that is hardly above 0, it says enough.
        """
        if self.high.is_infinite():
            return self.low.is_finite()
        if self.high < _NOTHING:
            return False
        return 10 * (Fraction(self.high) - Fraction(self.low)) > Fraction(self.high)

    def __contains__(self, value: Decimal | Fraction | float | int | str) -> bool:
        if isinstance(value, Fraction):
            above = self.high.is_infinite() or value <= Fraction(self.high)
            below = not self.low.is_infinite() and Fraction(self.low) <= value
            return above and below
        return self.low <= Decimal(value) <= self.high

    @property
    def certain(self) -> str:
        """The digits on which both ends agree, as in ``1.80090519…``; empty if it is but one.

        Of an interval such as [1.00, 1.77] a digit would say less than its ends.
        """
        if self.low == self.high:
            return _plain(self.low)
        if self.high.is_infinite():
            return ""
        low, high = _aligned(self.low, self.high)
        if len(low) != len(high) or "e" in low:
            return ""
        shared = next(i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
        digits = low[:shared]
        known = digits.lstrip("-0.").replace(".", "")
        return f"{digits}…" if len(known) > 1 else ""

    def __str__(self) -> str:
        """Both ends, rounded outward to two digits of their difference."""
        if self.low == self.high:
            return _plain(self.low)
        if self.high.is_infinite():
            return f"[{_plain(self.low)}, inf]"
        return "[{}, {}]".format(*_aligned(self.low, self.high))


def _plain(value: Decimal) -> str:
    if value.is_infinite():
        return "inf"
    text = format(value.normalize(), "f")
    return text if len(text) <= 40 else format(value, "g")


def _aligned(low: Decimal, high: Decimal) -> tuple[str, str]:
    """Both ends, rounded outward to two digits of their difference."""
    width = high - low
    step = Decimal(1).scaleb(width.adjusted() - 1)
    wide = Context(prec=400)
    down = low.quantize(step, rounding=ROUND_FLOOR, context=wide)
    up = high.quantize(step, rounding=ROUND_CEILING, context=wide)
    # far below 1 the zeros after the point would hide the digits
    kind = "e" if high.adjusted() < _TINY else "f"
    return _zero_or(down, kind), _zero_or(up, kind)


def _zero_or(value: Decimal, kind: str) -> str:
    return "0" if value.is_zero() and kind == "e" else format(value, kind)
