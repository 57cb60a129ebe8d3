"""Conversions between μ, pairs and profiles."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpbridge import calibrate, profiles
from gdpbridge.convert import beta_at, delta_at, epsilon_at, mu_of_pair
from gdpbridge.errors import InputError
from gdpbridge.gaussian import ball
from gdpbridge.interval import Interval
from gdpbridge.report.answers import conversion_record

ICEA = profiles.ICEA(messages=20, users=4)
APPROX = profiles.ApproxDP(epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("mu", "delta", "truth"),
    [
        (1, 1e-5, "4.37717809568122463"),
        (2, 1e-5, "9.9972561464343004"),
        (50, 1e-5, "1462.28501596477979"),
        (1, 1e-300, "37.4488479121391049"),
    ],
)
def test_epsilon_of_mu(mu: float, delta: float, truth: str) -> None:
    """Known values, to neighbouring floats."""
    found = epsilon_at(mu, delta)
    assert found.low <= Decimal(truth) <= found.high
    assert found.width <= 2 * math.ulp(found.upper)


def test_without_an_answer() -> None:
    """δ = 0 is infinite for a Gaussian and the end of the loss for bounded mechanisms."""
    assert epsilon_at(1, 0).upper == math.inf
    assert epsilon_at(profiles.Gaussian(sigma=1), 0).upper == math.inf
    assert Decimal("0.5") in epsilon_at(profiles.Laplace(scale=2), 0)
    assert epsilon_at(APPROX, 1e-7).upper == math.inf
    assert epsilon_at((1, 1e-6), 1e-6).upper == math.inf
    assert epsilon_at((0, 1e-6), 1e-6).upper == 0


def test_large_delta_needs_no_epsilon() -> None:
    """ε is 0, and not negative, where δ is at least δ(0)."""
    assert epsilon_at(1, 0.9).high == 0
    assert epsilon_at(1, 1).high == 0
    assert epsilon_at(0, 0).high == 0


def test_flat_profile() -> None:
    """At exactly its own δ, approx-dp gives back its ε."""
    assert epsilon_at(APPROX, 1e-6).high == 1
    assert Decimal("0.000001") in delta_at(APPROX, 10)


def test_delta_of_a_mechanism() -> None:
    """δ of a profile, also where it is 0."""
    found = delta_at(profiles.Laplace(scale=0.5), 1)
    assert found.lower <= 1 - math.exp(-0.5) <= found.upper
    assert found.width < 1e-18
    assert delta_at(profiles.Laplace(scale=0.5), 2).high == 0
    assert epsilon_at(ICEA, 1e-5).lower == pytest.approx(4 * math.exp(-2) / 1e-5, rel=1e-12)


@given(mu=st.floats(1e-3, 20), p=st.floats(1e-12, 0.5), share=st.floats(1e-9, 0.99))
def test_mixture(mu: float, p: float, share: float) -> None:
    """For (μ, p), ε and δ are inverse to each other: δ(ε⁺) ≤ δ, and δ(ε⁻) above it."""
    delta = Decimal(repr(p + (1 - p) * share))
    found = epsilon_at((mu, p), delta)
    # the ends themselves, not floats near them
    assert delta_at((mu, p), found.high).low <= delta
    if found.high > 0:
        assert delta_at((mu, p), found.low).high >= delta


@given(eps=st.floats(0, 50), delta=st.floats(1e-30, 0.99))
def test_mu_of_pair(eps: float, delta: float) -> None:
    """The interval agrees with the directed functions of the curve."""
    found = mu_of_pair(eps, delta)
    low, high = ball.mu_lower(repr(eps), repr(delta)), ball.mu_upper(repr(eps), repr(delta))
    assert low <= found.upper
    assert found.lower <= high
    assert found.width <= 1e-14 * found.upper


def test_ends_of_mu_of_pair() -> None:
    """δ = 0 is μ = 0, δ = 1 is infinite."""
    assert mu_of_pair(1, 0).high == 0
    assert mu_of_pair(1, 1).low.is_infinite()


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: epsilon_at(-1, 0.1), "mu"),
        (lambda: epsilon_at(1, 2), "delta"),
        (lambda: epsilon_at((1, 1), 0.5), "failure"),
        (lambda: delta_at("abc", 1), "mu"),
        (lambda: delta_at(1, -1), "epsilon"),
        (lambda: delta_at(1, float("inf")), "epsilon"),
        (lambda: mu_of_pair(1, "nan"), "delta"),
        (lambda: mu_of_pair(1e6, 0.1), "epsilon"),
    ],
)
def test_bad_input(call: object, field: str) -> None:
    """Bad arguments are named."""
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.field == field


def test_least_type_ii_error() -> None:
    """f(α) of a μ, of a pair (μ, p) and of mechanisms, at the ends too."""
    assert Decimal("0.610856308354639031") in beta_at(1, "0.1")
    mixed = beta_at((1, "1e-3"), "0.1")
    # a failure takes nothing from the level of the test
    other = beta_at(1, Decimal("0.1") / Decimal("0.999"))
    assert abs(mixed.low - Decimal("0.999") * other.low) < Decimal("1e-15")
    assert beta_at((1, "0.5"), "0.5").high == 0
    assert beta_at((0, "0.5"), "0.25").low == Decimal("0.25")
    gauss = beta_at(profiles.Gaussian(sigma=1), "0.1")
    assert gauss.low <= Decimal("0.610856308354639031") <= gauss.high
    for source in (1, (1, 0), profiles.Laplace(scale=2)):
        assert beta_at(source, 1).high == 0
        assert beta_at(source, 0).high == 1
    assert beta_at(0, "0.3").low == beta_at(0, "0.3").high == Decimal("0.7")
    for source, alpha in ((1, 1.5), (-1, 0.5), ((1, 1), 0.5)):
        with pytest.raises(InputError):
            beta_at(source, alpha)


def test_rows_of_a_table_are_answered() -> None:
    """At a δ that a row states, the ε of the row is in a narrow interval."""
    table = profiles.Table(pairs=[(0.5, 1e-3), (1, 1e-5), (4, 1e-9)])
    for eps, delta in (("0.5", "1e-3"), ("1", "1e-5"), ("4", "1e-9")):
        found = epsilon_at(table, delta)
        assert Decimal(eps) in found
        assert found.width < 1e-14
    assert epsilon_at(table, "1e-10").low.is_infinite()


def test_bounds_that_say_little_say_so() -> None:
    """A note names each question to which the bounds are no answer; sharp ones have none."""
    rows = [
        {"delta": 1e-5, "epsilon": Interval("1e-6", 1)},
        {"delta": 0.1, "epsilon": Interval(1, 1)},
    ]
    record = conversion_record({"kind": "dpsgd"}, "epsilon", rows, ["as it is"])
    assert record.notes[0] == "as it is"
    assert len(record.notes) == 2
    assert record.notes[1].startswith("the bounds of ε at delta 1e-05 are so far apart")


def test_a_number_of_thousands_of_digits_is_refused_for_that() -> None:
    """The sentence says what is wrong with it, and not that it is out of its range."""
    long = "0." + "1" * 5000
    with pytest.raises(InputError, match="of at most 4,000 digits"):
        epsilon_at(1, long)
    with pytest.raises(InputError, match="of at most 4,000 digits"):
        calibrate("laplace", long)
