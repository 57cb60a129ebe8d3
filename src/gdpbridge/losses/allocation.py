"""The loss of a record that takes part in one of k steps, drawn at random: a law that dominates.

Step i adds μ to a normal number where it is drawn: P is the mean of k such laws, Q has none. P/Q is
M = ΣX_i/k with independent X_i = e^{μz_i - μ²/2} under Q, and δ(ε) is E(M - e^ε)⁺ in one direction
and E(1 - e^ε·M)⁺ in the other, both convex in M. So each X_i may be spread to the two multiples of
a unit about it with the same mean, which only adds to δ: sums are powers of a polynomial.
What an X_i is above a limit adds no more than its mean to the first δ, and nothing to the second;
likewise the sums above another limit. Both count as failures.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, arb_series

from gdpbridge.losses.shares import Shares, places
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["allocated"]

_BITS = 128
# multiples of the unit that a sum takes, and those that its logarithm is shared among
_POINTS, _LOSSES = 1 << 14, 4096
# deviations of z beyond which an X counts as a failure
_FAR = 7.5


def allocated(mu: Fraction, steps: int) -> FiniteTransform:
    """Return a loss that dominates that of one record in one of ``steps`` steps.

    Args:
        mu: sensitivity over standard deviation, positive.
        steps: k.
    """
    shift = float(mu)
    top = math.exp(min(_FAR * shift + shift * shift / 2, 500.0))
    spread = math.sqrt(math.expm1(min(shift * shift, 500.0)))
    total = steps + top + 8 * spread * math.sqrt(steps) if steps > 1 else top
    unit = Fraction(total / _POINTS).limit_denominator(1 << 40)
    count = min(math.ceil(top / float(unit)), _POINTS - 1)
    with precision(_BITS, _POINTS):
        sums = _power(arb_series(_masses(mu, unit, count), _POINTS), steps)
        scale = ball(unit) / steps
        ends = [(scale * end).log() for end in (1, _POINTS - 1)]
        step = Fraction(float(ends[1] - ends[0]) / _LOSSES).limit_denominator(1 << 60)
        shares, p_total, q_total = Shares(step), arb(0), arb(0)
        for number in range(1, _POINTS):
            ratio, q = scale * number, sums[number].max(arb(0))
            if not q.is_zero():
                p_total, q_total = p_total + ratio * q, q_total + q
                shares.add(places(ratio.log(), step), ratio * q, q)
        rest = (to_fraction((1 - one).max(arb(0)).upper()) for one in (p_total, q_total))
        return shares.transform(*rest)


def _masses(mu: Fraction, unit: Fraction, count: int) -> list[arb]:
    """Return the masses of min(X, T) spread to multiples of the unit, T the last of them."""
    shift, size = ball(mu), ball(unit)

    def tail(z: arb) -> arb:
        return (z / arb(2).sqrt()).erfc() / 2

    # Q(X > x) and E(X; X > x) at the multiples
    above = [(arb(1), arb(1))]
    for number in range(1, count + 1):
        z = (size * number).log() / shift + shift / 2
        above.append((tail(z), tail(z - shift)))
    found = [arb(0)] * (count + 1)
    for number in range(count):
        q, p = (one - other for one, other in zip(above[number], above[number + 1], strict=True))
        upper = (p / size - number * q).max(arb(0)).min(q.max(arb(0)))
        found[number] += (q - upper).max(arb(0))
        found[number + 1] += upper
    found[count] += above[count][0]
    return found


def _power(base: arb_series, exponent: int) -> arb_series:
    """Return a power of a truncated series by squaring, which balls survive."""
    found = None
    while exponent:
        if exponent % 2:
            found = base if found is None else found * base
        exponent //= 2
        if exponent:
            base = base * base
    assert found is not None
    return found
