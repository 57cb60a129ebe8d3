"""Pairs of densities: known mechanisms written as formulas, and mpmath."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.convert import mu_of_pair

P = gdp.profiles
NORMAL = "exp(-(x-m)**2/2)/sqrt(2*pi)"
LAPLACE = P.Densities(p="exp(-abs(x))/2", q="exp(-abs(x-1))/2")
LINES = P.Densities(p="0.7+0.6*x", q="1.3-0.6*x", low=0, high=1)
GEOMETRIC = "(1-exp(-1/2))/(1+exp(-1/2))*exp(-abs(x-m)/2)"
WHOLE = P.Densities(p=GEOMETRIC.replace("-m", ""), q=GEOMETRIC.replace("m", "1"), integers=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "other"),
    [
        (P.Densities(p=NORMAL.replace("m", "0"), q=NORMAL.replace("m", "1")), P.GDP(mu=1)),
        (LAPLACE, P.Laplace(scale=1)),
        (
            P.Densities(ratio="exp(abs(x-m)-abs(x))", p="exp(-abs(x))/2", set={"m": 1}),
            P.Laplace(scale=1),
        ),
        (WHOLE, P.DiscreteLaplace(scale=2)),
    ],
)
def test_known_mechanisms(profile: gdp.Profile, other: gdp.Profile) -> None:
    """δ is that of the mechanism, proved to what lies beyond the range that was integrated."""
    eps = np.array([0.0, 0.3, 1.0, 2.5])
    for one, value in zip(eps, np.asarray(other.delta(eps)), strict=True):
        low, high = profile.delta_bounds(one)
        assert low <= value * (1 + 1e-14)
        assert value <= high * (1 + 1e-14)
        assert high - low <= 1e-15 * high + 1e-20
    np.testing.assert_allclose(profile.delta(eps), other.delta(eps), rtol=1e-13, atol=1e-20)


def gain(p: Callable, q: Callable, eps: float, places: list[float]) -> mpmath.mpf:
    t = mpmath.e**eps
    return mpmath.quad(lambda x: max(p(x) - t * q(x), 0), places)


def test_a_pair_of_its_own() -> None:
    """Densities that are no mechanism of this library's, unlike in both orders, against mpmath."""
    profile = P.Densities(p="1", q="3*(1+x**2)/4", low=0, high=1)
    with mpmath.workdps(30):
        for eps in (0.0, 0.1, 0.2, 0.28):
            t = mpmath.e**eps
            # p > t·q below a, and q > t·p above b
            a, b = (mpmath.sqrt(max(4 * one / 3 - 1, 0)) for one in (1 / t, t))
            first = a - t * 3 * (a + a**3 / 3) / 4
            other = 3 * ((1 - b) + (1 - b**3) / 3) / 4 - t * (1 - b)
            low, high = (mpmath.mpf(float(end)) for end in profile.delta_bounds(eps))
            best = max(first, other if b < 1 else 0)
            assert low * (1 - mpmath.mpf(10) ** -15) <= best <= high * (1 + mpmath.mpf(10) ** -15)
    found = gdp.measure(profile)
    assert (found.verdict, found.statement) == ("gdp", "whole")
    assert profile.epsilon_bounds(0.0)[1] == pytest.approx(math.log(1.5), rel=1e-12)


def test_measured() -> None:
    """Bounded losses are GDP; without ends the range beside a failure probability is given too."""
    whole = gdp.measure(LINES)
    assert (whole.verdict, whole.statement, whole.certified) == ("gdp", "whole", True)
    # TV is the integral of 0.6 - 1.2x up to 1/2
    assert float(2 * math.sqrt(2) * mpmath.erfinv(0.15)) == pytest.approx(
        float(whole.mu.low), rel=2e-9
    )
    found = gdp.measure(LAPLACE, tol=1e-7)
    exact = gdp.measure(P.Laplace(scale=1), failure=1e-10, tol=1e-7)
    whole_range = found.whole_range_mu
    assert whole_range is not None
    assert abs(whole_range.high - gdp.measure(P.Laplace(scale=1)).mu.high) < Fraction(1, 10**6)
    assert (found.statement, found.failure_probability) == ("approximate", 1e-10)
    assert abs(found.mu.high - exact.mu.high) < Fraction(1, 10**6)
    assert pickle.loads(pickle.dumps(LINES)) == LINES


