"""Binomial tails, quantiles, the (ε, δ) test and hypotheses, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import gdpbridge as gdp
from gdpbridge.auditing.binomial import (
    lower_tail,
    normal,
    proved_upper_rate,
    quantile_below,
    upper_rates,
)
from gdpbridge.auditing.guessing import p_value, proved_p_value
from gdpbridge.auditing.hypotheses import Gaussian, approximate, of_profile
from gdpbridge.auditing.recursion import Guesses
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """P[Bin(n, p) ≤ k], exactly."""
    return sum(
        (math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1)), start=Fraction(0)
    )


@given(n=st.integers(1, 60), share=st.floats(0, 1), p=st.fractions(0, 1, max_denominator=50))
@settings(max_examples=60, deadline=None)
def test_binomial_tails_hold_the_exact_value(n: int, share: float, p: Fraction) -> None:
    """The ball of a tail holds the rational number that it is of."""
    k = round(share * n)
    if p in (0, 1):
        return
    with precision(128):
        assert lower_tail(k, n, ball(p)).overlaps(ball(tail(k, n, p)))


@pytest.mark.parametrize(
    ("failures", "trials", "level"), [(0, 10, "0.025"), (3, 100, "0.025"), (49, 50, "1e-6")]
)
def test_clopper_pearson_bounds_are_proved_and_close(
    failures: int, trials: int, level: str
) -> None:
    """At the bound the tail is at most the level, and just below it is more."""
    allowed = Fraction(level)
    bound = proved_upper_rate(failures, trials, allowed)
    assert tail(failures, trials, Fraction(bound)) <= allowed
    assert tail(failures, trials, Fraction(bound * (1 - 1e-9))) > allowed


def test_clopper_pearson_matches_printed_values() -> None:
    """Two-sided 95 % bounds of 0 and 5 in 20, as tables print them."""
    assert np.round(upper_rates([0, 5], [20, 20], 0.025), 4).tolist() == [0.1684, 0.4910]
    assert proved_upper_rate(7, 7, Fraction(1, 40)) == 1.0


@given(p=st.floats(1e-250, 1, exclude_max=True))
@settings(max_examples=80, deadline=None)
def test_quantiles_are_on_the_safe_side(p: float) -> None:
    """Φ at the quantile is proved to be at most p, and the quantile is close."""
    with precision(128):
        x = quantile_below(arb(p))
        assert x is not None
        assert normal(arb(x)) <= arb(p)
    assert x == pytest.approx(special.ndtri(p), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    ("correct", "made", "canaries", "eps", "delta"),
    [
        (8, 10, 12, 0.5, 0.0),
        (8, 10, 12, 0.5, 0.01),
        (20, 20, 100, 1.0, 1e-3),
        (9, 30, 30, 0.1, 0.1),
    ],
)
def test_the_guessing_test_is_its_formula(
    correct: int, made: int, canaries: int, eps: float, delta: float
) -> None:
    """The p-value is the binomial tail and 2mδ times the largest average of terms below it."""
    q = 1 / (1 + math.exp(-eps))
    terms = [math.comb(made, j) * q**j * (1 - q) ** (made - j) for j in range(made + 1)]
    averages = [sum(terms[correct - i : correct]) / i for i in range(1, correct + 1)]
    expected = min(sum(terms[correct:]) + 2 * canaries * delta * max(averages), 1.0)
    guesses = Guesses(correct, made, canaries)
    assert p_value(guesses, eps, delta) == pytest.approx(expected, rel=1e-9)
    assert proved_p_value(guesses, eps, delta) == pytest.approx(expected, rel=1e-9)
    assert proved_p_value(guesses, eps, delta) >= expected * (1 - 1e-12)


@pytest.mark.parametrize(
    "profile",
    [
        gdp.profiles.Laplace(scale=1.0),
        gdp.profiles.PureDP(epsilon=0.7),
        gdp.profiles.Gaussian(sigma=1.3),
        gdp.profiles.ApproxDP(epsilon=1.0, delta=1e-3),
        gdp.profiles.RandomizedResponse(noise_parameter=0.4, buckets=3),
    ],
    ids=lambda one: one.kind,
)
def test_lines_of_a_profile_are_close_below_its_trade_off_function(
    profile: gdp.profiles.Laplace,
) -> None:
    """What is tested is never more than the mechanism promises, and hardly less."""
    alpha = np.concatenate([np.geomspace(1e-5, 0.5, 40), 1 - np.geomspace(1e-5, 0.5, 40)])
    lines, true = of_profile(profile).errors(alpha), np.asarray(profile.tradeoff(alpha))
    assert (lines <= true + 1e-9).all()
    assert (lines >= true - 1e-3).all()


@given(y=st.floats(1e-9, 1 - 1e-9), eps=st.floats(0, 5), delta=st.floats(0, 0.5))
@settings(max_examples=80, deadline=None)
def test_inverses_are_the_function_seen_from_the_other_end(
    y: float, eps: float, delta: float
) -> None:
    """f(1 - y) in floats, and its proved lower bound, are the function's own value."""
    for f in (Gaussian(eps), approximate(eps, delta)):
        value = float(f.errors(np.array([1 - y]))[0])
        assert float(f.inverse(y)) == pytest.approx(value, rel=1e-5, abs=1e-8)
        with precision(128):
            low = float(f.inverse_below(arb(y)).lower())
        assert low <= value * (1 + 1e-6) + 1e-8
        assert low == pytest.approx(value, rel=1e-5, abs=1e-8)
