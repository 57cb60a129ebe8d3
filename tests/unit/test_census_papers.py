"""What scripts of Su, Su and Wang print for the 2020 census, beside proved numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from flint import acb, arb

import gdpbridge as gdp
from gdpbridge.convert import beta_at

P = gdp.profiles
SHARES = (20, 274, 85, 131, 131, 238, 118, 3)


def by_local_limit(runs: int, variance: float, eps: float) -> float:
    """δ(ε) if the sum of discrete Gaussian numbers had the normal density at whole numbers."""
    spread = math.sqrt(runs * variance)

    def tail(place: float) -> float:
        first = math.ceil(place)
        places = range(first, first + int(60 * spread))
        return math.fsum(math.exp(-i * i / (2 * runs * variance)) for i in places) / (
            spread * math.sqrt(2 * math.pi)
        )

    far = tail(eps * variance + runs / 2)
    return tail(eps * variance - runs / 2) - math.exp(eps) * far


def noise(runs: int, variance: float) -> gdp.Profile:
    return P.DiscreteGaussian(sigma=math.sqrt(variance)).compose(runs)


def test_the_noise_for_an_epsilon() -> None:
    """Table 1: nine numbers, ε = 1.25 and δ = 10⁻¹⁰ need variance 201.990781."""
    eps, delta, variance = 1.25, 1e-10, 201.990781025182
    for above, factor in ((True, 1 - 1e-12), (False, 1 + 1e-12)):
        low, high = noise(9, variance * factor).delta_bounds(eps)
        assert (low > delta, high < delta) == (above, not above)
    assert by_local_limit(9, variance, eps) == pytest.approx(delta, rel=1e-11)
    root = math.sqrt(math.log(1 / delta))
    rho = (math.sqrt(root**2 + eps) - root) ** 2
    assert 4.5 / rho == pytest.approx(272.410, abs=0.001)


def test_the_epsilon_of_the_noise() -> None:
    """The other way: the United States' share of 3.325, in nine numbers, at δ = 10⁻¹¹."""
    rho = 0.0195 * 3.325
    low, high = noise(9, 4.5 / rho).epsilon_bounds(1e-11)
    assert low == pytest.approx(2.31940776001662, rel=1e-14)
    assert high == pytest.approx(2.31940776001662, rel=1e-14)
    assert rho + 2 * math.sqrt(rho * math.log(1e11)) == pytest.approx(2.627830, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "spent", "least", "printed"),
    [
        (1.95, 69.40, 54.74, 59.74),
        (27.07, 5.00, 4.25, 4.25),
        (8.42, 16.07, 13.21, 13.21),
        (12.93, 10.47, 8.71, 8.71),
        (23.46, 5.77, 4.89, 4.89),
        (0.30, 451.13, 338.28, 338.28),
    ],
)
def test_the_noise_that_would_do(share: float, spent: float, least: float, printed: float) -> None:
    """The bars of saved noise: all are right but the first, of which one digit is another."""
    rho = 3.325 * share / 100
    assert 4.5 / rho == pytest.approx(spent, abs=0.0051)
    eps = rho + 2 * math.sqrt(rho * math.log(1e11))
    for variance, enough in ((least - 0.0051, False), (least + 0.0051, True)):
        low, high = noise(9, variance).delta_bounds(eps)
        assert (high < 1e-11, low < 1e-11) == (enough, enough)
    assert (printed == least) is (share != 1.95)


def largest_error(runs: int, variance: int) -> arb:
    """Bound how far a probability of the sum is from the normal density, by Fourier inversion."""
    steps = [(k, (-2 * arb.pi() ** 2 * k * k * variance).exp()) for k in range(-6, 7)]
    total = sum((weight for _, weight in steps), arb(0))

    def gap(t: acb, _: bool) -> acb:
        ratio = (
            sum((w * (2 * k * arb.pi() * variance * t).cosh() for k, w in steps), acb(0)) / total
        )
        return (ratio**runs - 1) * (-arb(runs * variance) * t * t / 2).exp()

    inside = acb.integral(gap, acb(0), acb(arb.pi())).real
    spread = arb(runs * variance).sqrt()
    beyond = (arb.pi() / 2).sqrt() / spread * (spread * arb.pi() / arb(2).sqrt()).erfc()
    return (inside + beyond) / arb.pi()