@pytest.mark.slow
def test_composition_is_bounded() -> None:
    """Several runs are at most a little above what they are exactly, never below."""
    ours, exact = WHOLE.compose(3), P.DiscreteLaplace(scale=2).compose(3)
    assert ours.profile_is == "bound"
    for eps in (0.0, 0.25, 1.2):
        value = float(np.asarray(exact.delta_bounds(eps)[0]))
        assert value <= float(np.asarray(ours.delta_bounds(eps)[1])) <= value * 1.01
    beside = P.Sequence(parts=(LINES, P.Gaussian(sigma=3)))
    assert float(beside.delta(0.1)) > float(P.Gaussian(sigma=3).delta(0.1))
    with pytest.raises(gdp.InputError, match="without bounds"):
        LAPLACE.privacy_losses()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"p": "1"}, "give two of the three"),
        ({"p": "1", "q": "1", "ratio": "1"}, "give two of the three"),
        ({"p": "1", "q": "a*x", "low": 0, "high": 1}, "a has no value"),
        ({"p": "1", "q": "2*x", "low": 1, "high": 0}, "above low, 1"),
        ({"p": "1", "q": "x*(", "low": 0, "high": 1}, "column"),
        ({"p": "1", "q": "1", "set": {"pi": 3}}, "not x or pi"),
        ({"p": "1", "q": "piecewise(1, x < 1, 2)", "low": 0, "high": 1}, "piecewise"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    """What is no pair of densities is refused, and named."""
    with pytest.raises(gdp.InputError, match=words):
        P.Densities(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"p": "1", "q": "x", "low": 0, "high": 1}, "q: .*integrates to 0.5"),
        ({"p": "exp(-abs(x))", "q": "exp(-abs(x))/2"}, "integrates to 2"),
        ({"p": "1/4", "q": "1/4", "integers": True, "low": 0, "high": 4}, "adds up to 1.25"),
    ],
)
def test_no_density(given: dict[str, Any], words: str) -> None:
    """What does not integrate to 1 is refused as soon as it is looked at."""
    with pytest.raises(gdp.InputError, match=words):
        gdp.measure(P.Densities(**given))


STUDENT = "2/(pi*sqrt(3)*(1+(x-m)**2/3)**2)"
LOGISTIC = "exp(-(x-m)/0.7)/(0.7*(1+exp(-(x-m)/0.7))**2)"
TENT = "max(0,1-abs(x-m))"


def shifted(text: str, by: str = "1", **rest: Any) -> gdp.Profile:
    return P.Densities(p=text.replace("x-m", "x"), q=text.replace("x-m", f"x-{by}"), **rest)


@pytest.mark.parametrize(
    ("profile", "verdict", "mu_t"),
    [
        # bounded losses
        (LAPLACE, "gdp", 0),
        (WHOLE, "gdp", 0),
        (shifted(STUDENT), "gdp", 0),
        (shifted(LOGISTIC), "gdp", 0),
        (P.Densities(p="0.5**abs(x)/3", q="0.5**abs(x-1)/3", integers=True), "gdp", 0),
        # -log δ like ε: e^-ε/4; under the wider one of two normal laws; of two exponential laws
        (P.Densities(p="1", q="2*x", low=0, high=1), "not-gdp", math.inf),
        (P.Densities(p="exp(-x)", q="2*exp(-2*x)", low=0), "not-gdp", math.inf),
        (P.Densities(p="0.5**(x+1)", q="0.6*0.4**x", integers=True, low=0), "not-gdp", math.inf),
        pytest.param(
            P.Densities(p="3*x**2/2", q="(1+x)/2", low=-1, high=1),
            "not-gdp",
            math.inf,
            id="zeros of both",
        ),
        # as slow as the Gaussian curve of the sampled one
        (
            P.Densities(
                p=NORMAL.replace("m", "0"),
                q=f"({NORMAL.replace('m', '0')}+{NORMAL.replace('m', '1')})/2",
            ),
            "gdp",
            1,
        ),
    ],
)
def test_tails(profile: gdp.Profile, verdict: str, mu_t: float) -> None:
    """Whether a finite μ covers every ε is decided where the range ends, or a density is 0."""
    found = gdp.identify(profile)
    assert (found.verdict, found.tail_status) == (verdict, "proved")
    assert found.mu_tail is not None
    assert found.mu_tail.low <= mu_t <= found.mu_tail.high


