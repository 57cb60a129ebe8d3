"""Each end of a curve's answers is on its own side, whatever the balls that it comes from."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_series

from gdpbridge.curves.composed import ComposedCurve, _log_rest
from gdpbridge.curves.composition import _failure, _largest
from gdpbridge.curves.largest import _largest_on
from gdpbridge.curves.least import Crossing
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import CoarseDecayTail, PlateauTail
from gdpbridge.expressions.parse import parse_expression
from gdpbridge.guarantees import formulas
from gdpbridge.guarantees.decay import proved_tail
from gdpbridge.guarantees.envelope import _has_one_turn, _Signs, _Sweep
from gdpbridge.guarantees.refine import NaiveProfile, _crossing, _Root, _tangent_point
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.finite import FiniteTransform, two_valued
from gdpbridge.measure.methods.certified import _Proof
from gdpbridge.measure.methods.composed import _Search
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.pld import PLD
from gdpbridge.numeric.decide import MorePrecisionError
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, fraction_above, to_fraction

THIRD = Fraction(1, 3)


def exactly(value: Fraction) -> arb:
    """A number of 200 bits next to a fraction."""
    with precision(200):
        return ball(value).mid()


def curve(low: Any, high: Any, failure: Fraction = Fraction(0)) -> Any:
    """A curve whose loss knows two numbers for δ, and for ε."""
    found: Any = ComposedCurve((), SimpleNamespace(level=None), None, failure)  # type: ignore[arg-type]
    found.loss_to = lambda *_: SimpleNamespace(
        delta=lambda eps, _: (arb(low), arb(high)),
        epsilon=lambda _: (THIRD, 2 * THIRD),
        directions=(SimpleNamespace(bits=96, is_at_most_by_chernoff=lambda *_: False),),
    )
    return found


def test_what_composed_losses_answer_is_rounded_outward() -> None:
    """δ and ε, as floats and as decimals."""
    value = exactly(THIRD)
    shown = curve(value, value)
    low, high = shown.deltas_at([Fraction(1)])
    exact = to_fraction(value)
    assert Fraction(low[0]) < exact < Fraction(high[0])
    interval = shown.delta_at(Fraction(1))
    assert Fraction(interval.low) < exact < Fraction(interval.high)
    low, high = shown.epsilons_at([THIRD])
    assert Fraction(low[0]) < THIRD < 2 * THIRD < Fraction(high[0])
    interval = shown.epsilon_at(THIRD)
    assert Fraction(interval.low) < THIRD < 2 * THIRD < Fraction(interval.high)


def test_what_composed_losses_answer_is_a_probability() -> None:
    """Ends below 0 or above 1 are 0 or 1."""
    low, high = curve(-0.25, 1.5).deltas_at([Fraction(1)])
    assert (low[0], high[0]) == (0, 1)
    interval = curve(-0.25, 1.5).delta_at(Fraction(1))
    assert (interval.low, interval.high) == (0, 1)
    interval = curve(0.25, 0.5).delta_at(Fraction(1))
    assert (interval.low, interval.high) == (Decimal("0.25"), Decimal("0.5"))


def test_a_curve_past_p_is_rounded_outward() -> None:
    """(δ - p)/(1 - p), and 0 below p: exact numbers."""
    value = exactly(Fraction(4, 7))
    low, high = curve(value, value, THIRD)._ends(Fraction(1))
    exact = (to_fraction(value) - THIRD) / (1 - THIRD)
    assert low.is_exact()
    assert high.is_exact()
    assert to_fraction(low) < exact < to_fraction(high)
    assert curve(0.25, 0.25, THIRD)._ends(Fraction(1)) == (0, 0)


def test_a_ball_of_composed_losses_holds_both_ends() -> None:
    """δ = 1/(2 + ε), on [1/2, 3/2] and from 0 on."""
    shown = curve(0, 0)

    def delta(eps: Fraction, _: object) -> tuple[arb, arb]:
        assert eps >= 0
        return exactly(1 / (2 + eps)), exactly(1 / (2 + eps))

    shown.loss_to = lambda *_: SimpleNamespace(delta=delta)
    log = shown.enclose(arb(1, 0.5)).log()
    rest = shown.enclose(arb(1, 0.5)).log_complement()
    for eps in (0.5, 1, 1.5):
        assert log.contains(-(arb(2) + eps).log().mid())
        assert rest.contains((1 - 1 / (arb(2) + eps)).log().mid())
    assert shown.enclose(arb(0, 0.5)).log().contains(-arb(2).log().mid())
    assert curve(0, 0.5).enclose(arb(1)).log().is_nan()


def test_logarithms_of_composed_losses_are_on_the_safe_side() -> None:
    """Of the upper end, where there is one; e to their power is not below it."""
    value = exactly(THIRD)
    log, rest = (one[0] for one in curve(0, value).logs(np.array([1.0])))
    assert Fraction(math.exp(log)) >= to_fraction(value)
    assert Fraction(math.exp(rest)) <= 1 - to_fraction(value)
    assert log < math.log(1 / 3) + 1e-14
    assert [one[0] for one in curve(0, 0).logs(np.array([1.0]))] == [-math.inf, 0]
    assert [one[0] for one in curve(0, 1).logs(np.array([1.0]))] == [0, -math.inf]
    assert curve(0, 0).log_delta_above(Fraction(1)) == arb.neg_inf()
    assert curve(0, value).log_delta_above(Fraction(1)) > value.log()


def test_what_is_left_of_nearly_one_keeps_its_digits() -> None:
    """1 - (1 - 2^-300)."""
    with precision(400):
        value = 1 - arb(2) ** -300
    assert abs(float(_log_rest(value)) + 300 * math.log(2)) < 1e-9
    assert _log_rest(arb(1)) == arb.neg_inf()


def test_an_epsilon_where_losses_end_is_enclosed() -> None:
    """It need not be a fraction."""
    shown = curve(0, 0)
    shown.tail = SimpleNamespace(
        level=SimpleNamespace(value=Fraction(1, 8), start=lambda: arb(3).log())
    )
    low, high = shown._epsilons(Fraction(1, 8))
    with precision(400):
        assert ball(low) < arb(3).log() < ball(high)


# --- formulas -------------------------------------------------------------------------------------


def _whole(**given: Any) -> Any:
    return SimpleNamespace(**given)


def test_the_range_of_signs_holds_its_ends() -> None:
    """Where δ̂ falls to 1 and to 0 is known as balls; what is asked about ends there."""
    whole = _whole(
        reach=Fraction(9), ranges=lambda: [("part", arb(0), arb(5)), ("rest", arb(5), arb(9))]
    )
    signs = _Signs(whole, lambda: arb(1, 0.125), lambda: arb(6, 0.125))
    asked: list[tuple[Any, ...]] = []
    signs._of_segment = lambda *given: asked.append(given) or []  # type: ignore[method-assign,func-returns-value]
    signs.runs()
    (_, first, middle), (_, after, last) = asked
    assert middle == after == 5
    assert 0.87 < first < 0.876
    assert 6.124 < last < 6.13


def test_a_cell_is_not_narrow_because_it_is_near_the_start() -> None:
    """Only a cell that begins at the start may be as wide as an edge."""
    signs = _Signs(_whole(reach=Fraction(9)), Fraction(1), None)
    wide = SimpleNamespace(is_log=False, taylor=lambda *_: [arb(0, 1)] * 3)
    width = arb(2) ** -140
    with precision(400):
        assert signs._is_narrow(wide, arb(1), 1 + width)  # type: ignore[arg-type]
        assert not signs._is_narrow(wide, arb(1), arb(1.25))  # type: ignore[arg-type]
        assert not signs._is_narrow(wide, arb(2), 2 + width)  # type: ignore[arg-type]


@pytest.mark.parametrize(("curvature", "one"), [(1.0, True), (-1.0, True), (0.0, False)])
def test_a_turn_is_one_where_n_is_monotone(curvature: float, one: bool) -> None:
    """N' has the sign of -δ̂'' where δ̂' = 0; unknown where it is a ball about 0."""
    segment: Any = SimpleNamespace(
        is_log=False, taylor=lambda *_: [arb(0.5), arb(0), arb(curvature, 0.5)]
    )
    assert _has_one_turn(segment, arb(1), arb(1.25)) is one


def test_a_jump_to_zero_is_seen_next_to_the_end() -> None:
    """Beyond its end the formula may be undefined, and the end itself is a ball."""
    end = arb(1, 2.0**-60)

    def taylor(low: arb, high: arb, length: int) -> list[arb]:
        return [arb(0.25) if high < 1 else arb.nan()] * length

    run: Any = SimpleNamespace(segment=SimpleNamespace(is_log=False, taylor=taylor))
    assert _Sweep._drops_to_zero(SimpleNamespace(end=lambda: end), run)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("log", "least"), [(arb(-1, 0.01), math.exp(-0.991)), (arb(-(10**6)), 0.0)]
)
def test_a_formula_is_cut_at_its_largest_value(log: arb, least: float) -> None:
    """The level from there on is not below the ball of it, and not out of reach."""
    last = SimpleNamespace(log=lambda *_: log, tree=None)
    found = formulas._cut(_whole(reach=Fraction(3), segments=[last]), (), (), None)
    tail = found.curve.tail
    assert isinstance(tail, PlateauTail)
    level = tail.value
    assert least < level < least + 0.02
    assert level > 0


def test_a_tail_is_proved_from_its_start_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may be a ball."""
    asked: list[Fraction] = []
    monkeypatch.setattr(formulas, "proved_tail", lambda _, __, start: asked.append(start) or "tail")
    last = SimpleNamespace(tree="tree", is_log=False, start=lambda: arb(2, 0.125))
    assert formulas._tail(_whole(segments=[last]), None, None) == "tail"
    assert asked[0] >= Fraction(17, 8)


