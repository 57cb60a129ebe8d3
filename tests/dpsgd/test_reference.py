"""DP-SGD against numbers computed without any discretised distribution."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb
from mpmath import exp, mp, mpf, ncdf

import gdpbridge as gdp
from gdpbridge import convert
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform

DATA = Path(__file__).parents[1] / "data" / "dpsgd_reference.json"
SETTINGS = [
    setting
    for setting in json.loads(DATA.read_text())["settings"]
    # one step and no sampling have closed forms, and are not composed
    if setting["steps"] > 1 and float(setting["q"]) < 1
]


FIRST = gdp.profiles.DPSGD(noise_multiplier=9.4, sample_rate=0.328, steps=2000)
SECOND = gdp.profiles.DPSGD(noise_multiplier=1, sample_rate=0.01, steps=10_000)


@pytest.mark.parametrize(
    ("profile", "eps_h", "mu"),
    [
        (FIRST, 10, "1.569466"),
        (SECOND, 1, "1.295945"),
        (SECOND, 5, "1.332825"),
        (SECOND, 10, "1.381431"),
        (SECOND, 20, "1.501700"),
        (SECOND, 50, "1.980395"),
        (SECOND, 100, "2.628838"),
    ],
    ids=str,
)
def test_heads(profile: gdp.profiles.DPSGD, eps_h: int, mu: str) -> None:
    """The interval holds the true μ of the head, is proved, and at most 1e-9 wide by default."""
    found = gdp.measure(profile, eps_h=eps_h)
    assert found.mu.width <= 1e-9
    assert Fraction(found.mu.low) <= Fraction(mu) + Fraction(1, 2 * 10**6)
    assert Fraction(found.mu.high) >= Fraction(mu) - Fraction(1, 2 * 10**6)
    assert (found.statement, found.verdict) == (gdp.Statement.HEAD, gdp.Verdict.GDP)
    assert found.certified


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(0.08, 1e-5, 300), pytest.param(0.05, 1e-6, 100, marks=pytest.mark.deep)],
)
def test_little_noise_and_rare_samples(sigma: float, rate: float, steps: int) -> None:
    """With so little noise a step loses nothing, or log q and what the Gaussian mechanism loses.

    δ is the mean of Gaussian curves at ε - n·log q over the number n of samples, but for shares
    that do not count here.
    """
    p = mpmath.mpf(10) ** -10
    found = gdp.measure(
        gdp.profiles.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=steps), failure=1e-10
    )
    with mpmath.workdps(30):
        q, eps = mpmath.mpf(rate), mpmath.mpf(found.attained_at)

        def gaussian(mu: mpmath.mpf, at: mpmath.mpf) -> mpmath.mpf:
            above, below = (mpmath.ncdf(-at / mu + sign * mu / 2) for sign in (1, -1))
            return above - mpmath.exp(at) * below

        value = mpmath.fsum(
            mpmath.binomial(steps, n)
            * q**n
            * (1 - q) ** (steps - n)
            * gaussian(
                mpmath.sqrt(n) / sigma, eps - n * mpmath.log(q) - (steps - n) * mpmath.log1p(-q)
            )
            for n in range(1, 20)
        )
        ends = found.mu.low, found.mu.high
        low, high = (gaussian(mpmath.mpf(str(end)), eps) * (1 - p) + p for end in ends)
        assert low <= value * (1 + mpmath.mpf(10) ** -9)
        assert value <= high
        assert low > value * (1 - mpmath.mpf(10) ** -8)
    assert found.certified


def test_too_much_work_past_a_failure_leaves_the_whole_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody asked for p, the μ for every ε is the answer; where somebody did, none."""

    def too_much(*_: object) -> None:
        raise gdp.WorkLimitError("it falls off too slowly", 2, 1)

    monkeypatch.setattr(ComposedCurve, "past", too_much)
    run = gdp.profiles.DPSGD(noise_multiplier=0.05, sample_rate=1e-6, steps=100)
    found = gdp.measure(run)
    assert float(found.mu.high) == pytest.approx(math.sqrt(100) / 0.05, rel=1e-9)
    assert (found.statement, found.certified) == (gdp.Statement.WHOLE, True)
    assert any("would save is not known" in note and "too slowly" in note for note in found.notes)
    with pytest.raises(gdp.WorkLimitError, match="too slowly"):
        gdp.measure(run, failure=1e-10)


