"""Bounded range: no two outcomes' privacy losses are farther apart than r.

The worst mechanisms have two outcomes, of the losses t and t - r. With the t that is worst for ε,
(ε + r)/2, δ(ε) = (1 - e^{(ε-r)/2})²/(1 - e^{-r}) for ε ≤ r, then 0; one t for each ε, so that no
one mechanism attains all of it.

Of k runs chosen beforehand (``runs``), the worst have one t for all of them: δ(ε) is the largest
P(X ≤ l) - e^ε·Q(X ≤ l) with X the number of runs of loss t - r, t = (ε + (l + 1)r)/(k + 1), over
l < k. That is exact (Dong, Durfee and Rogers 2020). Runs that may depend on the answers of earlier
ones are worse: those that are composed are at most the composed loss of the pair of distributions
whose profile is the δ(ε) above, an upper bound (Zhu, Dong and Wang 2022, theorem 10).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from gdpbridge.curves.base import Curve
from gdpbridge.curves.exponential_loss import exponential_loss_curve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.losses.transforms.exponential import ExponentialLoss, ExponentialTransform
from gdpbridge.mechanisms.base import Profile, Real, Whole, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = [
    "MAX_RANGE",
    "BoundedRange",
    "BoundedRangeFamily",
    "range_curve",
    "range_losses",
    "runs_parameter",
]

MAX_RANGE = 100
MAX_RUNS = 200
# that are added up at once
_LOG_HALF = -np.log(2.0)
_MOST_TERMS = 1_000_000


def range_loss(width: Fraction) -> ExponentialLoss:
    """Return the loss of the pair that dominates, for a range r > 0."""
    return ExponentialLoss(width, Fraction(0), lambda: 1 / -(-ball(width)).expm1())


def range_curve(width: Fraction) -> SmoothCurve:
    """Return the curve of one run."""
    return exponential_loss_curve(range_loss(width)) if width else zero_curve()


def range_losses(width: Fraction, runs: int = 1) -> Losses:
    """Return the loss of the pair that dominates, once for each run; none for r = 0."""
    from gdpbridge.losses.moments import Part

    return [Part(ExponentialTransform(range_loss(width)), runs)] if width else []


@dataclass
class _Runs:
    """δ of k runs chosen beforehand."""

    width: Fraction
    runs: int

    @property
    def end(self) -> Fraction:
        """Where δ becomes 0."""
        return self.runs * self.width

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return the largest of all l; on power series that of the l that is largest at ε."""
        if ops is FLOATS:
            log, rest = self._floats(np.asarray(eps, dtype=np.float64))
            return Probability(lambda: log, lambda: rest)
        if ops is BALLS:
            found = [self._of(number, eps, ops) for number in self._possible(eps)]
            delta = found[0]
            for one in found[1:]:
                delta = delta.max(one)
        else:
            centre = eps[0].mid()
            values = [(float(self._of(one, centre, BALLS)), one) for one in self._possible(centre)]
            delta = self._of(max(values)[1], eps, ops)
        return Probability(lambda: ops.log(delta), lambda: ops.log(1 - delta))

    def _possible(self, eps: arb) -> Iterator[int]:
        # beyond it t = r, and l runs of the smaller loss are certain under P and Q
        for number in range(self.runs):
            if number == 0 or not certainly(eps > ball((self.runs - number) * self.width)):
                yield number

    def _floats(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return log δ and log(1 - δ), for a bounded number of terms at once."""
        flat, size = np.ravel(eps), max(1, _MOST_TERMS // self.runs**2)
        found = [self._float_terms(flat[at : at + size]) for at in range(0, flat.size, size)]
        log, rest = (np.concatenate(one) for one in zip(*found, strict=True))
        return log.reshape(eps.shape), rest.reshape(eps.shape)

    def _float_terms(self, eps: Floats) -> tuple[Floats, Floats]:
        k, r = self.runs, float(self.width)
        at, last, i = eps[:, None, None], np.arange(k)[None, :, None], np.arange(k + 1)
        t = np.clip((at + (last + 1) * r) / (k + 1), 0.0, r)
        norm = FLOATS.log1mexp(-r)
        with np.errstate(divide="ignore", invalid="ignore"):
            high, low = FLOATS.log1mexp(t - r) - t - norm, FLOATS.log1mexp(-t) - norm
            log_q = self._log_choose + _times(k - i, high) + _times(i, low)
            excess = np.maximum(((k * (last + 1) - (k + 1) * i) * r - at) / (k + 1), 0.0)
            # e^ε(e^x - 1)
            gains = np.where(i <= last, log_q + at + excess + FLOATS.log1mexp(-excess), -np.inf)
            log_p = np.where(i > last, log_q + k * t - i * r, -np.inf)
            log_q = np.where(i <= last, log_q + at, -np.inf)
            log = np.logaddexp.reduce(gains, axis=2)
            rest = np.logaddexp.reduce(np.concatenate([log_p, log_q], axis=2), axis=2)
        log, rest = log.max(axis=1), rest.min(axis=1)
        # of a small δ the logarithm is the better known
        return log, np.where(log < _LOG_HALF, FLOATS.log1mexp(log), rest)

    @cached_property
    def _log_choose(self) -> Floats:
        with precision(64):
            return np.array(
                [float(arb(fmpz.bin_uiui(self.runs, i)).log()) for i in range(self.runs + 1)]
            )

    @cached_property
    def _choose(self) -> list[int]:
        return [int(fmpz.bin_uiui(self.runs, i)) for i in range(self.runs)]

    def _of(self, number: int, eps: Any, ops: Operations) -> Any:
        """Return P(X ≤ l) - e^ε·Q(X ≤ l) at its best t, a sum of positive terms."""
        k, r = self.runs, ops.constant(self.width)
        t = (eps + (number + 1) * r) / (k + 1)
        norm = -ops.expm1(-r)
        high, low = ops.exp(-r) * ops.expm1(r - t) / norm, -ops.expm1(-t) / norm
        total, power = 0 * high, 1 + 0 * low
        for i in range(number + 1):
            # what i runs of the loss t - r lose, less ε
            excess = ((k * (number + 1) - (k + 1) * i) * r - eps) / (k + 1)
            total = total * high + self._choose[i] * power * ops.expm1(excess)
            power = power * low
        # Arb's powers are no numbers where the base may be 0
        for _ in range(k - number):
            total = total * high
        return ops.exp(eps) * total


def _times(count: NDArray[np.int64], log: Floats) -> Floats:
    """Return count·log, 0 for none of a logarithm that is infinite."""
    return np.where(count == 0, 0.0, count * log)


class BoundedRangeFamily(Profile):
    """A mechanism whose losses are known to have a bounded range, and nothing else is known."""

    runs: Whole

    def width(self) -> Fraction:
        """Return r."""
        raise NotImplementedError

    @property
    def composed_is(self) -> Nature:
        """A bound: what runs that depend on earlier ones may do at worst is not known exactly."""
        return Nature.BOUND

    def build_curve(self) -> SmoothCurve:
        """Return the single piece on [0, k·r]."""
        width, runs = self.width(), self.runs
        if runs == 1 or width == 0:
            return range_curve(width)
        found = _Runs(width, runs)
        piece = Piece(Fraction(0), found.formula, by_chords=True)
        return SmoothCurve((piece,), ConstantTail(found.end, Fraction(0)), found.end)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        if times * self.runs == 1 or self.width() == 0:
            return self.curve
        return super().composed_curve(times)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve of size·r: each further record adds r to the range at most."""
        if self.runs > 1:
            return super().group_curve(size)
        return range_curve(size * self.width())

    def privacy_losses(self) -> Losses:
        """Return the loss of the pair that dominates, once for each run."""
        return range_losses(self.width(), self.runs)


def runs_parameter() -> Any:
    """Declare the number of runs chosen beforehand."""
    return parameter(
        "number k of runs, each chosen before the first one is made; --compose is for those that "
        "may depend on earlier answers",
        symbol="k",
        allowed=f"a whole number from 1 to {MAX_RUNS}",
        typical=(1, 4),
        effect="raises",
        default=1,
        usual=1,
        ge=1,
        le=MAX_RUNS,
    )


@register
class BoundedRange(BoundedRangeFamily):
    """Any mechanism known only to have privacy losses of a bounded range."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["bounded-range"] = "bounded-range"
    range: Real = parameter(
        "the range r: how far apart two outcomes' privacy losses may be",
        symbol="r",
        allowed=f"a number in [0, {MAX_RANGE}]",
        typical=(0.05, 10.0),
        effect="raises",
        ge=0,
        le=MAX_RANGE,
    )
    runs: Whole = runs_parameter()

    def width(self) -> Fraction:
        """Return the range."""
        return self.exact("range")
