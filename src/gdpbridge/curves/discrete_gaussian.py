"""The curve of discrete Gaussian noise, once or several times: lines between losses, without end.

For two answers Δ apart the loss at x is Δ(Δ - 2x)/(2σ²). The line between losses is a - b·e^ε with
a = P(x ≤ c) and b = P(x ≤ c - Δ), c the largest x whose loss is above ε (Canonne, Kamath and
Steinke 2020).

T runs have the loss D(D - 2S)/(2V) with S the sum of all x, V = Tσ² and D = TΔ: that of one run
with V for σ² and D for Δ, but for a factor of P(S) that has the period T.

The tail of one run: for the first loss y ≥ ε, at x = -n, δ(ε) ≤ P(x ≤ -n) ≤
(e^{-n²/(2σ²)}/N)·(N + 1)/2 with N the sum of all e^{-x²/(2σ²)}; in terms of y, -n²/(2σ²) =
y/2 - y²/(2μ_t²) - μ_t²/8 with μ_t = Δ/σ, which falls from y = μ_t²/2 on. Of several runs,
M(s) ≤ e^{μ_t²(s² + s)/2} with μ_t = √T·Δ/σ gives the same without the factor (N + 1)/(2N). And δ(ε)
is at least a multiple of the mass at the loss after y, so that μ_t is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from flint import arb

from gdpbridge.curves.constants import square_root
from gdpbridge.curves.linear import LinearCurve, linear_curve
from gdpbridge.curves.lines import FloatLines, Floats, Line, Segments
from gdpbridge.curves.tails import DiscreteGaussianTail
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform, Weights
from gdpbridge.numeric.arrays import Indices
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import FLOATS, ball, to_fraction

__all__ = ["discrete_gaussian_curve", "gaussian_above"]


def discrete_gaussian_curve(one: DiscreteGaussianTransform, times: int = 1) -> LinearCurve:
    """Return the curve of some runs: lines between the losses, without end.

    Args:
        one: the loss of one run.
        times: how many runs.
    """
    lines = _Lines(one, times)
    variance = times * one.tail_variance

    def log_factor() -> arb:
        norm = one.norm()
        share = ((norm + 1) / (2 * norm)).log() if times == 1 else arb(0)
        return share - ball(variance / 8)

    tail = DiscreteGaussianTail(
        log_factor,
        square_root(variance),
        variance / 2,
        Fraction(1, 2),
        lines.variance,
        lines.sensitivity,
        lines.uneven,
    )
    return linear_curve(lines, tail)


@cache
def gaussian_above(one: DiscreteGaussianTransform) -> Fraction:
    """Return a μ, hardly above μ_t or the least, with δ(ε) ≤ δ_μ(ε) for one run and all ε.

    A line a - b·e^ε lies below the Gaussian curve with μ = Φ⁻¹(a) - Φ⁻¹(b), and the tail below one
    of a μ a little above μ_t, from an ε on.
    """
    with precision(_BITS):
        curve = discrete_gaussian_curve(one)
        wanted = (ball(one.tail_variance).sqrt() * _WIDER).upper()
        tail = curve.tail.covered_from(lambda: wanted, _TOL)
        assert tail is not None
        found = ball(tail.high)
        for number in range(curve.lines.until(ball(tail.end))):
            line = curve.lines.line(number)
            found = found.max(_quantile(line.a, line.a_complement) + _quantile(1 - line.b, line.b))
        return to_fraction(found.upper())


def _quantile(p: arb, complement: arb) -> arb:
    """Enclose Φ⁻¹(p), from the smaller one of p and 1 - p."""
    sign, tail = (-1, p) if certainly(p < complement) else (1, complement)
    return sign * arb(2).sqrt() * (2 * tail).erfcinv()


_BITS = 256
# a μ so many times as large as μ_t shows early that a tail lies below; how closely it is found
_WIDER, _TOL = 1 + arb(2) ** -10, Fraction(1, 10**6)


class _Lines(FloatLines):
    """The lines of runs of discrete Gaussian noise, by falling c."""

    count = None

    def __init__(self, one: DiscreteGaussianTransform, times: int) -> None:
        self.variance, self.sensitivity = times * one.variance, times * one.sensitivity
        sensitivity = self.sensitivity
        self._weights = Weights(one, times)
        # the largest x with a positive loss belongs to the first line
        self.first = (sensitivity + 1) // 2 - 1
        # tails are kept, and lines listed, as far as that
        self._near = 64 + sensitivity + math.ceil(_WIDTHS * math.sqrt(self.variance))
        self._tails: tuple[int, list[arb]] = 0, []

    def uneven(self) -> arb:
        """Bound by how large a share P(X = x) is off e^{-x²/(2V)}/√(2πV)."""
        return self._weights.uneven()

    def line(self, index: int) -> Line:
        """Return the line for c = first - index."""
        c = self.first - index
        # first, so that the sums below are of one table
        b = self._tail(self.sensitivity - c)
        if c < 0:
            a = self._tail(-c)
            return Line(a, 1 - a, b, 1 - b)
        missing = self._tail(c + 1)
        return Line(1 - missing, missing, b, 1 - b)

    def end(self, index: int) -> arb:
        """Return the loss of c."""
        c = self.first - index
        return ball(self.sensitivity * (self.sensitivity - 2 * c) / (2 * self.variance))

    def _tail(self, n: int) -> arb:
        """Return the sum of the masses of x ≥ n ≥ 1."""
        bits = working_precision()
        if self._tails[0] != bits:
            self._tails = bits, [arb(0)]
        tails = self._tails[1]
        if n > 2 * len(tails) + self._near:
            # far out, where few terms count
            *_, (_, far) = self._sums(n, n)
            return far
        if n >= len(tails):
            # one more than twice as far, not to do it again and again
            found = [total for _, total in self._sums(len(tails), 2 * n + 64)]
            tails += found[::-1][: 2 * n + 65 - len(tails)]
        return tails[n]

    def _sums(self, low: int, high: int) -> Iterator[tuple[int, arb]]:
        """Give each x down to ``low`` with the sum from there on, precise from ``high`` down."""
        rate = ball(1 / (2 * self.variance))
        # so far that the ratio to the term at high is below the precision: m(2·high + m) ≥ 2σ²·B
        digits = (working_precision() + 8) * math.log(2) + self._weights.spread
        wanted = 2 * float(self.variance) * digits
        reach = wanted / (high + math.sqrt(high**2 + wanted))
        beyond = high + math.ceil(reach) + 1
        # the ratio of neighbours falls: what is left out is less than a geometric series
        ratio = (-(2 * beyond + 1) * rate).exp()
        first = (-(beyond * beyond) * rate).exp() * self._weights.largest()
        total = arb(0).union(first / (1 - ratio))
        for x in range(beyond - 1, low - 1, -1):
            total = total + (-(x * x) * rate).exp() * self._weights.at(x)
            yield x, total

    def ends(self, indices: Indices) -> Floats:
        """Return losses."""
        c = self.first - indices
        found: Floats = self.sensitivity * (self.sensitivity - 2.0 * c) / (2 * float(self.variance))
        return found

    def locate(self, eps: Floats) -> Indices:
        """Divide by the distance of the losses."""
        variance, sensitivity = float(self.variance), self.sensitivity
        steps = np.ceil((2 * variance * eps / sensitivity - sensitivity) / 2 + self.first)
        return np.maximum(steps, 0).astype(np.int64)

    def segments(self, indices: Indices) -> Segments:
        """Take lines from a table; those further out are summed up one by one."""
        unique, back = np.unique(indices, return_inverse=True)
        near, far = unique[unique < self._listed], unique[unique >= self._listed]
        parts, at = list[Segments](), 0
        while at < far.size:
            rows = max(1, _MAX_SUMMANDS // self._summands_from(int(far[at])))
            parts.append(self._segments(far[at : at + rows]))
            at += rows
        joined = (
            np.concatenate([getattr(part, name) for part in (self._table[near], *parts)])
            for name in _FIELDS
        )
        return Segments(*joined)[back]

    @property
    def _listed(self) -> int:
        """How many lines are in the table."""
        return self.first + self._near

    @cached_property
    def _table(self) -> Segments:
        """The first lines, by sums from the far end inward whose terms are all positive.

        With x = -c they are P(X ≥ n) and Σ_{i≥1} P(x + i)(1 - q^i) = Σ_{j≥x} (1 - q)·Z_j with
        Z_j = Σ_{i≥1} P(j + i)·q^{i-1}, q = e^{-Δ/σ²}: relative to P(x), or to P(x + 1).
        """
        variance, least = float(self.variance), -self.first
        last = self._listed + self.sensitivity + self._summands
        place = np.arange(least, last + 1)
        logs = self._logs(place) - place**2.0 / (2 * variance)
        ratios = np.exp(np.diff(logs)).tolist()
        rate = self.sensitivity / variance
        q, share = math.exp(-rate), -math.expm1(-rate)
        tail = at_end = z = 0.0
        found = []
        for ratio in reversed(ratios):
            tail, past = ratio * (1 + tail), share * (1 + q * z) + at_end
            found.append((1 + tail, past))
            at_end, z = ratio * past, ratio * (1 + q * z)
        tails, ends = np.log(np.array(found[::-1])).T
        index = np.arange(self._listed)
        c = self.first - index
        end = self.ends(index)
        start = np.where(index > 0, end - rate, 0.0)

        def log_tail(n: Indices) -> Floats:
            return np.asarray((logs[:-1] + tails)[n - least])

        log_b = log_tail(self.sensitivity - c)
        log_above = np.minimum(log_tail(np.maximum(-c, 1)), 0.0)
        below = log_tail(np.maximum(c + 1, 1))
        rest = np.where(c < 0, FLOATS.log1mexp(log_above), below)
        log_at_end = (logs[1:] + ends)[-c - least]
        return Segments(start, end, log_b, log_at_end, np.logaddexp(rest, log_b + start))

    def _summands_from(self, index: int) -> int:
        """How many masses count from a line on: far out they fall fast."""
        n = max(index - self.first, 1)
        return min(self._summands, math.ceil(_FALL * float(self.variance) / n) + 2)

    @property
    def _summands(self) -> int:
        return math.ceil(_WIDTHS * math.sqrt(self.variance)) + self.first + 2

    def _segments(self, index: Indices) -> Segments:
        variance, sensitivity = float(self.variance), self.sensitivity
        c = self.first - index
        end = self.ends(index)
        start = np.where(index > 0, end - sensitivity / variance, 0.0)
        # c < 0 this far out
        terms = self._summands_from(int(index[0]))
        log_b = self._log_tail(sensitivity - c, terms)
        log_a_complement = FLOATS.log1mexp(self._log_tail(-c, terms))
        # δ at a loss is the sum of p(c - i)(1 - e^{-iΔ/σ²}) over i ≥ 1
        step = np.arange(1, terms)
        place = c[:, None] - step
        log_mass = self._logs(place) - place**2 / (2 * variance)
        log_share = FLOATS.log1mexp(-step * (sensitivity / variance))
        log_at_end = _log_sum(log_mass + log_share)
        return Segments(
            start, end, log_b, log_at_end, np.logaddexp(log_a_complement, log_b + start)
        )

    def _log_tail(self, n: Indices, terms: int) -> Floats:
        place = n[:, None] + np.arange(terms)
        return _log_sum(self._logs(place) - place**2.0 / (2 * float(self.variance)))

    def _logs(self, place: Any) -> Any:
        """Return log of the masses' weights."""
        return self._weights.logs[np.mod(place, self._weights.logs.size)]


_FIELDS = tuple(Segments.__dataclass_fields__)
# what lies further out than this many σ is below a float's precision
_WIDTHS = 9.5
# as a power of e, what no longer counts beside a mass
_FALL = 40.0
_MAX_SUMMANDS = 2_000_000


def _log_sum(logs: Floats) -> Floats:
    top = logs.max(axis=1, initial=-np.inf)
    result: Floats = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return result