POISSON = "exp(-{0} + x*log({0}) - lgamma(x+1))"
NEGATIVE = "exp(lgamma(x+r) - lgamma(r) - lgamma(x+1) + r*log(1-{0}) + x*log({0}))"
BINOMIAL = "exp(lgamma(n+1) - lgamma(x+1) - lgamma(n-x+1) + x*log({0}) + (n-x)*log(1-{0}))"


def poisson(k: int, rate: float) -> mpmath.mpf:
    return mpmath.exp(-rate) * mpmath.mpf(rate) ** k / mpmath.factorial(k)


def negative(k: int, chance: float) -> mpmath.mpf:
    chance = mpmath.mpf(str(chance))
    return mpmath.rf(2.5, k) / mpmath.factorial(k) * (1 - chance) ** 2.5 * chance**k


def binomial(k: int, chance: float) -> mpmath.mpf:
    chance = mpmath.mpf(str(chance))
    return mpmath.binomial(20, k) * chance**k * (1 - chance) ** (20 - k)


@pytest.mark.parametrize(
    ("text", "law", "ends", "verdict"),
    [
        (POISSON, poisson, (3, 4), "not-gdp"),
        (NEGATIVE, negative, (0.3, 0.35), "not-gdp"),
        (BINOMIAL, binomial, (0.3, 0.35), "gdp"),
    ],
)
def test_laws_of_whole_numbers(
    text: str, law: Callable, ends: tuple[float, float], verdict: str
) -> None:
    """With log Γ: δ is that of the masses summed, the tail is decided, and a certificate holds."""
    last = 20 if text == BINOMIAL else None
    names = {"n": 20} if last else {"r": 2.5} if text == NEGATIVE else {}
    p, q = (text.format(one) for one in "ab")
    given = dict(zip("ab", ends, strict=True)) | names
    profile = P.Densities(p=p, q=q, set=given, low=0, high=last, integers=True)
    with mpmath.workdps(30):
        masses = [[law(k, one) for k in range((last or 120) + 1)] for one in ends]
        for eps in (0.0, 0.3, 1.0):
            both = [
                sum(max(a - mpmath.e**eps * b, 0) for a, b in zip(one, other, strict=True))
                for one, other in (masses, masses[::-1])
            ]
            low, high = profile.delta_bounds(eps)
            assert low * (1 - 1e-13) <= max(both) <= high * (1 + 1e-13) + 1e-20
    found = gdp.measure(profile)
    assert (found.verdict, gdp.identify(profile).tail_status) == (verdict, "proved")
    assert found.certificate is not None
    assert gdp.verify(found.certificate).valid


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(LAPLACE, marks=pytest.mark.deep),
        WHOLE,
        P.Densities(p="1", q="2*x", low=0, high=1),
        P.Densities(p="0.5**(x+1)", q="0.6*0.4**x", integers=True, low=0),
        P.Densities(p="1/4", q="x/6", integers=True, low=0, high=3),
        pytest.param(shifted(TENT, low=-1, high=2), marks=pytest.mark.deep),
    ],
    ids=["two ends missing", "whole numbers", "one loss", "one end missing", "atom", "failure"],
)
def test_certificates_claim_what_the_checker_can_follow(profile: gdp.Profile) -> None:
    """Of losses far out or without a bound the checker says nothing, and nothing is claimed."""
    found = gdp.measure(profile, tol=1e-4)
    assert found.certificate is not None
    done = gdp.verify(found.certificate)
    assert done.valid, done
    if found.verdict == "gdp":
        whole = gdp.measure(profile, tol=1e-4, failure=0)
        assert (whole.statement, whole.certified, whole.certificate) == ("whole", True, None)


