"""Discrete Laplace and discrete Gaussian noise, against sums over the whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import special

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.curves.tails import CoarseDecayTail, SettledTail
from gdpbridge.errors import InputError
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform, Weights
from gdpbridge.measure.methods import breakpoints
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS


def laplace_weight(x: int, scale: str) -> mpf:
    """The mass of discrete Laplace noise, up to a factor."""
    return mpmath.exp(-abs(x) / mpf(scale))


def gaussian_weight(x: int, sigma: str) -> mpf:
    """The mass of discrete Gaussian noise, up to a factor."""
    return mpmath.exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2))


def delta_of(
    weight: Callable[[int, str], mpf], width: str, shift: int, eps: float, far: int
) -> mpf:
    """Σ (p(x) - e^ε p(x - Δ))⁺ over |x| ≤ far."""
    with mpmath.workdps(60):
        total = mpmath.fsum(weight(x, width) for x in range(-far, far + 1))
        rise = mpmath.exp(mpf(eps))
        parts = (weight(x, width) - rise * weight(x - shift, width) for x in range(-far, far + 1))
        return mpmath.fsum(part for part in parts if part > 0) / total


@pytest.mark.parametrize(
    ("sigma", "shift", "mu", "at_zero"),
    [
        ("0.5", 1, "2.48838190422623074", 0.7865707070419479),
        ("1", 1, "1.04576011951596722", 0.398942278266861706),
    ],
)
def test_hand_case_discrete_gaussian(sigma: str, shift: int, mu: str, at_zero: float) -> None:
    """σ = 0.5 is 2.488-GDP, not 2; σ = 1 is 1.0458-GDP, not 1 (hand case C28)."""
    p = profiles.DiscreteGaussian(sigma=float(sigma), sensitivity=shift)
    found = gdp.measure(p, 1e-15)
    assert (found.verdict, found.statement, found.certified) == ("gdp", "whole", True)
    assert found.mu.lower == pytest.approx(float(mu), rel=1e-14)
    assert found.mu.width <= 1e-15
    assert found.attained_at == 0
    assert p.delta(0.0) == pytest.approx(at_zero, rel=1e-13)
    assert str(found.mu_tail) == f"{shift / float(sigma):g}"


def quantile(p: mpf) -> mpf:
    """Φ⁻¹(p)."""
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


@pytest.mark.parametrize(("sigma", "shift"), [("0.5", 2), ("1", 3), ("3", 2), ("2.5", 5)])
def test_discrete_gaussian_scan(sigma: str, shift: int) -> None:
    """The interval holds the largest Φ⁻¹(1 - α) - Φ⁻¹(β) over the breakpoints, tail and all."""
    found = gdp.measure(profiles.DiscreteGaussian(sigma=float(sigma), sensitivity=shift), 1e-12)
    far = int(14 * float(sigma)) + shift
    with mpmath.workdps(120):
        weights = {x: gaussian_weight(x, sigma) for x in range(-3 * far, 3 * far)}
        total, sums, running = mpmath.fsum(weights.values()), {}, mpf(0)
        for x, weight in weights.items():
            running += weight
            sums[x] = running / total
        tops = [quantile(sums[c]) - quantile(sums[c - shift]) for c in range(-far, shift)]
        # at ε = 0 the curve may have a kink, where no line touches; the lines there are mirrors
        assert mpf(str(found.mu.low)) <= max(tops) <= mpf(str(found.mu.high))


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize(
    ("make", "weight", "width", "far"),
    [
        (lambda w, s: profiles.DiscreteLaplace(scale=w, sensitivity=s), laplace_weight, "1.5", 400),
        (lambda w, s: profiles.DiscreteLaplace(scale=w, sensitivity=s), laplace_weight, "0.2", 60),
        (
            lambda w, s: profiles.DiscreteGaussian(sigma=w, sensitivity=s),
            gaussian_weight,
            "0.4",
            30,
        ),
        (lambda w, s: profiles.DiscreteGaussian(sigma=w, sensitivity=s), gaussian_weight, "6", 200),
    ],
    ids=["laplace-wide", "laplace-narrow", "gaussian-narrow", "gaussian-wide"],
)
def test_float_values(make: Any, weight: Any, width: str, far: int, shift: int) -> None:
    """The float64 profile is the sum over the whole numbers, and 1 - δ is too."""
    p = make(float(width), shift)
    top = shift / float(width) if weight is laplace_weight else 4 * shift / float(width)
    eps = np.array([0.0, 1e-9, 0.1, 0.5, 0.77, 0.999]) * top
    with mpmath.workdps(60):
        truth = [delta_of(weight, width, shift, e, far) for e in eps]
        logs = [float(mpmath.log(value)) for value in truth]
        complements = [float(mpmath.log1p(-value)) for value in truth]
    assert p.log_delta(eps) == pytest.approx(logs, rel=1e-11, abs=1e-12)
    assert p.curve.logs(eps)[1] == pytest.approx(complements, rel=1e-9, abs=1e-15)


def test_far_tail_of_the_discrete_gaussian() -> None:
    """Deep in the tail, where δ underflows, log δ goes on: the sum, or near the Gaussian's."""
    p = profiles.DiscreteGaussian(sigma=1)
    for eps in (50.3, 300.7):
        truth = mpmath.log(delta_of(gaussian_weight, "1", 1, eps, 400))
        assert p.log_delta(eps) == pytest.approx(float(truth), rel=1e-13)
    assert p.log_delta(1e5) == pytest.approx(gdp.log_delta(1e5, 1.0), rel=1e-4)


