"""Numbers in which nearly all digits cancel: answered rightly or left undecided, never wrongly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.errors import UndecidedError
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.formula import Formula

# of natural logarithms: from 10 digits to 100,000
_EXPONENTS = st.integers(23, 230_000)
# some of those, up to what 8192 bits hold, and beyond
_SOME = [23, 81, 350, 700, 5000, 23_000, 230_000]
_DECIDED = 700


def _one(exponent: int) -> str:
    """Return a formula that is 1, of which ``exponent``/2.3 digits cancel."""
    return f"((1 + exp(-{exponent})) - 1)*exp({exponent})"


def _nothing(exponent: int, sign: int) -> str:
    """Return a formula that is ±e^-exponent."""
    return f"({sign} + exp(-{exponent})) - {sign}" if sign > 0 else f"1 - (1 + exp(-{exponent}))"


def test_a_threshold_that_cancels_is_where_it_is() -> None:
    """δ = e^-ε up to ε = 1 and 0 beyond has μ = 1.232035385344901, however 1 is written."""
    found = gdp.measure(Formula(f"delta = piecewise(exp(-eps), eps < {_one(300)}, 0)"))
    assert float(found.mu.low) <= 1.232035385344901 <= float(found.mu.high)
    assert found.mu.width <= 1e-9
    assert found.certified


def test_a_range_behind_a_threshold_that_cancels_is_not_lost() -> None:
    """δ = 0.9 up to ε = 5 decides μ, however 5 is written."""
    text = f"delta = min(1, piecewise(0.9, eps < 5*{_one(300)}, 1e-5*exp(-eps**2)))"
    found, plain = gdp.measure(Formula(text)), gdp.measure(Formula(text.replace(_one(300), "1")))
    assert float(found.mu.low) == pytest.approx(4.317, abs=1e-3)
    assert found.mu.low <= plain.mu.high
    assert plain.mu.low <= found.mu.high


@settings(max_examples=12)
@given(exponent=_EXPONENTS, place=st.fractions(Fraction(1, 8), 8, max_denominator=16))
def test_thresholds_that_cancel(exponent: int, place: Fraction) -> None:
    """A condition's bound is as good as the number that it is."""
    bound = f"{place.numerator}/{place.denominator}"
    text = "delta = piecewise(0.5*exp(-eps), eps < {}, 0)"
    plain = gdp.measure(Formula(text.format(bound)), tol=1e-6)
    found = gdp.measure(Formula(text.format(f"{bound}*{_one(exponent)}")), tol=1e-6)
    assert found.mu.low <= plain.mu.high
    assert plain.mu.low <= found.mu.high


@settings(max_examples=12)
@given(exponent=_EXPONENTS, sign=st.sampled_from([1, -1]))
def test_the_sign_of_a_threshold(exponent: int, sign: int) -> None:
    """A bound just above 0 makes a range, one just below 0 makes none."""
    text = f"delta = piecewise(1, eps < {_nothing(exponent, sign)}, exp(-eps - 1))"
    ranges = Formula(text).equations()
    assert len(ranges) == (2 if sign > 0 else 1)


@settings(max_examples=12)
@given(exponent=_EXPONENTS)
def test_the_order_of_two_thresholds(exponent: int) -> None:
    """Two bounds that differ in their last digit alone are in their order."""
    later = f"1 + exp(-{exponent})"
    text = f"delta = piecewise(0.5, eps < {later}, piecewise(0.75, eps < log(exp(1)), 0.25))"
    # log e is 1, which no precision tells from 1 itself, but from 1 + e^-exponent
    assert len(Formula(text).equations()) == 3


_PLAIN = Formula("delta = 0.3*exp(-eps**2)")


@cache
def _mu_of_plain() -> Interval:
    return gdp.measure(_PLAIN, tol=1e-6).mu


@settings(max_examples=4)
@given(exponent=_EXPONENTS)
def test_factors_that_cancel(exponent: int) -> None:
    """A constant factor is as good as the number that it is, in floats and in balls."""
    profile = Formula(f"delta = 0.3*{_one(exponent)}*exp(-eps**2)")
    assert profile.delta(0.5) == pytest.approx(_PLAIN.delta(0.5), rel=1e-12)
    found, known = gdp.measure(profile, tol=1e-6).mu, _mu_of_plain()
    assert found.low <= known.high
    assert known.low <= found.high


@pytest.mark.parametrize("exponent", _SOME)
def test_a_curve_that_cancels(exponent: int) -> None:
    """Where ε itself is in what cancels, the answer is right, or there is none."""
    text = f"delta = ((1 + exp(-eps - {exponent})) - 1)*exp({exponent})*0.5"
    known = gdp.measure(Formula("delta = 0.5*exp(-eps)"), eps_h=3, tol=1e-6).mu
    try:
        found = gdp.measure(Formula(text), eps_h=3, tol=1e-6).mu
    except UndecidedError:
        assert exponent > _DECIDED
    else:
        assert found.low <= known.high
        assert known.low <= found.high


@pytest.mark.parametrize("exponent", _SOME)
def test_a_value_that_is_not_certainly_below_one(exponent: int) -> None:
    """δ(0) = 1 - e^-exponent is not 1: nothing says that no μ will do."""
    profile = Formula(text=f"delta = (1 - exp(-{exponent}))*exp(-eps**2)", naive=True)
    try:
        found = gdp.measure(profile, eps_h=1, tol=1e-3)
    except UndecidedError:
        assert exponent > _DECIDED
    else:
        assert found.mu.high.is_finite()
