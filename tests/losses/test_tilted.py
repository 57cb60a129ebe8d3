"""Composition by tilted transforms: right within its own bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from gdpbridge.gaussian.curve import log_delta
from gdpbridge.losses import tilted
from gdpbridge.losses.atoms import two_losses
from gdpbridge.losses.composition import ComposedLoss
from gdpbridge.losses.step import Loss
from gdpbridge.losses.subsampled_gaussian import SubsampledGaussian
from gdpbridge.losses.tilted import Part, compose_tilted, log_chernoff, log_moment


def binomial_log_delta(eps0: float, times: int, eps: float) -> float:
    """Log δ of composed randomized response, by summing its terms exactly."""
    p = math.exp(eps0) / (1 + math.exp(eps0))
    terms = []
    for ups in range(times + 1):
        loss = (2 * ups - times) * eps0
        if loss > eps:
            log = math.lgamma(times + 1) - math.lgamma(ups + 1) - math.lgamma(times - ups + 1)
            log += ups * math.log(p) + (times - ups) * math.log1p(-p)
            terms.append(log + math.log(-math.expm1(eps - loss)))
    return float(np.logaddexp.reduce(terms)) if terms else -math.inf


@pytest.mark.parametrize("theta", [1.0, 1.5, 3.0, 6.0])
@pytest.mark.parametrize("times", [1, 7, 50, 400])
def test_randomized_response(times: int, theta: float) -> None:
    """Every bound of a stretch holds the binomial sum; the best ones are tight."""
    step = two_losses(Fraction(1, 5))
    law = step.exact_law(Fraction(1, 5))
    assert law is not None
    stretch = compose_tilted([Part(law, Loss(step, times))], theta)
    checked = 0
    for number in range(stretch.size):
        eps = stretch.start + number * stretch.spacing
        if not 0 <= eps < times * 0.2 - 0.1:
            continue
        truth = binomial_log_delta(0.2, times, eps - 1e-9)
        assert stretch.log_low[number] <= truth + 1e-7
        assert stretch.log_high[number] >= binomial_log_delta(0.2, times, eps + 1e-9) - 1e-7
        checked += 1
    assert checked or times == 1
    assert float(np.nanmin(stretch.log_high - stretch.log_low)) < 1e-8


@pytest.mark.parametrize("times", [2, 60, 10_000])
def test_gaussian(times: int) -> None:
    """Without sampling the bounds hold the Gaussian curve, deep into the tail."""
    sigma = 3.0 * math.sqrt(times)
    loss = Loss(SubsampledGaussian(Fraction(sigma), Fraction(1)), times)
    resolution = ComposedLoss([loss]).within(1e-3)
    eps = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 8.0])
    found, truth = resolution.bounds(eps), log_delta(eps, 1 / 3.0)
    assert (found.log_low <= truth + 1e-12 * np.abs(truth)).all()
    assert (found.log_high >= truth - 1e-12 * np.abs(truth)).all()
    assert ((found.log_high - found.log_low) / np.maximum(1, np.abs(truth)) < 0.05).all()
    assert truth[-1] < -250


def test_chernoff_is_above() -> None:
    """A moment's bound is never below the curve."""
    step = two_losses(Fraction(1, 5))
    law = step.exact_law(Fraction(1, 5))
    assert law is not None
    for theta in (1.0, 2.0, 5.0):
        moment = log_moment([Part(law, Loss(step, 50))], theta)
        eps = np.linspace(0, 9.9, 34)
        bound = log_chernoff(moment, theta, eps)
        truth = [binomial_log_delta(0.2, 50, float(one)) for one in eps]
        assert (bound >= np.array(truth) - 1e-9).all()


def test_decaying_sums() -> None:
    """Doubling gives the sums that a loop gives."""
    values = np.random.default_rng(1).random(77)
    for rate in (0.0, 1e-3, 0.5, 40.0):
        expected, total = [], 0.0
        for value in values:
            total = value + math.exp(-rate) * total
            expected.append(total)
        assert tilted._decaying_sums(values, rate) == pytest.approx(expected, rel=1e-13)


def test_transform_error_is_bounded() -> None:
    """What the transform gets wrong is within the bound given for it."""
    masses = np.random.default_rng(2).random(40)
    masses /= masses.sum()
    exact = np.ones(1)
    for _ in range(64):
        exact = np.convolve(exact, masses)
    piece = tilted._Tilt(np.arange(40), masses, np.zeros(40), 0.0, 0.0, 0.0, 0.0)
    found, error = tilted._transform([piece], np.array([64]), 0, exact.size)
    assert np.abs(found[: exact.size] - exact).max() <= error
    assert error < 1e-10


def test_too_long_a_window_is_refused() -> None:
    """A window beyond the memory allowed is an error with its length."""
    step = two_losses(Fraction(1, 5))
    law = step.exact_law(Fraction(1, 10**7))
    assert law is not None
    with pytest.raises(tilted.WindowError) as caught:
        compose_tilted([Part(law, Loss(step, 50))], 1.0)
    assert caught.value.points > tilted.MAX_POINTS
