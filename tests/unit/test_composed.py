"""Exact composition and the breakpoints method, against sums and scans of their own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import InputError

FIFTY = profiles.PureDP(epsilon=0.2).compose(50)


def composed_delta(eps: float, eps0: str, times: int) -> mpf:
    """δ(ε) of randomized responses, summed over their losses."""
    with mpmath.workdps(40):
        rise = mpmath.exp(mpf(eps0))
        p = rise / (1 + rise)
        terms = (
            mpmath.binomial(times, k)
            * p**k
            * (1 - p) ** (times - k)
            * (1 - mpmath.exp(mpf(eps) - (2 * k - times) * mpf(eps0)))
            for k in range(times + 1)
            if (2 * k - times) * mpf(eps0) > eps
        )
        return mpmath.fsum(terms)


def least_mu(eps0: str, times: int) -> mpf:
    """The largest Φ⁻¹(1 - α) - Φ⁻¹(β) over the breakpoints of the trade-off curve."""

    def quantile(p: mpf) -> mpf:
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)

    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpf(eps0)))
        masses = [
            mpmath.binomial(times, k) * p**k * (1 - p) ** (times - k) for k in range(times + 1)
        ]
        found = mpf(0)
        for j in range(1, times + 1):
            power, level = mpmath.fsum(masses[j:]), mpmath.fsum(masses[: times - j + 1])
            found = max(found, quantile(power) - quantile(level))
        return found


def test_fifty_fold() -> None:
    """50 × 0.2-DP: the published digits, at the published place, proved."""
    found = gdp.measure(FIFTY)
    assert (found.method, found.certified, found.statement) == ("breakpoints", True, "whole")
    assert "1.42007917667459628" in found.mu
    assert found.mu.width <= 1e-9
    assert found.attained_at == pytest.approx(0.200658, abs=1e-6)


@pytest.mark.parametrize("tol", ["1e-12", "1e-30"])
def test_more_digits(tol: str) -> None:
    """The interval is as narrow as asked, and holds the maximum over all breakpoints."""
    found = gdp.measure(FIFTY, tol)
    assert found.mu.high - found.mu.low <= Decimal(tol)
    truth = least_mu("0.2", 50)
    with mpmath.workdps(60):
        assert mpf(str(found.mu.low)) <= truth <= mpf(str(found.mu.high))


@pytest.mark.parametrize(
    ("eps0", "times"), [("0.2", 1), ("0.2", 2), ("1", 4), ("3", 7), ("0.01", 99)]
)
def test_against_all_breakpoints(eps0: str, times: int) -> None:
    """Small and odd cases hold the maximum over all breakpoints."""
    found = gdp.measure(profiles.PureDP(epsilon=float(eps0)).compose(times), "1e-15")
    truth = least_mu(eps0, times)
    with mpmath.workdps(60):
        assert mpf(str(found.mu.low)) <= truth <= mpf(str(found.mu.high))


def test_least_epsilon() -> None:
    """The ε of 50 × 0.2-DP at four δ, on the safe side by no more than rounding."""
    known = [2.11469559796, 3.63134273573, 4.73113973852, 5.56405630804]
    deltas = np.array([1e-1, 1e-2, 1e-3, 1e-4])
    found = np.asarray(FIFTY.least_epsilon(deltas))
    assert found == pytest.approx(known, abs=1e-11)
    assert (FIFTY.log_delta(found) <= np.log(deltas)).all()
    assert (FIFTY.log_delta(np.nextafter(found, 0)) > np.log(deltas)).all()
    assert FIFTY.least_epsilon(0.0) == 10.0
    assert FIFTY.least_epsilon(1.0) == 0.0
    assert profiles.ApproxDP(epsilon=1, delta=0.1).least_epsilon(0.05) == np.inf
    with pytest.raises(InputError, match="delta"):
        FIFTY.least_epsilon(1.5)


@pytest.mark.parametrize(("eps0", "times"), [("0.2", 50), ("1", 4), ("1e-9", 7), ("0.5", 101)])
def test_float_values(eps0: str, times: int) -> None:
    """The float64 profile agrees with the sum over losses, also next to 0 and to its end."""
    p = profiles.PureDP(epsilon=float(eps0)).compose(times)
    shares = np.array([0, 1e-6, 0.1, 0.33, 0.5, 0.9, 0.999])
    eps = shares * times * float(eps0)
    truth = [composed_delta(e, eps0, times) for e in eps]
    with mpmath.workdps(40):
        logs = [float(mpmath.log(value)) for value in truth]
    assert p.log_delta(eps) == pytest.approx(logs, rel=1e-11, abs=1e-11)
    complements = [float(mpmath.log(1 - value)) for value in truth]
    assert p.curve.logs(eps)[1] == pytest.approx(complements, rel=1e-9, abs=1e-15)


def test_hand_case_square_root_rule() -> None:
    """Four 1-DP queries are not 2-DP: δ(2) is 0.247 (hand case C32)."""
    p = profiles.PureDP(epsilon=1).compose(4)
    assert p.delta(2.0) == pytest.approx(0.246976964474092765, rel=1e-12)
    assert p.least_epsilon(1e-5) == pytest.approx(3.99996498945337331, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "times"),
    [(0.004, 62_500), pytest.param(0.001, 1_000_000, marks=pytest.mark.deep)],
)
def test_many_runs(epsilon: float, times: int) -> None:
    """μ is near ε₀·√k and below the Gaussian bound."""
    found = gdp.measure(profiles.PureDP(epsilon=epsilon).compose(times), 1e-6)
    assert found.certified
    assert 1.0 < found.mu.lower < found.mu.upper < 1.001


def test_a_million_runs() -> None:
    """k = 10⁶ neither overflows nor takes long: δ is nearly that of 1-GDP."""
    profile = profiles.PureDP(epsilon=0.001).compose(1_000_000)
    for eps in (0.0, 1.0, 5.0):
        low, high = profile.delta_bounds(eps)
        assert low <= high <= low * (1 + 1e-12)
        assert high == pytest.approx(float(profiles.GDP(mu=1).delta(eps)), rel=1e-3)
    with pytest.raises(InputError, match="at most 100000"):
        profiles.PureDP(epsilon=0.2).compose(1_000_000)


@pytest.mark.parametrize("times", [3, 200])
def test_failures_add_up(times: int) -> None:
    """(ε, δ)-DP fails with 1 - (1 - δ)^k in all, and is the pure one's μ otherwise."""
    found = gdp.measure(profiles.ApproxDP(epsilon=0.2, delta=1e-6).compose(times))
    pure = gdp.measure(profiles.PureDP(epsilon=0.2).compose(times))
    assert (found.verdict, found.statement) == ("not-gdp", "approximate")
    with mpmath.workdps(40):
        exact = 1 - (1 - mpf("1e-6")) ** times
        assert exact <= mpf(found.failure_probability) <= exact * (1 + mpf("1e-14"))
    assert found.mu.lower <= pure.mu.upper
    assert pure.mu.lower <= found.mu.upper + 1e-9


