"""What floats tell of lines, for searches: it is about what balls prove, or nothing is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_series

from gdpbridge import measure, profiles
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.curves.tails import UnknownTail
from gdpbridge.gaussian.enclosures import mu_of
from gdpbridge.losses.line import Kind
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.finite import two_valued
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.measure.climb import climbed
from gdpbridge.measure.pieces import Piece
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball

SAMPLED = Part(SampledGaussianTransform(Fraction(1), Fraction(1, 100)), 10_000)
FAILING = two_valued(Fraction(0), Fraction(1, 1000))
# δ near 1 for small ε
LARGE = Part(GaussianTransform(Fraction(36)), 1)


def _piece(part: Part, start: Fraction, stop: Fraction) -> Piece:
    direction = ComposedLoss([part]).directions[0]
    return Piece(start, stop, direction, direction.stretch(start, stop).line)


@pytest.fixture(scope="module", params=[Kind.CALL, Kind.REST])
def piece(request: pytest.FixtureRequest) -> Piece:
    """A range with a line of either kind."""
    part = SAMPLED if request.param is Kind.CALL else LARGE
    found = _piece(part, Fraction(1, 2), Fraction(3))
    assert found.line is not None
    assert found.line.kind is request.param
    return found


def test_floats_tell_what_balls_do(piece: Piece) -> None:
    """The value, and its first two derivatives."""
    direction, line = piece.direction, piece.line
    assert line is not None
    side = direction.upper_complement if piece.complement else direction.upper
    for at in (0.5, 1.25, 3.0):
        with precision(line.bits):
            log = side(line, arb_series([arb(at), 1], 3)).log()
            wanted = [float(log[0].mid()), float(log[1].mid()), 2 * float(log[2].mid())]
        glanced = direction.glanced(line, np.array([at]))
        assert glanced is not None
        assert glanced.tolist() == pytest.approx(wanted[:1], rel=1e-9)
        assert direction.slopes_at(line, at) == pytest.approx(wanted, rel=1e-6)


def test_floats_judge_as_balls_do(piece: Piece) -> None:
    """Where both sides are told, and nothing is told where what is left of 1 is next to nothing."""
    direction, line = piece.direction, piece.line
    assert line is not None
    places = [Fraction(1, 2), Fraction(5, 4), Fraction(3)]
    found = direction.judged_in_floats(line, np.array([float(at) for at in places]), -math.inf)
    if found is None:
        with precision(line.bits):
            low, high = direction.bounds(line, ball(places[0]))
        assert piece.complement
        assert low > 1 - arb("1e-2")
        assert high < 1
        return
    for one, at in zip(found, places, strict=True):
        exact = direction._judged_at(line, at)
        assert one.good == exact.good
        assert one.log_off == pytest.approx(exact.log_off, abs=0.1)
        assert (one.call, one.put) == pytest.approx((exact.call, exact.put), rel=1e-6)


@pytest.mark.parametrize("parts", [[SAMPLED], [SAMPLED, Part(FAILING, 1)]], ids=["kept", "failing"])
def test_where_digits_are_lost_nothing_is_told(parts: list[Part]) -> None:
    """Far from what a line was made for its terms cancel most that floats have."""
    direction = ComposedLoss(parts).to(24).directions[0]
    line = direction.stretch(Fraction(1, 2), Fraction(1)).line
    told = []
    for at in np.linspace(1.0, -12.0, 53):
        found = direction.glanced(line, np.array([at]))
        told.append(found is not None)
        assert (direction.slopes_at(line, float(at)) is not None) is told[-1]
        if found is not None:
            with precision(line.bits):
                wanted = float(direction.upper(line, arb(float(at))).log().mid())
            assert float(found[0]) == pytest.approx(wanted, abs=1e-6)
    assert told[0]
    assert not all(told)


@pytest.mark.parametrize(
    ("part", "start", "ends"),
    [
        (SAMPLED, Fraction(8), (Fraction(7), Fraction(9))),
        (LARGE, Fraction(2), (Fraction(1), Fraction(4))),
    ],
)
def test_a_climb_in_floats_ends_where_one_in_balls_does(
    part: Part, start: Fraction, ends: tuple[Fraction, Fraction]
) -> None:
    """And tells G there; too close an end is for balls alone."""
    piece, p = _piece(part, *ends), Fraction(1, 10**10)
    assert piece.line is not None
    curve = ComposedCurve((part,), UnknownTail(), failure=p)
    formula = curve.upper_formula(piece.direction, piece.line)
    with precision(128):
        quick = climbed(piece, formula, start, 1e-6, p)
        exact = climbed(piece, formula, start, 1e-9, p)
        assert quick.mu is not None
        assert exact.mu is None
        if part is SAMPLED:
            # G of a Gaussian curve is level instead, but for what p takes off it
            assert abs(quick.eps - exact.eps) < 1e-5
        at = ball(quick.eps)
        assert quick.mu == pytest.approx(float(mu_of(at, formula(at, BALLS)).mid()), rel=1e-11)


def test_a_large_mu_is_not_guessed_to_leave_much_of_1() -> None:
    """Where δ is next to 1, below what the table of tilts reaches, no guess of D holds."""
    run = profiles.DPSGD(noise_multiplier=0.3251, sample_rate=0.6669, steps=172_100)
    mu = measure(run, failure=1e-10).mu
    assert 960.4905860837 <= float(mu.low) <= float(mu.high) <= 960.4905860843


@pytest.mark.parametrize("complement", [False, True])
def test_between_the_tilts_of_the_table_log_m_is_what_is_there(complement: bool) -> None:
    """And the best tilt of an ε is that of no less a bound than those around it."""
    moments = ComposedLoss([SAMPLED]).directions[0].moments
    table = moments.tilts_inside if complement else moments.tilts
    tilts = np.linspace(-0.99, -0.01, 40) if complement else np.geomspace(1e-6, 30.0, 40)
    assert table.log_moments(tilts) == pytest.approx(moments.logs(tilts), rel=1e-3, abs=1e-6)
    for eps in (0.1, 0.3, 0.6) if complement else (0.3, 1.0, 5.0):
        found = table.at(np.array([eps]))
        b = found.tilt * np.array([0.99, 1.0, 1.01])
        kappa = 0.0 if complement else b * np.log(b) - (1 + b) * np.log1p(b)
        bounds = kappa + moments.logs(b) - b * eps
        assert bounds[1] == min(bounds)
        assert float(found.bound[0]) == pytest.approx(min(bounds[1], 0.0), rel=1e-5)
