"""Groups of records: whose profile is known, and what says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gdpbridge as gdp

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
        (P.PureDP(epsilon=0.5), P.PureDP(epsilon=1.5), "bound"),
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


@pytest.mark.parametrize("kind", ["icea", "dpsgd", "renyi"])
def test_what_is_not_known(kind: str) -> None:
    """A kind whose profile for groups is not known is refused by its name."""
    profile = {
        "icea": P.ICEA(messages=20, users=4),
        "dpsgd": P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=2),
        "renyi": P.Renyi(orders=[2], epsilons=[1]),
    }[kind]
    with pytest.raises(gdp.InputError, match=f"mechanism is '{kind}'"):
        profile.group(2)


def test_files_and_the_command_line(tmp_path: Path) -> None:
    """group stands beside compose in a file; a bad size is named."""
    spec = {"kind": "gaussian", "sigma": 3, "compose": 4, "group": 3}
    path = tmp_path / "group.json"
    path.write_text(json.dumps(spec))
    mu = gdp.measure(gdp.load_profile(path)).mu
    assert float(mu.low) == pytest.approx(2.0, abs=1e-9)
    with pytest.raises(gdp.InputError, match="group is 0"):
        gdp.load_profile({**spec, "group": 0})
