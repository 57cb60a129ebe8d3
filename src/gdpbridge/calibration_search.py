"""The search for the two ends of the bracket in which a target is met."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError, UndecidedError, WorkLimitError
from gdpbridge.goals import Goal, Tried
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.effort import within
from gdpbridge.progress import Progress

__all__ = ["ELSE", "Search"]

_MAX_STEPS = 120
_MAX_ROUNDS = 6
# a step away from what is known is at most this factor
_LARGEST_STEP = math.log(4)
# where to look between a value that is not refused and one that is, and how often
_INWARD, _REFUSALS = 0.5, 8
# of a parameter, relative: where a search stops, and how far the ends are from where it did
_CLOSE, _PAD = 1e-12, 1e-8
# how often the distances of the ends grow
_PADS, _MORE = 60, 1.5
# beside the first distance of the safe end, how far off the slope still tells where to go
_TOLD = 16
# mechanisms that are kept
_KEPT = 3
# what stands for 0 on a logarithmic scale
_LEAST_WHOLE = 0.5
ELSE = "another target or parameter, more noise or fewer runs take less"


@dataclass(frozen=True)
class Place:
    """A value that was tried.

    Attributes:
        value: it.
        x: what a search moves along: its logarithm, turned so that the number grows.
        y: log of the number over the target, roughly.
        tried: what is proved there, if that was asked.
    """

    value: float
    x: float
    y: float
    tried: Tried | None = None


class Search:
    """Search along one parameter for the two ends of the bracket."""

    def __init__(
        self,
        info: FieldInfo,
        name: str,
        raises: bool,
        unit: Fraction | None,
        goal: Goal,
        with_value: Callable[[float], Profile],
        progress: Progress,
    ) -> None:
        extra = cast(dict[str, Any], info.json_schema_extra)
        self.whole, self.unit = unit is not None, float(unit or 1)
        # all values are numbers of units
        self.typical = [float(value) / self.unit for value in extra["typical"]]
        self.name, self.sign = name, 1 if raises else -1
        self.goal, self.with_value, self.progress = goal, with_value, progress
        ends = [getattr(one, key, None) for one in info.metadata for key in ("ge", "le")]
        limits = [float(one) / self.unit for one in ends if one]
        below = [one for one in limits if one <= self.typical[0]]
        above = [one for one in limits if one >= self.typical[1]]
        self.least, self.most = max(below, default=0.0), min(above, default=math.inf)
        self.evaluations = 0
        self.slope = 1.0
        self.known: dict[float, Profile] = {}

    # --- places -------------------------------------------------------------------------------

    def _x(self, value: float) -> float:
        # of whole numbers 0 may be one
        return self.sign * math.log(max(value, _LEAST_WHOLE) if self.whole else value)

    def _value(self, x: float) -> float:
        value = min(max(math.exp(self.sign * x), self.least), self.most)
        return float(round(value)) if self.whole else value

    def _profile(self, value: float) -> Profile:
        """Return the mechanism with a value; its curve may be dear, and is not made twice."""
        found = self.known.pop(value, None)
        if found is None:
            self.evaluations += 1
            self.progress("searching", 1 - 0.93**self.evaluations)
            found = self.with_value(value)
        # the last ones: a curve may also be large
        self.known = {**dict(list(self.known.items())[-_KEPT:]), value: found}
        return found

    def _guessed(self, x: float) -> Place:
        value = self._value(x)
        with self._within(value):
            found = self.goal.guessed(self._profile(value))
        return Place(value, self._x(value), self._y(found))

    def _within(self, value: float) -> AbstractContextManager[None]:
        """Let what is asked of one mechanism be as much work as any question may."""
        return within(f"{self.goal.symbol} at {self.name} = {value * self.unit:g}", ELSE)

    def _tried(self, x: float) -> Place:
        value = self._value(x)
        with self._within(value):
            tried = self.goal.tried(self._profile(value))
        return Place(value, self._x(value), self._y(tried.value), tried)

    def _y(self, found: Interval) -> float:
        logs = [_log(end) for end in (found.low, found.high)]
        if logs[1] == math.inf:
            return math.inf
        middle = (logs[0] + logs[1]) / 2 if logs[0] > -math.inf else logs[1]
        return middle - _log(self.goal.target)

    # --- the search ---------------------------------------------------------------------------

    def bracket(self) -> tuple[Place, Place]:
        """Return a value that meets the target and one that misses it, both proved."""
        start = sum(self._x(one) for one in self.typical) / 2
        for _ in range(_MAX_ROUNDS):
            below, above = self._root(start)
            near = below if abs(below.y) < abs(above.y) else above
            if self.goal.settled(self._profile(near.value)):
                break
            start = near.x
        return self._proved(below, above)

    def _root(self, start: float) -> tuple[Place, Place]:
        """Return two places on either side of the target, as close as guesses tell."""
        below: Place | None = None
        above: Place | None = None
        wall: float | None = None
        before: Place | None = None
        refused: Exception | None = None
        refusals = 0
        x = start
        for step in range(_MAX_STEPS):
            try:
                now = self._guessed(x)
            except (InputError, UndecidedError, WorkLimitError) as error:
                known = below or above
                if known is None or _is_about_input(error):
                    raise
                # a value that is not allowed: between it and the last one others may be
                wall, refused, refusals = x, error, refusals + 1
                x = known.x + (wall - known.x) * _INWARD
                if refusals == _REFUSALS or self._value(x) == known.value:
                    break
                continue
            if now.y <= 0:
                below = now if below is None or now.x >= below.x else below
            else:
                above = now if above is None or now.x <= above.x else above
            if below is not None and above is not None and self._is_close(below, above):
                return below, above
            after = self._next(before, now, below, above, wall, halve=step % 4 == 3)
            if after is None:
                break
            before, x = now, after
        if below is None or above is None:
            raise self._out_of_reach(below, above, refused)
        return below, above

    def _is_close(self, below: Place, above: Place) -> bool:
        if self.whole:
            return abs(above.value - below.value) <= 1
        at = below if -below.y < above.y else above
        distance = abs(at.y)
        if distance < _CLOSE or above.x - below.x < _CLOSE:
            return True
        # the slope tells the rest
        return distance < min(_PAD, _TOLD * self._pads(at)[0] * self.slope)

    def _next(
        self,
        before: Place | None,
        now: Place,
        below: Place | None,
        above: Place | None,
        wall: float | None,
        *,
        halve: bool,
    ) -> float | None:
        """Return where to look next: by the secant, between what is known; None for nowhere."""
        if before is not None and before.x != now.x:
            slope = (now.y - before.y) / (now.x - before.x)
            self.slope = slope if math.isfinite(slope) and slope > 0 else self.slope
        move = -now.y / self.slope if math.isfinite(now.y) else math.copysign(math.inf, -now.y)
        x = now.x + min(max(move, -_LARGEST_STEP), _LARGEST_STEP)
        if below is not None and above is not None:
            width = above.x - below.x
            inside = below.x < x < above.x
            if not inside or (halve and abs(move) > width / 8):
                x = (below.x + above.x) / 2
            if self.whole:
                x = self._between(x, below, above)
            return x
        if abs(move) < _CLOSE:
            # on the target: the other side is hardly further
            x = now.x + math.copysign(_PAD, -now.y if now.y else 1.0)
        if wall is not None and (wall - x) * (wall - now.x) <= 0:
            x = now.x + (wall - now.x) * _INWARD
        if self.whole and self._value(x) == now.value:
            x = self._x(now.value + math.copysign(1, self.sign * (x - now.x)))
        # at the end of the parameter's range there is nowhere to go
        return None if self._value(x) == now.value else x

    def _between(self, x: float, below: Place, above: Place) -> float:
        low, high = sorted((below.value, above.value))
        return self._x(min(max(self._value(x), low + 1), high - 1))

    def _out_of_reach(
        self, below: Place | None, above: Place | None, refused: Exception | None
    ) -> Exception:
        """Return the error that no value meets the target, or misses it."""
        if isinstance(refused, UndecidedError | WorkLimitError):
            return refused
        nearest = below or above
        assert nearest is not None
        value = self.goal.guessed(self._profile(nearest.value))
        bound = "below" if above is None else "at least"
        target = float(self.goal.target)
        return InputError(self.goal.field, target, f"{bound} {value.upper:.6g}")

    def _pads(self, at: Place) -> list[float]:
        """How far from a place the two ends are proved first."""
        spares = self.goal.spares(self._profile(at.value))
        return [spare / self.slope or _PAD / 8 for spare in spares]

    # --- the proof ----------------------------------------------------------------------------

    def _proved(self, below: Place, above: Place) -> tuple[Place, Place]:
        """Prove both ends, as close to the place found as what is proved there allows."""
        if self.whole:
            return self._proved_neighbours(below, above)
        at = below if abs(below.y) < abs(above.y) else above
        root = at.x - at.y / self.slope if abs(at.y) < _PAD else at.x
        pads = self._pads(at)
        return self._safe(min(root, above.x), pads[0]), self._beyond(max(root, below.x), pads[1])

    def _safe(self, x: float, pad: float) -> Place:
        """Go away from a place until it is proved that the target is met."""
        for _ in range(_PADS):
            found = self._tried(x - pad)
            assert found.tried is not None
            excess = _log(found.tried.value.high) - _log(self.goal.target)
            if excess <= 0 and found.tried.value.high <= self.goal.target:
                return found
            # what is missing shows how much further
            missing = excess / self.slope if math.isfinite(excess) else 0.0
            pad = max(pad + _MORE * missing, _MORE * pad if missing < pad / 8 else 0.0)
        raise self._undecided(x)

    def _beyond(self, x: float, pad: float) -> Place:
        """Go away from a place until it is proved that the target is missed."""
        for _ in range(_PADS):
            found = self._misses(x + pad)
            if found is not None:
                return found
            pad *= _MORE
        raise self._undecided(x)

    def _undecided(self, x: float) -> UndecidedError:
        return UndecidedError(
            f"the target could not be told from what is reached at "
            f"{self.name} = {self._value(x) * self.unit:g}"
        )

    def _meets(self, x: float) -> Place | None:
        found = self._tried(x)
        assert found.tried is not None
        return found if found.tried.value.high <= self.goal.target else None

    def _misses(self, x: float) -> Place | None:
        value = self._value(x)
        with self._within(value):
            missed = self.goal.exceeded(self._profile(value))
        return Place(value, self._x(value), 0.0) if missed else None

    def _proved_neighbours(self, below: Place, above: Place) -> tuple[Place, Place]:
        value, step = int(below.value), int(above.value - below.value)
        safe = self._meets(self._x(value))
        while safe is None:
            value -= step
            safe = self._meets(self._x(value))
        value += step
        while self._misses(self._x(value)) is None:
            value += step
        return safe, Place(value, self._x(value), 0.0)


def _is_about_input(error: Exception) -> bool:
    """Whether another value of the parameter would not help."""
    return isinstance(error, InputError) and error.field.startswith("tol")


def _log(value: Decimal) -> float:
    if value.is_infinite():
        return math.inf
    return float(value.ln()) if value > 0 else -math.inf
