"""Each end of what composed losses answer is on its own side, whatever balls it comes from."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, arb

from gdpbridge.curves.discrete_gaussian import gaussian_above
from gdpbridge.losses import geometric, line_integral
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part, product
from gdpbridge.losses.panels import Panel
from gdpbridge.losses.roots import _proved
from gdpbridge.losses.stretches import Stretch
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
from gdpbridge.losses.transforms.finite import FiniteTransform, two_valued
from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.losses.transforms.sampled_search import Quadrature
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

THIRD = Fraction(1, 3)
TIMES = 5
# p_∞ of five runs that fail with 1/3 each
FAILURE = 1 - (1 - THIRD) ** TIMES
LOW, HIGH = arb(1) / 4, arb(1) / 2
OFF = arb(0, 0.01)


def _direction() -> Direction:
    return ComposedLoss([Part(two_valued(Fraction(1), THIRD), TIMES)]).directions[0]


def _made(kind: Kind) -> Any:
    """A direction whose line shows only so much: the ends are balls."""
    found = _direction()
    line = SimpleNamespace(bits=96, kind=kind)
    shown: Any = found
    shown.stretch = lambda *_: SimpleNamespace(line=line)
    shown.bounds = lambda *_: (LOW + OFF, HIGH + OFF)
    shown.complements = lambda *_: (1 - HIGH + OFF, 1 - LOW + OFF)
    return shown


@pytest.mark.parametrize("kind", [Kind.CALL, Kind.REST])
def test_both_ends_take_in_the_balls_of_a_line(kind: Kind) -> None:
    """δ in [1/4 ± .01, 1/2 ± .01], as such or from 1 - δ."""
    low, high = _made(kind).delta(Fraction(1))
    assert low < LOW - 0.009
    assert high > HIGH + 0.009


@pytest.mark.parametrize("kind", [Kind.CALL, Kind.REST])
def test_both_ends_are_probabilities(kind: Kind) -> None:
    """What a line shows below 0 or above 1 is 0 or 1."""
    shown = _made(kind)
    shown.bounds = shown.complements = lambda *_: (arb(-1), arb(2))
    assert shown.delta(Fraction(1)) == (0, 1)


def test_the_chance_of_an_infinite_loss_is_enclosed() -> None:
    """It is no binary number; beyond the largest loss it is all of δ."""
    low, high = map(to_fraction, _direction().delta(Fraction(TIMES)))
    assert low <= FAILURE <= high
    shown: Any = _direction()
    shown.moments.chernoff = lambda *_: LOW / 4 + OFF
    assert shown.without_line(arb(1))[1] > ball(FAILURE) + 0.072
    shown.moments.chernoff = lambda *_: arb(3)
    assert shown.without_line(arb(1))[1] == 1
    shown.__dict__.pop("_failure")
    shown.moments = SimpleNamespace(
        domain=(-1.0, 0.0),
        failure=lambda: LOW + OFF,
        distance=lambda: arb(1),
        bound=lambda _: arb(1),
        tilts_inside=SimpleNamespace(at=lambda _: SimpleNamespace(tilt=[-0.5])),
    )
    low, high = shown.without_line(arb(1))
    assert low < LOW - 0.009
    assert high == 1


def test_losses_end_where_the_last_one_does() -> None:
    """log 3 is no fraction; losses below 0 end at 0."""
    largest = ComposedLoss([Part(two_valued(lambda: arb(3).log()), TIMES)]).directions[0].end
    assert largest is not None
    with precision(500):
        assert ball(largest) > TIMES * arb(3).log()
    none = FiniteTransform([Fraction(-2), Fraction(-1)], [THIRD, 1 - THIRD])
    assert ComposedLoss([Part(none, 1)]).directions[0].end == 0


def test_what_is_at_most_a_number_is_proved() -> None:
    """Beyond the largest loss, by Chernoff's bound, and by a coarse line."""
    hair = Fraction(1, 10**9)
    shown: Any = _direction()
    shown.coarse = SimpleNamespace(delta=lambda *_: (arb(0), arb(1)))
    assert shown.is_at_most(Fraction(TIMES), ball(FAILURE + hair))
    assert not shown.is_at_most(Fraction(TIMES), ball(FAILURE - hair))
    shown.coarse = SimpleNamespace(delta=lambda *_: (arb(0), ball(FAILURE) + LOW / 4))
    shown._tilt_for = lambda *_: None
    assert shown.is_at_most(Fraction(1), ball(FAILURE) + LOW / 3)
    assert not shown.is_at_most(Fraction(1), ball(FAILURE) + LOW / 5)
    shown._tilt_for = lambda *_: Fraction(1)
    shown.moments.chernoff = lambda *_: arb(0.05) + OFF
    for value, holds in ((0.1, True), (0.061, True), (0.055, False), (0.01, False)):
        assert shown.is_at_most(Fraction(1), ball(FAILURE) + value) is holds


