"""Groups of records: whose profile is known, and what says so."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves.chained import _one_step

P = gdp.profiles
EPS = [0.0, 0.4, 2.0]


@pytest.mark.parametrize(
    ("profile", "same", "nature"),
    [
        (P.Laplace(scale=3), P.Laplace(scale=1), "own"),
        (P.Gaussian(sigma=3), P.Gaussian(sigma=1), "own"),
        (P.Gaussian(sigma=3).compose(4), P.Gaussian(sigma=1).compose(4), "own"),
        (P.DiscreteLaplace(scale=3), P.DiscreteLaplace(scale=3, sensitivity=3), "own"),
        (P.DiscreteGaussian(sigma=3), P.DiscreteGaussian(sigma=3, sensitivity=3), "own"),
        (P.GDP(mu=0.5), P.GDP(mu=1.5), "class"),
        (P.PureDP(epsilon=0.5), P.DiscreteLaplace(scale=2, sensitivity=3), "class"),
        (P.Exponential(epsilon=0.5), P.BoundedRange(range=1.5), "class"),
        (P.PermuteAndFlip(epsilon=0.5), P.PermuteAndFlip(epsilon=1.5), "class"),
        (P.ZCDP(rho=0.1), P.ZCDP(rho=0.9), "bound"),
    ],
    ids=lambda one: getattr(one, "kind", one),
)
def test_groups(profile: gdp.Profile, same: gdp.Profile, nature: str) -> None:
    """A group of three is as three times the sensitivity, or as the guarantee scales."""
    group = profile.group(3)
    assert np.allclose(group.delta(EPS), same.delta(EPS), rtol=1e-12)
    assert group.profile_is == nature
    assert "neighbours differ in 3 records" in group.remarks[0]
    assert gdp.load_profile(group.model_dump()) == group
    assert profile.group(1).profile_is == profile.profile_is


def test_discrete_laplace_groups_attain_it() -> None:
    """By hand: three records move the answer by 3, and the loss by 3/b."""
    group = P.DiscreteLaplace(scale=2).group(3)
    x = np.arange(-200, 200)
    p, q = np.exp(-abs(x) / 2), np.exp(-abs(x - 3) / 2)
    gain = np.maximum(p - np.exp(0.4) * q, 0).sum() / p.sum()
    assert float(group.delta(0.4)) == pytest.approx(gain, rel=1e-12)


def chain(profile: gdp.Profile, size: int, eps: np.ndarray) -> np.ndarray:
    """The least δ(x) + e^x·δ_{k-1}(ε - x) over many x, one record after another."""
    grid = np.linspace(-8, 8, 1281)

    def signed(at: np.ndarray) -> np.ndarray:
        # δ(-ε) = 1 - e^{-ε}(1 - δ(ε))
        value = np.asarray(profile.delta(np.abs(at)))
        return np.where(at < 0, 1 - np.exp(at) * (1 - value), value)

    one = signed(grid)

    def step(before: np.ndarray, at: np.ndarray) -> np.ndarray:
        rest = np.interp(at[:, None] - grid, grid, before, left=1.0, right=before[-1])
        return np.minimum((one + np.exp(grid) * rest).min(axis=1), 1)

    found = one
    for _ in range(size - 2):
        found = step(found, grid)
    return step(found, eps)


CHAINS = [
    (P.Table(pairs=[[0.5, 0.01], [1, 1e-4], [2.5, 1e-6]]), 2, "class"),
    (P.Table(pairs=[[0, 0.3], [1, 0.1]]), 3, "class"),
    (P.ApproxDP(epsilon=1, delta=1e-3), 3, "class"),
    (P.RandomizedResponse(noise_parameter=0.5, buckets=5), 2, "class"),
    (P.PLD(losses=[-0.5, 0.25, 1], probabilities=[0.3, 0.3, 0.4]), 3, "class"),
    (P.TradeoffFunction(alpha=[0.1, 0.5], beta=[0.7, 0.2]), 2, "class"),
    (P.Laplace(scale=1).subsample(0.3), 2, "bound"),
    (P.ThresholdedRelease(noise="gaussian", scale=4, threshold=12), 2, "bound"),
]


@pytest.mark.parametrize(("profile", "size", "nature"), CHAINS)
def test_chains(profile: gdp.Profile, size: int, nature: str) -> None:
    """By hand: what δ(ε) alone says of a chain, exactly or hardly above it."""
    group = profile.group(size)
    eps = np.array([0.0, 0.2, 0.5, 1.0, 1.5])
    least, (low, high) = chain(profile, size, eps), group.delta_bounds(eps)
    assert group.profile_is == nature
    if nature == "class":
        assert np.allclose(high, low, rtol=1e-12)
    # the grid of x misses the best one
    assert (high <= least * (1 + 1e-3) + 1e-6).all()
    assert (low >= least * (1 - 2e-2) - 1e-6).all()
    found = gdp.measure(group)
    assert found.certified
    assert found.mu.low >= gdp.measure(profile, failure=found.failure_probability or None).mu.low


def test_a_chain_is_attained() -> None:
    """Nested tests: P₀ uniform, P₁ and P₂ with the distribution functions g and g∘g."""
    rows = [(0.0, 0.05), (math.log(2), 0.02), (math.log(6), 0.001)]
    delta = np.array([row[1] for row in rows])
    t = np.exp([row[0] for row in rows])

    def g(alpha: np.ndarray) -> np.ndarray:
        lines = [delta[:, None] + t[:, None] * alpha, 1 - (1 - delta[:, None] - alpha) / t[:, None]]
        return np.minimum(np.minimum(*lines).min(axis=0), 1)

    alpha = np.linspace(0, 1, 200_001)
    group = P.Table(pairs=rows).group(2)
    for eps in (0.0, 0.7, 1.5, 3.0):
        gain = (g(g(alpha)) - np.exp(eps) * alpha).max()
        assert float(group.delta(eps)) == pytest.approx(gain, abs=2e-5)


def test_what_is_refused() -> None:
    """Groups that are too large for their lines, and functions that are taken on trust."""
    with pytest.raises(gdp.InputError, match="size is 1000000: must be at most 20000"):
        P.ApproxDP(epsilon=1, delta=1e-3).group(1_000_000)
    with pytest.raises(gdp.InputError, match="size is 1000000: must be at most 200000 for this ε₀"):
        P.PureDP(epsilon=0.5).group(1_000_000)
    trusted = P.Callable(lambda eps: math.exp(-eps) / 2, trusted=["non-increasing", "upper bound"])
    with pytest.raises(gdp.InputError, match="mechanism is 'callable'"):
        trusted.group(2)


def test_groups_of_what_is_composed() -> None:
    """The parts for groups are composed; k-fold ε-DP is as noise is."""
    parts = P.Sequence(parts=(P.Laplace(scale=3), P.Gaussian(sigma=3)))
    same = P.Sequence(parts=(P.Laplace(scale=1.5), P.Gaussian(sigma=1.5)))
    group = parts.group(2)
    assert np.allclose(group.delta(EPS), same.delta(EPS), rtol=1e-9)
    assert group.profile_is == "own"
    runs = P.PureDP(epsilon=0.5).group(3).compose(2)
    noise = P.DiscreteLaplace(scale=2, sensitivity=3).compose(2)
    assert np.allclose(runs.delta(EPS), noise.delta(EPS), rtol=1e-12)


def test_files_and_the_command_line(tmp_path: Path) -> None:
    """group stands beside compose in a file; a bad size is named."""
    spec = {"kind": "gaussian", "sigma": 3, "compose": 4, "group": 3}
    path = tmp_path / "group.json"
    path.write_text(json.dumps(spec))
    mu = gdp.measure(gdp.load_profile(path)).mu
    assert float(mu.low) == pytest.approx(2.0, abs=1e-9)
    with pytest.raises(gdp.InputError, match="group is 0"):
        gdp.load_profile({**spec, "group": 0})


def test_the_figures_of_the_documentation() -> None:
    """Three records of 0.1-DP."""
    for profile, mu in ((P.PureDP(epsilon=0.1).group(3), 0.354), (P.PureDP(epsilon=0.3), 0.376)):
        assert math.ceil(float(gdp.measure(profile).mu.high) * 1000) / 1000 == mu


def test_what_fails_outright_is_that_beyond_the_last_loss() -> None:
    """However roughly the loss is known: δ is flat beyond it."""
    curve = gdp.profiles.Table(pairs=[[0, 0.3], [1, 0.1]]).curve
    roughly = lambda: arb(1, 0.01)  # noqa: E731
    shape = _one_step(curve, [roughly])
    assert shape.lines[-1].a.overlaps(arb("0.1"))
    assert shape.lines[-1].a.rad() < 1e-12


def test_knots_at_which_a_curve_is_the_same_are_told() -> None:
    """Nothing falls between them, so that a line has no slope."""
    curve = gdp.profiles.Table(pairs=[[0, 0.1]]).curve
    with pytest.raises(gdp.UndecidedError, match="two neighbouring knots"):
        _one_step(curve, [Fraction(1)])
