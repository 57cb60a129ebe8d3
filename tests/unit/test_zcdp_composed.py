"""zCDP mechanisms run together: Σρ as one class and the root of Σμ² both hold."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import arb

from gdpbridge import InputError, measure, profiles
from gdpbridge.gaussian import enclosures
from gdpbridge.guarantees.concentrated import gaussian_cells, zcdp_curve, zcdp_mu
from gdpbridge.interval import Interval
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball

ONE = profiles.ZCDP(rho=0.256)


@pytest.fixture(scope="module")
def ten() -> profiles.Profile:
    """Ten parts, whose curve takes half a second to make."""
    return ONE.compose(10)


@pytest.fixture(scope="module")
def mu_of_ten(ten: profiles.Profile) -> Interval:
    """μ of the ten parts, to 25 places."""
    return measure(ten, tol=1e-25).mu


def mu_of(rho: str) -> mpmath.mpf:
    """Return μ = 2Φ⁻¹((1 + t)/2) with 2t·artanh(t) = ρ."""
    t = mpmath.findroot(lambda t: 2 * t * mpmath.atanh(t) - mpmath.mpf(rho), 0.3)
    return 2 * mpmath.sqrt(2) * mpmath.erfinv(t)


def test_ten_parts_as_one_mu(ten: profiles.Profile) -> None:
    """Ten parts of ρ = .256 are √10 times one part's μ together, much less than the μ of 2.56."""
    with mpmath.workdps(40):
        expected = mpmath.sqrt(10) * mu_of("0.256")
        for profile in (ten, profiles.Sequence(parts=(ONE,) * 10)):
            found = measure(profile, tol=1e-25)
            assert found.certified
            assert found.profile_is == "bound"
            assert mpmath.mpf(str(found.mu.low)) <= expected <= mpmath.mpf(str(found.mu.high))
            assert found.mu.high < Decimal("2.87093236670")


@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0, 1.7, 1.8, 2.1, 2.3, 5.0, 30.0, 70.0])
def test_it_is_the_smaller_one(eps: float, ten: profiles.Profile, mu_of_ten: Interval) -> None:
    """At each ε the composed δ is the smaller one of the two bounds, neither of them always."""
    as_class = profiles.ZCDP(rho=2.56)
    ends = (mu_of_ten.low, mu_of_ten.high)
    as_gdp = min(profiles.GDP(mu=float(end)).log_delta(eps) for end in ends)
    smaller = min(as_class.log_delta(eps), as_gdp)
    assert ten.log_delta(eps) == pytest.approx(smaller, rel=1e-11)
    low, high = ten.delta_bounds(eps)
    assert low <= high <= low * (1 + 1e-12)
    assert math.log(high) == pytest.approx(smaller, rel=1e-9)


def test_where_they_cross(ten: profiles.Profile) -> None:
    """At the crossing both curves are the same to the working precision; δ never rises."""
    starts = [piece.start for piece in ten.curve.pieces if callable(piece.start)]
    with precision(300):
        at = starts[0]()
        assert at.rel_accuracy_bits() > 250
        point = at.mid()
        as_gdp = ten.curve.pieces[0].formula(point, BALLS).log()
        as_class = zcdp_curve(Fraction("2.56")).enclose(point).log()
        assert abs(as_gdp - as_class) < arb(2) ** -240
        grid = [arb(x) for x in np.linspace(0, 6, 40)]
        values = [ten.curve.enclose(eps).log() for eps in grid]
        assert all(later < sooner for sooner, later in pairwise(values))


