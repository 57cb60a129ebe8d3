"""Runs whose noise is split by its size: usual, rare and large noise, and M of what is rare.

Each run's law under P is split by its noise, softly (rare_gaussian.py). The law of all runs is that
of all-usual noise, F_B^T, and the rest: M_ν = F^T - F_B^T, where some noise is rare. ν is a measure
≥ 0, so that lines enclose its share of D(ε); that of all-usual noise is at most κ(b)·F_B(1 + b)^T·
e^{-bε}. What falls off slowly along a line is the usual law, whose losses are small and close
together; |M_ν| ≤ T·|F_A|·F^{T-1}, and F_A falls off fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb

from gdpbridge.losses.moments import Factor, Moments, Shares, kappa
from gdpbridge.losses.tilts import log_kappa
from gdpbridge.losses.transforms.base import Plan, short
from gdpbridge.losses.transforms.gaussian import log_normal_tail
from gdpbridge.losses.transforms.rare_gaussian import Edge, WindowTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = [
    "RareMoments",
    "Split",
    "can_be_split",
    "exact_place",
    "has_little_noise",
    "low_edges",
    "numbers_of",
    "place_of",
    "splits_from",
]

# log of how far below ε the loss is where noise begins to be rare, and how many deviations of the
# soft step lie between: the first that will do, as soft steps take fewer nodes
_DEPTHS, _DEVIATIONS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (12.0, 17.0, 24.0, 34.0, 50.0, 70.0)
# tilts of the bound for all-usual noise, as multiples of 1/ε
_TILTS = np.geomspace(2.0, 4000.0, 40)
# places are multiples of one over it
_GRID = 1 << 12
_BITS = 128
# log of a bound's error
_LOG_ERROR = -12.0
# log of what is next to nothing beside what is allowed; a loss from which on e^L is far above 1
_LITTLE, _FAR = -3.0, 30.0
# a σ below which the usual law of rare samples is nearly an atom
_LITTLE_NOISE = 0.6
# of the error of a line, what is left for either transform, as in line.py
_LOG_OF_TWO_PARTS = math.log(32)
# halvings towards an upper edge
_HALVINGS, _HIGHEST = 60, 60.0


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

    def shares(self, tilt: arb, depth: float) -> Shares:
        """Return how noise is split."""
        rare = self.factors[1].transform
        assert isinstance(rare, WindowTransform)
        assert rare.low is not None
        low, high = ((edge.place, edge.width) for edge in (rare.low, rare.high))
        log_error = -(depth + _LOG_OF_TWO_PARTS + math.log(self._runs))
        return Shares(rare.sigma, low, high, to_fraction(tilt), log_error)

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
        share = np.exp(np.minimum(log_rare - log, 0.0))
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

    def all_usual(self, tilt: Fraction) -> arb:
        """Return κ(b)·F_B(1 + b)^T."""
        usual = self.usual
        with precision(_BITS):
            one = usual.transform.size(1 + tilt, _LOG_ERROR - math.log(usual.times))
            return kappa(tilt) * (one.log() * usual.times).exp()

    def above(self, tilt: Fraction) -> tuple[tuple[arb, arb], ...]:
        """Return (b, α) of bounds α·e^{-bε} of what all-usual and large noise add, as a failure."""
        with precision(_BITS):
            return (ball(tilt), self.all_usual(tilt).upper()), (arb(0), self.large[0].upper())

    @cached_property
    def large(self) -> tuple[arb, arb]:
        """The chances of large noise in some run, under P and under Q."""
        held, seen = (-((-one).log1p() * self.runs.times).expm1() for one in self.kept.masses)
        return held, seen


def splits_from(
    runs: Factor, eps: float, log_share: float
) -> Iterator[Iterator[tuple[Split, Fraction]]]:
    """Yield splits for all ε from one on, and the tilts of their bounds for all-usual noise.

    Large noise is so rare that it is as good as a failure, and both that and what all-usual noise
    adds at the ε have a given share at most. Those of one lower edge come together, the steepest
    first.
    """
    sigma, _ = numbers_of(runs)
    far = _quantile(log_share + _LITTLE - math.log(runs.times))

    def alike(edges: list[tuple[float, float]]) -> Iterator[tuple[Split, Fraction]]:
        for start, width in edges:
            wide = max(width, 1.0)
            high = max(1 / sigma + far * math.hypot(1.0, wide), start)
            low = Edge(exact_place(start), short(width))
            split = Split(runs, low, Edge(exact_place(high), short(wide)))
            tilt, bound = split.usual_at(eps)
            if bound < log_share:
                yield split, short(tilt)

    for edges in low_edges(runs, eps):
        yield alike(edges[::-1])


def low_edges(runs: Factor, eps: float) -> Iterator[list[tuple[float, float]]]:
    """Yield places and widths of lower edges for an ε, those of one place together."""
    sigma, rate = numbers_of(runs)
    at = place_of(sigma, rate, eps)
    for depth in _DEPTHS:
        start = place_of(sigma, rate, eps * math.exp(-depth))
        # where one run loses far less than ε, noise is usual up to a share of that place
        length = min(at - start, start)
        yield [(start, length / deviations) for deviations in _DEVIATIONS]


def has_little_noise(moments: Moments) -> bool:
    """Whether a split may save work on a range of ε: with more noise the whole law's lines do."""
    return can_be_split(moments) and numbers_of(moments.factors[0])[0] < _LITTLE_NOISE


def exact_place(place: float) -> Fraction:
    """Return a place of few digits near one."""
    return Fraction(round(place * _GRID), _GRID)


def can_be_split(moments: Moments) -> bool:
    """Whether it is runs of one mechanism that is known here, in the direction of large losses."""
    factor, *others = moments.factors
    return not others and not factor.mirrored and type(factor.transform) is SampledGaussianTransform


def place_of(sigma: float, rate: float, loss: float) -> float:
    """Return the noise u at which log g(u) is a number."""
    if loss > _FAR:
        return sigma * (loss - math.log(rate)) + 0.5 / sigma
    return sigma * math.log(math.expm1(loss) / rate + 1) + 0.5 / sigma


def numbers_of(runs: Factor) -> tuple[float, float]:
    """Return σ and q."""
    transform = runs.transform
    assert isinstance(transform, SampledGaussianTransform)
    return float(transform.sigma), float(transform.rate)


def _quantile(log_tail: float) -> float:
    """Return about where a normal tail falls to a number."""
    low, high = 0.0, _HIGHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_normal_tail(middle) > log_tail else (low, middle)
    return high
