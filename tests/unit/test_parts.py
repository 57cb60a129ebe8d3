"""Sequences of all kinds of parts, each with how often it is run."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.curves.loss_distribution import loss_curve
from gdpbridge.losses.brackets import between
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


def _sampled(base: dict[str, Any], rate: float, scheme: str = "poisson") -> dict[str, Any]:
    return {"kind": "subsampled", "base": base, "rate": rate, "scheme": scheme}


def _listed(law: list[tuple[float, float]], times: int, eps: float) -> float:
    """Return δ(ε) of a finite law's runs, by listing all outcomes."""
    total = 0.0
    for outcome in itertools.product(law, repeat=times):
        loss = sum(one for one, _ in outcome)
        total += math.prod(one for _, one in outcome) * max(0.0, -math.expm1(eps - loss))
    return total


@pytest.mark.parametrize(
    ("base", "law"),
    [
        ({"kind": "pure-dp", "epsilon": 0.8}, _response_law(2 / (1 + math.exp(0.8)), 2)),
        ({"kind": "randomized-response", "noise_parameter": 0.4, "buckets": 5}, None),
        ({"kind": "discrete-laplace", "scale": 2, "sensitivity": 3}, _laplace_law(2, 3)),
    ],
)
def test_sampled_discrete_losses(
    base: dict[str, Any], law: list[tuple[float, float]] | None
) -> None:
    """Runs on Poisson samples: both directions of (1 - γ)Q + γP against Q, listed."""
    rate = 0.3
    scheme = "poisson" if law else "without-replacement"
    law = law or _response_law(0.4, 5)
    law = [(loss, mass) for loss, mass in law if mass > 0]
    new = [(math.log(1 - rate + rate * math.exp(y)), m * math.exp(-y)) for y, m in law]
    if scheme == "poisson":
        removed = [(y, q * math.exp(y)) for y, q in new]
        directions = [removed, [(-y, q) for y, q in new]]
    else:
        # as bad as either order is on its own side, and nothing is told by the rest
        up = [(y, q * math.exp(y)) for y, q in new if y > 0]
        down = [(-y, p * math.exp(-y)) for y, p in up]
        rest = 1 - math.fsum(p for _, p in up + down)
        directions = [[*up, *down, (0.0, rest)]]
    runs = gdp.load_profile({"parts": [{**_sampled(base, rate, scheme), "count": 4}]})
    for eps in (0.0, 0.2, 0.7):
        want = max(_listed(one, 4, eps) for one in directions)
        low, high = runs.delta_bounds(eps)
        assert low == pytest.approx(want, rel=1e-12)
        assert high == pytest.approx(want, rel=1e-12)
    found = gdp.measure(runs)
    assert found.certified
    if scheme == "poisson":
        assert gdp.verify(found.certificate).valid
    else:
        assert found.certificate is None


@pytest.mark.parametrize(
    ("eps", "want"), [(0.0, 0.129728251058), (0.1, 0.0898256535131), (0.3, 0.0378754579081)]
)
def test_sampled_laplace(eps: float, want: float) -> None:
    """Two runs on samples, against nested quadratures of mpmath."""
    runs = gdp.load_profile(_sampled({"kind": "laplace", "scale": 1.25}, 0.3)).compose(2)
    low, high = runs.delta_bounds(eps)
    assert low <= want * (1 + 1e-11)
    assert want * (1 - 1e-11) <= high <= low * (1 + 1e-6)
    assert runs.profile_is == "own"


def test_sampled_laplace_beside_a_gaussian() -> None:
    """Where its atoms do not matter it is exact, by lines."""
    top, rate, eps = 0.8, 0.3, 0.4
    part = _sampled({"kind": "laplace", "scale": 1.25}, rate)
    sequence = gdp.load_profile({"parts": [part, GAUSSIAN]})

    def inside(x: float, direction: int) -> float:
        gain = 1 - rate + rate * math.exp(x)
        loss = math.log(gain)
        if direction:
            return _gaussian(eps + loss, 0.5)
        return gain * _gaussian(eps - loss, 0.5)

    def whole(direction: int) -> float:
        atoms = (inside(-top, direction) + math.exp(-top) * inside(top, direction)) / 2
        nodes, weights = np.polynomial.legendre.leggauss(40)
        x = top * nodes
        terms = [
            weight * math.exp(-(at + top) / 2) / 4 * inside(at, direction)
            for at, weight in zip(x.tolist(), (top * weights).tolist(), strict=True)
        ]
        return atoms + math.fsum(terms)

    want = max(whole(0), whole(1))
    low, high = sequence.delta_bounds(eps)
    assert low == pytest.approx(want, rel=1e-9)
    assert high == pytest.approx(want, rel=1e-9)


def test_many_sampled_laplace_runs() -> None:
    """Lines lie between the laws on a lattice, and close to both."""
    runs = gdp.load_profile(_sampled({"kind": "laplace", "scale": 1}, 0.1)).compose(300)
    low, high = runs.delta_bounds(5.0)
    factors = [part.factor(backward=False) for part in runs.privacy_losses()]
    below, above = (loss_curve([law]).delta_at(Fraction(5)) for law in between(factors, 1 << 12))
    assert high - low <= 1e-9 * high
    assert 0.95 * high < below.low < low < high < above.high < 1.05 * high


@pytest.mark.parametrize(
    ("base", "scheme"),
    [
        ({"kind": "laplace", "scale": 1}, "without-replacement"),
        ({"kind": "zcdp", "rho": 0.1}, "poisson"),
    ],
)
def test_samples_that_do_not_compose(base: dict[str, Any], scheme: str) -> None:
    """Others are refused by name."""
    with pytest.raises(gdp.InputError, match=f"{base['kind']} with {scheme} sampling"):
        gdp.load_profile(_sampled(base, 0.1, scheme)).compose(2)


def test_right_values() -> None:
    """Values that other programs and quadratures found: a Gaussian that may fail, two steps."""
    fails = {"kind": "approx-dp", "epsilon": 0, "delta": 1e-6}
    failing = gdp.load_profile({"parts": [{"kind": "gaussian", "sigma": 1}, fails]})
    # 10⁻⁶ and 1 - 10⁻⁶ of the Gaussian curve
    want = 1e-6 + (1 - 1e-6) * _gaussian(0.5, 1.0)
    assert failing.delta_bounds(0.5) == pytest.approx((want, want), rel=1e-11)
    assert failing.delta_bounds(0.5) == pytest.approx((0.238422470, 0.238422470), abs=5e-10)
    assert failing.epsilon_bounds(1e-5) == pytest.approx((4.40170826, 4.40170826), abs=5e-9)
    steps = gdp.profiles.DPSGD(
        noise_multiplier=3.79, sample_rate=0.01345, steps=2, neighbours="add-remove"
    )
    low, high = steps.delta_bounds(0.05)
    assert low == pytest.approx(1.981842292061e-11, rel=1e-12)
    assert high == pytest.approx(1.981842292061e-11, rel=1e-12)


def test_discrete_gaussian_noise_beside_a_density_that_may_fail_has_its_delta_far_out() -> None:
    """No sums of a density and of masses without number, which cancel to nothing there."""
    parts = [
        gdp.profiles.DiscreteGaussian(sigma=2.175),
        gdp.profiles.TruncatedLaplace(scale=6.57, delta=3.731e-8),
        gdp.profiles.Laplace(scale=2.594),
    ]
    low, high = gdp.profiles.Sequence(parts=parts).delta_bounds([1.0, 3.0, 20.0])
    assert (high - low <= 1e-6 * high).all()
    assert high[2] == pytest.approx(3.731e-8, rel=1e-12)
