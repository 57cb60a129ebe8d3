"""Transforms of privacy losses against integrals of another arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from flint import arb

from gdpbridge.losses.transforms.base import Transform
from gdpbridge.losses.transforms.exponential import laplace_transform
from gdpbridge.losses.transforms.finite import only_fails, two_valued
from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.rare_gaussian import Edge, WindowTransform
from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.flint_context import precision

# how deep floats see: beyond, two maxima may be too far apart for their grid
SEEN = 72.0

Integral = Callable[[mpmath.mpc], mpmath.mpc]


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _line_sum(inside: Integral, low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpc:
    """The trapezoid rule, as good as exact for what is analytic and small at both ends."""
    low, step = mpmath.floor(low), mpmath.mpf(1) / 40
    return step * mpmath.fsum(inside(low + j * step) for j in range(int((high - low) / step) + 2))


@cache
def _log_density(s: mpmath.mpf, q: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log1p(q * mpmath.expm1(u / s - 1 / (2 * s * s)))


@cache
def _normal(u: mpmath.mpf) -> mpmath.mpf:
    return mpmath.npdf(u)


def _sampled(sigma: str, rate: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        s, q = _mp(Fraction(sigma)), _mp(Fraction(rate))

        def inside(u: mpmath.mpf) -> mpmath.mpc:
            return _normal(u) * mpmath.exp(w * _log_density(s, q, u))

        far = w.real / s
        return _line_sum(inside, min(far, 0) - 12, max(far, 0) + 12)

    return SampledGaussianTransform(Fraction(sigma), Fraction(rate)), integral


def _window(
    sigma: str, rate: str, low: tuple[str, str] | None, high: tuple[str, str]
) -> tuple[Transform, Integral]:
    """Noise between soft edges; the window's numbers are the places and widths of both."""

    def integral(w: mpmath.mpc) -> mpmath.mpc:
        s, q = _mp(Fraction(sigma)), _mp(Fraction(rate))
        edges = [[_mp(Fraction(one)) for one in edge] for edge in (low, high) if edge]

        def inside(u: mpmath.mpf) -> mpmath.mpc:
            share = mpmath.ncdf((edges[-1][0] - u) / edges[-1][1])
            if low:
                share *= mpmath.ncdf((u - edges[0][0]) / edges[0][1])
            return share * _normal(u) * mpmath.exp(w * _log_density(s, q, u))

        start = edges[0][0] - 15 * edges[0][1] if low else mpmath.mpf(-12)
        return _line_sum(inside, start, edges[-1][0] + 15 * edges[-1][1])

    def edge(numbers: tuple[str, str]) -> Edge:
        return Edge(*(Fraction(one) for one in numbers))

    below = edge(low) if low else None
    return WindowTransform(Fraction(sigma), Fraction(rate), below, edge(high)), integral


