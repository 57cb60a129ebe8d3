"""Losses without a Gaussian tail: exact on lattices, or between a law above and one below."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.curves.between import BetweenCurve
from gdpbridge.curves.loss_distribution import loss_curve
from gdpbridge.losses.brackets import between
from gdpbridge.losses.lattices import exactly
from gdpbridge.losses.moments import Part
from gdpbridge.losses.sums import Law
from gdpbridge.losses.transforms.base import Transform, number_ball
from gdpbridge.losses.transforms.exponential import (
    ExponentialLoss,
    ExponentialTransform,
    laplace_transform,
)
from gdpbridge.losses.transforms.finite import FiniteTransform, two_valued
from gdpbridge.measure.methods.between import solve
from gdpbridge.measure.problem import Problem
from gdpbridge.numeric.flint_context import precision

P = gdp.profiles
LOOSE = FiniteTransform(
    [Fraction("-0.2000000001"), Fraction("0.0700000003"), Fraction("0.31")],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
    symmetric=True,
)


def factors(*parts: tuple[Transform, int]) -> list[Any]:
    return [Part(one, times).factor(backward=False) for one, times in parts]


def delta(law: Law, eps: float) -> arb:
    """δ(ε) for finite losses, at any sign of ε."""
    total = arb(0)
    for number, loss in enumerate(law.losses):
        if loss > eps:
            total += law.mass(number) * (1 - (arb(eps) - law.loss(number)).exp())
    return total


@pytest.mark.parametrize(
    "transform",
    [
        laplace_transform(Fraction(1, 2)),
        laplace_transform(Fraction(7, 3)),
        ExponentialTransform(
            ExponentialLoss(Fraction(3, 2), Fraction(0), lambda: -1 / arb(-1.5).expm1())
        ),
    ],
    ids=["laplace", "wide", "range"],
)
def test_laws_on_either_side(transform: ExponentialTransform) -> None:
    """δ of the law above ≥ δ ≥ that of the law below, at every ε, and both keep P and Q."""
    below, above = between(factors((transform, 1)), 256)
    r, m = float(transform.loss.width), float(transform.loss.atom)
    with precision(200):
        d = float(transform.loss.density() if callable(transform.loss.density) else Fraction(1, 2))
        for law in below, above:
            p = [law.mass(number) for number in range(law.losses.size)]
            q = [mass * (-law.loss(number)).exp() for number, mass in enumerate(p)]
            assert float(sum(p, arb(0))) == pytest.approx(1, rel=1e-14)
            assert float(sum(q, arb(0))) == pytest.approx(1, rel=1e-14)
        for eps in np.linspace(-r, r, 41).tolist():
            u = math.exp((eps - r) / 2)
            exact = (1 - u) * (m * (1 + u) + d * (1 - u))
            low, high = float(delta(below, eps)), float(delta(above, eps))
            assert low - 1e-15 <= exact <= high + 1e-15
            assert high - low < 1e-4


@pytest.mark.parametrize(
    "parts",
    [
        [(two_valued(Fraction(3, 10)), 4), (two_valued(Fraction(17, 100)), 3)],
        [(LOOSE, 3), (two_valued(Fraction(1, 7)), 2)],
        [(LOOSE, 2), (two_valued(lambda: arb(2).log()), 3), (two_valued(lambda: arb(4).log()), 2)],
    ],
    ids=["lattice", "loose", "related"],
)
def test_exact_laws_list_all_outcomes(parts: list[tuple[FiniteTransform, int]]) -> None:
    """δ is that of all outcomes, each listed."""
    law = exactly(factors(*parts))
    assert law is not None
    runs = [one for one, times in parts for _ in range(times)]
    with precision(200):
        singles = []
        for one in runs:
            losses = [number_ball(value) for value in one.losses]
            masses = [number_ball(value) for value in one.masses]
            singles.append(list(zip(losses, masses, strict=True)))
        for eps in (-0.5, 0.0, 0.4, 1.1):
            want = arb(0)
            for outcome in itertools.product(*singles):
                loss = sum((one for one, _ in outcome), arb(0))
                if loss > eps:
                    mass = math.prod((one for _, one in outcome), start=arb(1))
                    want += mass * (1 - (arb(eps) - loss).exp())
            assert delta(law, eps).overlaps(want)


def test_many_runs_of_losses_without_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their masses are the binomial ones, without products with all digits of a factorial."""
    monkeypatch.delattr(math, "factorial")
    runs, share = 4000, Fraction(1, 4)
    pair = FiniteTransform([lambda: arb(2).sqrt() - 2, lambda: arb(3).log()], [share, 1 - share])
    law = exactly(factors((pair, runs)))
    assert law is not None
    assert law.losses.size == runs + 1
    for number in (0, 1000, 3010, runs):
        expected = math.comb(runs, number) * (1 - share) ** number * share ** (runs - number)
        with precision(256):
            ratio = law.mass(number) / (arb(expected.numerator) / expected.denominator)
            assert ratio.contains(1)
            assert float(ratio.rad()) < 1e-60
            loss = number * arb(3).log() + (runs - number) * (arb(2).sqrt() - 2)
            assert law.loss(number).overlaps(loss)


