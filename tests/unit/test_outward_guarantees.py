"""What is proved of formulas is proved: each step alone, where it must not be taken for granted."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.expressions.parse import parse_expression
from gdpbridge.guarantees.boundary import _is_lower, obeys_at_corner, renyi_pieces
from gdpbridge.guarantees.falling import Passage
from gdpbridge.guarantees.implicit import _Solution
from gdpbridge.guarantees.participation import Participation, _above, _by_rows, of_toeplitz
from gdpbridge.guarantees.quotients import expm1_quotient, log1p_quotient
from gdpbridge.guarantees.renyi import Bound, _possible
from gdpbridge.guarantees.repeated import (
    _mean,
    _with_mean,
    best_of_poisson,
    log_inverse_gamma,
)
from gdpbridge.guarantees.segments import (
    Guarantees,
    Segment,
    _capped,
    _Falling,
    _is_within_reach,
    doubling,
)
from gdpbridge.guarantees.tradeoffs import _at_end, _below, _corners, _crossing, _sample
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball

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


def test_a_passage_next_to_a_part_is_not_at_its_start() -> None:
    """A hair beyond 2, where a part begins that is above 1 at first."""
    above = _segment(lambda eps: 1.5 + 0 * eps)
    later = _segment(lambda eps: 3 + arb(2) ** -48 - eps, start=TWO)
    found = _guarantees(above, later).start()
    assert isinstance(found, Passage)
    assert found().overlaps(arb(2))


# --- sensitivities and divergences ----------------------------------------------------------------


def test_sums_of_sensitivities_are_rounded_up() -> None:
    """Of exact numbers, of balls, and of floats, whose sums are off by some units."""
    assert _above(arb(1) / 3) > Fraction(1, 3)
    found = of_toeplitz([Fraction(1), Fraction(1, 2)], 3, Participation(5, 2))
    assert found is not None
    assert found.square == Fraction(9, 4)
    generator = np.random.default_rng(1)
    for _ in range(20):
        sizes = generator.random((9, 9))
        assert _by_rows(sizes, Participation(9, 1)) >= sum(map(Fraction, sizes.ravel().tolist()))


@pytest.mark.parametrize(
    ("last", "other", "eps", "possible"),
    [
        ((3, "0.1"), (1, "0.05"), 0, False),
        ((3, "0.1"), (1, "0.2"), 0, True),
        ((1, "0.1"), (0, "0.5"), 0, False),
        ((1, "0.1"), (0, "0.5"), 1, True),
        ((1, "0.1"), (0, "0.001"), 1, False),
        ((1, "2"), (1, "2"), 0, False),
    ],
)
def test_an_event_that_every_order_allows(
    last: tuple[int, str], other: tuple[int, str], eps: int, possible: bool
) -> None:
    """p = (e^{uε_α} - 1)/(2e^ε)^u is at most 1/2, and within the other bound from there on."""
    bounds = [Bound(Fraction(tilt), Fraction(value)) for tilt, value in (last, other)]
    assert _possible(*bounds, Fraction(eps)) is possible


def test_divergences_of_the_best_of_many_are_rounded_up() -> None:
    """1/3 + log 3; and the distribution has at least the mean that is asked for."""
    found = _with_mean({Fraction(1): Fraction(1, 3)}, Fraction(3), lambda _: arb(0))
    with precision(300):
        assert ball(found[Fraction(1)]) > ball(Fraction(1, 3)) + arb(3).log()
        for mean in (Fraction(3, 2), Fraction(50)):
            assert _mean(log_inverse_gamma(mean, Fraction(1)), Fraction(1)) >= ball(mean)


# --- trade-off functions --------------------------------------------------------------------------


def _beta(text: str) -> Any:
    return parse_expression(text, "beta")


def test_corners_next_to_the_ends_lie_below() -> None:
    """By the steepest slope next to 0, the flattest one next to 1, where the end is known."""
    step = arb(2) ** -20
    curves: dict[str, Any] = {
        "(1 - alpha)**2": lambda alpha: (1 - alpha) ** 2,
        "0.5 - alpha/2": lambda alpha: (1 - alpha) / 2,
    }
    with precision(200):
        for text, truth in curves.items():
            for low, high in ((arb(0), step), (1 - step, arb(1))):
                found = _at_end(_beta(text), low, high)
                assert all(beta <= truth(alpha) for alpha, beta in found)
    assert _corners([(arb(1) / 2, arb(0.25, 0.125))])[0][1] <= Fraction(1, 8)


def test_corners_of_what_is_not_convex_lie_below() -> None:
    """A tangent lies above 1/2 - α²."""
    with precision(256):
        low = arb(1) / 8
        found = _below(_beta("0.5 - alpha**2"), low, low + arb(2) ** -46, "text", "beta")
    assert found is not None
    assert all(beta <= Fraction(1, 2) - alpha**2 for alpha, beta in found)


def test_the_best_of_many_asks_for_delta_at_or_below_its_epsilon() -> None:
    """log(1 + 1/2) is no float, and δ falls."""
    asked: list[arb] = []

    def delta(eps: arb) -> arb:
        asked.append(eps)
        return arb(0)

    best_of_poisson({TWO: TWO}, TWO, delta)
    with precision(600):
        assert asked[0].is_exact()
        assert asked[0] <= arb(1.5).log()


def test_a_corner_is_below_a_convex_function() -> None:
    """Between two points it is where the lines of the points before and after cross."""
    corners = [(0.0, 1.0), (0.125, 0.5), (0.5, 0.125), (1.0, 0.0)]
    points = [(Fraction(alpha), Fraction(beta)) for alpha, beta in corners]
    # 1 - 4α and (1 - α)/4
    assert _crossing(points, 1) == (Fraction(1, 5), Fraction(1, 5))
    # with less known, the lower one of both ends
    assert _crossing(points, 0) == (0, Fraction(1, 2))
    assert _crossing(points, 2) == (Fraction(1, 2), 0)
    # lines that cross beyond an end
    bent = [(Fraction(one), Fraction(1 - one)) for one in (0.0, 0.25, 0.75, 1.0)]
    assert _crossing([*bent[:2], (Fraction(3, 4), Fraction(1, 2)), bent[3]], 1)[0] == Fraction(1, 4)


def test_samples_and_corners_stay_where_errors_can_be() -> None:
    """From 0 to 1 - α, or to 1, whatever is rounded."""
    for beta, kept in ((0.25, 0.25), (-1e-13, 0.0), (0.75 + 1e-13, 0.75)):
        assert _sample(lambda _, beta=beta: beta, 0.25, "beta") == (Fraction(1, 4), Fraction(kept))
    for beta, kept in ((0.5, 0.5), (-0.5, 0.0), (1.5, 1.0)):
        assert _corners([(arb(0.25), arb(beta))]) == [(Fraction(1, 4), Fraction(kept))]


def test_an_arc_of_one_order_ends_where_another_one_binds() -> None:
    """Beyond it, events on it are none of the class: δ is not known by it."""
    orders = Bound(Fraction(1), Fraction(1, 5)), Bound(Fraction(7), Fraction(7, 2))
    arc = renyi_pieces(orders)[1].formula
    with precision(96):
        # from 3.65 on the order 8 binds
        assert [arc(arb(eps), BALLS).log().is_finite() for eps in (3.5, 3.7, 4)] == [1, 0, 0]


@pytest.mark.parametrize(("value", "holds"), [(2, True), (1, False), (Fraction(1, 2), False)])
def test_an_event_obeys_only_what_its_ball_does(value: Fraction, holds: bool) -> None:
    """Where p + q = 1, and elsewhere where it is seen from P."""
    event: Any = SimpleNamespace(divergence=lambda _: arb(1, 0.25), theta=arb(1, 0.25))
    assert obeys_at_corner((Bound(Fraction(1), Fraction(value)),))(event) is holds
    event.gap = 2 * arb(value.numerator) / value.denominator
    assert _is_lower(event) is holds
