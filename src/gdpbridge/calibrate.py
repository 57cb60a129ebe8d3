"""Calibrate: the parameter of a mechanism that reaches a target μ, from the safe side.

μ is monotone in each parameter that declares its effect. The answer is a bracket: at its safe end
μ is proved to be at most the target, at its other end to be above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, cast

from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, default_tol, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import profile_class
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import exact

__all__ = ["Calibration", "calibrate"]


_MAX_STEPS = 120
_WIDEN = 4.0
# how much of the tolerance may be given away at the safe end
_NEAR = 8


@dataclass(frozen=True)
class Calibration:
    """The answer of :func:`calibrate`.

    Attributes:
        parameter: the parameter that was free.
        target_mu: the target.
        value: the safe end: here μ is proved to be at most the target.
        beyond: the other end of the bracket: here μ is proved to be above the target.
        profile: the mechanism with the safe value.
        measurement: its measurement.
    """

    parameter: str
    target_mu: float
    value: float
    beyond: float
    profile: Profile
    measurement: Measurement


def calibrate(
    kind: str,
    target_mu: Real,
    *,
    parameter: str | None = None,
    tol: Real | None = None,
    eps_h: Real | None = None,
    failure: Real | None = None,
    **parameters: Any,
) -> Calibration:
    """Find the parameter value at which a mechanism's μ meets a target.

    Args:
        kind: the mechanism's kind, such as "laplace".
        target_mu: the target μ > 0.
        parameter: the free parameter; by default the one required parameter that is not given.
        tol: the width of the intervals for μ, in [1e-100, 1]; that of
            :func:`gdpbridge.measure` if None, relative to a target below 1; the safe end falls
            short of the target by no more than that.
        eps_h: as for :func:`gdpbridge.measure`: a target for a head statement.
        failure: as for :func:`gdpbridge.measure`: a target for an approximate statement.
        **parameters: the other parameters.

    Returns:
        The bracket, and the mechanism and its measurement at the safe end.

    Raises:
        InputError: for an unknown kind or parameter, or a target that no value reaches.
    """
    cls = profile_class(kind)
    target = _target(target_mu)
    free, raises = _free_parameter(cls, parameter, parameters)

    def profile(value: float) -> Profile:
        return cls(**parameters, **{free: value})

    def mu_at(value: float) -> Interval:
        tried = profile(value)
        p, default = failure, tried.default_failure
        if default is not None and eps_h is None and p is None:
            # where it is named there are no answers at other failure probabilities
            p = float(default)
        return measure(tried, tol, eps_h=eps_h, failure=p).mu

    info = cls.parameters()[free]
    # at most the target, read as a decimal and as a binary number alike
    limit = min(Decimal(float.__repr__(target)), Decimal(target))
    safe, beyond = _Search(info, raises, limit, _width(profile, info, limit, tol), mu_at).bracket()
    found = profile(safe.value)
    measured = measure(found, tol, eps_h=eps_h, failure=failure)
    return Calibration(free, target, safe.value, beyond.value, found, measured)


def _typical(info: FieldInfo) -> tuple[float, float]:
    low, high = cast(dict[str, Any], info.json_schema_extra)["typical"]
    return float(low), float(high)


def _width(
    profile: Callable[[float], Profile], info: FieldInfo, target: Decimal, tol: Real | None
) -> Decimal:
    """Return how wide the intervals for μ are near the target."""
    if tol is None:
        # relative below 1, as measured intervals are
        return Decimal(str(default_tol(profile(_typical(info)[0])))) * min(target, Decimal(1))
    exact_between("tol", tol, Fraction(1, 10**100), Fraction(1), "a number in [1e-100, 1]")
    return Decimal(str(tol))


def _target(target_mu: Real) -> float:
    try:
        target = exact(target_mu)
    except ValueError:
        target = exact(0)
    if not 0 < target <= 1000:
        raise InputError("target_mu", target_mu, "a number > 0 and at most 1000")
    return float(target)


def _free_parameter(
    cls: type[Profile], name: str | None, given: dict[str, Any]
) -> tuple[str, bool]:
    """Return the free parameter, and whether μ rises with it."""
    kind = cls.model_fields["kind"].default
    effects = {
        field: cast(dict[str, Any], info.json_schema_extra).get("effect")
        for field, info in cls.parameters().items()
    }
    possible = [field for field, effect in effects.items() if effect]
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
        if not possible:
            raise InputError(
                "kind", kind, "one with a parameter that raises or lowers μ throughout"
            )
        raise InputError("parameter", name, f"one of {', '.join(possible)} for {kind}")
    return name, effects[name] == "raises"


@dataclass(frozen=True)
class _Tried:
    value: float
    mu: Interval


class _Search:
    """Search along one parameter for the two ends of the bracket."""

    def __init__(
        self,
        info: FieldInfo,
        raises: bool,
        target: Decimal,
        width: Decimal,
        mu_at: Callable[[float], Interval],
    ) -> None:
        self.whole = info.annotation is int
        self.typical = _typical(info)
        self.raises, self.target, self.mu_at = raises, target, cache(mu_at)
        self.near = width / _NEAR

    def bracket(self) -> tuple[_Tried, _Tried]:
        """Return a value with μ ≤ target and one with μ > target, both proved, close together."""
        safe, beyond = self._reach(below=True), self._reach(below=False)
        # what is left between the two ends is what intervals of this width cannot tell
        nearest, _ = self._narrow(safe, beyond, lambda mu: mu.high - self.target)
        _, next_ = self._narrow(nearest, beyond, lambda mu: mu.low - self.target)
        return nearest, next_

    def _reach(self, below: bool) -> _Tried:
        """Go out from a typical value until μ is proved to be below, or above, the target.

        Raises:
            InputError: if the parameter's range ends before.
        """
        downwards = below == self.raises
        end = self.typical[0 if downwards else 1]
        middle = math.sqrt(math.prod(self.typical))
        value = float(round(middle)) if self.whole else middle
        nearest: _Tried | None = None
        for _ in range(_MAX_STEPS):
            try:
                nearest = _Tried(value, self.mu_at(value))
            except InputError as error:
                if nearest is None or error.field.startswith("tol"):
                    raise
                break
            mu = nearest.mu
            if mu.high <= self.target if below else mu.low > self.target:
                return nearest
            step = value / _WIDEN if downwards else value * _WIDEN
            # an end of the typical range is not passed over: it may be that of the range allowed
            if min(value, step) < end < max(value, step):
                step = end
            if self.whole and step < 1:
                break
            value = float(math.floor(step)) if self.whole else step
        assert nearest is not None
        bound = "at least" if below else "below"
        raise InputError("target_mu", self.target, f"{bound} {nearest.mu.upper:.6g}")

    def _narrow(
        self, low: _Tried, high: _Tried, excess: Callable[[Interval], Decimal]
    ) -> tuple[_Tried, _Tried]:
        """Close in on the change of sign of ``excess``: it is ≤ 0 at ``low``, > 0 at ``high``."""
        below, above = excess(low.mu), excess(high.mu)
        last, other = (low, below), (high, above)
        for step in range(_MAX_STEPS):
            if -below <= self.near and above <= self.near:
                break
            # the line through the last two points, to where the end that is not near yet will be;
            # bisection now and then makes sure that this converges at all
            aim = self.near / 2 if -below <= self.near else -self.near / 2
            share = 0.5 if step % 4 == 3 else self._share(low.value, high.value, last, other, aim)
            value = self._between(low.value, high.value, share)
            if value in (low.value, high.value):
                break
            tried = _Tried(value, self.mu_at(value))
            gap = excess(tried.mu)
            other, last = last, (tried, gap)
            if gap <= 0:
                low, below = tried, gap
            else:
                high, above = tried, gap
        return low, high

    def _share(
        self,
        low: float,
        high: float,
        last: tuple[_Tried, Decimal],
        other: tuple[_Tried, Decimal],
        aim: Decimal,
    ) -> float:
        """Return how far between two values a line, in logarithms, takes the excess to an aim."""
        if not (last[1].is_finite() and other[1].is_finite()) or last[1] == other[1]:
            return 0.5
        at, before = (math.log(one[0].value / low) for one in (last, other))
        # μ is nearer to a power of the parameter than to a line
        size, past, aimed = (
            float((self.target + excess).ln()) if self.target + excess > 0 else -math.inf
            for excess in (last[1], other[1], aim)
        )
        if not math.isfinite(size - past) or size == past:
            return 0.5
        share = (at + (aimed - size) * (at - before) / (size - past)) / math.log(high / low)
        return share if 0 < share < 1 else 0.5

    def _between(self, low: float, high: float, share: float) -> float:
        if self.whole:
            inner = sorted((low, high))
            rounded = round(low + share * (high - low))
            return (
                float(min(max(rounded, inner[0] + 1), inner[1] - 1)) if abs(high - low) > 1 else low
            )
        value = math.exp((1 - share) * math.log(low) + share * math.log(high))
        return min(max(value, min(low, high)), max(low, high))
