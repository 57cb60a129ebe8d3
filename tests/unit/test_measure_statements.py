"""Which statement is made, what it carries, and the values that the literature knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.identify import Verdict
from gdpbridge.measure import Statement
from gdpbridge.mechanisms.base import Profile

LAPLACE = profiles.Laplace(scale=0.5)
ICEA = profiles.ICEA(messages=20, users=4)
APPROX = profiles.ApproxDP(epsilon=1, delta=1e-6)
SGD = profiles.SGDFamily(A=2, B=1, sigma=2)


@pytest.mark.parametrize(
    ("profile", "verdict", "statement", "mu"),
    [
        (LAPLACE, "gdp", "whole", "1.80090519327558068"),
        (profiles.PureDP(epsilon=0.2), "gdp", "whole", "0.250483905068871347"),
        (profiles.Laplace(scale=5), "gdp", "whole", "0.23910558373651"),
        (SGD, "gdp", "whole", "1.85635728853160437"),
        (ICEA, "not-gdp", "head", "11.884458614346213"),
        (APPROX, "not-gdp", "approximate", "1.232035385344900973"),
        (profiles.Gaussian(sigma=2), "gdp", "whole", "0.5"),
        (profiles.RandomizedResponse(noise_parameter=0.8), "gdp", "whole", "0.506694206271599598"),
        (profiles.PureDP(epsilon=2.64), "gdp", "whole", "3.00307905386421946"),
        (profiles.PureDP(epsilon=0.44), "gdp", "whole", "0.549568657897727381"),
        (profiles.Laplace(scale=0.3787878787878788), "gdp", "whole", "2.21936761936276739"),
    ],
    ids=str,
)
def test_known_values(profile: Profile, verdict: str, statement: str, mu: str) -> None:
    """Verdict, default statement and an interval of width 1e-9 that holds the known μ."""
    found = gdp.measure(profile)
    assert (found.verdict, found.statement) == (verdict, statement)
    assert Decimal(mu) in found.mu
    assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction("1e-9")
    assert found.certified
    assert found.evaluations <= 1000


def test_whole() -> None:
    """Nothing is left out: no ε_h, no failure, and the whole range is the statement itself."""
    found = gdp.measure(LAPLACE)
    assert found.statement is Statement.WHOLE
    assert found.attained_at == 0
    assert (found.eps_h, found.failure_probability) == (None, 0.0)
    assert found.log_failure_probability == -math.inf
    assert found.whole_range_mu == found.mu


def test_tail_parameter() -> None:
    """sgd-family(2, 1, 2): its μ_t is √½, and the note says from where on the tail is the proof."""
    found = gdp.measure(SGD)
    assert found.mu_tail is not None
    assert Decimal("0.70710678118654752440084436") in found.mu_tail
    assert any("beyond ε = " in note for note in found.notes)


def test_supremum_at_infinity() -> None:
    """With a tiny B, G rises to the tail parameter and never gets there."""
    found = gdp.measure(profiles.SGDFamily(A=2, B=1e-9, sigma=2))
    assert found.attained_at == math.inf
    assert Decimal("0.70710678118654752440") in found.mu
    assert any("tail parameter" in note for note in found.notes)


def test_default_head() -> None:
    """icea(20, 4): the head up to 100, with δ(100) = (4/100)·e^-2 rounded up as its failure."""
    found = gdp.measure(ICEA)
    assert (found.statement, found.eps_h) == (Statement.HEAD, 100)
    left = 0.04 * math.exp(-2)
    assert left * (1 - 1e-15) <= found.failure_probability <= left * (1 + 1e-14)
    assert found.log_failure_probability == pytest.approx(math.log(left), rel=1e-14)
    assert found.log_failure_probability >= math.log(left) - 1e-15
    assert found.whole_range_mu is not None
    assert found.whole_range_mu.low.is_infinite()


def test_default_approximate() -> None:
    """approx-dp: past its own δ, written as it was given."""
    found = gdp.measure(APPROX)
    assert found.statement is Statement.APPROXIMATE
    assert found.failure_probability == 1e-6
    assert found.failure == Fraction(1, 10**6)
    assert found.log_failure_probability == pytest.approx(math.log(1e-6), rel=1e-15)


def test_failure_below_the_mass_at_infinity() -> None:
    """No μ is large enough if δ never falls to p, and the note says so."""
    found = gdp.measure(APPROX, failure=1e-7)
    assert found.mu.low.is_infinite()
    assert "never falls below 1e-06" in found.notes[0]


def test_a_failure_buys_a_smaller_mu() -> None:
    """μ falls as p grows, and the whole-range μ stays beside it."""
    whole = gdp.measure(LAPLACE).mu
    before = whole.high
    for p in ("1e-300", 1e-9, 1e-3, 0.1, 0.5):
        found = gdp.measure(LAPLACE, failure=p)
        assert found.mu.low <= before
        assert found.whole_range_mu == whole
        before = found.mu.high
    assert gdp.measure(LAPLACE, failure=0.999).mu.high == 0


@pytest.mark.parametrize(
    ("profile", "failure"),
    [
        (profiles.RandomizedResponse(noise_parameter=0.8), 0.2),
        (profiles.RandomizedResponse(noise_parameter=0.5, buckets=10**9), 0.5),
        (profiles.ApproxDP(epsilon=0, delta=0.1), 0.1),
    ],
    ids=str,
)
def test_a_failure_of_exactly_delta_zero(profile: Profile, failure: float) -> None:
    """Where δ(0) is p itself nothing is left for μ."""
    found = gdp.measure(profile, failure=failure)
    assert found.mu.low == 0
    assert found.mu.width <= 1e-9


@pytest.mark.parametrize("above", ["1e-30", "1e-20", "1e-14", "1e-9", "1e-6"])
def test_a_failure_just_above_the_mass_at_infinity(above: str) -> None:
    """The end of the range, where δ falls to p, then nearly coincides with a breakpoint."""
    profile = profiles.ApproxDP(epsilon=0.2, delta=1e-6)
    p = str(Decimal("1e-6") * (1 + Decimal(above)))
    assert Decimal("0.250483905068871347") in gdp.measure(profile, tol=1e-6, failure=p).mu


def test_head() -> None:
    """A head reports δ(ε_h), and its μ grows with ε_h."""
    low = Decimal(0)
    for eps_h in (1e-12, 0.1, 1, 10, 1000, 1e5):
        found = gdp.measure(ICEA, eps_h=eps_h)
        assert (found.statement, found.eps_h) == (Statement.HEAD, eps_h)
        assert found.mu.high >= low
        assert found.attained_at <= eps_h
        low = found.mu.low


@pytest.mark.parametrize(
    ("profile", "eps_h", "failure"),
    [
        (profiles.Laplace(scale=5), 0.2, 0.0),
        (profiles.Laplace(scale=5), 0.3, 0.0),
        (profiles.PureDP(epsilon=0.2), 0.2, 0.0),
        (profiles.ApproxDP(epsilon=0.2, delta=1e-6), 0.2, 1e-6),
        (profiles.ApproxDP(epsilon=0.2, delta=1e-6), 0.3, 1e-6),
        (LAPLACE, 2, 0.0),
    ],
    ids=str,
)
def test_a_head_that_ends_at_a_breakpoint(profile: Profile, eps_h: float, failure: float) -> None:
    """The end of the support, or of a piece, is no harder than any other ε_h."""
    found = gdp.measure(profile, eps_h=eps_h)
    assert failure <= found.failure_probability <= failure * (1 + 1e-15)
    if failure == 0:
        assert found.log_failure_probability == -math.inf
        assert found.mu == found.whole_range_mu


@pytest.mark.parametrize(
    ("profile", "eps_h"),
    [(SGD, 1e5), (profiles.SGDFamily(A=1, B=1, sigma=1000), 1e5), (profiles.GDP(mu=1e-3), 1e5)],
    ids=str,
)
def test_a_failure_far_below_all_floats(
    profile: Profile, eps_h: float, at_most_calls: Callable
) -> None:
    """δ(ε_h) of the order e^-1e10 and less is bounded at once; its logarithm is reported."""
    with at_most_calls(2_000_000):
        found = gdp.measure(profile, eps_h=eps_h)
    assert found.failure_probability == 5e-324
    assert -math.inf < found.log_failure_probability < -1e9
    assert found.failure > 0


def test_a_head_of_a_gaussian_is_the_gaussian() -> None:
    """G is constant, so that the head's μ is that of the whole."""
    found = gdp.measure(profiles.Gaussian(sigma=3), tol="1e-60", eps_h=1)
    assert found.mu.width <= 1e-60
    assert Fraction(1, 3) in found.mu


