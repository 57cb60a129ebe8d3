"""Budgets of OpenDP and Tumult Analytics, in and out."""

from __future__ import annotations

from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError

P = gdp.profiles


def _tumult(name: str, **values: Any) -> Any:
    """A stand-in for a budget of Tumult: its name, its module, its numbers."""
    return type(name, (), {"__module__": "tmlt.analytics.privacy_budget", **values})()


@pytest.mark.parametrize(
    ("budget", "profile"),
    [
        (_tumult("PureDPBudget", epsilon=1.5), P.PureDP(epsilon=1.5)),
        (
            _tumult("ApproxDPBudget", epsilon=1, delta=1e-6),
            P.ApproxDP(epsilon=1.0, delta=1e-6),
        ),
        (_tumult("RhoZCDPBudget", rho=0.5), P.ZCDP(rho=0.5)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_tumult(budget: Any, profile: gdp.Profile) -> None:
    """Each budget is the class of the mechanisms within it."""
    assert gdp.profile_of(budget) == profile


def test_tumult_itself() -> None:
    """Its own budgets go in, and a μ comes out as one."""

    tumult = pytest.importorskip("tmlt.analytics")
    assert gdp.profile_of(tumult.PureDPBudget(1.5)) == P.PureDP(epsilon=1.5)
    assert gdp.profile_of(tumult.ApproxDPBudget(1, 1e-6)) == P.ApproxDP(epsilon=1, delta=1e-6)
    budget = tumult.RhoZCDPBudget(0.5) + tumult.RhoZCDPBudget(0.25)
    assert gdp.profile_of(budget) == P.ZCDP(rho=0.75)
    out = tumult.RhoZCDPBudget(gdp.calibrate("zcdp", 1.0).value)
    assert gdp.measure(gdp.profile_of(out)).mu.upper <= 1


def test_exact_numbers_are_rounded_up() -> None:
    """A number with more digits than a float is a larger one; other budgets are named."""
    exact = type("ExactNumber", (), {"__str__": lambda _: "0.33333333333333333333333333333334"})()
    found = gdp.profile_of(_tumult("RhoZCDPBudget", rho=exact))
    assert 1 / 3 < found.rho < 1 / 3 + 1e-14
    with pytest.raises(InputError, match="budget is 'OtherBudget'"):
        gdp.profile_of(_tumult("OtherBudget"))


def test_opendp() -> None:
    """OpenDP's own pairs of a measure and its bound, and out of a μ a bound within it."""
    dp = pytest.importorskip("opendp.prelude")
    assert gdp.profile_of(dp.loss_of(epsilon=1.0)) == P.PureDP(epsilon=1.0)
    pair = gdp.profile_of(dp.loss_of(epsilon=1.0, delta=1e-6))
    assert pair == P.ApproxDP(epsilon=1.0, delta=1e-6)
    concentrated = dp.loss_of(rho=0.5)
    assert gdp.profile_of(concentrated) == P.ZCDP(rho=0.5)
    with pytest.raises(InputError, match="budget is 'RenyiDivergence'"):
        gdp.profile_of((dp.renyi_divergence(), 1.0))
    mu = gdp.measure(P.PureDP(epsilon=0.5)).mu.upper
    epsilon = gdp.calibrate("pure-dp", mu).value
    assert epsilon == pytest.approx(0.5, rel=1e-5)
    assert gdp.profile_of(dp.loss_of(epsilon=epsilon)) == P.PureDP(epsilon=epsilon)
