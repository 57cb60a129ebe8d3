"""The checker's intervals and series enclose what they should, and never claim more."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr
from hypothesis import given, settings
from hypothesis import strategies as st

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, Work
from gdpbridge_verify.complexes import cosine
from gdpbridge_verify.gamma import log_gamma
from gdpbridge_verify.refusal import OutOfWork
from gdpbridge_verify.taylor import Taylor
from gdpbridge_verify.trees import parsed

AT = Arithmetic(64)
INFINITE = mpfr("inf")
UNARY = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "sqrt": mpmath.sqrt,
    "erfc": mpmath.erfc,
    "lgamma": mpmath.loggamma,
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}

rationals = st.builds(
    Fraction, st.integers(-(10**6), 10**6), st.integers(1, 10**5)
) | st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 10**30)])


@st.composite
def intervals(draw: st.DrawFn) -> tuple[Interval, Fraction]:
    """An interval and a rational number inside it."""
    a, b, share = draw(rationals), draw(rationals), draw(st.fractions(0, 1, max_denominator=64))
    low, high = min(a, b), max(a, b)
    return AT.between(low, high), low + share * (high - low)


def holds(interval: Interval, value: object) -> bool:
    """Whether an interval holds an mpmath number."""
    return as_mp(interval.low) <= value <= as_mp(interval.high)


def applied(name: str, interval: Interval) -> Interval:
    """A function of an interval by its name."""
    others = {"cos": cosine, "lgamma": log_gamma}
    return others[name](interval) if name in others else getattr(interval, name)()


def as_mp(value: mpfr) -> mpmath.mpf:
    """An mpfr as an mpmath number, exactly."""
    if not gmpy2.is_finite(value):
        return mpmath.mpf(str(value))
    mantissa, exponent = value.as_mantissa_exp()
    return mpmath.ldexp(int(mantissa), int(exponent))


def exact(value: Fraction) -> mpmath.mpf:
    """A rational number to many digits."""
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.fixture(autouse=True)
def many_digits():
    """Sixty digits for the reference."""
    with mpmath.workdps(60):
        yield


@given(rationals)
def test_a_rational_is_enclosed_tightly(value: Fraction) -> None:
    """The ends are the neighbouring numbers, rounded down and up."""
    around = AT.exactly(value)
    low, high = (Fraction(*map(int, end.as_integer_ratio())) for end in (around.low, around.high))
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(1, 2**63)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=60)
@given(intervals(), intervals())
def test_binary_operations_enclose(
    name: str, a: tuple[Interval, Fraction], b: tuple[Interval, Fraction]
) -> None:
    """x∘y lies in X∘Y for every x in X and y in Y."""
    (first, x), (second, y) = a, b
    if name == "div" and y == 0:
        return
    result = BINARY[name](first, second)
    value = BINARY[name](x, y)
    assert (
        Fraction(*map(int, result.low.as_integer_ratio())) <= value
        if gmpy2.is_finite(result.low)
        else result.low < 0
    )
    assert (
        Fraction(*map(int, result.high.as_integer_ratio())) >= value
        if gmpy2.is_finite(result.high)
        else result.high > 0
    )


@given(intervals(), st.integers(-9, 9))
def test_operations_with_whole_numbers_enclose(a: tuple[Interval, Fraction], n: int) -> None:
    """Whole numbers may stand on either side."""
    interval, x = a
    for result, value in [
        (interval + n, x + n),
        (n + interval, n + x),
        (interval - n, x - n),
        (n - interval, n - x),
        (n * interval, n * x),
        *([(interval / n, x / n)] if n else []),
        *([(n / interval, n / x)] if x else []),
    ]:
        assert holds(result, exact(value))


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=40)
@given(intervals())
def test_functions_enclose(name: str, a: tuple[Interval, Fraction]) -> None:
    """f(x) lies in f(X) where f is defined."""
    interval, x = a
    if (
        abs(x) > 10**4
        or (name in ("log", "sqrt", "lgamma") and x <= 0)
        or (name == "log1p" and x <= -1)
    ):
        return
    assert holds(applied(name, interval), UNARY[name](exact(x)))


@given(st.fractions(1, 200), st.fractions(0, 1), st.integers(0, 90))
def test_erfc_of_a_narrow_interval(at: Fraction, share: Fraction, bits: int) -> None:
    """The one evaluation that serves both ends encloses all between them, and hardly more."""
    width = Fraction(1, 2**bits)
    result = AT.between(at, at + width).erfc()
    assert holds(result, mpmath.erfc(exact(at + share * width)))
    truth = mpmath.erfc(exact(at)) - mpmath.erfc(exact(at + width))
    slack = mpmath.erfc(exact(at)) * mpmath.mpf(2) ** -40
    assert as_mp(result.high) - as_mp(result.low) <= 2 * truth + slack


@given(intervals())
def test_squares_and_negation_enclose(a: tuple[Interval, Fraction]) -> None:
    """A square is not negative; negation swaps the ends."""
    interval, x = a
    assert holds(interval.square(), exact(x * x))
    assert interval.square().low >= 0
    assert holds(-interval, exact(-x))


COARSE = Arithmetic(4)
POINTS = [Fraction(n, 16) for n in (-37, -21, -3, 0, 3, 19, 41)]
RANGES = [(a, b) for a in POINTS for b in POINTS if a <= b]


def coarse(low: Fraction, high: Fraction) -> Interval:
    """An interval whose ends have more digits than what comes of it."""
    return Interval(COARSE, mpfr(low), mpfr(high))


@pytest.mark.parametrize("name", BINARY)
def test_every_rounding_of_an_operation_is_outward(name: str) -> None:
    """With four bits nearly each end is rounded, and by much: all signs, all corners."""
    operation = BINARY[name]
    for first in RANGES:
        for second in RANGES:
            if name == "div" and second[0] <= 0 <= second[1]:
                continue
            result = operation(coarse(*first), coarse(*second))
            corners = [operation(x, y) for x in first for y in second]
            assert result.low <= min(corners)
            assert result.high >= max(corners)


@pytest.mark.parametrize("name", [*UNARY, "cos", "square", "__neg__"])
def test_every_rounding_of_a_function_is_outward(name: str) -> None:
    """With four bits nearly each end is rounded, and by much."""
    others = {"cos": mpmath.cos, "square": lambda x: x * x, "__neg__": lambda x: -x}
    function = (UNARY | others)[name]
    for low, high in RANGES:
        if low < 0 and name in ("log", "log1p", "sqrt", "lgamma"):
            continue
        if low == 0 and name == "lgamma":
            assert log_gamma(coarse(low, high)).high == INFINITE
            continue
        around = coarse(low, high)
        result = applied(name, around)
        for x in (low, high):
            assert (x == 0 and name == "log") or holds(result, function(exact(x)))


def test_the_least_log_gamma_is_in_what_holds_its_place() -> None:
    """It is at 1.46163…, between ends at which it is larger, and to either side it is the ends'."""
    place = mpmath.findroot(mpmath.digamma, 1.46)
    least = mpmath.loggamma(place)
    for low, high in [("1", "2"), ("1.4616", "1.4617"), ("1.46163", "1.46164"), ("1.46", "9")]:
        found = log_gamma(AT.between(Fraction(low), Fraction(high)))
        assert holds(found, least)
        assert as_mp(found.low) > least - mpmath.mpf(10) ** -8
        assert all(holds(found, mpmath.loggamma(mpmath.mpf(end))) for end in (low, high))
    for low, high in [("0.5", "1.4616"), ("1.462", "3")]:
        found = log_gamma(AT.between(Fraction(low), Fraction(high)))
        ends = sorted(mpmath.loggamma(mpmath.mpf(end)) for end in (low, high))
        assert abs(as_mp(found.low) - ends[0]) < mpmath.mpf(10) ** -15
        assert abs(as_mp(found.high) - ends[1]) < mpmath.mpf(10) ** -15


