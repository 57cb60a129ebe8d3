"""DP-SGD where a record is replaced: Poisson samples and batches of a fixed size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

import gdpbridge as gdp
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.flint_context import precision


def _run(**words: Any) -> gdp.profiles.DPSGD:
    return gdp.profiles.DPSGD(**{"noise_multiplier": 1, "sample_rate": 0.1, "steps": 1, **words})


@pytest.mark.parametrize(
    ("sigma", "rate", "eps"), [("1", "0.1", "0.5"), ("1", "0.5", "1"), ("2", "0.9", "0.3")]
)
def test_one_step_with_a_record_replaced(sigma: str, rate: str, eps: str) -> None:
    """δ is that of half-lines: where the ratio of the densities is e^ε, a quadratic equation."""
    with mpmath.workdps(40):
        s, q, e = mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.exp(mpmath.mpf(eps))
        c, b = mpmath.exp(-1 / (2 * s * s)), (1 - q) * (e - 1)
        u = s * mpmath.log((b + mpmath.sqrt(b * b + 4 * q * q * c * c * e)) / (2 * q * c))
        tail = [mpmath.ncdf(shift / s - u) for shift in (0, 1, -1)]
        want = (1 - q) * tail[0] + q * tail[1] - e * ((1 - q) * tail[0] + q * tail[2])
    low, high = _run(
        noise_multiplier=float(sigma), sample_rate=float(rate), neighbours="replace-one"
    ).delta_bounds(float(eps))
    assert low <= want <= high
    assert high - low <= 1e-10 * high


def test_two_steps_with_a_record_replaced() -> None:
    """Composition is that of the pair: an integral over the first step of the second one's δ."""
    s, q, e = 1.0, 0.3, 0.7

    def density(u: mpmath.mpf, sign: int) -> mpmath.mpf:
        return (1 - q) * mpmath.npdf(u) + q * mpmath.npdf(u - sign / s)

    def second(eps: mpmath.mpf) -> mpmath.mpf:
        t = mpmath.exp(eps)
        c, b = mpmath.exp(mpmath.mpf(-1) / 2), (1 - q) * (t - 1)
        u = mpmath.log((b + mpmath.sqrt(b * b + 4 * q * q * c * c * t)) / (2 * q * c))
        tail = [mpmath.ncdf(shift - u) for shift in (0, 1, -1)]
        return (1 - q) * tail[0] + q * tail[1] - t * ((1 - q) * tail[0] + q * tail[2])

    def inside(u: mpmath.mpf) -> mpmath.mpf:
        p, other = density(u, 1), density(u, -1)
        return p * second(e - mpmath.log(p / other))

    want = mpmath.quad(inside, mpmath.linspace(-9, 10, 20))
    low, high = _run(sample_rate=q, steps=2, neighbours="replace-one").delta_bounds(e)
    assert low == pytest.approx(float(want), rel=1e-9)
    assert high == pytest.approx(float(want), rel=1e-9)


def test_one_batch_of_a_fixed_size() -> None:
    """One step has the known profile, the mechanism's own; with every record it is Gaussian."""
    one = _run(sampling="fixed-size")
    assert one.neighbours == "replace-one"
    assert one.profile_is == "own"
    for eps, want in ((0, 0.0682689492137), (0.1, 0.0560589617913), (1, 0.0196478811166)):
        assert one.delta(eps) == pytest.approx(want, rel=1e-11)
    every = _run(sampling="fixed-size", sample_rate=1, steps=9)
    assert gdp.measure(every).mu.upper == pytest.approx(6, abs=1e-8)
    assert every.profile_is == "own"


def test_batches_of_a_fixed_size_are_more_than_either_direction() -> None:
    """Two steps cover what an adversary reaches by choosing directions, and are called a bound."""
    rate, eps = Fraction(1, 2), Fraction(1)
    with precision(96):
        low, _ = ComposedLoss([Part(FixedSizeTransform(Fraction(2), rate), 2)], 2).delta(eps)
        either = ComposedLoss([Part(SampledGaussianTransform(rate, rate), 2)], 5).delta(eps)[1]
        assert 0.3506 < either < 0.3507
        assert low > 0.366
    several = _run(sampling="fixed-size", steps=400)
    assert several.profile_is == "bound"
    assert any("no bound for several steps" in said for said in several.remarks)
    poisson = _run(neighbours="replace-one", steps=400)
    assert poisson.profile_is == "own"
    assert poisson.delta_bounds(1.0)[1] < several.delta_bounds(1.0)[0]


def test_a_bound_of_many_batches_is_that_of_its_atoms() -> None:
    """The composed loss agrees with a lattice's law above it, built from the profile alone."""
    shift, rate, times, eps, step = 2.0, 0.05, 200, 4.0, 0.02
    base = gdp.profiles.Gaussian(sigma=1, sensitivity=shift, neighbours="replace-one")
    once = base.subsample(rate, "without-replacement")
    # chords between whole multiples of the step: δ of either sign of ε by symmetry
    places = [step * j for j in range(1101)]
    found = [float(value) for value in once.delta([*places])]
    mirrored = [1 - mpmath.exp(-e) + mpmath.exp(-e) * d for e, d in zip(places, found, strict=True)]
    eps_all = [-e for e in places[:0:-1]] + places
    delta_all = [float(d) for d in mirrored[:0:-1]] + found
    masses = _masses(eps_all, delta_all)
    composed = _power(masses, times)
    reach = (len(composed) - 1) // 2
    high = sum(
        mass * max(0.0, -float(mpmath.expm1(eps - step * (index - reach))))
        for index, mass in enumerate(composed)
        if step * (index - reach) > eps
    )
    run = _run(sampling="fixed-size", sample_rate=rate, steps=times)
    assert run.delta_bounds(eps)[1] == pytest.approx(high, rel=2e-2)
    assert run.delta_bounds(eps)[0] <= high


def _masses(eps: list[float], delta: list[float]) -> list[float]:
    """Return P(L = ε) of the law whose profile is made of chords in e^ε."""
    t = [float(mpmath.exp(e)) for e in eps]
    slopes = [
        (delta[j + 1] - delta[j]) / (t[j + 1] - t[j]) if j + 1 < len(t) else 0.0
        for j in range(len(t))
    ]
    before = [-1.0, *slopes[:-1]]
    return [t[j] * (slopes[j] - before[j]) for j in range(len(t))]


def _power(masses: list[float], times: int) -> list[float]:
    import numpy as np

    size = 1 << (len(masses) * 8).bit_length()
    shift = (len(masses) - 1) // 2
    rolled = np.zeros(size)
    for index, mass in enumerate(masses):
        rolled[(index - shift) % size] = mass
    composed = np.fft.irfft(np.fft.rfft(rolled) ** times, size)
    half = size // 2 - 1
    return [float(composed[index % size]) for index in range(-half, half + 1)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            {"sampling": "fixed-size", "neighbours": "add-remove"},
            "neighbours is 'add-remove': must be replace-one",
        ),
        ({"sampling": "shuffle"}, "sampling is 'shuffle': must be poisson or fixed-size"),
        (
            {
                "sample_rate": "1/10",
                "sampling": "fixed-size",
                "like": "opacus",
            },
            "sampling is 'fixed-size': must be poisson, as opacus draws",
        ),
    ],
)
def test_what_does_not_fit(words: dict[str, Any], sentence: str) -> None:
    """A relation or a rule that the sampling is not stated for is refused."""
    with pytest.raises(gdp.InputError) as refused:
        _run(**words)
    assert str(refused.value).startswith(sentence)
