"""Composed privacy losses by line integrals, against values found by other means."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb, arb_series

from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.exponential import laplace_transform
from gdpbridge.losses.transforms.finite import FiniteTransform, only_fails, two_valued
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

DATA = Path(__file__).parent.parent / "data"

# σ, q, T, ε and δ of adding or removing a record; the last digits are rounded
VALUES = [
    ("1", "0.01", 10_000, "6.1877123", "1.0000002744330295e-5"),
    ("1", "0.01", 10_000, "0", "0.48007235890197017"),
    ("1", "0.01", 10_000, "1", "0.23914296136566996"),
    ("1", "0.01", 10_000, "5", "2.7792962198154732e-4"),
    ("1", "0.01", 10_000, "10", "4.9104461198004558e-12"),
    ("0.8", "256/60000", 3516, "2.2693", "1.0001304491326218e-5"),
    ("0.8139", "3.202e-4", 152_522, "1.36973", "1.0017932120946316e-9"),
    ("0.5647", "0.01494", 39_951, "0", "0.99999979293135607"),
    ("0.5647", "0.01494", 39_951, "60", "0.522841007356534"),
    ("0.1", "250/60000", 14_400, "4165.3", "2.3914239722657096e-5"),
    ("1", "0.001", 1000, "10", "4.2589572682574661e-60"),
    ("1.063", "1.429e-5", 38_742, "0.016145", "8.4884476541500661e-10"),
    ("1.2", "2.1e-5", 30_000, "0.2835", "1.2591185369001e-30"),
    ("1", "1e-4", 100, "0.0055", "1.0627920379754506e-6"),
    ("3.79", "0.01345", 2, "0.05", "1.981842292061e-11"),
]
# log of δ
FAR_BELOW = -5000
IDS = [f"{sigma}-{rate}-{steps}-{eps}" for sigma, rate, steps, eps, _ in VALUES]


def _dpsgd(sigma: str, rate: str, steps: int) -> list[Part]:
    return [Part(SampledGaussianTransform(Fraction(sigma), Fraction(rate)), steps)]


@pytest.mark.parametrize(("sigma", "rate", "steps", "eps", "delta"), VALUES, ids=IDS)
def test_right_values(sigma: str, rate: str, steps: int, eps: str, delta: str) -> None:
    """δ is enclosed to 12 digits; a finer run of the same line lies inside the first enclosure."""
    loss = ComposedLoss(_dpsgd(sigma, rate, steps))
    low, high = loss.delta(Fraction(eps))
    rounded = Fraction(delta) * Fraction(1, 10**12)
    with precision(200):
        assert low <= ball(Fraction(delta) + rounded)
        assert high >= ball(Fraction(delta) - rounded)
        assert high - low <= min(low, 1 - low) * arb("2e-12")

    first = loss.directions[0]
    line = first.stretch(Fraction(eps)).line
    choice = replace(line.choice, count=2 * line.choice.count)
    finer = Line(line.moments, choice, -10 - line.bits, mirrored=line.kind is Kind.PUT)
    with precision(finer.bits):
        at = ball(Fraction(eps))
        assert line.lower(at).lower() <= finer.lower(at).lower()
        assert finer.upper(at).upper() <= line.upper(at).upper()


def _reference() -> list[tuple[str, dict[str, object]]]:
    settings = json.loads((DATA / "dpsgd_reference.json").read_text())["settings"]
    return [(f"{one['sigma']}-{one['q']}-{one['steps']}", one) for one in settings]


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("setting", [pytest.param(one, id=name) for name, one in _reference()])
def test_stored_references(setting: dict, direction: str, thinned: Callable) -> None:  # type: ignore[type-arg]
    """Every stored setting with several steps holds in both directions, down to e^{-10⁴}.

    To twelve digits, but for what is more work than a line may be: a hundred nats below Chernoff's
    bound that bound is all there is, and next to δ = 1 a few steps have fewer digits.
    """
    if setting["steps"] == 1:
        pytest.skip("one step has a closed form")
    sigma, rate = Fraction(setting["sigma"]), Fraction(setting["q"])
    one = SampledGaussianTransform(sigma, rate) if rate < 1 else GaussianTransform(1 / sigma**2)
    directions = ComposedLoss([Part(one, setting["steps"])]).directions
    loss = directions[-1 if direction == "add" else 0]
    for value in thinned(setting["values"], 5, len(setting["q"])):
        want = value[f"log_delta_{direction}"]
        low, high = loss.delta(Fraction(value["eps"]))
        if want is None:
            assert low == 0
            assert high == 0
            continue
        with precision(200):
            off = arb("1e-15") + arb(value[f"gap_{direction}"])
            assert high.log() + off >= arb(want)
            if float(want) < FAR_BELOW:
                assert low >= 0
                continue
            few = setting["steps"] == 10 and setting["sigma"] == "0.3"
            assert low.log() - off <= arb(want)
            assert high.log() - low.log() < (1e-7 if few else 1e-11)


@pytest.mark.parametrize(
    ("parts", "delta", "eps"),
    [
        (_dpsgd("1", "0.01", 10_000), "1e-5", "6.1877123"),
        (_dpsgd("9.4", "0.328", 2000), "1e-5", "7.4330656"),
        (
            [
                Part(GaussianTransform(Fraction(1)), 1),
                Part(only_fails(Fraction("1e-6")), 1),
            ],
            "1e-5",
            "4.40170826",
        ),
    ],
)
def test_least_epsilon(parts: list[Part], delta: str, eps: str) -> None:
    """The least ε for a δ is enclosed to 11 digits, and its ends are proved."""
    loss = ComposedLoss(parts)
    found = loss.epsilon(Fraction(delta))
    assert found is not None
    low, high = found
    assert float(high) == pytest.approx(float(eps), rel=1e-7)
    assert high - low <= high * Fraction(1, 10**11)
    assert loss.delta(low)[0] > ball(Fraction(delta))
    assert loss.delta(high)[1] <= ball(Fraction(delta))


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "eps"),
    [
        ("1", "1.6e-4", 8, 0.00184055065),
        ("0.3556", "0.09481", 4, 17.9802),
        ("0.3251", "0.6669", 172_095, 464_496.887584),
        ("0.1", "250/60000", 14_400, 4248.118603),
    ],
)
def test_few_steps_and_vast_losses(sigma: str, rate: str, steps: int, eps: float) -> None:
    """Where a line to all digits is too much work, ε is still enclosed to 1 %, or far closer."""
    found = ComposedLoss(_dpsgd(sigma, rate, steps)).epsilon(Fraction("1e-5"))
    assert found is not None
    low, high = found
    assert low <= Fraction(eps) * (1 + Fraction(1, 10**6))
    assert high >= Fraction(eps) * (1 - Fraction(1, 10**6))
    assert high - low <= high / 100


def test_an_error_above_all_terms_leaves_a_precision() -> None:
    """A line may be allowed to be off by more than there is; it is above δ all the same."""
    direction = ComposedLoss([Part(GaussianTransform(Fraction(1)), 1)]).directions[0]
    choice = direction.stretch(Fraction(1)).line.choice
    line = Line(direction.moments, choice, 200.0)
    assert line.bits >= 2
    assert line.upper(arb(1)) > 0.126936


def test_no_epsilon_below_the_mass_at_infinity() -> None:
    """Where infinite losses alone exceed δ there is no ε; at a δ above δ(0) it is 0."""
    loss = ComposedLoss(
        [Part(GaussianTransform(Fraction(1)), 1), Part(only_fails(Fraction("1e-3")), 2)]
    )
    assert loss.epsilon(Fraction("1e-3")) is None
    assert loss.epsilon(Fraction("0.9")) == (0, 0)


def test_a_gaussian_is_its_own_curve() -> None:
    """Runs of Gaussian noise compose to a Gaussian curve, to 30 digits where they are asked for."""
    loss = ComposedLoss(
        [Part(GaussianTransform(Fraction(1, 4)), 3), Part(GaussianTransform(Fraction(1, 9)), 2)],
        digits=30,
    )
    for eps in (Fraction(-1), Fraction(0), Fraction(1), Fraction(12)):
        low, high = loss.delta(eps)
        with precision(200):
            width = ball(Fraction(3, 4) + Fraction(2, 9)).sqrt()
            want = gaussian.probability(abs(ball(eps)), width).log().exp()
            if eps < 0:
                # δ(ε) of a symmetric pair: 1 - e^ε + e^ε·δ(-ε)
                want = 1 - ball(eps).exp() * (1 - want)
            assert low <= want
            assert want <= high
            assert high - low < want * arb("1e-29")


def test_mixed_parts_are_a_mixture() -> None:
    """Beside Gaussian noise, what is ±ε₀ or fails averages Gaussian curves."""
    failure, eps0 = Fraction("0.001"), Fraction("0.5")
    loss = ComposedLoss(
        [Part(GaussianTransform(Fraction(1)), 1), Part(two_valued(eps0, failure), 1)]
    )
    for eps in (Fraction("0.6"), Fraction(2), Fraction(5)):
        low, high = loss.delta(eps)
        with precision(128):
            share = ball(eps0).exp() / (1 + ball(eps0).exp())
            one = gaussian.probability(ball(eps - eps0), arb(1)).log().exp()
            other = gaussian.probability(ball(eps + eps0), arb(1)).log().exp()
            mixed = share * one + (1 - share) * other
            want = ball(failure) + ball(1 - failure) * mixed
            assert low <= want
            assert want <= high


def test_laplace_beside_gaussian_noise() -> None:
    """A pure and a Laplace loss beside Gaussian noise: the sum of both runs in either order."""
    parts = [
        Part(GaussianTransform(Fraction(1, 4)), 1),
        Part(laplace_transform(Fraction(1, 2)), 2),
        Part(
            FiniteTransform(
                [Fraction(-1), Fraction(1)],
                [lambda: 1 / (1 + arb(1).exp()), lambda: 1 / (1 + arb(-1).exp())],
                symmetric=True,
            ),
            1,
        ),
    ]
    low, high = ComposedLoss(parts).delta(Fraction(1))
    other = ComposedLoss(parts[::-1]).delta(Fraction(1))
    assert low <= other[1]
    assert other[0] <= high
    assert high - low < low * 1e-11
    # what is stronger in every part is stronger in all
    more = [replace(parts[0], transform=GaussianTransform(Fraction(1, 3))), *parts[1:]]
    assert ComposedLoss(more).delta(Fraction(1))[0] > high


def test_stretches_cover_a_range_and_differentiate() -> None:
    """Stretches join without a gap; their curves' slopes are those of the values."""
    direction = ComposedLoss(_dpsgd("9.4", "0.328", 2000)).directions[0]
    at = Fraction(0)
    for stretch in direction.cover(Fraction(0), Fraction(10)):
        assert stretch.start == at
        at = stretch.stop
        middle = (stretch.start + stretch.stop) / 2
        step = Fraction(1, 2**20)
        with precision(160):
            series = direction.bounds(stretch.line, arb_series([ball(middle), 1], 3))
            for side in (0, 1):
                values = [
                    direction.bounds(stretch.line, ball(middle + k * step))[side]
                    for k in (-1, 0, 1)
                ]
                slope = (values[2] - values[0]) / (2 * ball(step))
                bend = (values[2] - 2 * values[1] + values[0]) / ball(step) ** 2
                assert float(slope) == pytest.approx(float(series[side][1]), rel=1e-9)
                assert float(bend / 2) == pytest.approx(float(series[side][2]), rel=1e-6)
    assert at == 10


@pytest.mark.parametrize("parts", [_dpsgd("1", "0.01", 1000), _dpsgd("0.8", "0.2", 3)])
def test_both_directions_mirror_each_other(parts: list[Part]) -> None:
    """δ of the one at ε is 1 - e^ε(1 - δ of the other at -ε), as both are of one pair."""
    forward, backward = ComposedLoss(parts).directions
    for eps in (Fraction("0.1"), Fraction(1)):
        low, high = backward.delta(eps)
        below, above = forward.delta(-eps)
        with precision(128):
            factor = ball(eps).exp()
            assert low <= 1 - factor * (1 - above)
            assert 1 - factor * (1 - below) <= high


def test_widths_on_demand() -> None:
    """More digits narrow the enclosure, and each lies in the one before."""
    before: tuple[arb, arb] | None = None
    for digits in (3, 9, 18, 27):
        low, high = ComposedLoss(_dpsgd("1", "0.01", 500), digits).delta(Fraction(2))
        assert (high - low) / low < 10.0**-digits * 1.01
        if before is not None:
            assert before[0] <= high
            assert low <= before[1]
        before = low, high
    assert math.isfinite(float(low))