@pytest.mark.parametrize("times", [4, 5])
def test_gaussians_add_squares(times: int) -> None:
    """k runs of μ-GDP are √k·μ-GDP, exactly."""
    found = gdp.measure(profiles.Gaussian(sigma=2).compose(times), 1e-15)
    assert (
        mpf(str(found.mu.low)) <= mpmath.sqrt(times) / 2 <= mpf(str(found.mu.high)) + mpf("1e-30")
    )
    same = gdp.measure(profiles.GDP(mu=0.5).compose(times), 1e-15)
    assert same.mu == found.mu


def test_randomized_response() -> None:
    """Two answers: the losses are those of ε₀-DP with e^ε₀ = (2 - p)/p."""
    p = profiles.RandomizedResponse(noise_parameter=0.8)
    assert p.compose(1).delta(0.0) == pytest.approx(p.delta(0.0), rel=1e-14)
    assert gdp.measure(p.compose(1), 1e-12).mu.lower == pytest.approx(
        0.506694206271599598, rel=1e-12
    )
    twin = profiles.PureDP(epsilon=float(mpmath.log(mpf("1.5")))).compose(9)
    eps = np.linspace(0, 3, 20)
    assert p.compose(9).delta(eps) == pytest.approx(twin.delta(eps), rel=1e-9)


