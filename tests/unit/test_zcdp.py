"""Zero-concentrated differential privacy as a profile."""

from __future__ import annotations

import math
from decimal import Decimal

import mpmath
import pytest

from gdpbridge import identify, measure, profiles


@pytest.mark.parametrize("rho", [0.015, 0.5, 5.0])
def test_refined_bound(rho: float) -> None:
    """δ(ε) is the least of the bound and all lines that it implies, by brute force."""
    mpmath.mp.dps = 30
    profile = profiles.ZCDP(rho=rho)

    def naive(eps: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-((eps - rho) ** 2) / (4 * rho)) if eps >= rho else mpmath.mpf(1)

    spread = 8 * math.sqrt(rho)
    for eps in (0.0, rho / 2, rho, rho + math.sqrt(rho), rho + 3 * math.sqrt(rho)):
        least = naive(mpmath.mpf(eps))
        for step in range(4001):
            at = mpmath.mpf(max(eps, rho)) + mpmath.mpf(spread) * step / 4000
            d = naive(at)
            line = d + (1 - d) * (mpmath.exp(at) - mpmath.exp(eps)) / (1 + mpmath.exp(at))
            least = min(least, line)
        assert profile.delta(eps) <= least * (1 + 1e-12)
        assert profile.delta(eps) == pytest.approx(float(least), rel=1e-5)


def test_it_is_gdp_but_more_than_its_tail() -> None:
    """ρ-zCDP implies GDP, with a μ above the tail parameter √(2ρ)."""
    profile = profiles.ZCDP(rho=0.5)
    assert identify(profile).verdict == "gdp"
    assert Decimal(1) in identify(profile).mu_tail
    found = measure(profile)
    assert found.statement == "whole"
    assert found.mu.lower > 2.79
    assert found.mu.lower <= profile.gdpt(0.0) <= found.mu.upper


def test_a_gaussian_mechanism_obeys_it() -> None:
    """The Gaussian mechanism with μ = √(2ρ) is ρ-zCDP: its δ lies below the bound."""
    bound, gaussian = profiles.ZCDP(rho=0.5), profiles.GDP(mu=1)
    for eps in (0.0, 0.5, 1.0, 2.0, 5.0, 20.0):
        assert gaussian.log_delta(eps) < bound.log_delta(eps)
