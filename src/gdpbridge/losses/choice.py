"""Which line, which period and how many nodes: a search in float64, of which nothing is believed.

What is found is proved afterwards, in line.py; a poor choice costs time or width, never truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gdpbridge.losses.moments import Moments
from gdpbridge.losses.tilts import LARGEST_TILT, log_kappa
from gdpbridge.losses.transforms.base import SHORT_BITS, short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.effort import PartLimitError, spend

__all__ = ["Choice", "Wanted", "choose"]

# tilts tried, in deviations of the loss about the best one, and as multiples of it
_OFFSETS = np.geomspace(0.25, 64.0, 17)
_MULTIPLES = np.geomspace(0.02, 16.0, 21)
# tilts in (-1, 0), for 1 - δ
_INSIDE = np.linspace(0.0, 1.0, 41)
# about how many of the tilts are tried as lines
_LINES = 64
# lines whose nodes are counted, of those that look cheapest: one where it needs few
_COUNTED, _FEW = 3, 128
MAX_NODES = 1 << 17
# a period that is so much longer is as good as the shortest one
_AS_GOOD = 1.03
# log M at the best tilts up to which the table is near enough
_NEAR = 100.0
# each of the two aliases, and what is cut off, may take this share of the error
_SHARE = 0.2
# what a search takes, in units of numeric/effort.py
_SEARCH = 20_000


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


def choose(moments: Moments, wanted: Sequence[Wanted], *, complement: bool) -> Choice:
    """Return the line that costs least for all that is wanted.

    Raises:
        PartLimitError: if it needs too many nodes.
    """
    spend(_SEARCH)
    eps = np.array([want.eps for want in wanted])
    tilts = _tilts(moments, eps, complement=complement)
    errors = np.array([want.log_error for want in wanted])
    values = np.array([want.log_value for want in wanted])
    table = moments.tilts_inside if complement else moments.tilts
    # what the table tells is off by a share of log M
    near = np.abs(table.log_moments(table.at(eps).tilt)).max() < _NEAR
    logs = table.log_moments(tilts) if near else moments.logs(tilts)
    # log of the terms of a line, and of Chernoff's bound, for each tilt and ε
    terms = logs[:, None] - tilts[:, None] * eps
    bounds = terms if complement else terms + log_kappa(tilts)[:, None]
    # e^{χ(b) - |b - c|R}/(1 - r) must be below what is allowed, for all ε at once
    excess = np.maximum((bounds - errors).max(axis=1) - math.log(_SHARE), 1.0)
    # of many tilts some are lines, and all bound
    rows = slice(None, None, 1 + tilts.size // _LINES)
    places, terms = tilts[rows], terms[rows]
    gaps = tilts - places[:, None]
    with np.errstate(divide="ignore"):
        right = np.where(gaps > 0, excess / np.maximum(gaps, 0.0), np.inf)
        left = np.where(gaps < 0, excess / np.maximum(-gaps, 0.0), np.inf)
    if not complement:
        # M(0) is known: a b that is hardly better is not worth finding M(b)
        as_good = left[:, :1] <= _AS_GOOD * left.min(axis=1, keepdims=True)
        left[:, 1:] = np.where(as_good, np.inf, left[:, 1:])
    periods = np.maximum(right.min(axis=1), left.min(axis=1))
    lost = (terms - values).max(axis=1)
    costs = periods * np.maximum((terms - errors).max(axis=1), 1.0)
    costs[(places == 0) | (places == -1)] = np.inf
    best: Choice | None = None
    for index in np.argsort(costs)[:_COUNTED].tolist():
        if not np.isfinite(costs[index]):
            break
        at, h = _exact(places[index]), short(2 * math.pi / float(periods[index]))
        sides = tilts[[right[index].argmin(), left[index].argmin()]]
        # so that each is known
        moments.logs(np.append(sides, places[index]))
        count = _nodes(moments, wanted, float(at), float(h))
        if count is not None and (best is None or count < best.count):
            above, below = map(_exact, sides.tolist())
            best = Choice(at, h, count, above, below, max(float(lost[index]), 0.0))
            if count <= _FEW:
                break
    if best is None:
        raise PartLimitError(
            f"the privacy loss of these parameters falls off too slowly: more than {MAX_NODES} "
            "nodes would be needed",
            MAX_NODES + 1,
            MAX_NODES,
        )
    return best


def _tilts(moments: Moments, eps: Floats, *, complement: bool) -> Floats:
    saddles = (moments.tilts_inside if complement else moments.tilts).at(eps)
    best, deviation = saddles.tilt[:, None], saddles.deviation[:, None]
    offsets = _OFFSETS / np.maximum(deviation, 1e-300)
    around = [best, best + offsets, best - offsets]
    if complement:
        tilts = np.hstack([one.ravel() for one in (*around, _INSIDE - 1.0)])
        tilts = tilts[(tilts >= -1) & (tilts <= 0)]
        return np.unique(_rounded(tilts))
    tilts = np.hstack([*around, best * _MULTIPLES]).ravel()
    tilts = tilts[(tilts > 0) & (tilts < min(moments.domain[1], LARGEST_TILT))]
    return np.unique(np.append(_rounded(tilts), 0.0))


def _rounded(values: Floats) -> Floats:
    """Round towards 0 to a few bits, as :func:`short` does."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.trunc(np.ldexp(mantissas, SHORT_BITS)), exponents - SHORT_BITS))


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
