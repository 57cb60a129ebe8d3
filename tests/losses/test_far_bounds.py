"""What a transform leaves out, far out and in what it rounds, is bounded: each end by itself."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import acb, arb

from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Factor, Part
from gdpbridge.losses.rare import RareDirection, rare_direction
from gdpbridge.losses.sampled import sampled_finite
from gdpbridge.losses.split import RareMoments
from gdpbridge.losses.transforms.base import Plan, number_ball
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform, Weights
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.losses.transforms.finite import FiniteTransform, two_valued
from gdpbridge.losses.transforms.rare_gaussian import Edge, WindowTransform
from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
from gdpbridge.losses.transforms.sampled_exponential import SampledExponentialTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.losses.transforms.sampled_search import Quadrature
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
# Laplace noise whose scale is half the sensitivity, and the same that fails with a hundredth
LAPLACE = ExponentialLoss(Fraction(2), HALF, HALF)
KEPT = Fraction(99, 100)
FAILING = ExponentialLoss(Fraction(2), HALF * KEPT, HALF * KEPT, 1 - KEPT)


# --- Poisson samples of Laplace noise ---------------------------------------------------------


def _modulus(loss: ExponentialLoss, w: float, y: float) -> float:
    """|F(w + iy)| by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    x, power, kept = np.append(2 * nodes, [-2, 2]), complex(w, y), 1 - float(loss.failure)
    masses = np.append(weights * np.exp(-(nodes + 1)) / 2, [0.5, 0.5 * math.exp(-2)])
    found = masses @ np.exp(power * np.log1p(np.expm1(x) / 10))
    return float(abs(found * kept + (1 - kept) * np.exp(power * math.log(0.9))))


def test_each_integral_is_counted() -> None:
    """A line takes an integral at each node, of what turns the faster the further out it is."""
    transform = SampledExponentialTransform(LAPLACE, TENTH)
    few, many, far = (
        transform.work(transform.plan(Fraction(2), -30.0), Fraction(h), count)
        for h, count in ((1, 100), (1, 1000), (30, 1000))
    )
    assert 1000 * 100 < few < many / 9
    assert many < far / 3


@pytest.mark.parametrize("loss", [LAPLACE, FAILING], ids=["kept", "failing"])
def test_far_out_nothing_is_above_the_bound(loss: ExponentialLoss) -> None:
    """Beyond y, at y itself and where the bound by parts takes over; and it is below F(w)."""
    transform, w = SampledExponentialTransform(loss, TENTH), Fraction(1)
    with precision(64):
        size = arb(_modulus(loss, float(w), 0.0)) * (1 + arb(2) ** -40)
        y = Fraction(12)
        bound = transform.beyond(Plan(), w, y, size)
        assert bound < size * 0.999
        for k in (0, 1, 3, 8, 20, 40):
            assert _modulus(loss, float(w), float(y) + k) <= float(bound) * (1 + 1e-12)


def test_where_nothing_is_known_the_bound_is_the_size() -> None:
    """A size that is no more than what is seen at y leaves no room to go on."""
    with precision(64):
        size = arb(_modulus(LAPLACE, 1.0, 1.0)) / 2
        found = SampledExponentialTransform(LAPLACE, TENTH).beyond(
            Plan(), Fraction(1), HALF * 2, size
        )
        assert found == size


def _delta(found: FiniteTransform, eps: float) -> float:
    """δ(ε) of finitely many losses."""
    total = float(number_ball(found.failure))
    for loss, mass in zip(found.losses, found.masses, strict=True):
        total += float(number_ball(mass)) * max(-math.expm1(eps - float(number_ball(loss))), 0.0)
    return total


def test_a_sample_without_replacement_is_symmetric() -> None:
    """Of ±ε the losses are ±log(1 + γ(e^ε - 1)), and 0 for all that is left."""
    with precision(128):
        found = sampled_finite(two_valued(Fraction(1)), TENTH, replaced=True)
        losses = [float(number_ball(one)) for one in found.losses]
        top = math.log1p(math.expm1(1) / 10)
        assert losses == pytest.approx([-top, 0, top])
        assert float(sum((number_ball(one) for one in found.masses), arb(0))) == pytest.approx(1)
        inner = math.log1p(math.expm1(0.05) * 10)
        own = (math.e - math.exp(inner)) / (1 + math.e) / 10
        assert _delta(found, 0.05) == pytest.approx(own)


# --- discrete Gaussian noise ------------------------------------------------------------------


@pytest.mark.parametrize("bits", [4, 8, 64])
def test_what_lies_beyond_is_bounded_with_any_precision(bits: int) -> None:
    """Σ e^{-x²/(2σ²) + xm/σ²} from some x on."""
    for first, tilt in ((3, Fraction(0)), (6, Fraction(7, 2)), (12, Fraction(10))):
        with precision(bits):
            found = DiscreteGaussianTransform(Fraction(9), 1)._beyond(first, tilt)
        own = sum(math.exp((2 * float(tilt) * x - x * x) / 18) for x in range(first, first + 90))
        assert float(found) >= own


def test_the_largest_weight_is_above_all() -> None:
    """By the upper ends."""
    weights = Weights(DiscreteGaussianTransform(Fraction(1), 1), 3)
    weights._known = weights._known[0], [arb(0.5), arb(1, 0.25), arb(1.125)]
    assert float(weights.largest()) == pytest.approx(1.25)


# --- rare noise -------------------------------------------------------------------------------


def _moments() -> Any:
    whole = SampledGaussianTransform(Fraction(1), TENTH)
    edge = Edge(Fraction(3), HALF)
    rare = WindowTransform(Fraction(1), TENTH, Edge(Fraction(1), HALF), edge)
    return RareMoments(Factor(whole, 2, mirrored=False), rare)


