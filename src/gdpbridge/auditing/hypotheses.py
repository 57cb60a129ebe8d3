"""What an audit tests: that a mechanism's trade-off function is at least a given one.

A symmetric trade-off function f enters the tests through f itself, and through the inverse of
1 - f, which is y ↦ f(1 - y). Lower bounds of f make weaker hypotheses, so that what contradicts
them contradicts f: profiles are taken as the largest of finitely many lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from gdpbridge.auditing.binomial import normal, quantile_below
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import ball

__all__ = ["Gaussian", "Hypothesis", "Lines", "approximate", "of_profile"]


# ε at which a profile is looked at: closely where δ is large, out to where δ is below any rate that
# a test of 10^6 scores can see
_EPSILONS = np.concatenate([np.linspace(0.0, 4.0, 81), np.linspace(4.2, 40.0, 60)])
_LEAST_DELTA = 1e-12


class Hypothesis(ABC):
    """A trade-off function, or a lower bound of one."""

    @abstractmethod
    def errors(self, alpha: Floats) -> Floats:
        """Return f(α) in float64."""

    @abstractmethod
    def inverse(self, y: Any) -> Any:
        """Return f(1 - y) in float64, accurate where y is small."""

    @abstractmethod
    def inverse_below(self, y: arb) -> arb:
        """Return a ball no number of which is above f(1 - y), at the working precision."""

    def error_below(self, alpha: Fraction) -> arb:
        """Return a ball no number of which is above f(α)."""
        return self.inverse_below(ball(1 - alpha))


@dataclass(frozen=True)
class Gaussian(Hypothesis):
    """G_μ(α) = Φ(Φ⁻¹(1 - α) - μ); μ may be an array in the float methods."""

    mu: Any

    def errors(self, alpha: Floats) -> Floats:
        """Return G_μ(α)."""
        return np.asarray(special.ndtr(-special.ndtri(alpha) - self.mu))

    def inverse(self, y: Any) -> Any:
        """Return Φ(Φ⁻¹(y) - μ)."""
        return special.ndtr(special.ndtri(y) - self.mu)

    def inverse_below(self, y: arb) -> arb:
        """Return Φ(x - μ) for an x with Φ(x) ≤ y."""
        x = quantile_below(y)
        return arb(0) if x is None else normal(arb(x) - arb(float(self.mu)))


@dataclass(frozen=True)
class Lines(Hypothesis):
    """The largest of 0, 1 - δ - e^ε·α and e^-ε·(1 - δ - α) over pairs (ε, δ).

    It is the least trade-off function that a set of (ε, δ) guarantees allows (Wasserman and Zhou
    2010; Dong, Roth and Su 2022, proposition 2.12).

    Attributes:
        epsilons: ε ≥ 0, shape (n,).
        deltas: upper bounds of δ(ε), shape (n,).
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def errors(self, alpha: Floats) -> Floats:
        """Return the largest line at α."""
        at = np.asarray(alpha, np.float64)[..., None]
        eps, delta = np.array(self.epsilons), np.array(self.deltas)
        steep, flat = 1 - delta - np.exp(eps) * at, np.exp(-eps) * (1 - delta - at)
        return np.asarray(np.maximum(np.maximum(steep, flat).max(axis=-1), 0.0))

    def inverse(self, y: Any) -> Any:
        """Return the largest line at 1 - y."""
        place = np.searchsorted(self._corners, y, side="right")
        slopes, starts, _ = self._hull
        return np.maximum(starts[place] + slopes[place] * y, 0.0)

    def inverse_below(self, y: arb) -> arb:
        """Return one of the lines that is about the largest at 1 - y, or 0."""
        place = int(np.searchsorted(self._corners, float(y.mid()), side="right"))
        number = int(self._hull[2][place])
        if number < 0:
            return arb(0)
        pair, steep = divmod(number, 2)
        eps, delta = self.epsilons[pair], self.deltas[pair]
        value = (
            1 - arb(delta) - arb(eps).exp() * (1 - y) if steep else (-arb(eps)).exp() * (y - delta)
        )
        return value if certainly(value > 0) else arb(0)

    @cached_property
    def _hull(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """The lines of y that are the largest somewhere, by slope: slopes, values at 0, numbers."""
        eps, delta = np.array(self.epsilons), np.array(self.deltas)
        slopes = np.concatenate([[0.0], np.exp(-eps), np.exp(eps)])
        starts = np.concatenate([[0.0], -delta * np.exp(-eps), 1 - delta - np.exp(eps)])
        pairs = 2 * np.arange(eps.size)
        numbers = np.concatenate([[-1], pairs, pairs + 1])
        order = np.lexsort((-starts, slopes))
        kept: list[int] = []
        for one in order:
            if kept and slopes[kept[-1]] == slopes[one]:
                continue
            while len(kept) > 1 and _meet(slopes, starts, kept[-1], one) <= _meet(
                slopes, starts, kept[-2], kept[-1]
            ):
                kept.pop()
            kept.append(int(one))
        return slopes[kept], starts[kept], numbers[kept]

    @cached_property
    def _corners(self) -> Floats:
        slopes, starts, _ = self._hull
        return np.asarray((starts[:-1] - starts[1:]) / (slopes[1:] - slopes[:-1]))


def _meet(slopes: Floats, starts: Floats, one: int, other: int) -> float:
    return float((starts[one] - starts[other]) / (slopes[other] - slopes[one]))


def approximate(epsilon: float, delta: float) -> Lines:
    """Return what (ε, δ)-DP says of the trade-off function."""
    return Lines((epsilon,), (delta,))


def of_profile(profile: Profile) -> Lines:
    """Return lines close below a profile's trade-off function, from proved upper bounds of δ."""
    far = np.asarray(profile.epsilon_bounds(_LEAST_DELTA)[1])
    last = float(min(far, _EPSILONS[-1]))
    inside = _EPSILONS[last > _EPSILONS]
    # at the end of a bounded loss the line is that of ε-DP
    eps = np.append(inside, last)
    deltas = np.asarray(profile.delta_bounds(eps)[1])
    return Lines(tuple(eps.tolist()), tuple(deltas.tolist()))
