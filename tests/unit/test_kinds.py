"""The operations agree on floats, balls and series, and flint's precision is always put back."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb, arb_series

from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    SERIES,
    Operations,
    Probability,
    ball,
    float_above,
    float_below,
    to_fraction,
)

Formula = Callable[[Operations, Any], Any]

# each with the arguments it is tried at
OPERATIONS: dict[str, tuple[Formula, list[float]]] = {
    "exp": (lambda ops, x: ops.exp(x), [-700.5, -1.0, 0.25, 30.0]),
    "log": (lambda ops, x: ops.log(x), [1e-300, 0.75, 2.0, 1e300]),
    "expm1": (lambda ops, x: ops.expm1(x), [-40.0, -1e-12, 1e-300, 2.0]),
    "log1p": (lambda ops, x: ops.log1p(x), [-0.75, 1e-300, 1e-12, 5.0]),
    "log1mexp": (lambda ops, x: ops.log1mexp(x), [-700.0, -2.0, -0.5, -1e-12, -1e-300]),
    "log1pexp": (lambda ops, x: ops.log1pexp(x), [-700.0, -1.0, 0.0, 30.0]),
    "logaddexp": (lambda ops, x: ops.logaddexp(2 * x, -x), [-300.0, -0.25, 0.0, 300.0]),
    "sqrt": (lambda ops, x: ops.sqrt(x), [1e-300, 2.0]),
    "erfc": (lambda ops, x: ops.erfc(x), [-3.0, 0.5, 20.0]),
    "log_erfc": (lambda ops, x: ops.log_erfc(x), [-3.0, 0.5, 20.0, 100.0]),
    "lgamma": (lambda ops, x: ops.lgamma(x), [0.25, 3.5, 40.0, 1e5]),
    "absolute": (lambda ops, x: ops.absolute(x), [-2.0, 3.0]),
    "minimum": (lambda ops, x: ops.minimum(x * x, x), [-2.0, 0.5, 3.0]),
    "power": (lambda ops, x: ops.power(x, Fraction(-3, 2)), [0.5, 7.0]),
    "whole power": (lambda ops, x: ops.power(x, Fraction(-3)), [-2.0, 0.5]),
    "divide": (lambda ops, x: ops.divide(x + 1, x), [-3.0, 0.5]),
}


def test_every_operation_is_tried() -> None:
    """The table above names each operation that formulas may use."""
    abstract = {name for name, _ in inspect.getmembers(Operations) if not name.startswith("_")}
    assert abstract - {"constant"} <= set(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
def test_floats_lie_next_to_balls(name: str) -> None:
    """The float result is the ball's number to a few units in the last place."""
    formula, arguments = OPERATIONS[name]
    floats = np.asarray(formula(FLOATS, np.array(arguments)))
    # log(1 - e^-700) is known to absolute accuracy only
    with precision(1300):
        for x, value in zip(arguments, floats, strict=True):
            enclosure = formula(BALLS, arb(x))
            assert enclosure.rel_accuracy_bits() > 200
            error = abs(arb(float(value)) - enclosure) / abs(enclosure)
            assert error < 4e-15, (x, value, enclosure)


@pytest.mark.parametrize("name", OPERATIONS)
def test_series_begin_with_the_ball_and_hold_the_derivatives(name: str) -> None:
    """The constant term is the ball's; the next two are the derivatives, by finite differences."""
    formula, arguments = OPERATIONS[name]
    with precision(2000):
        step = arb(2) ** -120
        for x in arguments:
            if abs(x) < 1e-100:
                continue  # the step would not be small beside x
            h = step * abs(arb(x)) if x else step
            at = [formula(BALLS, arb(x) + k * h) for k in (-1, 0, 1)]
            series = formula(SERIES, arb_series([x, 1], 3))
            assert series[0].overlaps(at[1])
            slope, curvature = (at[2] - at[0]) / (2 * h), (at[2] - 2 * at[1] + at[0]) / (h * h)
            scale = (abs(slope) + abs(at[1])) * arb(2) ** -60
            assert abs(series[1] - slope) <= scale, x
            assert abs(2 * series[2] - curvature) <= scale / abs(h) * arb(2) ** -100, x


@pytest.mark.parametrize("name", OPERATIONS)
def test_series_over_a_range_hold_those_at_its_points(name: str) -> None:
    """On a ball of positive radius each coefficient encloses its values all over the ball."""
    formula, arguments = OPERATIONS[name]
    with precision(200):
        for x in arguments:
            low, high = arb(x), arb(x) + abs(arb(x)) / 16 + arb(2) ** -20
            wide = formula(SERIES, arb_series([low.union(high), 1], 3))
            for share in (0, 0.25, 1):
                point = (low + (high - low) * share).mid()
                narrow = formula(SERIES, arb_series([point, 1], 3))
                for k in range(3):
                    assert wide[k].is_nan() or wide[k].contains(narrow[k].mid()), (x, k)


def test_constants_are_enclosed_at_the_precision_in_force() -> None:
    """A rational becomes the tightest ball, a function is asked again at each precision."""
    third = Fraction(1, 3)
    assert FLOATS.constant(third) == float(third)
    assert FLOATS.constant(arb.pi) == pytest.approx(np.pi, rel=1e-16)
    for bits in (64, 256):
        with precision(bits):
            assert BALLS.constant(third).rel_accuracy_bits() >= bits - 2
            assert BALLS.constant(arb.pi).rel_accuracy_bits() >= bits - 2
            assert (3 * BALLS.constant(third)).contains(1)


