"""Selection: bounded range, the exponential mechanism, permute-and-flip, noisy maxima."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import gdpbridge as gdp

P = gdp.profiles
HALF = Fraction(1, 2)


def mu_at_zero(delta: mpmath.mpf) -> mpmath.mpf:
    return 2 * mpmath.sqrt(2) * mpmath.erfinv(delta)


@pytest.mark.parametrize(
    ("profile", "mu"),
    [
        (P.Exponential(epsilon=1), ".623892592098508"),
        (P.BoundedRange(range=1), ".623892592098508"),
        (P.ReportNoisyMax(noise="gumbel", scale=2), ".623892592098508"),
        (P.Exponential(epsilon=1, monotonic=True), ".312979499481630"),
        (P.ReportNoisyMax(noise="gumbel", scale=2, monotonic=True), ".312979499481630"),
        (P.BoundedRange(range=0.5), ".312979499481630"),
        (P.PermuteAndFlip(epsilon=2), "1.80090519327558"),
        (P.ReportNoisyMax(noise="exponential", scale=1), "1.80090519327558"),
        (P.ReportNoisyMax(noise="laplace", scale=1), "1.80090519327558"),
    ],
)
def test_right_values(profile: gdp.Profile, mu: str) -> None:
    """μ is that of δ(0), known from elsewhere to fifteen digits."""
    found = gdp.measure(profile, tol=1e-14).mu
    assert abs(float(found.low) - float(mu)) < 3e-15
    assert found.width < 2e-14


def test_against_mpmath() -> None:
    """δ(0) = tanh(r/4), the largest gain of an event of losses t and t - r, at t = r/2."""
    with mpmath.workdps(30):

        def gain(t: mpmath.mpf, eps: mpmath.mpf) -> mpmath.mpf:
            q = (1 - mpmath.e ** (t - 1)) / (mpmath.e**t - mpmath.e ** (t - 1))
            return q * (mpmath.e**t - mpmath.e**eps)

        assert mpmath.almosteq(gain(mpmath.mpf(1) / 2, 0), mpmath.tanh(mpmath.mpf(1) / 4))
        mu = mu_at_zero(mpmath.tanh(mpmath.mpf(1) / 4))
        for eps in (0, 0.3, 0.9):
            best = max(gain(mpmath.mpf(k) / 2000, eps) for k in range(1, 2000))
            low, high = P.BoundedRange(range=1).delta_bounds(eps)
            assert best <= high
            assert low <= best * (1 + 1e-5)
    assert str(mu).startswith("0.623892592098508")
    # half of what pure DP alone gives
    assert gdp.measure(P.PureDP(epsilon=1)).mu.low > 1.97 * float(mu)


def pair_gain(laws: list[tuple[float, float]], eps: float) -> float:
    """δ(ε) of several events of two outcomes, each with a loss t of P and a range r."""
    gain = 0.0
    for outcome in itertools.product((0, 1), repeat=len(laws)):
        p = q = 1.0
        for high, (t, r) in zip(outcome, laws, strict=True):
            share = (math.exp(-t) - math.exp(-r)) / (1 - math.exp(-r))
            q *= share if high else 1 - share
            p *= share * math.exp(t) if high else (1 - share) * math.exp(t - r)
        gain += max(p - math.exp(eps) * q, 0.0)
    return gain


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0.1, 3), st.floats(0, 0.99))
def test_runs_chosen_beforehand(shares: list[float], r: float, at: float) -> None:
    """No three events of unlike t gain more than δ(ε) says, and one t for all three attains it."""
    eps = 3 * r * at
    delta = float(P.BoundedRange(range=r, runs=3).delta(eps))
    assert pair_gain([(share * r, r) for share in shares], eps) <= delta * (1 + 1e-9) + 1e-15
    best = max(
        pair_gain([((eps + k * r) / 4, r)] * 3, eps) for k in (1, 2, 3) if eps + k * r < 4 * r
    )
    assert best == pytest.approx(delta, rel=1e-6, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("r", [0.3, 2.0])
def test_adaptive_runs_lie_between(r: float) -> None:
    """Two runs: chosen beforehand ≤ the second one chosen by the first ≤ what is proved."""
    once = P.BoundedRange(range=r)
    t = np.linspace(0, r, 4001)[1:-1]
    q = (np.exp(-t) - np.exp(-r)) / (1 - np.exp(-r))

    def single(eps: np.ndarray) -> np.ndarray:
        known = np.asarray(once.delta(np.clip(eps, 0, r)))
        # δ(-ε) = 1 - e^{-ε}(1 - δ(ε))
        mirrored = 1 - np.exp(eps) * (1 - np.asarray(once.delta(np.clip(-eps, 0, r))))
        return np.where(eps < 0, mirrored, known)

    for eps in (0.0, 0.7 * r):
        adaptive = float(
            (q * np.exp(t) * single(eps - t) + (1 - q) * np.exp(t - r) * single(eps - t + r)).max()
        )
        beforehand = float(P.BoundedRange(range=r, runs=2).delta(eps))
        proved = float(np.asarray(once.compose(2).delta_bounds(eps)[1]))
        assert beforehand <= adaptive * (1 + 1e-5)  # as the grid is coarse
        assert adaptive <= proved
        assert proved <= float(P.PureDP(epsilon=r).compose(2).delta(eps)) + 1e-12
    assert once.compose(2).profile_is == "bound"
    assert P.BoundedRange(range=r, runs=2).profile_is == "class"


def permute_and_flip(scores: tuple[float, ...], eps: float) -> np.ndarray:
    """The probabilities of each candidate, Δ = 1, from the mechanism's steps."""
    chance = np.exp(eps / 2 * (np.array(scores) - max(scores)))
    found = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for candidate in order:
            found[candidate] += left * chance[candidate] / len(orders)
            left *= 1 - chance[candidate]
    return found


