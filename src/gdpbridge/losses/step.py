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

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.kinds import ball

if TYPE_CHECKING:
    from gdpbridge.losses.laws import Lattice, Law

__all__ = ["Floats", "Indices", "Loss", "LossPair", "Losses", "Point", "Step"]


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
    """μ_t² of the step, ε²/(-2 log δ(ε)) in the limit: 0 for bounded losses. For others, δ(ε) is at
    most that of the Gaussian curve with this μ, and falls as slowly."""

    spacing: Fraction | None = None
    """A number that every loss is a whole multiple of, if there is one."""

    symmetric: bool = False
    """Whether Q against P has the same loss as P against Q."""

    failure: Fraction = Fraction(0)
    """P(L = ∞)."""

    cut: bool = False
    """Whether these stand for large losses: then they count in upper bounds only."""

    reverse_failure: Fraction = Fraction(0)
    """Q(L = -∞)."""

    def finite_p(self) -> arb:
        """Enclose P(L finite)."""
        return ball(1 - self.failure)

    def finite_q(self) -> arb:
        """Enclose Q(L finite)."""
        return ball(1 - self.reverse_failure)

    @abstractmethod
    def least_loss(self) -> arb:
        """Enclose the least loss at the working precision, or any number if there is none."""

    @abstractmethod
    def greatest_loss(self) -> arb:
        """Enclose the greatest finite loss, likewise."""

    def capped(self, log_share: float) -> Step | None:
        """Return a step that counts the largest losses as infinite, a share e^{log_share} of P.

        None for a step that has no use for it.
        """
        return None

    @abstractmethod
    def point(self, eps: arb) -> Point:
        """Enclose the curve at t = e^ε, at the working precision; ε is exact or nearly so."""

    def exact_law(self, spacing: Fraction) -> Law | None:
        """Return the law of the loss itself, if it has one on the multiples of a spacing."""
        return None

    def lower_lattice(self, spacing: Fraction) -> Lattice:
        """Choose the lattice of a dominated law."""
        from gdpbridge.losses.placing import lower_lattice

        return lower_lattice(self, spacing)

    def upper_knots(self, lattice: Lattice, tilt: float, log_share: float) -> Indices:
        """Choose the knots of a dominating law that will be tilted."""
        from gdpbridge.losses.placing import place

        return place(self, lattice, tilt, log_share)

    def lower_knots(
        self, lattice: Lattice, tilt: float, log_share: float
    ) -> tuple[Indices, list[Fraction]]:
        """Choose the knots of a dominated law, and where between them its lines are met."""
        from gdpbridge.losses.placing import place

        knots = place(self, lattice, tilt, log_share)
        middles = [Fraction(int(a) + int(b), 2) for a, b in itertools.pairwise(knots)]
        return knots, middles

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


@dataclass(frozen=True)
class Loss:
    """A privacy loss in one direction, and how often it is composed.

    Attributes:
        step: the loss of P against Q.
        times: how often.
        mirrored: whether the direction is that of Q against P.
    """

    step: Step
    times: int
    mirrored: bool = False

    def tilt(self, theta: float) -> float:
        """Return the tilt of L under Q that is the tilt θ of this direction's loss."""
        return 1 - theta if self.mirrored else theta


@dataclass(frozen=True)
class LossPair:
    """The privacy losses of a mechanism in both directions.

    Attributes:
        step: the loss of P against Q.
        times: how often it is composed.
        reverse: that of Q against P, as if these were P and Q; None if it follows from the other.
    """

    step: Step
    times: int
    reverse: Step | None = None

    def directed(self, *, reverse: bool) -> Loss:
        """Return one direction."""
        if not reverse:
            return Loss(self.step, self.times)
        if self.reverse is not None:
            return Loss(self.reverse, self.times)
        return Loss(self.step, self.times, mirrored=True)


Losses = Sequence[LossPair]
