"""M(s) = E_P[e^{sL}; L < ∞] of a sequence of mechanisms, in one direction of its pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import acb, arb

from gdpbridge.losses.tilts import Tilts
from gdpbridge.losses.transforms.base import Plan, Transform, number_ball
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Factor", "Losses", "Moments", "Part", "kappa", "product"]

_BITS = 96
# of log M at a real place, where it is a bound
_LOG_ERROR = -12.0
# runs whose product is one of a few factors
_FEW_RUNS = 16


@dataclass(frozen=True)
class Part:
    """A mechanism of a sequence.

    Attributes:
        transform: the privacy loss of one run.
        times: the number of runs.
        reverse: the loss of Q against P, where it is not that of the same two distributions; the
            same object where it is taken to be the same.
    """

    transform: Transform
    times: int
    reverse: Transform | None = None

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return self.transform is self.reverse or (self.reverse is None and self.transform.symmetric)

    def factor(self, *, backward: bool) -> Factor:
        """Return it in one direction."""
        if backward and self.reverse is not None:
            return Factor(self.reverse, self.times, mirrored=False)
        return Factor(self.transform, self.times, mirrored=backward)


Losses = Sequence[Part]


@dataclass(frozen=True)
class Shares:
    """How the noise of runs is split on a line of what is rare.

    Attributes:
        sigma: the noise multiplier.
        low: the place and the width of the soft step at which noise begins to be rare.
        high: those at which it begins to be large.
        tilt: that of the bound of all-usual noise.
        log_error: log of the relative error of a run's transform on the line.
    """

    sigma: Fraction
    low: tuple[Fraction, Fraction]
    high: tuple[Fraction, Fraction]
    tilt: Fraction
    log_error: float


@dataclass(frozen=True)
class Factor:
    """What a part contributes to M in one direction.

    Attributes:
        transform: the loss of one run.
        times: the number of runs.
        mirrored: whether the direction is that of Q against P.
    """

    transform: Transform
    times: int
    mirrored: bool

    def place(self, s: Fraction) -> Fraction:
        """Return where F is evaluated for M(s)."""
        return -s if self.mirrored else 1 + s

    def _float_place(self, s: float) -> float:
        return -s if self.mirrored else 1 + s

    @property
    def domain(self) -> tuple[float, float]:
        """The open range of Re s where it is finite."""
        low, high = self.transform.domain
        return (-high, -low) if self.mirrored else (low - 1, high - 1)

    @property
    def failure(self) -> arb:
        """The probability of an infinite loss in one run."""
        one = self.transform
        return number_ball(one.reverse_failure if self.mirrored else one.failure)

    def log_size(self, s: float) -> float:
        """Return log of the factor at a real s, all runs, in float64."""
        return self.times * self.transform.log_size(self._float_place(s))

    def log_sizes(self, s: Floats) -> Floats:
        """Return log of the factor at real s, all runs, in float64."""
        return self.times * self.transform.log_sizes(-s if self.mirrored else 1 + s)

    def log_shapes(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log of the factor, and mean and variance of its loss under the tilt, all runs."""
        log, mean, variance = self.transform.log_shapes(-s if self.mirrored else 1 + s)
        sign = -1 if self.mirrored else 1
        return self.times * log, sign * self.times * mean, self.times * variance

    def log_decay(self, s: float, y: float) -> float:
        """Return about log of the bound of what lies beyond y, over the factor at s."""
        return self.times * min(0.0, self.transform.log_decay(self._float_place(s), y))

    def plan(self, s: Fraction, log_error: float) -> Plan:
        """Return how to evaluate one run."""
        return self.transform.plan(self.place(s), log_error)

    def values(self, plan: Plan, s: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose one run's transform at s + ikh."""
        found = self.transform.values(plan, self.place(s), h, count)
        return [value.conjugate() for value in found] if self.mirrored else found

    def largest(self) -> arb | None:
        """Return the largest finite loss of one run, None if there is none."""
        if not self.mirrored:
            return self.transform.largest()
        least = self.transform.least()
        return None if least is None else -least


def kappa(b: Fraction) -> arb:
    """Return κ(b) = b^b/(1 + b)^{1+b} for b ≥ 0, with which (1 - e^{-u})⁺ ≤ κ(b)·e^{bu}."""
    if b == 0:
        return arb(1)
    at = ball(b)
    return (at * at.log() - (1 + at) * at.log1p()).exp()


class Moments:
    """M(s) = ∏ F_i^{T_i} in one direction.

    Args:
        factors: the parts, at least one.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.factors = tuple(factors)
        self.log = cache(self._log)
        self.bound = cache(self._bound)
        self._sizes = cache(self._find_sizes)

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The open range of Re s where M is finite."""
        ends = [factor.domain for factor in self.factors]
        return max(low for low, _ in ends), min(high for _, high in ends)

    @property
    def times(self) -> int:
        """How many runs there are in all."""
        return sum(factor.times for factor in self.factors)

    def failure(self) -> arb:
        """Enclose p_∞, the probability of an infinite loss."""
        kept = sum(((-f.failure).log1p() * f.times for f in self.factors), arb(0))
        return -kept.expm1()

    def shares(self, tilt: arb, depth: float) -> Shares | None:
        """Return how noise is split, where it is; see :class:`Shares`."""
        return None

    def distance(self) -> arb:
        """Bound δ(0), the total variation distance: what is in common multiplies."""
        common = arb(1)
        for factor in self.factors:
            common *= ball(1 - factor.transform.distance) ** factor.times
        return 1 - common

    def largest(self) -> arb | None:
        """Return the largest finite loss, None if there is none."""
        total = arb(0)
        for factor in self.factors:
            one = factor.largest()
            if one is None:
                return None
            total += factor.times * one
        return total

    def chernoff(self, s: Fraction, eps: arb) -> arb:
        """Bound D(ε) by κ(s)·M(s)·e^{-sε}, for s ≥ 0 in the domain."""
        return kappa(s) * self.bound(s) * (-ball(s) * eps).exp()

    def _log(self, s: float) -> float:
        """Return log M(s) for a real s in the domain, in float64."""
        return sum(factor.log_size(s) for factor in self.factors)

    def _find_sizes(self, s: Fraction) -> list[arb]:
        """Bound every factor's transform at a real s, one run, hardly above it."""
        with precision(_BITS):
            return [
                factor.transform.size(factor.place(s), _LOG_ERROR - math.log(factor.times))
                for factor in self.factors
            ]

    def _bound(self, s: Fraction) -> arb:
        """Return an upper bound of M(s) for a real s in the domain: exact, hardly above it."""
        with precision(_BITS):
            logs = [
                size.log() * f.times for size, f in zip(self._sizes(s), self.factors, strict=True)
            ]
            return sum(logs, arb(0)).exp().upper()

    def product(self, values: Sequence[acb]) -> acb:
        """Return M of one run's values of each factor."""
        return product(values, [factor.times for factor in self.factors])

    def log_decay(self, s: float, y: float) -> float:
        """Return about log of the bound of |M| beyond y, over M(s)."""
        return sum(factor.log_decay(s, y) for factor in self.factors)

    def beyond(self, s: Fraction, y: Fraction, plans: Sequence[Plan], sizes: Sequence[arb]) -> arb:
        """Bound |M(s + iy')| for all y' ≥ y from above; the factors' sizes at s are known."""
        total = arb(0)
        for factor, plan, size in zip(self.factors, plans, sizes, strict=True):
            bound = factor.transform.beyond(plan, factor.place(s), y, size)
            found = bound if bound is not None and certainly(bound < size) else size
            total += factor.times * found.log()
        return total.exp()

    def logs(self, s: Floats) -> Floats:
        """Return log M at real s in the domain, in float64."""
        return np.asarray(np.sum([factor.log_sizes(s) for factor in self.factors], axis=0))

    @cached_property
    def tilts(self) -> Tilts:
        """The tilts that bound D(ε) best."""
        return Tilts(self, complement=False)

    @cached_property
    def tilts_inside(self) -> Tilts:
        """The tilts that bound 1 - δ(ε) best."""
        return Tilts(self, complement=True)

    def shapes(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log M, and mean and variance of the loss under the tilt, at real s, in float64."""
        found = [factor.log_shapes(s) for factor in self.factors]
        logs, means, variances = (np.sum(column, axis=0) for column in zip(*found, strict=True))
        return logs, means, variances

    def shape(self, s: float) -> tuple[float, float]:
        """Return mean and standard deviation of the loss under the tilt s."""
        _, mean, variance = self.shapes(np.array([s]))
        return float(mean[0]), math.sqrt(float(variance[0]))


def product(values: Sequence[acb], times: Sequence[int]) -> acb:
    """Return ∏ v^T by logarithms, which widen least; where v may be 0, only by its size."""
    if len(values) == 1 and times[0] <= _FEW_RUNS:
        power: acb = values[0] ** times[0]
        return power
    if all(not value.contains(0) for value in values):
        total, sign = acb(0), 1
        for value, count in zip(values, times, strict=True):
            # off the branch cut, which a ball must not straddle
            turned = certainly(value.real < 0)
            total += (-value if turned else value).log() * count
            sign *= (-1) ** (count % 2) if turned else 1
        return total.exp() * sign
    size = arb(1)
    for value, count in zip(values, times, strict=True):
        size *= arb(value.abs_upper()) ** count
    return acb(arb(0, size), arb(0, size))