def gumbel(scores: tuple[float, ...], eps: float) -> np.ndarray:
    weights = np.exp(eps / 2 * np.array(scores))
    return weights / weights.sum()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-1, 1)), min_size=2, max_size=5),
    st.floats(0.1, 3),
    st.floats(0, 1),
)
def test_no_scores_are_worse(scores: list[tuple[float, float]], eps: float, at: float) -> None:
    """Of any scores and neighbours, either selection gains no more than its profile says."""
    before = tuple(score for score, _ in scores)
    for law, profile in (
        (permute_and_flip, P.PermuteAndFlip(epsilon=eps)),
        (gumbel, P.Exponential(epsilon=eps)),
    ):
        for moves in ([move for _, move in scores], [round(move) or 1 for _, move in scores]):
            after = tuple(one + move for one, move in zip(before, moves, strict=True))
            p, q = law(before, eps), law(after, eps)
            gain = np.maximum(p - math.exp(at * eps) * q, 0).sum()
            assert gain <= float(profile.delta(at * eps)) + 1e-14


@pytest.mark.parametrize("eps", [0.5, 2.0])
def test_two_candidates_attain_it(eps: float) -> None:
    """Two candidates, apart by as much as is worst at x, have δ(x) of the class."""
    for x in (0.0, 0.3 * eps, 0.8 * eps):
        # all of the move goes through the median of Laplace's distribution
        gap = 1 - x / eps
        p, q = permute_and_flip((gap, 0), eps), permute_and_flip((gap - 1, 1), eps)
        gain = float(np.maximum(p - math.exp(x) * q, 0).sum())
        assert gain == pytest.approx(float(P.PermuteAndFlip(epsilon=eps).delta(x)), rel=1e-12)


def test_the_noise_matters() -> None:
    """At one scale, exponential noise is not the exponential mechanism, which is Gumbel noise."""
    by_noise = {
        noise: gdp.measure(P.ReportNoisyMax(noise=noise, scale=2)).mu.high
        for noise in ("gumbel", "exponential", "laplace")
    }
    assert by_noise["exponential"] == by_noise["laplace"]
    assert float(by_noise["exponential"] / by_noise["gumbel"]) == pytest.approx(1.651, abs=1e-3)
    assert P.ReportNoisyMax(noise="laplace", scale=2).profile_is == "bound"
    # the mix-up that the documentation tells of
    page = (Path(__file__).parents[2] / "docs" / "selection.md").read_text()
    booked = gdp.measure(P.Exponential(epsilon=1, monotonic=True)).mu.high
    ratio = by_noise["exponential"] / booked
    for number in (f"{by_noise['exponential']:.3f}", f"{booked:.3f}", f"{10 * ratio**2:.0f}"):
        assert number in page


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-3), (0.4, 0.2)])
def test_truncated_laplace(scale: float, delta: float) -> None:
    """δ(ε) is the integral of (p - e^ε q)⁺ over both densities, and a composition of one run."""
    profile = P.TruncatedLaplace(scale=scale, delta=delta)
    reach = scale * math.log1p(math.expm1(1 / scale) / (2 * delta))

    def density(x: mpmath.mpf) -> mpmath.mpf:
        inside = mpmath.e ** (-abs(x) / scale) / (2 * scale * -mpmath.expm1(-reach / scale))
        return inside if abs(x) <= reach else mpmath.mpf(0)

    for eps in (0, 0.4, 0.9 / scale, 2 / scale):
        crossing = (1 - scale * eps) / 2
        places = sorted({-reach, min(1 - reach, 0.0), 0.0, crossing, 1.0, reach})
        gain = mpmath.quad(
            lambda x, eps=eps: max(density(x) - mpmath.e**eps * density(x - 1), 0), places
        )
        low, high = profile.delta_bounds(eps)
        assert float(gain) == pytest.approx(float(low), rel=1e-9)
        assert high == pytest.approx(low, rel=1e-14)
    beside = P.Sequence(parts=(profile, P.Gaussian(sigma=50)))
    assert float(np.asarray(beside.delta_bounds(0.4)[0])) > float(profile.delta(0.4))


