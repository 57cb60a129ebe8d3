"""An interval keeps its exact ends and shows only what is sure."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gdpbridge.errors import InputError
from gdpbridge.interval import Interval

ends = st.decimals(min_value=0, max_value=10**6, allow_nan=False, allow_infinity=False, places=35)


@given(ends, ends, ends)
def test_floats_lie_outside_and_width_is_not_too_small(
    first: Decimal, second: Decimal, value: Decimal
) -> None:
    """Floats are rounded outward, the width upward, and membership is decided exactly."""
    low, high = sorted([first, second])
    interval = Interval(low, high)
    assert Fraction(interval.lower) <= Fraction(low) <= Fraction(high) <= Fraction(interval.upper)
    assert Fraction(interval.width) >= Fraction(high) - Fraction(low)
    inside = Fraction(low) <= Fraction(value) <= Fraction(high)
    assert (value in interval) == (Fraction(value) in interval) == inside


@given(st.integers(1, 10**30), st.integers(1, 10**12))
def test_certain_digits_are_those_of_every_number_inside(start: int, width: int) -> None:
    """What is shown as certain begins both ends, cut off and not rounded."""
    low, high = Decimal(f"{start}e-25"), Decimal(f"{start + width}e-25")
    certain = Interval(low, high).certain
    assert certain.endswith("…") or not certain
    assert format(low, "f").startswith(certain[:-1])
    assert format(high, "f").startswith(certain[:-1])


@given(ends, ends)
def test_the_printed_interval_holds_the_exact_one(first: Decimal, second: Decimal) -> None:
    """Printing widens, by a tenth of the width at each end at most."""
    low, high = sorted([first, second])
    assume(low != high)
    left, right = (Decimal(end) for end in str(Interval(low, high)).strip("[]").split(", "))
    assert left <= low <= high <= right
    allowed = Fraction(high - low) / 5
    assert Fraction(right) - Fraction(left) - (Fraction(high) - Fraction(low)) <= allowed


@pytest.mark.parametrize(
    ("low", "high", "certain", "shown"),
    [
        ("1.80090519327", "1.80090519378", "1.800905193…", "[1.80090519327, 1.80090519378]"),
        ("0.5", "0.50", "0.5", "0.5"),
        ("1.9999", "2.0001", "", "[1.99990, 2.00010]"),
        ("9.9", "10.1", "", "[9.90, 10.10]"),
        ("0.001", "0.002", "", "[0.0010, 0.0020]"),
        ("3", "Infinity", "", "[3, inf]"),
        ("Infinity", "Infinity", "inf", "inf"),
        ("0", "0", "0", "0"),
    ],
)
def test_printing(low: str, high: str, certain: str, shown: str) -> None:
    """A single point is printed plainly, an interval outward, and 1.99 to 2.01 shares no digit."""
    interval = Interval(low, high)
    assert (interval.certain, str(interval)) == (certain, shown)


def test_an_interval_narrower_than_floats_keeps_its_width() -> None:
    """Ends that are one and the same float are still two numbers."""
    interval = Interval("1." + "3" * 30, "1." + "3" * 29 + "4")
    assert interval.width == pytest.approx(1e-30, rel=1e-12)
    assert interval.certain == "1." + "3" * 29 + "…"


def test_infinite_intervals() -> None:
    """A point at infinity has no width, a half-line has an infinite one."""
    assert Interval("Infinity", "Infinity").width == 0
    assert Interval(1, "Infinity").width == math.inf
    assert Fraction(10**400) in Interval(1, "Infinity")
    assert Fraction(1) not in Interval("Infinity", "Infinity")


@pytest.mark.parametrize(
    ("low", "high"),
    [(2, 1), (math.nan, 1), (0, math.nan), ("abc", 1), (1, "2x"), (None, 1), ("1", [2])],
)
def test_anything_but_two_ordered_numbers_is_refused(low: object, high: object) -> None:
    """Ends out of order, nan and text that is no number are input errors."""
    with pytest.raises(InputError, match="interval"):
        Interval(low, high)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "vague"),
    [
        ("1e-6", 1, True),
        ("0.00056", "0.0778", True),
        (0, 1, True),
        (2, "Infinity", True),
        ("Infinity", "Infinity", False),
        ("0.95", "1.04", False),
        (0, 0, False),
        (0, "1e-4000", False),
        ("0.999959", 1, False),
    ],
)
def test_what_says_little(low: object, high: object, vague: bool) -> None:
    """An interval is vague where its ends differ by more than a tenth of the upper one."""
    assert Interval(low, high).is_vague is vague  # type: ignore[arg-type]


def test_one_digit_says_less_than_both_ends() -> None:
    """Of [1.00, 1.77] nothing is put before the ends; of closer ones what they share."""
    assert Interval(1, Decimal("1.77")).certain == ""
    assert Interval(Decimal("0.0464"), Decimal("0.0504")).certain == ""
    assert Interval(Decimal("1.41"), Decimal("1.47")).certain == "1.4…"
    assert Interval(Decimal("0.04641"), Decimal("0.04649")).certain == "0.0464…"