@pytest.mark.parametrize(
    ("p", "field"),
    [
        (profiles.ICEA(messages=20, users=4), "mechanism"),
        (profiles.ZCDP(rho=0.1).subsample(0.1), "mechanism"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_unknown_compositions_are_refused(p: profiles.Profile, field: str) -> None:
    """A kind without an exact composition is refused by name."""
    with pytest.raises(InputError, match=r"for( exact)? composition") as error:
        p.compose(2).delta(0.1)
    assert error.value.field == field


@pytest.mark.parametrize("times", [0, -1, 1.5, 1_000_001, "3", None])
def test_bad_counts(times: Any) -> None:
    """A count that is none is named."""
    with pytest.raises(InputError) as error:
        profiles.PureDP(epsilon=0.1).compose(times)
    assert error.value.field == "times"


def test_twice_multiplies() -> None:
    """Three runs of two runs are six."""
    p = profiles.PureDP(epsilon=0.3)
    assert gdp.measure(p.compose(2).compose(3)).mu == gdp.measure(p.compose(6)).mu


@pytest.mark.parametrize(
    "scope", [{"eps_h": 0.05}, {"eps_h": 2}, {"failure": 1e-3}, {"failure": 0.5}]
)
def test_scopes_agree_with_the_adaptive_method(scope: dict[str, Any]) -> None:
    """Heads and approximate statements agree with an independent method in floats."""
    proved = gdp.measure(FIFTY, **scope)
    floats = gdp.measure(FIFTY, 1e-5, method="adaptive", **scope)
    assert proved.method == "breakpoints"
    assert floats.mu.lower <= proved.mu.upper
    assert proved.mu.lower <= floats.mu.upper


def test_head_beyond_the_largest_loss() -> None:
    """Past the largest loss only the failure is left: G rises up to the end of the head."""
    p = profiles.ApproxDP(epsilon=0.2, delta=1e-6).compose(5)
    found = gdp.measure(p, eps_h=30)
    assert found.certified
    assert found.mu.lower == pytest.approx(gdp.mu(30.0, delta=1 - (1 - 1e-6) ** 5), rel=1e-8)


def test_breakpoints_are_for_discrete_losses() -> None:
    """The method is refused where the losses are not discrete."""
    with pytest.raises(InputError, match="not discrete"):
        gdp.measure(profiles.Laplace(scale=1), method="breakpoints")


def test_subsampled_composition() -> None:
    """Lines stay lines on a sample: breakpoints and the adaptive method agree."""
    p = FIFTY.subsample(0.3)
    proved, floats = gdp.measure(p), gdp.measure(p, 1e-5, method="adaptive")
    assert proved.method == "breakpoints"
    assert floats.mu.lower <= proved.mu.upper
    assert proved.mu.lower <= floats.mu.upper


def test_plain_data_round_trip() -> None:
    """A dump makes the same profile again, relation and all."""
    p = profiles.RandomizedResponse(noise_parameter=0.5).compose(3)
    assert p.neighbours == "replace-one"
    assert profiles.profile_class("composed")(**p.model_dump()) == p


@pytest.mark.slow
def test_against_dp_accounting() -> None:
    """An established accountant of discrete losses, where it is installed, gives the same δ."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    other = pld.from_randomized_response(0.5, 2, value_discretization_interval=1e-4).self_compose(
        10
    )
    mine = profiles.RandomizedResponse(noise_parameter=0.5).compose(10)
    for eps in (0.5, 2.0, 5.0):
        assert mine.delta(eps) == pytest.approx(other.get_delta_for_epsilon(eps), rel=1e-2)


def test_no_gap_where_a_direction_ends() -> None:
    """The bounds fall with ε also where the other direction's loss has its end."""
    run = gdp.profiles.DPSGD(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
    eps = np.linspace(9.8, 10.2, 41)
    low, high = run.delta_bounds(eps)
    assert (np.diff(high) < 0).all()
    assert (high < 1.01 * low).all()


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize(
    ("how", "truth"),
    [
        ({"eps_h": 2}, "1.121248972738067244858835136789"),
        ({"failure": 0.01}, "1.104251569480730620126799317538"),
    ],
)
def test_ends_of_a_composed_loss(tol: float, how: dict[str, float], truth: str) -> None:
    """Both are at ε = 0, by mpmath from the sum of a Gaussian loss and ±1/2, at every width."""
    parts = (profiles.Gaussian(sigma=1), profiles.PureDP(epsilon=0.5))
    found = gdp.measure(profiles.Sequence(parts=parts), tol=tol, **how)
    assert found.certified
    assert found.mu.low <= Decimal(truth) <= found.mu.high
    assert found.mu.high - found.mu.low <= Decimal(str(tol))
