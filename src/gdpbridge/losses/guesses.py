"""What is thought to lie at an ε, by saddle points and what lines found, and how close these are.

All of it steers searches, and nothing is proved by it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Moments
from gdpbridge.losses.sides import Guess, Judged, Sides
from gdpbridge.losses.tilts import Tilts
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["LOG_LEAST", "SMALL", "Guesses", "alike", "floats_of", "log_of", "places_of"]

# a line is made for so many deviations of the loss at once
_SPAN = 8.0
_LEAST_REACH = 1e-300
# log of a D or 1 - δ below which that is computed, and not the other
SMALL = math.log(0.02)
# log of a D that is guessed well enough for what it leaves of 1
_NOT_NEAR_ONE = math.log(0.9)
LOG_LEAST = -1e9
# log of how far guesses of D are apart that lead to the same line
_ALIKE = 0.5


class Guesses(Sides):
    """One direction of the composed loss, as it is guessed to be.

    Args:
        moments: its M.
        digits: the digits of δ, or of 1 - δ where that is smaller, that lines are made for.
        floor: log of a D below which digits are those of the floor.

    Attributes:
        aim: log of the D whose ε is looked for: lines are made close to it, wherever they are.
        part_of: M of all of the loss, where this is all of D but for next to nothing.
    """

    def __init__(self, moments: Moments, digits: int, floor: float) -> None:
        super().__init__(moments, digits)
        self.floor, self.log_tol = floor, -digits * math.log(10)
        self.aim: float | None = None
        self.part_of: Moments | None = None

    def _reach(self, eps: Fraction) -> Fraction:
        deviation = float(self._tilts.at(floats_of([eps])).deviation[0])
        return short(max(_SPAN * deviation, _LEAST_REACH))

    @property
    def _tilts(self) -> Tilts:
        """Those for D, or for 1 - δ where D has none."""
        moments = self.moments
        return moments.tilts if moments.domain[1] > 0 else moments.tilts_inside

    def _guesses(self, places: list[Fraction]) -> list[Guess]:
        most = math.inf if self.aim is None else self.aim
        return [Guess(min(one.call, most), one.put) for one in self._guessed(places)]

    @property
    def _least(self) -> float:
        """Log of a D below which no closer is asked for."""
        return self.floor if self.aim is None else max(self.aim, self.floor)

    def _guessed(self, places: list[Fraction]) -> list[Guess]:
        eps = floats_of(places)
        if self.moments.domain[1] <= 0:
            # δ is known to be small only when it is seen
            return [Guess(0.0, log) for log in self.moments.tilts_inside.at(eps).guess.tolist()]
        tilts = self.moments.tilts
        saddles = tilts.at(eps)
        call = np.minimum(saddles.guess + tilts.learned(eps), saddles.bound).tolist()
        if (saddles.bound < SMALL).all():
            return [Guess(log, 0.0) for log in call]
        # below what the table reaches D is near 1, and no guess of it holds
        if (np.abs(saddles.off) < saddles.deviation).all() and max(call) < _NOT_NEAR_ONE:
            return [Guess(log, math.log(-math.expm1(log))) for log in call]
        put = self.moments.tilts_inside.at(eps).guess.tolist()
        return [Guess(*both) for both in zip(call, put, strict=True)]

    def _learn(self, places: list[Fraction], found: list[Judged]) -> None:
        """Take note of D where a line tells what it is."""
        least = max(LOG_LEAST, self._least - 1)
        known = [(float(at), one.call) for at, one in zip(places, found, strict=True)]
        known = [(at, call) for at, call in known if call > least]
        if known and self.moments.domain[1] > 0:
            self.moments.tilts.learn(*np.array(known).T)
            if self.part_of is not None:
                self.part_of.tilts.learn(*np.array(known).T)

    def _judged(self, line: Line, places: list[Fraction]) -> list[Judged]:
        """Look at how close a line is at some ε."""
        # what is asked of one ε is asked of both its ends soon, in balls
        found = None
        if len(places) > 1:
            found = self.judged_in_floats(line, floats_of(places), self._least)
        return found or [self._judged_at(line, at) for at in places]

    def _judged_at(self, line: Line, eps: Fraction) -> Judged:
        with precision(max(line.bits, self.bits)):
            at = ball(eps)
            low, high = line.lower(at), line.upper(at)
            off = (high.upper() - low.lower()).upper()
            if line.kind is Kind.REST:
                rest, kept = (low, high), 1 - self._failure
                call = kept - high, kept - low
            else:
                start = self._start(line, at)
                past = start - self._failure
                call, rest = (past + low, past + high), (1 - start - high, 1 - start - low)
            smaller = call[0].min(rest[0]).lower()
            if self._least > LOG_LEAST:
                smaller = smaller.max(arb(self._least).exp().min(rest[0])).lower()
            log_off = log_of((off / smaller).upper()) if certainly(smaller > 0) else math.inf
            good = log_off <= self.log_tol
            return Judged(good, log_off, log_of(call[1].upper()), log_of(rest[1].upper()))


def floats_of(values: list[Fraction]) -> Floats:
    """Return numbers in float64."""
    return np.array([float(value) for value in values])


def alike(some: list[Guess], others: list[Guess]) -> bool:
    """Whether the same line would be made for both."""
    return all(
        abs(one.call - other.call) < _ALIKE > abs(one.put - other.put)
        for one, other in zip(some, others, strict=True)
    )


def places_of(eps: Fraction, end: Fraction) -> list[Fraction]:
    """Return where a line for a range is looked at."""
    return [eps] if end == eps else [eps, (eps + end) / 2, end]


def log_of(value: arb) -> float:
    """Return the logarithm of a number in float64, a very small one if it may not be positive."""
    return float(value.log().mid()) if certainly(value > 0) else LOG_LEAST
