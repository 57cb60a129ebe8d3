"""Which line, which period and how many nodes: a search in float64, of which nothing is believed.

What is found is proved afterwards, in line.py; a poor choice costs time or width, never truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gdpbridge.errors import WorkLimitError
from gdpbridge.losses.moments import Moments
from gdpbridge.losses.transforms.base import short

__all__ = ["Choice", "Wanted", "chernoff", "choose", "log_kappa"]

# tilts tried, in deviations of the loss about the best one, and as multiples of it
_OFFSETS = np.geomspace(0.25, 64.0, 17)
_MULTIPLES = np.geomspace(0.02, 16.0, 21)
# tilts in (-1, 0), for 1 - δ
_INSIDE = np.linspace(0.0, 1.0, 41)
# lines whose nodes are counted, of those that look cheapest
_COUNTED = 5
MAX_NODES = 1 << 18
_LARGEST_TILT = 1e7
_GOLDEN = (math.sqrt(5) - 1) / 2
# each of the two aliases, and what is cut off, may take this share of the error
_SHARE = 0.2


@dataclass(frozen=True)
class Wanted:
    """What is asked for at one ε.

    Attributes:
        eps: ε.
        log_value: log of what is computed there, roughly.
        log_error: log of the error allowed.
    """

    eps: float
    log_value: float
    log_error: float


@dataclass(frozen=True)
class Choice:
    """A line of nodes s = c + ikh, |k| ≤ count, and the tilts that bound its aliases.

    Attributes:
        c: the line's real part: above 0 for δ, in (-1, 0) for 1 - δ.
        h: the distance of the nodes.
        count: how many there are on either side of the real axis.
        right: the tilt b > c that bounds the aliases on the right.
        left: the tilt b < c that bounds those on the left.
        lost: log of how much larger the terms are than what they sum to.
    """

    c: Fraction
    h: Fraction
    count: int
    right: Fraction
    left: Fraction
    lost: float


def log_kappa(b: float) -> float:
    """Return log of κ(b) = b^b/(1 + b)^{1+b} for b ≥ 0: (1 - e^{-u})⁺ ≤ κ(b)·e^{bu}."""
    return 0.0 if b <= 0 else b * math.log(b) - (1 + b) * math.log1p(b)


def _exponent(moments: Moments, b: float, eps: float) -> float:
    """Return log of Chernoff's bound of D(ε), or for b in [-1, 0] of 1 - δ."""
    return log_kappa(b) + moments.log(b) - b * eps


def chernoff(moments: Moments, eps: float, *, complement: bool) -> tuple[float, float]:
    """Return the best tilt and log of the bound that it gives."""
    if complement:
        low, high = -1.0, 0.0
    else:
        low, high = 0.0, _start(moments)
        top = min(moments.domain[1], _LARGEST_TILT)
        while high < top and _exponent(moments, high, eps) < _exponent(moments, high / 2, eps):
            low, high = high / 2, min(2 * high, top)
        if high >= top:
            high = top * (1 - 1e-9)
    for _ in range(60):
        one, other = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _exponent(moments, one, eps) < _exponent(moments, other, eps):
            high = other
        else:
            low = one
        if high - low < 1e-3 * max(abs(high), 1e-6):
            break
    best = (low + high) / 2
    return best, min(_exponent(moments, best, eps), 0.0)


def _start(moments: Moments) -> float:
    return min(1e-2, moments.domain[1] / 2)


def estimate(moments: Moments, eps: float, *, complement: bool) -> tuple[float, float, float]:
    """Return the best tilt, the deviation there, and a guess at log of D(ε), or of 1 - δ."""
    tilt, bound = chernoff(moments, eps, complement=complement)
    inside = min(max(tilt, -0.98), -0.02) if complement else tilt
    _, deviation = moments.shape(inside)
    # the saddle's width, and what κ leaves out
    width = math.sqrt(2 * math.pi) * max(deviation, 1e-300)
    factor = abs(inside * (1 + inside))
    guess = moments.log(inside) - inside * eps - math.log(max(width * factor, 1.0))
    return tilt, deviation, min(bound, guess)


def choose(moments: Moments, wanted: Sequence[Wanted], *, complement: bool) -> Choice:
    """Return the line that costs least for all that is wanted.

    Raises:
        WorkLimitError: if it needs too many nodes.
    """
    tilts = _tilts(moments, wanted, complement=complement)
    found = []
    table = np.array([[_exponent(moments, float(b), want.eps) for want in wanted] for b in tilts])
    allowed = np.array([want.log_error for want in wanted]) + math.log(_SHARE)
    for index, c in enumerate(tilts.tolist()):
        if index == 0 or index == len(tilts) - 1 or c in (0.0, -1.0):
            continue
        # e^{χ(b) - |b - c|R}/(1 - r) must be below what is allowed, for all ε at once
        excess = (table - allowed).max(axis=1)
        gaps = np.abs(tilts - c)
        with np.errstate(divide="ignore"):
            periods = np.maximum(excess, 1.0) / gaps
        right = index + 1 + int(np.argmin(periods[index + 1 :]))
        left = int(np.argmin(periods[:index]))
        period = float(max(periods[right], periods[left]))
        log_m = moments.log(c)
        lost = max(log_m - c * want.eps - want.log_value for want in wanted)
        digits = max(log_m - c * want.eps - want.log_error for want in wanted)
        found.append((period * max(digits, 1.0), c, period, right, left, lost))
    found.sort()
    best: tuple[int, Choice] | None = None
    for _, tilt, period, right, left, lost in found[:_COUNTED]:
        at, h = _exact(tilt), short(2 * math.pi / period)
        count = _nodes(moments, wanted, float(at), float(h))
        if count is not None and (best is None or count < best[0]):
            ends = _exact(float(tilts[right])), _exact(float(tilts[left]))
            best = count, Choice(at, h, count, *ends, max(lost, 0.0))
    if best is None:
        raise WorkLimitError(
            f"the privacy loss of these parameters falls off too slowly: more than {MAX_NODES} "
            "nodes would be needed",
            MAX_NODES + 1,
            MAX_NODES,
        )
    return best[1]


def _tilts(
    moments: Moments, wanted: Sequence[Wanted], *, complement: bool
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if complement:
        return _INSIDE - 1.0
    top = moments.domain[1]
    places = [np.zeros(1)]
    for want in wanted:
        best, _ = chernoff(moments, want.eps, complement=False)
        _, deviation = moments.shape(best)
        offsets = _OFFSETS / deviation if deviation > 0 else np.zeros(1)
        places += [np.array([best]), best + offsets, best - offsets, best * _MULTIPLES]
    tilts = np.concatenate(places)
    tilts = tilts[(tilts > 0) & (tilts < min(top, _LARGEST_TILT))]
    return np.array(sorted({0.0, *(float(_exact(float(b))) for b in tilts)}))


def _exact(value: float) -> Fraction:
    """Return a few bits of a float, which the search has already rounded to them."""
    if value == 0:
        return Fraction(0)
    return -short(-value) if value < 0 else short(value)


def _nodes(moments: Moments, wanted: Sequence[Wanted], c: float, h: float) -> int | None:
    """Return how many nodes leave out no more than is allowed."""
    log_m = moments.log(c)
    spare = min(want.log_error - log_m + c * want.eps for want in wanted) + math.log(_SHARE)

    def enough(count: int) -> bool:
        y = count * h
        return moments.log_decay(c, y) - math.log(math.pi * y) <= spare

    high = 8
    while not enough(high):
        high *= 2
        if high > MAX_NODES:
            return None
    low = high // 2
    while high - low > max(1, high // 32):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