@pytest.mark.parametrize("value", [Fraction(0), Fraction(3, 1024), Fraction(-(10**40))])
def test_exact_balls_and_fractions_are_the_same_numbers(value: Fraction) -> None:
    """A dyadic number survives the way there and back."""
    with precision(300):
        assert to_fraction(ball(value)) == value


def test_a_ball_with_a_radius_is_no_fraction() -> None:
    """Only exact balls have a value."""
    with precision(64), pytest.raises(ValueError, match=r"."):
        to_fraction(ball(Fraction(1, 3)))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exponent", [-(10**12), -5000, -1075, -300, 0, 300, 1024, 10**12])
def test_floats_about_a_ball(sign: int, exponent: int) -> None:
    """Directed floats of a ball are right however large or small it is, and at once."""
    with precision(64):
        value = sign * arb(2) ** exponent * (1 + ball(Fraction(1, 3)) / 2**50)
        low, high = float_below(value), float_above(value)
        assert low <= high
        assert not (np.isfinite(low) and not arb(low) <= value)
        assert not (np.isfinite(high) and not arb(high) >= value)
        if abs(exponent) < 1000:
            assert high - low <= 4 * np.spacing(abs(high))


def test_probability_from_either_logarithm() -> None:
    """Each of the two logarithms follows from the other."""
    with precision(200):
        p = Probability.from_log(BALLS, arb(-3))
        q = Probability.from_log_complement(BALLS, p.log_complement())
        assert q.log().overlaps(arb(-3))
        assert (p.log().exp() + p.log_complement().exp()).overlaps(arb(1))


def test_logarithms_beyond_one_are_clipped_in_floats() -> None:
    """Above 0, where a probability is clipped to 0, log(1 - e^x) is -inf and not nan."""
    assert list(FLOATS.log1mexp(np.array([0.0, 0.5]))) == [-np.inf, -np.inf]


# --- flint's context -------------------------------------------------------------------------


def test_precision_is_restored_after_an_error() -> None:
    """An exception inside leaves the precision as it was."""
    before = flint.ctx.prec, flint.ctx.cap
    seen = []

    def fail() -> None:
        with precision(777, 5):
            seen.append((working_precision(), flint.ctx.cap))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [(777, 5)]
    assert (flint.ctx.prec, flint.ctx.cap) == before


def test_precision_nests() -> None:
    """Each level has its own precision and gives back the one outside."""
    with precision(100):
        with precision(200):
            assert working_precision() == 200
        assert working_precision() == 100


def test_threads_do_not_share_a_precision() -> None:
    """Two threads at different precisions never see each other's."""
    wrong: list[int] = []

    def work(bits: int) -> None:
        for _ in range(200):
            with precision(bits):
                first = arb(2).sqrt()
                seen = {working_precision(), working_precision()}
                if seen != {bits} or not bits - 4 < first.rel_accuracy_bits() <= bits + 4:
                    wrong.append(bits)

    before = flint.ctx.prec
    threads = [threading.Thread(target=work, args=(bits,)) for bits in (80, 300, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert flint.ctx.prec == before


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10) ** 400, Fraction(1, 10**400)])
def test_floats_about_a_wide_ball(scale: Fraction) -> None:
    """They are below and above every number of it, also where floats do not reach."""
    low, high = scale / 3, 2 * scale
    for sign in (1, -1):
        value = (sign * ball(low)).union(sign * ball(high))
        below, above = float_below(value), float_above(value)
        ends = sorted([sign * low, sign * high])
        assert below == -math.inf or Fraction(below) <= ends[0]
        assert above == math.inf or Fraction(above) >= ends[1]
        if scale == 1:
            assert Fraction(above) - Fraction(below) < (high - low) * Fraction(10001, 10000)


def test_the_smaller_one_of_two_constants_among_series() -> None:
    """Where neither is a series, the smaller one is what it is of balls."""
    assert SERIES.minimum(arb(1), arb(2)) == 1
    assert SERIES.minimum(arb(2), arb(1)) == 1


def test_exponentials_beyond_reach_are_bounded() -> None:
    """e^x of a huge x < 0 is next to 0, of -∞ it is 0, and of a huge x > 0 nothing is known."""
    huge = arb(2) ** 300
    small = BALLS.exp(-huge)
    assert small.contains(0)
    assert small < arb(2) ** -1000
    assert BALLS.exp(arb.neg_inf()).is_zero()
    assert BALLS.exp(huge).is_nan()
    assert BALLS.expm1(-huge).contains(-1)
    assert BALLS.erfc(huge).contains(0)


def test_next_to_a_kink_both_slopes_count() -> None:
    """|x| and the smaller one of x and -x, where x may be of either sign, have either slope."""
    x = arb_series([arb(0, 1), 1], 2)
    for value in (SERIES.absolute(x), SERIES.minimum(x, -x)):
        assert value[1].contains(1)
        assert value[1].contains(-1)
    assert SERIES.absolute(x)[0].contains(0.5)
    assert SERIES.absolute(arb_series([arb(2), 1], 2))[1] == 1
    assert SERIES.absolute(arb_series([arb(-2), 1], 2))[1] == -1
