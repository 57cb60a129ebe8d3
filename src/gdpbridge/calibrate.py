"""Calibrate: the parameter with which a mechanism meets a target, from the safe side.

What the targets are about (see goals.py) is monotone in each parameter that declares its effect.
The answer is a bracket: at its safe end the number is proved to be at most the target, at its other
end to be above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from pydantic.fields import FieldInfo

from gdpbridge.calibration import Calibration
from gdpbridge.errors import InputError, UndecidedError, WorkLimitError
from gdpbridge.goals import Goal, Tried, goal_of
from gdpbridge.interval import Interval
from gdpbridge.measure.entry import is_provable
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import profile_class
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.exact import float_floor
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.several import over_lists

__all__ = ["Calibration", "calibrate", "typical"]

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
_RUNS = "times"


@with_bar
@over_lists("kind", "target_mu", "target_epsilon", "target_delta", "target_advantage", "target_tpr")
def calibrate(
    kind: str,
    target_mu: Real | None = None,
    *,
    target_epsilon: Real | None = None,
    target_delta: Real | None = None,
    target_advantage: Real | None = None,
    target_tpr: Real | None = None,
    target_fpr: Real | None = None,
    parameter: str | None = None,
    tol: Real | None = None,
    eps_h: Real | None = None,
    failure: Real | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Calibration:
    """Find the parameter value with which a mechanism meets a target.

    Args:
        kind: the mechanism's kind, such as "laplace". It and the targets may be lists, of one
            length: a list of answers comes then.
        target_mu: a target μ > 0.
        target_epsilon: with target_delta: δ(ε) must not exceed that δ at this ε ≥ 0.
        target_delta: the δ in (0, 1).
        target_advantage: the most that an attacker's true-positive rate may exceed the
            false-positive rate by, in (0, 1): δ(0).
        target_tpr: with target_fpr: the largest true-positive rate allowed, in (0, 1).
        target_fpr: the false-positive rate that it is allowed at.
        parameter: the free parameter; by default the one required parameter that is not given;
            "times" for the number of runs of a mechanism that is given whole.
        tol: with target_mu, the width of the intervals for μ, in [1e-100, 1]; that of
            :func:`gdpbridge.measure` if None, relative to a target below 1; the safe end falls
            short of the target by no more than that.
        eps_h: as for :func:`gdpbridge.measure`: a target for a head statement.
        failure: as for :func:`gdpbridge.measure`: a target for an approximate statement.
        progress: called with a sentence and a share in [0, 1] during long work; None draws a bar
            in a terminal or a notebook once that takes over a second.
        **parameters: the other parameters.

    Returns:
        The bracket, and the mechanism at the safe end. Its ends are 1e-6 apart or less, relative
        to the parameter, or neighbours where it is a whole number.

    Raises:
        InputError: for an unknown kind or parameter, or a target that no value reaches.
    """
    goal = goal_of(
        target_mu,
        target_epsilon,
        target_delta,
        target_advantage,
        target_tpr,
        target_fpr,
        tol=tol,
        eps_h=eps_h,
        failure=failure,
    )
    cls, parameters = _searched(kind, parameter, parameters)
    free, raises = _free_parameter(cls, parameter, parameters)
    unit = cls.unit_of(free, parameters)

    def counted(value: float) -> float | int:
        if unit is None:
            return value
        return int(value) if unit == 1 else float_floor(int(value) * unit)

    def with_value(value: float) -> Profile:
        return cls(**parameters, **{free: counted(value)})

    info = cls.parameters()[free]
    search = _Search(info, free, raises, unit, goal, with_value, progress or silent)
    safe, beyond = search.bracket()
    found = safe.tried
    assert found is not None
    value, other = counted(safe.value), counted(beyond.value)
    return Calibration(
        free,
        goal,
        value,
        other,
        found.value,
        found.profile,
        with_value(beyond.value),
        is_provable(found.profile),
        found.measurement,
    )


def typical(kind: str, parameter: str | None = None, **parameters: Any) -> Profile:
    """Return a mechanism that :func:`calibrate` looks at, with a usual value of what is free.

    Raises:
        InputError: for an unknown kind or parameter, or one that is not for all values of others.
    """
    cls, parameters = _searched(kind, parameter, parameters)
    free, _ = _free_parameter(cls, parameter, parameters)
    extra = cast(dict[str, Any], cls.parameters()[free].json_schema_extra)
    return cls(**parameters, **{free: extra["typical"][0]})


def _searched(
    kind: str, parameter: str | None, parameters: dict[str, Any]
) -> tuple[type[Profile], dict[str, Any]]:
    """Return what is searched along: of the number of runs, the mechanism run several times."""
    cls = profile_class(kind)
    if parameter == _RUNS and _RUNS not in cls.parameters():
        return profile_class("composed"), {"base": cls(**parameters)}
    return cls, parameters


def _free_parameter(
    cls: type[Profile], name: str | None, given: dict[str, Any]
) -> tuple[str, bool]:
    """Return the free parameter, and whether μ rises with it."""
    kind = cls.model_fields["kind"].default
    effects = {
        field: cast(dict[str, Any], info.json_schema_extra or {}).get("effect")
        for field, info in cls.parameters().items()
    }
    possible = [field for field, effect in effects.items() if effect]
    if not possible:
        raise InputError("kind", kind, "one with a parameter that raises or lowers μ throughout")
    if name is None:
        known = {**given, **cls.derived(given)}
        missing = [
            field
            for field, info in cls.parameters().items()
            if info.is_required() and field not in known
        ]
        if len(missing) != 1:
            wanted = "" if len(effects) == 1 else f", or give all but one of {', '.join(effects)}"
            raise InputError.missing("parameter", f"name the one to find{wanted}")
        name = missing[0]
    elif name in given:
        raise InputError("parameter", name, "one that is not given a value")
    if name not in possible:
        raise InputError("parameter", name, f"one of {', '.join(possible)} for {kind}")
    return name, effects[name] == "raises"


@dataclass(frozen=True)
class _Place:
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


class _Search:
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
        return self.sign * math.log(value)

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

    def _guessed(self, x: float) -> _Place:
        value = self._value(x)
        return _Place(value, self._x(value), self._y(self.goal.guessed(self._profile(value))))

    def _tried(self, x: float) -> _Place:
        value = self._value(x)
        tried = self.goal.tried(self._profile(value))
        return _Place(value, self._x(value), self._y(tried.value), tried)

    def _y(self, found: Interval) -> float:
        logs = [_log(end) for end in (found.low, found.high)]
        if logs[1] == math.inf:
            return math.inf
        middle = (logs[0] + logs[1]) / 2 if logs[0] > -math.inf else logs[1]
        return middle - _log(self.goal.target)

    # --- the search ---------------------------------------------------------------------------

    def bracket(self) -> tuple[_Place, _Place]:
        """Return a value that meets the target and one that misses it, both proved."""
        start = sum(self._x(one) for one in self.typical) / 2
        for _ in range(_MAX_ROUNDS):
            below, above = self._root(start)
            near = below if abs(below.y) < abs(above.y) else above
            if self.goal.settled(self._profile(near.value)):
                break
            start = near.x
        return self._proved(below, above)

    def _root(self, start: float) -> tuple[_Place, _Place]:
        """Return two places on either side of the target, as close as guesses tell."""
        below: _Place | None = None
        above: _Place | None = None
        wall: float | None = None
        before: _Place | None = None
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

    def _is_close(self, below: _Place, above: _Place) -> bool:
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
        before: _Place | None,
        now: _Place,
        below: _Place | None,
        above: _Place | None,
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
            x = self._x(max(now.value + math.copysign(1, self.sign * (x - now.x)), 0.5))
        # at the end of the parameter's range there is nowhere to go
        return None if self._value(x) == now.value else x

    def _between(self, x: float, below: _Place, above: _Place) -> float:
        low, high = sorted((below.value, above.value))
        return self._x(min(max(self._value(x), low + 1), high - 1))

    def _out_of_reach(
        self, below: _Place | None, above: _Place | None, refused: Exception | None
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

    def _pads(self, at: _Place) -> list[float]:
        """How far from a place the two ends are proved first."""
        spares = self.goal.spares(self._profile(at.value))
        return [spare / self.slope or _PAD / 8 for spare in spares]

    # --- the proof ----------------------------------------------------------------------------

    def _proved(self, below: _Place, above: _Place) -> tuple[_Place, _Place]:
        """Prove both ends, as close to the place found as what is proved there allows."""
        if self.whole:
            return self._proved_neighbours(below, above)
        at = below if abs(below.y) < abs(above.y) else above
        root = at.x - at.y / self.slope if abs(at.y) < _PAD else at.x
        pads = self._pads(at)
        return self._safe(min(root, above.x), pads[0]), self._beyond(max(root, below.x), pads[1])

    def _safe(self, x: float, pad: float) -> _Place:
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

    def _beyond(self, x: float, pad: float) -> _Place:
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

    def _meets(self, x: float) -> _Place | None:
        found = self._tried(x)
        assert found.tried is not None
        return found if found.tried.value.high <= self.goal.target else None

    def _misses(self, x: float) -> _Place | None:
        value = self._value(x)
        missed = self.goal.exceeded(self._profile(value))
        return _Place(value, self._x(value), 0.0) if missed else None

    def _proved_neighbours(self, below: _Place, above: _Place) -> tuple[_Place, _Place]:
        value, step = int(below.value), int(above.value - below.value)
        safe = self._meets(self._x(value))
        while safe is None:
            value -= step
            safe = self._meets(self._x(value))
        value += step
        while self._misses(self._x(value)) is None:
            value += step
        return safe, _Place(value, self._x(value), 0.0)


def _is_about_input(error: Exception) -> bool:
    """Whether another value of the parameter would not help."""
    return isinstance(error, InputError) and error.field.startswith("tol")


def _log(value: Decimal) -> float:
    if value.is_infinite():
        return math.inf
    return float(value.ln()) if value > 0 else -math.inf