def test_a_formula_is_not_looked_at_beyond_its_reach() -> None:
    """Where it is not proved not to rise."""

    def anything(eps: Any, ops: Any) -> Any:
        return SimpleNamespace(log=lambda: arb(-1))

    segment = SimpleNamespace(
        formula=None, cap=arb(1), point=lambda _: arb(0.5), log=lambda *_: arb(-0.5)
    )
    pieces = Piece(Fraction(0), anything), Piece(Fraction(4), anything)
    for reach, found in ((3, 2.0), (1, None)):
        whole = _whole(segments=[segment], reach=Fraction(reach), segment_at=lambda _: segment)
        assert formulas._first_above(whole, pieces) == found


# --- other curves ---------------------------------------------------------------------------------


def test_an_epsilon_at_a_level_is_rounded_outward() -> None:
    """1/10 is no float."""
    level = ApproxDP(epsilon=0.1, delta=1e-6)  # type: ignore[call-arg]
    low, high = level.curve.epsilons_at([Fraction(1, 10**6)])
    assert Fraction(low[0]) < Fraction(1, 10) < Fraction(high[0])


def test_what_is_known_of_parts_is_that_of_the_worse_direction() -> None:
    """Their failures add up and are rounded up; the largest loss is that of either direction."""
    assert _failure([Part(two_valued(Fraction(1), THIRD), 2)]) > 1 - Fraction(4, 9)
    one_sided = FiniteTransform([Fraction(-3), Fraction(1)], [THIRD, 2 * THIRD])
    assert _largest(Part(one_sided, 1)) == 3


