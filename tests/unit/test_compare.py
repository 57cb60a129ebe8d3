"""The table of composition theorems."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gdpbridge.compare import Comparison, compare
from gdpbridge.errors import InputError


@pytest.fixture(scope="module")
def table() -> Comparison:
    """The source paper's table: fifty 0.2-DP mechanisms."""
    return compare(0.2, 50)


def test_printed_values(table: Comparison) -> None:
    """Each row rounds to what is known of it."""
    printed = {
        "Basic": "9.89 9.99 10.00 10.00",
        "Advanced": "5.25 6.51 7.47 8.28",
        "RDP": "12.14 17.17 21.03 24.28",
        "GDP": "3.10 5.06 6.47 7.62",
        "GDP Laplace": "2.87 4.74 6.09 7.19",
        "Optimal": "2.11 3.63 4.73 5.56",
        "GDP summary": "2.14 3.73 4.87 5.80",
    }
    found = {
        row.name: " ".join(f"{epsilon.upper:.2f}" for epsilon in row.epsilons) for row in table.rows
    }
    assert found == printed


def test_exact_row(table: Comparison) -> None:
    """The exact least ε, to eleven digits."""
    truth = ["2.11469559796", "3.63134273573", "4.73113973852", "5.56405630804"]
    optimal = next(row for row in table.rows if row.name == "Optimal")
    for value, epsilon in zip(truth, optimal.epsilons, strict=True):
        assert abs(epsilon.low - Decimal(value)) < Decimal("1e-11")
        assert epsilon.width < 1e-14


def test_mu_of_the_rows(table: Comparison) -> None:
    """The μ's that three rows go through."""
    mu = {row.name: row.mu for row in table.rows if row.mu is not None}
    assert Decimal("1.42007917667459628") in mu["GDP summary"]
    assert mu["GDP"].lower == pytest.approx(1.7711887, abs=1e-7)
    assert mu["GDP Laplace"].lower == pytest.approx(1.6907318, abs=1e-7)


def test_one_release_is_itself() -> None:
    """One release: basic and optimal composition agree."""
    rows = {row.name: row for row in compare(0.5, 1, [1e-3]).rows}
    assert rows["Basic"].epsilons[0].upper == pytest.approx(
        rows["Optimal"].epsilons[0].upper, rel=1e-12
    )


def test_large_delta_needs_no_epsilon() -> None:
    """ε is 0, not negative, where δ is above δ(0)."""
    rows = {row.name: row for row in compare(0.01, 2, [0.9]).rows}
    assert rows["Basic"].epsilons[0].high == 0
    assert rows["Optimal"].epsilons[0].high == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0, 50), "epsilon"),
        ((-1, 50), "epsilon"),
        ((0.2, 0), "times"),
        ((0.2, 1.5), "times"),
        ((0.2, True), "times"),
        ((0.2, 10**7), "times"),
        ((0.2, 50, [0]), "deltas"),
        ((0.2, 50, [1]), "deltas"),
        ((0.2, 50, ["x"]), "deltas"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], field: str) -> None:
    """Bad arguments are named."""
    with pytest.raises(InputError) as caught:
        compare(*arguments)  # type: ignore[arg-type]
    assert caught.value.field == field
