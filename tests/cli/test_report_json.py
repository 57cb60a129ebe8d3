"""Intervals as JSON numbers: safe for a reader of doubles, exact for a reader of decimals."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpbridge.interval import Interval
from gdpbridge.report.json import interval_ends, to_json

ENDS = st.decimals(min_value=0, max_value=2000, allow_nan=False, allow_infinity=False, places=13)
FINE = st.integers(min_value=0, max_value=10**43)  # of 1e-40


@given(ENDS, ENDS)
def test_doubles_lie_outside(first: Decimal, second: Decimal) -> None:
    """The doubles read lie outside the interval or on its ends, and next to them."""
    interval = Interval(min(first, second), max(first, second))
    low, high = (json.loads(text) for text in interval_ends(interval))
    if interval.width >= 1e-14:
        assert Decimal(low) <= interval.low < Decimal(math.nextafter(low, math.inf))
        assert Decimal(math.nextafter(high, -math.inf)) < interval.high <= Decimal(high)


@given(ENDS, ENDS)
def test_decimals_lie_outside(first: Decimal, second: Decimal) -> None:
    """The decimals read lie outside the interval or on its ends."""
    interval = Interval(min(first, second), max(first, second))
    low, high = map(Decimal, interval_ends(interval))
    assert low <= interval.low
    assert interval.high <= high


@given(FINE, st.integers(min_value=0, max_value=99))
def test_narrow_intervals_are_exact(low: int, width: int) -> None:
    """An interval narrower than doubles can hold is written digit by digit."""
    interval = Interval(f"{low}E-40", f"{low + width}E-40")
    assert tuple(map(Decimal, interval_ends(interval))) == (interval.low, interval.high)


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        ("1.80090519327", "1.80090519378", ("1.80090519327", "1.80090519378")),
        # the doubles nearest to 0.3 and 0.1 lie below and above them
        ("0.1", "0.3", ("0.09999999999999999", "0.30000000000000004")),
        ("0.3", "0.5", ("0.3", "0.5")),
        ("0", "0E-11", ("0", "0")),
        ("1E+2", "1E+2", ("100", "100")),
        ("1E-30", "2E-30", (f"0.{'0' * 29}1", f"0.{'0' * 29}2")),
        ("1", "Infinity", ("1", '"inf"')),
        ("Infinity", "Infinity", ('"inf"', '"inf"')),
    ],
)
def test_written(low: str, high: str, written: tuple[str, str]) -> None:
    """What ends look like."""
    assert interval_ends(Interval(low, high)) == written


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN, st.booleans())
def test_plain_data(value: Any, ascii_only: bool) -> None:
    """Plain data is read back as it was."""
    text = to_json(value, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert text.isascii() or not ascii_only


def test_infinities_and_nan() -> None:
    """Infinities are strings; NaN is never written."""
    assert json.loads(to_json([math.inf, -math.inf])) == ["inf", "-inf"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(math.nan)
