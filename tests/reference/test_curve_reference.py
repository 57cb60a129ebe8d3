"""The float64 Gaussian curve against 25-digit references and against Arb on random draws."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gdpbridge.gaussian import curve

arb = flint.arb
Array = NDArray[np.float64]

DATA = json.loads(
    (Path(__file__).parents[1] / "data" / "gaussian_curve.json").read_text(encoding="utf-8")
)
DRAWS = 4000
FLOOR = "1.000000000000000000000000000e-12"
SMALLEST = 1e-307  # below it, floats lose digits one by one


# --- exact arithmetic --------------------------------------------------------------------


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Arb's working precision, put back afterwards."""
    old = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = old


def tight(compute: Callable[[], Any], accuracy: int = 80) -> Any:
    """A result of Arb arithmetic with the precision raised until its ball is tight."""
    bits = 200
    while True:
        with precision(bits):
            value = compute()
        if value.rel_accuracy_bits() > accuracy:
            return value
        assert bits < 20000, "the reference does not settle"
        bits *= 2


def upper_tail(z: Any) -> Any:
    """Φ(−z); Arb's erfc needs an exact argument when it is large, |(log Φ(−z))′| ≤ 2|z| + 2."""
    root = z / arb(2).sqrt()
    spread = arb(0, (4 * abs(z) + 4).upper() * root.rad())
    return root.mid().erfc() / 2 * (1 + spread)


def exact_delta(eps: float, mu: float) -> Any:
    """δ_μ(ε) at the current precision."""
    m, h = arb(eps) / arb(mu), arb(mu) / 2
    return upper_tail(m - h) - arb(eps).exp() * upper_tail(m + h)


def exact_complement(eps: float, mu: float) -> Any:
    """1 − δ_μ(ε), as a sum of positive terms."""
    m, h = arb(eps) / arb(mu), arb(mu) / 2
    return upper_tail(h - m) + arb(eps).exp() * upper_tail(m + h)


def density(eps: float, mu: float) -> Any:
    """∂δ/∂μ = φ(x)."""
    x = arb(eps) / arb(mu) - arb(mu) / 2
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


Exact = Callable[[float, float], Any]
Log = Callable[[], Any]


def mu_error(eps: float, got: float, log_p: Log, exact: Exact) -> float:
    """The relative error of μ, to first order, from the residual in log δ (or log(1 − δ))."""

    def compute() -> Any:
        p = exact(eps, got)
        return (p.log() - log_p()) * p / (density(eps, got) * arb(got)) + 1

    return abs(float(tight(compute) - 1))


def epsilon_error(mu: float, got: float, log_p: Log, exact: Exact) -> float:
    """The absolute error of ε, likewise; ∂δ/∂ε = −e^ε·Φ(−y)."""

    def compute() -> Any:
        p = exact(got, mu)
        y = arb(got) / arb(mu) + arb(mu) / 2
        return (p.log() - log_p()) * p / (arb(got).exp() * upper_tail(y)) / (got + mu) + 1

    return abs(float(tight(compute) - 1)) * (got + mu)


# --- draws -------------------------------------------------------------------------------


