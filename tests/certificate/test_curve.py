"""The checker's Gaussian curve agrees with ball arithmetic, and is above its tangents."""

from __future__ import annotations

from fractions import Fraction

from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.decay import log_tail_below

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
    """δ and 1 - δ are the same numbers in both arithmetics."""
    assume(eps <= 12 * mu)
    curve = GaussianCurve(AT.exactly(mu))
    at = AT.exactly(eps)
    with precision(BITS):
        reference = gaussian.probability(ball(eps), ball(mu))
        level = curve.level(at)
        assert agree(level.value.log(), reference.log())
        assert agree(level.complement.log(), reference.log_complement())


@given(points, widths)
def test_the_elementary_bound_is_below(eps: Fraction, mu: Fraction) -> None:
    """The lower bound of log δ_μ that proves tails is one, and the same as the measurer's."""
    curve = GaussianCurve(AT.exactly(mu))
    bound = log_tail_below(curve.mu, AT.exactly(eps))
    with precision(BITS):
        assert agree(bound, gaussian.log_delta_tail_lower(ball(eps), ball(mu)))
        true = gaussian.probability(ball(eps), ball(mu)).log()
        assert ends(bound)[0] <= to_fraction(true.upper())


@settings(max_examples=40)
@given(points, points, widths)
def test_tangents_are_below(at: Fraction, eps: Fraction, mu: Fraction) -> None:
    """P - e^ε·Q is δ_μ where it touches, and no more elsewhere."""
    curve = GaussianCurve(AT.exactly(mu))
    tangent = curve.tangent(AT.exactly(at))
    there, level = tangent.at(AT.exactly(eps)), curve.level(AT.exactly(eps))
    assert not there.value > level.value
    assert not there.complement < level.complement
    assert (
        ends(tangent.inside + tangent.rest - 1)[0]
        <= 0
        <= ends(tangent.inside + tangent.rest - 1)[1]
    )
    if at == eps:
        assert not there.value < level.value