def test_declared_tail_is_an_upper_bound() -> None:
    """log δ stays below what the tail declares, everywhere from its start on."""
    for sigma, shift in ((0.5, 1), (3, 1), (2, 5)):
        p = profiles.DiscreteGaussian(sigma=sigma, sensitivity=shift)
        tail: Any = p.tail
        eps = float(tail.start) + np.linspace(0, 60 * shift / sigma, 400)
        bound = float(tail.log_factor()) + eps / 2 - eps**2 / (2 * float(tail.mu_t) ** 2)
        assert (p.log_delta(eps) <= bound).all()


def test_discrete_laplace_of_one_step() -> None:
    """At sensitivity 1 it is ε-DP's worst case, and composes as such."""
    geometric, pure = profiles.DiscreteLaplace(scale=5), profiles.PureDP(epsilon=0.2)
    eps = np.linspace(0, 0.2, 30)
    assert geometric.delta(eps) == pytest.approx(pure.delta(eps), rel=1e-12)
    assert gdp.measure(geometric.compose(50)).mu == gdp.measure(pure.compose(50)).mu


def test_fine_grids_become_continuous() -> None:
    """On a fine grid discrete Laplace noise is Laplace noise, from above."""
    fine = gdp.measure(profiles.DiscreteLaplace(scale=5000, sensitivity=10_000))
    plain = gdp.measure(profiles.Laplace(scale=0.5))
    assert plain.mu.lower < fine.mu.upper < plain.mu.upper + 1e-6


@pytest.mark.parametrize("scope", [{"eps_h": 0.7}, {"eps_h": 3}, {"failure": 1e-4}])
@pytest.mark.parametrize(
    "p",
    [
        profiles.DiscreteGaussian(sigma=1.5, sensitivity=2),
        profiles.DiscreteLaplace(scale=2, sensitivity=7),
    ],
    ids=lambda p: p.kind,
)
def test_scopes_agree_with_the_adaptive_method(p: profiles.Profile, scope: dict[str, Any]) -> None:
    """Heads and approximate statements agree with an independent method in floats."""
    proved, floats = gdp.measure(p, **scope), gdp.measure(p, 1e-5, method="adaptive", **scope)
    assert floats.mu.lower <= proved.mu.upper
    assert proved.mu.lower <= floats.mu.upper


def test_subsampled_discrete_gaussian() -> None:
    """On a sample the tail parameter is what is left, and it is proved."""
    found = gdp.measure(profiles.DiscreteGaussian(sigma=2).subsample(0.2))
    assert found.certified
    assert found.mu.lower <= 0.5 <= found.mu.upper


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: profiles.DiscreteGaussian(sigma=0), "sigma"),
        (lambda: profiles.DiscreteGaussian(sigma=1e-4), "sensitivity/sigma"),
        (lambda: profiles.DiscreteGaussian(sigma=120), "sigma"),
        (lambda: profiles.DiscreteGaussian(sigma=1, sensitivity=1.5), "sensitivity"),
        (lambda: profiles.DiscreteGaussian(sigma=1, sensitivity=0), "sensitivity"),
        (lambda: profiles.DiscreteLaplace(scale=1, sensitivity=0), "sensitivity"),
        (lambda: profiles.DiscreteLaplace(scale=1, sensitivity=2_000_000), "sensitivity"),
        (lambda: profiles.DiscreteLaplace(scale=1e-9), "sensitivity/scale"),
    ],
)
def test_bad_parameters(make: Any, field: str) -> None:
    """Each wrong parameter is named."""
    with pytest.raises(InputError) as error:
        make()
    assert error.value.field == field


