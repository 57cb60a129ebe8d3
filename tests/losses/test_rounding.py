"""Losses on multiples of a unit that they do not have: a law above, and one below."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.losses.brackets import between
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.rounding import Atoms, Side, counted, likeliest, rounded
from gdpbridge.losses.sums import LatticeSum, Law, Step
from gdpbridge.losses.transforms.base import number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.losses.transforms.sampled_exponential import SampledExponentialTransform
from gdpbridge.losses.trimmed import TrimmedSum
from gdpbridge.mechanisms.base import as_profile
from gdpbridge.numeric.flint_context import precision

P = gdp.profiles
TENTH, HALF = Fraction(1, 10), Fraction(1, 2)
LAPLACE = ExponentialLoss(Fraction(2), HALF, HALF)
FAILING = ExponentialLoss(
    Fraction(2),
    HALF - Fraction(1, 100),
    lambda: arb("0.5") + arb("0.01") / arb(2).expm1(),
    Fraction(1, 100),
)


def divergence(pairs: list[tuple[float, float]], eps: float) -> float:
    """δ(ε) of losses and their masses."""
    return math.fsum(mass * -math.expm1(eps - loss) for loss, mass in pairs if loss > eps)


@pytest.mark.parametrize("seed", range(20))
def test_random_laws_lie_between(seed: int) -> None:
    """At every ε; no mass of P or Q is lost on either side; two losses stay as they are."""
    rng = random.Random(seed)
    losses = sorted(rng.uniform(-1, 1) for _ in range(rng.randint(2, 30)))
    weights = [rng.random() ** rng.choice((1, 9)) for _ in losses]
    masses = [one / sum(weights) for one in weights]
    made = [(lambda value=value: arb(value)) for value in losses]
    atoms = Atoms(made, lambda: [arb(one) for one in masses], 1, None)
    first, last = likeliest(atoms)
    count = rng.choice((1, 2, 7, 60))
    unit = (losses[last] - losses[first]) / count
    own = list(zip(losses, masses, strict=True))
    found = {}
    with precision(160):
        start, step = counted(atoms, lambda: arb(unit), (first, last), count)
        at = [float(number_ball(start)) + unit * place for place in step.places]
        found[Side.ABOVE] = list(zip(at, map(float, step.masses()), strict=True))
        step = rounded(atoms, lambda: arb(unit), (first, last), count)
        assert step.others is not None
        both = [list(map(float, one())) for one in (step.masses, step.others)]
        found[Side.BELOW] = [(math.log(p / q), p) for p, q in zip(*both, strict=True)]
        for law in found.values():
            assert all(mass >= 0 for _, mass in law)
            assert math.fsum(mass for _, mass in law) == pytest.approx(1, rel=1e-12)
    for eps in np.linspace(-1.2, 1.2, 49).tolist():
        below, above = (divergence(found[side], eps) for side in (Side.BELOW, Side.ABOVE))
        assert below - 1e-12 <= divergence(own, eps) <= above + 1e-12
    totals = [math.fsum(p * math.exp(-y) for y, p in law) for law in (own, *found.values())]
    assert totals[1:] == pytest.approx([totals[0]] * 2, rel=1e-11)
    if len(losses) == 2:
        for law in found.values():
            assert np.ravel(law) == pytest.approx(np.ravel(own), abs=1e-12)


def _delta(law: Law, eps: float) -> float:
    pairs = [(float(law.loss(k)), float(law.mass(k))) for k in range(law.losses.size)]
    return float(number_ball(law.failure)) + divergence(pairs, eps)


@pytest.mark.parametrize("points", [3, 16, 200])
@pytest.mark.parametrize("loss", [LAPLACE, FAILING], ids=["kept", "failing"])
@pytest.mark.parametrize("mirrored", [False, True], ids=["removed", "added"])
def test_a_density_on_a_sample_lies_between(
    loss: ExponentialLoss, points: int, mirrored: bool
) -> None:
    """γ·δ at log(1 + (e^ε - 1)/γ) and its mirror image, however coarse the cells are."""
    with precision(128):
        one = SampledExponentialTransform(loss, TENTH)
        below, above = between([Factor(one, 1, mirrored=mirrored)], points)
    failure, atom = float(loss.failure), float(loss.atom)
    with precision(60):
        density = float(number_ball(loss.density))

    def removed(eps: float) -> float:
        if eps <= math.log1p(-0.1):
            return -math.expm1(eps)
        inner = math.log1p(math.expm1(eps) * 10)
        if inner < -2:
            return (1 - (1 - failure) * math.exp(inner)) / 10
        u = min(math.exp((inner - 2) / 2), 1.0)
        return (failure + (1 - u) * (atom * (1 + u) + density * (1 - u))) / 10

    for eps in (0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.6):
        own = removed(eps)
        if mirrored:
            # δ'(ε) = 1 - e^ε(1 - δ(-ε))
            own = 1 - math.exp(eps) * (1 - removed(-eps))
        low, high = (_delta(law, eps) for law in (below, above))
        assert low - 1e-13 <= own <= high + 1e-13
        assert high - low <= 3 / points


def _log_orders(most: int) -> Any:
    """log n!: sums of few logarithms, and Stirling's series, as many rounded sums would be off."""
    n = np.arange(1, most + 1, dtype=np.longdouble)
    two_pi = 8 * np.arctan(np.longdouble(1))
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5)
    found = (n + 0.5) * np.log(n) - n + np.log(two_pi) / 2 + series
    found[:300] = np.cumsum(np.log(n[:300]))
    return np.append(0, found)


