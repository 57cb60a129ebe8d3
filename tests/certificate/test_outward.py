"""The checker's bounds for composed losses are on their own side, whatever they are made of."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import pytest
from gmpy2 import mpc, mpfr

from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.complexes import Ball, Complexes, cosine
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.formulas import FormulaCheck
from gdpbridge_verify.law import Law
from gdpbridge_verify.parts import Part
from gdpbridge_verify.rectified import _within
from gdpbridge_verify.refusal import Refused
from gdpbridge_verify.transforms import SampledGaussian, power_sums, turns_of

HALF, TWO = Fraction(1, 2), Fraction(2)


def _rational(value: Any) -> Fraction:
    return Fraction(*map(int, value.as_integer_ratio()))


def _real(value: Any) -> Any:
    exact = _rational(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def test_a_ball_about_a_range_is_rounded_outward() -> None:
    """Its middle has two bits, its radius must reach the farther end; and 53 bits of 200."""
    coarse = Arithmetic(2)
    around = Complexes(coarse).of(Interval(coarse, mpfr(1), mpfr(1.75)))
    assert around.middle.real - around.radius <= 1
    assert around.middle.real + around.radius >= 1.75
    fine = Arithmetic(200)
    for share in (Fraction(1, 3), Fraction(1, 7), Fraction(2, 11)):
        ends = fine.between(Fraction(0), share)
        around = Complexes(fine).of(ends)
        assert _rational(around.radius) >= _rational(ends.high) - _rational(around.middle.real)


def test_sizes_are_rounded_up() -> None:
    """Those of 1 + i and 1 + 2i are no fractions."""
    field = Complexes(Arithmetic(100))
    for y in (1, 2, 3, 5):
        ball = Ball(field, mpc(1, y), mpfr(0))
        assert 1 + y * y < _rational(ball.size()) ** 2
        inverse = ball.inverse()
        assert _rational(inverse.size()) ** 2 * (1 + y * y) > 1


def test_sums_of_growing_powers_are_off_by_what_is_said() -> None:
    """z = e^{1 + i}, of 20 bits: the error of z^k grows with its size."""
    field = Complexes(Arithmetic(20))
    log = Ball(field, mpc(1, -1), mpfr(0))
    turns = turns_of(field, [log], Fraction(1))
    sums, error = power_sums(field, [Ball(field, mpc(1), mpfr(0))], turns, 30)
    with mpmath.workdps(40):
        for k, found in enumerate(sums):
            truth = mpmath.exp(mpmath.mpc(1, 1) * k)
            assert abs(truth - mpmath.mpc(float(found.real), float(found.imag))) <= float(error)


def test_what_is_rounded_to_0_need_not_be_0() -> None:
    """e^{-10^9} is below every number that there is, and its product with e^{10^8} is not 0."""
    field = Complexes(Arithmetic(100))
    tiny = field.of(-(10**9)).exp()
    wide = Ball(field, mpc(-(10**9)), mpfr(10**8)).exp()
    small = Ball(field, mpc(mpfr(2) ** -(2**29)), mpfr(0))
    for ball in (tiny, small * small * small, wide):
        assert ball.middle == 0 < ball.radius
    # e^{10^8} of what is rounded to 0 may be in it
    assert wide.radius > tiny.radius * mpfr(2) ** 10**8
    turns = turns_of(field, [field.of(-(10**9))], Fraction(1))
    sums, error = power_sums(field, [small], turns, 4)
    assert error >= 3 * tiny.radius
    assert len(sums) == 4


def test_what_coarse_nodes_miss_is_added() -> None:
    """∫ φ·g^3, bounded far out, but next to the real axis."""
    field = Complexes(Arithmetic(100))
    nodes = Nodes(shift=Fraction(1, 1000), strip=Fraction(1), step=Fraction(2), first=-20, last=20)
    found = SampledGaussian(Fraction(1), HALF).beyond(field, Fraction(3), Fraction(1, 10**9), nodes)
    truth = (
        sum(mpmath.binomial(3, k) * mpmath.exp((k * k - k) / mpmath.mpf(2)) for k in range(4)) / 8
    )
    assert found.high > truth


SAMPLED = SampledGaussian(TWO, HALF), SampledGaussianTransform(TWO, HALF)
REPLACED = SampledGaussian(TWO, HALF, replaced=True), ReplaceOneTransform(TWO, HALF)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("w", [Fraction(-2), HALF, Fraction(3)])
def test_where_bounds_hold(number: int, w: Fraction) -> None:
    """Powers below 0 are those of g(u) and, if it is replaced, of g(-u); the bulk is at w/σ."""
    sampled, replaced = SAMPLED[number], REPLACED[number]
    assert sampled._below_zero(w) == (w if w < 0 else 0)
    assert replaced._below_zero(w) == (-2 if w in (-2, 3) else 0)
    if isinstance(sampled, SampledGaussian):
        return
    assert sampled._middle(w) == (0, w / 2 if w > 0 else 0)
    assert replaced._middle(w) == ((w - 1) / 2 if w < 1 else 0, w / 2 if w > 0 else 0)


@pytest.mark.parametrize("w", [Fraction(-2), HALF, Fraction(3)])
@pytest.mark.parametrize("replaced", [False, True])
def test_nodes_reach_past_the_bulk(w: Fraction, replaced: bool) -> None:
    """From (w - 1)/σ, of a record that is replaced, to w/σ, and always past 0."""
    transform, of = SampledGaussian(TWO, HALF, replaced=replaced), Arithmetic(64)
    step = Fraction(1, 8)
    least, most = min((w - 1) / 2 if replaced else 0, 0), max(w / 2, 0)
    inner, outer = math.floor(least / step), math.ceil(most / step)
    for first, last, allowed in (
        (inner, outer, True), (inner + 1, outer, False), (inner, outer - 1, False)
    ):  # fmt: skip
        nodes = Nodes(shift=HALF, strip=HALF, step=step, first=first, last=last)
        if allowed:
            assert transform._cut(of, w, nodes).high > 0
        else:
            with pytest.raises(Refused, match="leave out the middle"):
                transform._cut(of, w, nodes)


@pytest.mark.parametrize(("w", "rate"), [(-2, Fraction(1, 10**6)), (3, HALF)])
def test_the_rest_of_an_integral_is_bounded(w: int, rate: Fraction) -> None:
    """Beyond x = 4, on the real line: a power below 0 of what is nearly 1 is no help."""
    of = Arithmetic(100)
    sector: Any = SimpleNamespace(cosine=of.exactly(1), double=of.exactly(1))
    bound = FixedSizeGaussian(Fraction(1), rate)._tail(of, Fraction(w), sector, of.exactly(4))
    q = mpmath.mpf(rate.numerator) / rate.denominator
    truth = mpmath.quad(
        lambda x: mpmath.npdf(x + 0.5) * (1 + q * mpmath.expm1(x)) ** w, mpmath.linspace(4, 20, 9)
    )
    assert bound.high > truth


def test_parts_on_a_range_end_there() -> None:
    """At its ends, or at their own."""
    bound: Any = (Part(Fraction(0), TWO, None), Part(TWO, None, None))  # type: ignore[arg-type]
    found = [(one.low, one.high) for one in _within(bound, Fraction(1), Fraction(3))]
    assert found == [(1, 2), (2, 3)]
    found = [(one.low, one.high) for one in _within(bound, Fraction(3), None)]
    assert found == [(3, None)]


# --- laws and formulas ----------------------------------------------------------------------------

OF = Arithmetic(100)


def _ends(value: Interval) -> tuple[float, float]:
    return float(value.low), float(value.high)


def test_what_is_positive_or_larger_is_enclosed() -> None:
    """The larger one of a number and 0, and of a formula and 0."""
    below, around = OF.between(Fraction(-2), Fraction(-1)), OF.between(Fraction(-1), Fraction(2))
    assert _ends(below.positive()) == (0, 0)
    assert _ends(around.positive()) == (0, 2)
    check: Any = SimpleNamespace(is_solved=False)
    for value, ends in ((below, (0, 0)), (around, (0, 2))):
        check._value = lambda *_, value=value: value
        assert _ends(FormulaCheck._on(check, None, Fraction(1))) == ends


def test_whole_multiples_are_rounded_outward() -> None:
    """Of 2^-8: 1/3 is 85 of them and a little; all of them, at a distance of 1, are e^-1."""
    law: Any = SimpleNamespace(of=OF, bits=8, _losses=[OF.exactly(0), OF.exactly(1)])
    assert Law._rounded(law, OF.exactly(Fraction(1, 3))) == 85
    law._steps, law._masses, law._fixed = None, [0, 256], lambda mass: Law._fixed(law, mass)
    first, last = Law._tails(law, Fraction(1))
    assert last.low == last.high == 1
    with mpmath.workdps(60):
        assert _real(first.low) < mpmath.exp(-1) < _real(first.high)


def test_events_are_looked_at_up_to_their_own_end() -> None:
    """Where log(p/q) is, for an event and for its complement."""
    asked: list[tuple[Fraction, Fraction, Fraction]] = []
    check: Any = SimpleNamespace(arithmetic=OF, _above=lambda _, *given: asked.append(given))
    FormulaCheck.allows(check, "line", HALF, HALF / 2)
    assert [(a, b) for a, b, _ in asked] == [(HALF, HALF / 2), (3 * HALF / 2, HALF)]
    assert asked[0][2] > Fraction(693147, 10**6)
    assert asked[1][2] > Fraction(405465, 10**6)


# --- functions of intervals, and Laplace's loss on multiples --------------------------------------


def test_a_cosine_is_that_of_numbers_up_to_pi() -> None:
    """Of two bits: 4 is beyond, and its cosine above that of π."""
    coarse = Arithmetic(2)
    assert cosine(Interval(coarse, mpfr(3), mpfr(4))).low <= -1


def test_a_logarithm_has_an_upper_end_where_it_has_no_lower_one() -> None:
    """1 + x from -1 to 2."""
    low, high = _ends(OF.between(Fraction(-2), Fraction(1)).log1p())
    assert (low, high) == (float("-inf"), pytest.approx(0.6931471805599453, rel=1e-15))


@pytest.mark.parametrize("precision", [24, 100])
def test_the_tail_of_an_error_function_is_enclosed(precision: int) -> None:
    """Of narrow ranges, both ends by one value, and of wide ones."""
    of = Arithmetic(precision)
    with mpmath.workprec(2 * precision + 50):
        for a in (Fraction(1), Fraction(7, 3), Fraction(31, 3)):
            for wide in (Fraction(1), Fraction(1, 1000), Fraction(0)):
                found = of.between(a, a + wide).erfc()
                low, high = (mpmath.erfc(_real(x)) for x in (a + wide, a))
                assert _real(found.low) <= low <= high <= _real(found.high)
