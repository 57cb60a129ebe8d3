"""Bounds at points: floats as decimals, an open question among others, widths of small μ."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.convert import beta_at, delta_at, epsilon_at
from gdpbridge.curves.points import proved_deltas, proved_epsilons
from gdpbridge.errors import UndecidedError, UndecidedWarning
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.numeric.exact import float_ceiling, float_floor
from gdpbridge.numeric.kinds import BALLS, Probability, ball

P = gdp.profiles
EPS = [0.1, 0.3, 0.7, 1.1, 1.9]
PROFILES = [
    P.PureDP(epsilon=2),
    P.Laplace(scale=0.5),
    P.Gaussian(sigma=1),
    P.Table(pairs=[(0.5, 0.3), (2, 0.01), (4, 0)]),
    P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=5),
]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.kind)
@pytest.mark.slow
def test_a_float_stands_for_its_decimal(profile: gdp.profiles.Laplace) -> None:
    """Bounds at 0.1 are those at a tenth: the exact answer, in twenty digits, lies between them."""
    low, high = (np.asarray(side) for side in profile.delta_bounds(EPS))
    for number, eps in enumerate(EPS):
        exact = delta_at(profile, repr(eps))
        assert low[number] <= float_ceiling(exact.low)
        assert float_floor(exact.high) <= high[number]
        one = profile.delta_bounds(eps)
        assert one == pytest.approx((low[number], high[number]), rel=1e-4)
    deltas = [1e-5, 0.01, 0.1]
    low, high = (np.asarray(side) for side in profile.epsilon_bounds(deltas))
    for number, delta in enumerate(deltas):
        exact = epsilon_at(profile, repr(delta))
        assert low[number] <= exact.upper
        assert exact.lower <= high[number]
    low, high = (np.asarray(side) for side in profile.tradeoff_bounds([0.1, 0.9]))
    for number, alpha in enumerate((0.1, 0.9)):
        exact = beta_at(profile, repr(alpha))
        assert low[number] <= exact.upper
        assert exact.lower <= high[number]


def test_the_decimal_makes_the_difference() -> None:
    """δ(ε₀) = 0 at the float ε₀, whose binary value may lie on either side of its decimal."""
    profile = P.PureDP(epsilon=0.1)
    assert profile.delta_bounds(0.1) == (0, 0)
    below = math.nextafter(0.1, 0)
    low, high = profile.delta_bounds(below)
    assert 0 < low <= high < 1e-16
    # 0.3 as a binary number is below 3/10, where δ is positive
    assert P.PureDP(epsilon=0.3).delta_bounds(0.3) == (0, 0)
    assert P.PureDP(epsilon=0.3).delta_bounds([0.3, 0.1])[1][0] == 0


def test_an_open_question_does_not_close_the_others() -> None:
    """Of three δ one is open: it is named and bounded by what is known, and the others answered."""
    deltas = [Fraction(1, 5), Fraction(1, 10**30), Fraction(1, 3)]
    guess = np.array([math.log(5), 3.5e300, math.log(3)])

    def exponential(eps: ball) -> Probability:
        # nothing more is known far out, where the guess for the second one is
        return Probability.from_log(BALLS, ball(Fraction(-1)) if eps > 1e100 else -eps)

    with pytest.warns(UndecidedWarning, match=r"δ = 1e-30 \(number 1\)"):
        low, high = proved_epsilons(exponential, deltas, guess)
    assert (low[1], high[1]) == (0, math.inf)
    for number in (0, 2):
        assert low[number] <= -math.log(deltas[number]) <= high[number]
        assert high[number] - low[number] < 1e-10
    # alone, it is an error as before
    with pytest.raises(UndecidedError):
        proved_epsilons(exponential, deltas[1:2], guess[1:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proved_epsilons(exponential, deltas[:1], guess[:1])


def test_an_open_question_of_composed_losses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that come close enough to some δ and not to others, in both kinds of arrays."""
    profile = P.Sequence(parts=[P.Laplace(scale=5), P.Gaussian(sigma=2)])
    truth = profile.delta_bounds([0.25, 1.5]), profile.epsilon_bounds([1e-6, 0.125])
    ask_delta, ask_epsilon = ComposedLoss.delta, ComposedLoss.epsilon

    def delta(self: ComposedLoss, eps: Fraction, stop: Fraction | None = None) -> object:
        if eps == 1:
            raise UndecidedError("no line comes close enough")
        return ask_delta(self, eps, stop)

    def epsilon(self: ComposedLoss, delta: Fraction) -> object:
        if delta == Fraction(1, 1000):
            raise UndecidedError("no line comes close enough")
        return ask_epsilon(self, delta)

    monkeypatch.setattr(ComposedLoss, "delta", delta)
    monkeypatch.setattr(ComposedLoss, "epsilon", epsilon)
    with pytest.warns(UndecidedWarning, match=r"ε = 1 \(number 1\)"):
        low, high = profile.delta_bounds([1.5, 1, 0.25])
    assert (low[1], high[1]) == (0, 1)
    np.testing.assert_allclose([low[[2, 0]], high[[2, 0]]], truth[0], rtol=1e-10)
    with pytest.warns(UndecidedWarning, match=r"δ = 0.001 \(number 1\)"):
        low, high = profile.epsilon_bounds([1e-6, 1e-3, 0.125])
    assert (low[1], high[1]) == (0, math.inf)
    np.testing.assert_allclose([low[[0, 2]], high[[0, 2]]], truth[1], rtol=1e-10)
    with pytest.raises(UndecidedError):
        profile.epsilon_bounds(1e-3)