def _multinomial(eps0: str, delta0: str, rate: str, times: int, eps: str) -> float:
    """δ(ε) of sampled (ε₀, δ₀)-DP: all counts of its three losses, but more than 20 rare ones."""
    e0, d0, gamma, at = map(np.longdouble, (eps0, delta0, rate, eps))
    log_orders = _log_orders(times)
    ends = np.array([-e0, e0])
    q = (1 - d0) / (1 + np.exp(ends))
    steps = np.log1p(gamma * np.expm1(ends))
    found = [-np.expm1(times * np.log1p(-gamma * d0)), np.longdouble(0)]
    for rare in range(21):
        low = np.arange(times - rare + 1)
        high = times - rare - low
        ways = log_orders[times] - log_orders[rare] - log_orders[low] - log_orders[high]
        loss = rare * np.log1p(-gamma) + low * steps[0] + high * steps[1]
        log_q = ways + rare * np.log(d0) + low * np.log(q[0]) + high * np.log(q[1])
        for number, (sign, logs) in enumerate(((1, log_q + loss), (-1, log_q))):
            above = sign * loss > at
            found[number] += (np.exp(logs[above]) * -np.expm1(at - sign * loss[above])).sum()
    return float(max(found))


def test_many_runs_that_may_fail_on_samples() -> None:
    """δ of more sums than can be listed, from few multiples of a unit; windows serve more runs."""
    runs = P.ApproxDP(epsilon=0.1, delta=1e-6).subsample(rate=0.1).compose(600)
    assert runs.curve.form is Form.BETWEEN
    sides = [between(factors, 4096) for factors in runs.curve.directions]
    for eps in (0.2, 0.7):
        want = _multinomial("0.1", "1e-6", "0.1", 600, str(eps))
        low, high = (max(_delta(law, eps) for law in laws) for laws in zip(*sides, strict=True))
        assert low <= want * (1 + 1e-12)
        assert want * (1 - 1e-12) <= high <= low * (1 + 1e-4)
    many = P.ApproxDP(epsilon=0.1, delta=1e-6).subsample(rate=0.01).compose(100_000)
    want = _multinomial("0.1", "1e-6", "0.01", 100_000, "0.5")
    low, high = many.delta_bounds(0.5)
    assert low <= want * (1 + 1e-12)
    assert want * (1 - 1e-12) <= high <= low * (1 + 1e-4)


