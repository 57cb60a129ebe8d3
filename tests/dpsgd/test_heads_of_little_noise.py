"""Heads of DP-SGD with little noise near ε = 0, where no line covers the range."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

import gdpbridge as gdp
from gdpbridge.errors import UndecidedError
from gdpbridge.measure.chords import by_chords
from gdpbridge.measure.problem import Problem


def _delta_of_two(rate: str, noise: str, at: str) -> mpmath.mpf:
    """δ(ε) of two runs, Poisson samples against none: one run's δ over the other one's outputs."""
    q, sigma, eps = map(mpmath.mpf, (rate, noise, at))

    def place(loss: mpmath.mpf) -> mpmath.mpf:
        return sigma**2 * mpmath.log((mpmath.exp(loss) - 1 + q) / q) + mpmath.mpf(1) / 2

    def of_one(left: mpmath.mpf) -> mpmath.mpf:
        if left <= mpmath.log(1 - q):
            return 1 - mpmath.exp(left)
        u = place(left)
        alone = mpmath.ncdf(-u / sigma)
        return (1 - q) * alone + q * mpmath.ncdf((1 - u) / sigma) - mpmath.exp(left) * alone

    def integrand(x: mpmath.mpf) -> mpmath.mpf:
        loss = mpmath.log(1 - q + q * mpmath.exp((x - mpmath.mpf(1) / 2) / sigma**2))
        density = (1 - q) * mpmath.npdf(x, 0, sigma) + q * mpmath.npdf(x, 1, sigma)
        return density * of_one(eps - loss)

    cuts = {mean + k * sigma for mean in (0, 1) for k in range(-9, 10)}
    for loss in (eps - mpmath.log(1 - q), eps):
        cuts |= {place(loss) + k * sigma**2 for k in (-8, -3, -1, 0, 1, 3, 8)}
    return mpmath.quad(integrand, sorted(cuts), maxdegree=5)


def _mu(eps: str, delta: mpmath.mpf) -> mpmath.mpf:
    at = mpmath.mpf(eps)

    def excess(mu: mpmath.mpf) -> mpmath.mpf:
        left, right = (mpmath.ncdf(sign * mu / 2 - at / mu) for sign in (1, -1))
        return left - mpmath.exp(at) * right - delta

    return mpmath.findroot(excess, (mpmath.mpf("1e-3"), 5), solver="anderson")


def test_chords_find_the_head_of_two_runs() -> None:
    """At ε over the range, by quadrature of one run's closed form: the largest G is in between."""
    found = gdp.measure(
        gdp.profiles.DPSGD(noise_multiplier=0.3, sample_rate=0.01, steps=2), None, 0.03
    )
    with mpmath.workdps(25):
        seen = [_mu(eps, _delta_of_two("0.01", "0.3", eps)) for eps in ("0.012", "0.0297", "0.03")]
        low, high = (mpmath.mpf(str(end)) for end in (found.mu.low, found.mu.high))
        assert low <= max(seen) <= high
    assert float(found.mu.high - found.mu.low) <= 1e-11
    assert found.certified
    assert any("chords in e^ε" in note for note in found.notes)
    with pytest.raises(UndecidedError, match="single ε"):
        _ = found.certificate


def test_where_a_width_is_missed_the_proved_interval_is_told() -> None:
    """δ is the chance of a sampled run but for next to nothing: 50 deviations of noise hide one."""
    runs = gdp.profiles.DPSGD(noise_multiplier=0.01, sample_rate=0.00015, steps=30)
    delta = -math.expm1(30 * math.log1p(-0.00015))
    with pytest.raises(UndecidedError, match="could only be narrowed to") as refused:
        gdp.measure(runs, 1e-9, 0.00648)
    low, high = (float(end) for end in (refused.value.bounds.low, refused.value.bounds.high))
    assert low <= _mu("0.00648", mpmath.mpf(delta)) <= high < 1.05 * low


def test_chords_agree_with_lines() -> None:
    """Where lines cover the range too; G's largest bound moves from ε to ε before it is close."""
    runs = gdp.profiles.DPSGD(noise_multiplier=2, sample_rate=0.02, steps=300)
    by_lines = gdp.measure(runs, 1e-8, 0.6)
    found = by_chords(Problem(runs.curve, Fraction(3, 5), Fraction(1, 10**7)), scales=True)
    assert found is not None
    answer, tol = found
    assert Fraction(by_lines.mu.low) <= answer.high
    assert answer.low <= Fraction(by_lines.mu.high)
    assert answer.high - answer.low <= tol == Fraction(1, 10**8)
    assert answer.evaluations > 5