@pytest.mark.parametrize(("profile", "eps"), [(FIRST, 7.4330656), (SECOND, 6.1877123)], ids=str)
def test_epsilon(profile: gdp.profiles.DPSGD, eps: float) -> None:
    """ε at δ = 1e-5 lies between its bounds, in every form of the question."""
    low, high = profile.epsilon_bounds(1e-5)
    assert low - 1e-7 <= eps <= high + 1e-7
    assert high - low < 1e-3
    answer = convert.epsilon_at(profile, 1e-5)
    assert float(answer.low) <= eps + 1e-7
    assert profile.least_epsilon(1e-5) == high


def test_delta() -> None:
    """δ(5) of the second run, as bounds, as a float and as an interval."""
    low, high = SECOND.delta_bounds(5.0)
    assert low <= 2.779296e-4 * (1 + 1e-6)
    assert high >= 2.779296e-4 * (1 - 1e-6)
    assert SECOND.delta(5.0) == pytest.approx(high, rel=1e-12)
    assert float(convert.delta_at(SECOND, 5).high) == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize(("sigma", "steps"), [(9.4, 2000), (0.5, 1), (50, 10**6)])
def test_no_sampling(sigma: float, steps: int) -> None:
    """q = 1: exactly √T/σ for the whole range, proved."""
    found = gdp.measure(gdp.profiles.DPSGD(noise_multiplier=sigma, sample_rate=1, steps=steps))
    assert (found.statement, found.certified) == (gdp.Statement.WHOLE, True)
    assert found.mu.lower == pytest.approx(math.sqrt(steps) / sigma, rel=1e-9)
    assert found.mu.width < 1e-9


@pytest.mark.parametrize("parameters", [(1, 0, 100), (1, 0.1, 0), (1, 0, 0)])
def test_nothing_is_released(parameters: tuple[float, float, int]) -> None:
    """q = 0 or T = 0: μ = 0."""
    noise, rate, steps = parameters
    profile = gdp.profiles.DPSGD(noise_multiplier=noise, sample_rate=rate, steps=steps)
    assert gdp.measure(profile).mu.high == 0


@pytest.mark.parametrize("profile", [FIRST, SECOND], ids=str)
def test_default_statement(profile: gdp.profiles.DPSGD) -> None:
    """(μ, 1e-10): it holds at every known ε, does not at μ less twice the width, and falls in p."""
    found = gdp.measure(profile)
    assert (found.statement, found.failure_probability) == (gdp.Statement.APPROXIMATE, 1e-10)
    assert found.whole_range_mu is not None
    whole = math.sqrt(profile.steps) / profile.noise_multiplier
    assert found.whole_range_mu.upper == pytest.approx(whole, rel=1e-12)
    setting = next(one for one in SETTINGS if one["steps"] == profile.steps)
    for one in setting["values"]:
        truth = math.exp(float(one["log_delta_remove"]))
        high = 1e-10 + (1 - 1e-10) * gdp.delta(float(one["eps"]), found.mu.upper)
        assert truth <= high * (1 + 1e-9)
    # just below the interval the upper end of δ is no longer covered where it is attained
    at, smaller = found.attained_at, found.mu.lower - 2 * found.mu.width
    assert profile.delta_bounds(at)[0] > 1e-10 + (1 - 1e-10) * gdp.delta(at, smaller)
    probabilities = [p for p, _ in found.by_failure]
    assert probabilities == [1e-5, 1e-8, 1e-10, 1e-15, 1e-20]
    highs = [mu.high for _, mu in found.by_failure]
    assert highs == sorted(highs)


STATEMENT = json.loads(DATA.with_name("dpsgd_statement.json").read_text())


@pytest.mark.parametrize("number", [0, 1])
def test_statement_at_two_hundred_points(number: int) -> None:
    """δ(ε) ≤ p + (1 - p)·δ_μ(ε) by numbers of another method; not so at μ less twice the width."""
    run = STATEMENT["runs"][number]
    profile = gdp.profiles.DPSGD(
        noise_multiplier=float(run["sigma"]), sample_rate=float(run["q"]), steps=run["steps"]
    )
    # the points are too far apart for the default width
    mu = gdp.measure(profile, 1e-4).mu
    mp.dps = 30
    p = mpf("1e-10")

    def holds(at: str, log_delta: str, value: mpf) -> bool:
        eps = mpf(at)
        curve = ncdf(-eps / value + value / 2) - exp(eps) * ncdf(-eps / value - value / 2)
        return bool(exp(mpf(log_delta)) <= p + (1 - p) * curve)

    points = list(zip(STATEMENT["eps"], run["log_delta"], strict=True))
    assert len(points) == 200
    assert all(holds(at, log_delta, mpf(str(mu.high))) for at, log_delta in points)
    smaller = mpf(str(mu.low)) - 2 * (mpf(str(mu.high)) - mpf(str(mu.low)))
    assert not all(holds(at, log_delta, smaller) for at, log_delta in points)


