"""The tail of discrete Gaussian noise: from where on no line's μ is above a number.

The line between two losses has a = P(X ≥ n) and b = P(X ≥ n + D), and touches the Gaussian curve of
μ = Φ⁻¹(a) - Φ⁻¹(b). With V the variance, s = √V, y = n/s, u = n/V and P(X = x) = φ(x/s)/s up to a
share η, the sums lie between geometric ones:

    a ≤ (1 + η)·A(n),  b ≥ (1 - η)(1 - l)·A(n + D),  A(n) = φ(y)/(s(1 - e^{-u})),
    l = q(1 + q)/(2V(1 - q)²),  q = e^{-u}.

Let φ(z)/z = A(n). As Φ(-z) lies between φ(z)(1/z - 1/z³) and φ(z)/z, Φ⁻¹(a) ≤ -z + e/z and
Φ⁻¹(b) ≥ -z' - e'/z' with small e, e'; and dz/dy ≤ 1 + p(u)/(u²(V - 1/u)) from n on, where
p(u) = u/(e^u - 1) + log(u/(1 - e^{-u})) - 1 is below u²/24 by u⁴/960 and more. See
docs/composition.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from gdpbridge.curves.tail import Handover
from gdpbridge.curves.tails.gaussian import GaussianDecayTail
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["DiscreteGaussianTail"]

_BITS = 128


@dataclass(frozen=True)
class DiscreteGaussianTail(GaussianDecayTail):
    """That of whole numbers x with probabilities near those of a normal law.

    Attributes:
        variance: V.
        apart: D, a whole number.
        uneven: bounds η, by how large a share probabilities are off φ(x/s)/s.
    """

    variance: Fraction = Fraction(1)
    apart: int = 1
    uneven: Callable[[], arb] = arb

    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover:
        """Begin where the lines' own μ is proved to be below, which is sooner."""
        found = super().covered_from(largest, tol)
        with precision(_BITS):
            mu, uneven = ball(found.high), self.uneven()
            # the first line that begins there or later
            last = int((2 * self.variance * found.end / self.apart - self.apart) / 2) + 2
            if last < 1 or not self._below(last, mu, uneven):
                return found
            low, high = 0, last
            while high - low > 1 + low // 64:
                middle = (low + high) // 2
                low, high = (low, middle) if self._below(middle, mu, uneven) else (middle, high)
        end = self.apart * (self.apart + 2 * (high - 1)) / (2 * self.variance)
        return replace(found, end=end, shown_from=found.end) if end < found.end else found

    def _below(self, n: int, mu: arb, uneven: arb) -> bool:
        """Whether the μ of no line from that of n on is above a number."""
        variance = ball(self.variance)
        y, u = n / variance.sqrt(), n / variance
        q = (-u).exp()
        room = variance - 1 / u
        z = (y * y - u).sqrt()
        lost = q * (1 + q) / (2 * variance * (1 - q) ** 2)
        if not (certainly(room > 0) and certainly(z > 4)):
            return False
        if not (certainly(lost < 0.5) and certainly(uneven < 0.5)):
            return False
        share = u / u.expm1() + (u / (1 - q)).log() - 1
        steepest = 1 + share / (u * u * room)
        above = uneven.log1p() - (-1 / (z - 1) ** 2).log1p()
        below = -(-uneven).log1p() - (-lost).log1p()
        moved = ball(Fraction(self.apart)) / variance.sqrt()
        return certainly(moved * steepest + above / (z - 1) + below / z <= mu)
