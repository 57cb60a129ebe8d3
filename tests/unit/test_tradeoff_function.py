"""The trade-off function f(α) of a profile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf, ncdf

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile

ALPHA = np.array([0, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1])
RUN = gdp.profiles.DPSGD(noise_multiplier=1.0, sample_rate=0.01, steps=1000)


def _laplace(alpha: float) -> float:
    """f for Δ/b = 2 (Dong, Roth and Su 2022, section 2)."""
    share = math.exp(-2)
    if alpha < share / 2:
        return 1 - alpha / share
    return share / (4 * alpha) if alpha <= 0.5 else share * (1 - alpha)


def _gaussian(alpha: float) -> float:
    mp.dps = 40
    if alpha in (0, 1):
        return 1 - alpha
    quantile = mp.findroot(lambda z: ncdf(-z) - mpf(alpha), float(-_normal_quantile(alpha)))
    return float(ncdf(quantile - 1))


def _normal_quantile(alpha: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(alpha))


@pytest.mark.parametrize(
    ("profile", "truth"),
    [
        (gdp.profiles.Laplace(scale=0.5), _laplace),
        (gdp.profiles.Gaussian(sigma=1.0), _gaussian),
        (
            gdp.profiles.PureDP(epsilon=1.0),
            lambda a: max(1 - math.e * a, (1 - a) / math.e, 0.0),
        ),
        (
            gdp.profiles.ApproxDP(epsilon=1.0, delta=1e-3),
            lambda a: max(1 - 1e-3 - math.e * a, (1 - 1e-3 - a) / math.e, 0.0),
        ),
    ],
    ids=lambda value: getattr(value, "kind", "truth"),
)
def test_closed_forms(profile: Profile, truth: object) -> None:
    """Closed forms lie between the bounds, and f is within rounding of them."""
    expected = np.array([truth(float(alpha)) for alpha in ALPHA])  # type: ignore[operator]
    low, high = profile.tradeoff_bounds(ALPHA)
    assert (low <= expected + 1e-16).all()
    assert (expected <= high + 1e-16).all()
    np.testing.assert_allclose(profile.tradeoff(ALPHA), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.slow
def test_bounds_are_close() -> None:
    """Known curves give f to eight digits, composed ones as closely as their δ."""
    inner = ALPHA[1:-1]
    low, high = gdp.profiles.Gaussian(sigma=1.0).tradeoff_bounds(inner)
    assert np.max(high - low) < 1e-12
    low, high = gdp.profiles.Laplace(scale=0.5).tradeoff_bounds(inner)
    assert np.max(high - low) < 1e-7
    low, high = RUN.tradeoff_bounds(inner)
    assert np.max(high - low) < 1e-4
    assert (low <= high).all()


def test_gaussian_statement_bounds_the_mechanism() -> None:
    """A mechanism that is μ-GDP has a trade-off function of at least the Gaussian one."""
    profile = gdp.profiles.Laplace(scale=0.5)
    mu = gdp.measure(profile).mu.upper
    assert (profile.tradeoff_bounds(ALPHA)[1] >= gdp.beta(ALPHA, mu) - 1e-15).all()


def test_full_batch_run_is_gaussian() -> None:
    """Without sampling, the engine for composed losses gives the Gaussian function."""
    profile = gdp.profiles.DPSGD(noise_multiplier=2.0, sample_rate=1.0, steps=4)
    np.testing.assert_allclose(profile.tradeoff(ALPHA), gdp.beta(ALPHA, 1.0), atol=1e-12)


@given(st.floats(0.05, 20), st.floats(0, 1))
@pytest.mark.slow
def test_symmetric(scale: float, alpha: float) -> None:
    """f is its own inverse, as for every neighbouring relation that has both directions."""
    profile = gdp.profiles.Laplace(scale=scale)
    low, _ = profile.tradeoff_bounds(alpha)
    back_low, back_high = profile.tradeoff_bounds(min(max(low, 0.0), 1.0))
    if 1e-9 < low < 1 - 1e-9:
        assert back_low - 1e-7 <= alpha <= back_high + 1e-7


def test_shapes_and_refusals() -> None:
    """Scalars give floats, arrays their shape, nothing for nothing; α outside [0, 1] is refused."""
    profile = gdp.profiles.Laplace(scale=0.5)
    assert isinstance(profile.tradeoff(0.1), float)
    assert np.shape(profile.tradeoff(np.full((2, 3), 0.1))) == (2, 3)
    assert np.shape(RUN.tradeoff(np.array([]))) == (0,)
    assert np.shape(RUN.tradeoff_bounds(np.array([]))) == (2, 0)
    for bad in (-0.1, 1.1, math.nan, "x"):
        with pytest.raises(InputError, match="alpha is"):
            profile.tradeoff(bad)  # type: ignore[arg-type]


def test_runs_that_fail_almost_surely_are_settled() -> None:
    """No precision tells their failure from 1: that it is at most 1 needs none."""
    points = {"alpha": [0, "0.0001", "0.0004906"], "beta": ["0.99995", "0.4", 0]}
    found = gdp.measure(gdp.profiles.TradeoffFunction(**points).compose(2049))
    assert (found.mu.upper, found.failure_probability) == (0, 1)
