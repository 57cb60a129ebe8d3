"""The paper's listings as printed: the same as run step by step, and too small."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.mechanisms.base import Profile
from gdpbridge.paper.listings import Listing, Pairing, naive_listing, optimised_listing, steps

LAPLACE = gdp.profiles.Laplace(scale=0.5)
SGD = gdp.profiles.SGDFamily(A=2, B=1, sigma=2)
ICEA = gdp.profiles.ICEA(messages=20, users=4)


def _binary_search(eps: float, delta: float, margin: float) -> tuple[float, float]:
    """The paper's binary search, step by step."""
    low, high = 0.0, 10.0
    while high - low >= margin:
        middle = (low + high) / 2
        if gdp.delta(eps, middle) > delta:
            high = middle
        else:
            low = middle
    return low, high


def _step_by_step(
    profile: Profile, eps_h: float, c: int, pairing: Pairing, order: list[int] | None = None
) -> tuple[float, float, int, int]:
    """Both listings, search by search; the naive one without an order."""
    n = math.ceil(math.sqrt(8) * c * math.pi * eps_h) + 1
    width, margin = eps_h / (n - 1), 1 / (2 * c)
    low = high = 0.0
    lower = upper = 0
    for i in range(n + 2) if order is None else order:
        left, right = i * width, (i + 1) * width
        if pairing == "printed":
            for_high = left, float(profile.delta(right))
            for_low = right, float(profile.delta(left))
        else:
            for_high = right, float(profile.delta(left))
            for_low = left, float(profile.delta(right))
        if order is None or gdp.delta(for_high[0], high) < for_high[1]:
            found = _binary_search(*for_high, margin)[1]
            high = found if order is not None else max(high, found)
            upper += 1
        if order is None or gdp.delta(for_low[0], low) < for_low[1]:
            found = _binary_search(*for_low, margin)[0]
            low = found if order is not None else max(low, found)
            lower += 1
    return low, high, lower, upper


def _as_tuple(run: Listing) -> tuple[float, float, int, int]:
    return run.low, run.high, run.lower_searches, run.upper_searches


@pytest.mark.parametrize("pairing", ["printed", "theorem"])
@pytest.mark.parametrize("profile", [LAPLACE, SGD], ids=["laplace", "sgd"])
@pytest.mark.parametrize("c", [3, 10])
def test_same_as_step_by_step(profile: Profile, pairing: Pairing, c: int) -> None:
    """Rounding to the search's lattice gives what the searches give, and as many of them."""
    assert _as_tuple(naive_listing(profile, 1.9, c, pairing)) == _step_by_step(
        profile, 1.9, c, pairing
    )
    order = np.random.default_rng(7).permutation(steps(profile, 1.9, c).lower.size).tolist()
    assert _as_tuple(optimised_listing(profile, 1.9, c, pairing, seed=7)) == _step_by_step(
        profile, 1.9, c, pairing, order
    )


@pytest.mark.parametrize("c", [10, 1000])
def test_printed_upper_end_is_too_small(c: int) -> None:
    """As printed, both listings give a μ⁺ below the proved least μ of the Laplace example."""
    least = gdp.measure(LAPLACE).mu
    for run in (
        naive_listing(LAPLACE, 2.0, c, "printed"),
        optimised_listing(LAPLACE, 2.0, c, "printed", seed=1),
    ):
        assert run.high < least.lower
    assert naive_listing(LAPLACE, 2.0, c, "theorem").high >= least.upper


def test_exact_steps_bracket_the_least_mu() -> None:
    """The steps of the theorem bracket the least μ of the head on cells that meet it."""
    cells, least = steps(ICEA, 10.0, 100), gdp.measure(ICEA, eps_h=10).mu
    assert cells.lower[: cells.n].max() <= least.lower
    assert cells.upper.max() >= least.upper
    # the two cells beyond the head
    assert cells.lower.max() > least.upper


def test_lower_searches_grow() -> None:
    """A hundred times finer, the printed test searches for μ⁻ some ten times as often."""
    few, many = (
        optimised_listing(LAPLACE, 2.0, c, "theorem", seed=1).lower_searches for c in (100, 10_000)
    )
    assert 4 * few < many < 25 * few
    assert optimised_listing(LAPLACE, 2.0, 10_000, "theorem", seed=1).upper_searches < 30
