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
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import acb, arb

from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Factor, Moments, kappa
from gdpbridge.losses.roots import coarse_epsilon
from gdpbridge.losses.stretches import Guess
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import Plan, short
from gdpbridge.losses.transforms.rare_gaussian import Edge, WindowTransform, log_tail
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["RareDirection", "RareMoments", "can_be_split", "rare_direction"]

# log of how far below ε the loss is where noise begins to be rare, and how many deviations of the
# soft step lie between: the first that will do, as soft steps take fewer nodes
_DEPTHS, _DEVIATIONS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (12.0, 17.0, 24.0, 34.0, 50.0, 70.0)
# log of the share of δ that all-usual noise may have
_SHARE = -35.0
# tilts of its bound, as multiples of 1/ε
_TILTS = np.geomspace(2.0, 4000.0, 40)
_HALVINGS = 60
# ε for which noise is split
_RANGE = 1e-9, 200.0
# times that noise is split anew, and how far beyond what it was split for ε may lie
_SPLITS, _FARTHEST = 4, 4
# towards an edge, and places are multiples of one over it
_ROUNDS, _GRID = 12, 1 << 12
_BITS = 128
# log of a bound's error
_LOG_ERROR = -12.0


class RareMoments(Moments):
    """M_ν of runs none of whose noise is large, and some is rare.

    Args:
        kept: all noise that is not large, and the runs.
        rare: what of it is rare, of one run.
    """

    def __init__(self, kept: Factor, rare: WindowTransform) -> None:
        super().__init__([kept, Factor(rare, 1, mirrored=False)])
        self._runs = kept.times

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


@dataclass(frozen=True)
class Split:
    """How the noise of runs is split.

    Attributes:
        runs: one run, and how many.
        low: where noise begins to be rare.
        high: where it begins to be large.
    """

    runs: Factor
    low: Edge
    high: Edge

    def _part(self, low: Edge | None, high: Edge) -> WindowTransform:
        whole = self.runs.transform
        assert isinstance(whole, SampledGaussianTransform)
        return WindowTransform(whole.sigma, whole.rate, low, high)

    @cached_property
    def usual(self) -> Factor:
        """All noise below the lower edge."""
        return Factor(self._part(None, self.low), self.runs.times, mirrored=False)

    @cached_property
    def kept(self) -> WindowTransform:
        """All noise below the upper edge."""
        return self._part(None, self.high)

    @cached_property
    def moments(self) -> RareMoments:
        """M_ν."""
        kept = Factor(self.kept, self.runs.times, mirrored=False)
        return RareMoments(kept, self._part(self.low, self.high))

    def usual_at(self, eps: float) -> tuple[float, float]:
        """Return the best tilt for the bound of all-usual noise, and log of it, in floats."""
        tilts = _TILTS / eps
        bounds = log_kappa(tilts) + self.usual.log_sizes(tilts) - tilts * eps
        best = int(bounds.argmin())
        return float(tilts[best]), float(bounds[best])