def test_with_gaussian_parts() -> None:
    """A μ-GDP part adds μ²/2 to Σρ and μ² to Σμ²."""
    parts = (ONE, profiles.Gaussian(sigma=2), profiles.ZCDP(rho=0.1), profiles.GDP(mu=0.3))
    found = measure(profiles.Sequence(parts=parts), tol=1e-20)
    with mpmath.workdps(30):
        square = mu_of("0.256") ** 2 + mpmath.mpf("0.25") + mu_of("0.1") ** 2 + mpmath.mpf("0.09")
        assert (
            mpmath.mpf(str(found.mu.low)) <= mpmath.sqrt(square) <= mpmath.mpf(str(found.mu.high))
        )
    rho = Fraction("0.256") + Fraction(1, 8) + Fraction("0.1") + Fraction("0.045")
    assert Decimal(float(2 * rho) ** 0.5).quantize(Decimal("1e-12")) in [
        end.quantize(Decimal("1e-12")) for end in (found.mu_tail.low, found.mu_tail.high)
    ]


@pytest.mark.slow
def test_nesting_makes_no_difference() -> None:
    """Runs of a sequence are the sequence of its parts' runs."""
    parts = (ONE, profiles.Gaussian(sigma=2))
    inner = profiles.Sequence(parts=parts)
    flat = profiles.Sequence(parts=(*parts, *parts))
    for nested in (inner.compose(2), profiles.Sequence(parts=(inner, inner))):
        assert measure(nested, tol=1e-20).mu == measure(flat, tol=1e-20).mu


def test_one_run_is_the_class() -> None:
    """Nothing is lost where nothing is composed."""
    alone = measure(profiles.Sequence(parts=(ONE,)))
    assert alone.mu == measure(ONE).mu
    assert alone.attained_at == 0


def test_with_other_parts() -> None:
    """Beside a mechanism that is not concentrated, the part counts as one of its μ, rounded up."""
    mu = measure(ONE, tol=1e-25).mu
    both = profiles.Sequence(parts=(ONE, profiles.Laplace(scale=2), ONE))
    assert both.profile_is == "bound"
    assert [pair.times for pair in both.privacy_losses()] == [2, 1]
    square = both.privacy_losses()[0].transform.tail_variance
    assert Fraction(mu.low) ** 2 <= square <= Fraction(mu.high) ** 2
    (pair,) = ONE.privacy_losses()
    with precision(400):
        least = zcdp_mu(ONE.exact("rho"))().lower()
        assert ball(pair.transform.tail_variance).sqrt() >= least


@pytest.mark.slow
@pytest.mark.parametrize("rho", ["0.000001", "0.003", "0.256", "2.56", "40", "700", "10000"])
def test_the_proof_covers_the_range(rho: str) -> None:
    """Cells cover what randomized response and the tail leave; at their ends δ ≤ δ_μ."""
    curve, ends = zcdp_curve(Fraction(rho)), gaussian_cells(Fraction(rho))
    assert all(low < high for low, high in pairwise(ends))

    with precision(200):
        first = curve.pieces[1].start
        assert callable(first)
        assert ball(ends[0]) < first()
        assert ball(ends[-1]) > first()
        mu = zcdp_mu(Fraction(rho))()
        for eps in ends[1:]:
            assert curve.enclose(ball(eps)).log() < enclosures.log_delta_of(ball(eps), mu)


@pytest.mark.slow
def test_an_approximate_statement_of_it(ten: profiles.Profile) -> None:
    """Past a failure probability the proof goes over both curves."""
    found = measure(ten, failure=1e-3)
    assert found.certified
    assert found.mu.upper < 2.8709323667


def test_too_many_for_the_class() -> None:
    """Where Σρ is out of range, the μ's are what is left."""
    found = measure(profiles.ZCDP(rho=6000).compose(2))
    single = measure(profiles.ZCDP(rho=6000))
    assert found.mu.upper == pytest.approx(math.sqrt(2) * single.mu.upper, rel=1e-9)


def test_different_relations_are_refused() -> None:
    """Parts that are stated for different neighbours do not compose."""
    parts = (
        profiles.ZCDP(rho=1, neighbours="add-remove"),
        profiles.Gaussian(sigma=1, neighbours="replace-one"),
    )
    with pytest.raises(InputError, match="neighbour"):
        profiles.Sequence(parts=parts)
