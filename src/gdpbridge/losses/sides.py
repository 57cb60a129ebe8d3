"""What a line says of δ and of 1 - δ: smooth functions above and below."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Moments
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.discs import Disc, Entire
from gdpbridge.numeric.flint_context import precision, series_length, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Guess", "Judged", "Sides"]

_BITS = 96
# of 1 - δ beside a line for δ, or of δ beside one for 1 - δ: where floats may tell it
_LEAST_LEFT = 1e-3
_SPARE_BITS = 32


@dataclass(frozen=True)
class Guess:
    """What is thought to lie at an ε.

    Attributes:
        call: log of D.
        put: log of 1 - δ.
    """

    call: float
    put: float


@dataclass(frozen=True)
class Judged:
    """How close a line is at one ε.

    Attributes:
        good: whether it is close enough.
        log_off: log of how far its ends are apart, beside the smaller one of D and 1 - δ.
        call: log of what it shows to be above D.
        put: the same of 1 - δ.
    """

    good: bool
    log_off: float
    call: float
    put: float


class Sides:
    """One direction of the composed loss, as its lines show it.

    Args:
        moments: its M.
        digits: the digits of δ, or of 1 - δ where that is smaller, that lines are made for.
    """

    def __init__(self, moments: Moments, digits: int) -> None:
        self.moments, self.digits = moments, digits

    @property
    def bits(self) -> int:
        """A working precision that loses none of the digits."""
        return max(_BITS, 4 * self.digits + _SPARE_BITS)

    def bounds(self, line: Line, eps: Any) -> tuple[Any, Any]:
        """Return smooth functions below and above δ, at balls or power series."""
        if line.kind is Kind.REST:
            return 1 - line.upper(eps), 1 - line.lower(eps)
        with _enough(line):
            start = self._start(line, eps)
            return start + line.lower(eps), start + line.upper(eps)

    def complements(self, line: Line, eps: Any) -> tuple[Any, Any]:
        """Return smooth functions below and above 1 - δ, at balls or power series."""
        if line.kind is Kind.REST:
            return line.lower(eps), line.upper(eps)
        with _enough(line):
            start = 1 - self._start(line, eps)
            return start - line.upper(eps), start - line.lower(eps)

    def upper(self, line: Line, eps: Any) -> Any:
        """Return the smooth function above δ alone."""
        if line.kind is Kind.REST:
            return 1 - line.lower(eps)
        with _enough(line):
            return self._start(line, eps) + line.upper(eps)

    def upper_complement(self, line: Line, eps: Any) -> Any:
        """Return one minus the smooth function above δ, without cancellation where it can be."""
        if line.kind is Kind.REST:
            return line.lower(eps)
        with _enough(line):
            return (1 - self._start(line, eps)) - line.upper(eps)

    def side_on(self, line: Line, disc: Disc) -> Entire:
        """Return e^{λε} times what is above δ, or below 1 - δ for a line of that kind, on a disc.

        λ is the line's.
        """
        if line.kind is Kind.REST:
            return line.lower_on(disc)
        with _enough(line):
            found, tilt = line.upper_on(disc), ball(line.tilt)
            if line.kind is Kind.CALL:
                if self._failure.is_zero():
                    return found
                return found + disc.exponential(tilt).scaled(self._failure)
            kept = disc.exponential(tilt + 1).scaled(1 - line.moments.failure())
            return found + (disc.exponential(tilt) - kept)

    # --- in float64, for searches ------------------------------------------------------------

    def glanced(self, line: Line, eps: Floats) -> Floats | None:
        """Return about log of δ, of 1 - δ for a line of that kind; None if floats do not tell."""
        if line.kind is Kind.PUT or line.above:
            return None
        found = line.glance.logs(eps)
        if not np.isfinite(found).all():
            return None
        fails = line.kind is Kind.CALL and self._log_failure > -math.inf
        return np.logaddexp(found, self._log_failure) if fails else found

    def slopes_at(self, line: Line, eps: float) -> tuple[float, float, float] | None:
        """Return that at one ε, and its first two derivatives, in the same way."""
        if self.glanced(line, np.array([eps])) is None:
            return None
        log, first, second = line.glance.slopes(eps)
        if line.kind is Kind.REST or self._log_failure == -math.inf:
            return log, first, second
        whole = np.logaddexp(log, self._log_failure)
        share = math.exp(log - whole)
        return float(whole), share * first, share * (second + first**2) - (share * first) ** 2

    def judged_in_floats(self, line: Line, eps: Floats, least: float) -> list[Judged] | None:
        """Look at how close a line is at some ε, as :meth:`judged`; None if floats do not tell."""
        if self.glanced(line, eps) is None:
            return None
        log, error = line.glance.logs(eps), line.glance.log_errors(eps)
        with np.errstate(over="ignore", divide="ignore"):
            # of both ends; of what is left of 1 beside p_∞ likewise
            low = log + np.log1p(-np.minimum(np.exp(error - log), 1.0))
            high = np.logaddexp(log, error)
            kept = -math.expm1(self._log_failure)
            ends = kept - np.exp(high), kept - np.exp(low)
            if not (ends[0] > _LEAST_LEFT).all():
                return None
            left = np.log(ends[0]), np.log(ends[1])
        shown = low, high
        call, rest = (left, shown) if line.kind is Kind.REST else (shown, left)
        smaller = np.minimum(call[0], rest[0])
        smaller = np.maximum(smaller, np.minimum(least, rest[0]))
        off = error - smaller
        return [
            Judged(bool(one <= -self.digits * math.log(10)), one, above, other)
            for one, above, other in zip(
                off.tolist(), call[1].tolist(), rest[1].tolist(), strict=True
            )
        ]

    @cached_property
    def _log_failure(self) -> float:
        """Log of p_∞."""
        value = float(self._failure.mid())
        return math.log(value) if value > 0 else -math.inf

    def _start(self, line: Line, eps: Any) -> Any:
        """Return what is added to a call or a put to make δ."""
        if line.kind is Kind.CALL:
            return self._failure
        # (1 - e^{ε-L})⁺ = 1 - e^{ε-L} + (e^{ε-L} - 1)⁺, and E_P[e^{-L}; L < ∞] = 1 - p_∞'
        return 1 - eps.exp() * (1 - line.moments.failure())

    @cached_property
    def _failure(self) -> arb:
        with precision(2 * self.bits):
            return self.moments.failure()


def _enough(line: Line) -> AbstractContextManager[None]:
    """Return a precision that a line's sum does not lose in: what is added to a put cancels."""
    if line.kind is Kind.PUT and line.bits > working_precision():
        return precision(line.bits, series_length())
    return nullcontext()