@pytest.mark.parametrize("turned", [False, True])
def test_the_larger_one_of_both_directions_counts(
    turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each end by itself."""
    monkeypatch.setattr(line_integral, "epsilon_of", lambda one, _: one.least)
    monkeypatch.setattr(line_integral, "delta_of", lambda one, *_: one.delta())

    def one(delta: tuple[float, float], eps: tuple[int, int]) -> Any:
        return SimpleNamespace(
            bits=96,
            delta=lambda *_: tuple(map(arb, delta)),
            least=tuple(map(Fraction, eps)),
            is_at_most=lambda *_: False,
        )

    loss: Any = ComposedLoss([Part(two_valued(Fraction(1)), 1)])
    both = one((0.25, 0.375), (1, 2)), one((0.125, 0.5), (0, 3))
    loss.directions = both[::-1] if turned else both
    assert loss.delta(Fraction(1)) == (0.25, 0.5)
    assert loss.epsilon(THIRD) == (1, 3)


@pytest.mark.parametrize("at", [0.05, 0.4, 0.4999, 0.5, 0.5001, 0.7])
def test_both_ends_of_a_root_are_proved(at: float) -> None:
    """δ(ε) = 1 - ε falls to 1/2 at 1/2, wherever the search ends."""
    line: Any = SimpleNamespace(digits=3, delta=lambda eps: (1 - ball(eps), 1 - ball(eps)))
    low, high = _proved(line, Fraction(at), arb(1) / 2)
    assert 0 < low < Fraction(1, 2) <= high
    assert high - low < 4 * abs(at - 0.5) + 0.01


def test_stretches_end_where_the_range_does() -> None:
    """Each one ends where its line does, and none beyond."""
    direction: Any = _direction()
    direction.stretch = lambda at, _: Stretch(at, at + 2, "line")  # type: ignore[arg-type]
    found = [(one.start, one.stop) for one in direction.cover(Fraction(0), Fraction(5))]
    assert found == [(0, 2), (2, 4), (4, 5)]


def test_a_bound_of_a_transform_is_not_below_it() -> None:
    """e^{Tv(s² + s)/2}, to all digits."""
    moments = ComposedLoss([Part(GaussianTransform(THIRD), TIMES)]).directions[0].moments
    bound = moments.bound(THIRD)
    with precision(500):
        assert bound > (ball(TIMES * moments.factors[0].transform.tail_variance * 2 / 9)).exp()


def test_a_product_of_what_may_be_zero_holds_its_powers() -> None:
    """By the size of the factors, in every direction."""
    spread = arb(0, 1)
    factors = [acb(arb(1) + spread, spread), acb(arb(2), arb(1))]
    found = product(factors, [2, 1])
    for x, y in ((2, 1), (2, -1), (0, 1), (0, 0)):
        assert found.contains(acb(x, y) ** 2 * factors[1])


def test_a_panel_is_for_its_own_places() -> None:
    """Outside of it nothing is known; what a sum of cosines leaves out is added."""
    panel = Panel(Fraction(0), Fraction(1), [arb(1), arb(0)], arb(1) / 8)
    assert panel.jet(arb(1) / 2, 1)[0].contains(1 + 0.124)
    assert panel.jet(arb(5), 1)[0].is_nan()


# --- quadratures ----------------------------------------------------------------------------------

SAMPLED = SampledGaussianTransform(Fraction(1), Fraction(1, 2))
ONE = Fraction(1)


def _nodes(
    strip: str = "1", step: str = "1/8", shift: str | None = None, reach: int = 200
) -> Quadrature:
    around = Fraction(strip if shift is None else shift)
    return Quadrature(around, Fraction(strip), Fraction(step), -reach, reach)


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(_nodes("8/5"), id="a strip of more than πσ"),
        pytest.param(_nodes("1/100", "1"), id="nodes too far apart"),
        pytest.param(_nodes("1", "1/8", "1/2"), id="a strip below the real line"),
        pytest.param(_nodes(reach=3), id="a middle without nodes"),
    ],
)
def test_nodes_that_no_bound_holds_for_are_refused(plan: Quadrature) -> None:
    """On the line."""
    with pytest.raises(ArithmeticError):
        SAMPLED.values(plan, Fraction(3), ONE, 2)


@pytest.mark.parametrize("plan", [_nodes("16/5", "1/8", "0"), _nodes("1/100", "1", "0")])
def test_real_nodes_that_no_bound_holds_for_are_refused(
    plan: Quadrature, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a real place."""
    monkeypatch.setattr(SampledGaussianTransform, "real_plan", lambda *_: plan)
    with pytest.raises(ArithmeticError):
        SAMPLED.size(Fraction(3), -9.0)


def test_what_coarse_nodes_miss_is_added() -> None:
    """Far out, where a bound is the integral of absolute values, and next to the real axis."""
    w = Fraction(3)
    size = SAMPLED.size(w, -60.0)
    found = SAMPLED.beyond(_nodes("1", "2", "1/1000", 20), w, Fraction(1, 10**9), size)
    assert found > size
    with pytest.raises(ArithmeticError):
        SAMPLED.beyond(_nodes("1", "1/8", "3/5"), w, ONE, size)
    coarse = SAMPLED.values(_nodes("1", "3/2", None, 20), w, ONE, 1)[0].real
    assert coarse.contains(size.mid())


SAMPLE = FixedSizeTransform(Fraction(1), Fraction(1, 2))


def test_a_sector_that_no_bound_holds_in_is_refused() -> None:
    """The tangent of its angle is at most 1/2, and positive; less where the rate is small."""
    rare = FixedSizeTransform(Fraction(1), Fraction(1, 10**9))
    SAMPLE._check(arb(0.45))
    rare._check(arb(0.06))
    for transform, beta in ((SAMPLE, 0.47), (rare, 0.1), (SAMPLE, 0), (SAMPLE, -0.1)):
        with pytest.raises(ArithmeticError):
            transform._check(arb(beta))


@pytest.mark.parametrize(("w", "rate"), [(-2, Fraction(1, 10**6)), (3, Fraction(1, 2))])
def test_the_rest_of_an_integral_is_bounded_or_refused(w: int, rate: Fraction) -> None:
    """Beyond x, on the real line: a power below 0 of what is nearly 1 is no help."""
    transform = FixedSizeTransform(Fraction(1), rate)

    def integrand(u: acb, _: bool) -> acb:
        g = 1 + (u.exp() - 1) * ball(rate)
        return (-((u + acb(0.5)) ** 2) / 2).exp() / (2 * acb.pi()).sqrt() * g**w

    truth = acb.integral(integrand, acb(4), acb(20)).real
    for method in (transform._tail, transform._rest):
        assert truth < method(Fraction(w), arb(0), arb(4))
        with pytest.raises(ArithmeticError):
            method(Fraction(9), arb(0), arb(1))
    for power, x in ((-1, 0.5), (3, 2.7)):
        with pytest.raises(ArithmeticError):
            transform._rest(Fraction(power), arb(0), arb(x))


def test_an_end_by_chernoff_is_proved() -> None:
    """What floats find is asked in balls."""
    known = {"bound": -3.0, "guess": -3.0, "tilt": 2.0, "off": 0.0, "deviation": 1e9}
    saddle = SimpleNamespace(**{name: np.array([value]) for name, value in known.items()})
    moments = SimpleNamespace(
        domain=(0.0, 9.0),
        failure=lambda: arb(0),
        tilts=SimpleNamespace(at=lambda _: saddle),
    )
    direction: Any = SimpleNamespace(
        end=None, moments=moments, bits=96, chernoff_logs=np.array([1.0])
    )
    for bound, found in ((arb(0, 0.01), True), (arb(0.05, 0.06), False), (arb(1), False)):
        moments.chernoff = lambda *_, bound=bound: bound
        assert (Direction.end_by_chernoff(direction, Fraction(1, 20)) is not None) == found


@pytest.mark.parametrize(("sigma", "sensitivity"), [(Fraction(3, 4), 1), (Fraction(3), 5)])
def test_a_gaussian_curve_above_discrete_noise_is_above_its_lines(
    sigma: Fraction, sensitivity: int
) -> None:
    """Of each line Φ⁻¹(a) - Φ⁻¹(b), the largest of which it is, to a hundred digits."""
    found = gaussian_above(DiscreteGaussianTransform(sigma**2, sensitivity))
    with mpmath.workdps(110):
        rate = mpmath.mpf(sigma.denominator) ** 2 / (2 * mpmath.mpf(sigma.numerator) ** 2)
        masses = {x: mpmath.exp(-rate * x * x) for x in range(-60, 61)}
        total = mpmath.fsum(masses.values())

        def quantile(c: int) -> mpmath.mpf:
            p = mpmath.fsum(masses[x] for x in range(-60, c + 1)) / total
            return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)

        first = (sensitivity + 1) // 2 - 1
        top = max(quantile(c) - quantile(c - sensitivity) for c in range(first - 4, first + 1))
        off = mpmath.mpf(found.numerator) / found.denominator - top
        assert 0 < off < mpmath.mpf(10) ** -60


def test_masses_are_rounded_down() -> None:
    """Two and a bit, or three: of a ball about three units two are sure."""
    with precision(512):
        unit = arb(1) / geometric.ONE
        assert geometric._floor(3 * unit + arb(0, unit / 2**20)) == 2
        assert geometric._floor(-unit) == 0
