"""Budgets of OpenDP and Tumult Analytics, as profiles.

A budget of OpenDP is a pair of a privacy measure and its bound; one of Tumult is a
``PureDPBudget``, ``ApproxDPBudget`` or ``RhoZCDPBudget``, with ``epsilon``, ``delta`` and ``rho``.
What comes in is the class of all mechanisms within the budget. Out, ``gdpbridge.calibrate("zcdp",
μ)`` and its like give the largest budget all of whose mechanisms are within μ.
"""

from __future__ import annotations

from typing import Any

from gdpbridge.errors import InputError
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.exact import decimal_ceiling, rational

__all__ = ["is_budget", "profile_of_budget"]

_PURE, _APPROXIMATE = "MaxDivergence", "Approximate(MaxDivergence)"
_CONCENTRATED = "ZeroConcentratedDivergence"


def is_budget(source: Any) -> bool:
    """Return whether an object is a budget of one of the two."""
    if isinstance(source, tuple):
        return len(source) == 2 and type(source[0]).__module__.startswith("opendp")
    return type(source).__name__.endswith("Budget") and "tmlt" in {
        base.__module__.partition(".")[0] for base in type(source).__mro__
    }


def profile_of_budget(source: Any) -> Profile:
    """Return the class of all mechanisms within a budget.

    Raises:
        InputError: for a budget of another measure, by its name.
    """
    if isinstance(source, tuple):
        measure, bound = str(source[0]), source[1]
    else:
        measure, bound = _of_tumult(source)
    match measure:
        case "MaxDivergence":
            return PureDP(epsilon=_up(bound))
        case "Approximate(MaxDivergence)":
            epsilon, delta = (_up(one) for one in bound)
            return ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
        case "ZeroConcentratedDivergence":
            return ZCDP(rho=_up(bound))
    allowed = f"one of {_PURE}, {_APPROXIMATE} and {_CONCENTRATED}"
    raise InputError("budget", measure, allowed)


def _of_tumult(source: Any) -> tuple[str, Any]:
    match type(source).__name__:
        case "PureDPBudget":
            return _PURE, source.epsilon
        case "ApproxDPBudget":
            return _APPROXIMATE, (source.epsilon, source.delta)
        case "RhoZCDPBudget":
            return _CONCENTRATED, source.rho
    return type(source).__name__, None


def _up(value: Any) -> float:
    """A float that is no smaller: of floats themselves, and of exact numbers as text."""
    if isinstance(value, int | float):
        return float(value)
    try:
        exact = rational(str(value))
    except ValueError:
        raise InputError("budget", str(value), "a finite number") from None
    return float(decimal_ceiling(exact, 15))
