"""The parts of the measuring methods: what they bound, cover and count."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.measure.floats import curve_is_below, rounded_out, search
from gdpbridge.measure.method import PROVED, method_named, method_names
from gdpbridge.measure.methods import certified, staircase
from gdpbridge.measure.problem import Problem
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

LAPLACE = profiles.Laplace(scale=0.5)
MU = Decimal("1.80090519327558068229230302842752510318")


def test_the_pages_say_which_prove(root: Path) -> None:
    """The table of methods, and the first page's limits."""
    pages = [(root / name).read_text(encoding="utf-8") for name in ("docs/using.md", "README.md")]
    proving = [name for name in method_names() if method_named(name).assurance is PROVED]
    for name in method_names():
        row = next(line for line in pages[0].splitlines() if line.startswith(f"| {name} |"))
        assert row.split("|")[3].strip().startswith("yes" if name in proving else "no")
    (limit,) = re.findall(r"Only the methods (.*) prove,", pages[1])
    assert set(re.split(", | and ", limit)) == set(proving)


# --- staircases ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["staircase", "shuffled"])
def test_the_staircases_bracket_the_truth(method: str) -> None:
    """The lower step is (x⁻, δ(x⁺)), the upper (x⁺, δ(x⁻)): the truth is in between."""
    for tol in (1, 0.3, 1e-1, 1e-2, 1e-3):
        assert MU in gdp.measure(LAPLACE, tol, method=method).mu


@pytest.mark.parametrize("method", ["staircase", "shuffled"])
def test_swapped_steps_would_be_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the listings' printed pairing the interval misses the truth."""
    module = (
        staircase
        if method == "staircase"
        else __import__("gdpbridge.measure.methods.shuffled", fromlist=["search"])
    )
    problem = Problem(LAPLACE.curve, Fraction(2), Fraction(1, 100))
    steps = staircase.grid_steps(problem)
    step = 2 / steps

    def swapped(eps: np.ndarray, *rest: object) -> object:
        # x⁻ for x⁺ and the other way round, which is what the printed pairing amounts to
        logs = LAPLACE.curve.logs
        is_lower = bool(np.isclose(rest[0], logs(eps + step)[0]).all())
        moved = eps + step if is_lower else np.maximum(eps - step, 0)
        return search(moved, *logs(moved - step if is_lower else moved + step), rest[2])

    monkeypatch.setattr(module, "search", swapped)
    try:
        answer = module.solve(problem)
    except (gdp.GdpBridgeError, ValueError):
        return
    assert not Fraction(answer.low) <= Fraction(MU) <= Fraction(answer.high)


def test_the_number_of_steps_follows_the_slope_bound() -> None:
    """Half the tolerance is √(2π) steps: twice the largest slope √(π/2) of μ in ε."""
    problem = Problem(LAPLACE.curve, Fraction(2), Fraction(1, 1000))
    steps = staircase.grid_steps(problem)
    assert np.sqrt(2 * np.pi) * 2 / steps <= 1e-3 / 2 < np.sqrt(2 * np.pi) * 2 / (steps - 1)
    assert staircase.grid_steps(Problem(LAPLACE.curve, Fraction(1, 10**20), Fraction(1))) == 1


def test_shuffled_searches_seldom() -> None:
    """Few records are set among shuffled cells, on either staircase."""
    notes = gdp.measure(LAPLACE, 1e-4, method="shuffled").notes
    counts = [int(word) for note in notes for word in note.split() if word.isdigit()]
    assert len(counts) == 2
    assert max(counts) <= 60


def test_binary_search_brackets() -> None:
    """The lattice points lie on either side of μ(ε, δ), at most the margin apart."""
    eps = np.array([0.0, 0.5, 3.0, 50.0])
    delta = np.array([0.9, 1e-3, 1e-12, 1e-300])
    low, high = search(eps, np.log(delta), np.log1p(-delta), 1e-6)
    mu = gdp.mu(eps, delta)
    assert (low <= mu).all()
    assert (mu <= high).all()
    assert (high - low <= 1e-6).all()


def test_comparison_on_both_scales() -> None:
    """δ_μ < δ is decided where δ rounds to 1 and where it underflows."""
    eps = np.array([0.0, 100.0])
    log, log_c = np.array([-1e-300, -1e6]), np.array([-50.0, -0.0])
    assert list(curve_is_below(1.0, eps, log, log_c)) == [True, False]
    assert list(curve_is_below(40.0, eps, log, log_c)) == [False, False]


def test_rounding_out_widens() -> None:
    """Both ends move outward, and the lower one never below 0."""
    low, high = rounded_out(0.0, 1.0)
    assert (low, high > 1) == (0, True)
    low, high = rounded_out(3.0, 3.0)
    assert low < 3 < high


# --- adaptive --------------------------------------------------------------------------------


def test_adaptive_takes_the_root_of_the_cells() -> None:
    """A thousand times narrower takes about thirty times the cells."""
    few = gdp.measure(LAPLACE, 1e-3, method="adaptive").cells
    many = gdp.measure(LAPLACE, 1e-6, method="adaptive").cells
    assert 10 < many / few < 100