@pytest.mark.parametrize(
    ("rare", "most"), [(arb(0.25, 0.125), 2.25 * 0.75), (arb(3, 0.5), 2.25**2)]
)
def test_the_bound_of_rare_noise_takes_in_its_balls(rare: arb, most: float) -> None:
    """The smaller one of T·F_A·F^{T-1} and F^T."""
    moments = _moments()
    moments._sizes = lambda _: (arb(2, 0.25), rare)
    assert most <= float(moments._bound(Fraction(1))) < most * 1.001


def test_what_is_left_out_is_added_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its radius, and never above 1."""
    runs = Part(SampledGaussianTransform(Fraction("0.6917"), Fraction("0.0478")), 3)
    found = rare_direction(ComposedLoss([runs]).directions[0], Fraction(1, 10**5))
    assert found is not None
    monkeypatch.setattr(Direction, "delta", lambda *_: (arb(0.25), arb(0.5)))
    for left, high in ((arb(0.125, 0.0625), 0.6875), (arb(2), 1.0)):
        monkeypatch.setattr(RareDirection, "_left_out", lambda *_, left=left: left)
        low, above = found.delta(Fraction(1))
        assert low == 0.25
        assert above >= high
        assert above < high + 1e-8


# --- sampled Gaussian noise -------------------------------------------------------------------


def _far_size(sigma: float, rate: float, w: float, y: float, *, both: bool) -> float:
    """|F(w + iy)| by the trapezoid rule on the real line, whose step is short beside 1/y."""
    u = np.linspace(-12.0, 12.0 + abs(w) / sigma, 200_001)
    logs = [np.log1p(rate * np.expm1(x / sigma - 0.5 / sigma**2)) for x in (u, -u)]
    power = complex(w, y)
    terms = power * logs[0] + ((1 - power) * logs[1] if both else 0.0) - u * u / 2
    return float(abs(np.exp(terms).sum()) * (u[1] - u[0]) / math.sqrt(2 * math.pi))


@pytest.mark.parametrize("kind", [SampledGaussianTransform, ReplaceOneTransform])
@pytest.mark.parametrize(("sigma", "y"), [("0.3", 2), ("1", 120)])
def test_a_bound_far_out_may_lie_past_where_the_angle_grows(kind: Any, sigma: str, y: int) -> None:
    """A strip no wider than its shift, up to πσ: the bound is above |F| there and beyond."""
    transform, w = kind(Fraction(sigma), TENTH), Fraction(3, 2)
    s, both = float(sigma), kind is ReplaceOneTransform
    shift = Fraction(int(0.7 * math.pi * s * 1024), 1024)
    strip = Fraction(int(0.25 * math.pi * s * 1024), 1024)
    assert 2 * (shift + strip) > math.pi * s
    step = strip / 16
    reach = int(24 / step)
    plan = Quadrature(shift=shift, strip=strip, step=step, first=-reach, last=reach)
    with precision(96):
        size = transform.size(w, -40.0)
        bound = transform.beyond(plan, w, Fraction(y), size)
        assert bound < size
        for k in (0, 0.5, 2, 7):
            assert _far_size(s, 0.1, 1.5, y + k, both=both) <= float(bound) * (1 + 1e-9)
        wider = Quadrature(shift=strip, strip=shift, step=step, first=-reach, last=reach)
        with pytest.raises(ArithmeticError, match="too wide"):
            transform.beyond(wider, w, Fraction(y), size)


def test_large_noise_below_a_place_beyond_its_edge_is_not_bounded() -> None:
    """Above the edge all of it may be there."""
    window = WindowTransform(Fraction(1), TENTH, None, Edge(Fraction(3), HALF))
    with precision(64):
        assert window.below(arb(4)) == 1
        assert 0 < window.below(arb(1)) < 1e-4


def test_the_middle_reaches_the_edge() -> None:
    """Whatever the tilt; a large one moves it further."""
    window = WindowTransform(Fraction(1), TENTH, Edge(Fraction(1), HALF), Edge(Fraction(3), HALF))
    assert window._middle(Fraction(0))[1] == 3
    assert window._middle(Fraction(100))[1] == Fraction(112, 5)


def test_for_a_power_below_0_a_tail_is_not_made_smaller() -> None:
    """g is above 1 there, and its power below; off the real line it need not be."""
    one = SampledGaussianTransform(Fraction(1), TENTH)
    with precision(64):
        assert one._cut_above(Fraction(-3), arb(5)) > arb(5 / math.sqrt(2)).erfc() * 0.499


def test_the_least_modulus_counts_only_where_it_bounds() -> None:
    """Up to a height of πσ/2; beyond it g may be smaller than 1 - q."""
    one = SampledGaussianTransform(Fraction(1), TENTH)
    with precision(64):
        powers, w = ball(one._below_zero(Fraction(-2))), Fraction(-2)
        least = (-2 * ball(1 - TENTH).log()).exp()
        for height, bound in ((Fraction(3, 2), least), (Fraction(2), None)):
            own = (powers * ball(height / 2).cos().log()).exp()
            found = one._thinned(w, height)
            assert abs(found - (own if bound is None else own.min(bound))) < 1e-12
            assert own > least


def test_values_hold_the_function() -> None:
    """F(w) of one run on a sample, at a complex place, against quadrature."""
    transform = SampledExponentialTransform(FAILING, TENTH)
    with precision(64):
        found: list[acb] = transform.values(Plan(), Fraction(2), Fraction(3), 2)
        assert float(abs(found[1])) == pytest.approx(_modulus(FAILING, 2.0, 3.0), rel=1e-12)
