"""What is proved of formulas is proved: each step alone, where it must not be taken for granted."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from flint import arb

from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.guarantees.falling import Passage
from gdpbridge.guarantees.implicit import _Solution
from gdpbridge.guarantees.quotients import expm1_quotient, log1p_quotient
from gdpbridge.guarantees.segments import (
    Guarantees,
    Segment,
    _capped,
    _Falling,
    _is_within_reach,
    doubling,
)
from gdpbridge.numeric.kinds import BALLS

ZERO, TWO = Fraction(0), Fraction(2)


# --- the solution of an equation ------------------------------------------------------------------


def _solution(slope: Any = -1, noise: float = 0.0) -> Any:
    """f falls through 0 at log δ = -1."""
    return SimpleNamespace(
        _f=lambda _, x, __: -(x + 1) + arb(0, noise), _slope=lambda *_: arb(slope)
    )


@pytest.mark.parametrize("centre", [-1.01, -1.0, -0.99])
def test_a_solution_lies_between_certain_signs(centre: float) -> None:
    """Whichever side the candidate is on, and no further than that takes."""
    found = _Solution._enclosed(_solution(), arb(0), arb(centre), arb(2) ** -20)
    assert found.contains(-1)
    assert found.rad() < 0.05
    assert (
        _Solution._enclosed(_solution(noise=0.25), arb(0), arb(centre), arb(2) ** -20).rad() > 0.24
    )


def test_a_solution_needs_a_slope() -> None:
    """Where f may not fall all along there may be others."""
    for slope in (arb(0, 1), 1):
        assert _Solution._enclosed(_solution(slope), arb(0), arb(-1), arb(1) / 8).is_nan()


def test_a_solution_above_one_is_cut_off_for_all_of_a_ball() -> None:
    """At log δ = 0, f ≥ 0 is not so on all of it."""
    partly: Any = SimpleNamespace(_f=lambda *_: arb(0, 1), _enclosed=lambda *_: "wider")
    wholly: Any = SimpleNamespace(_f=lambda *_: arb(1), _enclosed=lambda *_: "wider")
    eps = arb(1, 0.5)
    assert _Solution._around(partly, eps, arb(0)) == "wider"
    assert _Solution._around(wholly, eps, arb(0)) == 0


def test_quotients_hold_both_ends_of_a_ball() -> None:
    """(e^x - 1)/x and log(1 + x)/x, far from 0 and around it."""
    for x in (0.25, 0.75):
        assert expm1_quotient(arb(0.5, 0.25)).contains(math.expm1(x) / x)
        assert log1p_quotient(arb(0.5, 0.25)).contains(math.log1p(x) / x)


# --- that a formula does not rise -----------------------------------------------------------------


def _segment(value: Any, start: Any = ZERO, **more: Any) -> Segment:
    """δ̂ as a function of ε, be it a ball or a series."""
    return Segment(start, lambda eps, _: value(eps), False, lambda eps, _: value(eps).log(), **more)


def _guarantees(*segments: Segment, reach: int = 4) -> Guarantees:
    return Guarantees(segments, "formula", "text", Fraction(reach))


RISING = _segment(lambda eps: 0.5 + eps / 10)


@pytest.mark.parametrize(
    ("value", "low"),
    [
        (lambda eps: 0.5 + eps / 10, 0.0),
        (lambda eps: 0.5 + eps / 10, 1.0),
        (lambda eps: 0.25 + eps * eps, 0.0),
    ],
)
def test_what_rises_is_not_proved_to_fall(value: Any, low: float) -> None:
    """By its values, its slope, its bend, or its Taylor series at 0."""
    for segment in (_segment(value), _segment(value, slope=lambda *_: arb(0.25, 0.5))):
        assert not _Falling(_guarantees(segment), segment)._falls(arb(low), arb(low + 0.5))


def _made(falls: Any, low: float = 0.5, high: float = 0.5) -> Any:
    """A proof whose cells answer so; δ̂ is a ball between two numbers."""
    found: Any = _Falling(_guarantees(RISING), RISING)
    found._by_shape = lambda *_: False
    found._falls = falls
    found._clipped = lambda _: arb((low + high) / 2, 0.125)
    return found


def test_a_proof_ends_where_cells_are_narrow() -> None:
    """Only next to 0, or where almost nothing is left; beyond 1 it is told how far it went."""
    assert _made(lambda low, high: high - low < 0.01).prove(arb(0), arb(4)) == 4
    assert 2 <= _made(lambda _, high: high <= 2).prove(arb(0), arb(4)) < 2.01
    for wrong in (lambda low, _: low > 0.25, lambda low, high: high <= 0.25 or low >= 0.5):
        with pytest.raises(UndecidedError):
            _made(wrong).prove(arb(0), arb(4))


def test_a_rise_is_refused_where_it_is_certain() -> None:
    """And not where two balls overlap."""
    _made(None)._refuse_rise(arb(1), arb(2))
    with pytest.raises(InputError):
        _Falling(_guarantees(RISING), RISING)._refuse_rise(arb(1), arb(2))


def test_values_are_those_of_a_probability() -> None:
    """At 0 itself a formula may have none."""
    nan = _segment(lambda eps: eps * arb.nan())
    assert _Falling(_guarantees(nan), nan)._clipped(arb(0)).is_nan()
    for value, clipped in ((1.5, 1), (-0.5, 0), (0.25, 0.25)):
        flat = _segment(lambda eps, value=value: value + 0 * eps)
        assert _Falling(_guarantees(flat), flat)._clipped(arb(1)) == clipped


def test_cells_double_up_to_the_end() -> None:
    """They begin at the start, and leave nothing out."""
    for low, high in ((0, 10), (8, 40), (3, 3), (1000, 1100)):
        cells = list(reversed(doubling(arb(low), arb(high))))
        ends = [low, *(end for _, end in cells)]
        assert [start for start, _ in cells] == ends[:-1]
        assert ends[-1] == high
    assert len(doubling(arb(1000), arb(1100))) == 1


# --- several parts --------------------------------------------------------------------------------


def test_ranges_hold_the_balls_of_their_ends() -> None:
    """A part may begin at a number that is not known exactly."""
    late = _segment(lambda eps: 0.25 + 0 * eps, start=lambda: arb(2, 0.125))
    (_, start, end), (_, after, last) = _guarantees(RISING, late).ranges()
    assert start == 0
    assert end > 2.12
    assert after < 1.88
    assert last == 4


def test_where_a_formula_falls_below_one_or_to_zero() -> None:
    """At once, never, at a number on the way, or where a part starts."""
    half, above = _segment(lambda eps: 0.5 + 0 * eps), _segment(lambda eps: 1.5 + 0 * eps)
    assert _guarantees(half).above_one(arb(1)) < 0
    assert _guarantees(half).start() == 0
    assert _guarantees(half).end() is None
    assert _guarantees(above).start() is None
    falling = _guarantees(_segment(lambda eps: 1.5 - eps))
    start, end = falling.start(), falling.end()
    assert isinstance(start, Passage)
    assert isinstance(end, Passage)
    assert start().contains(0.5)
    assert end().contains(1.5)
    later = _segment(lambda eps: 0.5 + 0 * eps, start=TWO)
    assert _guarantees(above, later).start() == 2
    assert _guarantees(above, later).segment_at(arb(2)) is later
    assert _guarantees(above, later).segment_at(arb(1)) is above


def test_parts_that_may_rise_are_capped() -> None:
    """Kept as they are where they are certainly below, refused where they are certainly above."""

    def joined(left: Any, right: Any) -> Segment:
        first = _segment(lambda eps: left + 0 * eps)
        second = _segment(lambda eps: right + 0 * eps, start=TWO)
        found = _guarantees(first, second)._joined(2)
        return found[1]

    assert joined(0.5, 0.25).point(arb(3)) == 0.25
    # both are 1 there
    assert joined(1.25, 1.5).point(arb(3)) == 1.5
    capped = joined(arb(0.5, 0.125), arb(0.5, 0.25))
    assert capped.point(arb(3)).upper() < 0.63
    with pytest.raises(InputError):
        joined(0.25, 0.5)
    steep = _capped(_segment(lambda eps: eps / 2, start=TWO), _segment(lambda eps: 0.75 + 0 * eps))
    assert steep.log(arb(3), BALLS).contains(arb(0.75).log().mid())
    assert steep.point(arb(1)) == 0.5


def test_numbers_of_any_size_give_out() -> None:
    """A value without a logarithm is within reach only where it is certainly not positive."""
    for value, within in ((arb(-1), True), (arb(0, 1), False), (arb(1), True), (arb.nan(), False)):
        assert _is_within_reach(_segment(lambda _, value=value: value), arb(1)) is within