def test_log_gamma_between_whole_numbers_has_no_certificate() -> None:
    """The checker knows no slopes of it; of numbers it is one."""
    text = "exp(lgamma(x+2))"
    high = 1
    with mpmath.workdps(20):
        mass = mpmath.quad(lambda x: mpmath.gamma(x + 2), [0, high])
    pair = P.Densities(p=f"{text}/{mpmath.nstr(mass, 15)}", q="1", low=0, high=high)
    found = gdp.measure(pair, tol=1e-4)
    assert found.certified
    assert found.certificate is None
    assert "lgamma of whole numbers x" in found.proof.why
    of_number = P.Densities(p="exp(-lgamma(2))", q="2*x", low=0, high=1)
    proved = gdp.measure(of_number, tol=1e-4).certificate
    assert proved is not None
    assert gdp.verify(proved).valid


def test_infinite_losses() -> None:
    """Two tents, a half of each where the other one is not: δ does not fall below 1/2."""
    found = gdp.measure(shifted(TENT, low=-1, high=2), tol=1e-4)
    assert (found.verdict, found.statement) == ("not-gdp", "approximate")
    assert Fraction(1, 2) < found.failure < Fraction(1, 2) + Fraction(1, 10**9)
    low, high = shifted(TENT, low=-1, high=2).delta_bounds(3.0)
    # where p > t·q on [0, 1/2], up to 1/(1 + t)
    t = math.exp(3)
    exact = 0.5 + 1 / (1 + t) - 1 / (2 * (1 + t) ** 2) * (1 + t)
    assert low <= exact * (1 + 1e-14)
    assert exact <= high * (1 + 1e-14)


def test_normal_densities_are_gaussian_noise() -> None:
    """One variance: μ is |m - m'|/σ exactly, of several runs too, with a certificate of it."""
    given = {"m": 0.25, "s": 1.5}
    text = "exp(-(x-{})**2/(2*s**2))/(s*sqrt(2*pi))"
    profile = P.Densities(p=text.format("m"), q=text.format("-m"), set=given)
    found = gdp.measure(profile)
    assert (found.verdict, found.statement) == ("gdp", "whole")
    assert found.mu.low <= Fraction(1, 3) <= found.mu.high
    assert found.certificate is not None
    assert gdp.verify(found.certificate).valid
    again = gdp.measure(profile.compose(9))
    assert (str(again.profile_is), float(again.mu.low), float(again.mu.high)) == ("own", 1, 1)
    root = P.Densities(p="exp(-x**2/4)/sqrt(4*pi)", q="exp(-(x-1)**2/4)/sqrt(4*pi)")
    whole = gdp.measure(root)
    assert float(whole.mu.low) <= math.sqrt(0.5) <= float(whole.mu.high)
    assert whole.certificate is None


def test_orders_of_which_one_ends_first() -> None:
    """Next to the end of the one order, log 2, δ is that of the other, e^-ε/4: proved, μ too."""
    found = gdp.measure(P.Densities(p="1", q="2*x", low=0, high=1), tol=1e-4)
    assert found.failure == Fraction(1, 10**10)
    at = found.attained_at
    known = mu_of_pair(at, (math.exp(-at) / 4 - 1e-10) / (1 - 1e-10))
    assert found.certified
    assert found.mu.low <= known.low <= known.high <= found.mu.high


