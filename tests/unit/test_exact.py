"""Exact values of what users write, and decimal rounding with a direction."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpbridge.numeric.exact import (
    ceiling_to_places,
    decimal_ceiling,
    decimal_floor,
    decimal_text,
    digits_of,
    exact,
    float_ceiling,
    float_floor,
    floor_to_places,
    rational,
)

rationals = st.fractions(min_value=-(10**30), max_value=10**30, max_denominator=10**40)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.2, Fraction(1, 5)),
        (1e-300, Fraction(1, 10**300)),
        (5e-324, Fraction(5, 10**324)),
        (np.float64(0.1), Fraction(1, 10)),
        (7, Fraction(7)),
        ("0.30", Fraction(3, 10)),
        ("1e-1000", Fraction(1, 10**1000)),
        (Decimal("1.25"), Fraction(5, 4)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_number_stands_for_what_it_prints_as(value: object, number: Fraction) -> None:
    """A float means the decimal it prints as, whatever type of float it is."""
    assert exact(value) == number  # type: ignore[arg-type]


def test_rational_keeps_the_binary_value() -> None:
    """The other reading of a float is the binary number it is."""
    assert rational(0.2) == Fraction(0.2) != exact(0.2)


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, Decimal("nan"), Decimal("snan"), True, None, 1j, [1]),
        *("", "abc", "nan", "inf", "1/0", "1e999999999", "1e-999999999", b"1"),
    ],
)
@pytest.mark.parametrize("read", [exact, rational])
def test_what_is_not_a_number_is_refused(value: object, read: object) -> None:
    """Nothing but finite numbers of a reasonable size gets through, and at once."""
    with pytest.raises(ValueError, match=r"."):
        read(value)  # type: ignore[operator]


@given(rationals)
def test_floats_round_to_the_neighbour_asked_for(value: Fraction) -> None:
    """The directed floats bracket a number and are equal or adjacent."""
    low, high = float_floor(value), float_ceiling(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert low == high or math.nextafter(low, math.inf) == high


@pytest.mark.parametrize("sign", [1, -1])
def test_floats_at_the_ends_of_their_range(sign: int) -> None:
    """Numbers too large or too small for a float round to the last float on their side."""
    largest, least = math.nextafter(math.inf, 0), 5e-324
    huge, tiny = sign * Fraction(10) ** 400, sign * Fraction(1, 10**400)
    ends = [float_floor(huge), float_ceiling(huge), float_floor(tiny), float_ceiling(tiny)]
    assert ends == ([largest, math.inf, 0, least] if sign > 0 else [-math.inf, -largest, -least, 0])


def test_infinite_decimals_stay_infinite() -> None:
    """An infinite end of an interval is an infinite float."""
    assert float_floor(Decimal("Infinity")) == float_ceiling(Decimal("Infinity")) == math.inf


@given(rationals, st.integers(1, 60))
def test_decimals_bracket_within_a_unit_of_the_last_digit(value: Fraction, digits: int) -> None:
    """Rounding to significant digits goes the way its name says, by less than one unit."""
    low, high = decimal_floor(value, digits), decimal_ceiling(value, digits)
    assert Fraction(low) <= value <= Fraction(high)
    assert len(low.as_tuple().digits) <= digits
    if low != high:
        unit = Fraction(10) ** (max(low.adjusted(), high.adjusted()) - digits + 1)
        assert Fraction(high) - Fraction(low) <= unit


@given(rationals, st.integers(0, 110))
def test_places_bracket_within_a_unit(value: Fraction, places: int) -> None:
    """Rounding to decimal places goes the way its name says, by less than one unit."""
    low, high = floor_to_places(value, places), ceiling_to_places(value, places)
    assert Fraction(low) <= value <= Fraction(high)
    assert Fraction(high) - Fraction(low) in (0, Fraction(1, 10**places))


@pytest.mark.parametrize(
    ("tol", "digits"),
    [
        ("1", 0),
        ("0.3", 1),
        ("0.1", 1),
        ("1e-9", 9),
        ("5e-9", 9),
        ("9.99e-10", 10),
        ("9.999999e-10", 10),
        ("1e-100", 100),
    ],
)
def test_digits_of_a_tolerance(tol: str, digits: int) -> None:
    """A tolerance speaks of the decimal place of its first digit."""
    assert digits_of(Fraction(tol)) == digits


def test_decimal_text_is_exact_or_refused() -> None:
    """A terminating fraction is written out; a third is not."""
    assert Fraction(decimal_text(Fraction(3, 2**40))) == Fraction(3, 2**40)
    with pytest.raises(ValueError, match="decimal fraction"):
        decimal_text(Fraction(1, 3))
