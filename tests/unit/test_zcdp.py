"""Zero-concentrated differential privacy as a profile: the exact one of the class."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from gdpbridge import InputError, identify, measure, profiles
from gdpbridge.guarantees.concentrated import _Cells
from gdpbridge.numeric.flint_context import precision

# μ = 2Φ⁻¹((1 + t)/2) with 2t·artanh(t) = ρ, from independent computations
MUS = {
    0.005: "0.125361229559",
    0.1: "0.563179545936",
    0.5: "1.283912540113",
    2.56: "3.219193852573",
}


def by_search(rho: float, eps: float) -> float:
    """Return the largest p - e^ε q over all events, by search over events and orders."""
    coarse = 1 + np.concatenate([[1e-7], np.logspace(-4, math.log10((eps + 20) / rho + 20), 200)])

    def excess(p: float, q: float, orders: np.ndarray) -> np.ndarray:
        inside = orders * math.log(p) + (1 - orders) * math.log(q)
        outside = orders * math.log1p(-p) + (1 - orders) * math.log1p(-q)
        return np.logaddexp(inside, outside) / (orders - 1) - rho * orders

    def largest_excess(p: float, q: float) -> float:
        worst = -math.inf
        for one, two in ((p, q), (q, p)):
            best = int(np.argmax(excess(one, two, coarse)))
            fine = np.linspace(coarse[max(best - 1, 0)], coarse[min(best + 1, 200)], 60)
            worst = max(worst, float(excess(one, two, fine).max()))
        return worst

    def gain(log_q: float) -> float:
        q = math.exp(log_q)
        low, high = q, 1 - 1e-15
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if largest_excess(middle, q) <= 0 else (low, middle)
        return low - math.exp(eps) * q

    grid = np.linspace(-((eps + 3) ** 2) / (2 * rho) - 3, math.log(0.499), 40)
    best = int(np.argmax([gain(one) for one in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(30):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if gain(left) >= gain(right) else (left, high)
    return gain((low + high) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rho", "eps"),
    # randomized response, the Kullback-Leibler divergence, and an order above 1
    [
        (0.5, 0.0),
        pytest.param(0.5, 0.1, marks=pytest.mark.deep),
        pytest.param(0.5, 0.3, marks=pytest.mark.deep),
        (0.5, 1.0),
        pytest.param(0.5, 3.0, marks=pytest.mark.deep),
        pytest.param(2.56, 1.8, marks=pytest.mark.deep),
        (2.56, 5.0),
        (0.05, 0.3),
    ],
)
def test_it_is_the_best_event(rho: float, eps: float) -> None:
    """δ(ε) is the largest p - e^ε q over the events that obey every order."""
    found = profiles.ZCDP(rho=rho).delta(eps)
    assert found == pytest.approx(by_search(rho, eps), rel=2e-5)


@pytest.mark.parametrize(("rho", "mu"), MUS.items())
def test_its_mu(rho: float, mu: str) -> None:
    """μ is that of randomized response at ε = 0, both ends proved."""
    found = measure(profiles.ZCDP(rho=rho))
    assert found.statement == "whole"
    assert found.certified
    assert found.attained_at == 0
    assert abs(Decimal(mu) - found.mu.low) < Decimal("1e-9")
    assert abs(Decimal(mu) - found.mu.high) < Decimal("1e-9")


@pytest.mark.slow
@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.3, 1.0, 5.0, 20.0, 300.0])
def test_its_supremum_is_proved_for_every_rho(rho: float) -> None:
    """The supremum of G is at ε = 0, where 2t·artanh(t) = ρ, for small and large ρ."""
    with mpmath.workdps(80):
        eps0 = mpmath.findroot(
            lambda x: x * mpmath.tanh(x / 2) - mpmath.mpf(rho),
            (mpmath.sqrt(2 * rho), mpmath.sqrt(2 * rho) + 2 * rho + 1e-9),
            solver="anderson",
        )
        # Φ⁻¹((1 + t)/2) from its complement, as t may be 1 but for a hair
        share = 1 / (1 + mpmath.exp(eps0))
        guess = mpmath.sqrt(2) * mpmath.sqrt(max(-mpmath.log(share) - 1, mpmath.mpf(0)))
        root = mpmath.findroot(
            lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2) - mpmath.log(share), guess
        )
        found = measure(profiles.ZCDP(rho=rho))
        assert found.certified
        assert mpmath.mpf(str(found.mu.low)) <= 2 * root <= mpmath.mpf(str(found.mu.high))
        assert found.mu.high - found.mu.low <= Decimal("1e-9")


@pytest.mark.parametrize(
    ("rho", "low", "high"), [(2.56, 17.1565, 17.1585), (0.81, 8.920, 8.9222073)]
)
def test_its_epsilon(rho: float, low: float, high: float) -> None:
    """The least ε at δ = 1e-10 lies where published conversions have it."""
    below, above = profiles.ZCDP(rho=rho).epsilon_bounds(1e-10)
    assert low < below <= above < high
    assert above - below < 1e-12


@pytest.mark.parametrize("rho", [0.01, 0.07, 0.5])
def test_pinsker(rho: float) -> None:
    """No ρ-zCDP mechanism has a total variation above √(ρ/2)."""
    assert profiles.ZCDP(rho=rho).delta_bounds(0)[1] <= math.sqrt(rho / 2)


@pytest.mark.parametrize("rho", [1e-6, 0.05, 0.5, 2.56, 40.0])
def test_floats_lie_where_balls_do(rho: float) -> None:
    """δ in float64 agrees with its proved bounds, on every piece and far out."""
    profile = profiles.ZCDP(rho=rho)
    pieces = profile.curve.pieces
    first, second = (float(piece.start()) for piece in pieces[1:] if callable(piece.start))
    places = [0.0, first / 2, (first + second) / 2, *(second * k for k in (1.01, 3, 30))]
    for eps in (one for one in places if one < 1e5):
        low, high = profile.delta_bounds(eps)
        assert profile.delta(eps) == pytest.approx(low, rel=1e-7)
        assert low <= high <= low * (1 + 1e-12) + 5e-324


def test_where_the_pieces_meet() -> None:
    """The line of randomized response ends at ε = log(sinh ε₀/ε₀), where its slope is met."""
    profile = profiles.ZCDP(rho=0.5)
    with mpmath.workdps(30):
        eps0 = mpmath.findroot(lambda x: x * mpmath.tanh(x / 2) - mpmath.mpf("0.5"), 1)
        end = profile.curve.pieces[1].start
        assert callable(end)
        assert float(end()) == pytest.approx(float(mpmath.log(mpmath.sinh(eps0) / eps0)), rel=1e-14)


def test_it_is_gdp_but_more_than_its_tail() -> None:
    """ρ-zCDP implies GDP, with a μ above the tail parameter √(2ρ)."""
    profile = profiles.ZCDP(rho=0.5)
    assert identify(profile).verdict == "gdp"
    assert Decimal(1) in identify(profile).mu_tail
    found = measure(profile)
    assert found.mu.lower <= profile.gdpt(0.0) <= found.mu.upper


def test_a_gaussian_mechanism_obeys_it() -> None:
    """The Gaussian mechanism with μ = √(2ρ) is ρ-zCDP: its δ lies below the bound."""
    bound, gaussian = profiles.ZCDP(rho=0.5), profiles.GDP(mu=1)
    for eps in (0.0, 0.5, 1.0, 2.0, 5.0, 20.0):
        assert gaussian.log_delta(eps) < bound.log_delta(eps)


def test_a_sample_of_it_is_measured() -> None:
    """A Poisson sample's δ is γ times the class's, and its supremum is proved too."""
    found = measure(profiles.ZCDP(rho=0.5).subsample(0.1))
    assert found.certified
    assert found.mu.lower < 1.283912540113


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["1e-6", "0.01"])
def test_an_approximate_statement(failure: str) -> None:
    """Past a failure probability the proof goes by chords too, and μ is no larger."""
    found = measure(profiles.ZCDP(rho=0.5), failure=failure)
    assert found.certified
    assert found.mu.upper <= 1.2839125406


@pytest.mark.parametrize("rho", [0, -1, 1e-7, 2e4, math.nan])
def test_rho_out_of_range(rho: float) -> None:
    """ρ outside of what is computed is refused by name."""
    with pytest.raises(InputError, match="rho"):
        profiles.ZCDP(rho=rho)


def test_a_cell_is_proved_only_where_one_tangent_is_above_both_ends() -> None:
    """No tangent serves all of [0.2, 4]; one does serve [2, 2.1]."""
    with precision(128):
        cells = _Cells(Fraction(1, 2))
        assert not cells._proved(arb(0.2), arb(4))
        assert cells._proved(arb(2), arb(2.1))