def svt_chance(scales: tuple[float, float], answers: list[float], last: float) -> float:
    """The chance that all answers but the last one are below a threshold of 0."""

    def below(x: float) -> float:
        return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)

    def inside(z: float) -> float:
        found = math.exp(-abs(z) / scales[0]) / (2 * scales[0])
        for answer in answers:
            found *= below((z - answer) / scales[1])
        return found * (1 - below((z - last) / scales[1]))

    ends = sorted({-80.0, -1.0, 0.0, 1.0, 80.0})
    return sum(integrate.quad(inside, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))


def test_sparse_vector() -> None:
    """No event of an actual run goes beyond its ε, and one comes close."""
    profile = P.SparseVector(threshold_scale=2, answer_scale=3)
    eps = 1 / 2 + 2 / 3
    assert profile.tail.start == Fraction(7, 6)
    # forty answers fall by Δ, and the last one rises by it
    ratio = svt_chance((2, 3), [0] * 40, 1) / svt_chance((2, 3), [1] * 40, 0)
    assert math.exp(0.8 * eps) < ratio <= math.exp(eps)
    assert P.SparseVector(threshold_scale=2, answer_scale=3, monotonic=True).tail.start == Fraction(
        5, 6
    )


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_thresholded_release(groups: int) -> None:
    """Every number of groups in which a record is alone, in both directions, by SciPy."""
    sigma, threshold = 1.5, 5.0
    profile = P.ThresholdedRelease(
        noise="gaussian", scale=sigma, threshold=threshold, groups=groups
    )
    away = float(stats.norm.sf((threshold - 1) / sigma))

    def gaussian(mu: float, eps: float) -> float:
        if mu == 0:
            return max(-math.expm1(eps), 0.0)
        first = stats.norm.cdf(-eps / mu + mu / 2)
        return float(first - math.exp(eps) * stats.norm.cdf(-eps / mu - mu / 2))

    for eps in (0.0, 0.4, 1.3, 3.0, 9.0):
        worst = 0.0
        for alone in range(groups + 1):
            kept, mu = (1 - away) ** alone, math.sqrt(groups - alone) / sigma
            forward = 1 - kept + kept * gaussian(mu, eps - math.log(kept))
            backward = gaussian(mu, eps + math.log(kept))
            assert backward <= forward + 1e-12
            worst = max(worst, forward)
        assert float(profile.delta(eps)) == pytest.approx(worst, rel=1e-10)
    assert profile.profile_is == "own"
    low, high = profile.compose(2).delta_bounds(1.0)
    assert float(profile.delta(1.0)) < low <= high


def test_thresholded_laplace() -> None:
    """In one group: that of Laplace noise, or the chance of giving the record away."""
    profile = P.ThresholdedRelease(noise="laplace", scale=1, threshold=8)
    away = math.exp(-7) / 2
    for eps in (0.0, 0.5, 0.999, 1.0, 4.0):
        expected = max(float(P.Laplace(scale=1).delta(eps)), away)
        assert float(profile.delta(eps)) == pytest.approx(expected, rel=1e-13)
    found = gdp.measure(profile)
    assert (found.statement, found.certified) == ("approximate", True)
    with pytest.raises(gdp.InputError, match="must be at least the contribution"):
        P.ThresholdedRelease(noise="laplace", scale=1, threshold=0.5)