def _log(value: Any) -> Any:
    # nothing is known of 1 - δ
    return SimpleNamespace(log=lambda: value, log_complement=arb.nan)


def test_the_largest_curve_on_a_range_is_known_or_not() -> None:
    """-ε and ε - 1 cross at 1/2: on a range about it neither is the larger one."""
    formulas = [lambda eps, _: _log(-eps), lambda eps, _: _log(eps - 1)]
    on = [_largest_on(formulas, arb_series([arb(at, 0.25), 1], 2)) for at in (0, 0.5, 1)]
    assert on == [formulas[0], None, formulas[1]]


@pytest.mark.parametrize(("rest", "is_below"), [("0", True), ("-0.5", True), ("-0.8", False)])
def test_a_curve_that_begins_below_where_another_ends_is_left_out(
    rest: str, is_below: bool
) -> None:
    """The logarithm of a δ that may be 0 is not known, but 1 - δ is: e^-ε on [.5, .9]."""
    formulas = [
        lambda eps, _: SimpleNamespace(log=lambda: -eps, log_complement=(1 - (-eps).exp()).log),
        lambda eps, _: SimpleNamespace(
            log=lambda: eps * arb.nan(), log_complement=lambda: arb(rest)
        ),
    ]
    found = _largest_on(formulas, arb_series([arb(0.7, 0.2), 1], 2))
    assert found == (formulas[0] if is_below else None)


def _line(slope: int, start: arb | int) -> Any:
    def formula(eps: Any, _: Any) -> Any:
        return _log(eps * slope + start)

    piece = SimpleNamespace(formula=formula)
    return SimpleNamespace(enclose=lambda eps: formula(eps, None), pieces_on=lambda *_: [piece])


@pytest.mark.parametrize("bits", [64, 300])
def test_a_crossing_is_enclosed(bits: int) -> None:
    """-ε and log 3 - 2ε."""
    with precision(bits):
        found = Crossing(_line(-1, 0), _line(-2, arb(3).log()), 1.1)()
    with precision(400):
        assert found.contains(arb(3).log().mid())
        assert found.rad() < arb(2) ** (20 - bits)


def test_curves_that_overlap_have_no_sign() -> None:
    """Which one is larger is told only where it is certain."""
    first, second = _line(-1, 0), _line(-1, arb(0.25, 0.125))
    assert Crossing(first, second, 1)._sign(arb(1)) == -1
    assert Crossing(second, first, 1)._sign(arb(1)) == 1
    assert Crossing(first, _line(-1, arb(0, 0.125)), 1)._sign(arb(1)) == 0


def test_a_search_begins_at_or_below_what_is_proved() -> None:
    """1/3 has no ten digits."""
    blank = object.__new__(SmoothCurve)
    problem: Any = SimpleNamespace(curve=blank, tol=Fraction(1, 10**9), least=THIRD, ceiling=None)
    assert THIRD - Fraction(1, 10**9) < _Proof(problem).low < THIRD


