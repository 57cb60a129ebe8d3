"""Polynomials on discs: they hold what they stand for, and prove what is true and nothing else."""

from __future__ import annotations

import itertools
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
from gdpbridge.measure.polynomials import _least, proved_on
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
    st.booleans(),
    INSIDE,
)
@example(1.0, 2.0, 1.25, 2, 0.2, False, -1.0)
def test_an_expansion_of_the_gaussian_curve_holds_it(
    middle: float, radius: float, growth: float, count: int, mu: float, complement: bool, x: float
) -> None:
    """Of few terms too, against mpmath."""
    with precision(160):
        disc = _disc(middle, radius, growth, count)
        found = expansion_of(disc, arb(mu), complement=complement)
        with mpmath.workdps(60):
            eps, m = mpmath.mpf(middle) + mpmath.mpf(radius) * mpmath.mpf(x), mpmath.mpf(mu)
            slope = mpmath.exp(eps) * mpmath.ncdf(-eps / m - m / 2)
            if complement:
                value = mpmath.ncdf(eps / m - m / 2) + slope
            else:
                value = mpmath.ncdf(m / 2 - eps / m) - slope
            text = mpmath.nstr(value, 45)
        _holds(found, disc, x, arb(text) + arb(0, "1e-40"))


@settings(max_examples=20)
@given(st.floats(-4, 4), st.floats(-3, 3), st.floats(1.5, 6), st.integers(2, 12), INSIDE)
def test_sums_and_products_of_functions_hold_theirs(
    middle: float, rate: float, growth: float, count: int, x: float
) -> None:
    """e^{aε}·(2 - e^{-ε}), and the same of -ε."""
    with precision(120):
        disc = _disc(middle, 0.5, growth, count)
        first, second = disc.exponential(arb(rate)), disc.exponential(arb(-1)).scaled(arb(-1))
        found = first.times(disc.constant(arb(2)) + second, disc)
        eps = disc.middle + arb(x) / 2
        value = (arb(rate) * eps).exp() * (2 - (-eps).exp())
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
    """What is above δ, or below 1 - δ, at every place of the disc, with few terms too."""
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
