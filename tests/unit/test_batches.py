"""Batches that are neither Poisson samples nor of a fixed size: random allocation, shuffles."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

import gdpbridge as gdp
from gdpbridge.losses.geometric import ONE, sum_of_lognormals

P = gdp.profiles


def phi(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(x)


def two_steps(mu: float, eps: float) -> tuple[float, float]:
    """E(M - e^ε)⁺ and E(1 - e^ε·M)⁺ for M = (X₁ + X₂)/2, given X₁ by Black and Scholes."""

    def call(c: mpmath.mpf) -> mpmath.mpf:
        if c <= 0:
            return 1 - c
        d = (-mpmath.log(c) + mu * mu / 2) / mu
        return phi(d) - c * phi(d - mu)

    def given(z: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        x = mpmath.e ** (mu * z - mu * mu / 2)
        above, below = 2 * mpmath.e**eps - x, 2 * mpmath.e**-eps - x
        # a put is a call plus the strike less 1
        put = call(below) + below - 1 if below > 0 else mpmath.mpf(0)
        return call(above) / 2, mpmath.e**eps * put / 2

    # where one number alone is the bound, the integrand bends
    bends = [(math.log(2) + sign * eps + mu * mu / 2) / mu for sign in (1, -1)]
    ends = sorted([-9, -3, 0, 3, 9, 12, *bends])
    return tuple(
        float(mpmath.quad(lambda z, k=k: given(z)[k] * mpmath.npdf(z), ends)) for k in (0, 1)
    )


@pytest.mark.slow
def test_two_steps() -> None:
    """Of two steps δ is an integral over one normal number: the bound is hardly above it."""
    profile = P.RandomAllocation(noise_multiplier=2, steps=2)
    for eps in (0.0, 0.4, 0.9):
        truth = max(two_steps(0.5, eps))
        high = float(np.asarray(profile.delta_bounds(eps)[1]))
        assert truth <= high * (1 + 1e-9)
        assert high <= truth * 1.001 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.6, pytest.param(1.0, marks=pytest.mark.deep)])
def test_two_steps_with_little_noise(sigma: float) -> None:
    """The grid holds small and large sums alike, so that far tails are close too."""
    profile = P.RandomAllocation(noise_multiplier=sigma, steps=2)
    for eps in (0.5, 2.0, 4.0, 6.0):
        truth = max(two_steps(1 / sigma, eps))
        high = float(np.asarray(profile.delta_bounds(eps)[1]))
        assert truth <= high * (1 + 1e-7)
        assert high <= truth * 1.003 + 1e-12


# five are two and three, which are one and two
@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.deep), 5])
def test_sums_keep_mass_and_mean(count: int) -> None:
    """Sums of three and five go by unequal halves; no mass is lost, and the mean stays."""
    grid, law = sum_of_lognormals(Fraction(1, 2), count)
    masses = [Fraction(one, ONE) for one in law.masses.tolist()]
    mass = Fraction(law.zero, ONE) + sum(masses)
    mean = sum(
        one * Fraction(float(grid.place(law.first + number))) for number, one in enumerate(masses)
    )
    assert 0 <= 1 - mass < Fraction(1, 10**30)
    assert float(mean) == pytest.approx(count, rel=1e-12)


@pytest.mark.slow
def test_many_steps() -> None:
    """Ten steps by chance: within four deviations of what a million draws say; below Gaussian."""
    profile = P.RandomAllocation(noise_multiplier=1, steps=10)
    mean = np.exp(np.random.default_rng(5).normal(-0.5, 1, (200_000, 10))).mean(axis=1)
    for eps in (0.0, 0.5, 1.0):
        gains = np.maximum(mean - math.exp(eps), 0)
        error = 4 * gains.std() / math.sqrt(gains.size)
        assert float(profile.delta(eps)) == pytest.approx(gains.mean(), abs=error)
        assert float(profile.delta(eps)) < float(P.GDP(mu=1).delta(eps))
    found = gdp.measure(profile)
    assert (found.statement, found.verdict) == ("approximate", "gdp")
    # that of a step without any hiding
    whole = found.whole_range_mu
    assert whole is not None
    assert whole.high == 1
    twice = gdp.measure(P.RandomAllocation(noise_multiplier=1, steps=10, epochs=2), tol=1e-6).mu
    assert found.mu.high < twice.high < 2 * found.mu.high


@pytest.mark.parametrize(("sigma", "steps"), [(1.0, 100), (2.0, 1), (0.5, 10)])
def test_shuffled_epochs(sigma: float, steps: int) -> None:
    """The upper bound is Gaussian, and an event shows that nothing below the lower one will do."""
    profile = P.ShuffledEpochs(noise_multiplier=sigma, steps=steps, epochs=4)
    assert float(gdp.measure(profile).mu.high) == pytest.approx(2 / sigma, rel=1e-9)
    least = P.ShuffledEpochs(noise_multiplier=sigma, steps=steps).least_mu
    assert 0 < least <= 1 / sigma * (1 + 1e-9)
    # one batch: nothing is hidden
    assert steps > 1 or least == pytest.approx(1 / sigma, rel=1e-9)
    c = np.linspace(0, 8, 200)
    type_1, power = (
        1 - stats.norm.cdf(c - k / sigma) * stats.norm.cdf(c) ** (steps - 1) for k in (1, 2)
    )
    seen = (type_1 > 1e-9) & (power < 1 - 1e-9)
    assert (stats.norm.ppf(power[seen]) - stats.norm.ppf(type_1[seen])).max() <= least * (1 + 1e-3)
    assert any("no exact profile" in one for one in profile.remarks)
