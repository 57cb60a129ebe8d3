"""What measure refuses, in one sentence and before any work."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import InputError, WorkLimitError
from gdpbridge.measure import method_names

LAPLACE = profiles.Laplace(scale=0.5)

BAD = [math.nan, math.inf, -math.inf, "abc", "", "nan", True, None, [1], 1j, Decimal("nan"), -1, 0]


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("field", ["tol", "eps_h", "failure"])
def test_bad_numbers(field: str, value: Any) -> None:
    """Each number refuses these, naming itself, its value and what is allowed."""
    if value is None or (field == "failure" and value is not True and value == 0):
        # a failure of 0 asks for the whole range
        found = gdp.measure(LAPLACE, **{field: value})
        assert found.certified
        assert found.statement.value == "whole"
        return
    with pytest.raises(InputError) as caught:
        gdp.measure(LAPLACE, **{field: value})
    assert caught.value.field == field
    assert "must be a number" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tol", "1e-400"),
        ("tol", "1e-101"),
        ("tol", 1.5),
        ("eps_h", 1.00001e5),
        ("eps_h", "1e999999999"),
        ("failure", 1),
        ("failure", "1e-999999999"),
        ("failure", "0." + "9" * 31),
    ],
)
def test_numbers_out_of_range(field: str, value: Any, at_most_calls: Callable) -> None:
    """Just beyond a range, and far beyond, where the mere number would fill the memory."""
    with at_most_calls(100_000), pytest.raises(InputError) as caught:
        gdp.measure(LAPLACE, **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("value", [1e-9, "1e-9", Decimal("1e-9"), np.float64(1e-9)], ids=repr)
def test_every_way_to_write_a_number(value: Any) -> None:
    """Floats, text and decimals mean the same tolerance."""
    assert gdp.measure(LAPLACE, tol=value).mu == gdp.measure(LAPLACE, tol=1e-9).mu


@pytest.mark.parametrize("method", ["", "certifeid", None, [], "Certified"], ids=repr)
def test_unknown_method(method: Any) -> None:
    """The error lists the methods."""
    with pytest.raises(InputError, match="certified, adaptive") as caught:
        gdp.measure(LAPLACE, method=method)
    assert caught.value.field == "method"


def test_methods_are_found_by_their_files() -> None:
    """The default comes first; the paper's two listings are there under their names."""
    names = method_names()
    assert names[0] == "certified"
    assert {"adaptive", "shuffled", "staircase"} < set(names)


def test_head_and_failure_exclude_each_other() -> None:
    """A statement is one or the other."""
    with pytest.raises(InputError, match="give one of them"):
        gdp.measure(LAPLACE, eps_h=1, failure=0.1)


@pytest.mark.parametrize("value", [None, 1, "laplace", profiles.Laplace], ids=repr)
def test_a_profile_is_needed(value: Any) -> None:
    """Anything else is an input error."""
    with pytest.raises(InputError) as caught:
        gdp.measure(value)
    assert caught.value.field == "profile"


@pytest.mark.parametrize(
    ("method", "tol", "needed"),
    [("staircase", 1e-6, 10_026_515), ("shuffled", 1e-6, 20_053_028)],
)
def test_too_much_work_is_refused_with_the_number(method: str, tol: float, needed: int) -> None:
    """2·√(2π)·ε₀/tol steps, and twice as many evaluations where both ends of each are new."""
    with pytest.raises(WorkLimitError, match=f"{needed:,} evaluations") as caught:
        gdp.measure(LAPLACE, tol=tol, method=method)
    assert caught.value.needed == needed > caught.value.limit
    assert "--method certified" in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gdp.measure(profiles.Laplace(scale=1e-4), tol=1e-3, eps_h=0.1, method="staircase"),
        lambda: gdp.measure(profiles.Laplace(scale=1e-4), tol=1e-3, eps_h=0.1, method="shuffled"),
    ],
)
def test_a_head_does_not_need_the_whole_range(call: Callable[[], gdp.Measurement]) -> None:
    """A short head is measured by a slow method though the whole range is beyond it."""
    found = call()
    assert found.whole_range_mu is not None
    assert Decimal("199.9033650883") in found.whole_range_mu


def test_progress_is_reported_in_shares() -> None:
    """Long work says what it does and how much of it is done."""
    seen: list[tuple[str, float]] = []
    gdp.measure(LAPLACE, 1e-3, method="staircase", progress=lambda *said: seen.append(said))
    assert seen
    assert all(text and 0 <= share <= 1 for text, share in seen)


def test_exact_fractions_of_the_tolerance() -> None:
    """A tolerance at each end of its range is kept."""
    for tol in ("1", "1e-100"):
        mu = gdp.measure(LAPLACE, tol=tol).mu
        assert 0 < Fraction(mu.high) - Fraction(mu.low) <= Fraction(tol)
