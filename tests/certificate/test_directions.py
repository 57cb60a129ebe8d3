"""The checker's ends are the neighbours of what they bound, below and above, whatever the signs."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import pytest
from gmpy2 import mpq

from gdpbridge_verify.arithmetic import Arithmetic, Interval

# few bits, so that every result has to be rounded
AT = Arithmetic(12)
THIRDS = [Fraction(sign * size, 3) for sign in (1, -1) for size in (1, 2, 5, 700)]
RANGES = [(low, high) for low in THIRDS for high in THIRDS if low < high]


def _value(end: object) -> Fraction:
    return Fraction(*(int(part) for part in (mpq(end).numerator, mpq(end).denominator)))


def _neighbours(found: Interval, low: Fraction, high: Fraction) -> None:
    """Assert that the ends are on the right side, each within one unit of its last place."""
    below, above = _value(found.low), _value(found.high)
    assert below <= low
    assert high <= above
    for end, exact in ((below, low), (above, high)):
        assert abs(end - exact) <= abs(exact) * Fraction(1, 2**11)


@pytest.mark.parametrize("of", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_ends_of_what_two_intervals_make(of: Callable[..., Interval]) -> None:
    """Of all four corners, the least rounded down and the largest rounded up, and no further."""
    for one, other in itertools.product(RANGES, RANGES):
        left, right = AT.between(*one), AT.between(*other)
        ends = [[_value(side.low), _value(side.high)] for side in (left, right)]
        if of is operator.truediv and ends[1][0] <= 0 <= ends[1][1]:
            continue
        corners = [of(a, b) for a in ends[0] for b in ends[1]]
        found = of(left, right)
        assert _value(found.low) <= min(corners)
        assert max(corners) <= _value(found.high)
        slack = max(map(abs, corners)) * Fraction(1, 2**10)
        assert _value(found.low) >= min(corners) - slack
        assert _value(found.high) <= max(corners) + slack


def test_ends_of_a_rational_number_are_its_neighbours() -> None:
    """An interval around 1/3 is as narrow as the precision allows."""
    for value in THIRDS:
        _neighbours(AT.exactly(value), value, value)
    for low, high in RANGES:
        _neighbours(AT.between(low, high), low, high)


def test_ends_of_squares() -> None:
    """Of what may be 0 they begin at 0; of any other, at the square of the nearer end."""
    for low, high in RANGES:
        one = AT.between(low, high)
        ends = sorted([_value(one.low) ** 2, _value(one.high) ** 2])
        least = Fraction(0) if low < 0 < high else ends[0]
        _neighbours(one.square(), least, ends[1])


@pytest.mark.parametrize("function", ["exp", "expm1", "log", "log1p", "sqrt", "erfc"])
def test_ends_of_functions(function: str) -> None:
    """The value at each end is rounded to its own side, as a longer precision shows."""
    for low, high in RANGES:
        if low < 0 or high > 5:
            continue
        one = AT.between(low, high)
        found = getattr(one, function)()
        with gmpy2.context(precision=200):
            values = sorted(getattr(gmpy2, function)(end) for end in (one.low, one.high))
            assert found.low < values[0] < values[1] < found.high
            assert found.high - found.low < (values[1] - values[0]) + abs(values[1]) / 500


def test_ends_of_a_hull_are_the_outer_ones() -> None:
    """A hull reaches from the lesser low end to the greater high end."""
    for one, other in itertools.product(RANGES, RANGES):
        found = AT.between(*one).hull(AT.between(*other))
        assert found.low == min(AT.between(*one).low, AT.between(*other).low)
        assert found.high == max(AT.between(*one).high, AT.between(*other).high)


def test_pi_is_between_its_ends() -> None:
    """At twelve bits π lies strictly inside, in an interval of one unit."""
    with gmpy2.context(precision=100):
        assert AT.pi.low < gmpy2.const_pi() < AT.pi.high
        assert AT.pi.high - AT.pi.low < 2e-3


def test_ends_as_intervals_are_points() -> None:
    """Each end on its own is an interval of one number."""
    one = AT.between(Fraction(1, 3), Fraction(5, 3))
    low, high = one.ends()
    assert (low.low, low.high) == (one.low, one.low)
    assert (high.low, high.high) == (one.high, one.high)


def test_a_logarithm_of_what_may_be_undefined_has_no_lower_end() -> None:
    """log(1 + x) for x from below -1 to 1/3 is anything up to log(4/3)."""
    found = AT.between(Fraction(-3, 2), Fraction(1, 3)).log1p()
    assert found.low == -gmpy2.inf()
    with gmpy2.context(precision=100):
        assert gmpy2.log(gmpy2.mpfr(4) / 3) <= found.high < 0.29


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 40])
def test_ends_of_erfc_where_one_value_serves_both(steps: int) -> None:
    """From 1 on the lower end is had from the upper one, and is below the value all the same."""
    for start in range(2048, 3 * 2048, 37):
        one = AT.between(Fraction(start, 2048), Fraction(start + steps * (1 + start // 4096), 2048))
        found = one.erfc()
        with gmpy2.context(precision=200):
            assert found.low <= gmpy2.erfc(one.high) <= gmpy2.erfc(one.low) <= found.high
            near = gmpy2.erfc(one.low) * (1 + gmpy2.exp2(-10))
            assert found.high <= near
