"""The root of the sum of squares, and failure probabilities."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpbridge import measure, profiles
from gdpbridge.compose import Part, compose
from gdpbridge.errors import InputError
from gdpbridge.measure import Statement
from gdpbridge.report.answers import answer_to_text, composition_record


def test_pythagoras() -> None:
    """0.3 and 0.4 compose to exactly 0.5."""
    found = compose([0.3, 0.4])
    assert found.mu.low == found.mu.high == Decimal("0.5")
    assert found.statement is Statement.WHOLE
    assert found.failure_probability == 0
    assert found.parts == 2


def test_table_value() -> None:
    """Fifty 0.2-DP releases compose to 1.7711887."""
    found = compose([Part(profiles.PureDP(epsilon=0.2), 50)])
    assert found.mu.lower <= 1.7711886785228635399 <= found.mu.upper
    assert found.mu.width < 1e-8
    assert found.certified


def test_failures_add_up() -> None:
    """p composes to 1 - Π(1 - p), rounded up."""
    found = compose([(1, 1e-6), (0.5, 1e-5)])
    assert found.statement is Statement.APPROXIMATE
    assert 1.099999e-05 <= found.failure_probability < 1.0999991e-05
    many = compose([Part((1, 1e-6), 1000)])
    assert 9.995006e-4 < many.failure_probability < 9.9950067e-4
    # one p stays as it was written, and is shown so
    alone = compose([(1, 1e-7), 0.5])
    assert alone.failure_probability == 1e-7
    assert "1e-07, the failure probability" in answer_to_text(composition_record(alone), 80)


def test_a_head_counts_with_its_failure_probability() -> None:
    """A head statement brings δ(eps_h) as its failure probability."""
    head = measure(profiles.ICEA(messages=20, users=4), eps_h=10)
    found = compose([head, 1.0])
    assert found.failure_probability == pytest.approx(head.failure_probability, rel=1e-12)
    assert found.neighbours == "replace-one"


@given(st.lists(st.floats(0, 50, allow_subnormal=False), max_size=30))
def test_interval_holds_the_truth(values: list[float]) -> None:
    """The interval holds the root computed with a hundred digits."""
    found = compose(values)
    with localcontext() as context:
        context.prec = 100
        truth = sum((Decimal(repr(v)) ** 2 for v in values), Decimal(0)).sqrt()
    assert found.mu.low <= truth <= found.mu.high


def test_many_plain_numbers() -> None:
    """A million numbers are summed in floats with their error bounded."""
    values = [0.1 + 1e-7 * i for i in range(5000)]
    found = compose(values)
    with localcontext() as context:
        context.prec = 60
        truth = sum((Decimal(repr(v)) ** 2 for v in values), Decimal(0)).sqrt()
    assert found.mu.low <= truth <= found.mu.high
    assert found.mu.width < 1e-13
    assert found.parts == 5000


def test_infinite_part() -> None:
    """A part that is not GDP makes the composition infinite."""
    found = compose([measure(profiles.ApproxDP(epsilon=1, delta=1e-3), failure=1e-6)])
    assert found.mu.high.is_infinite()


@pytest.mark.parametrize(
    "parts",
    [
        [-1],
        [float("nan")],
        [float("inf")],
        ["1/2"],
        [(1, 1)],
        [(1, -0.1)],
        [(1, 2, 3)],
        [None],
        [Part(1.0, -1)],
        [Part(1.0, True)],
        [0.5] * 2000 + [float("nan")],
    ],
)
def test_bad_parts(parts: list[object]) -> None:
    """A part that is no part is named by its place."""
    with pytest.raises(InputError, match=r"parts\[\d+\]"):
        compose(parts)  # type: ignore[arg-type]


def test_mixed_relations_are_refused() -> None:
    """Statements for different neighbouring relations do not compose."""
    with pytest.raises(InputError, match="the same for all parts"):
        compose(
            [
                profiles.Laplace(scale=1, neighbours="add-remove"),
                profiles.RandomizedResponse(noise_parameter=0.5),
            ]
        )


def test_a_tiny_part_is_not_rounded_away() -> None:
    """1 and 3e-46 compose to a little more than 1: the upper end is above 1."""
    found = compose([1.0, 3.0514874393297557e-46])
    assert found.mu.low <= 1 < found.mu.high


def test_exact_composition_beside_the_rule() -> None:
    """Fifty 0.2-DP releases: the rule's 1.7712 and the exact profile's 1.42008."""
    found = compose([Part(profiles.PureDP(epsilon=0.2), 50)])
    assert found.exact is not None
    assert Decimal("1.42007917667459628") in found.exact.mu
    assert found.exact.mu.upper < found.mu.lower
    assert compose([profiles.PureDP(epsilon=0.2), 1.0]).exact is None
    assert compose([Part(profiles.ICEA(messages=20, users=4), 2)]).exact is None