@pytest.mark.parametrize("least", [-3, -400])
@pytest.mark.parametrize("runs", [1, 2, 7, 50])
def test_what_is_trimmed_is_rare(runs: int, least: int) -> None:
    """Of the same law in a window no mass is larger, and together they lack what may be lost."""
    steps = [
        Step((least, 0, 1), lambda: [arb("0.001"), arb("0.5"), arb("0.499")], runs),
        Step((-1, 2), lambda: [arb("0.75"), arb("0.25")], 5),
    ]
    unit, spare = TENTH, Fraction(1, 10**6)
    whole = LatticeSum(unit, steps, Fraction(0), HALF)
    part = TrimmedSum(unit, steps, Fraction(0), HALF, spare)
    with precision(300):
        known = {int(place): whole.mass(k) for k, place in enumerate(whole.places)}
        found = {int(place): part.mass(k) for k, place in enumerate(part.places)}
        assert all(float(mass - known.get(place, arb(0))) <= 1e-60 for place, mass in found.items())
        assert 0 <= float(sum(known.values()) - sum(found.values())) <= float(spare)
    assert (runs, least) != (50, -3) or len(found) < len(known) / 2
    # far between the usual losses, masses are left out as well as at the ends
    inside = list(found.values())[1:-1]
    assert (runs, least) != (50, -400) or sum(one == 0 for one in inside) > len(inside) / 2
    assert part.losses == pytest.approx([float(HALF + place * unit) for place in found])


@pytest.mark.parametrize("runs", [16, 50])
def test_the_unit_grows(runs: int) -> None:
    """Doubled twice, it dominates what has the fine unit, hardly; P and Q keep their masses."""
    masses = [0.25, 0.4, 0.35]
    fine = [Step((-3, 0, 4), lambda: [arb(one) for one in masses], runs)]
    unit, spare = Fraction(1, 100), Fraction(1, 10**30)
    whole = LatticeSum(unit / 4, fine, Fraction(0), HALF)
    grown = TrimmedSum(unit, [replace(fine[0], halvings=2)], Fraction(0), HALF, spare)
    laws = [
        [(float(law.loss(k)), float(law.mass(k))) for k in range(law.losses.size)]
        for law in (whole, grown)
    ]
    for sign in (0, -1):
        own, other = (math.fsum(p * math.exp(sign * y) for y, p in law) for law in laws)
        assert other == pytest.approx(own, rel=1e-12)
    for eps in (0.0, 0.3, 0.5, 0.6, 0.9):
        own, other = (divergence(law, eps) for law in laws)
        assert own * (1 - 1e-12) <= other <= own + 1e-3
    assert len(laws[1]) < len(laws[0]) / 2


def test_sampled_laplace_runs_have_both_ends() -> None:
    """dp_accounting's pessimistic and optimistic laws lie on either side; δ is the mechanism's."""
    runs = P.Laplace(scale=1).subsample(rate=0.1).compose(20)
    assert runs.profile_is is gdp.Nature.OWN
    low, high = runs.delta_bounds(2.0)
    assert high - low < 1e-5 * high
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    sides: list[Any] = [
        pld.from_laplace_mechanism(
            1, value_discretization_interval=1e-3, pessimistic_estimate=side, sampling_prob=0.1
        )
        .self_compose(20)
        .get_delta_for_epsilon(2.0)
        for side in (False, True)
    ]
    assert sides[0] <= low < high <= sides[1]


@pytest.mark.parametrize("scale", ["1.487", "0.4"])
def test_units_that_grow_are_those_of_all_losses(scale: str) -> None:
    """What is a multiple of the fine unit is counted in it, too: both laws keep P and Q."""
    parts = [
        {"kind": "discrete-gaussian", "sigma": 11.5, "sensitivity": 1},
        {"kind": "laplace", "scale": float(scale), "sensitivity": 1, "count": 9},
    ]
    losses = as_profile({"kind": "sequence", "parts": parts}).curve.directions[0]
    laws = between(losses, 2048, Fraction(1, 10**40))
    for law in laws:
        p = np.exp(law.log_masses)
        assert p.sum() == pytest.approx(1, abs=1e-9)
        if law is laws[1]:
            assert np.exp(law.log_masses - law.losses).sum() == pytest.approx(1, abs=1e-9)
    means = [float(np.exp(law.log_masses) @ law.losses) for law in laws]
    assert means[0] == pytest.approx(means[1], rel=1e-3)
