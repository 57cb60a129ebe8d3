"""Calibrate: the parameter with which a mechanism meets a target, from the safe side.

What the targets are about (see goals.py) is monotone in each parameter that declares its effect.
The answer is a bracket: at its safe end the number is proved to be at most the target, at its other
end to be above it.
"""

from __future__ import annotations

from typing import Any, cast

from gdpbridge.calibration import Calibration
from gdpbridge.calibration_search import ELSE, Search
from gdpbridge.errors import InputError
from gdpbridge.goals import goal_of
from gdpbridge.measure.entry import is_provable
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import profile_class
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.effort import MOST_WORK, within
from gdpbridge.numeric.exact import float_floor
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.several import over_lists

__all__ = ["Calibration", "calibrate", "typical"]

_RUNS = "times"
# a search may be so many times the work of a question
_PLACES = 3


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
        WorkLimitError: for more work than is allowed for one search.
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
    search = Search(info, free, raises, unit, goal, with_value, progress or silent)
    with within(f"{free} of {kind} for {goal.words}", ELSE, _PLACES * MOST_WORK):
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


def _which(missing: list[str], possible: list[str]) -> str:
    """Return what to give, where what to find is not one parameter alone."""
    if missing:
        *others, last = missing
        return f"of {', '.join(others)} and {last} give all but the one to find"
    return f"name the one to find, {' or '.join(possible)}, and leave its value out"


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
            raise InputError.missing("parameter", _which(missing, possible))
        name = missing[0]
    elif name in given:
        raise InputError("parameter", name, "one that is not given a value")
    if name not in possible:
        raise InputError("parameter", name, f"one of {', '.join(possible)} for {kind}")
    return name, effects[name] == "raises"
