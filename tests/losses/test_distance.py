"""What the total variation distance of every step says of δ, where lines say little."""

from __future__ import annotations

import mpmath
import pytest

import gdpbridge as gdp


def _run(sigma: float, rate: float, steps: int) -> gdp.Profile:
    return gdp.profiles.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=steps)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    # the last three are below the sum of all sample rates, or Chernoff's bound alone tells
    [(5.59, 2.19e-6, 81, 7.04e-4), (1, 1e-4, 5, 0.3), (0.5, 1e-6, 3, 1e-4), (1, 0.01, 3, 0.031)],
)
def test_no_epsilon_is_needed(sigma: float, rate: float, steps: int, delta: float) -> None:
    """ε is 0 where δ is at least δ(0)."""
    assert _run(sigma, rate, steps).epsilon_bounds(delta) == (0.0, 0.0)


def test_more_than_nothing_is_needed() -> None:
    """δ(0) of three steps is below the bound by sample rates, and ε is 0 from there on alone."""
    run = _run(1, 0.01, 3)
    low, high = run.delta_bounds(0.0)
    assert high < 1 - 0.99**3
    assert run.epsilon_bounds(low * 0.999)[0] > 0
    assert run.epsilon_bounds(high * 1.001)[1] < 1e-30


@pytest.mark.parametrize("eps", [0, 1, 400])
def test_tiny_noise_and_rare_samples(eps: float) -> None:
    """With hardly any noise δ is what the chance of a sample is, and never more."""
    low, high = _run(0.03, 1e-9, 1000).delta_bounds(eps)
    chance = float(-mpmath.expm1(1000 * mpmath.log1p(-mpmath.mpf(1e-9))))
    assert low <= chance * (1 + 1e-15)
    assert high <= 1.01 * chance
