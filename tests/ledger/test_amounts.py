"""Amounts are exact, and rounded upward only."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpbridge.errors import InputError
from gdpbridge.ledger.amounts import (
    amount_text,
    failure_of,
    from_text,
    mu_of,
    root_ceiling,
    root_floor,
    square_of,
    within,
)

_ALMOST_ONE = 1 - Fraction(1, 10**90)
FRACTIONS = st.fractions(min_value=0, max_value=10**6, max_denominator=10**50)


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10", " 1 / 10 "])
def test_one_number_however_written(value: object) -> None:
    """A float is the decimal it prints as, and a fraction is one."""
    assert mu_of("mu", value) == Fraction(1, 10)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        "nan",
        "inf",
        float("nan"),
        float("inf"),
        5e-324,
        "1e-310",
        "1e999999999",
        1e7,
        "1/0",
        "-1/2",
        "",
        "one",
        True,
        None,
        "1/2/3",
        "9" * 500,
    ],
)
def test_no_amount(value: object) -> None:
    """Zero, negative, nan, infinite, subnormal and huge amounts are refused, by name."""
    with pytest.raises(InputError, match="mu is ") as caught:
        mu_of("mu", value)
    assert caught.value.field == "mu"
    with pytest.raises(InputError):
        square_of("mu_squared", value if value != 1e7 else 1e13)


@pytest.mark.parametrize(
    "value", [1, "1", 1.5, -0.1, "nan", "inf", 5e-324, "11/11", 1 - Fraction(1, 10**90)]
)
def test_no_failure_probability(value: object) -> None:
    """A failure probability that is 1 or more, also once rounded up, or none at all, is refused."""
    with pytest.raises(InputError, match="failure is "):
        failure_of("failure", value)


@given(FRACTIONS)
def test_text_is_exact(value: Fraction) -> None:
    """What is written is read back as the same number."""
    assert from_text(amount_text(value)) == value


@pytest.mark.parametrize("text", ["", "-1", "1e5", "1/0", "nan", " 1", "1.", ".5", "1/2/3", "0x1"])
def test_only_written_texts_are_read(text: str) -> None:
    """A text of another form than the ledger writes is no amount."""
    with pytest.raises(ValueError, match="not an amount"):
        from_text(text)


@given(FRACTIONS)
def test_roots_enclose(square: Fraction) -> None:
    """A root is rounded to its named side by at most 1e-20, and a rational one is exact."""
    low, high = root_floor(square), root_ceiling(square)
    assert low**2 <= square <= high**2
    assert high - low <= Fraction(1, 10**20)
    assert root_floor(square**2) == root_ceiling(square**2) == square


@given(st.lists(st.fractions(0, 1, max_denominator=10**40), min_size=20, max_size=40))
def test_sums_stay_short(amounts: list[Fraction]) -> None:
    """However many odd fractions are added, a sum has a bounded denominator and lacks nothing."""
    total = Fraction(0)
    for amount in amounts:
        charged = within(total, amount)
        assert amount <= charged <= amount + Fraction(1, 10**80)
        total += charged
        assert total.denominator <= 10**240
    assert total >= sum(amounts)


def test_long_numbers_are_rounded_up() -> None:
    """A μ of more than 40 places is charged as the next one above."""
    assert mu_of("mu", "0." + "3" * 60) == Fraction(int("3" * 39 + "4"), 10**40)
    assert mu_of("mu", "1/3") == Fraction(1, 3)