def test_masses_that_are_not_whole_polynomials() -> None:
    """Where the loss is ε is bracketed as closely as the masses that the loss is over are known."""
    pair = P.Densities(p="exp(-x)/(1-exp(-3))", q="1/3", low=0, high=3)
    kept = 1 - mpmath.exp(-3)
    for eps in (0.0, 0.4, 0.8, 1.2, 1.7):
        place = eps + mpmath.log(3 / kept)
        rest = (mpmath.exp(-place) - mpmath.exp(-3)) / kept
        low, high = pair.delta_bounds(eps)
        exact = (3 - place) / 3 - mpmath.exp(eps) * rest
        other = mpmath.log(3 / kept) - eps
        if other > 0:
            exact = max(exact, (1 - mpmath.exp(-other)) / kept - mpmath.exp(eps) * other / 3)
        assert low <= exact * (1 + 1e-14)
        assert exact <= high * (1 + 1e-14) + 1e-16
        assert high - low <= 1e-12
    assert gdp.measure(pair, tol=1e-4).certified


@pytest.mark.parametrize(
    ("one", "tail"),
    [
        (gdp.profiles.Skellam(variance=4), 0),
        (gdp.profiles.Densities(p="exp(-abs(x))/2", q="exp(-abs(x-1))/2"), 0),
        (gdp.profiles.Densities(p="2*x", q="1", low=0, high=1), math.inf),
    ],
    ids=["skellam", "laplace", "not gdp"],
)
def test_whether_a_mu_covers_every_epsilon_of_several_runs(one: gdp.Profile, tail: float) -> None:
    """√k·μ of one run covers k of them; where none covers one, none covers several."""
    runs = one.compose(4)
    found = gdp.identify(runs)
    assert found.tail_status == "proved"
    assert found.mu_tail is not None
    assert (found.mu_tail.lower, found.mu_tail.upper) == (tail, tail)
    assert found.verdict == ("not-gdp" if tail else "gdp")
    if not tail:
        high = float(runs.tail.above())
        assert high == pytest.approx(2 * float(one.tail.above()), rel=1e-9)
        assert runs.delta_bounds(0.5)[1] <= gdp.profiles.GDP(mu=high).delta_bounds(0.5)[1]


def test_how_skellam_noise_of_several_runs_falls() -> None:
    """What is proved of two runs far out is above δ by the sums of their losses."""
    runs = gdp.profiles.Skellam(variance=2, sensitivity=2).compose(2)
    beyond = runs.tail.beyond
    masses = {x: float(mpmath.exp(-2) * mpmath.besseli(abs(x), 2)) for x in range(-40, 41)}
    losses = [(math.log(masses[x] / masses[x - 2]), masses[x]) for x in range(-30, 31)]
    for eps in (0.5, 2.0, 5.0, 9.0):
        delta = sum(
            p * q * max(-math.expm1(eps - one - other), 0)
            for one, p in losses
            for other, q in losses
        )
        most = float(beyond.log_factor()) - eps**2 / (2 * float(beyond.width) ** 2)
        assert math.log(delta) <= most


def test_roots_in_another_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not smooth at an end is refused with what to do, and that has the same δ."""
    found = P.Densities(p="(0.5+1.25*x**3)*2*x", q="2*x", low=0, high=1)
    for eps in (0.0, 0.3):
        with mpmath.workdps(20):
            turn = ((mpmath.exp(eps) - 0.5) / 1.25) ** (mpmath.mpf(2) / 3)
            excess = mpmath.quad(lambda x: 0.5 + 1.25 * x**1.5, [turn, 1])
            above = excess - mpmath.exp(eps) * (1 - turn)
            turn = max((mpmath.exp(-eps) - 0.5) / 1.25, mpmath.mpf(0)) ** (mpmath.mpf(2) / 3)
            lack = mpmath.quad(lambda x: 0.5 + 1.25 * x**1.5, [0, turn])
            wanted = max(above, turn - mpmath.exp(eps) * lack)
        low, high = found.delta_bounds(eps)
        assert low * (1 - 1e-12) <= wanted <= high * (1 + 1e-12)
    monkeypatch.setattr("gdpbridge.losses.densities._MOST_CELLS", 100)
    with pytest.raises(gdp.UndecidedError, match=r"near x = 0: .* u with x = u\*\*2"):
        _ = P.Densities(p="0.5+1.25*x**1.5", q="1", low=0, high=1).curve
