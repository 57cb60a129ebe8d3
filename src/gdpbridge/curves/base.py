"""The contract of a curve: what measuring, converting and drawing ask, whatever it is made of.

A curve is a non-increasing δ(ε) on [0, ∞) with values in [0, 1].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb

from gdpbridge.curves.constants import Constant, rational_above
from gdpbridge.curves.points import (
    delta_interval,
    enclosed,
    float_epsilons,
    least_epsilon,
    log_delta_above,
    proved_deltas,
    proved_epsilons,
    proved_from,
)
from gdpbridge.curves.remade import Remade
from gdpbridge.curves.tail import Tail
from gdpbridge.errors import InputError, Words
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.interval import Interval
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import float_ceiling, float_floor
from gdpbridge.numeric.kinds import BALLS, Probability, ball

if TYPE_CHECKING:
    from gdpbridge.curves.smooth import SmoothCurve

__all__ = ["DEFAULT_FAILURE", "BoundedCurve", "Curve", "Floats", "Form", "failure_above"]


# an ε at which little of δ makes G large
_FAR = 13
# of an approximate statement where none is asked for: below what is usually asked of a δ
DEFAULT_FAILURE = Fraction(1, 10**10)


def failure_above(level: Fraction) -> Fraction:
    """Return the p of the default statement about what fails: above its level, and at most 1."""
    if level < DEFAULT_FAILURE / 10**5:
        return DEFAULT_FAILURE
    found = rational_above(DEFAULT_FAILURE + level)
    return found if found < 1 else min(rational_above((1 + level) / 2), Fraction(1))


class Form(StrEnum):
    """How a curve is known: it decides which measuring methods fit."""

    SMOOTH = "smooth"
    """Formulas on adjacent ranges, which can be differentiated."""

    VALUES = "values"
    """Values only, without derivatives."""

    LINEAR = "linear"
    """Lines in e^ε between knots."""

    COMPOSED = "composed"
    """Smooth curves above and below, as close as asked."""

    POINTS = "points"
    """Values as sharp as asked at any ε, and convex in e^ε."""

    BETWEEN = "between"
    """What lies between an upper and a lower curve."""


class Curve(Remade, ABC):
    """A privacy profile as the measuring methods see it.

    Attributes:
        tail: what is known of δ(ε) for large ε.
        end: where δ becomes 0 for good, or None if it never does.
    """

    tail: Tail
    end: Constant | None

    least_alpha: ClassVar[float] = 0.0
    """In a trade-off function, what a smaller α > 0 is looked at as."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """How the curve is known."""

    @abstractmethod
    def logs(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return log δ(ε) and log(1 - δ(ε)) in float64, of the shape of ``eps``.

        Between bounds, those of the upper one.
        """

    @abstractmethod
    def enclose(self, eps: arb) -> Probability:
        """Enclose δ(ε) at an exact ε ≥ 0; nan where the precision cannot tell it from 0."""

    def seen_at(self, eps: arb, stop: Fraction | None = None) -> Probability:
        """Return a lower bound of δ(ε), with as little work as a few digits of it take.

        Args:
            eps: ε ≥ 0, exact.
            stop: a larger ε at which it will be asked for.
        """
        return self.enclose(eps)

    @abstractmethod
    def past(self, failure: Fraction) -> Curve:
        """Return ε ↦ max((δ(ε) - p)/(1 - p), 0) for a p in (0, 1) that δ falls to.

        It is what must be Gaussian of an approximate statement: δ ≤ p + (1 - p)·δ_μ on [0, ∞)
        holds exactly when (δ - p)/(1 - p) ≤ δ_μ wherever δ > p.

        Raises:
            UndecidedError: if no ε with δ(ε) ≤ p was found.
        """

    @abstractmethod
    def sampled(self, gamma: Fraction) -> Curve:
        """Return γ·δ on the scale of ε after sampling, 0 < γ < 1.

        Raises:
            InputError: for a curve of which that is not known.
        """

    @abstractmethod
    def piecewise(self, eps: Fraction, most: int) -> SmoothCurve:
        """Return the curve on [0, ε] in smooth pieces, not more than ``most`` if it is of lines.

        Raises:
            InputError: if there are more, or for a curve that has none.
        """

    def corners(self) -> list[Constant]:
        """Return where the formula changes, and where δ becomes constant."""
        return [Fraction(0), *self.known_ends()]

    def known_ends(self) -> list[Constant]:
        """Return where the curve ends and where it becomes constant, as far as it does."""
        ends = (self.end, self.tail.level and self.tail.level.start)
        return [end for end in ends if end is not None]

    @property
    def default_failure(self) -> Fraction | None:
        """The p of the approximate statement made where none is asked for; None for none."""
        return None

    @property
    def beside_one(self) -> Curve:
        """The same curve, of which δ need not be known to more digits than it leaves of 1."""
        return self

    def roughly(self, least: float) -> Curve:
        """Return the same curve to some digits, below log of a δ of that: for searches."""
        return self

    def fails_at_zero(self) -> bool:
        """Whether δ(0) = 1, so that no Gaussian curve lies above."""
        return self.tail.fails_at_zero

    def places(self) -> list[arb]:
        """Return some ε at which G is a good lower bound of its supremum."""
        return [arb(0)]

    def largest_seen(self, more: Sequence[Fraction] = (), enough: float = math.inf) -> arb:
        """Return a lower bound of the supremum of G, at the working precision.

        Args:
            more: ε > 0 at which to look, too; first where they are so large that G will be, too.
            enough: a number from which on no more is looked for.
        """
        largest, own, others = arb(0), self.places(), [ball(eps) for eps in more]
        far = min(more, default=Fraction(0)) >= _FAR
        for eps in (*others, *own) if far else (*own, *others):
            if certainly(largest >= enough):
                break
            value = self.seen_at(eps, min(more, default=None))
            if certainly(value.log() > arb.neg_inf()):
                largest = largest.max(gaussian.mu_of(eps, value).lower())
        return largest

    # --- single points --------------------------------------------------------------------

    def delta_bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return proved bounds of δ at one-dimensional ε ≥ 0, binary numbers as they are."""
        return self.deltas_at([Fraction(one) for one in eps.tolist()])

    def deltas_at(self, eps: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Return proved bounds of δ at some ε ≥ 0."""
        low, high = proved_deltas(self.enclose, eps)
        if isinstance(self.end, Fraction):
            # rounding would never tell that δ is 0
            high[[one >= self.end for one in eps]] = 0.0
        return low, high

    def epsilons_at(self, delta: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Return proved bounds of the least ε ≥ 0 with δ(ε) ≤ δ, for some δ.

        Raises:
            UndecidedError: at the precision cap, if that is so for every δ; else those that are
                open are named by an :class:`UndecidedWarning`.
        """
        level = self.tail.level
        if level is not None and level.value in delta:
            # rounding would never tell that δ has come down to it
            start = enclosed(lambda: BALLS.constant(level.start))
            there = np.array([one == level.value for one in delta])
            ends = np.zeros((2, len(delta)))
            ends[:, there] = [[float_floor(start.low)], [float_ceiling(start.high)]]
            if not there.all():
                ends[:, ~there] = self.epsilons_at([one for one in delta if one != level.value])
            return ends[0], ends[1]
        guess = self.least_epsilon(np.array([float(one) for one in delta]))
        return proved_epsilons(self.enclose, delta, guess)

    def delta_at(self, eps: Fraction) -> Interval:
        """Return an interval for δ(ε), of some twenty digits where it is known exactly."""
        # rounding would never tell that δ is 0
        if isinstance(self.end, Fraction) and eps >= self.end:
            return Interval(0, 0)
        return delta_interval(self.enclose, eps)

    def epsilon_at(self, delta: Fraction) -> Interval:
        """Return an interval for the least ε ≥ 0 with δ(ε) ≤ δ, infinite where none will do.

        Raises:
            UndecidedError: at the precision cap.
        """
        if self.end == 0 or delta == 1:
            return Interval(0, 0)
        level = self.tail.level
        if level is not None and level.value == delta:
            return enclosed(lambda: BALLS.constant(level.start))
        return least_epsilon(self.enclose, delta)

    def delta_range(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return what δ lies between in float64, as a picture shows it: equal if it is known."""
        value = np.exp(self.logs(eps)[0])
        return value, value

    def least_epsilon(self, delta: Floats) -> Floats:
        """Return the least float at which the computed δ(ε) is at most δ, inf if there is none."""
        return float_epsilons(lambda eps: self.logs(eps)[0], delta)

    def log_bound(self, eps: Fraction) -> float | None:
        """Return log of a bound of δ(ε) in floats, unproved; None where δ itself is had as soon."""
        return None

    def falls_to(self, failure: Fraction) -> Constant:
        """Return an ε from which δ(ε) ≤ p is proved; the least one, up to rounding.

        Raises:
            UndecidedError: if no such ε was found.
        """
        level = self.tail.level
        if level is not None and level.value == failure:
            return level.start
        return proved_from(self.enclose, failure, self._near(failure))

    def _near(self, failure: Fraction) -> float:
        """Return about where δ falls to p, as far as floats tell at once; infinity else."""
        return math.inf

    def log_delta_above(self, eps: Fraction) -> arb:
        """Return a ball whose upper end bounds log δ(ε), and closely."""
        if isinstance(self.end, Fraction) and eps >= self.end:
            return arb.neg_inf()
        return log_delta_above(self.enclose, eps)


class BoundedCurve(Curve):
    """A curve that is known between bounds, of losses that are composed."""

    # far out, much is needed; the best ε for this α is nearly as good
    least_alpha = 1e-30

    def delta_range(self, eps: Floats) -> tuple[Floats, Floats]:
        """The proved bounds: there are no others."""
        low, high = self.delta_bounds(np.ravel(eps))
        return low.reshape(eps.shape), high.reshape(eps.shape)

    def sampled(self, _: Fraction) -> Curve:
        """Refuse: sampling what is composed is another mechanism than composing what is sampled."""
        raise InputError("mechanism", Words("composed"), "sampled before it is composed")
