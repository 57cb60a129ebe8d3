"""The tilt at which Chernoff's bound is least, for many ε at once, in float64.

The derivative of log κ(b) + log M(b) - bε grows with b, so that a table of it leads to any ε. All
of this steers searches, and nothing is proved by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdpbridge.gaussian.erfcx import erfcx
from gdpbridge.numeric.arrays import Floats, Indices

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
# a share that no float tells from 0
_LEAST = 1e-300
# of the last ε that were asked for
_KEPT = 64


def log_kappa(b: Floats) -> Floats:
    """Return log of κ(b) = b^b/(1 + b)^{1+b} for b > 0, else 0: (1 - e^{-u})⁺ ≤ κ(b)·e^{bu}."""
    positive = np.maximum(b, 1e-300)
    # b·log(b/(1 + b)) - log(1 + b), which does not cancel
    return np.where(b > 0, -positive * np.log1p(1 / positive) - np.log1p(positive), 0.0)


def _log_share(b: Floats, deviation: Floats) -> Floats:
    """Return log of the mean of e^{-bx}(1 - e^{-x})⁺, or of e^{-bx}·min(1, e^{-x}) for b < 0.

    x is a loss less its mean under the tilt, and taken to be normal: with Mills' ratio R and the
    deviation v that is R(bv) - R((1 + b)v), or R(-bv) + R((1 + b)v), over √(2π).
    """
    near, far = (erfcx(one * deviation * _SQRT_HALF) for one in (np.abs(b), 1 + b))
    return np.asarray(np.log(np.maximum(near - np.copysign(far, b), 2 * _LEAST) / 2))


@dataclass(frozen=True)
class Saddles:
    """What is known at some ε, arrays of one shape.

    Attributes:
        tilt: the best tilt b.
        bound: log of Chernoff's bound there, of D(ε) or of 1 - δ; at most 0.
        deviation: the standard deviation of the loss under that tilt.
        guess: log of D(ε), or of 1 - δ, roughly; at most the bound.
    """

    tilt: Floats
    bound: Floats
    deviation: Floats
    guess: Floats


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
        self._kept: dict[bytes, Saddles] = {}
        self._seen: dict[float, float] = {}

    def log_moments(self, b: Floats) -> Floats:
        """Return log M at tilts that are those of the table, or nearly what it is at others."""
        return np.interp(np.log(b), np.log(self._nodes), self._logs)

    def eps_of(self, log_value: float) -> float | None:
        """Return about the ε at which log D is a number, None if the table does not reach it."""
        b, eps = self._nodes, self._slopes
        guesses = self._logs - b * eps + _log_share(b, np.sqrt(self._variances))
        after = int((guesses < log_value).argmax())
        if after < 1 or not eps[after] > eps[after - 1]:
            return None
        share = (guesses[after - 1] - log_value) / (guesses[after - 1] - guesses[after])
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

    def _between(
        self, after: Indices, share: Floats, length: Floats
    ) -> tuple[Floats, Floats] | None:
        """Return log M, and the deviation of the loss, between two tilts of the table.

        log M is the polynomial of degree 5 with the values and the derivatives of both. It is None
        where they are of different kinds, as where rare large losses come to be most of the law.
        """
        both = np.stack([after - 1, after])
        log, first, second = self._logs[both], self._means[both], self._variances[both]
        spread = np.log(np.maximum(second, _LEAST))
        if (np.abs(spread[1] - spread[0]) > _ALIKE).any():
            return None
        if not self._complement:
            b = self._nodes[both]
            first, second = first * b, second * b * b + first * b
        first, second = first * length, second * length**2 / 2
        t, u = share, 1 - share
        near = log[0] * (1 + 3 * t + 6 * t * t) + first[0] * t * (1 + 3 * t) + second[0] * t * t
        far = log[1] * (1 + 3 * u + 6 * u * u) - first[1] * u * (1 + 3 * u) + second[1] * u * u
        return near * u**3 + far * t**3, np.exp((spread[0] * u + spread[1] * t) / 2)

    def _at(self, b: Floats) -> tuple[Floats, Floats]:
        log, _, variance = self._moments.shapes(b)
        return log, np.sqrt(variance)

    def at(self, eps: Floats) -> Saddles:
        """Return the best tilts, and what is known there."""
        key = eps.tobytes()
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = self._found(eps)
        return self._kept[key]

    def _found(self, eps: Floats) -> Saddles:
        nodes, slopes = self._nodes, self._slopes
        after = np.clip(np.searchsorted(slopes, eps), 1, nodes.size - 1)
        low, high = nodes[after - 1], nodes[after]
        rise = np.maximum(slopes[after] - slopes[after - 1], 1e-300)
        # the slope is a cubic polynomial in b, or in log b, between two tilts of the table
        length = high - low if self._complement else np.log(high / low)
        scale = length if self._complement else length * np.stack([low, high])
        first, last = np.clip(self._bends[[after - 1, after]] * scale / rise, 0.0, 3.0)
        target = np.clip((eps - slopes[after - 1]) / rise, 0.0, 1.0)
        share = target
        for _ in range(_STEPS):
            u = 1 - share
            value = share * share * (3 - 2 * share - last * u) + first * share * u * u
            slope = u * (6 * share + first * (1 - 3 * share)) + last * share * (3 * share - 2)
            share = np.clip(share + (target - value) / np.maximum(slope, 0.1), 0.0, 1.0)
        b = low + share * (high - low) if self._complement else low * np.exp(share * length)
        log, deviation = self._between(after, share, length) or self._at(b)
        exponent = (0.0 if self._complement else log_kappa(b)) + log - b * eps
        bound = np.minimum(exponent, 0.0)
        guess = log - b * eps + _log_share(b, deviation)
        return Saddles(b, bound, deviation, np.minimum(bound, guess))
