"""Sums of losses with a density between atoms, exactly: against convolutions by quadrature."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.losses.splines import Spline, spline_of
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction

P = gdp.profiles


def one_run(eps: mp.mpf, r: mp.mpf) -> mp.mpf:
    """δ of one run at any real ε."""
    if eps >= r:
        return mp.mpf(0)
    return 1 - mp.exp(eps if eps <= -r else (eps - r) / 2)


def convolved(eps: mp.mpf, widths: list[mp.mpf]) -> mp.mpf:
    """δ of some runs: a mean of that of all but the last over the noise x of the last one.

    Its loss is r for x ≤ 0, -r for x ≥ r, and r - 2x between.
    """
    *others, r = widths
    if not others:
        return one_run(eps, r)
    ends = convolved(eps - r, others) / 2 + convolved(eps + r, others) * mp.exp(-r) / 2
    # kinks of the others: where ε - r + 2x is a sum of theirs, of any signs
    sums = {mp.mpf(0)}
    for other in others:
        sums = {one + sign * other for one in sums for sign in (-1, 1)}
    kinks = sorted({mp.mpf(0), r, *((r - eps + one) / 2 for one in sums)})
    kinks = [kink for kink in kinks if 0 <= kink <= r]
    middle = mp.quad(lambda x: mp.exp(-x) / 2 * convolved(eps - r + 2 * x, others), kinks)
    return ends + middle


def spline(profile: Any, *, backward: bool = False) -> Spline:
    found = spline_of([part.factor(backward=backward) for part in profile.privacy_losses()])
    assert found is not None
    return found


def close(found: arb, right: mp.mpf, digits: int) -> bool:
    value = to_fraction(found.mid())
    at = mp.mpf(value.numerator) / value.denominator
    return bool(abs(at - right) <= mp.mpf(10) ** -digits * abs(right))


@pytest.mark.parametrize(
    "widths", [["1.5", "0.25"], ["0.5", "0.5"], ["0.5", "3", "1"]], ids=["unlike", "alike", "three"]
)
def test_two_and_three_runs_are_convolutions(widths: list[str]) -> None:
    """At 0, between knots, at one, and close to the end of the range."""
    several = P.Sequence(parts=[P.Laplace(scale=1, sensitivity=float(one)) for one in widths])
    exact = spline(several)
    digits = 18 if len(widths) == 2 else 12
    with mp.workdps(20 if digits == 18 else 15), precision(128):
        sizes = [mp.mpf(one) for one in widths]
        for share in ("0", "0.25", "0.9375"):
            eps = mp.mpf(share) * sum(sizes)
            value, rest = exact.enclose(arb(mp.nstr(eps, 30)).mid())
            right = convolved(eps, sizes)
            assert close(value, right, digits - 4)
            assert close(rest, 1 - right, digits - 4)


def test_next_to_the_end_and_far_from_it() -> None:
    """Where all runs are at their largest loss δ has one term; where δ is near 1 all others."""
    exact = spline(P.Laplace(scale=1, sensitivity=20).compose(10))
    with precision(256), mp.workdps(60):
        gap = arb(2) ** -40
        value, _ = exact.enclose(200 - gap)
        # 2^{-10} from ten atoms, and at the same knot ten times an atom fewer with a density
        y = mp.mpf(2) ** -40
        first = mp.expm1(y / 2) * (1 + mp.exp(-y / 2)) / 2**10
        second = 10 * (mp.cosh(y / 2) - 1) * 4 / (4 * 2**9)
        assert close(value, mp.exp(-y / 2) * (first + second), 22)
        _, rest = exact.enclose(arb(0))
        assert 0 < float(rest) < 1e-30
        assert rest.rel_accuracy_bits() >= 250


def test_directions_that_are_not_alike() -> None:
    """Beside a loss with two laws, each direction is the mean over its own law."""
    other = P.PureDP(epsilon=1, neighbours="add-remove").subsample(0.25)
    both = P.Sequence(parts=[P.Laplace(scale=2, neighbours="add-remove"), other])
    assert both.curve.form is Form.POINTS
    p = 1 / (1 + mp.exp(-1))
    ends = [p, 1 - p], [1 - p, p]
    mixed = [(3 * two + one) / 4 for one, two in zip(*ends, strict=True)]
    values = []
    with precision(128), mp.workdps(25):
        for backward in (False, True):
            above, below = (ends[1], mixed) if backward else (mixed, ends[1])
            right = mp.mpf(0)
            for a, b in zip(above, below, strict=True):
                right += a * one_run(mp.mpf(1) / 4 - mp.log(a / b), mp.mpf(1) / 2)
            value, _ = spline(both, backward=backward).enclose(arb("0.25"))
            assert close(value, right, 13)
            values.append(float(value))
    found = both.curve.delta_at(Fraction(1, 4))
    assert float(found.low) == pytest.approx(max(values), rel=1e-14)


@pytest.mark.parametrize("times", [2, 30])
def test_mu_is_proved_to_many_digits(times: int) -> None:
    several = P.Laplace(scale=3).compose(times)
    coarse, fine = gdp.measure(several), gdp.measure(several, tol="1e-25")
    assert coarse.certified
    assert coarse.mu.low <= fine.mu.low <= fine.mu.high <= coarse.mu.high
    assert fine.mu.high - fine.mu.low <= Fraction(1, 10**25)
    document = coarse.certificate
    assert document is not None
    assert gdp.verify(document).valid


def test_a_failure_beside_noise_is_a_constant_more() -> None:
    noise = P.Laplace(scale=2).compose(3)
    failing = P.Sequence(parts=[noise, P.ApproxDP(epsilon=0, delta=1e-6)])
    at = Fraction(3, 4)
    with precision(128):
        one, other = (curve.enclose(arb("0.75")) for curve in (noise.curve, failing.curve))
        mixed = arb("1e-6") + (1 - arb("1e-6")) * one.log().exp()
        assert mixed.overlaps(other.log().exp())
    assert failing.curve.delta_at(at).high < failing.curve.delta_at(Fraction(0)).low
    # past its own failure it is the noise alone
    past = gdp.measure(failing, failure="1e-6").mu
    whole = gdp.measure(noise).mu
    assert max(past.low, whole.low) <= min(past.high, whole.high)


@pytest.mark.parametrize(("middle", "radius"), [("0.3", "0.1"), ("0", "0.05"), ("0.65", "0.1")])
def test_an_epsilon_that_is_not_exact_has_all_its_values(middle: str, radius: str) -> None:
    """δ of a ball holds δ at its ends, on a side of 0 and of the end of all losses."""
    curve = P.Laplace(scale=3).compose(2).curve
    with precision(96):
        eps = arb(middle, radius)
        found = curve.enclose(eps)
        for end in (eps.lower().max(arb(0)), eps.upper()):
            inside = curve.enclose(end.mid())
            pairs = (found.log, inside.log), (found.log_complement, inside.log_complement)
            for one, other in pairs:
                assert one().exp().contains(other().exp().mid())
