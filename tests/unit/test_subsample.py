"""Subsampled profiles: values and μ against formulas of their own, relations, tails."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series
from mpmath import mpf

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import InputError
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, SERIES

LAPLACE = profiles.Laplace(scale=0.5)


def mu_of(eps: mpf, delta: mpf) -> mpf:
    """The μ with δ_μ(ε) = δ, by bisection."""
    low, high = mpf(0), mpf(60)
    for _ in range(110):
        middle = (low + high) / 2
        x, y = eps / middle - middle / 2, eps / middle + middle / 2
        value = mpmath.ncdf(-x) - mpmath.exp(eps) * mpmath.ncdf(-y)
        low, high = (middle, high) if value < delta else (low, middle)
    return low


def supremum(delta: Any, end: float) -> tuple[mpf, mpf]:
    """The largest G on [0, end] and its place: a scan, then golden sections about its peak."""
    with mpmath.workdps(40):
        points = [mpf(end) * k / 80 for k in range(80)]
        values = [mu_of(eps, delta(eps)) for eps in points]
        top = max(range(80), key=values.__getitem__)
        low, high = points[max(top - 1, 0)], points[min(top + 1, 79)]
        ratio = (mpmath.sqrt(5) - 1) / 2
        for _ in range(30):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if mu_of(left, delta(left)) < mu_of(right, delta(right)):
                low = left
            else:
                high = right
        at = (low + high) / 2
        return mu_of(at, delta(at)), at


@pytest.mark.parametrize(("rate", "mu", "at"), [(0.5, 0.97828, 0.770), (0.1, 0.27731, 0.350)])
@pytest.mark.slow
def test_subsampled_laplace(rate: float, mu: float, at: float) -> None:
    """Laplace at ε₀ = 2: μ holds what a scan of the formula finds, where it finds it."""
    gamma = mpf(str(rate))

    def delta(eps: mpf) -> mpf:
        before = mpmath.log(1 + (mpmath.exp(eps) - 1) / gamma)
        return max(gamma * (1 - mpmath.exp((before - 2) / 2)), mpf(0))

    found = gdp.measure(LAPLACE.subsample(rate), 1e-11)
    truth, place = supremum(delta, float(mpmath.log(1 + gamma * (mpmath.exp(2) - 1))))
    assert found.certified
    assert found.mu.width <= 1e-11
    assert mpf(str(found.mu.low)) - mpf("1e-20") <= truth <= mpf(str(found.mu.high))
    assert found.attained_at == pytest.approx(float(place), abs=1e-5)
    assert found.mu.lower == pytest.approx(mu, abs=1e-5)
    assert found.attained_at == pytest.approx(at, abs=1e-3)


@pytest.mark.slow
def test_with_replacement_by_its_sum() -> None:
    """Three draws out of ten: γ = 1 - 0.9³, and the binomial sum of group profiles."""
    p = LAPLACE.subsample(scheme="with-replacement", sample=3, population=10)
    gamma = 1 - mpf("0.9") ** 3

    def delta(eps: mpf) -> mpf:
        before = mpmath.log(1 + (mpmath.exp(eps) - 1) / gamma)
        terms = (
            mpmath.binomial(3, k)
            * mpf("0.1") ** k
            * mpf("0.9") ** (3 - k)
            * max(1 - mpmath.exp((before - 2 * k) / 2), 0)
            for k in (1, 2, 3)
        )
        return mpmath.fsum(terms)

    eps = np.array([0.0, 0.3, 1.0, 2.5, 4.0, 4.6])
    assert p.delta(eps) == pytest.approx([float(delta(mpf(e))) for e in eps], rel=1e-12)
    truth, _ = supremum(delta, 4.6)
    assert mpf(str(gdp.measure(p).mu.high)) >= truth - mpf("1e-9")
    assert p.neighbours == "replace-one"


@pytest.mark.parametrize("base", [profiles.PureDP(epsilon=1), profiles.Gaussian(sigma=1)], ids=str)
def test_with_replacement_of_one_draw(base: profiles.Profile) -> None:
    """One draw out of n is the same with and without replacement."""
    one = base.subsample(scheme="with-replacement", sample=1, population=5)
    same = base.subsample(0.2, "without-replacement")
    eps = np.linspace(0, 3, 40)
    assert one.log_delta(eps) == pytest.approx(same.log_delta(eps), rel=1e-13)


def test_gaussian_keeps_its_mu() -> None:
    """The whole range of a subsampled Gaussian has the μ of its tail; a head has much less."""
    p = profiles.Gaussian(sigma=2).subsample(0.01)
    whole = gdp.measure(p)
    assert str(whole.mu) == "0.5"
    assert whole.mu_tail == whole.mu
    assert whole.verdict == "gdp"
    assert whole.certified
    assert whole.whole_range_mu == whole.mu
    head = gdp.measure(p, eps_h=1)
    assert head.whole_range_mu == whole.mu
    assert head.mu.upper < 0.2


def test_gaussian_values() -> None:
    """A subsampled Gaussian curve is γ·δ_μ at the ε before sampling, also past exp's overflow."""
    p = profiles.Gaussian(sigma=1).subsample(0.25)
    eps = np.array([1e-6, 0.1, 1.0, 5.0])
    before = np.log1p(np.expm1(eps) / 0.25)
    assert p.delta(eps) == pytest.approx(0.25 * gdp.delta(before, 1.0), rel=1e-9)
    far = 2000.0
    expected = np.log(0.25) + gdp.log_delta(far - np.log(0.25), 1.0)
    assert p.log_delta(far) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "p",
    [
        LAPLACE.subsample(0.3),
        profiles.Gaussian(sigma=1).subsample(0.3),
        profiles.SGDFamily(A=2, B=1, sigma=2).subsample(0.3),
        LAPLACE.subsample(scheme="with-replacement", sample=4, population=9),
    ],
    ids=["laplace", "gaussian", "sgd-family", "with-replacement"],
)
def test_series_are_derivatives(p: profiles.Profile) -> None:
    """The second-order series on a point agrees with differences of the balls about it."""
    at = 0.37
    with precision(400):
        formula = p.curve.pieces[0].formula
        series = formula(arb_series([arb(at), 1], 3), SERIES).log()
        step = arb(2) ** -60
        left, middle, right = (formula(arb(at) + k * step, BALLS).log() for k in (-1, 0, 1))
        assert abs(float(series[0] - middle)) < 1e-60
        assert float(series[1]) == pytest.approx(float((right - left) / (2 * step)), rel=1e-12)
        second = (right - 2 * middle + left) / (2 * step * step)
        assert float(series[2]) == pytest.approx(float(second), rel=1e-9)