@pytest.mark.parametrize(
    "profile",
    [
        profiles.PureDP(epsilon=0),
        profiles.GDP(mu=0),
        profiles.RandomizedResponse(noise_parameter=1),
        profiles.ApproxDP(epsilon=0, delta=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("scope", [{}, {"eps_h": 1}, {"failure": 0.1}], ids=str)
def test_a_mechanism_that_tells_nothing(profile: Profile, scope: dict[str, Any]) -> None:
    """Where δ is 0 everywhere, μ is 0."""
    found = gdp.measure(profile, **scope)
    assert found.verdict is Verdict.GDP
    assert (found.mu.low, found.mu.high) == (0, 0)


def test_statements_have_sentences() -> None:
    """Each says what μ covers."""
    assert len({statement.sentence for statement in Statement}) == 3


@pytest.mark.parametrize("tol", ["1e-9", "1e-12", "1e-30", "1e-100"])
@pytest.mark.parametrize(
    "profile",
    [LAPLACE, profiles.PureDP(epsilon=0.2), SGD, APPROX, profiles.Laplace(scale=1e9)],
    ids=str,
)
def test_a_narrow_interval_takes_few_cells(profile: Profile, tol: str) -> None:
    """Few cells do, however narrow: at a maximum one wide cell is proved at once."""
    found = gdp.measure(profile, tol=tol)
    assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction(tol)
    assert found.cells <= 300
    assert found.evaluations <= 3000


def test_thirty_digits() -> None:
    """At 1e-30 the interval holds the value known to 40 digits."""
    found = gdp.measure(LAPLACE, tol="1e-30")
    assert Decimal("1.800905193275580682292303028427525103176") in found.mu
    found = gdp.measure(SGD, tol="1e-30")
    assert found.mu.certain.startswith("1.8563572885316043707978786165")
