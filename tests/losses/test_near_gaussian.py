"""Discrete Gaussian noise that is nearly Gaussian: its enclosure, beside laws and a Fourier sum."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.curves.discrete_gaussian import discrete_gaussian_curve
from gdpbridge.curves.near_gaussian import NearGaussianCurve
from gdpbridge.gaussian import enclosures
from gdpbridge.losses.moments import Part
from gdpbridge.losses.near_gaussian import nearness
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
from gdpbridge.numeric.kinds import ball

P = gdp.profiles
CENSUS = Path(__file__).parents[2] / "examples" / "census"


@given(
    st.fractions(Fraction(4, 5), 5, max_denominator=20),
    st.integers(1, 3),
    st.integers(1, 12),
    st.lists(st.floats(0, 3), min_size=3, max_size=3),
)
@settings(max_examples=12, deadline=None)
def test_an_exact_law_lies_within(sigma: Fraction, apart: int, times: int, at: list[float]) -> None:
    """Of runs of one noise δ is known, and lies between both bounds, and below δ_M."""
    one = DiscreteGaussianTransform(sigma**2, apart)
    near = nearness([Part(one, times)])
    assert near is not None
    curve, mu = discrete_gaussian_curve(one, times), ball(near.variance).sqrt()
    largest = near.largest()
    for share in at:
        eps = Fraction(share * float(mu) * (1 + float(mu)))
        delta = curve.enclose(ball(eps)).log().exp()
        gaussian = enclosures.probability(ball(eps), mu).log().exp()
        x = ball(eps) / mu - mu / 2
        gap = ball(near.gap) * (-x * x / 2).exp()
        assert gaussian / ball(near.norm) - gap <= delta.upper()
        assert delta.lower() <= gaussian + gap
        if largest is not None:
            covering = enclosures.probability(ball(eps), ball(largest)).log()
            assert delta.log().lower() <= covering.upper()


def by_fourier(parts: list[tuple[float, int]], eps: float, tilt: float) -> float:
    """δ(ε) of numbers with noise σ, so many of each, by a sum along a line in float64.

    Masses are added up as they stand, with no formula for their sums.
    """
    deviation = math.sqrt(sum(times / sigma**2 for sigma, times in parts))
    # so far apart are aliases, of which those below fall by e^{-tilt}
    step = 2 * math.pi / (30 * deviation + 30 / tilt)
    count = math.ceil(12 / deviation / step)
    s = tilt + 1j * step * np.arange(count)
    log = np.zeros(count, complex)
    for sigma, times in parts:
        reach = math.ceil(12 * sigma) + math.ceil(tilt) + 1
        x = np.arange(-reach, reach + 1)
        masses = np.exp(-(x**2.0) / (2 * sigma**2))
        masses /= masses.sum()
        value = np.exp(np.multiply.outer(s, (1 - 2 * x) / (2 * sigma**2))) @ masses
        log += times * np.log(value)
    terms = np.exp(log - s * eps) / (s * (s + 1))
    terms[0] /= 2
    return float(terms.real.sum()) * step / math.pi


@pytest.mark.parametrize(("name", "level"), [("units", 1), ("units", 7)])
def test_a_level(name: str, level: int) -> None:
    """Both bounds of δ hold the sum of Fourier's, and are close; so is μ, for every ε."""
    profile = gdp.load_profile(CENSUS / f"dhc_{name}.toml").parts[level]
    assert isinstance(profile.curve, NearGaussianCurve)
    parts = [(float(one.base.sigma), one.times) for one in profile.parts]
    variance = sum(times / sigma**2 for sigma, times in parts)
    for eps in (variance, 3 * variance + math.sqrt(variance)):
        low, high = profile.delta_bounds(eps)
        found = by_fourier(parts, eps, eps / variance - 0.5 + 1e-3)
        assert low * (1 - 1e-4) < found < high * (1 + 1e-4)
        assert low < high < low * (1 + 1e-4)
    mu = gdp.measure(profile)
    assert mu.statement.value == "whole"
    assert float(mu.mu.low) <= math.sqrt(variance) * (1 + 1e-12)
    assert float(mu.mu.high) == pytest.approx(math.sqrt(variance), rel=1e-6)


def test_past_a_failure() -> None:
    """What is past a p needs no more than the whole range, and hardly less."""
    profile = gdp.load_profile(CENSUS / "dhc_units.toml").parts[6]
    whole, past = gdp.measure(profile), gdp.measure(profile, failure=1e-10)
    assert past.statement.value == "approximate"
    assert float(past.mu.low) <= float(whole.mu.high)
    assert float(past.mu.high) == pytest.approx(float(whole.mu.high), rel=1e-6)
    with pytest.raises(gdp.UndecidedError, match="ask for a larger"):
        gdp.measure(profile, tol=1e-12)


def test_beside_gaussian_noise() -> None:
    """Gaussian noise beside it adds its μ², and what is left of the steps is less."""
    noise = P.DiscreteGaussian(sigma=3).compose(4)
    alone = nearness(noise.privacy_losses())
    both = nearness([*noise.privacy_losses(), *P.Gaussian(sigma=2).privacy_losses()])
    assert alone is not None
    assert both is not None
    assert both.variance == alone.variance + Fraction(1, 4)
    assert both.gap < alone.gap / 100
    assert nearness(P.Laplace(scale=1).privacy_losses()) is None


def test_the_whole_range_of_what_is_exact() -> None:
    """A law on a lattice has a μ for every ε when it is asked for."""
    level = gdp.load_profile(CENSUS / "dhc_persons.toml").parts[1]
    past, whole = gdp.measure(level), gdp.measure(level, failure=0)
    assert past.statement.value == "approximate"
    assert whole.statement.value == "whole"
    assert whole.certified
    assert past.whole_range_mu is not None
    assert past.whole_range_mu.high == whole.mu.high
    # the tail parameter is the lower end, and the least μ past p lies within
    low, high = float(whole.mu.low), float(whole.mu.high)
    assert low < float(past.mu.low) < high < low * 1.001
    assert low == pytest.approx(math.sqrt(2 * 1.2987), rel=1e-9)