def _replace_one(sigma: str, rate: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        s, q = _mp(Fraction(sigma)), _mp(Fraction(rate))

        def inside(u: mpmath.mpf) -> mpmath.mpc:
            there, back = _log_density(s, q, u), _log_density(s, q, -u)
            return _normal(u) * mpmath.exp(w * there + (1 - w) * back)

        ends = (w.real - 1) / s, w.real / s
        return _line_sum(inside, min(*ends, 0) - 12, max(*ends, 0) + 12)

    return ReplaceOneTransform(Fraction(sigma), Fraction(rate)), integral


def _fixed_size(shift: str, rate: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        m, q = _mp(Fraction(shift)), _mp(Fraction(rate))

        def half(place: mpmath.mpc) -> mpmath.mpc:
            def inside(u: mpmath.mpf) -> mpmath.mpc:
                return mpmath.npdf(u) * mpmath.exp(
                    place * mpmath.log1p(q * mpmath.expm1(m * (u - m / 2)))
                )

            far = max(place.real * m, m / 2) + 12
            return mpmath.quadgl(inside, mpmath.linspace(m / 2, far, 12))

        return half(w) + half(1 - w) + (1 - q) * mpmath.erf(m / mpmath.sqrt(8))

    return FixedSizeTransform(Fraction(shift), Fraction(rate)), integral


def _laplace(eps: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        e = _mp(Fraction(eps))

        def inside(x: mpmath.mpf) -> mpmath.mpc:
            return mpmath.exp(x - e + w * (e - 2 * x)) / 2

        ends = mpmath.exp((w - 1) * e) / 2 + mpmath.exp(-w * e) / 2
        return ends + mpmath.quad(inside, mpmath.linspace(0, e, 5))

    return laplace_transform(Fraction(eps)), integral


def _gaussian(variance: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        v = _mp(Fraction(variance))
        m = mpmath.sqrt(v)
        far = w.real * m

        def inside(u: mpmath.mpf) -> mpmath.mpc:
            return _normal(u) * mpmath.exp(w * (m * u - v / 2))

        return _line_sum(inside, far - 12, far + 12)

    return GaussianTransform(Fraction(variance)), integral


def _two_valued(eps: str, delta: str) -> tuple[Transform, Integral]:
    def integral(w: mpmath.mpc) -> mpmath.mpc:
        e, d = _mp(Fraction(eps)), _mp(Fraction(delta))
        high = mpmath.exp(w * e) / (1 + mpmath.exp(e))
        return (1 - d) * (high + mpmath.exp(-w * e) / (1 + mpmath.exp(-e)))

    return two_valued(Fraction(eps), Fraction(delta)), integral


CASES = {
    "sampled, usual": _sampled("1", "0.01"),
    "sampled, rare": _sampled("0.8", "0.00001"),
    "sampled, narrow noise": _sampled("0.3", "0.05"),
    "sampled, wide noise": _sampled("9.4", "0.328"),
    "no large noise": _window("0.5", "0.001", None, ("4", "0.25")),
    "rare": _window("0.5", "0.001", ("2", "0.25"), ("4.5", "0.375")),
    "replace-one": _replace_one("1", "0.01"),
    "replace-one, rare": _replace_one("0.8", "0.00001"),
    "replace-one, narrow noise": _replace_one("0.4", "0.3"),
    "replace-one, mostly sampled": _replace_one("3", "0.9"),
    "fixed size": _fixed_size("2", "0.01"),
    "fixed size, half": _fixed_size("0.5", "0.5"),
    "fixed size, rare": _fixed_size("1", "0.0001"),
    "laplace": _laplace("1.5"),
    "gaussian": _gaussian("2.25"),
    "two losses": _two_valued("0.7", "0.001"),
}
PLACES = ["-6", "-0.5", "0.5", "1", "4"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", PLACES)
def test_values_hold_the_integral(name: str, place: str) -> None:
    """F on a line, near the real axis and far from it, encloses an integral found otherwise."""
    transform, integral = CASES[name]
    w = Fraction(place)
    with precision(110), mpmath.workdps(26):
        found = transform.values(transform.plan(w, -45.0), w, Fraction(7, 2), 9)
        size = found[0].real
        for number in (0, 8):
            want = integral(mpmath.mpc(_mp(w), 3.5 * number))
            for part, true in ((found[number].real, want.real), (found[number].imag, want.imag)):
                low, high = (
                    mpmath.mpf(str(end.str(30, radius=False)))
                    for end in (part.lower(), part.upper())
                )
                slack = float(size) * 1e-20
                assert low - slack <= true <= high + slack
            assert found[number].rad() < size * 1e-18


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", PLACES)
def test_what_lies_beyond_is_bounded(name: str, place: str) -> None:
    """No |F(w + iy)| with y ≥ Y is above the bound beyond Y, nor is that above what is foretold."""
    transform, _ = CASES[name]
    w = Fraction(place)
    with precision(96):
        line = transform.plan(w, -40.0)
        size = transform.values(line, w, Fraction(1), 1)[0].real
        for y in (Fraction(1, 2), Fraction(5), Fraction(60)):
            plan = transform.beyond_plan(w, y)
            bound = transform.beyond(plan, w, y, size.upper())
            if bound is None:
                assert transform.log_decay(float(w), float(y)) == 0.0
                continue
            foretold = float((bound / size).log())
            want = transform.log_decay(float(w), float(y))
            seen = np.clip((foretold, want), -SEEN, 0.0)
            assert seen[0] == pytest.approx(seen[1], rel=1e-2, abs=1e-9)
            values = transform.values(line, w, y / 8, 80)
            assert all(value.abs_lower() <= bound for value in values[8:])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", PLACES)
def test_the_floats_that_search_agree(name: str, place: str) -> None:
    """log F in floats is that of the balls, so that what is searched is what is proved."""
    transform, _ = CASES[name]
    w = Fraction(place)
    with precision(96):
        size = transform.values(transform.plan(w, -40.0), w, Fraction(1), 1)[0].real
        assert transform.log_size(float(w)) == pytest.approx(float(size.log()), abs=1e-10)


def test_what_only_fails_tells_nothing_else() -> None:
    """F of a failure alone is the chance that it does not happen, anywhere."""
    transform = only_fails(Fraction(1, 8))
    with precision(64):
        for value in transform.values(
            transform.plan(Fraction(3), -40.0), Fraction(3), Fraction(1), 5
        ):
            assert value.real.contains(0.875)
            assert value.imag.contains(0)


@pytest.mark.parametrize("coarser", [1, 3, 5])
def test_a_steep_tilt_of_rare_samples_takes_few_nodes(coarser: int) -> None:
    """|g| ≥ 1 - q bounds a wide strip; nodes too far apart make wide balls, not wrong ones."""
    w = Fraction(-47_088)
    transform = SampledGaussianTransform(Fraction(2), Fraction(1, 20_000))
    with precision(110), mpmath.workdps(30):
        fine = transform.plan(w, -45.0)
        assert fine.terms < 300
        plan = replace(
            fine,
            step=fine.step * coarser,
            first=fine.first // coarser,
            last=-(-fine.last // coarser),
        )
        found = transform.values(plan, w, Fraction(9000), 3)
        s, rate = mpmath.mpf(2), mpmath.mpf(1) / 20_000
        for number in range(3):
            place = mpmath.mpc(_mp(w), 9000 * number)
            points = [mpmath.mpf(j) / 60 for j in range(-900, 721)]
            terms = (_normal(u) * mpmath.exp(place * _log_density(s, rate, u)) for u in points)
            want = mpmath.fsum(terms) / 60
            for part, true in ((found[number].real, want.real), (found[number].imag, want.imag)):
                off = abs(part - arb(mpmath.nstr(true, 28)))
                assert not off > arb("1e-20") * found[0].real.upper()
        real = transform.size(w, -30.0)
        assert real >= found[0].real.lower()
        assert real < found[0].real.upper() * (1 + arb("1e-9"))
