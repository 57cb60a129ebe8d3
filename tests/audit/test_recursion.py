"""The recursion about one run of an f-DP mechanism, against linear programs and laws known."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.optimize import linprog

from gdpbridge.auditing.hypotheses import Gaussian, Lines, approximate
from gdpbridge.auditing.recursion import Guesses, excluded, proved_excluded
from gdpbridge.auditing.search import largest, least_level


def most_probable(guesses: Guesses, pairs: list[tuple[float, float]]) -> float:
    """The largest P[at least c right] that the inequalities of f-DP allow, by a linear program."""
    c, r, m = guesses.correct, guesses.made, guesses.canaries
    count = np.arange(r + 1)
    rows, ends = [], []
    for level in range(1, r + 1):
        right = np.where(count >= level, count / m, 0.0)
        wrong = np.where(count >= level - 1, (r - count) / m, 0.0)
        for eps, delta in pairs:
            # 1 - f is the least of δ + e^ε·x and 1 - e^-ε·(1 - δ - x)
            rows.append(right - np.exp(eps) * wrong)
            ends.append(delta)
            rows.append(right - np.exp(-eps) * wrong)
            ends.append(1 - np.exp(-eps) * (1 - delta))
    found = linprog(
        -np.where(count >= c, 1.0, 0.0),
        A_ub=np.array(rows),
        b_ub=np.array(ends),
        A_eq=np.ones((1, r + 1)),
        b_eq=[1.0],
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize(
    ("correct", "made", "canaries"),
    [(1, 1, 1), (3, 3, 3), (4, 5, 5), (7, 9, 20), (9, 9, 12), (5, 10, 10), (14, 16, 60)],
)
@pytest.mark.parametrize(
    "pairs",
    [[(0.0, 0.0)], [(1.0, 0.0)], [(0.5, 0.05)], [(0.2, 0.1), (1.0, 0.01), (2.0, 0.001)]],
)
def test_the_recursion_finds_what_a_linear_program_finds(
    correct: int, made: int, canaries: int, pairs: list[tuple[float, float]]
) -> None:
    """The greedy choice from the top is the most probable one that all inequalities allow."""
    guesses = Guesses(correct, made, canaries)
    eps, delta = zip(*pairs, strict=True)
    found = least_level(lambda tau: excluded(guesses, tau, Lines(eps, delta)))
    assert found == pytest.approx(most_probable(guesses, pairs), rel=1e-6)


@given(
    made=st.integers(1, 40),
    share=st.floats(0, 1),
    spare=st.integers(0, 40),
    mu=st.floats(0, 4),
    tau=st.floats(1e-6, 0.9),
)
@settings(max_examples=60, deadline=None)
def test_what_floats_exclude_is_proved_a_little_further_out(
    made: int, share: float, spare: int, mu: float, tau: float
) -> None:
    """Balls agree with floats but within rounding, and never exclude more."""
    guesses = Guesses(round(share * made), made, made + spare)
    near = Fraction(tau * (1 + 1e-9))
    if excluded(guesses, tau, Gaussian(mu)):
        assert proved_excluded(guesses, near, Gaussian(mu))
    if proved_excluded(guesses, Fraction(tau), Gaussian(mu)):
        assert excluded(guesses, tau * (1 + 1e-9), Gaussian(mu))


@pytest.mark.parametrize(("correct", "made"), [(9, 10), (60, 100), (540, 1000)])
def test_nothing_is_excluded_that_coins_do(correct: int, made: int) -> None:
    """Under μ = 0 guesses can be binomial, and the bound allows for it."""
    tail = float(special.bdtrc(correct - 1, made, 0.5))
    guesses = Guesses(correct, made, made)
    found = least_level(lambda tau: excluded(guesses, tau, Gaussian(0.0)))
    assert tail <= found <= 3 * tail


def test_nothing_is_excluded_that_a_mechanism_with_a_global_failure_does() -> None:
    """A mechanism that gives everything away with probability δ is (0, δ)-DP, and allowed."""
    made = 30
    for delta in (0.01, 0.05, 0.2):
        allowed = least_level(
            lambda tau, d=delta: excluded(Guesses(made, made, made), tau, approximate(0.0, d))
        )
        assert allowed >= delta


def test_nothing_is_excluded_that_laws_of_two_canaries_do() -> None:
    """For every mechanism of two coins among some thousands, f as it is allows what it does."""
    rng = np.random.default_rng(1)
    coins = list(product((0, 1), repeat=2))
    for _ in range(300):
        outputs = rng.dirichlet(np.full(4, 0.3), size=4)
        pairs = []
        for eps in np.linspace(0, 3, 31):
            worst = 0.0
            for one, other in product(range(4), range(4)):
                if sum(a != b for a, b in zip(coins[one], coins[other], strict=True)) == 1:
                    gap = np.maximum(outputs[one] - np.exp(eps) * outputs[other], 0).sum()
                    worst = max(worst, float(gap))
            pairs.append((float(eps), worst))
        hypothesis = Lines(*zip(*pairs, strict=True))
        # an output is a guess of both coins
        right = np.array(
            [
                [sum(a == b for a, b in zip(coins[s], coins[t], strict=True)) for t in range(4)]
                for s in range(4)
            ]
        )
        for correct in (1, 2):
            chance = float((outputs * (right >= correct)).sum() / 4)
            assert not excluded(Guesses(correct, 2, 2), chance * (1 - 1e-9), hypothesis)


def test_a_smaller_mu_never_excludes_less() -> None:
    """What a μ excludes, smaller ones do, so that bisection finds the bound."""
    guesses = Guesses(80, 100, 400)
    bound = largest(lambda mu: excluded(guesses, 0.05, Gaussian(mu)))
    for mu in np.linspace(0, 3, 50):
        assert excluded(guesses, 0.05, Gaussian(mu)) == (mu <= bound)
