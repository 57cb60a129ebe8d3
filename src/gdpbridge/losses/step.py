"""One mechanism's privacy loss, as the curve that composition needs of it.

For a pair of distributions P, Q with loss L = log dP/dQ let

    C(t) = E_Q[(e^L - t)⁺],  t > 0.

C is convex and falls from 1 with a slope of at least -1. It holds both directions of the privacy
profile: δ(ε) = C(e^ε) for P against Q, and 1 - e^ε + e^ε·C(e^-ε) for Q against P. One pair
dominates another when its C is nowhere smaller, and products of dominating pairs dominate (Zhu,
Dong and Wang 2022, "Optimal accounting of differential privacy via characteristic function",
theorem 10).

Infinite losses are kept apart: L = ∞ fails outright in the one direction and L = -∞ in the other,
and everything below is about the finite losses alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

__all__ = ["Floats", "Indices", "Losses", "Point", "Step"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Point:
    """The curve at one t = e^ε, from above and from below, so that neither end loses digits.

    Attributes:
        t: e^ε.
        call: E_Q[(e^L - t)⁺].
        put: E_Q[(t - e^L)⁺], which is call - P(L finite) + t·Q(L finite).
        above: Q(L > ε), or Q(L ≥ ε), or a number between: minus a slope of the call.
        below: Q(L finite) - above, a slope of the put.
    """

    t: arb
    call: arb
    put: arb
    above: arb
    below: arb


class Step(ABC):
    """The privacy loss of one mechanism."""

    bottom: float
    """No loss is smaller; -inf if there is no such bound."""

    top: float
    """No loss is larger; inf if there is no such bound."""

    tail_variance: Fraction = Fraction(0)
    """What the step adds to μ_t², the upper limit of ε²/(-2 log δ(ε)); 0 for bounded losses."""

    below_gaussian: bool = False
    """Whether δ(ε) ≤ δ_μ(ε) for every ε, with μ² the tail variance."""

    failure: Fraction = Fraction(0)
    """P(L = ∞)."""

    reverse_failure: Fraction = Fraction(0)
    """Q(L = -∞)."""

    @abstractmethod
    def least_loss(self) -> arb:
        """Enclose the least loss at the working precision, or any number if there is none."""

    @abstractmethod
    def greatest_loss(self) -> arb:
        """Enclose the greatest finite loss, likewise."""

    @abstractmethod
    def point(self, eps: arb) -> Point:
        """Enclose the curve at t = e^ε, at the working precision; ε is exact or nearly so."""

    @abstractmethod
    def log_mass(self, eps: Floats) -> Floats:
        """Estimate log Q(L in cell) of the cells between neighbours of growing ε.

        Args:
            eps: n + 1 numbers.

        Returns:
            n numbers; -inf for an empty cell. They choose cells and prove nothing.
        """

    @abstractmethod
    def reach(self, theta: float, log_share: float) -> tuple[float, float]:
        """Return losses between which all but a share of the tilted law e^{θL} dQ lies.

        They choose cells and prove nothing.
        """

    @abstractmethod
    def log_beyond(self, theta: float, eps: float) -> float:
        """Return an upper bound of log E_Q[e^{θL}; ε < L < ∞]."""

    @abstractmethod
    def log_short_of(self, theta: float, eps: float) -> float:
        """Return an upper bound of log E_Q[e^{θL}; -∞ < L < ε]."""


# privacy losses, each with how often it is composed
Losses = Sequence[tuple[Step, int]]