def test_a_cosine_past_its_least_value_is_anything() -> None:
    """It falls to π only."""
    around = cosine(AT.between(Fraction(3), Fraction(5)))
    assert around.low <= -1
    assert around.high >= mpmath.cos(5)


def test_a_hull_holds_both() -> None:
    """Whichever comes first; the ends are its own."""
    first, second = AT.between(Fraction(1), Fraction(2)), AT.between(Fraction(3), Fraction(4))
    for hull in (first.hull(second), second.hull(first)):
        assert [(end.low, end.high) for end in hull.ends()] == [(1, 1), (4, 4)]


def test_the_larger_one_of_two_numbers() -> None:
    """Each end is the larger one, whichever comes first; beside 0 too."""
    first, second = AT.between(Fraction(-1), Fraction(4)), AT.between(Fraction(-3), Fraction(5))
    for larger in (first.larger(second), second.larger(first)):
        assert (larger.low, larger.high) == (-1, 5)
    assert (first.positive().low, first.positive().high) == (0, 4)
    assert (-second).larger(first).low == -1
    below = AT.between(Fraction(-2), Fraction(-1)).positive()
    assert (below.low, below.high) == (0, 0)


def test_at_a_kink_both_slopes_are_enclosed() -> None:
    """|ε - 2| on [1, 3]; the next coefficient may be anything, and so it is at an end if asked."""
    node, around = parsed("delta = abs(eps - 2)", {})[0], AT.between(Fraction(1), Fraction(3))
    value, slope, bend = Taylor(AT, 2).about(node, around)
    assert (value.low, value.high, slope.low, slope.high) == (0, 1, -1, 1)
    assert (bend.low, bend.high) == (-INFINITE, INFINITE)
    after = AT.between(Fraction(2), Fraction(3))
    assert [one.low for one in Taylor(AT, 2).about(node, after)] == [0, 1]
    assert Taylor(AT, 2, smooth=True).about(node, after)[2].low == -INFINITE