@pytest.mark.parametrize(
    ("runs", "variance", "bound", "times"),
    [
        (5, 1, 4.1703026525e-06, 17.18),
        (100, 1, 1.9270172313e-08, 4.13),
        (10, 1, 3.436751931e-07, 8.21),
    ],
)
def test_the_error_bounds(runs: int, variance: int, bound: float, times: float) -> None:
    """Table 2: the bounds are right; the largest error itself is several times less."""
    assert bound / float(largest_error(runs, variance)) == pytest.approx(times, abs=0.01)
    # what that error does to δ
    eps = float(noise(runs, variance).epsilon_bounds(1e-10)[1])
    assert abs(by_local_limit(runs, variance, eps) / 1e-10 - 1) < 1e-6


def test_the_error_at_a_larger_variance() -> None:
    """At variance 5 no digit of a float is wrong."""
    for runs in (5, 10):
        eps = float(noise(runs, 5).epsilon_bounds(1e-10)[1])
        assert by_local_limit(runs, 5, eps) == pytest.approx(1e-10, rel=1e-13)


def whole(rho: float) -> gdp.Profile:
    """All eight levels of August 2022, ten numbers each."""
    levels = [noise(10, 5000 / (rho * share)) for share in SHARES]
    return P.Sequence(parts=tuple(levels))


@pytest.mark.slow
def test_what_is_left_of_the_whole() -> None:
    """Section 2.4 takes P(loss > ε) for δ: more is left than is said."""
    file = whole(3.65)
    low, high = file.delta_bounds(0.9485 * 21.97)
    assert 2.8916e-11 < low < high < 2.8917e-11
    assert float(file.epsilon_bounds(1e-10)[1]) < 20.3247 < (1 - 0.0748) * 21.97
    assert whole(3.65 / 0.8782).delta_bounds(21.97)[0] > 1e-10
    # the chance itself, nearly normal, is what is printed
    mean = 3.65
    at = (0.9485 * 21.97 - mean) / math.sqrt(2 * mean)
    assert math.erfc(at / math.sqrt(2)) / 2 == pytest.approx(9.98e-11, rel=0.005)


@pytest.mark.deep
def test_what_is_left_at_a_larger_share() -> None:
    """The same where more is spent."""
    low, high = whole(3.65 / 0.9141).delta_bounds(21.97)
    assert 2.9923e-11 < low < high < 2.9924e-11
    assert whole(3.65 / 0.8783).delta_bounds(21.97)[1] < 1e-10


@pytest.fixture(scope="module")
def persons(root: Path) -> gdp.Profile:
    """The persons of the Demographic and Housing Characteristics File."""
    return gdp.load_profile(root / "examples" / "census" / "dhc_persons.toml")


@pytest.mark.parametrize(
    ("first", "second", "off"),
    [
        # the larger error of each pair
        ("4.4690958649854366549e-14", "0.99999166628352730398", 0),
        ("7.5844551258127887445e-8", "0.98214418781569422935", 0),
        ("0.0037058206195645596989", "0.31826996322206997214", 0),
        ("0.026026992250113741130", "0.11359778094776154852", 0),
        # where the threshold is a loss that has a mass of its own
        ("0.057608990546475901288", "0.057608990546475901288", -3.66e-6),
        ("6.7952086962542884957e-13", "0.99995889985602023512", 5.435e-9),
    ],
)
def test_the_tradeoff_curve(persons: gdp.Profile, first: str, second: str, off: float) -> None:
    """Points of the later paper's curve for path 13 are on it, but those at ζ = 0 and ±3.5."""
    found = beta_at(persons, float(first))
    assert found.width < 2e-8
    given = Fraction(second)
    if not off:
        assert Fraction(found.low) <= given <= Fraction(found.high)
    else:
        assert float(given - Fraction(found.low)) == pytest.approx(off, rel=0.01)


def test_paths_differ(persons: gdp.Profile) -> None:
    """Path 6 against path 13, where δ by ρ is 5·10⁻⁹: 4.5·10⁻⁵ of δ more, as stored."""
    # of ten thousand, in thirteenths
    shares = {48673: 9, 73 * 13: 9, 4 * 48673: 1, 292 * 13: 1}
    parts = [
        P.DiscreteGaussian(sigma=100 / math.sqrt(part / 13)).compose(2 * times)
        for part, times in shares.items()
    ]
    eps, stored = 24.440047614869050, (1.0342413768e-10, 1.0341948374e-10)
    found = [one.delta_bounds(eps) for one in (P.Sequence(parts=tuple(parts)), persons)]
    for (low, high), value in zip(found, stored, strict=True):
        assert low < value < high
    assert found[0][0] > found[1][1] * (1 + 1e-5)
