"""The checker's Gaussian curve agrees with ball arithmetic, and its jets hold on whole cells."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.curve import GaussianCurve

BITS = 256
AT = Arithmetic(BITS)

points = st.fractions(0, 30, max_denominator=1000)
widths = st.fractions(Fraction(1, 50), 12, max_denominator=1000)


def ends(interval: Interval) -> tuple[Fraction, Fraction]:
    """The ends of a finite interval as rational numbers."""
    low, high = (
        Fraction(*map(int, end.as_integer_ratio())) for end in (interval.low, interval.high)
    )
    return low, high


def agree(interval: Interval, reference: arb) -> bool:
    """Whether both enclosures of one number overlap and are narrow."""
    low, high = ends(interval)
    first, last = to_fraction(reference.lower()), to_fraction(reference.upper())
    scale = 1 + abs(low)
    return low <= last and first <= high and high - low < scale / 2**60


@settings(max_examples=50)
@given(points, widths)
def test_values_agree_with_balls(eps: Fraction, mu: Fraction) -> None:
    """log δ and log(1 - δ) are the same numbers in both arithmetics."""
    assume(eps <= 12 * mu)
    curve = GaussianCurve(AT.exactly(mu))
    at = AT.exactly(eps)
    with precision(BITS):
        reference = gaussian.probability(ball(eps), ball(mu))
        assert agree(curve.log_delta(at), reference.log())
        assert agree(curve.log_complement(at), reference.log_complement())


@given(points, widths)
def test_the_elementary_bound_is_below(eps: Fraction, mu: Fraction) -> None:
    """The lower bound of log δ_μ that proves tails is one, and the same as the measurer's."""
    curve = GaussianCurve(AT.exactly(mu))
    bound = curve.log_delta_tail_lower(AT.exactly(eps))
    with precision(BITS):
        assert agree(bound, gaussian.log_delta_tail_lower(ball(eps), ball(mu)))
        true = gaussian.probability(ball(eps), ball(mu)).log()
        assert ends(bound)[0] <= to_fraction(true.upper())


@pytest.mark.parametrize("complement", [False, True])
@settings(max_examples=40)
@given(
    low=st.fractions(0, 10, max_denominator=100),
    width=st.fractions(0, 3, max_denominator=100),
    share=st.fractions(0, 1, max_denominator=32),
    mu=st.fractions(Fraction(1, 4), 8, max_denominator=100),
)
def test_jets_hold_on_the_whole_cell(
    complement: bool, low: Fraction, width: Fraction, share: Fraction, mu: Fraction
) -> None:
    """Derivatives sampled within a cell lie in the jet of the cell."""
    wide = Arithmetic(512)
    curve = GaussianCurve(wide.exactly(mu))
    jet_of = curve.complement_jet if complement else curve.jet
    jet = jet_of(wide.exactly(low), wide.exactly(low + width))
    with mpmath.workdps(50):
        eps, m = (mpmath.mpf(v.numerator) / v.denominator for v in (low + share * width, mu))
        x, y = eps / m - m / 2, eps / m + m / 2
        shifted = mpmath.exp(eps) * mpmath.erfc(y / mpmath.sqrt(2)) / 2  # U
        density = mpmath.npdf(x)
        if complement:
            value = mpmath.erfc(-x / mpmath.sqrt(2)) / 2 + shifted
            slope = shifted / value
            second = (shifted - density / m) / value - slope**2
        else:
            value = mpmath.erfc(x / mpmath.sqrt(2)) / 2 - shifted
            slope = -shifted / value
            second = -(shifted - density / m) / value - slope**2
        error = mpmath.mpf(10) ** -12
        for interval, number in [
            (jet.value, mpmath.log(value)),
            (jet.slope, slope),
            (jet.curvature, second / 2),
        ]:
            first, last = (mpmath.mpf(e.numerator) / e.denominator for e in ends(interval))
            assert first - error <= number <= last + error


def test_many_points_are_forgotten() -> None:
    """A certificate of many cells does not fill the memory."""
    curve = GaussianCurve(AT.exactly(1))
    for n in range(1000):
        curve.log_delta(AT.exactly(Fraction(n, 100)))
    assert len(curve._points) <= 64
