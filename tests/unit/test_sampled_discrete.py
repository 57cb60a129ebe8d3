"""Discrete Gaussian noise on samples, run several times: all sums, other programs, both sides."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import gdpbridge as gdp

P = gdp.profiles
TWO = P.DiscreteGaussian(sigma=2).subsample(rate=0.1)


def losses(sigma: str, sensitivity: int, rate: str) -> list[tuple[mpf, mpf, mpf]]:
    """Losses of one sample, and their probabilities with and without the record."""
    s, gamma = mpf(sigma), mpf(rate)
    reach = int(12 * s)
    norm = mpmath.nsum(lambda x: mpmath.exp(-(x**2) / (2 * s**2)), [-mpmath.inf, mpmath.inf])
    found = []
    for x in range(-reach, reach + sensitivity + 1):
        p, q = (mpmath.exp(-(mpf(x - at) ** 2) / (2 * s**2)) / norm for at in (0, sensitivity))
        mixed = (1 - gamma) * q + gamma * p
        found.append((mpmath.log(mixed / q), mixed, q))
    return found


def delta(one: list[tuple[mpf, mpf, mpf]], times: int, eps: mpf, *, added: bool) -> mpf:
    """δ(ε) of some runs in one direction, by all sums; what is beyond 12σ is below 10⁻³⁰."""
    found = mpf(0)
    for runs in combinations_with_replacement(range(len(one)), times):
        total = sum(one[k][0] for k in runs) * (-1 if added else 1)
        if total > eps:
            ways = factorial(times) // prod(factorial(runs.count(k)) for k in set(runs))
            mass = ways * mpmath.fprod(one[k][2 if added else 1] for k in runs)
            found += mass * -mpmath.expm1(eps - total)
    return found


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_two_runs_by_all_sums(scheme: str, sensitivity: int) -> None:
    """Both ends are next to what mpmath adds up; a replaced record's pair is as bad either way."""
    with mpmath.workdps(40):
        one = losses("1.5", sensitivity, "0.1")
        if scheme != "poisson":
            ups = [(loss, p) for loss, p, _ in one if loss > 0]
            rest = 1 - sum(p * (1 + mpmath.exp(-loss)) for loss, p in ups)
            below = [(-loss, p * mpmath.exp(-loss), p) for loss, p in ups]
            above = [(loss, p, p * mpmath.exp(-loss)) for loss, p in ups]
            one = [*below, (mpf(0), rest, rest), *above]
        noise = P.DiscreteGaussian(sigma=1.5, sensitivity=sensitivity)
        runs = noise.subsample(rate=0.1, scheme=scheme).compose(2)
        for eps in (mpf(0), mpf("0.2"), mpf(1)):
            want = max(delta(one, 2, eps, added=added) for added in (False, True))
            low, high = runs.delta_bounds(float(eps))
            assert low * (1 - mpf(10) ** -14) <= want <= high * (1 + mpf(10) ** -14)
            assert high - low <= 1e-13 * high
    assert runs.composed_is is (gdp.Nature.OWN if scheme == "poisson" else gdp.Nature.BOUND)


def test_many_runs_lie_between_others_ends() -> None:
    """dp_accounting's pessimistic and optimistic laws lie on either side."""
    pld: Any = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    times, eps = 10, 0.5
    low, high = TWO.compose(times).delta_bounds(eps)
    sides = [
        pld.from_discrete_gaussian_mechanism(
            2.0, 1, value_discretization_interval=1e-3, pessimistic_estimate=side, sampling_prob=0.1
        )
        .self_compose(times)
        .get_delta_for_epsilon(eps)
        for side in (False, True)
    ]
    assert sides[0] <= low < high <= sides[1]
    assert high - low <= 1e-4 * high


def test_mu_of_many_runs() -> None:
    """In seconds, and near that of the Gaussian mechanism on samples, which is hardly smoother."""
    found = gdp.measure(TWO.compose(10), failure=1e-6, tol=1e-3).mu
    twin = gdp.measure(
        P.Gaussian(sigma=2).subsample(rate=0.1).compose(10), failure=1e-6, tol=1e-3
    ).mu
    assert found.high - found.low <= 1e-3
    assert float(found.low) == pytest.approx(float(twin.low), rel=0.02)


def test_beside_others() -> None:
    """Other discrete losses may stand beside them, and none with a density."""
    beside = P.Sequence(parts=[TWO, P.DiscreteGaussian(sigma=3, neighbours="add-remove")])
    low, high = beside.delta_bounds(1.0)
    one = losses("2", 1, "0.1")
    other = losses("3", 1, "1")
    sums = np.array([[float(a + b) for a, *_ in one] for b, *_ in other])
    masses = np.array([[float(p * q) for _, p, _ in one] for _, q, _ in other])
    want = float((masses * np.maximum(-np.expm1(1 - sums), 0)).sum())
    assert low == pytest.approx(want, rel=1e-9)
    assert high == pytest.approx(want, rel=1e-9)
    with pytest.raises(gdp.InputError, match="discrete Gaussian noise on samples"):
        P.Sequence(parts=[TWO, P.Laplace(scale=1)]).delta_bounds(1.0)