@pytest.mark.parametrize(("scale", "sensitivity", "top"), [(1.5, 1, 1), (2.0, 3, 5), (0.7, 2, 2)])
def test_clamping_keeps_the_worst_event(scale: float, sensitivity: int, top: int) -> None:
    """Of answers in [0, top] and noise clamped to it, the worst pair has the same δ(ε)."""
    x = np.arange(-400, 400)

    def clamped(answer: int) -> np.ndarray:
        mass = np.exp(-abs(x - answer) / scale)
        return np.bincount(np.clip(x, 0, top), mass / mass.sum())

    profile = gdp.profiles.DiscreteLaplace(scale=scale, sensitivity=sensitivity)
    for eps in (0.0, 0.3, 0.9 * sensitivity / scale):
        gains = [
            np.maximum(clamped(one) - np.exp(eps) * clamped(one + sensitivity), 0).sum()
            for one in range(top - sensitivity + 1)
        ]
        assert max(gains) == pytest.approx(float(profile.delta(eps)), rel=1e-9)


@pytest.mark.parametrize(("variance", "shift"), [(0.5, 1), (10, 1), (50, 5)])
def test_skellam(variance: float, shift: int) -> None:
    """δ(ε) is the sum of P(x) - e^ε·P(x - Δ) over Bessel functions, as far as it is positive."""
    profile = gdp.profiles.Skellam(variance=variance, sensitivity=shift)

    def mass(x: int) -> mpmath.mpf:
        return mpmath.exp(-variance) * mpmath.besseli(abs(x), variance)

    for eps in (0.0, 0.3, 1.0):
        gains = (mass(x) - mpmath.exp(eps) * mass(x - shift) for x in range(-80, 81))
        truth = float(sum(gain for gain in gains if gain > 0))
        low, high = profile.delta_bounds(eps)
        assert float(low) <= truth * (1 + 1e-13)
        assert truth <= float(high) * (1 + 1e-13)
        assert float(high - low) <= 1e-14 * truth
    found = gdp.measure(profile, tol=1e-6)
    # more noise is lost in whole numbers than Gaussian noise of the same variance would be
    assert shift / math.sqrt(variance) < float(found.mu.low) < 1.5 * shift / math.sqrt(variance)
    assert (found.statement, found.failure_probability) == ("approximate", 1e-10)


@pytest.mark.slow
def test_skellam_composed() -> None:
    """Runs with noise of variance v are at most a little above one run at v/k of Gaussian noise."""
    composed = gdp.profiles.Skellam(variance=10).compose(4)
    gaussian = gdp.profiles.GDP(mu=math.sqrt(0.4))
    assert 1 < float(composed.delta(0.3)) / float(gaussian.delta(0.3)) < 1.02
    assert composed.profile_is == "bound"


