"""Polynomials on discs: they hold what they stand for, and prove what is true and nothing else."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb, arb_poly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gdpbridge.gaussian.expansion import expansion_of
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.measure.pieces import Piece
from gdpbridge.measure.polynomials import _edges, _is_above, _least, proved_about, proved_on
from gdpbridge.measure.tangents import Tangents
from gdpbridge.numeric.discs import Disc, Entire
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

INSIDE = st.floats(-1, 1)


def _holds(found: Entire, disc: Disc, x: float, value: arb) -> None:
    """The value at a place is within the rest, and no larger than the size."""
    off = found.terms(arb(x)) - value
    assert not abs(off) > disc.rest(found.modulus)
    assert not abs(value) > found.modulus


def _disc(middle: float, radius: float, growth: float, count: int) -> Disc:
    return Disc(arb(middle), arb(radius), arb(growth), count)


@settings(max_examples=30)
@given(
    st.floats(-3, 12),
    st.floats(0.01, 2),
    st.floats(1.25, 9),
    st.integers(2, 24),
    st.floats(0.2, 4),
    st.floats(-3, 5),
    st.booleans(),
    INSIDE,
)
@example(1.0, 2.0, 1.25, 2, 0.2, 0.0, False, -1.0)
@example(1.0, 0.5, 4.0, 24, 1.0, 1.5, False, 1.0)
@example(1.0, 0.5, 4.0, 24, 1.0, -0.5, True, -1.0)
def test_an_expansion_of_the_gaussian_curve_holds_it(
    middle: float,
    radius: float,
    growth: float,
    count: int,
    mu: float,
    tilt: float,
    complement: bool,
    x: float,
) -> None:
    """Times e^{tilt·ε}, and of few terms too, against mpmath."""
    with precision(160):
        disc = _disc(middle, radius, growth, count)
        found = expansion_of(disc, arb(mu), arb(tilt), complement=complement)
        with mpmath.workdps(60):
            eps, m = mpmath.mpf(middle) + mpmath.mpf(radius) * mpmath.mpf(x), mpmath.mpf(mu)
            slope = mpmath.exp(eps) * mpmath.ncdf(-eps / m - m / 2)
            if complement:
                value = mpmath.ncdf(eps / m - m / 2) + slope
            else:
                value = mpmath.ncdf(m / 2 - eps / m) - slope
            value *= mpmath.exp(mpmath.mpf(tilt) * eps)
            text = mpmath.nstr(value, 45)
        _holds(found, disc, x, arb(text) * (1 + arb(0, "1e-40")))


@settings(max_examples=20)
@given(st.floats(-4, 4), st.floats(-3, 3), st.floats(1.5, 6), st.integers(2, 12), INSIDE)
def test_sums_of_functions_hold_theirs(
    middle: float, rate: float, growth: float, count: int, x: float
) -> None:
    """3e^{aε} + 2 - e^{-ε}, and the same of -ε."""
    with precision(120):
        disc = _disc(middle, 0.5, growth, count)
        found = disc.exponential(arb(rate)).scaled(arb(3)) + disc.constant(arb(2))
        found -= disc.exponential(arb(-1))
        eps = disc.middle + arb(x) / 2
        value = 3 * (arb(rate) * eps).exp() + 2 - (-eps).exp()
        _holds(found, disc, x, value)
        _holds(found.mirrored(), disc.mirrored(), -x, value)


def _direction(kind: Kind) -> Direction:
    if kind is Kind.CALL:
        part = Part(SampledGaussianTransform(Fraction(1), Fraction(1, 100)), 10_000)
    else:
        part = Part(GaussianTransform(Fraction(9)), 1)
    return ComposedLoss([part]).directions[0]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_line_on_a_disc_is_the_line(kind: Kind) -> None:
    """What is above δ, or below 1 - δ, times e^{λε}, at every place of the disc."""
    direction = _direction(kind)
    line = direction.stretch(Fraction(1, 2), Fraction(3, 2)).line
    line.kind = kind if kind is not Kind.REST else line.kind
    line.complement = line.kind is Kind.REST
    for count, growth in ((3, 1.5), (30, 6.0)):
        with precision(line.bits):
            disc = _disc(1.0, 0.25, growth, count)
            found = (line.lower_on if kind is Kind.REST else line.upper_on)(disc)
            for x in (-1.0, 0.3, 1.0):
                at = disc.middle + disc.radius * x
                value = (line.lower if kind is Kind.REST else line.upper)(at)
                value *= (ball(line.tilt) * at).exp()
                _holds(found, disc, x, value)


@settings(max_examples=60)
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=7), st.lists(INSIDE, min_size=5, max_size=5))
@example([1.0, -2.0, 1.0], [1.0, 0.0, -1.0, 0.5, 0.9])
def test_nothing_of_a_polynomial_lies_below_its_bound(
    terms: list[float], places: list[float]
) -> None:
    """Bent upward or not."""
    polynomial = arb_poly(terms)
    bound = _least(polynomial)
    for x in (-1.0, 1.0, *places):
        assert not polynomial(arb(x)) < bound


@settings(max_examples=60)
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=12), st.lists(INSIDE, max_size=5))
@example([1.0, 0.0, 1.0], [0.0])
@example([1.0, -0.99], [1.0])
def test_a_polynomial_is_above_what_its_bernstein_coefficients_are(
    terms: list[float], places: list[float]
) -> None:
    """Of the smallest of them, as found by the formula of each, and not of a hair more."""
    degree = 16 * (-(-len(terms) // 16)) - 1
    exact = [Fraction(term) for term in terms]
    # in t = (1 + x)/2
    moved = [
        sum(one * math.comb(i, k) * 2**k * (-1) ** (i - k) for i, one in enumerate(exact) if i >= k)
        for k in range(len(exact))
    ]
    least = min(
        sum(
            (Fraction(math.comb(k, i), math.comb(degree, i)) * one for i, one in enumerate(moved)),
            Fraction(0),
        )
        for k in range(degree + 1)
    )
    hair = Fraction(1, 2**40)
    with precision(128):
        polynomial = arb_poly(terms)
        assert _is_above(polynomial, ball(least - hair))
        assert not _is_above(polynomial, ball(least + hair))
        for x in (-1.0, 1.0, *places):
            assert polynomial(arb(x)) > ball(least - hair)


def _cut(first: float, last: float, cuts: list[float]) -> tuple[float, ...]:
    return _edges(*sorted(cuts), first=first, last=last)


@given(INSIDE, INSIDE, st.lists(st.floats(-2, 2), max_size=3))
def test_parts_cover_what_they_are_parts_of(one: float, other: float, cuts: list[float]) -> None:
    """With no gap, and their middles and halves are exact."""
    first, *_, last = _cut(-1.0, 1.0, [min(one, other), max(one, other)])
    edges = _cut(first, last, cuts)
    assert (edges[0], edges[-1]) == (first, last)
    for low, high in itertools.pairwise(edges):
        assert low < high
        centre, half = (low + high) / 2, (high - low) / 2
        assert Fraction(centre) - Fraction(half) == Fraction(low)
        assert Fraction(centre) + Fraction(half) == Fraction(high)


@pytest.mark.parametrize("others", [[], [0.5], [0.5, -2.0], [0.0, 4.0]])
def test_the_bound_of_a_ball_is_its_lower_end(others: list[float]) -> None:
    """Where its terms are known to a quarter only."""
    wide, lowest = (arb_poly([value, *others]) for value in (arb(1, 0.25), arb(0.75)))
    assert _least(wide) <= _least(lowest)


def _piece(direction: Direction, start: int, stop: int) -> Piece:
    ends = Fraction(start), Fraction(stop)
    return Piece(*ends, direction, direction.stretch(*ends).line)


def test_a_true_claim_is_proved_and_a_false_one_is_not() -> None:
    """Of a Gaussian mechanism μ is known: a hair above it all is proved, a hair below nothing."""
    direction = ComposedLoss([Part(GaussianTransform(Fraction(1)), 1)]).directions[0]
    piece = _piece(direction, 0, 4)
    for off, proved in ((Fraction(1, 10**9), True), (-Fraction(1, 10**9), False)):
        with precision(128):
            claim = Tangents(ball(1 + off), Fraction(0), 1e-9)
            for start, stop in ((piece.start, piece.stop), (piece.stop, piece.start)):
                found = list(proved_on(claim, piece, start, stop))
                assert (bool(found) and found[-1][0] == stop) is proved
                assert all(min(start, stop) <= at <= max(start, stop) for at, _ in found)


def test_about_a_place_where_both_sides_touch_few_parts_do() -> None:
    """But for a billionth; and nothing is proved of what is a billionth too small."""
    direction = ComposedLoss(
        [Part(SampledGaussianTransform(Fraction(1), Fraction(1, 100)), 10_000)]
    ).directions[0]
    piece, p = _piece(direction, 0, 9), Fraction(1, 10**10)
    top, at = Fraction("1.36589182713"), Fraction("8.69293")
    for off, proved in ((Fraction(1, 10**9), True), (-Fraction(1, 10**9), False)):
        with precision(128):
            claim = Tangents(ball(top + off), p, 1e-9)
            low, high, parts = proved_about(claim, piece, at)
            assert bool(parts) is proved
            assert (low < at < high) if proved else (low == at == high)
            assert parts < 9


@pytest.mark.parametrize("hair", [Fraction(1, 2**70), Fraction(1, 3 * 2**70)])
def test_an_end_that_no_float_tells_from_another_is_reached(hair: Fraction) -> None:
    """In few discs, where floats of a range's ends are as far apart as a number of few bits."""
    direction = ComposedLoss([Part(GaussianTransform(Fraction(1)), 1)]).directions[0]
    piece = _piece(direction, 0, 4)
    stop = 1 + Fraction(1, 2**30) + hair
    with precision(128):
        claim = Tangents(ball(1 + Fraction(1, 10**9)), Fraction(0), 1e-9)
        for start, end in ((Fraction(1), stop), (1 + hair, Fraction(1)), (stop, Fraction(1))):
            found = list(itertools.islice(proved_on(claim, piece, start, end), 9))
            assert found[-1][0] == end
            assert len(found) < 9


def test_a_failure_probability_is_on_the_claims_side() -> None:
    """p + (1 - p)·δ_μ is above δ of μ, and not above that of a μ that p does not pay for."""
    direction = ComposedLoss([Part(GaussianTransform(Fraction(1)), 1)]).directions[0]
    piece = _piece(direction, 1, 2)
    with precision(128):
        for mu, proved in ((1, True), (Fraction(99, 100), True), (Fraction(4, 5), False)):
            claim = Tangents(ball(Fraction(mu)), Fraction(1, 100), 1e-9)
            assert bool(list(proved_on(claim, piece, piece.start, piece.stop))) is proved


def test_without_a_line_nothing_is_proved_here() -> None:
    """Chernoff's bound is for tangents."""
    direction = ComposedLoss([Part(GaussianTransform(Fraction(1)), 1)]).directions[0]
    piece = Piece(Fraction(9), Fraction(10), direction, tilt=Fraction(9))
    with precision(128):
        assert not list(
            proved_on(Tangents(arb(2), Fraction(0), 1.0), piece, *map(Fraction, (9, 10)))
        )