def test_both_ends_of_a_range_are_rounded_outward() -> None:
    """Neither third has four bits."""
    around = COARSE.between(Fraction(1, 3), Fraction(2, 3))
    assert around.low < Fraction(1, 3) < Fraction(2, 3) < around.high


def test_negation_keeps_all_digits() -> None:
    """The bare minus sign of gmpy2 would round to 53 bits."""
    third = Arithmetic(300).exactly(Fraction(1, 3))
    opposite = -third
    assert opposite.low == Arithmetic(300).exactly(Fraction(-1, 3)).low
    assert (third + opposite).high < mpfr(2) ** -298


def test_rounding_is_outward() -> None:
    """What is not representable is enclosed by two different numbers."""
    third = AT.exactly(Fraction(1, 3))
    for result in (
        third, third + 1, third * third, third / 7, third.exp(), third.log(), third.erfc(),
        third.expm1(), third.log1p(), third.sqrt(), third.square(), AT.pi,
    ):  # fmt: skip
        assert result.low < result.high


def test_pi() -> None:
    """The constant is enclosed at any precision."""
    for bits in (53, 64, 500):
        with mpmath.workprec(700):
            assert holds(Arithmetic(bits).pi, +mpmath.pi)


def everything() -> Interval:
    """The whole line."""
    return Interval(AT, -INFINITE, INFINITE)


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: AT.exactly(0) * everything(),
        lambda: everything() * AT.exactly(0),
        lambda: AT.between(Fraction(-1), Fraction(0)) * Interval(AT, INFINITE, INFINITE),
        lambda: AT.exactly(1) / AT.between(Fraction(-1), Fraction(1)),
        lambda: AT.exactly(1) / AT.exactly(0),
        lambda: 1 / AT.between(Fraction(0), Fraction(1)),
        lambda: AT.exactly(-1).log(),
        lambda: AT.exactly(0).log(),
        lambda: AT.exactly(-2).log1p(),
        lambda: AT.exactly(-1).sqrt(),
        lambda: everything() - everything(),
        lambda: everything() + everything(),
        lambda: everything() / everything(),
        lambda: Interval(AT, INFINITE, INFINITE) - Interval(AT, INFINITE, INFINITE),
        lambda: Interval(AT, mpfr("nan"), mpfr("nan")) * AT.exactly(1),
        lambda: Interval(AT, mpfr("nan"), mpfr("nan")) + 1,
    ],
)
def test_what_is_undefined_compares_with_nothing(undefined) -> None:
    """No comparison with an undefined value is true."""
    value = undefined()
    for other in (0, AT.exactly(5), everything()):
        assert not value < other
        assert not value <= other
        assert not value > other
        assert not value >= other


def test_overflow_and_underflow_stay_enclosed() -> None:
    """e^huge is between a huge number and infinity; e^-huge and erfc(huge) between 0 and tiny."""
    huge = AT.exactly(2**300)
    assert huge.exp().high == INFINITE
    assert gmpy2.is_finite(huge.exp().low)
    for tiny in ((-huge).exp(), huge.erfc()):
        assert tiny.low == 0 < tiny.high
        assert not tiny > 0
        assert tiny.log().low == -INFINITE
    assert not huge.exp() * huge.erfc() > 0


