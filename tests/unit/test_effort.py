"""How much work a question may be: counted, and told in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.sums import LatticeSum, Step, added
from gdpbridge.losses.trimmed import TrimmedSum
from gdpbridge.numeric.effort import Limit, PartLimitError, spend, what_is_left, within

P = gdp.profiles


def spent_in(limit: Limit, *units: int) -> None:
    """Spend in a part of a question."""
    with limit.part():
        for one in units:
            spend(one)


def test_a_question_ends_at_its_limit() -> None:
    """The sentence names what was asked, the limit and what can be done; parts add up."""
    limit = Limit("μ of x", "ask for less", 3_000_000)
    spent_in(limit, 2_000_000)
    with pytest.raises(WorkLimitError) as caught:
        spent_in(limit, 1_000_000, 1)
    assert str(caught.value) == (
        "μ of x is not found within the limit of 3 million operations for one question: "
        "ask for less"
    )
    assert (caught.value.needed, caught.value.limit) == (3_000_001, 3_000_000)
    # outside of questions nothing is counted
    spend(10**12)
    assert limit.spent == 3_000_000


def test_what_is_inside_a_question_may_end_alone() -> None:
    """What a part is refused is not done, and not counted: there may be another way."""
    with within("outer", "…", 100):
        for _ in range(3):
            with pytest.raises(WorkLimitError, match="inner"):
                spent_in(Limit("inner", "…", 50), 30, 90)
    with pytest.raises(WorkLimitError, match="outer"), within("outer", "…", 100):
        spent_in(Limit("inner", "…"), 101)


def test_no_search_goes_on_past_the_limit() -> None:
    """Those that look for another way out where one takes too much catch other errors."""
    went_on = False

    def searched() -> None:
        nonlocal went_on
        with suppress(WorkLimitError, UndecidedError):
            spend(6)
        went_on = True

    with pytest.raises(WorkLimitError, match="x is not found"), within("x", "…", 5):
        searched()
    assert not went_on


def test_a_step_that_is_too_long_is_told_as_the_question() -> None:
    """Whoever asked says what it was asked for."""
    told = r"^μ of x is not found: too slow; ask for less$"
    with pytest.raises(WorkLimitError, match=told), within("μ of x", "ask for less"):
        raise PartLimitError("too slow", 2, 1)


def test_the_limit_is_one_of_work() -> None:
    """The same question ends at the same place, however often it is asked."""

    def needed() -> int:
        run = gdp.profiles.DPSGD(noise_multiplier=0.02, sample_rate=1e-3, steps=10_000)
        with pytest.raises(WorkLimitError, match="it is not"), within("it", "…", 300_000):
            gdp.measure(run, failure=1e-10)
        with pytest.raises(WorkLimitError) as caught, within("it", "…", 300_000):
            gdp.measure(run, failure=1e-9)
        return caught.value.needed

    assert needed() == needed() > 300_000


def test_what_can_be_spared_ends_before_the_question() -> None:
    """A part that is given what is left is refused alone, and the question goes on."""
    limit = Limit("x", "…", 10)
    with limit.part():
        spend(4)
        with pytest.raises(WorkLimitError, match="y is not found"), what_is_left("y"):
            spend(7)
        spend(6)
    assert limit.spent == 10
    with what_is_left("y"):
        spend(10**12)


def test_a_finer_lattice_that_is_too_much_work_is_left_out() -> None:
    """What coarser ones prove is the answer: it has the closer one within it."""

    def asked(most: int) -> gdp.Measurement:
        runs = P.Laplace(scale=1).subsample(rate=0.05).compose(30)
        with within("x", "…", most):
            return gdp.measure(runs)

    closer, found = asked(50_000_000).mu, asked(4_000_000)
    assert found.mu.low <= closer.low <= closer.high <= found.mu.high
    assert found.mu.high - found.mu.low > 2 * (closer.high - closer.low) > 0
    assert any("work allowed" in note for note in found.notes)
    with pytest.raises(WorkLimitError, match=r"^x is not found"):
        asked(10_000)


def _steps(runs: int) -> list[Step]:
    return [Step((0, 1), lambda: [arb("0.1"), arb("0.9")], runs)]


DEAR = {
    "a law on a lattice": lambda: LatticeSum(Fraction(1), _steps(10**5), Fraction(0)),
    "what is frequent of it": lambda: TrimmedSum(
        Fraction(1), _steps(10**9), Fraction(0), Fraction(0), Fraction(1, 10**9)
    ),
    "sums one by one": lambda: added(
        [LatticeSum(unit, _steps(300), Fraction(0)) for unit in (Fraction(1), Fraction(1, 7))],
        Fraction(0),
    ),
    "pieces": lambda: P.Laplace(scale=1).compose(200).delta_bounds(1.0),
    "many lines": lambda: gdp.measure(P.PureDP(epsilon=0.01).compose(100_000)),
}


@pytest.mark.parametrize("name", DEAR)
def test_exact_laws_count_before_they_are_made(name: str) -> None:
    """A dear one is refused at once, and told as the question."""
    dear: Callable[[], object] = DEAR[name]
    with pytest.raises(WorkLimitError, match=r"^x is not found"), within("x", "…", 100_000):
        dear()


def test_what_comes_before_a_question_is_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of many runs is made where they are composed, and took minutes."""

    def dear(_: gdp.Profile) -> None:
        spend(10**9)

    monkeypatch.setattr(P.Laplace, "build_curve", dear)
    with pytest.raises(WorkLimitError, match=r"δ\(ε\) of laplace is not found within the limit"):
        _ = P.Laplace(scale=1).curve
