"""Runs that seldom lose anything: what is split off is bounded, and nothing is lost."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line_integral import ComposedLoss, epsilon_of
from gdpbridge.losses.moments import Part
from gdpbridge.losses.rare import RareDirection, rare_direction
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.rare_gaussian import Edge
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.flint_context import precision

DELTA = Fraction(1, 10**5)


def _direction(sigma: str, rate: str, steps: int) -> Direction:
    transform = SampledGaussianTransform(Fraction(sigma), Fraction(rate))
    return ComposedLoss([Part(transform, steps)]).directions[0]


def _rare(direction: Direction) -> RareDirection:
    found = rare_direction(direction, DELTA)
    assert found is not None
    return found


@pytest.mark.parametrize("place", ["0", "1"])
def test_all_noise_is_counted_once(place: str) -> None:
    """F = F_C and the mass above the upper edge, where F is 1: at 0 for Q, at 1 for P."""
    w = Fraction(place)
    kept = _rare(_direction("0.6917", "0.0478", 3)).split.kept
    with precision(96):
        held, seen = kept.masses
        both = kept.size(w, -40.0) + (held if w else seen)
        assert both > 1 - arb("1e-20")
        assert both < 1 + arb("1e-15")


def _of_two(sigma: str, rate: str, eps: mpmath.mpf) -> mpmath.mpf:
    """δ(ε) of two steps: what the second one adds, in closed form, over the first one's noise."""
    s, q = mpmath.mpf(sigma), mpmath.mpf(rate)

    def inside(u: mpmath.mpf) -> mpmath.mpf:
        g = 1 + q * mpmath.expm1(u / s - 1 / (2 * s * s))
        rest = mpmath.exp(eps) / g
        if rest <= 1 - q:
            return mpmath.npdf(u) * (g - mpmath.exp(eps))
        place = s * mpmath.log((rest - 1 + q) / q) + 1 / (2 * s)
        below, above = mpmath.ncdf(-place), mpmath.ncdf(1 / s - place)
        return mpmath.npdf(u) * g * (below + q * (above - below) - rest * below)

    edge = s * mpmath.log((mpmath.exp(eps) / (1 - q) - 1 + q) / q) + 1 / (2 * s)
    ends = [-14, *(edge - mpmath.mpf(k) / 2 for k in (16, 12, 8, 4, 2, 1)), edge, edge + 1, 20]
    return mpmath.quad(inside, sorted(ends))


@pytest.mark.parametrize(
    ("sigma", "rate"), [("0.4583", "0.00008883"), ("0.6917", "0.0478"), ("1.331", "0.03432")]
)
def test_two_steps_against_an_integral_over_noise(sigma: str, rate: str) -> None:
    """At the ends of the ε found, δ is on both sides of what was asked for."""
    low, high = epsilon_of(_direction(sigma, rate, 2), DELTA) or (Fraction(0), Fraction(0))
    assert 0 < high - low < high / 10**11
    with mpmath.workdps(30):
        above, below = (
            _of_two(sigma, rate, mpmath.mpf(end.numerator) / end.denominator) for end in (low, high)
        )
        assert below < mpmath.mpf("1e-5") < above


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "eps"),
    [("0.6917", "0.0478", 3, "3"), ("0.5453", "0.0005522", 17, "2/5")],
)
def test_delta_is_that_of_the_whole(sigma: str, rate: str, steps: int, eps: str) -> None:
    """To the digits of a coarse line of the whole; both hold it."""
    direction, at = _direction(sigma, rate, steps), Fraction(eps)
    rare = _rare(direction).to(5)
    low, high = rare.delta(at)
    below, above = direction.to(4).delta(at)
    with precision(96):
        assert low <= above
        assert below <= high
        assert (high - low) < high * arb("1e-5")
        assert rare.is_at_most(at, high * 2)
        assert not rare.is_at_most(at, low / 2)


@pytest.mark.parametrize(
    ("sigma", "rate", "eps"),
    [("0.4583", "0.00008883", "0.02"), ("0.6917", "0.0478", "5"), ("0.3469", "0.00006867", "0.3")],
)
def test_delta_of_two_steps_against_an_integral_over_noise(sigma: str, rate: str, eps: str) -> None:
    """It is enclosed to the digits, where a line of the whole takes too many nodes for that."""
    transform = SampledGaussianTransform(Fraction(sigma), Fraction(rate))
    low, high = ComposedLoss([Part(transform, 2)]).delta(Fraction(eps))
    with precision(128):
        assert 0 < high - low < low * arb("1e-11")
        want = arb(mpmath.nstr(_exactly_of_two(sigma, rate, eps), 20))
        assert low * (1 - arb("1e-14")) < want < high * (1 + arb("1e-14"))


def _exactly_of_two(sigma: str, rate: str, eps: str) -> mpmath.mpf:
    with mpmath.workdps(30):
        return _of_two(sigma, rate, mpmath.mpf(eps))