def test_a_log_that_reaches_zero_has_no_lower_bound() -> None:
    """log [0, 1] = [-∞, 0]."""
    around = AT.between(Fraction(0), Fraction(1)).log()
    assert around.low == -INFINITE
    assert around.high == 0


@given(intervals(), rationals)
def test_operations_with_fractions_enclose(a: tuple[Interval, Fraction], n: Fraction) -> None:
    """Fractions may stand on either side, and whole numbers of any size."""
    interval, x = a
    for number in (n, 2**70 + 1):
        for result, value in [
            (interval + number, x + number),
            (number - interval, number - x),
            (interval * number, x * number),
            *([(interval / number, x / number)] if number else []),
            *([(number / interval, number / x)] if x else []),
        ]:
            assert holds(result, exact(Fraction(value)))


def test_large_whole_numbers_are_not_rounded() -> None:
    """2^70 + 1 has more than 64 bits."""
    wide = Arithmetic(100)
    assert (wide.exactly(1) * (2**70 + 1)).low == 2**70 + 1
    assert not wide.exactly(2**70) >= 2**70 + 1


def test_levels_are_compared_on_the_sharper_scale() -> None:
    """1 - 2^-100 and 1 - 2^-101 are the same number of 64 bits, but not their complements."""
    small, smaller = (AT.exactly(Fraction(1, 2**bits)) for bits in (100, 101))
    one, other = (Level(1 - rest, rest) for rest in (small, smaller))
    assert one.under(other) > 0 > other.under(one)
    low, high = (Level.of(AT.exactly(Fraction(k, 8))) for k in (1, 2))
    assert low.under(high) > 0 > high.under(low)


SERIES = {
    "exp": ("exp(eps)", mpmath.exp, 0),
    "expm1": ("expm1(eps)", mpmath.expm1, 0),
    "log": ("log(eps)", mpmath.log, 1),
    "log1p": ("log1p(eps)", mpmath.log1p, 1),
    "square": ("eps**2", lambda x: x * x, 0),
    "log of a sum": ("log(exp(eps)+exp(eps)-1)", lambda x: mpmath.log(2 * mpmath.exp(x) - 1), 0),
    "a difference": ("sqrt(eps) - eps**2", lambda x: mpmath.sqrt(x) - x * x, 1),
    "a quotient": ("3*eps/exp(eps)", lambda x: 3 * x * mpmath.exp(-x), 0),
    "powers": ("eps**-3 + eps**0.3", lambda x: x**-3 + x ** mpmath.mpf("0.3"), 1),
    "the smaller one": ("min(eps**2, 2 - eps)", lambda x: min(x * x, 2 - x), 0),
}


@pytest.mark.parametrize("name", SERIES)
@settings(max_examples=25)
@given(st.fractions(0, 3), st.fractions(0, 1), st.fractions(0, 1))
def test_series_enclose_derivatives(
    name: str, start: Fraction, width: Fraction, share: Fraction
) -> None:
    """Value and slope at every point of a range are enclosed."""
    text, function, shift = SERIES[name]
    low = start + shift
    found = Taylor(AT, 1).about(parsed(f"delta = {text}", {})[0], AT.between(low, low + width))
    at = exact(low + share * width)
    slope = mpmath.diff(function, at)
    error = mpmath.mpf(10) ** -15  # of mpmath's numerical derivatives
    assert holds(found[0], function(at))
    # next to a kink they are those of neither side
    if name != "the smaller one" or abs(at - 1) > mpmath.mpf(10) ** -6:
        assert as_mp(found[1].low) - error <= slope <= as_mp(found[1].high) + error


def test_work_is_limited() -> None:
    """A budget of work ends, and no budget does not."""
    with pytest.raises(OutOfWork):
        Arithmetic(8192, Work(1000)).exactly(60).erfc()
    work = Work()
    Arithmetic(64, work).exactly(60).erfc()
    assert 0 < work.spent < math.inf


def test_more_bits_are_charged_as_more_work() -> None:
    """Lines that no precision decides went on to 8192 bits at the price of few."""
    work = Work()
    for bits, spent in ((64, 1), (256, 2), (8192, 66)):
        Arithmetic(bits, work).charge(1)
        assert work.spent == pytest.approx(spent)
