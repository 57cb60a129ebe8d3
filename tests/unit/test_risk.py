"""What a μ allows an attacker."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.convert import beta_at
from gdpbridge.errors import InputError
from gdpbridge.gaussian import ball
from gdpbridge.risk import risk


def test_known_values() -> None:
    """Advantage, accuracy and true-positive rates of μ = 1, to the digits checked elsewhere."""
    found = risk(1, false_positive_rates=[0, 1e-10, 1e-3, 0.1, 1])
    assert found.advantage == pytest.approx(0.382924922548026207, rel=1e-15)
    assert found.accuracy == pytest.approx(0.691462461274013104, rel=1e-15)
    rates = [point.true_positive_rate for point in found.points]
    truth = [0, 4.13032288436962402e-8, 0.018298468405656598, 0.389143691645360969, 1]
    assert rates == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("mu", [1e-3, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("rate", [1e-10, 1e-3, 0.3])
def test_bounds_are_rounded_up(mu: float, rate: float) -> None:
    """Every figure is at least the truth, and by a few ulps at most."""
    mpmath.mp.dps = 60
    found = risk(mu, false_positive_rates=[rate])
    alpha, width = mpmath.mpf(str(rate)), mpmath.mpf(mu)
    quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha)
    power = mpmath.erfc((quantile - width) / mpmath.sqrt(2)) / 2
    advantage = mpmath.erf(width / mpmath.sqrt(8))
    for value, truth in [
        (found.points[0].true_positive_rate, power),
        (found.points[0].posterior, power / (power + alpha)),
        (found.advantage, advantage),
        (found.accuracy, (1 + advantage) / 2),
    ]:
        assert truth <= value <= truth * (1 + mpmath.mpf(10) ** -14)


def test_failure_is_added() -> None:
    """An outright failure of probability p lifts every rate to p at least."""
    found = risk(1, failure=1e-6)
    assert found.points[-1].true_positive_rate >= 1e-6
    assert found.advantage > risk(1).advantage
    assert "outright failure of probability 1e-06" in found.sentence


def test_no_information() -> None:
    """At μ = 0 the attacker is left with the prior."""
    found = risk(0, prior=0.1)
    assert found.advantage == 0
    assert found.accuracy == 0.5
    assert all(p.posterior == pytest.approx(0.1, rel=1e-12) for p in found.points)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"mu": -1}, "mu"),
        ({"mu": float("nan")}, "mu"),
        ({"mu": float("inf")}, "mu"),
        ({"mu": 1, "failure": 1}, "failure"),
        ({"mu": 1, "prior": 0}, "prior"),
        ({"mu": 1, "prior": 1}, "prior"),
        ({"mu": 1, "false_positive_rates": [2]}, "false_positive_rates"),
    ],
)
def test_bad_input(arguments: dict[str, object], field: str) -> None:
    """Bad arguments are named."""
    with pytest.raises(InputError) as caught:
        risk(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize("p", [1e-6, 0.1, 0.5])
def test_failure_leaves_all_of_the_level(p: float) -> None:
    """A mechanism that satisfies (μ, p) reaches no more than what is said of (μ, p)."""
    profile = gdp.profiles.ApproxDP(epsilon=1, delta=p)
    found = gdp.measure(profile)
    assert found.failure_probability == pytest.approx(p)
    rates = [1e-3, 0.01, 0.1, 0.25, 0.4, 0.6, 0.9]
    said = gdp.risk(found.mu.high, found.failure_probability, false_positive_rates=rates)
    reached = 1 - np.asarray(profile.tradeoff_bounds(rates)[1])
    stated = np.array([point.true_positive_rate for point in said.points])
    assert (stated >= reached - 1e-15).all()
    # the corner of the mechanism's trade-off function lies on the Gaussian one's
    corner = (1 - p) / (1 + math.e)
    at = gdp.risk(found.mu.high, found.failure_probability, false_positive_rates=[corner])
    assert at.points[0].true_positive_rate == pytest.approx(1 - corner, abs=1e-8)


@pytest.mark.parametrize("mu", [0.1, 0.3, 0.6283, 1.1, 2.3])
def test_a_float_stands_for_its_decimal(mu: float) -> None:
    """0.1 is a tenth, as it is as a parameter: the same figures as for the text."""
    found, written = gdp.risk(mu), gdp.risk(repr(mu))
    assert (found.advantage, found.points) == (written.advantage, written.points)
    # the least float above 2Φ(μ/2) - 1 for the decimal, not for the binary number
    assert found.advantage == ball.delta_upper(0, repr(mu))
    assert beta_at(mu, 0.1) == beta_at(repr(mu), "0.1")
