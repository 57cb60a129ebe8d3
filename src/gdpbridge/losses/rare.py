"""δ far out of many runs that seldom lose anything: the usual law is split off, and bounded.

Each run's law under P is split by its noise into a rare and a usual part (rare_gaussian.py). The
law of all runs is that of all-usual noise, F_B^T, and the rest: M_ν = F^T - F_B^T, where some noise
is rare. ν is a measure ≥ 0, so that lines enclose its share of D(ε); that of all-usual noise is at
most κ(b)·F_B(1 + b)^T·e^{-bε}. What falls off slowly along a line is the usual law, whose losses
are small and close together; |M_ν| ≤ T·|F_A|·F^{T-1}, and F_A falls off fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb

from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind
from gdpbridge.losses.moments import Factor, Moments, kappa
from gdpbridge.losses.stretches import Guess
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import Plan, short
from gdpbridge.losses.transforms.rare_gaussian import SplitGaussianTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["RareDirection", "RareMoments", "can_be_split", "rare_direction"]

# log of how far below ε the loss is where noise begins to be rare, and how many deviations of the
# soft step lie between: the first that will do, as soft steps take fewer nodes
_DEPTHS, _DEVIATIONS = (1.5, 2.0, 2.5, 3.0, 4.0), (8.5, 12.0, 17.0, 24.0)
# log of the share of δ that all-usual noise may have
_SHARE = -30.0
# tilts of its bound, as multiples of 1/ε
_TILTS = np.geomspace(2.0, 400.0, 30)
_HALVINGS = 60
_BITS = 128
# nodes of two sums are so many times as much work as one of those of one
_NODES = 2
# log of a bound's error
_LOG_ERROR = -12.0


class RareMoments(Moments):
    """M_ν of runs some of whose noise is rare.

    Args:
        whole: all runs.
        rare: the rare part of one run.
    """

    def __init__(self, whole: Factor, rare: SplitGaussianTransform) -> None:
        super().__init__([whole, Factor(rare, 1, mirrored=False)])
        self._runs = whole.times

    def product(self, values: Sequence[acb]) -> acb:
        """Return F^T - (F - F_A)^T."""
        whole, rare = values
        share = (1 - rare / whole).log() * self._runs
        return -((whole.log() * self._runs).exp()) * share.expm1()

    def _bound(self, s: Fraction) -> arb:
        """Bound it by T·F_A·F^{T-1}, and by F^T."""
        whole, rare = self._sizes(s)
        with precision(_BITS):
            rest = (whole.log() * (self._runs - 1)).exp()
            return (rest * (rare * self._runs).min(whole)).upper()

    def beyond(self, s: Fraction, y: Fraction, plans: Sequence[Plan], sizes: Sequence[arb]) -> arb:
        """Bound T·|F_A|·F^{T-1} for all y' ≥ y."""
        rare = self.factors[1]
        found = rare.transform.beyond(plans[1], rare.place(s), y, sizes[1])
        assert found is not None
        return found * self._runs * (sizes[0].log() * (self._runs - 1)).exp()

    def _log(self, s: float) -> float:
        return float(self.logs(np.array([s]))[0])

    def logs(self, s: Floats) -> Floats:
        """Return log M_ν in float64."""
        return self.shapes(s)[0]

    def log_decay(self, s: float, y: float) -> float:
        """Return about log of the bound beyond y, over M_ν."""
        whole, rare = self.factors
        rest = (self._runs - 1) * whole.log_size(s) / self._runs
        bound = math.log(self._runs) + rare.log_size(s) + rest
        return bound - self.log(s) + rare.log_decay(s, y)

    def shapes(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log M_ν, and mean and variance of the loss under its tilt."""
        runs = self._runs
        log, mean, variance = self.factors[0].transform.log_shapes(1 + s)
        log_rare, rare, spread = self.factors[1].transform.log_shapes(1 + s)
        # all beside F: F_A, its first and second derivatives, and those of F_B
        share = np.clip(np.exp(log_rare - log), 0.0, 1.0)
        first, second = mean, variance + mean**2
        rare_first, rare_second = share * rare, share * (spread + rare**2)
        usual_first, usual_second = first - rare_first, second - rare_second
        with np.errstate(divide="ignore"):
            log_kept = np.log1p(-np.minimum(share, 1.0))

        def gap(power: int) -> Floats:
            """Return 1 - F_B^power, beside F^power."""
            if power <= 0:
                return np.zeros(s.shape)
            return np.asarray(-np.expm1(power * log_kept))

        total = np.maximum(gap(runs), 1e-300)
        slope = runs * (rare_first + usual_first * gap(runs - 1))
        bend = runs * (rare_second + usual_second * gap(runs - 1)) + runs * (runs - 1) * (
            rare_first * (rare_first + 2 * usual_first) + usual_first**2 * gap(runs - 2)
        )
        where = slope / total
        return runs * log + np.log(total), where, np.maximum(bend / total - where**2, 0.0)


class RareDirection(Direction):
    """δ(ε) of runs some of whose noise is rare, and a bound of what they leave out.

    Args:
        moments: M_ν.
        usual: the usual part of one run.
        tilt: b of the bound for all-usual noise.
        start: an ε to begin a search with.
        digits: of δ.
    """

    def __init__(
        self, moments: RareMoments, usual: Factor, tilt: Fraction, start: Fraction, digits: int
    ) -> None:
        super().__init__(moments, None, digits)
        self.start = start
        self._parts = moments, usual, tilt

    def to(self, digits: int) -> Direction:
        """Return the same to other digits."""
        assert self.start is not None
        return RareDirection(*self._parts, self.start, digits)

    def is_cheaper_than(self, whole: Direction, delta: float) -> bool:
        """Whether its lines take so few nodes for the ε of a δ that two sums are less work."""
        assert self.start is not None
        log = math.log(delta)
        return _NODES * self.nodes_for(self.start, log) < whole.nodes_for(self.start, log)

    def _kinds(self, guesses: list[Guess]) -> list[Kind]:
        """Return those with c > 0: ν's mass is not 1."""
        return [Kind.CALL]

    @cached_property
    def _left_out(self) -> arb:
        """κ(b)·F_B(1 + b)^T."""
        _, usual, tilt = self._parts
        with precision(_BITS):
            one = usual.transform.size(1 + tilt, _LOG_ERROR - math.log(usual.times))
            return (kappa(tilt) * (one.log() * usual.times).exp()).upper()

    def _usual_at(self, eps: Fraction) -> arb:
        with precision(_BITS):
            return (self._left_out * (-ball(self._parts[2] * eps)).exp()).upper()

    def delta(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact numbers that enclose δ(ε)."""
        low, high = super().delta(eps, stop)
        with precision(max(self.bits, high.bits())):
            return low, (high + self._usual_at(eps)).upper().min(arb(1))

    def is_at_most(self, eps: Fraction, value: arb, stop: Fraction | None = None) -> bool:
        """Whether δ(ε) ≤ value is proved with little work."""
        with precision(self.bits):
            left = (value - self._usual_at(eps)).lower()
        return super().is_at_most(eps, left, stop)


def rare_direction(direction: Direction, delta: float) -> RareDirection | None:
    """Return a direction with the usual noise split off, for the ε of a δ; None for none."""
    factor = direction.moments.factors[0]
    transform = factor.transform
    if not can_be_split(direction) or not 0 < delta < 1:
        return None
    assert isinstance(transform, SampledGaussianTransform)
    sigma, rate = transform.sigma, transform.rate
    s, q = float(sigma), float(rate)
    eps = _of_one(s, q, factor.times, delta)
    if eps is None:
        return None
    at, tilts = _place(s, q, eps), _TILTS / eps
    for deviations in _DEVIATIONS:
        for depth in _DEPTHS:
            start = _place(s, q, eps * math.exp(-depth))
            split = sigma, rate, short(start), short((at - start) / deviations)
            usual = Factor(SplitGaussianTransform(*split, rare=False), factor.times, mirrored=False)
            bounds = log_kappa(tilts) + usual.log_sizes(tilts) - tilts * eps
            best = int(bounds.argmin())
            if bounds[best] < math.log(delta) + _SHARE:
                moments = RareMoments(factor, SplitGaussianTransform(*split, rare=True))
                tilt = short(float(tilts[best]))
                return RareDirection(moments, usual, tilt, short(eps), direction.digits)
    return None


def can_be_split(direction: Direction) -> bool:
    """Whether it is runs of one mechanism that is known here, in the direction of large losses."""
    factor, *others = direction.moments.factors
    return not others and not factor.mirrored and type(factor.transform) is SampledGaussianTransform


def _place(sigma: float, rate: float, loss: float) -> float:
    """Return the noise u at which log g(u) is a number."""
    return sigma * math.log(math.expm1(loss) / rate + 1) + 0.5 / sigma


def _of_one(sigma: float, rate: float, runs: int, delta: float) -> float | None:
    """Return the ε at which the sum of the runs' own δ(ε) is δ, if there is one."""

    def excess(eps: float) -> float:
        u = _place(sigma, rate, eps)
        below, above = (math.erfc(x / math.sqrt(2)) / 2 for x in (u, u - 1 / sigma))
        return runs * (rate * above - (math.expm1(eps) + rate) * below) - delta

    low, high = 1e-9, 200.0
    if excess(low) <= 0 or excess(high) >= 0:
        return None
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low
