"""The discrete Gaussian mechanism: P(x) ∝ e^{-x²/(2σ²)} on the whole numbers.

For two answers Δ apart the loss at x is Δ(Δ - 2x)/(2σ²). The line between losses is a - b·e^ε with
a = P(x ≤ c) and b = P(x ≤ c - Δ), c the largest x whose loss is above ε (Canonne, Kamath and
Steinke 2020). It is not the Gaussian mechanism of the same σ, and a little less private.

The tail: for the first loss y ≥ ε, at x = -n, δ(ε) ≤ P(x ≤ -n) ≤ (e^{-n²/(2σ²)}/N)·(N + 1)/2 with N
the sum of all e^{-x²/(2σ²)}; in terms of y, -n²/(2σ²) = y/2 - y²/(2μ_t²) - μ_t²/8 with μ_t = Δ/σ,
which falls from y = μ_t²/2 on. And δ(ε) is at least a multiple of the mass at the loss after y, so
that μ_t is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from flint import arb

from gdpbridge.curves.linear import LinearCurve, linear_curve
from gdpbridge.curves.lines import FloatLines, Floats, Line, Segments
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.mechanisms.base import Profile, Real, Whole, positive, whole_sensitivity
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.arrays import Indices
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import FLOATS, ball

__all__ = ["DiscreteGaussian"]

MAX_SENSITIVITY = 100
MAX_MU = 1000
# the losses are Δ/σ² apart, and all up to where the tail takes over are looked at
MAX_LOSSES = 2_500


@register
class DiscreteGaussian(Profile):
    """Discrete Gaussian noise added to a whole number."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["discrete-gaussian"] = "discrete-gaussian"
    sigma: Real = positive(
        "parameter σ of the noise: P(x) is proportional to e^(-x²/(2σ²))",
        symbol="σ",
        typical=(0.3, 10.0),
        effect="lowers",
    )
    sensitivity: Whole = whole_sensitivity(MAX_SENSITIVITY, typical=(1, 5))

    def model_post_init(self, _: Any) -> None:
        """Check the size of the losses and how dense they are."""
        self.require("sensitivity/sigma", self._mu_t() <= MAX_MU, f"at most {MAX_MU}")
        dense = self.exact("sigma") ** 2 <= MAX_LOSSES * self.sensitivity
        self.require("sigma", dense, f"at most {math.sqrt(MAX_LOSSES * self.sensitivity):g}")

    def _mu_t(self) -> Fraction:
        return self.sensitivity / self.exact("sigma")

    def of_group(self, size: int) -> DiscreteGaussian:
        """Return that of ``size`` times the sensitivity."""
        return DiscreteGaussian(**{**self.model_dump(), "sensitivity": size * self.sensitivity})

    def build_curve(self) -> LinearCurve:
        """Return the lines between the losses, without end."""
        lines, mu_t = _Lines(self.exact("sigma"), self.sensitivity), self._mu_t()

        def log_factor() -> arb:
            norm = lines.norm()
            return ((norm + 1) / (2 * norm)).log() - ball(mu_t**2 / 8)

        tail = GaussianDecayTail(log_factor, mu_t, mu_t**2 / 2, Fraction(1, 2))
        return linear_curve(lines, tail)


