"""What must hold of the Gaussian curve at any point."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import erf, erfc, log_ndtr

from gdpbridge.gaussian import curve


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Positive numbers spread over their orders of magnitude, ends included."""
    logs = st.floats(math.log(low), math.log(high))
    return st.one_of(
        logs.map(lambda t: min(max(math.exp(t), low), high)), st.sampled_from((low, high))
    )


MU = log_uniform(1e-12, 1e6)
EPS = st.one_of(st.just(0.0), log_uniform(1e-12, 1e12))
LOG_DELTA = log_uniform(1e-300, 1e12).map(lambda t: -t)
FACTOR = log_uniform(1e-10, 1.0)


def slack(value: float) -> float:
    """The stated error of a logarithm."""
    return 1e-13 * max(1.0, abs(value))


@given(EPS, MU, FACTOR)
def test_delta_increases_in_mu(eps: float, mu: float, factor: float) -> None:
    """A larger μ never has a smaller δ, nor a larger 1 − δ."""
    larger = mu * (1.0 + factor)
    assume(larger <= 1e6)
    low, high = curve.log_delta(eps, [mu, larger]).tolist()
    assert low <= high + slack(low)
    more, less = curve.log_delta_complement(eps, [mu, larger]).tolist()
    assert less <= more + slack(less)


@given(EPS, MU, FACTOR)
def test_delta_decreases_in_epsilon(eps: float, mu: float, factor: float) -> None:
    """A larger ε never has a larger δ."""
    larger = eps + factor * (eps + mu)
    assume(larger <= 1e12)
    high, low = curve.log_delta([eps, larger], mu).tolist()
    assert low <= high + slack(low)


@given(MU)
def test_delta_at_zero(mu: float) -> None:
    """δ_μ(0) = 2Φ(μ/2) − 1 = erf(μ/√8), and 1 − δ_μ(0) = erfc(μ/√8)."""
    z = mu / math.sqrt(8.0)
    assert math.isclose(curve.delta(0.0, mu), erf(z), rel_tol=1e-12)
    assert math.isclose(curve.delta_complement(0.0, mu), erfc(z), rel_tol=1e-12, abs_tol=1e-300)
    log_complement = math.log(2.0) + log_ndtr(-0.5 * mu)
    assert math.isclose(
        curve.log_delta_complement(0.0, mu), log_complement, rel_tol=1e-12, abs_tol=1e-15
    )


@given(EPS, MU)
def test_the_two_sides_add_up(eps: float, mu: float) -> None:
    """δ + (1 − δ) = 1, each a probability."""
    d, c = curve.delta(eps, mu), curve.delta_complement(eps, mu)
    assert 0.0 <= d <= 1.0
    assert 0.0 <= c <= 1.0
    assert abs(d + c - 1.0) <= 4e-16


@given(log_uniform(1e-3, 30.0), st.floats(0.0, 1.0), log_uniform(1e-2, 30.0))
def test_derivative_in_mu_is_the_normal_density(mu: float, share: float, top: float) -> None:
    """∂ log δ/∂μ = φ(x)/δ, by a central difference of fourth order."""
    eps = share * top
    x = eps / mu - 0.5 * mu
    step = 1e-3 * mu / (1.0 + abs(x) + mu + eps / mu) ** 1.0
    far, near = (
        np.subtract(*curve.log_delta(eps, [mu + k * step, mu - k * step])) / (2 * k * step)
        for k in (2, 1)
    )
    log_delta = curve.log_delta(eps, mu)
    want = math.exp(-0.5 * x * x - log_delta) / math.sqrt(2.0 * math.pi)
    noise = 4e-16 * max(1.0, abs(log_delta)) / step
    assert abs((4 * near - far) / 3 - want) <= 1e-7 * want + 4 * noise


@given(EPS, MU)
@example(0.0, 1e-12)
@example(1e12, 1e6)
@example(1e12, 1e-12)
def test_mu_comes_back(eps: float, mu: float) -> None:
    """μ from log δ or from log(1 − δ), whichever is at most −log 2, is the μ it came from."""
    log_delta = curve.log_delta(eps, mu)
    if log_delta < -math.log(2.0):
        back = curve.mu(eps, log_delta=log_delta)
    else:
        back = curve.mu(eps, log_delta_complement=curve.log_delta_complement(eps, mu))
    assert math.isclose(back, mu, rel_tol=1e-13)


