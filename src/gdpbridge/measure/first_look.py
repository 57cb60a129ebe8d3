"""A first look at G along the range: coarse curves above δ, no sharper than what is seen asks for.

Where G is small beside what was seen, Chernoff's bound at one tilt will do, or a chord of 1 - δ; a
line of few digits elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.gaussian.kernels import log1mexp, log_pair
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line_integral import ComposedLoss, delta_of
from gdpbridge.losses.rare import log_of_own
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import short
from gdpbridge.measure.pieces import LOOKS, Piece, needed_mu
from gdpbridge.measure.problem import Problem
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import float_above, float_below

__all__ = ["LOOKED", "MARGIN", "FirstLook"]

# G must be that much smaller than what is known, relative to it, where less than a line will do
MARGIN = 1e-3
# the share of the work that a first look is
LOOKED = 0.4
# pieces of Chernoff's bound that are shorter, beside the range, are no longer worth their number
_LEAST_PIECE = 1e-3
# of the largest loss, up to where tilts are sought
_NEAR = 0.9
# and tilts past it: from one that is steep across so much of the range on, each 4 times the last
_STEEP, _STEPS = 1.0, 10
# shares of the rest of the range that a piece of Chernoff's bound may take
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
# chords are of use where G is that large; places that are looked at for them
_LARGE, _PLACES = 10.0, 65
# no G is that large where no loss is above this one: 1 - δ(0) is at least 2/(e^ε + 1)
_SHORT = 13.0
# log of Chernoff's bound from which on so little is left of 1 that it may be an error
_NEAR_ONE = -1e-3
# of the rest of the range, for which one is worth its line; and nodes of that
_WORTH, _SOME_NODES = 0.1, 1024
# how far a level must reach to be worth a line: to so many times the ε; the least ε looked at for
# where G is large, beside the range
_FURTHER, _NEAREST = 1.2, 1e-6
# log of what Chernoff's bound leaves of 1 - δ at the end of one, and of what a guess may be off
_LOG_LEFT, _SLACK = math.log(0.4), 2.0
# a line of so few nodes is made to all digits at once
_FEW_NODES = 128
# and one of more is made to fewer digits first
_MANY_NODES = 4096
_LOG_HALF = -math.log(2.0)


class FirstLook:
    """A look at all of the range, in each direction.

    Args:
        problem: what is asked.
        fine: the losses, to all digits.
        coarse: the same, to few.

    Attributes:
        seen: the largest G that is seen, below 0 where nothing is.
        best: in which direction it is, and at which ε.
        evaluations: how often δ was evaluated.
    """

    def __init__(self, problem: Problem, fine: ComposedLoss, coarse: ComposedLoss) -> None:
        self.problem, self.fine, self.coarse = problem, fine, coarse
        self.seen, self.best = -1.0, (0, Fraction(0))
        self.evaluations = 0
        self._dear = False
        end = float(problem.end)
        if end >= _SHORT:
            # chords may serve all else where G is large
            self._look_ahead(np.linspace(0.0, end, _PLACES), _LARGE)

    def _look_ahead(self, points: Floats, least: float) -> None:
        """Look at where G is thought to be largest, if it is that large."""
        p, best = float(self.problem.failure), (least, -1, 0)
        for number, direction in enumerate(self.coarse.directions):
            moments = direction.moments
            if not moments.domain[1] > 0:
                continue
            call, rest = (one.at(points).guess for one in (moments.tilts, moments.tilts_inside))
            if (own := log_of_own(moments, points)) is not None:
                call = np.minimum(call, own)
            log = np.where(call < _LOG_HALF, call, log1mexp(rest))
            rest = np.where(call < _LOG_HALF, log1mexp(call), rest)
            values = needed_mu(points, log, rest, p)
            values[~np.isfinite(values)] = 0.0
            top = int(values.argmax())
            best = max(best, (float(values[top]), number, top))
        _, number, top = best
        if number < 0:
            return
        direction, at = self.coarse.directions[number], short(float(points[top]))
        place = np.array([float(at)])
        # where that takes many nodes, two digits will do
        for one, most in ((direction, _FEW_NODES), (direction.coarse, _MANY_NODES)):
            with suppress(WorkLimitError, UndecidedError):
                line = one.stretch(at, most=most).line
                logs = Piece(at, at, one, line).logs(place)
                self.seen = float(needed_mu(place, *logs, p)[0]) * (1 - MARGIN)
                self.best = number, at
                return
        if self._dear:
            # at one ε usual noise may be split off
            level = float_below(delta_of(direction.coarse, at, None)[0])
            if 0 < level < 1:
                log = np.array([math.log(level)])
                seen = float(needed_mu(place, log, log1mexp(log), p)[0]) * (1 - MARGIN)
                self.seen, self.best = max((self.seen, self.best), (seen, (number, at)))

    def _see(self, number: int, piece: Piece) -> None:
        """Keep the largest G on a line's points, and where it is."""
        # what else is looked at is a bound, and no value
        if not piece.is_line:
            return
        points, p = piece.points, float(self.problem.failure)
        log, rest = piece.logs(points)
        self.evaluations += points.size
        if self.seen > 0:
            above = _claimed(points, self.seen, p)
            if np.where(log < _LOG_HALF, log < above[0], rest > above[1]).all():
                return
        values = needed_mu(points, log, rest, p)
        top = int(np.argmax(values))
        if values[top] > self.seen:
            # a float may lie beyond the end that it rounds
            at = min(max(Fraction(float(points[top])), piece.start), piece.stop)
            self.seen, self.best = float(values[top]), (number, at)

    def pieces(self, number: int) -> Iterator[Piece]:
        """Yield a coarse curve above δ, by Chernoff's bound where it is below what was seen."""
        direction, end = self.coarse.directions[number], self.problem.end
        at = Fraction(0)
        stop = end if direction.end is None else min(end, direction.end)
        while True:
            self.problem.progress("looking", LOOKED * float(at) / (float(end) or 1.0))
            found = self._cheaply(direction, at, stop)
            if found is None:
                if at >= stop:
                    raise UndecidedError(f"no line ends where the losses do, at ε = {float(at):g}")
                found = self._by_line(number, at, stop)
            self._see(number, found)
            yield found
            if found.stop >= end:
                return
            if found.stop == at:
                raise UndecidedError(f"no line goes beyond ε = {float(at):g}")
            at = found.stop

    def _cheaply(self, direction: Direction, at: Fraction, stop: Fraction) -> Piece | None:
        """Return a bound that takes no line, or one for much."""
        return (
            self._by_chernoff(direction, at)
            or self._by_chord(direction, at, stop)
            or self._by_distance(direction, at, stop)
        )

    def _by_line(self, number: int, at: Fraction, stop: Fraction) -> Piece:
        """Return a line: of all digits where nothing is seen yet and it takes few nodes."""
        direction, fine = self.coarse.directions[number], self.fine.directions[number]
        if self.seen <= 0:
            with suppress(WorkLimitError, UndecidedError):
                stretch = fine.stretch(at, stop, _FEW_NODES)
                return Piece(at, min(stretch.stop, stop), fine, stretch.line)
        with suppress(WorkLimitError, UndecidedError):
            stretch = direction.stretch(at, stop, _SOME_NODES)
            return Piece(at, min(stretch.stop, stop), direction, stretch.line)
        if not self._dear:
            # where lines are dear it is worth while to know what is enough
            self._dear, end = True, float(self.problem.end)
            self._look_ahead(end * np.geomspace(_NEAREST, 1.0, _PLACES), max(self.seen, 0.0))
        found = self._cheaply(direction, at, stop) or self._by_level(direction, at, stop)
        if found is not None:
            return found
        if self.seen > 0:
            with suppress(WorkLimitError, UndecidedError):
                return _coarsely(direction, at, stop, _MANY_NODES)
        return _coarsely(direction, at, stop)

    def _by_chernoff(self, direction: Direction, at: Fraction) -> Piece | None:
        """Return Chernoff's bound as far as it is below what was seen."""
        moments, end = direction.moments, self.problem.end
        known = self.seen * (1 - MARGIN)
        if moments.domain[1] <= 0 or known <= 0:
            return None
        # at the largest loss the best tilt is infinite
        near = float(at) if direction.end is None else min(float(at), _NEAR * float(direction.end))
        best = float(moments.tilts.at(np.array([near])).tilt[0])
        # past the largest loss larger tilts are better, and none is best
        past = direction.end is not None and near < float(at)
        if past:
            best = max(best, _STEEP / float(at + 1))
        tilts = [short(best * 4**power) for power in range(_STEPS if past else 1)]
        logs = {b: float(log_kappa(np.array(float(b)))) + moments.log(float(b)) for b in tilts}
        failure, p = float_above(moments.failure()), float(self.problem.failure)

        def shows(tilt: Fraction, points: Floats) -> bool:
            log, above = logs[tilt] - float(tilt) * points, _claimed(points, known, p)
            log = np.logaddexp(log, math.log(failure)) if failure else log
            rest = log1mexp(np.minimum(log, 0.0))
            enough = np.where(log < _LOG_HALF, log < above[0], rest > above[1])
            return bool(log[0] <= _NEAR_ONE and enough.all())

        # what does not show enough where it begins is no piece of any length
        tilts = [tilt for tilt in tilts if shows(tilt, np.array([float(at)]))]
        least = _LEAST_PIECE * (1 + float(end))
        for share in _SHARES if tilts else ():
            length = float(end - at) * share
            if share < 1 and length < least:
                break
            after = end if share == 1 else at + short(length)
            if at < self.best[1] < after and direction is self.coarse.directions[self.best[0]]:
                continue
            points = np.linspace(float(at), float(after), LOOKS)
            for tilt in tilts:
                if shows(tilt, points):
                    return Piece(at, after, direction, tilt=tilt)
        return None

    def _by_distance(self, direction: Direction, at: Fraction, stop: Fraction) -> Piece | None:
        """Return the total variation distance as far as it is below what was seen."""
        return self._level(direction, at, stop, direction.moments.distance())

    def _by_level(self, direction: Direction, at: Fraction, stop: Fraction) -> Piece | None:
        """Return what δ is at an ε, and falls from, as far as it is below what was seen."""
        if self.seen <= 0:
            return None
        # of one ε two digits take little work
        found = self._level(direction, at, stop, delta_of(direction.coarse, at, None)[1])
        if found is None or (found.stop < at + (stop - at) * _WORTH and found.stop < at * _FURTHER):
            return None
        return found

    def _level(
        self, direction: Direction, at: Fraction, stop: Fraction, value: arb
    ) -> Piece | None:
        known, level = self.seen * (1 - MARGIN), float_above(value)
        if known <= 0 or not 0 < level < 1:
            return None
        points = np.linspace(float(at), float(stop), _PLACES)
        log = np.full(points.shape, math.log(level))
        values = needed_mu(points, log, log1mexp(log), float(self.problem.failure))
        enough = np.flatnonzero(values < known)
        if not enough.size or enough[-1] < 1:
            return None
        last = enough[-1] == _PLACES - 1
        after = stop if last else short(float(points[enough[-1]]))
        return Piece(at, after, direction, level=value.upper()) if after > at else None

    def _by_chord(self, direction: Direction, at: Fraction, stop: Fraction) -> Piece | None:
        """Return a chord of 1 - δ from e^ε = 0, if what it shows is below what was seen.

        It ends in Chernoff's bound, or in a line where that needs few nodes.
        """
        known = self.seen * (1 - MARGIN)
        if known < _LARGE or (found := direction.half_by_chernoff) is None:
            return None
        (tilt, half), log_wanted = found, _log_rest(float(at), known)
        if at < half and _LOG_LEFT - float(half - at) > log_wanted:
            return Piece(at, min(half, self.problem.end), direction, tilt=tilt, chord=half)
        places = float(at) + float(stop - at) * np.linspace(0.0, 1.0, _PLACES)[1:]
        guesses = direction.moments.tilts_inside.at(places).guess
        enough = np.flatnonzero(guesses - (places - float(at)) > log_wanted + _SLACK)
        if not enough.size or enough[-1] < _PLACES * _WORTH:
            return None
        end, two = short(float(places[enough[-1]])), direction.coarse
        with suppress(WorkLimitError, UndecidedError):
            piece = Piece(at, end, two, two.stretch(end, most=_SOME_NODES).line, chord=end)
            if piece.logs(np.array([float(at)]))[1][0] > log_wanted:
                return piece
        return None


def _claimed(points: Floats, mu: float, p: float) -> tuple[Floats, Floats]:
    """Return log of p + (1 - p)·δ_μ and of one minus that, in floats."""
    log, rest = log_pair(points, np.full(points.shape, mu))
    if not p:
        return log, rest
    return np.logaddexp(math.log(p), math.log1p(-p) + log), math.log1p(-p) + rest


def _log_rest(eps: float, mu: float) -> float:
    """Return log(1 - δ_μ(ε)) in floats."""
    return float(log_pair(np.array([eps]), np.array([mu]))[1][0])


def _coarsely(direction: Direction, at: Fraction, stop: Fraction, most: int | None = None) -> Piece:
    """Return a piece by a line of few digits, or of fewer where that is too much work."""
    try:
        stretch = direction.stretch(at, stop, most)
    except (UndecidedError, WorkLimitError):
        if direction.coarser is None:
            raise
        return _coarsely(direction.coarser, at, stop, most)
    return Piece(at, min(stretch.stop, stop), direction, stretch.line)
