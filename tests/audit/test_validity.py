"""Bounds exceed the truth in no more runs than the confidence allows; seeded shares of runs.

benchmarks/bench_audit.py holds the same with 5,000 runs a cell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from gdpbridge.auditing import audit, audit_mechanism

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, NDArray[np.bool_]], Floats]

RUNS = 60
LEVEL = 0.2
# a valid method stays below it but once in a million
MOST = int(special.bdtrik(1 - 1e-6, RUNS, LEVEL)) + 1


def gaussian(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """Each canary has a coordinate of its own: exactly 1-GDP."""
    return rng.normal(size=inside.size) + inside


def rounded(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """The same, rounded so that scores are tied."""
    return np.round(gaussian(rng, inside))


def noise(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """Scores that know nothing, with heavy tails."""
    return rng.standard_cauchy(size=inside.size)


def shared(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """1-GDP, and every score depends on every other one through a sum that is released too."""
    own = rng.normal(size=inside.size) * 2**0.5 + inside
    total = inside.sum() + rng.normal() * 2**0.5
    return own + 0.1 * (total - own.sum())


def seldom(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """(0, δ)-DP with δ = 1/4: everything is given away with that probability."""
    return (
        inside + 1e-9 * rng.normal(size=inside.size) if rng.random() < 0.25 else noise(rng, inside)
    )


ONE_RUN = ("f-dp", "guessing")
INDEPENDENT = ("split", "simultaneous")


@pytest.mark.parametrize("canaries", [10, 100])
@pytest.mark.parametrize(
    ("world", "truth", "methods"),
    [
        (gaussian, 1.0, ONE_RUN + INDEPENDENT),
        (rounded, 1.0, ONE_RUN + INDEPENDENT),
        (noise, 0.0, ONE_RUN + INDEPENDENT),
        (shared, 1.0, ONE_RUN),
    ],
)
def test_mu_is_bounded_by_no_more_than_it_is(
    world: World, truth: float, methods: tuple[str, ...], canaries: int
) -> None:
    """The bound of μ is above the truth, and the true claim accused, as seldom as promised."""
    rng = np.random.default_rng(canaries)
    for method in methods:
        above = accused = 0
        for seed in range(RUNS):
            inside = rng.random(canaries) < 0.5
            if inside.all() or not inside.any():
                continue
            found = audit(
                world(rng, inside),
                inside,
                confidence=1 - LEVEL,
                method=method,
                mu_claimed=truth,
                seed=seed,
            )
            above += found.mu.lower > truth
            accused += found.contradicts
        assert above <= MOST, method
        assert accused <= MOST, method


@pytest.mark.parametrize("method", ONE_RUN)
def test_a_global_failure_within_delta_is_not_held_against_a_mechanism(method: str) -> None:
    """What gives all away with probability δ is (0, δ)-DP: ε is above 0 as seldom as promised."""
    rng = np.random.default_rng(2)
    above = 0
    for seed in range(RUNS):
        inside = rng.random(40) < 0.5
        found = audit(
            seldom(rng, inside), inside, confidence=1 - LEVEL, method=method, delta=0.25, seed=seed
        )
        above += found.epsilon.lower > 0
    assert above <= MOST


def test_the_bound_of_epsilon_of_randomised_response() -> None:
    """Answers that are true with probability e/(1 + e) are 1-DP, in one run and in many."""
    rng = np.random.default_rng(3)
    keep = np.e / (1 + np.e)
    for method in ONE_RUN + INDEPENDENT:
        above = 0
        for seed in range(RUNS):
            inside = rng.random(80) < 0.5
            told = np.where(rng.random(80) < keep, inside, ~inside).astype(float)
            told[0] += 1e-9
            found = audit(told, inside, confidence=1 - LEVEL, method=method, delta=0, seed=seed)
            above += found.epsilon.lower > 1
        assert above <= MOST, method


def test_thinned_canaries_are_in_by_fair_coins() -> None:
    """Canaries in with probability 0.2 are thinned out, and no signal is no signal."""
    rng = np.random.default_rng(4)
    above = 0
    for seed in range(RUNS):
        inside = rng.random(200) < 0.2
        found = audit(noise(rng, inside), inside, confidence=1 - LEVEL, inclusion=0.2, seed=seed)
        above += found.mu.lower > 0
    assert above <= MOST


def test_an_event_chosen_on_one_half_is_tested_on_the_other() -> None:
    """A mechanism audited by its own runs is accused of more than its μ as seldom as promised."""
    rng = np.random.default_rng(5)
    above = 0
    for seed in range(RUNS):
        found = audit_mechanism(
            lambda mean: mean + rng.normal(),
            worlds=(0.0, 1.0),
            runs=60,
            confidence=1 - LEVEL,
            seed=seed,
        )
        above += found.mu.lower > 1
    assert above <= MOST
