"""Where lines are needed, which ones, and what they say of δ.

A line (see line.py) serves the ε within some deviations of the loss. Here lines are made where they
are needed, and compared with what they find: where Chernoff's bound is far above δ, a period that
was chosen against it is made longer until the aliases are small beside δ itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.choice import Choice, Wanted, choose
from gdpbridge.losses.guesses import LOG_LEAST, SMALL, Guesses, alike, floats_of, log_of, places_of
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Moments
from gdpbridge.losses.needs import needs_of
from gdpbridge.losses.sides import Guess
from gdpbridge.losses.split import can_be_split, has_little_noise, splits_from
from gdpbridge.numeric.kinds import ball

__all__ = ["Stretch", "Stretches"]

# how often a line is made anew because its aliases hide δ; each time it is wanted 10^digits closer
_ATTEMPTS, _FURTHER = 16, 3.0
# the share of the digits that will do where all of them are too much work
_NEARLY = 0.75
# log of how far below what a line shows δ may be, and fewer digits still help
_HOPELESS = 20.0
# nodes from which a line of another kind is looked for
_MANY = 512
# nodes up to which no noise is split off, where it can be: with little noise, and with more
_FEWER_NODES, _DEAR_NODES = 1024, 8192
# log of how far below what a saddle point says D may be, in steps
_BELOW = (4.0, 40.0)
# how many of the last lines are looked at for an ε that none was made for, and how many are kept;
# nodes of one that may take the place of a coarser one, which is quicker to evaluate
_RECENT, _KEPT, _QUICK = 3, 16, 256


@dataclass(frozen=True)
class Stretch:
    """A range of ε that one line serves.

    Attributes:
        start: where it begins.
        stop: where it ends.
        line: the line.
        share: the share of the digits that it has at least; below 1 where more are too much work.
        aim: log of the D that it was made to look for, None for as many digits wherever it is.
    """

    start: Fraction
    stop: Fraction
    line: Line
    share: float = 1.0
    aim: float | None = None


class Stretches(Guesses):
    """The lines of one direction of the composed loss, made where they are needed.

    Args:
        moments: its M.
        opposite: M of the opposite direction, where that is of the same two distributions.
        digits: the digits of δ, or of 1 - δ where that is smaller, that lines are made for.
        above: bounds of what M leaves out of D, see :class:`Line`.
        floor: log of a D below which digits are those of the floor.
        lines: lines of the same loss, and to how many digits each was made; others are added.

    Attributes:
        splits, puts: whether usual noise may be split off, and lines be of the opposite direction.
        most_nodes: how many nodes a line may have, None for as many as it takes.
    """

    splits = puts = True

    def __init__(
        self,
        moments: Moments,
        opposite: Moments | None,
        digits: int,
        above: tuple[tuple[arb, arb], ...] = (),
        *,
        floor: float = -math.inf,
        lines: list[tuple[int, Line]] | None = None,
    ) -> None:
        super().__init__(moments, digits, floor)
        self.opposite, self.above = opposite, above
        self.lines: list[tuple[int, Line]] = [] if lines is None else lines
        self.most_nodes: int | None = None
        self._stretches: list[Stretch] = []
        self._rare: list[tuple[Fraction, Stretches]] = []

    def stretch(
        self, eps: Fraction, stop: Fraction | None = None, most: int | None = None
    ) -> Stretch:
        """Return a stretch that holds ε, and goes on towards ``stop`` as far as one line does.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes, or more than ``most``.
        """
        for known in self._stretches:
            if known.start <= eps < known.stop:
                return known
        if stop is None:
            for known in self._stretches:
                if eps == known.stop and known.aim in (None, self.aim):
                    return known
            for known in self._stretches[-_RECENT:]:
                if self._judged(known.line, [eps])[0].log_off <= known.share * self.log_tol:
                    return replace(known, start=eps, stop=eps)
        found = self._shared(eps, stop)
        if found is None:
            found = self._made(eps, stop, self.most_nodes if most is None else most)
        self._stretches.append(found)
        return found

    def _shared(self, eps: Fraction, stop: Fraction | None) -> Stretch | None:
        """Return a stretch by a line that was made for other ε or digits, if one does."""
        lines = [line for digits, line in self.lines if digits >= self.digits]
        lines = lines if self.puts else [line for line in lines if line.kind is not Kind.PUT]
        quick = [line for line in lines if line.choice.count < _QUICK][-_RECENT:]
        if not quick:
            return None
        places = places_of(eps, self._end(eps, stop))
        for line in reversed(quick):
            good = 0
            found = self._judged(line, places)
            while good < len(places) and found[good].good:
                good += 1
            if good >= min(2, len(places)):
                return Stretch(eps, places[good - 1], line, aim=self.aim)
        return None

    def _end(self, eps: Fraction, stop: Fraction | None) -> Fraction:
        return eps if stop is None else min(stop, eps + self._reach(eps))

    def cover(self, low: Fraction, high: Fraction) -> Iterator[Stretch]:
        """Yield stretches, each beginning where the last one ended, that cover [low, high]."""
        at = low
        while True:
            found = self.stretch(at, high)
            yield Stretch(at, min(found.stop, high), found.line)
            if found.stop >= high:
                return
            at = found.stop

    def _made(self, eps: Fraction, stop: Fraction | None, most: int | None) -> Stretch:
        # noise is split where lines need many nodes, and not where few are wanted
        fewer = _FEWER_NODES if has_little_noise(self.moments) else _DEAR_NODES
        few = most is not None and most < fewer
        whole = not self.splits or bool(self.above) or eps <= 0
        if few or whole or not can_be_split(self.moments):
            return self._made_whole(eps, stop, most)
        try:
            return self._made_whole(eps, stop, fewer)
        except (UndecidedError, WorkLimitError):
            found = self._made_rare(eps, stop, most)
            if found is not None:
                return found
            if most == fewer:
                raise
        return self._made_whole(eps, stop, most)

    def _made_rare(self, eps: Fraction, stop: Fraction | None, most: int | None) -> Stretch | None:
        """Return a stretch by lines of what is no usual noise, None where there is none."""
        # what is left out must be nothing beside δ where the stretch ends, too
        end = self._end(eps, stop)
        log = max(min(one.call for one in self._guesses([eps, end])), self.floor)
        for start, known in reversed(self._rare):
            if start <= eps and known.log_above(end) < log + self.log_tol:
                with suppress(UndecidedError, WorkLimitError):
                    return known.made_for(eps, stop, most, self.aim)
        for below in _BELOW:
            found = self._split_at(eps, max(log - below, self.floor))
            if found is None:
                continue
            with suppress(UndecidedError, WorkLimitError):
                stretch = found.made_for(eps, stop, most, self.aim)
                self._rare.append((eps, found))
                return stretch
        return None

    def _split_at(self, eps: Fraction, log_delta: float) -> Stretches | None:
        """Return what makes the cheapest lines for an ε of the soft steps that are looked at.

        None where they are more work than lines of the whole law.
        """
        best: Stretches | None = None
        least = known = self.work_for(eps, log_delta)
        share = log_delta + self.log_tol
        for steps in splits_from(self.moments.factors[0], float(eps), share):
            before = math.inf
            for split, tilt in steps:
                above, floor = split.above(tilt), self.floor
                found = Stretches(split.moments, None, self.digits, above, floor=floor)
                found.part_of = self.moments
                work = found.work_for(eps, log_delta)
                if work < least:
                    best, least = found, work
                elif work >= before:
                    # softer ones are more
                    break
                before = work
            if best is not None and least == known:
                # lower edges are more
                break
            known = least
        return best

    def log_above(self, eps: Fraction) -> float:
        """Return log of what M leaves out of D at an ε, at most."""
        at = ball(eps)
        return log_of(sum((size * (-tilt * at).exp() for tilt, size in self.above), arb(0)).upper())

    def made_for(
        self, eps: Fraction, stop: Fraction | None, most: int | None, aim: float | None
    ) -> Stretch:
        """Return a stretch of the lines of its own M; see :meth:`stretch`."""
        self.aim = aim
        return self._made_whole(eps, stop, most)

    def _made_whole(self, eps: Fraction, stop: Fraction | None, most: int | None) -> Stretch:
        reach, end = self._reach(eps), self._end(eps, stop)
        places = places_of(eps, end)
        guesses = self._guesses(places)
        below = 0.0
        last: tuple[Line, float] | None = None
        for number in range(_ATTEMPTS):
            try:
                line = self._cheapest(places, guesses, below, most)
            except WorkLimitError as error:
                if most is not None:
                    raise
                if last is not None and last[1] <= _NEARLY * self.log_tol:
                    # no line with fewer digits would be closer than the one before
                    return Stretch(eps, eps, last[0], _NEARLY)
                if below > _HOPELESS:
                    # fewer digits would not help: most of the work is to come down to δ
                    raise UndecidedError(str(error)) from error
                if len(places) == 1:
                    raise
                # a shorter stretch may need fewer nodes, and one ε fewest
                end = eps + (end - eps) / 8 if end - eps > reach / 64 else eps
                places = places_of(eps, end)
                guesses = self._guesses(places)
                continue
            self.lines[: 1 - _KEPT] = []
            self.lines.append((self.digits, line))
            found = self._judged(line, places)
            if all(one.good for one in found):
                self._learn(places, found)
                return Stretch(eps, end, line, aim=self.aim)
            last = line, found[0].log_off
            if number and len(places) > 1 and found[0].good:
                # where the rest is of another kind, another line does better
                if found[1].good:
                    return Stretch(eps, places[1], line)
                end = eps + (end - eps) / 4
                places = places_of(eps, end)
                found = self._judged(line, places)
                if all(one.good for one in found):
                    return Stretch(eps, end, line)
                guesses = self._guesses(places)
            # above D and above 1 - δ lies what the line has found
            before = guesses
            guesses = [
                Guess(min(old.call, new.call), min(old.put, new.put))
                for old, new in zip(before, found, strict=True)
            ]
            if max(min(one.call, one.put) for one in guesses) < LOG_LEAST:
                break
            # δ may lie far below Chernoff's bound, and is then approached in growing steps
            if number or len(places) == 1 or alike(before, guesses):
                below = 2 * below if below else _FURTHER
        raise UndecidedError(f"no line comes close enough to δ at ε = {float(eps):g}")

    def work_for(self, eps: Fraction, log_delta: float) -> float:
        """Return about what a line takes at an ε of known log δ; inf for too many nodes."""
        try:
            choice, log_error, kind = self._chosen([eps], [Guess(log_delta, 0.0)], 0.0)
        except WorkLimitError:
            return math.inf
        return needs_of(self._moments_for(kind), choice, log_error)[-1]

    def _cheapest(
        self, places: list[Fraction], guesses: list[Guess], below: float, most: int | None
    ) -> Line:
        """Return the line that needs fewest nodes for errors so far below what is guessed."""
        choice, log_error, kind = self._chosen(places, guesses, below)
        if most is not None and choice.count > most:
            raise WorkLimitError("more nodes than are wanted", choice.count, most)
        mirrored = kind is Kind.PUT
        found = self._moments_for(kind)
        tol, above = self.log_tol, self.above
        return Line(found, choice, log_error, mirrored=mirrored, log_tol=tol, above=above)

    def _chosen(
        self, places: list[Fraction], guesses: list[Guess], below: float
    ) -> tuple[Choice, float, Kind]:
        guesses = [Guess(max(one.call, self.floor), one.put) for one in guesses]
        targets = [min(one.call, one.put) + self.log_tol - below for one in guesses]
        best: tuple[Choice, float, Kind] | None = None
        failed: WorkLimitError | None = None
        for kind in self._kinds(guesses):
            # another kind is worth a look where this one needs many nodes
            if best is not None and best[0].count < _MANY:
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
        return best

    def _moments_for(self, kind: Kind) -> Moments:
        if kind is not Kind.PUT:
            return self.moments
        assert self.opposite is not None
        return self.opposite

    def _logs(self, kind: Kind, places: list[Fraction], guesses: list[Guess]) -> list[float]:
        """Return log of what a line of a kind finds, roughly."""
        if kind is Kind.PUT:
            assert self.opposite is not None
            return [float(one) for one in self.opposite.tilts.at(-floats_of(places)).guess]
        return [one.put if kind is Kind.REST else one.call for one in guesses]

    def _kinds(self, guesses: list[Guess]) -> list[Kind]:
        """Return which lines are worth a look, the likeliest first."""
        if self.above:
            # what is left of M has another mass than 1
            return [Kind.CALL]
        found = []
        if self.moments.domain[1] > 0 and any(one.put >= SMALL for one in guesses):
            found.append(Kind.CALL)
        if self.moments.domain[1] <= 0 or any(one.call >= SMALL for one in guesses):
            found.append(Kind.REST)
        if self.puts and self.opposite is not None and self.opposite.domain[1] > 0:
            found.append(Kind.PUT)
        return found