def test_the_largest_lies_before_the_end_of_a_piece() -> None:
    """G rises up to the last place looked at on one line, and falls from there on the next."""
    run = gdp.profiles.DPSGD(noise_multiplier=0.55, sample_rate=256 / 60000, steps=3516)
    found, p = gdp.measure(run, failure=1e-8), 1e-8
    around = [gdp.mu(eps, (run.delta(eps) - p) / (1 - p)) for eps in (11, 11.2414, 11.4727)]
    assert max(around) == around[1]
    assert found.mu.lower * (1 - 1e-9) <= around[1] <= found.mu.upper * (1 + 1e-9)


@pytest.mark.parametrize(
    ("noise", "batch", "epochs"),
    # the climb passes where δ falls to p; ends of lines; a coarse line that shows far too much
    [(0.861, 64, 20), (0.878, 64, 5), (0.715, 512, 1)],
)
def test_the_largest_is_found_on_any_line(noise: float, batch: int, epochs: int) -> None:
    """μ is proved for every p that is stated, and is G where it is said to be attained."""
    run = gdp.profiles.DPSGD(noise_multiplier=noise, batch_size=batch, records=60000, epochs=epochs)
    found = gdp.measure(run)
    eps, p = found.attained_at, found.failure_probability
    needed = gdp.mu(eps, (run.delta(eps) - p) / (1 - p))
    assert found.mu.lower == pytest.approx(needed, rel=1e-8)
    by_p = [mu for _, mu in found.by_failure]
    assert all(before.high < after.low for before, after in itertools.pairwise(by_p))


def test_two_phases_are_one() -> None:
    """Two runs after each other are one run of as many steps, and compose(2) says the same."""
    half = gdp.profiles.DPSGD(noise_multiplier=1, sample_rate=0.01, steps=5000)
    whole = gdp.measure(SECOND, eps_h=5).mu
    for profile in gdp.profiles.Sequence(parts=(half, half)), half.compose(2):
        mu = gdp.measure(profile, eps_h=5).mu
        assert mu.low <= whole.high
        assert whole.low <= mu.high


def test_more_noise_is_better() -> None:
    """μ falls with σ and rises with q and T."""

    def mu(noise: float, rate: float, steps: int) -> gdp.Interval:
        profile = gdp.profiles.DPSGD(noise_multiplier=noise, sample_rate=rate, steps=steps)
        return gdp.measure(profile, tol=1e-2, eps_h=3).mu

    base = mu(1.0, 0.02, 500)
    assert mu(1.3, 0.02, 500).high < base.low
    assert mu(1.0, 0.03, 500).low > base.high
    assert mu(1.0, 0.02, 800).low > base.high


def test_width_asked_for() -> None:
    """A tolerance is met, however small."""
    for tol in (1e-3, 1e-6, 1e-12, 1e-20):
        assert gdp.measure(FIRST, tol, eps_h=2).mu.width <= tol


@pytest.mark.parametrize("method", ["adaptive", "staircase", "shuffled", "breakpoints"])
def test_other_methods_are_refused(method: str) -> None:
    """A curve known between bounds is not measured as if it were exact."""
    with pytest.raises(gdp.InputError, match="method is"):
        gdp.measure(SECOND, method=method)


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.deep if n % 4 else ()) for n in range(40)]
)
def test_sweep(number: int) -> None:
    """Random settings: lower ≤ upper, and δ ≤ that of the run without sampling."""
    rng = np.random.default_rng(number)
    sigma = round(float(np.exp(rng.uniform(np.log(0.3), np.log(50)))), 4)
    rate = float(f"{np.exp(rng.uniform(np.log(1e-5), 0)):.4g}")
    steps = int(np.exp(rng.uniform(0, np.log(1e6))))
    if steps < 2 or math.sqrt(steps) / sigma > 100:
        pytest.skip("of one step, or of no privacy at all")
    step = SampledGaussianTransform(Fraction(str(sigma)), Fraction(str(rate)))
    loss = ComposedLoss([Part(step, steps)], 3)
    _, deviation = loss.directions[0].moments.shape(-0.5)
    before = arb(1)
    for share in (0, 1, 4):
        eps = share * deviation
        low, high = loss.delta(Fraction(eps))
        assert low <= high
        assert low <= before
        before = high
        assert math.log(low) <= gdp.log_delta(eps, math.sqrt(steps) / sigma) + 1e-9
