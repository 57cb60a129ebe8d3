"""Composed privacy losses, proved: δ(ε) of a sequence of mechanisms by integrals along lines.

A line (see line.py) serves the ε within some deviations of the loss. Here lines are made where they
are needed, and compared with what they find: where Chernoff's bound is far above δ, a period that
was chosen against it is made longer until the aliases are small beside δ itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_series

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.choice import Choice, Wanted, choose
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Moments, Part
from gdpbridge.losses.tilts import Tilts, log_kappa
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision, series_length, working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["DEFAULT_DIGITS", "ComposedLoss", "Direction", "Stretch"]

DEFAULT_DIGITS = 12
# a line is made for so many deviations of the loss at once
_SPAN = 5.0
_LEAST_REACH = 1e-300
# how often a line is made anew because its aliases hide δ; each time it is wanted 10^digits closer
_ATTEMPTS = 16
_FURTHER = 3.0
# log of a D or 1 - δ below which that is computed, and not the other
_SMALL = math.log(0.02)
# nodes from which a line of another kind is looked for
_MANY = 512
_BITS = 96
_SPARE_BITS = 32
_LOG_LEAST = -1e9
# how many of the last lines are looked at for an ε that none was made for
_RECENT = 3
# enough to see that one direction is below the other
_COARSE_DIGITS = 2
_NEWTON_STEPS = 60
# at first a root is found to this share of itself
_CLOSE = 50
# tilts of Chernoff's bound in a first look
_TILTS = 2.0 ** np.arange(-8, 23, 0.5)
# doublings of the distance from the root found to the ε that are proved
_PADS = 60


@dataclass(frozen=True)
class Stretch:
    """A range of ε that one line serves.

    Attributes:
        start: where it begins.
        stop: where it ends.
        line: the line.
    """

    start: Fraction
    stop: Fraction
    line: Line


@dataclass(frozen=True)
class _Guess:
    """What is thought to lie at an ε.

    Attributes:
        call: log of D.
        put: log of 1 - δ.
    """

    call: float
    put: float


@dataclass(frozen=True)
class _Judged:
    """How close a line is at one ε.

    Attributes:
        good: whether it is close enough.
        call: log of what it shows to be above D.
        put: the same of 1 - δ.
    """

    good: bool
    call: float
    put: float


class Direction:
    """The composed loss in one direction.

    Args:
        moments: its M.
        opposite: M of the opposite direction, where that is of the same two distributions.
        digits: the digits of δ, or of 1 - δ where that is smaller, that lines are made for.
    """

    def __init__(
        self, moments: Moments, opposite: Moments | None, digits: int = DEFAULT_DIGITS
    ) -> None:
        self.moments, self.opposite, self.digits = moments, opposite, digits
        self.log_tol = -digits * math.log(10)
        self._stretches: list[Stretch] = []

    @property
    def bits(self) -> int:
        """A working precision that loses none of the digits."""
        return max(_BITS, 4 * self.digits + _SPARE_BITS)

    def stretch(self, eps: Fraction, stop: Fraction | None = None) -> Stretch:
        """Return a stretch that holds ε, and goes on towards ``stop`` as far as one line does.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes.
        """
        for known in self._stretches:
            if known.start <= eps < known.stop:
                return known
        if stop is None:
            for known in self._stretches:
                if eps == known.stop:
                    return known
            for known in self._stretches[-_RECENT:]:
                if self._judged(known.line, eps).good:
                    return Stretch(eps, eps, known.line)
        found = self._made(eps, stop)
        self._stretches.append(found)
        return found

    def cover(self, low: Fraction, high: Fraction) -> Iterator[Stretch]:
        """Yield stretches, each beginning where the last one ended, that cover [low, high]."""
        at = low
        while True:
            found = self.stretch(at, high)
            yield Stretch(at, min(found.stop, high), found.line)
            if found.stop >= high:
                return
            at = found.stop

    def _made(self, eps: Fraction, stop: Fraction | None) -> Stretch:
        reach = self._reach(eps)
        end = eps if stop is None else min(stop, eps + reach)
        places = _places(eps, end)
        guesses = self._guesses(places)
        below = 0.0
        for _ in range(_ATTEMPTS):
            try:
                line = self._cheapest(places, guesses, below)
            except WorkLimitError:
                if len(places) == 1:
                    raise
                # a shorter stretch may need fewer nodes, and one ε fewest
                end = eps + (end - eps) / 8 if end - eps > reach / 64 else eps
                places = _places(eps, end)
                guesses = self._guesses(places)
                continue
            found = [self._judged(line, at) for at in places]
            if all(one.good for one in found):
                return Stretch(eps, end, line)
            if len(places) > 1 and found[0].good:
                # where the rest is of another kind, another line does better
                if found[1].good:
                    return Stretch(eps, places[1], line)
                end = eps + (end - eps) / 4
                places = _places(eps, end)
                found = [self._judged(line, at) for at in places]
                if all(one.good for one in found):
                    return Stretch(eps, end, line)
                guesses = self._guesses(places)
            # above D and above 1 - δ lies what the line has found
            guesses = [
                _Guess(min(old.call, new.call), min(old.put, new.put))
                for old, new in zip(guesses, found, strict=True)
            ]
            if max(min(one.call, one.put) for one in guesses) < _LOG_LEAST:
                break
            # δ may lie far below Chernoff's bound, and is then approached in growing steps
            below = 2 * below if below else _FURTHER
        raise UndecidedError(f"no line comes close enough to δ at ε = {float(eps):g}")

    def _cheapest(self, places: list[Fraction], guesses: list[_Guess], below: float) -> Line:
        """Return the line that needs fewest nodes for errors so far below what is guessed."""
        targets = [min(one.call, one.put) + self.log_tol - below for one in guesses]
        best: tuple[Choice, float, Kind] | None = None
        failed: WorkLimitError | None = None
        for kind in self._kinds(guesses):
            # a put needs digits more, and is worth it where the others need many nodes
            if kind is Kind.PUT and best is not None and best[0].count < _MANY:
                break
            logs = self._logs(kind, places, guesses)
            sign = -1 if kind is Kind.PUT else 1
            wanted = [
                Wanted(sign * float(at), log, target - (float(at) if sign < 0 else 0.0))
                for at, log, target in zip(places, logs, targets, strict=True)
            ]
            moments = self._moments_for(kind)
            try:
                choice = choose(moments, wanted, complement=kind is Kind.REST)
            except WorkLimitError as error:
                failed = error
                continue
            if best is None or choice.count < best[0].count:
                best = choice, min(one.log_error - one.log_value for one in wanted), kind
        if best is None:
            assert failed is not None
            raise failed
        choice, log_error, kind = best
        return Line(self._moments_for(kind), choice, log_error, mirrored=kind is Kind.PUT)

    def _moments_for(self, kind: Kind) -> Moments:
        if kind is not Kind.PUT:
            return self.moments
        assert self.opposite is not None
        return self.opposite

    def _logs(self, kind: Kind, places: list[Fraction], guesses: list[_Guess]) -> list[float]:
        """Return log of what a line of a kind finds, roughly."""
        if kind is Kind.PUT:
            assert self.opposite is not None
            return [float(one) for one in self.opposite.tilts.at(-_floats(places)).guess]
        return [one.put if kind is Kind.REST else one.call for one in guesses]

    def _kinds(self, guesses: list[_Guess]) -> list[Kind]:
        """Return which lines are worth a look, the likeliest first."""
        found = []
        if self.moments.domain[1] <= 0 or any(one.call >= _SMALL for one in guesses):
            found.append(Kind.REST)
        if self.moments.domain[1] > 0 and any(one.put >= _SMALL for one in guesses):
            found.append(Kind.CALL)
        if self.opposite is not None and self.opposite.domain[1] > 0:
            found.append(Kind.PUT)
        return found

    def _reach(self, eps: Fraction) -> Fraction:
        deviation = float(self._tilts.at(_floats([eps])).deviation[0])
        return short(max(_SPAN * deviation, _LEAST_REACH))

    @property
    def _tilts(self) -> Tilts:
        """Those for D, or for 1 - δ where D has none."""
        moments = self.moments
        return moments.tilts if moments.domain[1] > 0 else moments.tilts_inside

    def _guesses(self, places: list[Fraction]) -> list[_Guess]:
        eps = _floats(places)
        put = self.moments.tilts_inside.at(eps).guess.tolist()
        if self.moments.domain[1] <= 0:
            # δ is known to be small only when it is seen
            return [_Guess(0.0, log) for log in put]
        call = self.moments.tilts.at(eps).guess.tolist()
        return [_Guess(*both) for both in zip(call, put, strict=True)]

    def _judged(self, line: Line, eps: Fraction) -> _Judged:
        """Look at how close a line is at ε."""
        with precision(max(line.bits, self.bits)):
            at = ball(eps)
            upper, lower = line.upper(at).upper(), line.lower(at).lower()
            off = (upper - lower).upper()
            failure = self.moments.failure()
            call = [value - failure for value in self.bounds(line, at)]
            rest = self.complements(line, at)
            smaller = call[0].min(rest[0]).lower()
            good = bool(smaller > 0 and off <= smaller * arb(self.log_tol).exp())
            return _Judged(good, _log(call[1].upper()), _log(rest[1].upper()))

    # --- values --------------------------------------------------------------------------------

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
            except (UndecidedError, WorkLimitError):
                if self.digits > _COARSE_DIGITS:
                    return self._coarse.delta(eps, stop)
                return self._without_line(ball(eps))
        with precision(max(self.bits, line.bits)):
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

    def is_at_most(self, eps: Fraction, value: arb, stop: Fraction | None = None) -> bool:
        """Whether δ(ε) ≤ value is proved with little work; False where that does not tell."""
        with precision(self.bits):
            at, failure = ball(eps), self.moments.failure()
            if self.end is not None and eps >= self.end:
                return bool(failure <= value)
            if not failure < value:
                return False
            tilt = self._tilt_for(float(eps), _log((value - failure).lower()) - 1.0)
            if tilt is not None and self.moments.chernoff(tilt, at) + failure <= value:
                return True
            return bool(self._coarse.delta(eps, stop)[1] <= value)

    def _tilt_for(self, eps: float, log_value: float) -> Fraction | None:
        """Return the least tilt of a few at which Chernoff's bound is below a number."""
        # large tilts need many nodes, and a few ones serve many ε
        tilts = _TILTS[self.moments.domain[1] > _TILTS]
        enough = tilts[self._chernoff_logs[: tilts.size] - tilts * eps <= log_value]
        if not enough.size:
            return None
        b = float(enough[0])
        return Fraction(b) if b.is_integer() else short(b)

    @cached_property
    def _chernoff_logs(self) -> Floats:
        """Log of κ(b)·M(b) for a few tilts."""
        tilts = _TILTS[self.moments.domain[1] > _TILTS]
        return log_kappa(tilts) + self.moments.logs(tilts)

    @cached_property
    def _coarse(self) -> Direction:
        return Direction(self.moments, self.opposite, _COARSE_DIGITS)

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return ε with δ(ε) > δ, or 0, and ε with δ(ε) ≤ δ, as close as the digits; None for none.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes.
        """
        with precision(self.bits):
            target, failure = ball(delta), self.moments.failure()
            if not failure <= target:
                return None
            if self.is_at_most(Fraction(0), target):
                return Fraction(0), Fraction(0)
            share = target - failure
            at, top = self._guessed(float(share.log().mid()) if share > 0 else -math.inf)
            at = self._coarse.root(at, top, target, Fraction(1, _CLOSE))
            at = self.root(at, top, target, Fraction(1, 10**self.digits))
            return self._proved_epsilon(at, target)

    def root(self, at: Fraction, top: Fraction, target: arb, unit: Fraction) -> Fraction:
        """Return about where δ falls to a number, by Newton's steps between 0 and ``top``."""
        low, high = Fraction(0), top
        with precision(self.bits):
            for _ in range(_NEWTON_STEPS):
                step = self._newton(at, target)
                if step < 0:
                    low = max(low, at)
                else:
                    high = min(high, at)
                after = at - step
                if not low < after < high:
                    # nearer to the lower end, where the ends are far apart: there δ is cheaper
                    after = 4 * low if 0 < 16 * low < high else low + (high - low) / 4
                close = abs(after - at) <= unit * after
                at = short_of(after, self.bits)
                if close:
                    break
        return at

    def _newton(self, eps: Fraction, target: arb) -> Fraction:
        """Return by how much an ε is too large, roughly; its sign is right where δ is resolved."""
        series = arb_series([ball(eps), 1], 2)
        if self.end is not None and eps >= self.end:
            return eps
        line = self.stretch(eps).line
        value = self.bounds(line, series)[1]
        slope, off = value[1].mid(), (value[0] - target).mid()
        if line.kind is Kind.REST:
            return to_fraction((off / slope).mid())
        failure = self.moments.failure()
        excess = (value[0] - failure).mid()
        # log D is nearly straight
        step = ((excess / (target - failure)).log() * excess / slope).mid()
        return to_fraction(step) if step.is_finite() else to_fraction((off / slope).mid())

    def _proved_epsilon(self, at: Fraction, target: arb) -> tuple[Fraction, Fraction]:
        low: Fraction | None = None
        high: Fraction | None = None
        pad = max(at, Fraction(1, 10**self.digits)) / 10**self.digits / 4
        for _ in range(_PADS):
            if high is None and self.delta(at + pad)[1] <= target:
                high = at + pad
            if low is None:
                below = max(at - pad, Fraction(0))
                low = below if below == 0 or self.delta(below)[0] > target else None
            if low is not None and high is not None:
                return low, high
            pad *= 2
        raise UndecidedError(f"the ε of δ = {float(target):g} could not be enclosed")

    def _guessed(self, log_delta: float) -> tuple[Fraction, Fraction]:
        """Return an ε at which log D is about a number, and one above it by Chernoff's bound."""
        moments = self.moments
        tilts = _TILTS[: self._chernoff_logs.size]
        high = float(((self._chernoff_logs - log_delta) / tilts).min(initial=math.inf))
        if self.end is not None:
            high = min(high, float(self.end))
        # the usual losses alone: a tilt downward leaves out rare large ones
        mean, deviation = moments.shape(-0.5)
        mean += deviation * deviation / 2

        def bulk(z: float) -> float:
            below = math.erfc(z / math.sqrt(2)) / 2
            density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            return math.log(max(deviation * (density - z * below), 1e-300))

        z = min((k / 8 for k in range(-64, 97)), key=lambda z: abs(bulk(z) - log_delta))
        near = min(max(mean + z * deviation, 0.0), high)
        return Fraction(near if near > 0 else high / 4), Fraction(high)


