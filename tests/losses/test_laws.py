"""A dominating law lies above the loss and a dominated one below it, at every t."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from gdpbridge.losses.atoms import Atoms, two_losses
from gdpbridge.losses.laplace import LaplaceLoss
from gdpbridge.losses.laws import Kept, Law, TooCoarseError, dominated_law, dominating_law
from gdpbridge.losses.placing import upper_lattice
from gdpbridge.losses.step import Step
from gdpbridge.losses.subsampled_gaussian import SubsampledGaussian
from gdpbridge.numeric.flint_context import precision

STEPS = {
    "small-rate": (SubsampledGaussian(Fraction(1), Fraction(1, 100)), Fraction(1, 2048)),
    "large-rate": (SubsampledGaussian(Fraction("9.4"), Fraction("0.328")), Fraction(1, 1024)),
    "coarse": (SubsampledGaussian(Fraction("0.3"), Fraction(1, 10**5)), Fraction(1, 32768)),
    "no-sampling": (SubsampledGaussian(Fraction(2), Fraction(1)), Fraction(1, 64)),
    "laplace": (LaplaceLoss(Fraction(1, 2)), Fraction(1, 128)),
    "two-losses": (two_losses(Fraction(3, 10)), Fraction(1, 64)),
    "atoms": (
        Atoms(
            [Fraction("-0.21"), Fraction("0.05"), Fraction("0.37")],
            [Fraction("0.2"), Fraction("0.4"), Fraction("0.4")],
        ),
        Fraction(1, 50),
    ),
}


def call_of(law: Law, t: float) -> float:
    """E_Q[(e^L - t)⁺] of a law."""
    loss = law.lattice.losses(law.index)
    return math.fsum(np.exp(law.log_mass) * np.maximum(np.exp(loss) - t, 0.0))


def laws(step: Step, spacing: Fraction, theta: float, kept: Kept) -> tuple[Law, Law]:
    """A law above and one below."""
    lattice = upper_lattice(step, spacing)
    upper = dominating_law(step, lattice, step.upper_knots(lattice, theta, -45.0))
    below = step.lower_lattice(spacing)
    knots, touching = step.lower_knots(below, theta, -45.0)
    return upper, dominated_law(step, below, knots, touching, kept)


def points(step: Step, law: Law) -> list[float]:
    """Losses within the law's range."""
    low = max(step.bottom, float(law.lattice.losses(law.index)[0])) - 0.01
    high = min(step.top, float(law.lattice.losses(law.index)[-1])) - 1e-3
    return [float(x) for x in np.linspace(low, high, 101)]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("theta", [1.0, 1.5])
def test_calls(name: str, theta: float) -> None:
    """C of the law above ≥ C ≥ C of the law below, and the gap is of second order."""
    step, spacing = STEPS[name]
    upper, lower = laws(step, spacing, theta, Kept.CALLS)
    with precision(200):
        for eps in points(step, upper):
            exact = float(step.point(arb(eps)).call)
            slack = 1e-14 * max(1.0, exact)
            assert call_of(upper, math.exp(eps)) >= exact - slack
            assert call_of(lower, math.exp(eps)) <= exact + slack


@pytest.mark.parametrize("name", [name for name in STEPS if name != "no-sampling"])
def test_both_keep_the_mean(name: str) -> None:
    """A law for both directions has Σ Q = 1 and Σ Q·e^L = 1, and so has the one above."""
    step, spacing = STEPS[name]
    upper, lower = laws(step, spacing / 16, 1.0, Kept.BOTH)
    with precision(200):
        total, mean = float(step.finite_q()), float(step.finite_p())
    for law in upper, lower:
        mass = np.exp(law.log_mass)
        assert math.fsum(mass) == pytest.approx(total, rel=1e-12)
        ratios = np.exp(law.lattice.losses(law.index))
        assert math.fsum(mass * ratios) == pytest.approx(mean, rel=1e-12)


def test_puts() -> None:
    """For the other direction it is the puts that the law below does not exceed."""
    step, spacing = STEPS["small-rate"]
    _, lower = laws(step, spacing, -2.0, Kept.PUTS)
    loss, mass = lower.lattice.losses(lower.index), np.exp(lower.log_mass)
    with precision(200):
        for eps in np.linspace(-0.0099, 0.02, 60):
            exact = float(step.point(arb(float(eps))).put)
            assert math.fsum(mass * np.maximum(math.exp(eps) - np.exp(loss), 0.0)) <= exact + 1e-15


def test_a_lattice_is_kept() -> None:
    """Losses that are on the lattice are their own law."""
    step = two_losses(Fraction(1, 5))
    law = step.exact_law(Fraction(1, 10))
    assert law is not None
    assert law.index.tolist() == [-2, 2]
    assert np.exp(law.log_mass + law.index * 0.1).sum() == pytest.approx(1, rel=1e-14)
    assert step.exact_law(Fraction(3, 10)) is None


@pytest.mark.parametrize("kept", [Kept.BOTH, Kept.CALLS, Kept.PUTS])
def test_a_single_knot_beside_the_mean(kept: Kept) -> None:
    """Losses that fall on one knot have no law there, unless it errs on the side asked for."""
    step = two_losses(Fraction(1, 100))
    below = step.lower_lattice(Fraction(1, 15))
    knots, touching = step.lower_knots(below, 1.0, -45.0)
    assert knots.size == 1
    if kept is Kept.CALLS:
        # all of the loss at the knot, which is below the mean
        law = dominated_law(step, below, knots, touching, kept)
        assert float(law.lattice.losses(law.index)[0]) < 0
    else:
        with pytest.raises(TooCoarseError):
            dominated_law(step, below, knots, touching, kept)