def laplace_mix(widths: list[float], atoms: list[tuple[float, float]], eps: float) -> float:
    """δ(ε) of Laplace noise and a finite law, by integrating one density after the other.

    Under √(PQ) the loss of Laplace noise is uniform on [-r, r] beside equal atoms at its ends; the
    sum's law is worked out as pieces of polynomials, all of positive terms.
    """
    with mpmath.workdps(30):
        total = mpmath.mpf(0)
        for signs in itertools.product((-1, 0, 1), repeat=len(widths)):
            scale = mpmath.mpf(1)
            shift, spread = mpmath.mpf(0), []
            for sign, r in zip(signs, widths, strict=True):
                scale *= mpmath.exp(-mpmath.mpf(r) / 2) / (2 if sign else 4)
                shift += sign * r
                if not sign:
                    spread.append(mpmath.mpf(r))
            for loss, mass in atoms:
                tilted = mass * mpmath.exp(-mpmath.mpf(loss) / 2)
                total += scale * tilted * _gain(shift + loss, spread, mpmath.mpf(eps))
        return float(total)


def _gain(at: Any, spread: list[Any], eps: Any) -> Any:
    """∫ 2e^{ε/2} sinh((x - ε)/2)⁺ over x = at + Σ u_i, u_i on [-r_i, r_i], in closed form.

    sinh integrated k times from 0 on, in differences over the ends of all ranges.
    """
    k = len(spread)
    total = mpmath.mpf(0)
    for ends in itertools.product((-1, 1), repeat=k):
        y = at + sum(end * r for end, r in zip(ends, spread, strict=True)) - eps
        if y > 0:
            # Σ_{j ≥ 0} (y/2)^{2j+1}/(2j+1)!, integrated k times
            value = mpmath.nsum(
                lambda j, y=y: (
                    y ** (2 * j + 1 + k)
                    / (mpmath.mpf(2) ** (2 * j + 1) * mpmath.factorial(2 * j + 1 + k))
                ),
                [0, 60],
            )
            total += math.prod(ends) * value
    return 2 * mpmath.exp(eps / 2) * total


def _response(eps0: float) -> list[tuple[float, float]]:
    return [(sign * eps0, 1 / (1 + math.exp(-sign * eps0))) for sign in (-1, 1)]


def test_the_truth_of_these_tests() -> None:
    """One run's δ is known."""
    for eps in (0.0, 0.6):
        want = -math.expm1((eps - 1.5) / 2)
        assert laplace_mix([1.5], [(0.0, 1.0)], eps) == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_random_sequences(seed: int) -> None:
    """Laplace noise and discrete parts: δ is exact."""
    rng = random.Random(seed)
    scales = [round(rng.uniform(0.3, 4), rng.choice((1, 3))) for _ in range(rng.randint(1, 3))]
    parts: list[Any] = [P.Laplace(scale=scale) for scale in scales]
    atoms = [(0.0, 1.0)]
    if rng.random() < 0.7:
        eps0 = round(rng.uniform(0.05, 3), 2)
        parts.append(P.PureDP(epsilon=eps0))
        atoms = _response(eps0)
    if rng.random() < 0.5:
        noise, buckets = round(rng.uniform(0.2, 0.9), 2), rng.randint(3, 9)
        parts.append(P.RandomizedResponse(noise_parameter=noise, buckets=buckets))
        share = noise / buckets
        top = math.log(1 + (1 - noise) / share)
        law = [(-top, share), (0.0, (buckets - 2) * share), (top, share + 1 - noise)]
        atoms = [(a + b, p * q) for (a, p), (b, q) in itertools.product(atoms, law)]
    one = P.Sequence(parts=parts)
    eps = rng.uniform(0, 0.6) * sum(1 / scale for scale in scales)
    want = laplace_mix([float(1 / Fraction(str(scale))) for scale in scales], atoms, eps)
    found = one.curve.delta_at(Fraction(eps))
    assert float(found.low) * (1 - 1e-13) <= want <= float(found.high) * (1 + 1e-13)
    assert float(found.high - found.low) <= 1e-18 * want
    # and so it does between the laws on a coarse lattice
    low, high = map(loss_curve, zip(between(factors_of(one), 4096), strict=True))
    at = [Fraction(eps)]
    below, above = low.deltas_at(at)[0][0], high.deltas_at(at)[1][0]
    assert below * (1 - 1e-13) <= want <= above * (1 + 1e-13)
    assert above - below <= 2e-3 * want


def factors_of(profile: Any) -> list[Any]:
    return [part.factor(backward=False) for part in profile.privacy_losses()]


def test_the_interval_for_mu_narrows() -> None:
    """A width asked for is met on a finer lattice, inside the coarser interval."""
    several = P.Laplace(scale=10).compose(3)
    curve = BetweenCurve([factors_of(several)], several.tail, several.curve.end)
    coarse, fine = (
        solve(Problem(curve, Fraction(3, 10), tol))
        for tol in (Fraction(1, 10**3), Fraction(1, 10**7))
    )
    exact = gdp.measure(several, tol="1e-12").mu
    assert fine.high - fine.low <= Fraction(1, 10**7)
    assert coarse.low <= fine.low <= exact.low <= exact.high <= fine.high <= coarse.high


def test_many_runs_leave_the_lattice() -> None:
    """Where the atoms' share is small, lines serve, to twelve digits; a peer's bounds hold them."""
    several = P.Laplace(scale=5).compose(1000)
    assert several.curve.form is Form.COMPOSED
    low, high = several.delta_bounds(20.0)
    assert high - low < 1e-11 * high
    # dp_accounting's pessimistic and optimistic laws of the same noise
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    sides = [
        pld.from_laplace_mechanism(
            5, value_discretization_interval=1e-2, pessimistic_estimate=pessimistic
        )
        .self_compose(1000)
        .get_delta_for_epsilon(20.0)
        for pessimistic in (False, True)
    ]
    assert sides[0] * (1 - 1e-6) <= low <= high <= sides[1] * (1 + 1e-6)
