"""Sequences of all kinds of parts, each with how often it is run."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gdpbridge as gdp
from gdpbridge.specification.schema import mechanism_schema

GAUSSIAN = {"kind": "gaussian", "sigma": 2}


def _delta_with_gaussian(law: list[tuple[float, float]], times: int, eps: float) -> float:
    """Return δ(ε) of a finite law's runs and one Gaussian, by listing all outcomes."""
    total = 0.0
    for outcome in itertools.product(law, repeat=times):
        loss = sum(one for one, _ in outcome)
        mass = math.prod(one for _, one in outcome)
        total += mass * _gaussian(eps - loss, 0.5)
    return total


def _gaussian(eps: float, mu: float) -> float:
    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    return tail(eps / mu - mu / 2) - math.exp(eps) * tail(eps / mu + mu / 2)


def _response_law(noise: float, buckets: int) -> list[tuple[float, float]]:
    share = noise / buckets
    top = math.log(1 + (1 - noise) / share)
    return [(-top, share), (0.0, (buckets - 2) * share), (top, share + 1 - noise)]


def _laplace_law(scale: float, top: int) -> list[tuple[float, float]]:
    r = math.exp(-1 / scale)

    def mass(x: int) -> float:
        return r**x / (1 + r) * (1 if x in (0, top) else 1 - r)

    return [((top - 2 * x) / scale, mass(x)) for x in range(top + 1)]


def _gaussian_law(sigma: float, far: int) -> list[tuple[float, float]]:
    weights = {x: math.exp(-x * x / (2 * sigma**2)) for x in range(-far, far + 1)}
    total = sum(weights.values())
    return [((1 - 2 * x) / (2 * sigma**2), mass / total) for x, mass in weights.items()]


@pytest.mark.parametrize(
    ("part", "law"),
    [
        (
            {"kind": "randomized-response", "noise_parameter": 0.4, "buckets": 5},
            _response_law(0.4, 5),
        ),
        ({"kind": "randomized-response", "noise_parameter": 0.7}, _response_law(0.7, 2)),
        ({"kind": "discrete-laplace", "scale": 3, "sensitivity": 4}, _laplace_law(3, 4)),
        ({"kind": "discrete-laplace", "scale": 2, "sensitivity": 3}, _laplace_law(2, 3)),
        ({"kind": "discrete-gaussian", "sigma": 0.8}, _gaussian_law(0.8, 7)),
    ],
)
def test_beside_a_gaussian(part: dict[str, Any], law: list[tuple[float, float]]) -> None:
    """Discrete losses and one Gaussian give what listing all outcomes does."""
    sequence = gdp.load_profile({"parts": [{**part, "count": 3}, GAUSSIAN]})
    for eps in (0.0, 0.8, 2.5):
        want = _delta_with_gaussian(law, 3, eps)
        low, high = sequence.delta_bounds(eps)
        assert low == pytest.approx(want, rel=1e-9)
        assert high == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("sensitivity", [2, 3])
def test_discrete_laplace_alone(sensitivity: int) -> None:
    """Runs of discrete Laplace noise of any sensitivity compose on their own lattice."""
    law = _laplace_law(2, sensitivity)
    several = gdp.profiles.DiscreteLaplace(scale=2, sensitivity=sensitivity).compose(4)
    for eps in (0.0, 0.7, 2.2):
        want = sum(
            math.prod(mass for _, mass in outcome)
            * max(0.0, 1 - math.exp(eps - sum(loss for loss, _ in outcome)))
            for outcome in itertools.product(law, repeat=4)
        )
        low, high = several.delta_bounds(eps)
        assert low <= want * (1 + 1e-9)
        assert high >= want * (1 - 1e-9)
        assert high - low <= 1e-4 * want


def test_samples_without_replacement_compose_to_a_bound() -> None:
    """Runs on them have a δ of their own, above one run's, and called a bound."""
    base = gdp.profiles.Gaussian(sigma=1, sensitivity=2, neighbours="replace-one")
    several = base.subsample(0.1, "without-replacement").compose(300)
    assert several.profile_is == "bound"
    run = gdp.profiles.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=300, sampling="fixed-size")
    assert several.delta_bounds(9.0) == run.delta_bounds(9.0)


def test_a_count_is_so_many_parts(tmp_path: Path) -> None:
    """In a file, in plain data and written out, a count gives one δ, and the schema knows it."""
    counted = {"parts": [{"kind": "laplace", "scale": 4, "count": 3}, {**GAUSSIAN, "count": 2}]}
    jsonschema.Draft202012Validator(mechanism_schema()).validate({"kind": "sequence", **counted})
    path = tmp_path / "run.toml"
    path.write_text(
        '[[parts]]\nkind = "laplace"\nscale = 4\ncount = 3\n'
        '[[parts]]\nkind = "gaussian"\nsigma = 2\ncount = 2\n'
    )
    long = {"parts": [{"kind": "laplace", "scale": 4}] * 3 + [GAUSSIAN] * 2}
    found = {
        one.delta_bounds(1.5)
        for one in (
            gdp.load_profile(path),
            gdp.load_profile(counted),
            gdp.load_profile(long),
            gdp.profiles.Sequence(**counted),
        )
    }
    assert len(found) == 1


@pytest.mark.parametrize("count", [0, -1, 1.5, "x", 10**7])
def test_bad_counts(count: object) -> None:
    """They are refused with their place and what is allowed."""
    with pytest.raises(gdp.InputError, match=r"parts\[1\].count is .*: must be a whole number"):
        gdp.load_profile({"parts": [GAUSSIAN, {**GAUSSIAN, "count": count}]})


def test_a_count_is_of_a_part_only() -> None:
    """On a mechanism alone it is refused, by the schema and when it is read."""
    alone = {"kind": "laplace", "scale": 1, "count": 3}
    assert not jsonschema.Draft202012Validator(mechanism_schema()).is_valid(alone)
    with pytest.raises(gdp.InputError, match="count is not a parameter"):
        gdp.load_profile(alone)
