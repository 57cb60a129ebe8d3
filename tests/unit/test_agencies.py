"""Numbers of releases that agencies and libraries made, known from elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gdpbridge as gdp

P = gdp.profiles


@pytest.mark.parametrize(
    ("profile", "mu", "delta", "epsilon"),
    [
        # County Business Patterns as one discrete Gaussian of ρ = 12.058
        (P.DiscreteGaussian(sigma=0.203632626255), 8.77010289661, 1e-10, 36.17398275),
        (P.Gaussian(sigma=1, sensitivity=math.sqrt(8)), 2.82842712, 1e-5, 15.45615582),
        (P.RandomizedResponse(noise_parameter=0.125), 3.06824108871, 0.0, 2.70805020),
    ],
    ids=lambda one: getattr(one, "kind", None),
)
def test_right_values(profile: gdp.Profile, mu: float, delta: float, epsilon: float) -> None:
    """μ, and the least ε at a δ."""
    found = gdp.measure(profile).mu
    assert float(found.low) == pytest.approx(mu, abs=5e-9)
    low, high = profile.epsilon_bounds(delta) if delta else (np.log(15), float(profile.curve.end()))
    assert float(high) == pytest.approx(epsilon, abs=6e-9)
    assert float(low) == pytest.approx(epsilon, abs=6e-9)
