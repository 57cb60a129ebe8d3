"""Theorem 2.1: the worst event and the mechanism that reaches it, against a search of our own."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import gdpbridge as gdp
from gdpbridge.paper import order
from gdpbridge.paper.order import four_outcomes, implied_is_enough, implied_is_reached, worst_event

THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("base", "failure", "place", "worst"),
    [
        (Fraction(3), Fraction(0), Fraction(1), Fraction(1, 2)),
        (Fraction(3), Fraction(0), Fraction(3), Fraction(0)),
        (Fraction(3), Fraction(1, 10), Fraction(2), Fraction(13, 40)),
        (Fraction(3), Fraction(1, 10), Fraction(5), Fraction(1, 10)),
    ],
)
def test_worst_event(base: Fraction, failure: Fraction, place: Fraction, worst: Fraction) -> None:
    """The corner found is the one worked out by hand, and no event of a grid goes beyond it."""
    assert worst_event(base, failure, place) == worst
    grid = [Fraction(i, 40) for i in range(41)]
    allowed = [
        x - place * y
        for x, y in product(grid, grid)
        if x <= base * y + failure
        and y <= base * x + failure
        and 1 - x <= base * (1 - y) + failure
        and 1 - y <= base * (1 - x) + failure
    ]
    assert max(allowed) <= worst


def test_mechanism_is_a_pair_of_laws() -> None:
    """The four outcomes have probabilities that add up to 1, for either neighbour."""
    laws = four_outcomes(Fraction(7, 2), THIRD)
    assert [sum(law) for law in laws] == [1, 1]
    assert all(one >= 0 for law in laws for one in law)


def test_statements_hold() -> None:
    """Both halves of the theorem hold, and the δ of the facts is that of the profile."""
    assert implied_is_enough().value is True
    found = implied_is_reached()
    assert found.value is True
    fact = next(one for one in found.facts if one.what == "ε₀ = 1, δ₀ = 0.1, ε = 0.5: its δ")
    low, high = gdp.profiles.ApproxDP(epsilon=1, delta=0.1).delta_bounds(0.5)
    assert low <= fact.value.high
    assert fact.value.low <= high


def test_a_smaller_delta_is_not_implied(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a formula that gives too little, the first half no longer holds."""
    monkeypatch.setattr(order, "_theorem", lambda base, failure, place: failure)
    assert implied_is_enough().value is False


def test_another_mechanism_does_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a mechanism that answers at random, the second half no longer holds."""
    monkeypatch.setattr(
        order,
        "four_outcomes",
        lambda base, failure: ((failure, 1 - failure), (failure, 1 - failure)),
    )
    assert implied_is_reached().value is False
