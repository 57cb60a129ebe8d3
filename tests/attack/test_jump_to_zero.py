"""Formulas that jump to 0, and δ exactly where it becomes 0."""

from __future__ import annotations

import math

import pytest

import gdpbridge as gdp
from gdpbridge.convert import delta_at
from gdpbridge.mechanisms.formula import Formula


@pytest.mark.parametrize("part", ["1", "2", "2 - eps", "exp(1 - eps)", "1.005 - 0.01*eps"])
def test_guarantee_that_falls_from_one_to_zero_at_once_is_pure(part: str) -> None:
    """Saying nothing before ε = 1 and δ = 0 from there on is 1-DP, not perfect privacy."""
    written, pure = (
        Formula(f"delta = piecewise({part}, eps < 1, 0)"),
        gdp.profiles.PureDP(epsilon=1),
    )
    assert written.delta(0.5) == pytest.approx(pure.delta(0.5))
    measured = gdp.measure(written)
    assert measured.mu.high >= gdp.measure(pure).mu.low
    assert measured.mu.low <= gdp.measure(pure).mu.high


def test_jump_to_zero_implies_a_smaller_delta_before_it() -> None:
    """The pair (1, 0) is a guarantee too: it bounds δ before the jump."""
    written = Formula("delta = piecewise(0.3, eps < 1, 0)")
    expected = (math.e - math.exp(0.9)) / (1 + math.e)
    assert written.delta(0.9) == pytest.approx(expected)
    assert written.delta(0.1) == pytest.approx(0.3)
    # the supremum is where the two bounds cross
    crossing = math.log(math.e - 0.3 * (1 + math.e))
    assert float(gdp.measure(written).mu.high) == pytest.approx(gdp.mu(crossing, 0.3), abs=1e-8)


@pytest.mark.parametrize(
    ("profile", "end"),
    [
        (gdp.profiles.Table(pairs=[(0.727, 0.494), (3.874, 0)]), "3.874"),
        (gdp.profiles.PureDP(epsilon=0.3), "0.3"),
        (gdp.profiles.Laplace(scale=3), "0.5"),
        (gdp.profiles.PureDP(epsilon=0.3).compose(3), "0.9"),
        (gdp.profiles.DiscreteLaplace(scale=0.4, sensitivity=3), "7.5"),
    ],
)
def test_delta_where_it_becomes_zero(profile: gdp.profiles.Profile, end: str) -> None:
    """δ at the end of the losses is 0, not undecided."""
    assert delta_at(profile, end).high == 0
