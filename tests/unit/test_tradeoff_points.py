"""Trade-off functions by their points, to a profile and back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp

P = gdp.profiles
ALPHA = np.linspace(0, 1, 101)
GAUSSIAN = P.Gaussian(sigma=1)
BETA = np.asarray(GAUSSIAN.tradeoff(ALPHA))


def test_known_functions() -> None:
    """Randomized response is one corner; (ε, δ)-DP begins at 1 - δ; certainty is one point."""
    response = P.TradeoffFunction(alpha=[0.25], beta=[0.25])
    expected = gdp.measure(P.RandomizedResponse(noise_parameter=0.5)).mu
    assert gdp.measure(response).mu == expected
    failing = P.TradeoffFunction(alpha=[0, 0.1], beta=[0.99, 0.6])
    assert gdp.identify(failing).verdict == "not-gdp"
    assert gdp.measure(failing).failure_probability == 0.01
    nothing = P.TradeoffFunction(alpha=[0.3], beta=[0.7])
    assert float(nothing.delta(0.0)) == 0


def test_of_a_gaussian() -> None:
    """Lines between points of the curve come close to it from above; steps lie below it."""
    linear = P.TradeoffFunction(alpha=ALPHA, beta=BETA)
    steps = P.TradeoffFunction(alpha=ALPHA, beta=BETA, steps=True)
    eps = np.array([0.0, 0.3, 1.0, 2.0])
    exactly = np.asarray(GAUSSIAN.delta(eps))
    assert (np.asarray(linear.delta(eps)) <= exactly + 1e-12).all()
    assert np.allclose(linear.delta(eps), exactly, atol=1e-3)
    assert (np.asarray(steps.delta(eps)) >= exactly).all()
    assert np.allclose(steps.delta(eps), exactly, atol=0.1)
    assert linear.remarks
    assert not steps.remarks
    # as steps say nothing of α → 0, something is left to chance
    assert gdp.measure(linear).verdict == "gdp"
    assert gdp.measure(steps).verdict == "not-gdp"


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
    st.floats(0, 3),
    st.booleans(),
)
def test_by_hand(points: list[tuple[float, float]], eps: float, symmetric: bool) -> None:
    """δ(ε) is the largest 1 - β - α·e^ε over the points and their mirror images, and back again."""
    points = [(round(a, 3), round(b * (1 - round(a, 3)), 3)) for a, b in points]
    points = [(a, b) for a, b in points if a + b] or [(0.5, 0.5)]
    profile = P.TradeoffFunction(
        alpha=[a for a, _ in points], beta=[b for _, b in points], symmetric=symmetric
    )
    low, high = profile.delta_bounds(eps)
    gains = [max(1 - b - a * np.exp(eps), 1 - a - b * np.exp(eps), 0) for a, b in points]
    if symmetric:
        assert low <= max(gains) + 1e-14
    else:
        assert low - 1e-14 <= max(gains) <= high + 1e-14
    assert float(profile.delta(eps)) == pytest.approx(float(high), rel=1e-12, abs=1e-300)
    back = np.asarray(profile.tradeoff([a for a, _ in points]))
    assert symmetric or (back <= np.array([b for _, b in points]) + 1e-8).all()


def test_both_orders() -> None:
    """What bounds both orders is the larger one of the function and its inverse, by hand."""
    profile = P.TradeoffFunction(alpha=[0.1, 0.5], beta=[0.6, 0.2], symmetric=True)
    assert profile.tradeoff([0.1, 0.2, 0.5, 0.6]) == pytest.approx([0.75, 0.5, 0.2, 0.16])
    alone = P.TradeoffFunction(alpha=[0.1, 0.5], beta=[0.6, 0.2])
    assert gdp.measure(profile).mu.high < gdp.measure(alone).mu.low


def test_composition() -> None:
    """Beside a Gaussian part the losses of the pair are composed: as for randomized response."""
    response = P.TradeoffFunction(alpha=[0.25], beta=[0.25])
    expected = P.Sequence(parts=(P.RandomizedResponse(noise_parameter=0.5), GAUSSIAN))
    found = P.Sequence(parts=(response.model_copy(update={"neighbours": None}), GAUSSIAN))
    assert np.allclose(found.delta_bounds([0.0, 1.0]), expected.delta_bounds([0.0, 1.0]))
    assert found.profile_is == "class"


def test_files(tmp_path: Path) -> None:
    """A file is the same as the numbers in it, exactly."""
    path = tmp_path / "curve.csv"
    path.write_text("alpha;beta\n0.1;0.6\n0.5;0.2\n")
    profile = P.TradeoffFunction(str(path))
    assert gdp.measure(profile).mu == gdp.measure(gdp.load_profile(profile.model_dump())).mu


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"alpha": [0.5], "beta": [0.6]}, "α + β in row 1 is 1.1: must be at most 1"),
        ({"alpha": [0], "beta": [0]}, "this test is never wrong"),
        ({"alpha": [0.5], "beta": [-0.1]}, "β in row 1 is -0.1: must be a number in [0, 1]"),
        ({"alpha": [0.5, 0.6], "beta": [0.1]}, "beta is [0.1]: must be as many numbers"),
        ({"alpha": [], "beta": []}, "the number of points is 0"),
        ({}, "give one of them"),
    ],
)
def test_bad_input(given: dict[str, object], words: str) -> None:
    """One sentence names the row and what is allowed."""
    with pytest.raises(gdp.InputError) as caught:
        P.TradeoffFunction(**given)
    assert words in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "delta"),
    [
        ("beta = max(1-exp(1)*alpha, exp(-1)*(1-alpha))", P.PureDP(epsilon=1).delta),
        # 1 - f(α) - αt is largest at √α = 1/(1 + t)
        ("beta = (1-sqrt(alpha))**2", lambda eps: 1 / (1 + np.exp(eps))),
        # a hump, which makes it no convex function, takes no part
        (
            "beta = max(1-2*alpha, (1-alpha)/2) + max(0, 0.01 - abs(alpha-0.6))",
            lambda eps: np.maximum(2 - np.exp(eps), 0) / 3,
        ),
    ],
)
def test_a_formula(formula: str, delta: Any) -> None:
    """Of a formula δ is bounded from above, hardly above what it is."""
    profile = P.TradeoffFunction(formula=formula)
    eps = np.array([0.0, 0.4, 1.5, 6.0])
    found, truth = profile.delta(eps), delta(eps)
    assert (found >= truth * (1 - 1e-9)).all()
    assert (found <= truth * 1.0005).all()
    assert profile.profile_is == "bound"


def test_formulas_that_are_exact() -> None:
    """Lines stay lines: δ falls to 0, and the whole range is covered."""
    profile = P.TradeoffFunction(formula="beta = max(1-exp(1)*alpha, exp(-1)*(1-alpha))")
    found = gdp.measure(profile)
    assert (found.statement, found.mu) == ("whole", gdp.measure(P.PureDP(epsilon=1)).mu)


def test_a_function() -> None:
    """A Python function is sampled, taken on trust and never certified."""

    def laplace(alpha: float) -> float:
        share = math.exp(-1)
        if alpha < share / 2:
            return 1 - alpha / share
        return share / (4 * alpha) if alpha <= 0.5 else share * (1 - alpha)

    profile = P.TradeoffFunction(function=laplace)
    found = gdp.measure(profile, eps_h=0.9)
    assert not found.certified
    assert any("laplace falls" in one for one in profile.assumptions)
    exact = gdp.measure(P.Laplace(scale=1), eps_h=0.9).mu
    assert exact.low <= found.mu.high <= float(exact.high) * 1.002


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"formula": "beta = 1 - alpha/2"}, "guessing does as well"),
        ({"formula": "beta = 1 - a"}, "a formula of alpha"),
        ({"formula": "alpha = 1"}, "a formula of alpha"),
        ({"formula": "beta = 1", "file": "x.csv"}, "give one of them"),
        ({"function": lambda alpha: 1.0}, r"must be a number in \[0"),
        ({"function": lambda alpha: 1 / 0}, "itself failed"),
    ],
)
def test_bad_formulas(given: dict[str, Any], words: str) -> None:
    """What is no trade-off function is refused."""
    with pytest.raises(gdp.InputError, match=words):
        P.TradeoffFunction(**given)