class RareDirection(Direction):
    """δ(ε) of runs by their rare noise, with what others add: exactly, or a bound.

    Args:
        split: how noise is split.
        tilt: b of the bound for all-usual noise.
        start: an ε to begin a search with.
        digits: of δ.
    """

    def __init__(
        self,
        split: Split,
        tilt: Fraction,
        start: Fraction,
        digits: int,
        floor: float = -math.inf,
        lines: list[tuple[int, Line]] | None = None,
    ) -> None:
        super().__init__(split.moments, None, digits, floor, lines)
        self.split, self.tilt = split, tilt
        self.start: Fraction = start

    def to(self, digits: int, floor: float | None = None) -> Direction:
        """Return the same to other digits; the floor is the same if None."""
        least = self.floor if floor is None else floor
        return RareDirection(self.split, self.tilt, self.start, digits, least, self.lines)

    def is_cheaper_than(self, whole: Direction, log_delta: float) -> bool:
        """Whether its lines are less work for the ε of a δ."""
        return self.work_for(self.start, log_delta) < whole.work_for(self.start, log_delta)

    def leaves_out_little(self, eps: Fraction, delta: Fraction) -> bool:
        """Whether what only is bounded is nothing beside δ at an ε, to the digits."""
        with precision(_BITS):
            return certainly(self._left_out(eps) * 10 ** (self.digits + 1) < ball(delta))

    def _kinds(self, guesses: list[Guess]) -> list[Kind]:
        """Return those with c > 0: ν's mass is not 1."""
        return [Kind.CALL]

    def _start(self, line: Line, eps: Any) -> Any:
        """Return what runs with large noise add, taken to lose more than ε."""
        held, seen = self._large
        return held - eps.exp() * seen

    @cached_property
    def _large(self) -> tuple[arb, arb]:
        """The chances of large noise in some run, under P and under Q."""
        with precision(2 * self.bits):
            times = self.split.runs.times
            held, seen = (-((-one).log1p() * times).expm1() for one in self.split.kept.masses)
            return held, seen

    @cached_property
    def _all_usual(self) -> arb:
        """κ(b)·F_B(1 + b)^T."""
        usual, tilt = self.split.usual, self.tilt
        with precision(_BITS):
            one = usual.transform.size(1 + tilt, _LOG_ERROR - math.log(usual.times))
            return kappa(tilt) * (one.log() * usual.times).exp()

    def _left_out(self, eps: Fraction) -> arb:
        """Bound what all-usual noise adds, and large noise whose runs lose less than ε."""
        split, at = self.split, ball(eps)
        whole = split.kept
        # beyond it one run's loss is more than ε and all that others may give back
        with precision(_BITS):
            rate, sigma = ball(whole.rate), ball(whole.sigma)
            loss = at - (split.runs.times - 1) * (-rate).log1p()
            edge = sigma * (loss.expm1() / rate + 1).log() + 1 / (2 * sigma)
            large = split.runs.times * at.exp() * whole.below(edge)
            return self._all_usual * (-ball(self.tilt) * at).exp() + large

    def delta(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact numbers that enclose δ(ε)."""
        low, high = super().delta(eps, stop)
        with precision(max(self.bits, high.bits())):
            return low, (high + self._left_out(eps)).upper().min(arb(1))

    def _without_line(self, eps: arb) -> tuple[arb, arb]:
        """Return that δ is between 0 and 1: Chernoff's bound is one of ν alone."""
        return arb(0), arb(1)

    def is_at_most_by_chernoff(self, eps: Fraction, value: arb) -> bool:
        """Say nothing: Chernoff's bound, and the distance, are ν's alone."""
        return False

    def is_at_most(self, eps: Fraction, value: arb, stop: Fraction | None = None) -> bool:
        """Whether δ(ε) ≤ value is proved with little work."""
        if not certainly(self._left_out(eps) < value):
            return False
        return certainly(self.coarse.delta(eps, stop)[1] <= value)


def rare_direction(direction: Direction, delta: Fraction) -> RareDirection | None:
    """Return a direction with noise split, for the ε of a δ; None where that is no less work."""
    if not can_be_split(direction) or not 0 < delta < 1:
        return None
    runs = direction.moments.factors[0]
    eps, log = _of_one(runs, float(delta)), math.log(delta)
    for _ in range(_SPLITS if eps is not None else 0):
        assert eps is not None
        found = _split_for(runs, eps, log, direction.digits)
        if found is None or not found.is_cheaper_than(direction, log):
            return None
        start = coarse_epsilon(found, delta, found.start, _FARTHEST * found.start)
        if found.leaves_out_little(start, delta):
            found.start = start
            return found
        eps = float(start)
    return None


def rare_direction_at(direction: Direction, eps: Fraction) -> RareDirection | None:
    """Return a direction with noise split, for an ε; None where that is no less work.

    Raises:
        UndecidedError: if no line is close enough there.
        WorkLimitError: if one would need too many nodes.
    """
    if not can_be_split(direction) or not _RANGE[0] < eps < _RANGE[1]:
        return None
    runs, place = direction.moments.factors[0], float(eps)
    own = _sum_of_own(runs, place)
    found = _split_for(runs, place, math.log(own), direction.digits) if own > 0 else None
    if found is None or not found.is_cheaper_than(direction, math.log(own)):
        return None
    found.start = eps
    low, high = found.delta(eps)
    with precision(found.bits):
        # as close as the digits, as what is only bounded may not be
        return found if certainly((high - low) * 10**found.digits < low) else None


def _split_for(runs: Factor, eps: float, log_delta: float, digits: int) -> RareDirection | None:
    """Return a direction for an ε of a δ."""
    share = log_delta + _SHARE
    for depth in _DEPTHS:
        for deviations in _DEVIATIONS:
            split = _split(runs, eps, depth, deviations, share)
            tilt, bound = split.usual_at(eps)
            if bound < share:
                return RareDirection(split, short(tilt), short(eps), digits)
    return None


def _split(runs: Factor, eps: float, depth: float, deviations: float, share: float) -> Split:
    """Return soft edges of one width so far below an ε, and as close above as may be."""
    sigma, rate = _numbers(runs)
    at, start = (_place(sigma, rate, eps * math.exp(-one)) for one in (0.0, depth))
    width = (at - start) / deviations
    # log of what large noise may add, from a place on
    wanted = share - math.log(runs.times) - eps
    least = _place(sigma, rate, eps - (runs.times - 1) * math.log1p(-rate))
    far = 1.0
    for _ in range(_ROUNDS):
        excess = log_tail(-least - far * width, width, 0.0, -least) - wanted
        far = math.sqrt(max(far * far + 2 * excess, 1.0))
    edges = (_exact(place) for place in (start, least + far * width))
    return Split(runs, *(Edge(place, short(width)) for place in edges))


def _exact(place: float) -> Fraction:
    return Fraction(round(place * _GRID), _GRID)


def can_be_split(direction: Direction) -> bool:
    """Whether it is runs of one mechanism that is known here, in the direction of large losses."""
    factor, *others = direction.moments.factors
    return not others and not factor.mirrored and type(factor.transform) is SampledGaussianTransform


def _place(sigma: float, rate: float, loss: float) -> float:
    """Return the noise u at which log g(u) is a number."""
    return sigma * math.log(math.expm1(loss) / rate + 1) + 0.5 / sigma


def _sum_of_own(runs: Factor, eps: float) -> float:
    """Return the sum of the runs' own δ(ε)."""
    sigma, rate = _numbers(runs)
    u = _place(sigma, rate, eps)
    below, above = (math.erfc(x / math.sqrt(2)) / 2 for x in (u, u - 1 / sigma))
    return runs.times * (rate * above - (math.expm1(eps) + rate) * below)


def _of_one(runs: Factor, delta: float) -> float | None:
    """Return the ε at which the sum of the runs' own δ(ε) is δ, if there is one."""
    low, high = _RANGE
    if _sum_of_own(runs, low) <= delta or _sum_of_own(runs, high) >= delta:
        return None
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _sum_of_own(runs, middle) > delta else (low, middle)
    return low


def _numbers(runs: Factor) -> tuple[float, float]:
    transform = runs.transform
    assert isinstance(transform, SampledGaussianTransform)
    return float(transform.sigma), float(transform.rate)
