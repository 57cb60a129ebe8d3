"""Composed privacy losses, proved: δ(ε) of a sequence of mechanisms by integrals along lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.line import Kind
from gdpbridge.losses.moments import Moments, Part
from gdpbridge.losses.roots import TILTS, least_epsilon
from gdpbridge.losses.stretches import Stretches, log_of
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["DEFAULT_DIGITS", "ComposedLoss", "Direction"]

DEFAULT_DIGITS = 12
# enough to see that one direction is below the other
_COARSE_DIGITS = 2
# Newton's steps towards where Chernoff's bound falls to a number, and how far beyond is enough
_CHERNOFF_STEPS, _HAIR = 2, 1e-3
# nodes of a line up to which nothing has to be split off
_FEW_NODES = 512
# log of how far floats may be off
_FLOATS_OFF = 1e-6
# log of a δ that may be far enough below that bound
_CLOSE = 15.0


class Direction(Stretches):
    """The composed loss in one direction: δ(ε) and ε(δ), enclosed."""

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
                return self._without_line(ball(eps))
            except UndecidedError:
                return self._without_line(ball(eps))
        with precision(max(self.bits, line.bits)):
            if line.kind is Kind.REST:
                rest = self.complements(line, ball(eps))
                # so many digits that 1 is not what is left
                with precision(working_precision() + max(0, int(-log_of(rest[1].upper()) * 2))):
                    return (1 - rest[1]).lower().max(arb(0)), (1 - rest[0]).upper().min(arb(1))
            low, high = self.bounds(line, ball(eps))
            return low.lower().max(arb(0)), high.upper().min(arb(1))

    def _without_line(self, eps: arb) -> tuple[arb, arb]:
        """Return what is known without a line: δ is at least p_∞, and Chernoff's bound holds."""
        failure = self._failure
        if not self.moments.domain[1] > 0:
            return failure.lower(), arb(1)
        best = float(self.moments.tilts.at(np.array([float(eps)])).tilt[0])
        bound = self.moments.chernoff(short(best), eps) + failure
        return failure.lower(), bound.upper().min(arb(1))

    def is_at_most(self, eps: Fraction, value: arb, stop: Fraction | None = None) -> bool:
        """Whether δ(ε) ≤ value is proved with little work; False where that does not tell."""
        with precision(self.bits):
            at, failure = ball(eps), self.moments.failure()
            if self.end is not None and eps >= self.end:
                return certainly(failure <= value)
            if not certainly(failure < value):
                return False
            tilt = self._tilt_for(float(eps), log_of(value - failure) - _FLOATS_OFF)
            if tilt is not None and certainly(self.moments.chernoff(tilt, at) + failure <= value):
                return True
            return certainly(self.coarse.delta(eps, stop)[1] <= value)

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
            # along the best tilt's line, which lies above
            top += (float(saddle.bound[0]) - math.log(delta)) / float(saddle.tilt[0])
        tilt, found = short(float(saddle.tilt[0])), short(top * (1 + _HAIR), up=True)
        with precision(self.bits):
            enough = certainly(moments.chernoff(tilt, ball(found)) <= ball(delta))
        return found if enough else None

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
        return log_kappa(tilts) + self.moments.logs(tilts)

    def to(self, digits: int) -> Direction:
        """Return the same to other digits, with no lines."""
        return Direction(self.moments, self.opposite, digits)

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

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return ε with δ(ε) > δ, or 0, and ε with δ(ε) ≤ δ; None for none.

        They are as close as the digits, or as fewer of them where a line would be too much work.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes, to few digits even.
        """
        # the module of what is split off is made of this one
        from gdpbridge.losses.rare import can_be_split, rare_direction

        if can_be_split(self):
            with suppress(UndecidedError, WorkLimitError), self._few_nodes():
                return least_epsilon(self, delta)
            rare = rare_direction(self, float(delta))
            if rare is not None and rare.is_cheaper_than(self, float(delta)):
                with suppress(UndecidedError, WorkLimitError):
                    return least_epsilon(rare, delta)
        try:
            return least_epsilon(self, delta)
        except (UndecidedError, WorkLimitError):
            if self.coarser is None:
                raise
        return self.coarser.epsilon(delta)

    @contextmanager
    def _few_nodes(self) -> Iterator[None]:
        """Make no line of many nodes."""
        both = self, self.coarse
        for one in both:
            one.most_nodes = _FEW_NODES
        try:
            yield
        finally:
            for one in both:
                one.most_nodes = None


class ComposedLoss:
    """The privacy loss of mechanisms run one after the other, also adaptively.

    δ is the larger one of both directions: of parts whose pairs are symmetric, or have one
    direction in common, as those of adding or removing a record.

    Args:
        parts: the mechanisms and how often each is run, at least one.
        digits: relative digits of δ, or of 1 - δ where that is smaller.
    """

    def __init__(self, parts: Sequence[Part], digits: int = DEFAULT_DIGITS) -> None:
        self.parts, self.digits = tuple(parts), digits
        both = [
            Moments([part.factor(backward=backward) for part in self.parts])
            for backward in (False, True)
        ]
        one_pair = all(part.reverse is None for part in self.parts)
        symmetric = all(part.symmetric for part in self.parts)
        self.directions = tuple(
            Direction(moments, opposite if one_pair else None, digits)
            for moments, opposite in list(zip(both, reversed(both), strict=True))[: 2 - symmetric]
        )

    def to(self, digits: int) -> ComposedLoss:
        """Return the same to other digits; what is known of its transforms serves both."""
        if digits == self.digits:
            return self
        found = copy(self)
        found.digits = digits
        found.directions = tuple(one.to(digits) for one in self.directions)
        return found

    def delta(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact numbers that enclose δ(ε), one below and one above.

        Args:
            eps: ε, of any sign.
            stop: a larger ε up to which others will be asked for.
        """
        first, *others = self.directions
        low, high = first.delta(eps, stop)
        for other in others:
            if not other.is_at_most(eps, low, stop):
                below, above = other.delta(eps, stop)
                # the numbers are exact, and longer than the precision outside
                low = below if certainly(below > low) else low
                high = above if certainly(above > high) else high
        return low, high

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ, None if there is none.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes.
        """
        first, *others = self.directions
        found = first.epsilon(delta)
        for other in others:
            if found is None:
                return None
            with precision(other.bits):
                if other.is_at_most(found[0], ball(delta)):
                    continue
            more = other.epsilon(delta)
            found = more and (max(found[0], more[0]), max(found[1], more[1]))
        return found
