"""The tilt at which Chernoff's bound is least, for many ε at once, in float64.

The derivative of log κ(b) + log M(b) - bε grows with b, so that a table of it leads to any ε. All
of this steers searches, and nothing is proved by it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gdpbridge.gaussian.erfcx import erfcx_at
from gdpbridge.numeric.arrays import Floats

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Moments

__all__ = ["LARGEST_TILT", "Saddles", "Tilts", "log_kappa"]

LARGEST_TILT = 2.0**23
# tilts of the table are so many times the one before, and reach so far below the largest
_RATIO = 2**0.5
_LEAST_TILT = 2.0**-26
# tilts in (-1, 0), off the ends, where a transform may end too
_HALF = np.geomspace(1e-7, 0.5, 33)
_INSIDE = np.concatenate([_HALF - 1, -_HALF[-2::-1]])
_STEPS = 3
_SQRT_HALF = math.sqrt(0.5)
# log of how far variances at two tilts of the table may be apart, for what is between them
_ALIKE = 0.7
# what is so near a tilt of the table, as a share of a gap, is that tilt
_HAIR = 1e-9
# a share that no float tells from 0
_LEAST = 1e-300
# of the last ε that were asked for
_KEPT = 64


def log_kappa(b: Floats) -> Floats:
    """Return log of κ(b) = b^b/(1 + b)^{1+b} for b > 0, else 0: (1 - e^{-u})⁺ ≤ κ(b)·e^{bu}."""
    positive = np.maximum(b, 1e-300)
    # b·log(b/(1 + b)) - log(1 + b), which does not cancel
    return np.where(b > 0, -positive * np.log1p(1 / positive) - np.log1p(positive), 0.0)


def _log_share(b: float, deviation: float) -> float:
    """Return log of the mean of e^{-bx}(1 - e^{-x})⁺, or of e^{-bx}·min(1, e^{-x}) for b < 0.

    x is a loss less its mean under the tilt, and taken to be normal: with Mills' ratio R and the
    deviation v that is R(bv) - R((1 + b)v), or R(-bv) + R((1 + b)v), over √(2π).
    """
    near, far = (erfcx_at(one * deviation * _SQRT_HALF) for one in (abs(b), 1 + b))
    return math.log(max(near - math.copysign(far, b), 2 * _LEAST) / 2)


@dataclass(frozen=True)
class Saddles:
    """What is known at some ε, arrays of one shape.

    Attributes:
        tilt: the best tilt b.
        bound: log of Chernoff's bound there, of D(ε) or of 1 - δ; at most 0.
        deviation: the standard deviation of the loss under that tilt.
        guess: log of D(ε), or of 1 - δ, roughly; at most the bound.
        off: how far above ε the one is that the tilt is best for.
    """

    tilt: Floats
    bound: Floats
    deviation: Floats
    guess: Floats
    off: Floats


class Tilts:
    """The table of one direction, for D or for 1 - δ.

    Args:
        moments: M.
        complement: whether it is 1 - δ that is bounded, with tilts in (-1, 0).
    """

    def __init__(self, moments: Moments, *, complement: bool) -> None:
        self._moments, self._complement = moments, complement
        if complement:
            self._nodes = _INSIDE
        else:
            top = min(moments.domain[1] * (1 - 1e-9), LARGEST_TILT)
            count = math.ceil(math.log(top / min(_LEAST_TILT, top / 2), _RATIO))
            self._nodes = top * _RATIO ** np.arange(-count, 1.0)
        b = self._nodes
        self._logs, self._means, self._variances = moments.shapes(b)
        # of log κ + log M
        slopes, self._bends = self._means, self._variances
        if not complement:
            slopes, self._bends = slopes - np.log1p(1 / b), self._bends + 1 / (b * (1 + b))
        self._slopes = np.maximum.accumulate(slopes)
        # the derivatives of log M in b, or in log b
        first, second = self._means, self._variances
        if not complement:
            first, second = first * b, second * b * b + first * b
        self._firsts, self._seconds = first, second
        self._spreads = np.log(np.maximum(self._variances, _LEAST)) / 2
        self._slope_list = self._slopes.tolist()
        self._gap = cache(self._found_gap)
        self._kept: dict[bytes, Saddles] = {}
        self._seen: dict[float, float] = {}

    def _between(self, gap: Any) -> tuple[Any, ...]:
        """Return what leads from a tilt of the table, or from some, to the next one.

        The tilt, how far it is to the next one, in log b but for tilts in (-1, 0), the slope, how
        far it rises, its derivatives on either side beside that, the coefficients of log M, log of
        the deviation, how far that rises, and whether both are alike.
        """
        low, high, logs = self._nodes[gap], self._nodes[gap + 1], self._logs
        first, second = self._firsts, self._seconds
        length = high - low if self._complement else np.log(high / low)
        scale = (length, length) if self._complement else (length * low, length * high)
        slope = self._slopes[gap]
        rise = np.maximum(self._slopes[gap + 1] - slope, _LEAST)
        with np.errstate(over="ignore"):
            ends = self._bends[gap] * scale[0] / rise, self._bends[gap + 1] * scale[1] / rise
        bends = (np.minimum(np.maximum(end, 0.0), 3.0) for end in ends)
        # log M is the polynomial of degree 5 with the values and the derivatives of both
        off, d, e = logs[gap + 1] - logs[gap], first[gap] * length, first[gap + 1] * length
        s, t = second[gap] * length**2 / 2, second[gap + 1] * length**2 / 2
        terms = (
            *(logs[gap], d, s),
            10 * off - 6 * d - 4 * e - 3 * s + t,
            -15 * off + 8 * d + 7 * e + 3 * s - 2 * t,
            6 * off - 3 * d - 3 * e - s + t,
        )
        spread = self._spreads[gap]
        risen = self._spreads[gap + 1] - spread
        alike = np.abs(risen) <= _ALIKE / 2
        return low, length, slope, rise, *bends, *terms, spread, risen, alike

    def _found_gap(self, gap: int) -> tuple[float, ...]:
        return tuple(map(float, self._between(gap)))

    def log_moments(self, b: Floats) -> Floats:
        """Return log M at tilts in the table's range or next to it.

        Between two tilts of different kinds, as where rare large losses come to be most of the law,
        it is found anew.
        """
        after = np.clip(np.searchsorted(self._nodes, b), 1, self._nodes.size - 1)
        low, length, *_, alike = gaps = self._between(after - 1)
        with np.errstate(divide="ignore"):
            share = (b - low) / length if self._complement else np.log(b / low) / length
        # what is next to 0, or to an end, is what is there
        found: Floats = _polynomial(gaps[6:12], np.minimum(np.maximum(share, 0.0), 1.0))
        unknown = ~alike & (share > _HAIR) & (share < 1 - _HAIR)
        if unknown.any():
            found[unknown] = self._moments.logs(b[unknown])
        return found

    def eps_of(self, log_value: float) -> float | None:
        """Return about the ε at which log D is a number, None if the table does not reach it."""
        b, eps = self._nodes, self._slopes

        def guess(k: int) -> float:
            deviation = math.sqrt(max(float(self._variances[k]), 0.0))
            return float(self._logs[k] - b[k] * eps[k]) + _log_share(float(b[k]), deviation)

        # it falls along the table
        after = bisect_left(range(b.size), True, key=lambda k: guess(k) < log_value)
        if not 1 <= after < b.size or not eps[after] > eps[after - 1]:
            return None
        before = guess(after - 1)
        share = (before - log_value) / (before - guess(after))
        found = float(eps[after - 1] + share * (eps[after] - eps[after - 1]))
        for _ in range(1 + 2 * bool(self._seen)):
            at = np.array([found])
            near = self.at(at)
            off = float(near.guess[0] + self.learned(at)[0]) - log_value
            found += off / float(near.tilt[0])
        return found

    def learn(self, eps: Floats, logs: Floats) -> None:
        """Take note of log D at some ε, as it was found to be."""
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        off = logs - self.at(eps).guess
        self._seen.update(zip(eps.tolist(), off.tolist(), strict=True))

    def learned(self, eps: Floats) -> Floats:
        """Return by how much log D is likely to be larger than what is guessed at some ε."""
        if not self._seen:
            return np.zeros(eps.shape)
        places = sorted(self._seen)
        return np.interp(eps, places, [self._seen[place] for place in places])

    def at(self, eps: Floats) -> Saddles:
        """Return the best tilts, and what is known there."""
        key = eps.tobytes()
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = self._found(eps)
        return self._kept[key]

    def _found(self, eps: Floats) -> Saddles:
        found = [self._saddle(one) for one in eps.ravel().tolist()]
        columns = np.array(found).reshape(*eps.shape, len(fields(Saddles)))
        return Saddles(*np.moveaxis(columns, -1, 0))

    def _saddle(self, eps: float) -> tuple[float, ...]:
        """Return what is known at one ε; calls of NumPy would take longer than all of it."""
        after = min(max(bisect_left(self._slope_list, eps), 1), self._nodes.size - 1)
        gap = self._gap(after - 1)
        low, length, slope, rise, first, last = gap[:6]
        # the slope is a cubic polynomial in b, or in log b, between two tilts of the table
        target = min(max((eps - slope) / rise, 0.0), 1.0)
        share = target
        for _ in range(_STEPS):
            u = 1 - share
            value = share * share * (3 - 2 * share - last * u) + first * share * u * u
            steep = u * (6 * share + first * (1 - 3 * share)) + last * share * (3 * share - 2)
            share = min(max(share + (target - value) / max(steep, 0.1), 0.0), 1.0)
        b = low + share * length if self._complement else low * math.exp(share * length)
        off, (spread, risen, alike) = slope + rise * target - eps, gap[12:]
        if alike:
            log, deviation = _polynomial(gap[6:12], share), math.exp(spread + risen * share)
        else:
            log, mean, variance = (float(one[0]) for one in self._moments.shapes(np.array([b])))
            off = mean - (0.0 if self._complement else math.log1p(1 / b)) - eps
            deviation = math.sqrt(max(variance, 0.0))
        kappa = 0.0 if self._complement else -b * math.log1p(1 / b) - math.log1p(b)
        bound = min(kappa + log - b * eps, 0.0)
        guess = log - b * eps + _log_share(b, deviation)
        return b, bound, deviation, min(bound, guess), off


def _polynomial(terms: Any, x: Any) -> Any:
    """Return a polynomial of given coefficients, those of x^0 first."""
    found = terms[-1]
    for term in terms[-2::-1]:
        found = found * x + term
    return found