def test_many_runs_of_skellam() -> None:
    """A thousand runs have the δ of a sum by a Fourier transform; of very many, √k·μ is known."""
    runs, variance, unit, size = 1000, 100.0, 2.0**-13, 1 << 19
    x = np.arange(-150, 152)
    masses = special.ive(np.abs(x), variance)
    loss = np.log(masses) - np.log(special.ive(np.abs(x - 1), variance))
    # shared between two multiples so that the mean stays
    place = np.floor(loss / unit).astype(int)
    share = loss / unit - place
    law = np.zeros(size)
    np.add.at(law, place % size, masses * (1 - share))
    np.add.at(law, (place + 1) % size, masses * share)
    total = np.fft.irfft(np.fft.rfft(law) ** runs, size)
    sums = unit * ((np.arange(size) + size // 2) % size - size // 2)
    profile = gdp.profiles.Skellam(variance=variance).compose(runs)
    for eps in (2, 10, 15):
        above = sums > eps
        right = float(total[above] @ -np.expm1(eps - sums[above]))
        assert 1 - 1e-6 < float(profile.delta(eps)) / right < 1 + 1e-3

    few = gdp.measure(gdp.profiles.Skellam(variance=4, sensitivity=3))
    many = gdp.measure(gdp.profiles.Skellam(variance=4, sensitivity=3).compose(5000))
    assert many.statement == "whole"
    assert float(few.mu.high) <= float(many.mu.high) / math.sqrt(5000) < 1.2 * float(few.mu.high)


def composed_law(parts: list[tuple[str, int, int]]) -> dict[Fraction, mpf]:
    """The law of the summed losses of runs of discrete Gaussian noise: (σ, Δ, count)."""
    found = {Fraction(0): mpf(1)}
    for sigma, shift, count in parts:
        far = math.ceil(15 * float(sigma))
        weights = {x: gaussian_weight(x, sigma) for x in range(-far, far + 1)}
        total = mpmath.fsum(weights.values())
        for _ in range(count):
            sums: dict[Fraction, mpf] = {}
            for loss, mass in found.items():
                for x, weight in weights.items():
                    at = loss + shift * (shift - 2 * x) / (2 * Fraction(sigma) ** 2)
                    sums[at] = sums.get(at, mpf(0)) + mass * weight / total
            found = sums
    return found


@pytest.mark.parametrize(
    "parts",
    [
        [("1", 1, 3)],
        [("0.5", 1, 4)],
        [("1.5", 2, 2)],
        [("0.5", 1, 2), ("0.75", 1, 2)],
        [("0.4", 2, 1), ("0.5", 1, 1), ("0.6", 1, 1)],
    ],
)
def test_composed_discrete_gaussian(parts: list[tuple[str, int, int]]) -> None:
    """Runs, alike and unlike, give what a list of all sums does, to all digits."""
    runs = gdp.load_profile(
        {
            "parts": [
                {
                    "kind": "discrete-gaussian",
                    "sigma": float(sigma),
                    "sensitivity": shift,
                    "count": count,
                }
                for sigma, shift, count in parts
            ]
        }
    )
    with mpmath.workdps(40):
        law = composed_law(parts)
        for eps in ("0", "0.7", "3.1", "9"):
            want = mpmath.fsum(
                mass * -mpmath.expm1(mpf(eps) - mpf(loss.numerator) / loss.denominator)
                for loss, mass in law.items()
                if loss > Fraction(eps)
            )
            low, high = runs.delta_bounds(float(eps))
            assert low <= want * (1 + mpf(10) ** -30)
            assert high >= want * (1 - mpf(10) ** -30)
            assert high - low <= 1e-14 * high


def test_composed_discrete_gaussian_is_gdp() -> None:
    """The tail's μ_t is √(Σ Δ²/σ²), and μ is proved and certified, also of unlike runs."""
    alike = gdp.measure(profiles.DiscreteGaussian(sigma=2.0).compose(4))
    assert (alike.verdict, alike.statement) == ("gdp", "whole")
    assert str(alike.mu_tail) == "1"
    assert gdp.verify(alike.certificate).valid
    unlike = gdp.load_profile(
        {
            "parts": [
                {"kind": "discrete-gaussian", "sigma": 0.5, "count": 2},
                {"kind": "discrete-gaussian", "sigma": 1},
            ]
        }
    )
    found = gdp.measure(unlike)
    assert (found.verdict, found.statement, found.certified) == ("gdp", "approximate", True)
    assert str(found.mu_tail) == "3"
    # what fails with probability 1e-10 saves a little of the whole range's
    assert found.mu.high < found.whole_range_mu.high
    assert gdp.verify(found.certificate).valid
    with pytest.raises(InputError, match="rarer losses"):
        gdp.measure(unlike, failure=1e-60)


def test_too_many_discrete_gaussian_runs() -> None:
    """So many that their sums take too many values are refused at once."""
    with pytest.raises(InputError, match="times is 1000000: must be fewer runs"):
        profiles.DiscreteGaussian(sigma=4.0).compose(1_000_000)


@pytest.mark.parametrize(("sigma", "times"), [(6, 5), (7, 12)])
def test_many_runs_with_wide_noise_have_one_weight(sigma: int, times: int) -> None:
    """Convolved masses have the weights that are proved to be the same."""
    weights = Weights(DiscreteGaussianTransform(Fraction(sigma**2), 1), times)
    with precision(256):
        flat = weights._flat(256)
        assert flat is not None
        assert flat.rel_accuracy_bits() > 240
        assert weights._flat(2000) is None
        weights._flat = lambda _: None  # type: ignore[method-assign]
        assert all(one.overlaps(flat) for one in weights._found(256))


def test_listed_lines_are_summed_ones() -> None:
    """The table of the first lines, by recursion, and sums of each, as floats."""
    for sigma, times in ((4, 5), (1.5, 1), (0.3, 7), (0.02, 2), (40, 50)):
        lines = profiles.DiscreteGaussian(sigma=sigma).compose(times).curve.lines
        where = np.arange(2 * lines.first + 3, lines._listed, 7)
        table, sums = lines.segments(where), lines._segments(where)
        for name in ("end", "log_b", "log_at_end", "log_complement_at_start"):
            assert np.allclose(getattr(table, name), getattr(sums, name), rtol=1e-12, atol=1e-12)


def test_flat_suprema_take_one_quantile_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every line has to be proved alone, they share quantiles."""
    seen = []
    quantile = breakpoints._quantile
    monkeypatch.setattr(breakpoints, "_quantile", lambda *p: (seen.append(p), quantile(*p))[1])
    result = gdp.measure(profiles.DiscreteGaussian(sigma=4).compose(100))
    assert result.cells > 1500
    assert len(seen) < 1.3 * result.cells


def test_discrete_gaussian_beside_laplace() -> None:
    """Sums with a density lie between two laws: δ is that of both noises by a sum over one."""
    both = gdp.profiles.Sequence(
        parts=(gdp.profiles.DiscreteGaussian(sigma=2), gdp.profiles.Laplace(scale=2))
    )
    eps = 1.0
    places = np.arange(-40, 41)
    masses = np.exp(-(places**2) / 8.0)
    masses /= masses.sum()

    # Δ(Δ - 2x)/2σ² against δ of Laplace noise at any real ε, of which 1 - e^{-ε}(1 - δ(-ε)) is one
    def of_laplace(x: float) -> float:
        if x < 0:
            return 1 - math.exp(x) * (1 - of_laplace(-x))
        return max(-math.expm1((x - 0.5) / 2), 0.0)

    wanted = sum(
        mass * of_laplace(eps - (1 - 2 * x) / 8) for x, mass in zip(places, masses, strict=True)
    )
    found = both.curve.delta_at(Fraction(1))
    assert float(found.low) == pytest.approx(wanted, rel=1e-9)
    assert float(gdp.measure(both, eps_h=1, tol=1e-3).mu.high) > 0.5


@pytest.mark.parametrize(("variance", "moved"), [(0.5, 1), (5, 1), (5, 3), (40, 7)])
def test_skellam_falls_as_its_tail_says(variance: float, moved: int) -> None:
    """-log δ grows at least like ε²v/(2Δ²), from a factor on, and a μ covers the whole range."""
    profile = gdp.profiles.Skellam(variance=variance, sensitivity=moved)
    tail = profile.tail
    assert isinstance(tail, SettledTail)
    assert isinstance(tail.beyond, CoarseDecayTail)
    with mpmath.workdps(25):
        v = mpmath.mpf(str(variance))
        mass = {x: mpmath.besseli(abs(x), v) * mpmath.exp(-v) for x in range(-200, 90)}
        factor = mpmath.mpf(3) / 4 * (2 * moved**4 / v) ** (mpmath.mpf(1) / 3)
        found = gdp.measure(profile)
        whole = found.whole_range_mu
        assert whole is not None
        mu = mpmath.mpf(str(whole.high))
        for eps in (0, 0.3, 1, 2, 3):
            t = mpmath.e**eps
            delta = mpmath.fsum(max(mass[x] - t * mass[x - moved], 0) for x in range(-190, 80))
            most = factor - eps**2 * v / (2 * moved**2)
            assert mpmath.log(delta) <= most
            with precision(100):
                stated = BALLS.constant(tail.beyond.log_factor)
            width = mpmath.mpf(float(tail.beyond.width))
            stated = mpmath.mpf(float(stated)) - eps**2 / (2 * width**2)
            assert abs(stated - most) < 1e-9 * (1 + abs(most))
            gaussian = mpmath.ncdf(mu / 2 - eps / mu) - t * mpmath.ncdf(-mu / 2 - eps / mu)
            assert delta <= gaussian * (1 + mpmath.mpf(10) ** -15)
    # the bound of Amos that this rests on
    assert all(
        mpmath.besseli(n, variance) / mpmath.besseli(n + 1, variance)
        <= mpmath.exp(mpmath.asinh((n + 1) / variance)) * (1 + 1e-12)
        for n in range(30)
    )
    assert found.certificate is not None
    assert gdp.verify(found.certificate).valid
    everywhere = gdp.measure(profile, failure=0)
    assert (everywhere.statement, everywhere.certified) == ("whole", True)
    assert everywhere.mu.high == whole.high
    assert "the checker knows no tail" in everywhere.proof.why