# --- certified -------------------------------------------------------------------------------

CASES = [
    (LAPLACE, {}),
    (LAPLACE, {"failure": 1e-3}),
    (profiles.SGDFamily(A=2, B=0.5, sigma=2), {}),
    (profiles.SGDFamily(A=2, B=1, sigma=2), {"eps_h": 1.5}),
    (profiles.ICEA(messages=20, users=4), {}),
    (profiles.ApproxDP(epsilon=0.1, delta=0.1), {"eps_h": 0.3}),
    (profiles.RandomizedResponse(noise_parameter=0.3, buckets=7), {}),
]


@pytest.mark.parametrize(("profile", "scope"), CASES, ids=str)
def test_cells_leave_no_gap(profile: Profile, scope: dict[str, float]) -> None:
    """The cells are adjacent from 0 on and reach the end; centres lie inside."""
    found = gdp.measure(profile, **scope)
    assert found.evidence is not None
    cells = found.evidence.cells
    assert cells[0].low == 0
    assert all(a.high == b.low for a, b in pairwise(cells))
    assert all(c.centre is None or c.low <= c.centre <= c.high for c in cells)
    end = Fraction(scope["eps_h"]) if "eps_h" in scope else found.evidence.tail_from
    if end is None and profile.curve.end is not None and "failure" not in scope:
        with precision(200):
            stop = profile.curve.end
            end = Fraction(float(stop().lower())) if callable(stop) else stop
    assert end is None or cells[-1].high >= end


@pytest.mark.parametrize(("profile", "scope"), CASES, ids=str)
def test_the_witness_is_a_witness(profile: Profile, scope: dict[str, float]) -> None:
    """It lies within the range asked for, and G there is at least the lower end."""
    found = gdp.measure(profile, **scope)
    assert found.evidence is not None
    witness = found.evidence.witness
    assert isinstance(witness, Fraction)
    assert witness <= Fraction(str(scope.get("eps_h", 10**9)))
    if "failure" in scope:
        return
    with precision(300):
        at = ball(witness)
        value = profile.curve.enclose(at)
        curve = gaussian.probability(at, ball(Fraction(found.mu.low)))
        assert curve.log_complement() >= value.log_complement()


def test_least_of_a_quadratic() -> None:
    """The bound is at most the least value, for every shape, and close to it."""
    rng = random.Random(1)
    with precision(100):
        for _ in range(300):
            slope, curvature = rng.uniform(-2, 2), rng.choice([0.0, rng.uniform(-3, 3)])
            low, high = sorted((rng.uniform(-2, 2), rng.uniform(-2, 2)))
            bound = certified._least_of_quadratic(*map(arb, (slope, curvature, low, high)))
            steps = np.linspace(low, high, 501)
            least = (slope * steps + curvature * steps**2).min()
            assert arb(least) >= bound - 1e-12
            assert arb(least) - bound < 1e-3


@pytest.mark.parametrize("unknown", [arb.nan(), arb(0, 1)])
def test_an_unknown_slope_bounds_nothing_falsely(unknown: arb) -> None:
    """What is not known makes a bound that proves nothing, or holds for all it may be."""
    with precision(100):
        bound = certified._least_of_quadratic(unknown, arb(1), arb(-1), arb(1))
        assert not bound > -arb(1) / 4


def test_a_borderline_shape_is_measured_alike_at_every_tolerance() -> None:
    """Coarse tolerances bring few bits along; the breakpoints must not suffer."""
    for sigma, factor in (
        (2.5530105365468203, 0.22089148895266889),
        (1.468549488886554, 0.3631344709920829),
    ):
        profile = profiles.SGDFamily(A=1, B=factor, sigma=sigma)
        fine = gdp.measure(profile, "1e-20").mu
        for tol in (1, 0.1, 1e-3, 1e-9):
            for method in ("certified", "adaptive"):
                coarse = gdp.measure(profile, tol, method=method).mu
                assert coarse.low <= fine.low <= fine.high <= coarse.high


# --- the tail --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("A", "B", "sigma"),
    [(2, 1, 2), (1, 1e-9, 1), (1, 1e9, 1), (1, 0.4, 1), (1000, 1, 1), (1, 1, 1000)],
)
def test_the_handover_is_proved(A: float, B: float, sigma: float) -> None:
    """From its end on, log δ_μ - log δ is positive at every point tried, and grows."""
    curve = profiles.SGDFamily(A=A, B=B, sigma=sigma).curve
    tail = curve.tail
    assert isinstance(tail, GaussianDecayTail)
    handover = tail.covered_from(curve.largest_seen, Fraction(1, 10**11))
    with precision(300):
        mu, end = ball(handover.high), ball(handover.end)
        assert not end < (tail.start() if callable(tail.start) else ball(tail.start))
        before = arb(0)
        for factor in (1, 1.01, 1.5, 3, 10, 100, 10_000):
            eps = (end * factor).mid()
            gap = gaussian.log_delta_of(eps, mu) - curve.enclose(eps).log()
            assert gap > 0
            bound = gaussian.log_delta_tail_lower(eps, mu) - curve.enclose(eps).log()
            assert bound >= before
            before = bound.lower()
