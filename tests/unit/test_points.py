"""Points of a curve, to the last digit: bounds never cross what they bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from gdpbridge.curves.constants import constant_text, exceeds, interval_around, upper_bound
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.points import (
    delta_interval,
    enclosed,
    least_epsilon,
    log_delta_above,
    proved_delta,
    proved_deltas,
    proved_epsilons,
    proved_from,
)
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import UndecidedError
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, float_ceiling, float_floor
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import Probability, ball, to_fraction

Enclose = Callable[[arb], Probability]
_THIRD = Fraction(1, 3)


def _constant(value: Fraction) -> Enclose:
    return lambda _: Probability(lambda: ball(value).log(), lambda: ball(1 - value).log())


def _decay(eps: arb) -> Probability:
    """δ = e^-ε."""
    return Probability(lambda: -eps, (-(-eps).expm1()).log)


def _never_told_from_zero(most: Fraction) -> Enclose:
    """What no precision tells from 0, and is at most a number."""
    return lambda _: Probability(arb.nan, lambda: ball(1 - most).log().union(arb(0)))


@pytest.mark.parametrize("value", [_THIRD, Fraction(1, 10**30), 1 - Fraction(1, 10**25)])
def test_floats_are_the_neighbours_of_delta(value: Fraction) -> None:
    """The bounds of δ are the float below and the float above."""
    low, high = proved_deltas(_constant(value), [Fraction(0.5), Fraction(2.0)])
    assert low.tolist() == [float_floor(value)] * 2
    assert high.tolist() == [float_ceiling(value)] * 2


def test_delta_stays_a_probability() -> None:
    """Bounds do not leave [0, 1], whatever the balls do."""

    def blurred(centre: arb) -> Enclose:
        return lambda _: Probability((centre + arb(0, 2**-100)).log, arb.nan)

    low, high = proved_deltas(blurred(arb(1)), [Fraction(1.0)])
    assert low[0] < high[0] == 1.0
    low, high = proved_deltas(_never_told_from_zero(Fraction(1, 2)), [Fraction(1.0)])
    assert low[0] == 0.0
    assert 0.5 <= high[0] < 0.5000001


def test_what_is_not_told_from_zero_is_still_bounded() -> None:
    """Where log δ is unknown, 1 - δ bounds it: the upper bound is not merely the least float."""
    for most in (Fraction(1, 2), Fraction(3, 10**9)):
        enclose = _never_told_from_zero(most)
        low, high = proved_delta(enclose, Fraction(1))
        assert low == 0
        # what is known of the radius of a ball is a few digits
        assert most <= to_fraction(high) < most * (1 + Fraction(1, 10**4))
        assert Fraction(delta_interval(enclose, Fraction(1)).high) >= most
        assert log_delta_above(enclose, Fraction(1)).upper() >= math.log(most)


def test_nothing_known_is_anything() -> None:
    """Where neither δ nor 1 - δ is known, it may be anything."""
    low, high = proved_deltas(lambda _: Probability(arb.nan, arb.nan), [Fraction(1.0)])
    assert (low[0], high[0]) == (0.0, 1.0)


def test_precision_is_raised_until_seventy_bits_agree() -> None:
    """δ = (1 + e^-900) - 1 needs 1,400 bits, and gets them."""

    def enclose(_: arb) -> Probability:
        value = (1 + arb(-900).exp()) - 1
        return Probability(value.log, (1 - value).log)

    low, high = proved_delta(enclose, Fraction(0))
    with precision(2000):
        exact = arb(-900).exp()
        assert low <= exact <= high
        assert (high - low) / exact < arb(2) ** -70


def test_an_interval_for_delta_is_rounded_outward() -> None:
    """Twenty digits, the last one down and up."""
    found = delta_interval(_constant(_THIRD), Fraction(1))
    assert found == Interval("0." + "3" * 20, "0." + "3" * 19 + "4")
    tiny = delta_interval(lambda _: Probability(lambda: arb(-20_000), arb.nan), Fraction(1))
    assert tiny == Interval(0, "1e-4000")
    nothing = delta_interval(lambda _: Probability(arb.neg_inf, lambda: arb(0)), Fraction(1))
    assert nothing == Interval(0, 0)
    # just above the least number that is written out
    log = lambda: (arb(10) ** -4000).log() + arb(1) / 10**9  # noqa: E731
    small = delta_interval(lambda _: Probability(log, arb.nan), Fraction(1))
    assert Decimal("1e-4000") < small.low < small.high < Decimal("1.00000001e-4000")


def test_a_logarithm_of_an_upper_bound_is_not_below_it() -> None:
    """log δ is bounded from above; of δ = 0 it is -∞."""
    found = log_delta_above(_constant(_THIRD), Fraction(1))
    with precision(300):
        assert found.upper() >= ball(_THIRD).log().upper()
        assert found.upper() <= ball(_THIRD).log() + arb(2) ** -60
    zero = log_delta_above(lambda _: Probability(arb.neg_inf, lambda: arb(0)), Fraction(1))
    assert zero == arb.neg_inf()


@pytest.mark.parametrize("off", [-1e-9, -1e-15, 0.0, 1e-15, 1e-9])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-300])
def test_the_least_epsilon_is_between_floats(off: float, delta: float) -> None:
    """However the guess is off, ε = -log δ is enclosed, and closely."""
    true = -math.log(delta)
    low, high = proved_epsilons(_decay, [Fraction(delta)], np.array([true * (1 + off)]))
    with precision(200):
        exact = -arb(delta).log()
        assert arb(float(low[0])) <= exact <= arb(float(high[0]))
    assert high[0] - low[0] <= 4 * (abs(off) * true + 4 * math.ulp(true))


def test_an_epsilon_beyond_the_largest_guess_is_not_below_what_is_proved() -> None:
    """A guess of ∞ is not believed: only where δ is proved to be above is ε above."""
    low, high = proved_epsilons(_decay, [Fraction(1, 2)], np.array([np.inf]))
    assert low[0] <= math.log(2)
    assert high[0] == math.inf
    low, high = proved_epsilons(_constant(_THIRD), [Fraction(1, 4)], np.array([np.inf]))
    assert (low[0], high[0]) == (1e5, math.inf)


def test_an_epsilon_of_a_delta_that_is_never_reached() -> None:
    """A guess from which no ε is found raises."""
    with pytest.raises(UndecidedError, match="no ε was found"):
        proved_epsilons(_constant(_THIRD), [Fraction(1, 4)], np.array([1.0]))


def _stairs(eps: arb) -> Probability:
    """δ = 1/2 below 1, 1/4 from 1 on, and 0 from 2 on."""
    if eps >= 2:
        return Probability(arb.neg_inf, lambda: arb(0))
    return _constant(Fraction(1, 2) if eps < 1 else Fraction(1, 4))(eps)


@pytest.mark.parametrize(
    ("delta", "least"),
    [
        (Fraction(3, 4), 0.0),
        (Fraction(1, 3), 1.0),
        (Fraction(1, 5), 2.0),
    ],
)
def test_a_step_is_found_to_the_float(delta: Fraction, least: float) -> None:
    """δ falls below the number at a float: that one, and the one before it."""
    found = least_epsilon(_stairs, delta)
    assert found.high == Decimal(least)
    assert found.low == Decimal(math.nextafter(least, 0.0) if least else 0.0)
    assert proved_from(_stairs, delta) == Fraction(least)


def test_an_epsilon_is_never_proved_too_early() -> None:
    """For e^-ε the proved ε is the float above -log δ, and the one before is not enough."""
    found = least_epsilon(_decay, _THIRD)
    with precision(200):
        exact = -ball(_THIRD).log()
        assert ball(Fraction(found.low)) < exact < ball(Fraction(found.high))
    assert found.high == Decimal(math.nextafter(float(found.low), 10.0))
    assert proved_from(_decay, _THIRD) == Fraction(found.high)


def test_a_delta_a_hair_above_is_above() -> None:
    """δ = 1/3 + 2^-400 is above 1/3 everywhere, which 160 bits do not tell; 2^-400 less is not."""
    hair = Fraction(1, 2**400)
    assert least_epsilon(_constant(_THIRD + hair), _THIRD) == Interval("Infinity", "Infinity")
    assert least_epsilon(_constant(_THIRD - hair), _THIRD) == Interval(0, 0)


def test_no_epsilon_will_do() -> None:
    """Where δ stays above the number, ε is infinite, or not found."""
    assert least_epsilon(_constant(_THIRD), Fraction(1, 4)) == Interval("Infinity", "Infinity")
    assert least_epsilon(_decay, Fraction(0)) == Interval("Infinity", "Infinity")
    with pytest.raises(UndecidedError, match="no ε was found"):
        proved_from(_constant(_THIRD), Fraction(1, 4))


def test_a_number_is_enclosed_in_twenty_digits() -> None:
    """Any number ≥ 0, however much cancels in it, rounded outward."""
    assert enclosed(lambda: ball(_THIRD)) == Interval("0." + "3" * 20, "0." + "3" * 19 + "4")
    assert enclosed(lambda: arb(0)) == Interval(0, 0)
    small = enclosed(lambda: (1 + arb(-800).exp()) - 1)
    assert Decimal("3.66787458417768721e-348") < small.low < small.high
    assert small.high < Decimal("3.66787458417768722e-348")
    assert enclosed(lambda: arb(-20_000).exp()) == Interval(0, "1e-4000")
    assert enclosed(lambda: arb(0).union(arb(-20_000).exp())) == Interval(0, "1e-4000")
    with pytest.raises(UndecidedError):
        enclosed(lambda: arb(1) + arb(0, 0.1))


def test_constants_are_rounded_outward() -> None:
    """An interval around a constant holds it, an upper bound is above it, and hardly."""
    root = lambda: arb(2).sqrt()  # noqa: E731
    found = interval_around(root, 20)
    assert Fraction(found.low) ** 2 < 2 < Fraction(found.high) ** 2
    assert Fraction(found.high) - Fraction(found.low) == Fraction(1, 10**19)
    third = interval_around(_THIRD, 20)
    assert (third.low, third.high) == (decimal_floor(_THIRD, 20), decimal_ceiling(_THIRD, 20))
    assert third.low < third.high
    assert 2 < upper_bound(root) ** 2 < 2 + Fraction(1, 10**70)
    assert upper_bound(_THIRD) == _THIRD


@pytest.mark.parametrize("sign", [1, -1])
def test_a_constant_a_hair_from_a_decimal_is_within_its_interval(sign: int) -> None:
    """1/2 ± 1e-30, which the precision for twenty digits does not tell from 1/2, is inside."""
    value = Fraction(1, 2) + sign * Fraction(1, 10**30)
    found = interval_around(lambda: ball(value), 20)
    assert Fraction(found.low) < value < Fraction(found.high)


def test_the_digits_of_a_constant_are_certain() -> None:
    """Digits that are shown before the dots are those of the number."""
    assert constant_text(lambda: ball(Fraction(2, 3))) == "0.6666666666…"
    assert constant_text(Fraction(2, 3)) == "0.6666666666…"
    assert constant_text(Fraction(5, 4)) == "1.25"


def test_at_its_very_end_a_curve_is_zero() -> None:
    """δ = 0 at an end that balls do not hold exactly, and is positive just before it."""
    end = _THIRD
    curve = SmoothCurve(
        (Piece(Fraction(0), lambda eps, ops: Probability.from_log(ops, -eps - 1)),),
        ConstantTail(end, Fraction(0)),
        end,
    )
    assert curve.delta_at(end) == Interval(0, 0)
    assert curve.log_delta_above(end) == arb.neg_inf()
    assert curve.deltas_at([end])[1].tolist() == [0.0]
    before = end - Fraction(1, 10**20)
    assert curve.delta_at(before).low > Decimal("0.26")
    assert curve.log_delta_above(before) > -2


def test_constants_are_compared_until_it_is_decided() -> None:
    """A constant is above a number or not; one that no precision tells apart is undecided."""
    root = lambda: arb(2).sqrt()  # noqa: E731
    near = Fraction(math.isqrt(2 * 10**400), 10**200)
    assert exceeds(root, near)
    assert not exceeds(root, near + Fraction(1, 10**200))
    assert exceeds(_THIRD, Fraction(1, 4))
    assert not exceeds(_THIRD, _THIRD)
    with pytest.raises(UndecidedError):
        exceeds(lambda: arb(2).sqrt() ** 2, Fraction(2))


def test_a_bracket_is_wide_enough_to_tell_both_sides() -> None:
    """A breakpoint lies strictly between the ends of its bracket, by half the precision."""
    piece = Piece(lambda: arb(2).sqrt(), lambda *_: _decay(arb(1)))
    with precision(128):
        low, high = piece.bracket()
        root = arb(2).sqrt()
        assert low < root < high
        assert abs(high - low - 2 * root * arb(2) ** -64) < arb(2) ** -120
        assert working_precision() == 128
        assert low.is_exact()
        assert high.is_exact()
    exact = Piece(Fraction(1, 2), lambda *_: _decay(arb(1)))
    assert exact.bracket() == (arb(0.5), arb(0.5))
