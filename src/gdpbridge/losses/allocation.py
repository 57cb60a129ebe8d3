"""The loss of a record that takes part in one of k steps, drawn at random: a law that dominates.

Step i adds μ to a normal number where it is drawn: P is the mean of k such laws, Q has none. P/Q is
M = ΣX_i/k with independent X_i = e^{μz_i - μ²/2} under Q, and δ(ε) is E(M - e^ε)⁺ in one direction
and E(1 - e^ε·M)⁺ in the other, both convex in M. So spreading numbers on a grid about where they
are, with the same mean, only adds to δ. What is lost on the way, as sums that are 0 in the second
direction, counts as a failure.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from gdpbridge.losses.geometric import ONE, sum_of_lognormals
from gdpbridge.losses.shares import Shares, places
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["allocated"]

_BITS = 320
# multiples of the unit that the loss is shared among
_LOSSES = 4096


# copies of a mechanism, and more epochs of it, need not make it again: it takes seconds
@lru_cache(maxsize=16)
def allocated(mu: Fraction, steps: int) -> FiniteTransform:
    """Return a loss that dominates that of one record in one of ``steps`` steps.

    Args:
        mu: sensitivity over standard deviation, positive.
        steps: k.
    """
    grid, law = sum_of_lognormals(mu, steps)
    unit = (grid.step * len(law.masses) / _LOSSES).limit_denominator(1 << 60)
    with precision(_BITS):
        shares, p_total, q_total = Shares(unit), arb(0), arb(0)
        for number, mass in enumerate(law.masses.tolist()):
            if not mass:
                continue
            ratio, q = grid.place(law.first + number) / steps, ball(Fraction(mass, ONE))
            p_total, q_total = p_total + ratio * q, q_total + q
            shares.add(places(ratio.log(), unit), ratio * q, q)
        rest = (to_fraction((1 - one).max(arb(0)).upper()) for one in (p_total, q_total))
        return shares.transform(*rest)
