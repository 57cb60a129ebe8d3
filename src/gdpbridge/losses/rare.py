"""δ far out of many runs that seldom lose anything: the usual law is split off, and bounded.

Lines are those of what is rare (split.py); what large noise adds is known exactly, but for little.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.moments import Factor, Moments
from gdpbridge.losses.roots import coarse_epsilon
from gdpbridge.losses.sides import Guess
from gdpbridge.losses.split import (
    Split,
    can_be_split,
    exact_place,
    low_edges,
    numbers_of,
    place_of,
)
from gdpbridge.losses.transforms.base import short
from gdpbridge.losses.transforms.rare_gaussian import Edge, log_tail
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["RareDirection", "log_of_own", "rare_direction", "rare_direction_at"]

# log of the share of δ that all-usual noise may have
_SHARE = -35.0
_HALVINGS = 60
# ε for which noise is split
_RANGE = 1e-9, 200.0
# times that noise is split anew, and how far beyond what it was split for ε may lie
_SPLITS, _FARTHEST = 4, 4
# towards an edge
_ROUNDS = 12
# runs that sample a record, of all, where each may be looked at alone; the least δ of these
_SELDOM, _LEAST = 1.0, 1e-300
_BITS = 128


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
        super().__init__(split.moments, None, digits, floor=floor, lines=lines)
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
            return self.split.large

    @cached_property
    def _all_usual(self) -> arb:
        """κ(b)·F_B(1 + b)^T."""
        return self.split.all_usual(self.tilt)

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

    def without_line(self, eps: arb) -> tuple[arb, arb]:
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
    if not can_be_split(direction.moments) or not 0 < delta < 1:
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
    if not can_be_split(direction.moments) or not _RANGE[0] < eps < _RANGE[1]:
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
    for start, width in (one for edges in low_edges(runs, eps) for one in edges):
        split = _split(runs, eps, start, width, share)
        tilt, bound = split.usual_at(eps)
        if bound < share:
            return RareDirection(split, short(tilt), short(eps), digits)
    return None


def _split(runs: Factor, eps: float, start: float, width: float, share: float) -> Split:
    """Return soft edges of one width, one that is given and one as close above ε as may be."""
    sigma, rate = numbers_of(runs)
    # log of what large noise may add, from a place on
    wanted = share - math.log(runs.times) - eps
    least = place_of(sigma, rate, eps - (runs.times - 1) * math.log1p(-rate))
    far = 1.0
    for _ in range(_ROUNDS):
        excess = log_tail(-least - far * width, width, 0.0, -least) - wanted
        far = math.sqrt(max(far * far + 2 * excess, 1.0))
    edges = (exact_place(place) for place in (start, least + far * width))
    return Split(runs, *(Edge(place, short(width)) for place in edges))


def _sum_of_own(runs: Factor, eps: float) -> float:
    """Return the sum of the runs' own δ(ε)."""
    sigma, rate = numbers_of(runs)
    u = place_of(sigma, rate, eps)
    below, above = (math.erfc(x / math.sqrt(2)) / 2 for x in (u, u - 1 / sigma))
    return runs.times * (rate * above - (math.expm1(eps) + rate) * below)


def log_of_own(moments: Moments, eps: Floats) -> Floats | None:
    """Return log of the sum of the runs' own δ(ε), which is about δ where few lose anything.

    None where many do, or the runs are of another kind. Floats, for searches.
    """
    runs, *others = moments.factors
    one = runs.transform
    if others or not isinstance(one, SampledGaussianTransform):
        return None
    if runs.times * float(one.rate) > _SELDOM:
        return None
    found = [max(_sum_of_own(runs, place), _LEAST) for place in eps.tolist()]
    return np.log(found)


def _of_one(runs: Factor, delta: float) -> float | None:
    """Return the ε at which the sum of the runs' own δ(ε) is δ, if there is one."""
    low, high = _RANGE
    if _sum_of_own(runs, low) <= delta or _sum_of_own(runs, high) >= delta:
        return None
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _sum_of_own(runs, middle) > delta else (low, middle)
    return low