@pytest.mark.parametrize("eps", ["5", "7", "8"])
def test_one_split_serves_a_range(eps: str) -> None:
    """σ = .5, q = .001, T = 200: on all of it, ends are those of lines of the whole law."""
    direction, at = _direction("0.5", "0.001", 200).to(5), Fraction(eps)
    split = direction._made_rare(Fraction(5), Fraction(12), None)
    assert split is not None
    assert split.line.above
    assert split.stop >= 8
    (low, high), (below, above) = (
        direction.bounds(split.line, _ball(at)),
        (direction.whole(5).delta(at)),
    )
    with precision(96):
        assert low < above
        assert below < high
        assert (high - low) < high * arb("1e-5")


def test_the_end_of_a_range_is_not_where_rare_losses_put_the_bound() -> None:
    """σ = 7.37, q = 1.025e-5, T = 229: δ is 1e-10 at 8.8e-5, Chernoff's bound there far beyond."""
    direction = _direction("7.37", "0.00001025", 229).to(5)
    assert direction.end_by_chernoff(Fraction(1, 10**10)) is None
    low, high = epsilon_of(direction, Fraction(1, 10**10)) or (Fraction(0), Fraction(0))
    assert Fraction("8.8e-5") < low <= high < Fraction("8.9e-5")
    usual = _direction("1", "0.01", 10000).to(5)
    assert usual.end_by_chernoff(Fraction(1, 10**10)) is not None


def test_all_that_a_split_leaves_out_is_added_above() -> None:
    """Two steps, at an ε that usual noise reaches: the wave alone is not above δ."""
    direction = _direction("0.6917", "0.0478", 2).to(5)
    split = direction._made_rare(Fraction(3), Fraction(4), None)
    assert split is not None
    at = Fraction(1, 20)
    with mpmath.workdps(20):
        value = arb(mpmath.nstr(_of_two("0.6917", "0.0478", mpmath.mpf(1) / 20), 15))
    with precision(128):
        whole = split.line.upper(_ball(at))
        assert whole > value
        assert whole - sum(a * (-b * _ball(at)).exp() for b, a in split.line.above) < value


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator


def test_what_is_split_off_counts() -> None:
    """Near 0 all-usual noise is most of δ: the bound is above it, and proves nothing there."""
    direction = _direction("0.6917", "0.0478", 3)
    rare = _rare(direction).to(2)
    assert rare.delta(Fraction(0))[1] >= direction.to(2).delta(Fraction(0))[0]
    assert not rare.is_at_most(Fraction(0), arb(DELTA.numerator) / DELTA.denominator)


def test_large_noise_that_loses_less_counts() -> None:
    """Of an edge so soft that much noise below ε is called large: δ is between both ends still."""
    whole = _direction("0.6917", "0.0478", 2)
    found = _rare(whole)
    soft = replace(found.split, high=Edge(Fraction(27, 5), Fraction(3, 10)))
    low, high = RareDirection(soft, found.tilt, Fraction(3), 5).delta(Fraction(3))
    with precision(96):
        true = arb(mpmath.nstr(_exactly_of_two("0.6917", "0.0478", "3"), 20))
        assert true * arb("0.9") < low <= true <= high < 2 * true


def test_an_epsilon_is_found_where_lines_of_the_whole_take_too_many_nodes() -> None:
    """σ = .3323, q = .0001793, T = 57 at δ = 1e-5, to 12 digits; δ there is on both its sides."""
    direction = _direction("0.3323", "0.0001793", 57)
    low, high = epsilon_of(direction, DELTA) or (Fraction(0), Fraction(0))
    assert Fraction("4.5521342") < low < high < Fraction("4.5521344")
    assert (high - low) / high < Fraction(1, 10**11)


def test_what_cannot_be_split_is_not() -> None:
    """Other mechanisms, several parts, and the direction of small losses."""
    sampled = Part(SampledGaussianTransform(Fraction(1, 2), Fraction(1, 1000)), 3)
    gaussian = Part(GaussianTransform(Fraction(1, 4)), 1)
    for parts, number in (([gaussian], 0), ([sampled, gaussian], 0), ([sampled], 1)):
        assert rare_direction(ComposedLoss(parts).directions[number], DELTA) is None


def test_chernoff_says_nothing_of_what_is_split() -> None:
    """The moments are of some noise alone, and so would be what they bound."""
    found = _rare(_direction("0.6917", "0.0478", 3))
    assert found.start is not None
    assert not found.is_at_most_by_chernoff(found.start, arb(1))


def test_without_a_line_nothing_is_known_of_what_was_split_off() -> None:
    """Chernoff's bound of the rest alone is no bound: near ε = 0 ends lie about δ, in order."""
    runs = gdp.profiles.DPSGD(noise_multiplier=0.1, sample_rate=1e-4, steps=100)
    # δ falls, from what is about the chance of a sampled run
    least = runs.delta_bounds(0.005)[0]
    for eps in (1e-5, 1e-4):
        low, high = runs.delta_bounds(eps)
        assert low <= high
        assert high >= least > 0.0099
        assert low <= -math.expm1(100 * math.log1p(-1e-4)) * (1 + 1e-12)
