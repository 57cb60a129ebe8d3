"""The worst-case regret of stating a μ."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile

RUN = gdp.profiles.DPSGD(noise_multiplier=9.4, sample_rate=0.328, steps=2000)


def _shift(profile: Profile, mu: float) -> float:
    """The least κ with f(α + κ) - κ ≤ f_μ(α), by its definition, on a fine grid of α."""
    alpha = np.linspace(0, 1, 5001)
    true, stated = profile.tradeoff(alpha), gdp.beta(alpha, mu)
    low, high = 0.0, 1.0
    for _ in range(40):
        kappa = (low + high) / 2
        inside = alpha + kappa <= 1
        moved = np.interp(alpha[inside] + kappa, alpha, true) - kappa
        low, high = (low, kappa) if (moved <= stated[inside]).all() else (kappa, high)
    return high


@pytest.mark.parametrize(
    "profile",
    [
        gdp.profiles.Laplace(scale=0.5),
        gdp.profiles.PureDP(epsilon=1.0),
        gdp.profiles.PureDP(epsilon=0.2).compose(50),
        gdp.profiles.Laplace(scale=0.5).subsample(0.1),
    ],
    ids=lambda profile: profile.kind,
)
@pytest.mark.slow
def test_definition(profile: Profile) -> None:
    """The interval is narrow and agrees with the definition by trade-off functions."""
    mu = gdp.measure(profile).mu.upper
    found = gdp.regret(profile, mu)
    assert found.width <= Decimal("1.01e-8")
    assert _shift(profile, mu) == pytest.approx(float(found.high), abs=1e-6)


def test_gaussian_has_none() -> None:
    """Stating its own μ of a Gaussian mechanism overstates nothing."""
    found = gdp.regret(gdp.profiles.Gaussian(sigma=1.0), 1)
    assert found.low == 0
    assert found.high < Decimal("2e-8")


@pytest.mark.parametrize("scale", ["1e-300", "1e-30", "1e-9"])
def test_tiny_parameters(scale: str) -> None:
    """Where δ_μ is far below every float it is bounded all the same, and little is overstated."""
    tiny = gdp.profiles.PureDP(epsilon=float(scale))
    found = gdp.regret(tiny, gdp.measure(tiny).mu.upper)
    assert 0 <= found.low <= found.high <= Decimal("1e-8")


def test_everything_is_overstated() -> None:
    """For a mechanism that releases nothing, Δ is half the advantage that μ allows."""
    found = gdp.regret(gdp.profiles.PureDP(epsilon=0.0), 1)
    advantage = gdp.delta(0.0, 1.0)
    assert float(found.low) == pytest.approx(advantage / 2, abs=1e-8)
    assert float(found.high) >= advantage / 2 * (1 - 1e-15)


@pytest.mark.slow
def test_approximate_statement_of_a_run() -> None:
    """Between bounds of δ the interval stays proved, and a dense grid lies in it."""
    found = gdp.measure(RUN)
    fit = gdp.regret(RUN, found.mu.high, found.failure_probability)
    p, mu = found.failure_probability, found.mu.upper
    eps = np.linspace(0, 10, 1001)
    shift = np.max((p + (1 - p) * gdp.delta(eps, mu) - RUN.delta(eps)) / (1 + np.exp(eps)))
    assert float(fit.low) - 1e-9 <= shift <= float(fit.high)
    assert fit.width < Decimal("2e-5")


def test_refusals() -> None:
    """μ and p outside their ranges are refused by name."""
    profile = gdp.profiles.Laplace(scale=0.5)
    with pytest.raises(InputError, match="mu is"):
        gdp.regret(profile, -1)
    with pytest.raises(InputError, match="failure is"):
        gdp.regret(profile, 2, 1.5)
    with pytest.raises(InputError, match="one that covers the mechanism"):
        gdp.regret(profile, 1)
    with pytest.raises(InputError, match="profile is 'str'"):
        gdp.regret("laplace", 2)  # type: ignore[arg-type]


def test_of_a_measurement() -> None:
    """A measurement stands for its upper end and its failure probability."""
    profile = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6)
    found = gdp.measure(profile)
    said = gdp.regret(profile, found.mu.high, found.failure_probability)
    assert gdp.regret(profile, found) == said