def test_what_cannot_be_told_from_0_is_not_called_tiny() -> None:
    """Where no precision tells log δ, the bounds follow from 1 - δ, and are 0 and 1 without it."""

    def enclose(rest: object) -> Probability:
        return Probability(lambda: BALLS.constant(Fraction(1)) * ball(Fraction(1)).nan(), rest)

    half = ball(Fraction(-1, 2))
    low, high = proved_deltas(lambda _: enclose(lambda: half), [Fraction(1)])
    assert low[0] <= -math.expm1(-0.5) <= high[0] <= low[0] + 1e-15
    low, high = proved_deltas(lambda _: enclose(half.nan), [Fraction(1)])
    assert (low[0], high[0]) == (0, 1)


@pytest.mark.parametrize(
    ("profile", "scope", "mu"),
    [
        (P.PureDP(epsilon=1e-9), {}, 1.2533141373155003e-09),
        (P.PureDP(epsilon=1e-80), {}, 1.2533141373155003e-80),
        (P.PureDP(epsilon=1e-9), {"eps_h": 1e-10}, 1.2533141373155003e-09),
        (P.Laplace(scale=5), {}, 0.2391055837),
        (P.SGDFamily(A=0.02, B=1, sigma=2), {}, 0.03541214012),
        (P.Table(pairs=[(1e-3, 1e-9), (2e-3, 0)]), {}, None),
    ],
)
def test_the_default_width_is_relative_below_1(
    profile: gdp.profiles.Laplace, scope: dict[str, float], mu: float | None
) -> None:
    """A small μ is known to nine digits too; a width that is asked for stays absolute."""
    found = gdp.measure(profile, **scope)
    assert 0 < found.mu.width <= 1e-9 * found.mu.upper
    if mu is not None:
        assert found.mu.lower == pytest.approx(mu, rel=1e-9)
    coarse = gdp.measure(profile, tol=1e-9, **scope)
    assert coarse.mu.width <= 1e-9
    assert coarse.mu.low <= found.mu.high
    assert found.mu.low <= coarse.mu.high


def test_calibration_of_a_small_target_is_relative() -> None:
    """σ for μ = 2.5e-6 is 400,000, to nine digits and on the safe side."""
    found = gdp.calibrate("gaussian", 2.5e-6)
    assert 1 <= found.value * 2.5e-6 <= 1 + 1e-8


def test_the_epsilon_of_the_level_that_delta_comes_down_to() -> None:
    """δ stays at δ₀ from ε on: what is asked is answered, also among other δ."""
    known = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6)
    low, high = known.epsilon_bounds(1e-6)
    assert low <= 1 <= high <= 1 + 1e-12
    lows, highs = known.epsilon_bounds([1e-7, 1e-6, 0.1])
    assert lows[0] > 1000
    assert (highs[0], highs[1]) == (np.inf, high)
    assert 0 < lows[2] <= highs[2] < 1