class ComposedLoss:
    """The privacy loss of mechanisms run one after the other, also adaptively.

    δ is the larger one of both directions: of parts whose pairs are symmetric, or have one
    direction in common, as those of adding or removing a record.

    Args:
        parts: the mechanisms and how often each is run, at least one.
        digits: relative digits of δ, or of 1 - δ where that is smaller.
    """

    def __init__(self, parts: Sequence[Part], digits: int = DEFAULT_DIGITS) -> None:
        self.parts = tuple(parts)
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
                low, high = below if below > low else low, above if above > high else high
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


def _enough(line: Line) -> AbstractContextManager[None]:
    """Return a precision that a line's sum does not lose in: what is added to a put cancels."""
    if line.kind is Kind.PUT and line.bits > working_precision():
        return precision(line.bits, series_length())
    return nullcontext()


def short_of(value: Fraction, bits: int) -> Fraction:
    """Return a positive fraction rounded to so many bits."""
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(round(value * Fraction(2) ** shift)) / Fraction(2) ** shift


def _floats(values: list[Fraction]) -> Floats:
    return np.array([float(value) for value in values])


def _places(eps: Fraction, end: Fraction) -> list[Fraction]:
    return [eps] if end == eps else [eps, (eps + end) / 2, end]


def _log(value: arb) -> float:
    return float(value.log().mid()) if value > 0 else _LOG_LEAST