class _Lines(FloatLines):
    """The lines of discrete Gaussian noise, by falling c."""

    count = None

    def __init__(self, sigma: Fraction, sensitivity: int) -> None:
        self.variance, self.sensitivity = sigma**2, sensitivity
        # the largest x with a positive loss belongs to the first line
        self.first = (sensitivity + 1) // 2 - 1
        self._tails: tuple[int, list[arb]] = 0, []

    def line(self, index: int) -> Line:
        """Return the line for c = first - index."""
        c = self.first - index
        # first, so that the sums below are of one table
        b = self._tail(self.sensitivity - c)
        norm = self.norm()
        b = b / norm
        if c < 0:
            a = self._tail(-c) / norm
            return Line(a, 1 - a, b, 1 - b)
        missing = self._tail(c + 1) / norm
        return Line(1 - missing, missing, b, 1 - b)

    def end(self, index: int) -> arb:
        """Return the loss of c."""
        c = self.first - index
        return ball(self.sensitivity * (self.sensitivity - 2 * c) / (2 * self.variance))

    def norm(self) -> arb:
        """Return the sum of all e^{-x²/(2σ²)}."""
        return 1 + 2 * self._tail(1)

    def _tail(self, n: int) -> arb:
        """Return the sum of e^{-x²/(2σ²)} for x ≥ n ≥ 1."""
        bits, tails = self._tails
        if bits != working_precision():
            tails = []
        if n > 2 * len(tails) + 64:
            # far out, where few terms count
            *_, (_, far) = self._sums(n, n)
            return far
        if n >= len(tails):
            # one more than twice as far, not to do it again and again
            tails = [arb(0)] * (2 * n + 64)
            for x, total in self._sums(1, len(tails) - 1):
                if x < len(tails):
                    tails[x] = total
            self._tails = working_precision(), tails
        return tails[n]

    def _sums(self, low: int, high: int) -> Iterator[tuple[int, arb]]:
        """Give each x down to ``low`` with the sum from there on, precise from ``high`` down."""
        rate = ball(1 / (2 * self.variance))
        # so far that the ratio to the term at high is below the precision: m(2·high + m) ≥ 2σ²·B
        wanted = 2 * float(self.variance) * (working_precision() + 8) * math.log(2)
        reach = wanted / (high + math.sqrt(high**2 + wanted))
        beyond = high + math.ceil(reach) + 1
        # the ratio of neighbours falls: what is left out is less than a geometric series
        ratio = (-(2 * beyond + 1) * rate).exp()
        total = arb(0).union((-(beyond * beyond) * rate).exp() / (1 - ratio))
        for x in range(beyond - 1, low - 1, -1):
            total = total + (-(x * x) * rate).exp()
            yield x, total

    def locate(self, eps: Floats) -> Indices:
        """Divide by the distance of the losses."""
        variance, sensitivity = float(self.variance), self.sensitivity
        steps = np.ceil((2 * variance * eps / sensitivity - sensitivity) / 2 + self.first)
        return np.maximum(steps, 0).astype(np.int64)

    def segments(self, indices: Indices) -> Segments:
        """Sum the masses of each line that is asked for."""
        unique, back = np.unique(indices, return_inverse=True)
        rows = max(1, _MAX_SUMMANDS // self._summands)
        parts = [self._segments(unique[at : at + rows]) for at in range(0, unique.size, rows)]
        parts = parts or [self._segments(unique)]
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS)
        return Segments(*joined)[back]

    @property
    def _summands(self) -> int:
        return math.ceil(_WIDTHS * math.sqrt(self.variance)) + self.first + 2

    def _segments(self, index: Indices) -> Segments:
        variance, sensitivity = float(self.variance), self.sensitivity
        c = self.first - index
        end = sensitivity * (sensitivity - 2.0 * c) / (2 * variance)
        start = np.where(index > 0, end - sensitivity / variance, 0.0)
        log_norm = np.logaddexp(0.0, np.log(2.0) + self._log_tail(np.array([1]))[0])
        log_b = self._log_tail(sensitivity - c) - log_norm
        log_below = self._log_tail(np.maximum(c + 1, 1)) - log_norm
        log_above = self._log_tail(np.maximum(-c, 1)) - log_norm
        log_a_complement = np.where(c < 0, FLOATS.log1mexp(log_above), log_below)
        # δ at a loss is the sum of p(c - i)(1 - e^{-iΔ/σ²}) over i ≥ 1
        step = np.arange(1, self._summands)
        log_mass = -((c[:, None] - step) ** 2) / (2 * variance)
        log_share = FLOATS.log1mexp(-step * (sensitivity / variance))
        log_at_end = _log_sum(log_mass + log_share) - log_norm
        return Segments(
            start, end, log_b, log_at_end, np.logaddexp(log_a_complement, log_b + start)
        )

    def _log_tail(self, n: Indices) -> Floats:
        step = np.arange(self._summands)
        return _log_sum(-((n[:, None] + step) ** 2.0) / (2 * float(self.variance)))


_FIELDS = tuple(Segments.__dataclass_fields__)
# what lies further out than this many σ is below a float's precision
_WIDTHS = 9.5
_MAX_SUMMANDS = 2_000_000


def _log_sum(logs: Floats) -> Floats:
    top = logs.max(axis=1, initial=-np.inf)
    result: Floats = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return result