def test_sgd_family_tail_is_proved() -> None:
    """The whole range of a subsampled noisy-SGD curve is its tail parameter, √½ here."""
    found = gdp.measure(profiles.SGDFamily(A=2, B=1, sigma=2).subsample(0.1))
    assert found.verdict == "gdp"
    assert found.certified
    assert found.mu.lower <= 0.5**0.5 <= found.mu.upper
    assert found.mu.width <= 1e-9


def test_slow_tail_stays_slow() -> None:
    """What is not GDP is not GDP on a sample either."""
    p = profiles.ICEA(messages=20, users=4).subsample(0.1, "without-replacement")
    assert gdp.identify(p).verdict == "not-gdp"


def test_mass_at_infinity_is_sampled_too() -> None:
    """(ε, δ)-DP on a sample keeps γδ at infinity, and is measured at that failure probability."""
    found = gdp.measure(profiles.ApproxDP(epsilon=1, delta=1e-6).subsample(0.1))
    assert found.verdict == "not-gdp"
    assert found.failure_probability == 1e-7
    pure = gdp.measure(profiles.PureDP(epsilon=1).subsample(0.1))
    assert found.mu.lower == pytest.approx(pure.mu.lower, rel=1e-3)


def test_rate_one_changes_nothing() -> None:
    """Everything is in the sample: the same μ."""
    assert gdp.measure(LAPLACE.subsample(1)).mu == gdp.measure(LAPLACE).mu


def test_twice_is_once() -> None:
    """A sample of a sample is a sample at the product of the rates."""
    twice, once = LAPLACE.subsample(0.5).subsample(0.5), LAPLACE.subsample(0.25)
    eps = np.linspace(0, 1, 30)
    assert twice.log_delta(eps) == pytest.approx(once.log_delta(eps), rel=1e-12)


@pytest.mark.parametrize(
    ("scheme", "relation"),
    [
        ("poisson", "add-remove"),
        ("without-replacement", "replace-one"),
        ("with-replacement", "replace-one"),
    ],
)
def test_relation_follows_the_scheme(scheme: str, relation: str) -> None:
    """A base without a relation is given the scheme's; another one is refused with the reason."""
    size: dict[str, Any] = {"sample": 2, "population": 10}
    options = {"rate": 0.2} if scheme == "poisson" else size
    assert LAPLACE.subsample(scheme=scheme, **options).neighbours == relation
    same = profiles.Laplace(scale=0.5, neighbours=relation)
    assert same.subsample(scheme=scheme, **options).neighbours == relation
    other = "replace-one" if relation == "add-remove" else "add-remove"
    wrong = profiles.Laplace(scale=0.5, neighbours=other)
    with pytest.raises(InputError, match=f"under {relation} only") as error:
        wrong.subsample(scheme=scheme, **options)
    assert error.value.field == "scheme"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "rate and sample/population"),
        ({"rate": 0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"rate": float("nan")}, "rate"),
        ({"rate": "0.1"}, "rate"),
        ({"rate": 0.1, "scheme": "bernoulli"}, "scheme"),
        ({"rate": 0.1, "sample": 1, "population": 2}, "rate and sample/population"),
        ({"sample": 1}, "population"),
        ({"population": 5, "scheme": "without-replacement"}, "sample"),
        ({"sample": 1, "population": 2}, "sample"),
        ({"sample": 3, "population": 2, "scheme": "without-replacement"}, "sample"),
        ({"rate": 0.1, "scheme": "with-replacement"}, "rate"),
        ({"sample": 65, "population": 100, "scheme": "with-replacement"}, "sample"),
        ({"sample": 1.5, "population": 100, "scheme": "without-replacement"}, "sample"),
    ],
)
def test_bad_arguments(options: dict[str, Any], field: str) -> None:
    """Each wrong argument is named."""
    with pytest.raises(InputError) as error:
        LAPLACE.subsample(**options)
    assert error.value.field == field


def test_with_replacement_needs_group_profiles() -> None:
    """A kind that does not know its groups is refused by name."""
    with pytest.raises(InputError, match=r"approx-dp.*groups of records"):
        profiles.ApproxDP(epsilon=1, delta=0.1).subsample(
            scheme="with-replacement", sample=2, population=5
        )


def test_plain_data_round_trip() -> None:
    """A dump makes the same profile again."""
    p = LAPLACE.subsample(0.1)
    assert profiles.profile_class("subsampled")(**p.model_dump()) == p


def test_no_certificate() -> None:
    """The checker does not know such runs beside Gaussian noise, and no certificate is claimed."""
    both = profiles.Sequence(parts=(LAPLACE.subsample(0.5), profiles.Gaussian(sigma=1)))
    found = gdp.measure(both, tol=1e-3)
    assert found.certificate is None
    assert "laplace on samples beside losses without bounds" in found.uncertified_because