@given(EPS, MU)
@example(1e12, 1e6)
def test_epsilon_comes_back(eps: float, mu: float) -> None:
    """ε from log δ is the ε it came from, where log δ determines it."""
    log_delta = curve.log_delta(eps, mu)
    assume(log_delta < -1e-290)
    back = curve.epsilon(mu, log_delta=log_delta)
    assert abs(back - eps) <= 1e-12 * eps + 1e-14 * mu * (1.0 + mu)


@given(EPS, LOG_DELTA)
def test_log_delta_comes_back_through_mu(eps: float, log_delta: float) -> None:
    """The curve through μ(ε, δ) passes through (ε, δ)."""
    mu = curve.mu(eps, log_delta=log_delta)
    assume(1e-12 <= mu <= 1e6)
    back = curve.log_delta(eps, mu)
    # Rounding μ, and ε/μ, moves log δ by φ(x)·μ/δ times as much.
    x = eps / mu - 0.5 * mu
    gain = math.exp(min(-0.5 * x * x - log_delta, 700.0)) * mu
    allowed = slack(log_delta) if log_delta < -0.1 else 1e-12 * abs(log_delta)
    assert abs(back - log_delta) <= allowed + 4e-16 * gain


@given(MU, LOG_DELTA)
def test_epsilon_is_the_least(mu: float, log_delta: float) -> None:
    """δ_μ is above δ just before epsilon(μ, δ), and not above it just after."""
    eps = curve.epsilon(mu, log_delta=log_delta)
    margin = 1e-12 * eps + 1e-13 * mu * (1.0 + mu)
    assume(-log_delta > 1e-290 and eps + margin <= 1e12)
    assert curve.log_delta(eps + margin, mu) <= log_delta * (1 - 4e-15)
    if eps > margin:
        assert curve.log_delta(eps - margin, mu) >= log_delta * (1 + 4e-15)
    elif eps == 0.0:
        assert curve.log_delta(0.0, mu) <= log_delta * (1 - 4e-15)


@given(EPS, LOG_DELTA, FACTOR)
def test_mu_increases_in_both(eps: float, log_delta: float, factor: float) -> None:
    """A larger ε or δ never has a smaller μ."""
    assume(eps * (1.0 + factor) <= 1e12)
    base = curve.mu(eps, log_delta=log_delta) * (1.0 - 1e-13)
    assert curve.mu(eps * (1.0 + factor), log_delta=log_delta) >= base
    assert curve.mu(eps, log_delta=log_delta / (1.0 + factor)) >= base


@given(EPS, st.floats(1e-300, 1.0, exclude_max=True))
def test_the_forms_of_delta_agree(eps: float, delta: float) -> None:
    """δ and log δ give one μ; so do 1 − δ and its logarithm where 1 − δ is exact."""
    mu = curve.mu(eps, delta)
    assert math.isclose(curve.mu(eps, log_delta=math.log(delta)), mu, rel_tol=1e-12) or delta > 0.5
    if delta >= 0.5:
        assert math.isclose(curve.mu(eps, delta_complement=1.0 - delta), mu, rel_tol=1e-13)
        assert math.isclose(
            curve.mu(eps, log_delta_complement=math.log1p(-delta)), mu, rel_tol=1e-12
        )


@given(st.floats(1e-300, 1.0), log_uniform(1e-12, 60.0))
def test_the_trade_off_curve_is_its_own_inverse(alpha: float, mu: float) -> None:
    """f(f(α)) = α, f ≤ 1 − α and f + (1 − f) = 1."""
    beta = curve.beta(alpha, mu)
    assert beta <= (1.0 - alpha) * (1 + 1e-14)
    assert abs(beta + curve.beta_complement(alpha, mu) - 1.0) <= 4e-16
    if 1e-300 < beta < 0.5:
        assert math.isclose(curve.beta(beta, mu), alpha, rel_tol=2e-12)


@given(EPS, log_uniform(1e-3, 30.0), st.floats(1e-200, 1.0))
def test_delta_supports_the_trade_off_curve(eps: float, mu: float, alpha: float) -> None:
    """f_μ(α) ≥ 1 − δ_μ(ε) − e^ε·α, as (ε, δ)-DP demands."""
    assume(eps < 700.0)
    bound = curve.delta_complement(eps, mu) - math.exp(eps) * alpha
    assert curve.beta(alpha, mu) >= bound - 1e-15
