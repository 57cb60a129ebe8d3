"""Composed privacy losses in one direction, proved: δ(ε) by integrals along lines."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.guesses import log_of
from gdpbridge.losses.line import Kind
from gdpbridge.losses.roots import TILTS
from gdpbridge.losses.stretches import Stretches
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["Direction"]

# enough to see that one direction is below the other
_COARSE_DIGITS = 2
# Newton's steps towards where Chernoff's bound falls to a number, and how far beyond is enough
_CHERNOFF_STEPS, _HAIR = 2, 1e-3
# a failure that leaves much of 1/2
_LITTLE = 0.05
# log of how far floats may be off
_FLOATS_OFF = 1e-6
# deviations from the loss under a tilt to the ε that it is the best one for
_BETWEEN = 8.0
# log of a δ that may be far enough below that bound
_CLOSE = 15.0


class Direction(Stretches):
    """The composed loss in one direction: δ(ε), enclosed."""

    # an ε to begin a search with
    start: Fraction | None = None

    @cached_property
    def end(self) -> Fraction | None:
        """An ε that no finite loss exceeds, so that δ = p_∞ from there on, if there is one."""
        with precision(self.bits):
            largest = self.moments.largest()
            return None if largest is None else max(to_fraction(largest.upper()), Fraction(0))

    def delta(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact numbers that enclose δ(ε), one below and one above.

        A line that is made for it goes on towards ``stop``, if that is given. They are as close as
        the digits where a line can be, else as what a coarser one or Chernoff's bound shows.
        """
        with precision(self.bits):
            if self.end is not None and eps >= self.end:
                failure = self.moments.failure()
                return failure.lower(), failure.upper()
            try:
                line = self.stretch(eps, stop if stop is not None and stop > eps else None).line
            except WorkLimitError:
                if self.coarser is not None:
                    return self.coarser.delta(eps, stop)
                return self.without_line(ball(eps))
            except UndecidedError:
                return self.without_line(ball(eps))
        with precision(max(self.bits, line.bits)):
            if line.kind is Kind.REST:
                rest = self.complements(line, ball(eps))
                # so many digits that 1 is not what is left
                with precision(working_precision() + max(0, int(-log_of(rest[1].upper()) * 2))):
                    return (1 - rest[1]).lower().max(arb(0)), (1 - rest[0]).upper().min(arb(1))
            low, high = self.bounds(line, ball(eps))
            return low.lower().max(arb(0)), high.upper().min(arb(1))

    def without_line(self, eps: arb) -> tuple[arb, arb]:
        """Return what is known without a line: Chernoff's bounds of D and 1 - δ, and a chord."""
        failure, at = self._failure, np.array([float(eps)])
        low, high = failure.lower(), self.moments.distance().upper().min(arb(1))
        if self.moments.domain[1] > -1:
            inside = short(-float(self.moments.tilts_inside.at(at).tilt[0]))
            rest = self.moments.bound(-inside) * (ball(inside) * eps).exp()
            low = low.max((1 - rest).lower())
        if self.moments.domain[1] > 0:
            best = float(self.moments.tilts.at(at).tilt[0])
            high = (self.moments.chernoff(short(best), eps) + failure).upper().min(high)
            if self.half_by_chernoff is not None:
                tilt, end = self.half_by_chernoff
                if not certainly(eps <= ball(end)):
                    return low, high
                # 1 - δ is concave in e^ε, and not below 0 at e^ε = 0
                rest = 1 - failure - self.moments.chernoff(tilt, ball(end))
                high = (1 - rest.max(arb(0)) * (eps - ball(end)).exp()).upper().min(high)
        return low, high

    def is_at_most(self, eps: Fraction, value: arb, stop: Fraction | None = None) -> bool:
        """Whether δ(ε) ≤ value is proved with little work; False where that does not tell."""
        with precision(self.bits):
            if self.is_at_most_by_chernoff(eps, value):
                return True
            if not certainly(self.moments.failure() < value):
                return False
            return certainly(self.coarse.delta(eps, stop)[1] <= value)

    def is_at_most_by_chernoff(self, eps: Fraction, value: arb) -> bool:
        """Whether δ(ε) ≤ value is proved without any line."""
        with precision(self.bits):
            failure = self.moments.failure()
            if self.end is not None and eps >= self.end:
                return certainly(failure <= value)
            if certainly(self.moments.distance() <= value):
                return True
            if not certainly(failure < value):
                return False
            tilt = self._tilt_for(float(eps), log_of(value - failure) - _FLOATS_OFF)
            if tilt is None:
                return False
            return certainly(self.moments.chernoff(tilt, ball(eps)) + failure <= value)

    def end_by_chernoff(self, delta: Fraction) -> Fraction | None:
        """Return an ε with δ(ε) ≤ δ by Chernoff's bound, None where that is far from the least."""
        moments = self.moments
        if not moments.domain[1] > 0 or not moments.failure().is_zero():
            return None
        top = float(
            ((self.chernoff_logs - math.log(delta)) / TILTS[: self.chernoff_logs.size]).min()
        )
        if self.end is not None and float(self.end) <= 2 * top:
            return None
        if not 0 < top < math.inf:
            return None
        for _ in range(_CHERNOFF_STEPS):
            saddle = moments.tilts.at(np.array([top]))
            if float(saddle.bound[0] - saddle.guess[0]) > _CLOSE:
                return None
            slope = top + float(saddle.off[0])
            # along the best tilt's line, which lies above
            top += (float(saddle.bound[0]) - math.log(delta)) / float(saddle.tilt[0])
        if abs(top - slope) > _BETWEEN * float(saddle.deviation[0]):
            # no tilt has its losses there: they are usual ones, or rare and far larger ones
            return None
        tilt, found = short(float(saddle.tilt[0])), short(top * (1 + _HAIR), up=True)
        with precision(self.bits):
            enough = certainly(moments.chernoff(tilt, ball(found)) <= ball(delta))
        return found if enough else None

    @cached_property
    def half_by_chernoff(self) -> tuple[Fraction, Fraction] | None:
        """A tilt, and about the least ε ≥ 0 at which Chernoff's bound with it is 1/2."""
        logs = self.chernoff_logs
        if not logs.size or not certainly(self._failure < _LITTLE):
            return None
        tilts = TILTS[: logs.size]
        places = (logs + math.log(2)) / tilts
        best = int(places.argmin())
        return short(float(tilts[best])), short(max(float(places[best]), 0.0), up=True)

    def _tilt_for(self, eps: float, log_value: float) -> Fraction | None:
        """Return the least tilt of a few at which Chernoff's bound is below a number."""
        # large tilts need many nodes, and a few ones serve many ε
        tilts = TILTS[self.moments.domain[1] > TILTS]
        enough = tilts[self.chernoff_logs[: tilts.size] - tilts * eps <= log_value]
        if not enough.size:
            return None
        b = float(enough[0])
        return Fraction(b) if b.is_integer() else short(b)

    @cached_property
    def chernoff_logs(self) -> Floats:
        """Log of κ(b)·M(b) for a few tilts."""
        tilts = TILTS[self.moments.domain[1] > TILTS]
        return log_kappa(tilts) + self.moments.tilts.log_moments(tilts)

    def to(self, digits: int, floor: float | None = None) -> Direction:
        """Return the same to other digits, with no lines; the floor is the same if None."""
        least = self.floor if floor is None else floor
        found = Direction(self.moments, self.opposite, digits, floor=least, lines=self.lines)
        found.splits, found.puts = self.splits, self.puts
        return found

    def shown(self, digits: int) -> Direction:
        """Return the same to some digits, with lines along its own M, as a certificate has them."""
        found = self.to(digits)
        found.puts = False
        return found

    def whole(self, digits: int) -> Direction:
        """Return the same as shown, with lines of the whole law alone."""
        found = self.shown(digits)
        found.splits = False
        return found

    @cached_property
    def coarse(self) -> Direction:
        """The same, to a few digits."""
        return self if self.digits <= _COARSE_DIGITS else self.to(_COARSE_DIGITS)

    @cached_property
    def coarser(self) -> Direction | None:
        """The same to three quarters of the digits, as long as that says anything."""
        fewer = self.digits * 3 // 4
        if fewer <= _COARSE_DIGITS:
            return None if self.digits <= _COARSE_DIGITS else self.coarse
        found = self.to(fewer)
        # what it finds first is found already
        found.coarse = self.coarse
        return found