def test_a_fast_tail_falls_no_faster_than_it_is_said_to() -> None:
    """-e^{ε/300} where it is proved from: there the bound must be above."""
    tail = proved_tail(parse_expression("-exp(eps/300)", "text"), True, Fraction(0))
    assert isinstance(tail, CoarseDecayTail)
    assert isinstance(tail.start, Fraction)
    assert tail.start**2 / (2 * tail.width**2) <= math.exp(tail.start / 300) * (1 + 1e-9)


FUNCTIONS = {
    "rising": lambda eps: eps - ball(THIRD),
    "falling": lambda eps: ball(THIRD) - eps,
    "rising, lost in rounding": lambda eps: eps - ball(THIRD) + arb(0, 2.0**-40),
    "falling, lost in rounding": lambda eps: ball(THIRD) - eps + arb(0, 2.0**-40),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("ends", [("0", "1"), ("1/5", "1/2"), ("1/3000", "7/20"), ("3/10", "9")])
def test_a_root_lies_between_certain_signs(name: str, ends: tuple[str, str]) -> None:
    """Where rounding hides the sign, the enclosure reaches to where it does not."""
    with precision(128):
        found = _Root(FUNCTIONS[name], *map(Fraction, ends))._solve(100)
        off = 2.0**-40 if "lost" in name else 0.0
        assert found.lower() <= ball(THIRD) - off
        assert found.upper() >= ball(THIRD) + off
        assert found.rad() < 2.0**-36


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "lost" in name])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_root_is_widened_to_both_sides(name: str, side: int) -> None:
    """Also where one of them is certain before the other one."""
    with precision(128):
        middle = (ball(THIRD) + side * arb(2) ** -41).mid()
        found = _Root(FUNCTIONS[name], Fraction(0), Fraction(1))._widened(middle, 100)
        assert found.lower() < ball(THIRD) - arb(2) ** -40
        assert found.upper() > ball(THIRD) + arb(2) ** -40


@pytest.mark.parametrize("value", [1, -1, 0])
def test_a_root_needs_two_signs(value: int) -> None:
    """A function of one sign, or of none."""
    with precision(128), pytest.raises(MorePrecisionError):
        _Root(lambda eps: value + 0 * eps, Fraction(0), Fraction(1))._solve(100)


def test_the_lines_of_the_larger_direction_end_where_floats_say() -> None:
    """At losses of either direction, and where these cross."""
    remove = [(-1, 0.1), (0.5, 0.2), (1, 0.3), (2, 0.4)]
    for add in ([(-0.5, 0.25), (0.1, 0.3), (0.4, 0.45)], [(-2, 0.05), (1, 0.9), (3, 0.05)]):
        lines = PLD(remove=remove, add=add).curve.lines  # type: ignore[attr-defined]
        # what follows the largest loss has no end of its own
        ends = [float(lines.end(number)) for number in range(lines.count - 1)]
        np.testing.assert_allclose(ends, lines.floats.end[:-1])


def test_an_end_that_is_known_beforehand_is_rounded_up() -> None:
    """1/3 in four places."""
    search: Any = SimpleNamespace(
        _is_near_ceiling=True, problem=SimpleNamespace(ceiling=THIRD), places=4
    )
    assert _Search._proved(search, 0, []) == 0
    assert THIRD < search.high < THIRD + Fraction(1, 10**4)


# --- wide balls -----------------------------------------------------------------------------------


def test_what_is_wide_is_rounded_from_its_far_ends() -> None:
    """A ball's decimal, the start of a piece, and where the search for a root begins."""
    wide = arb(1, 0.5)
    assert fraction_above(wide, 3) in (Fraction(3, 2), Fraction(151, 100))
    assert fraction_above(arb(1) / 3, 3) == Fraction(334, 1000)
    low, high = Piece(lambda: wide, lambda *_: None).bracket()  # type: ignore[arg-type]
    assert low.is_exact()
    assert high.is_exact()
    assert low <= 0.5
    assert high >= 1.5
    # log δ̂ = -(ε/4)², for which N is positive at 3/2
    root = _tangent_point(NaiveProfile(lambda eps, _: -(eps * eps) / 16, Fraction(0), lambda: wide))
    assert root is not None
    assert root._low >= Fraction(3, 2)
    # log δ̂ = -1 - ε²/16 starts below its line
    below = NaiveProfile(lambda eps, _: -1 - (eps * eps) / 16, Fraction(0), lambda: wide)
    crossing = _crossing(below, Fraction(2))  # type: ignore[arg-type]
    assert crossing is not None
    assert crossing._high <= Fraction(1, 2)
