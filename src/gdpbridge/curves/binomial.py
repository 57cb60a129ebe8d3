"""The k-fold composition of binary randomized response: the worst that k ε₀-DP mechanisms can do.

Its privacy loss is (2l - k)·ε₀ with l binomial(k, p), p = e^ε₀/(1 + e^ε₀) (Kairouz, Oh and
Viswanath 2015). Between losses δ is the line a - b·e^ε with a = P(l ≥ j) and b = P(l ≤ k - j), j
the first l whose loss is above ε.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.constants import MAX_EPS, Constant, interval_around
from gdpbridge.curves.linear import LinearCurve, linear_curve
from gdpbridge.curves.lines import FloatLines, Floats, Line, Segments, segments_from
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError
from gdpbridge.numeric.arrays import Indices
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import BALLS, FLOATS

__all__ = ["BinomialLines", "binomial_curve"]

# what a mass and the sum up to it take, in units of numeric/effort.py
_MASS = 5


def binomial_curve(eps0: Constant, times: int) -> SmoothCurve | LinearCurve:
    """Return the curve of ``times`` randomized responses with losses ±ε₀.

    Raises:
        InputError: if the largest loss is beyond the range of ε.
    """
    if eps0 == 0:
        return zero_curve()
    total = times * float(interval_around(eps0).high)
    if total > MAX_EPS:
        raise InputError("the sum of all ε", total, f"at most {MAX_EPS:g}")
    lines = BinomialLines(eps0, times)
    end = times * eps0 if isinstance(eps0, Fraction) else lines.last_end
    return linear_curve(lines, ConstantTail(end, Fraction(0)), end)


class BinomialLines(FloatLines):
    """The lines of ``times`` randomized responses with losses ±ε₀, ε₀ > 0."""

    def __init__(self, eps0: Constant, times: int) -> None:
        self.eps0, self.times = eps0, times
        # the least l with a positive loss
        self.first = times // 2 + 1
        self.count = times - self.first + 1
        self._sums: tuple[int, _Sums] | None = None

    def line(self, index: int) -> Line:
        """Return the line below the loss of l = first + index."""
        bits, j = working_precision(), self.first + index
        if self._sums is None or self._sums[0] != bits:
            self._sums = bits, _Sums(self.times, BALLS.constant(self.eps0), self.first)
        sums = self._sums[1]
        a, b = sums.at_least(j), sums.at_most(self.times - j)
        # next to 1, what is missing is a sum of its own
        missing = 1 - a if j > sums.last_low else sums.at_most(j - 1)
        return Line(a, missing, b, 1 - b)

    def end(self, index: int) -> arb:
        """Return the loss of l = first + index."""
        return arb(2 * (self.first + index) - self.times) * BALLS.constant(self.eps0)

    def last_end(self) -> arb:
        """Return the largest loss."""
        return self.times * BALLS.constant(self.eps0)

    def locate(self, eps: Floats) -> Indices:
        """Divide by the distance of the losses."""
        steps = np.ceil((eps / FLOATS.constant(self.eps0) + self.times) / 2)
        return np.clip(steps - self.first, 0, self.count).astype(np.int64)

    def segments(self, indices: Indices) -> Segments:
        """Take the lines from the arrays."""
        return self._floats[indices]

    @cached_property
    def _floats(self) -> Segments:
        eps0 = FLOATS.constant(self.eps0)
        log_mass = _log_masses(self.times, eps0)
        index = np.arange(self.first, self.times + 1)
        log_lower = np.logaddexp.accumulate(log_mass)
        return segments_from(
            end=(2.0 * index - self.times) * eps0,
            log_b=log_lower[self.times - index],
            log_a_complement=log_lower[index - 1],
        )


class _Sums:
    """Sums of the masses of l, from either end towards the mode: of positive terms only."""

    def __init__(self, times: int, eps0: arb, first: int) -> None:
        self.times = times
        spend(_MASS * times)
        rise = eps0.exp()
        fall = 1 / rise
        mass = (1 + fall) ** -times
        self._upper = [mass]
        total = mass
        for left in range(times, first, -1):
            mass = mass * fall * left / (times - left + 1)
            total = total + mass
            self._upper.append(total)
        # up to the mean at least, beyond which P(l ≥ j) is not near 1
        self.last_low = max(times - first, min(times - 1, int(float(times / (1 + fall))) + 1))
        mass = (1 + rise) ** -times
        self._lower = [mass]
        total = mass
        for number in range(1, self.last_low + 1):
            mass = mass * rise * (times - number + 1) / number
            total = total + mass
            self._lower.append(total)

    def at_least(self, j: int) -> arb:
        """Return P(l ≥ j)."""
        return self._upper[self.times - j]

    def at_most(self, j: int) -> arb:
        """Return P(l ≤ j)."""
        return self._lower[j]


def _log_masses(times: int, eps0: float) -> NDArray[np.float64]:
    """Return the logarithms of the binomial masses, from their ratios outward from the mode."""
    count = np.arange(times)
    log_ratio = np.log(times - count) - np.log(count + 1) + eps0
    mode = int(np.searchsorted(-log_ratio, 0.0))
    above = np.cumsum(log_ratio[mode:])
    below = np.cumsum(-log_ratio[:mode][::-1])[::-1]
    relative = np.concatenate([below, [0.0], above])
    masses: NDArray[np.float64] = relative - np.log(np.exp(relative).sum())
    return masses