def log_uniform(rng: np.random.Generator, low: float, high: float, n: int) -> Array:
    """Log-uniform draws."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def forward_draws() -> tuple[Array, Array]:
    """(ε, μ): over the whole domain, at ordinary values, along x = 0 far and near, at seams."""
    rng = np.random.default_rng(20220901)
    n = DRAWS // 5
    mu = np.concatenate(
        [
            log_uniform(rng, 1e-12, 1e6, n),
            log_uniform(rng, 1e-6, 1e3, n),
            log_uniform(rng, 1e-3, 1e3, n),
            log_uniform(rng, 1e-2, 1e2, n),
            log_uniform(rng, 1e1, 1e6, n),
        ]
    )
    eps = np.concatenate(
        [
            log_uniform(rng, 1e-12, 1e12, n),
            rng.choice([0.0, 1e-300, 1e-8, 0.1, 1.0, 700.0, 1e5], n),
            0.5 * mu[2 * n : 3 * n] ** 2 * (1.0 + rng.normal(0.0, 0.2, n)),
            rng.uniform(0.0, 100.0, n),
            mu[4 * n :] * np.maximum(0.5 * mu[4 * n :] + rng.normal(0.0, 15.0, n), 0.0),
        ]
    )
    edges = np.array([[e, m] for e in (0.0, 1e-12, 1e12) for m in (1e-12, 1e6)])
    # Where the formula changes: x = 0, μ = 0.3 + 0.005·m and m = 5.
    seams = [(0.5 * m * m * (1 + s), m) for m in (0.05, 0.3, 3.0, 300.0) for s in (-1e-9, 0, 1e-9)]
    seams += [
        (k * (0.3 + 0.005 * k) * (1 + s), 0.3 + 0.005 * k)
        for k in (0, 1, 5, 50, 1e4)
        for s in (-1e-9, 0, 1e-9)
    ]
    seams += [(5.0 * m * (1 + s), m) for m in (1e-9, 1e-3, 0.15) for s in (-1e-9, 0, 1e-9)]
    extra = np.array(seams)
    return (
        np.abs(np.concatenate([eps, edges[:, 0], extra[:, 0]])),
        np.concatenate([mu, edges[:, 1], extra[:, 1]]),
    )


def inverse_draws() -> tuple[Array, Array]:
    """(ε, log δ): from ordinary values to the ends of the domain."""
    rng = np.random.default_rng(7)
    n = DRAWS // 4
    eps = np.concatenate(
        [
            rng.uniform(0.0, 20.0, n),
            log_uniform(rng, 1e-12, 1e5, n),
            log_uniform(rng, 1e-6, 1.0, n),
            rng.choice([0.0, 1e-9, 0.0999999, 0.1, 30.0, 1e5, 1e12], n),
            log_uniform(rng, 1e-12, 1e12, n),
        ]
    )
    log_delta = np.concatenate(
        [
            np.log(10.0) * rng.uniform(-300.0, np.log10(0.9), n),
            -log_uniform(rng, 1e-3, 1e12, n),
            -log_uniform(rng, 1e-3, 1e3, n),
            -log_uniform(rng, 1e-300, 25.0, n),
            -log_uniform(rng, 1e3, 1e50, n),
        ]
    )
    return eps, log_delta


# --- tests -------------------------------------------------------------------------------


def test_log_delta_reproduces_every_reference() -> None:
    """Each entry of the reference file, all at once and one by one."""
    rows = DATA["log_delta_mu"]
    eps, mu, want = (np.array([float(r[k]) for r in rows]) for k in ("eps", "mu", "log_delta"))
    got = curve.log_delta(eps, mu)
    assert np.all(np.abs(got - want) <= 1e-13 * np.maximum(1.0, np.abs(want)))
    singly = [curve.log_delta(e, m) for e, m in zip(eps.tolist(), mu.tolist(), strict=True)]
    assert singly == got.tolist()


def test_mu_reproduces_every_reference() -> None:
    """Each entry of the reference file, from δ and from log δ."""
    # At ε = 0 the file's own search ended at 1e-12; the truth is √(2π)·δ there.
    rows = [r for r in DATA["mu"] if r["mu"] != FLOOR]
    assert len(rows) == len(DATA["mu"]) - 2
    eps, delta, want = (np.array([float(r[k]) for r in rows]) for k in ("eps", "delta", "mu"))
    np.testing.assert_allclose(curve.mu(eps, delta), want, rtol=1e-12, atol=0)
    np.testing.assert_allclose(curve.mu(eps, log_delta=np.log(delta)), want, rtol=1e-12, atol=0)


def test_epsilon_inverts_every_reference() -> None:
    """The ε of each entry comes back, within 1e-12·ε and the stated share near 0."""
    rows = DATA["log_delta_mu"]
    eps, mu, log_delta = (np.array([float(r[k]) for r in rows]) for k in ("eps", "mu", "log_delta"))
    # The last bit of log δ, taken through ∂ε/∂(log δ) = (R(x) − R(y))/R(y), and of μ.
    want = np.array(
        [
            float(arb(e) + tight(lambda e=e, m=m, t=t: rounding_shift(e, m, t), 40))
            for e, m, t in zip(eps, mu, log_delta, strict=True)
        ]
    )
    error = np.abs(curve.epsilon(mu, log_delta=log_delta) - np.maximum(want, 0.0))
    assert np.all(error <= 1e-12 * eps + 1e-14 * mu * (1.0 + mu))


def rounding_shift(eps: float, mu: float, log_delta: float) -> Any:
    """How far ε moves because log δ was rounded to a float; plus one, minus one, to stay tight."""
    p = exact_delta(eps, mu)
    y = arb(eps) / arb(mu) + arb(mu) / 2
    return (p.log() - arb(log_delta)) * p / (arb(eps).exp() * upper_tail(y))


def test_forward_functions_against_arb() -> None:
    """The four forward functions on random draws, edges and seams of the domain."""
    eps, mu = forward_draws()
    functions = (
        curve.log_delta,
        curve.log_delta_complement,
        curve.delta,
        curve.delta_complement,
    )
    for row in zip(eps, mu, *(f(eps, mu) for f in functions), strict=True):
        e, m, log_d, log_c, d, c = map(float, row)
        exact_d = tight(lambda e=e, m=m: exact_delta(e, m))
        exact_c = tight(lambda e=e, m=m: exact_complement(e, m))
        with precision(200):
            exact_log_d = exact_d.log()
            exact_log_c = (-exact_d).log1p() if float(exact_d) < 0.5 else exact_c.log()
            where = f"eps={e!r}, mu={m!r}"
            assert abs(arb(log_d) - exact_log_d) <= 1e-13 * max(1.0, abs(log_d)), where
            if float(exact_log_c) < -SMALLEST:
                assert abs(arb(log_c) / exact_log_c - 1) <= 1e-12, where
            for got, exact in ((d, exact_d), (c, exact_c)):
                if float(exact) > SMALLEST:
                    assert abs(arb(got) / exact - 1) <= 1e-12, where
                else:
                    assert 0.0 <= got <= 2 * SMALLEST, where


def test_mu_from_log_delta_against_arb() -> None:
    """μ from log δ over the whole domain of ε and log δ."""
    eps, log_delta = inverse_draws()
    got = curve.mu(eps, log_delta=log_delta)
    for e, t, g in zip(eps.tolist(), log_delta.tolist(), got.tolist(), strict=True):
        assert mu_error(e, g, lambda t=t: arb(t), exact_delta) <= 1e-12, (e, t, g)


def test_mu_from_complement_against_arb() -> None:
    """μ from log(1 − δ), where δ is close to 1."""
    eps, log_complement = inverse_draws()
    log_complement = np.minimum(log_complement, -0.05)
    keep = (eps > 0.0) | (log_complement < -0.5)
    eps, log_complement = eps[keep], log_complement[keep]
    got = curve.mu(eps, log_delta_complement=log_complement)
    for e, t, g in zip(eps.tolist(), log_complement.tolist(), got.tolist(), strict=True):
        assert mu_error(e, g, lambda t=t: arb(t), exact_complement) <= 1e-12, (e, t, g)


def test_mu_from_delta_and_its_complement_against_arb() -> None:
    """μ from plain probabilities, also subnormal ones where μ itself is not."""
    rng = np.random.default_rng(11)
    p = np.concatenate([10.0 ** rng.uniform(-320.0, 0.0, DRAWS // 4), rng.uniform(0, 1, 500)])
    eps = np.where(p > 1e-300, rng.choice([0.0, 1e-6, 0.3, 4.0, 50.0], p.size), 2.0)
    for form, exact in (("delta", exact_delta), ("delta_complement", exact_complement)):
        got = curve.mu(eps, **{form: p})
        for e, q, g in zip(eps.tolist(), p.tolist(), got.tolist(), strict=True):
            assert mu_error(e, g, lambda q=q: arb(q).log(), exact) <= 1e-12, (form, e, q, g)


def test_epsilon_against_arb() -> None:
    """ε over the whole domain of μ and log δ, along the curve and beside it."""
    rng = np.random.default_rng(3)
    eps, mu = forward_draws()
    log_delta = np.concatenate([curve.log_delta(eps, mu), -log_uniform(rng, 1e-300, 1e50, mu.size)])
    mu = np.concatenate([mu, mu])
    got = curve.epsilon(mu, log_delta=log_delta)
    for m, t, g in zip(mu.tolist(), log_delta.tolist(), got.tolist(), strict=True):
        allowed = 1e-12 * g + 1e-14 * m * (1.0 + m)
        if g == 0.0:
            with precision(400):
                assert exact_complement(allowed, m) >= -arb(t).expm1(), (m, t)
        elif t < -0.5:
            assert epsilon_error(m, g, lambda t=t: arb(t), exact_delta) <= allowed, (m, t, g)
        else:
            error = epsilon_error(m, g, lambda t=t: (-arb(t).expm1()).log(), exact_complement)
            assert error <= allowed, (m, t, g)


def test_beta_against_arb() -> None:
    """f_μ(α) and its complement, with tiny arguments and tiny results."""
    rng = np.random.default_rng(2)
    n = DRAWS // 4
    alpha = np.concatenate(
        [
            10.0 ** rng.uniform(-307.0, 0.0, n),
            rng.uniform(0.0, 1.0, n),
            1.0 - 10.0 ** rng.uniform(-15.0, 0.0, n),
        ]
    )
    mu = np.concatenate(
        [rng.uniform(0.0, 75.0, n), log_uniform(rng, 1e-12, 40.0, n), rng.uniform(0.0, 38.0, n)]
    )
    rows = zip(alpha, mu, curve.beta(alpha, mu), curve.beta_complement(alpha, mu), strict=True)
    for a, m, got, complement in (map(float, row) for row in rows):
        with precision(400):
            z = exact_quantile(a)
            for value, exact in ((got, upper_tail(z + m)), (complement, upper_tail(-z - m))):
                if float(exact) > SMALLEST:
                    assert abs(arb(value) / exact - 1) <= 1e-12, (a, m)
                else:
                    assert 0.0 <= value <= 2 * SMALLEST, (a, m)


def exact_quantile(alpha: float) -> Any:
    """Φ⁻¹(α) by Newton's method; four steps double some ten digits past any need."""
    z = arb(float(ndtri(alpha)))
    for _ in range(4):
        density_z = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
        z = (z - (upper_tail(-z) - arb(alpha)) / density_z).mid()
    return z
