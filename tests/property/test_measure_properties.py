"""What a measured μ claims, checked point by point on random mechanisms, by other arithmetic."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.measure import Statement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision

POINTS = 60


# --- δ and δ_μ once more, straight from their definitions ------------------------------------


def exactly(value: Any) -> arb:
    number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return arb(fmpq(number.numerator, number.denominator))


def delta(profile: Profile, eps: arb) -> arb:
    """δ(ε) by its textbook formula; refined curves are taken as they are, tested elsewhere."""
    zero = arb(0)
    match profile:
        case profiles.Laplace(scale=scale, sensitivity=sensitivity):
            return (1 - ((eps - exactly(sensitivity) / exactly(scale)) / 2).exp()).max(zero)
        case profiles.PureDP(epsilon=top):
            return pure(exactly(top), eps)
        case profiles.ApproxDP(epsilon=top, delta0=floor):
            return exactly(floor) + (1 - exactly(floor)) * pure(exactly(top), eps)
        case profiles.RandomizedResponse(noise_parameter=noise, buckets=buckets):
            lie = exactly(noise) / buckets
            return (1 - exactly(noise) + lie - eps.exp() * lie).max(zero)
        case profiles.Gaussian(sigma=sigma, sensitivity=sensitivity):
            return gaussian(exactly(sensitivity) / exactly(sigma), eps)
        case profiles.GDP(mu=mu):
            return gaussian(exactly(mu), eps)
    return profile.curve.enclose(eps).log().exp()


def pure(top: arb, eps: arb) -> arb:
    return ((top.exp() - eps.exp()) / (1 + top.exp())).max(arb(0))


def gaussian(mu: arb, eps: arb) -> arb:
    if mu.is_zero():
        return arb(0)
    root = arb(2).sqrt()
    x, y = eps / mu - mu / 2, eps / mu + mu / 2
    return (x / root).erfc() / 2 - eps.exp() * (y / root).erfc() / 2


def certainly_above(
    profile: Profile, p: Fraction, mu: Fraction, eps: Fraction, bits: int = 400
) -> bool | None:
    """Whether δ(ε) > p + (1 - p)·δ_μ(ε); None if thousands of bits do not tell.

    They do not where x is in the thousands: the definition of δ_μ needs x² of them.
    """
    while bits <= 6000:
        with precision(bits):
            at, share = exactly(eps), exactly(p)
            left = delta(profile, at) - share
            right = (1 - share) * gaussian(exactly(mu), at)
            if left > right:
                return True
            if left <= right:
                return False
        bits *= 3
    return None


# --- random mechanisms -----------------------------------------------------------------------


@st.composite
def mechanisms(draw: st.DrawFn) -> Profile:
    """Closed forms whose parameters range over everyday values and some orders beyond."""

    def number(low: float, high: float) -> float:
        share = draw(st.floats(0, 1))
        return float(f"{low * (high / low) ** share:.5g}")

    makers = {
        "laplace": lambda: profiles.Laplace(scale=number(0.02, 1e4)),
        "pure": lambda: profiles.PureDP(epsilon=number(1e-4, 50)),
        "approx": lambda: profiles.ApproxDP(epsilon=number(1e-4, 30), delta=number(1e-30, 0.9)),
        "response": lambda: profiles.RandomizedResponse(
            noise_parameter=number(1e-4, 1), buckets=draw(st.integers(2, 1000))
        ),
        "sgd": lambda: profiles.SGDFamily(
            A=number(0.2, 5), B=number(1e-3, 1e3), sigma=number(0.2, 5)
        ),
        "icea": lambda: profiles.ICEA(
            messages=draw(st.integers(5, 200)), users=draw(st.integers(1, 500))
        ),
    }
    return makers[draw(st.sampled_from(sorted(makers)))]()


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """The default statement, a head or a failure; any tolerance."""
    scope: dict[str, Any] = draw(
        st.one_of(
            st.just({}),
            st.floats(-12, 3).map(lambda power: {"eps_h": 10**power}),
            st.floats(-40, -0.05).map(lambda power: {"failure": 10**power}),
        )
    )
    return {"tol": draw(st.sampled_from(["1", "1e-2", "1e-4", "1e-6", "1e-9", "1e-20"])), **scope}


def points(profile: Profile, found: gdp.Measurement) -> list[Fraction]:
    """Where to look: all over the range, crowded at 0, at the witness, and far into the tail."""
    rng = random.Random(str(found.mu))
    stop = 100.0
    if found.eps_h is not None:
        stop = found.eps_h
    elif isinstance(profile.curve.end, Fraction):
        stop = float(profile.curve.end)
    chosen = [stop * rng.random() ** rng.choice([1, 3, 8]) for _ in range(POINTS)]
    chosen += [0.0, stop]
    if found.statement is not Statement.HEAD:
        chosen += [min(stop * 10**k, 1e4) for k in (1, 2)]
    if math.isfinite(found.attained_at):
        chosen += [found.attained_at * (1 + sign * 10.0**-k) for k in (3, 6) for sign in (-1, 1)]
    limit = Fraction(repr(found.eps_h)) if found.eps_h is not None else None
    exact = [Fraction(repr(eps)) for eps in chosen if eps >= 0]
    return [eps for eps in exact if limit is None or eps <= limit]


def promised_failure(found: gdp.Measurement) -> Fraction:
    """The p of an approximate statement; a head is about its range alone."""
    return found.failure if found.statement is Statement.APPROXIMATE else Fraction(0)


@settings(max_examples=settings().max_examples // 3)
@given(mechanisms(), requests())
def test_the_upper_end_holds(profile: Profile, request: dict[str, Any]) -> None:
    """With μ = mu.high, δ ≤ p + (1 - p)·δ_μ at every point looked at."""
    found = gdp.measure(profile, **request)
    if found.mu.high.is_infinite():
        assert found.failure < profile.delta(1e5)
        return
    p, mu = promised_failure(found), Fraction(found.mu.high)
    assert mu - Fraction(found.mu.low) <= Fraction(request["tol"])
    for eps in points(profile, found):
        assert not certainly_above(profile, p, mu, eps), float(eps)


@settings(max_examples=settings().max_examples // 3)
@given(mechanisms(), requests())
def test_the_lower_end_is_needed(profile: Profile, request: dict[str, Any]) -> None:
    """Slightly below mu.low the inequality fails at the witness: no smaller μ would do."""
    found = gdp.measure(profile, **request)
    if not (found.mu.low > 0 and found.mu.high.is_finite() and math.isfinite(found.attained_at)):
        return
    # the witness is reported as a float
    less = Fraction(found.mu.low) * (1 - Fraction(1, 10**12)) - Fraction(1, 10**14)
    witness = found.evidence.witness if found.evidence else None
    assert isinstance(witness, Fraction)
    if found.eps_h is not None:
        assert witness <= Fraction(repr(found.eps_h))
    if less > 0:
        assert certainly_above(profile, promised_failure(found), less, witness) is not False
        assert float(witness) == found.attained_at


@pytest.mark.parametrize("p", [1e-300, 1e-20, 1e-9, 1e-3, 0.03, 0.3, 0.6])
def test_laplace_with_a_failure(p: float) -> None:
    """On a fine grid, laplace 0.5 past p: true at mu.high, false just below mu.low at ε*."""
    profile = profiles.Laplace(scale=0.5)
    found = gdp.measure(profile, failure=p)
    whole = gdp.measure(profile)
    assert found.mu.low <= whole.mu.high
    high, low = Fraction(found.mu.high), Fraction(found.mu.low) - Fraction(1, 10**10)
    for k in range(401):
        assert not certainly_above(profile, found.failure, high, Fraction(2 * k, 400))
    at = Fraction(repr(found.attained_at))
    assert certainly_above(profile, found.failure, low, at)


@pytest.mark.parametrize(
    ("A", "B", "sigma"), [("2", "1", "2"), ("1", "0.4", "1"), ("3", "30", "1"), ("1", "1e-9", "1")]
)
def test_a_whole_statement_holds_far_into_the_tail(A: str, B: str, sigma: str) -> None:
    """log δ_μ - log δ is positive from the end of the cells to a thousand times as far."""
    profile = profiles.SGDFamily(A=float(A), B=float(B), sigma=float(sigma))
    found = gdp.measure(profile)
    assert found.evidence is not None
    end = found.evidence.tail_from
    assert end is not None
    for k in range(31):
        eps = end * Fraction(10) ** k if k < 2 else end * (1 + Fraction(k * k, 20))
        assert certainly_above(profile, Fraction(0), Fraction(found.mu.high), eps) is False


def test_certified_needs_a_hundredth_of_the_evaluations() -> None:
    """laplace 0.5: shuffled at 1e-3 against certified at 1e-12, a billion times narrower."""
    profile = profiles.Laplace(scale=0.5)
    shuffled = gdp.measure(profile, 1e-3, method="shuffled")
    proved = gdp.measure(profile, 1e-12)
    assert shuffled.evaluations >= 100 * proved.evaluations
    assert proved.mu.width <= 1e-12


# --- extremes --------------------------------------------------------------------------------

EXTREMES: list[tuple[Profile, dict[str, Any]]] = [
    (profiles.Laplace(scale=1e-5), {}),
    (profiles.Laplace(scale=1e-4), {"tol": "1e-30"}),
    (profiles.Laplace(scale=1e9), {}),
    (profiles.Laplace(scale=1e300), {"tol": "1e-100"}),
    (profiles.Laplace(scale=5), {"eps_h": 1e-12}),
    (profiles.Laplace(scale=0.5), {"eps_h": "1e-400"}),
    (profiles.Laplace(scale=0.5), {"failure": "1e-1000"}),
    (profiles.Laplace(scale=0.5), {"failure": "0." + "9" * 29}),
    (profiles.PureDP(epsilon=1e5), {"tol": "1e-30"}),
    (profiles.PureDP(epsilon=5e-324), {}),
    (profiles.ApproxDP(epsilon=1e5, delta=0.5), {"eps_h": 1e5}),
    (profiles.ApproxDP(epsilon=1, delta=1 - 2**-53), {"eps_h": 1}),
    (profiles.ApproxDP(epsilon=1, delta=5e-324), {}),
    (profiles.ApproxDP(epsilon=1, delta=1e-300), {"eps_h": 1e5}),
    (profiles.SGDFamily(A=1000, B=1, sigma=1), {}),
    (profiles.SGDFamily(A=1, B=1, sigma=1e6), {}),
    (profiles.SGDFamily(A=1, B=1, sigma=1e40), {}),
    (profiles.SGDFamily(A=1, B=1e300, sigma=1), {}),
    (profiles.SGDFamily(A=1, B=5e-324, sigma=1), {}),
    (profiles.SGDFamily(A=2, B=1, sigma=2), {"failure": 1e-300}),
    (profiles.ICEA(messages=1, users=10**9), {}),
    (profiles.ICEA(messages=10_000, users=1), {}),
    (profiles.ICEA(messages=20, users=4), {"eps_h": 1e5}),
    (profiles.GDP(mu=1e-12), {"failure": 1e-13, "tol": "1e-20"}),
    (profiles.GDP(mu=6), {"failure": 0.5}),
    (profiles.GDP(mu=1), {"failure": 1e-5}),
    (profiles.RandomizedResponse(noise_parameter=1e-300), {}),
    (profiles.RandomizedResponse(noise_parameter=0.5, buckets=10**12), {"failure": 0.5}),
    (profiles.RandomizedResponse(noise_parameter=1 - 2**-53), {}),
]


@pytest.mark.parametrize(("profile", "request_"), EXTREMES, ids=str)
def test_extremes(profile: Profile, request_: dict[str, Any]) -> None:
    """A narrow, finite and quick answer for parameters at the far ends of their ranges."""
    found = gdp.measure(profile, **request_)
    assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction(request_.get("tol", "1e-9"))
    assert found.evaluations <= 5000
    for value in (found.attained_at, found.failure_probability, found.log_failure_probability):
        assert not math.isnan(value)


@settings(max_examples=settings().max_examples // 3)
@given(
    st.sampled_from(["adaptive", "shuffled", "staircase"]),
    mechanisms(),
    st.sampled_from(["1", "1e-1", "1e-2", "3e-3"]),
    st.one_of(st.none(), st.floats(-6, 1).map(lambda power: 10**power)),
)
def test_the_other_methods_hold_the_certified_interval(
    method: str, profile: Profile, tol: str, eps_h: float | None
) -> None:
    """Each method's interval lies around the certified one, or the work is refused."""
    if float(tol) < 0.1 and not isinstance(profile, profiles.ICEA):
        eps_h = eps_h or 1.0
    try:
        found = gdp.measure(profile, tol, eps_h, method=method)
    except gdp.WorkLimitError:
        return
    proved = gdp.measure(profile, "1e-20", eps_h)
    assert found.mu.low <= proved.mu.low
    assert proved.mu.high <= found.mu.high
    if found.mu.high.is_finite():
        assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction(tol)
