"""Losses with finitely many values: randomized response, PLDs, what only fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.base import (
    Number,
    Plan,
    Transform,
    exponential_sums,
    number_ball,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["MAX_LOOSE", "FiniteTransform", "only_fails", "two_valued"]

_BITS = 128
# losses that are on no lattice
MAX_LOOSE = 20_000


class FiniteTransform(Transform):
    """F(w) = Σ p_j e^{(w - 1)L_j}: its atoms never decay.

    Args:
        losses: the finite losses, growing.
        masses: P(L = y) of each, positive, or enclosed by functions.
        failure: P(L = ∞).
        reverse_failure: Q(L = -∞).
        symmetric: whether both directions are the same.
        spacing: a number that all losses are whole multiples of, if one is known.
        places: the multiples, where the spacing is not rational.
        cut_from: a loss without end that it is no worse than, where tiny masses were cut off.
    """

    def __init__(
        self,
        losses: Sequence[Number],
        masses: Sequence[Number],
        *,
        failure: Number = Fraction(0),
        reverse_failure: Number = Fraction(0),
        symmetric: bool = False,
        spacing: Number | None = None,
        places: Sequence[int] | None = None,
        cut_from: Transform | None = None,
    ) -> None:
        self.losses, self.masses, self.spacing = losses, masses, spacing
        self._places, self.cut_from = places, cut_from
        self.failure, self.reverse_failure, self.symmetric = failure, reverse_failure, symmetric

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The losses as multiples of the spacing."""
        if self._places is not None:
            return tuple(self._places)
        spacing, found = self.spacing, []
        assert isinstance(spacing, Fraction)
        for loss in self.losses:
            assert isinstance(loss, Fraction)
            found.append(int(loss / spacing))
        return tuple(found)

    @cached_property
    def _floats(self) -> tuple[np.ndarray, np.ndarray]:
        with precision(_BITS):
            losses = np.array([float(number_ball(loss)) for loss in self.losses])
            logs = np.array([float(number_ball(mass).log()) for mass in self.masses])
        return losses, logs

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        losses, logs = self._floats
        return float(np.logaddexp.reduce(logs + (w - 1) * losses))

    def _log_shape(self, w: float) -> tuple[float, float, float]:
        """Return log F, mean and variance at one w."""
        losses, logs = self._floats
        terms = logs + (w - 1) * losses
        top = float(terms.max())
        weights = np.exp(terms - top)
        total = float(weights.sum())
        mean = float(weights @ losses) / total
        return top + math.log(total), mean, float(weights @ (losses - mean) ** 2) / total

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        tilt = ball(w - 1)
        losses = [number_ball(loss) for loss in self.losses]
        exponents = [
            acb(number_ball(mass).log() + tilt * loss)
            for mass, loss in zip(self.masses, losses, strict=True)
        ]
        return exponential_sums(exponents, losses, h, count)

    def largest(self) -> arb:
        """Return the last loss."""
        return number_ball(self.losses[-1])

    def least(self) -> arb:
        """Return the first loss."""
        return number_ball(self.losses[0])


def only_fails(failure: Fraction) -> FiniteTransform:
    """Return the loss of what fails outright with a probability and tells nothing otherwise."""
    return FiniteTransform(
        [Fraction(0)],
        [1 - failure],
        failure=failure,
        reverse_failure=failure,
        symmetric=True,
        spacing=Fraction(1),
    )


def two_valued(epsilon: Number, delta: Fraction = Fraction(0)) -> FiniteTransform:
    """Return the worst loss of (ε, δ)-DP: ±ε, and infinite with probability δ.

    Source: Kairouz, Oh and Viswanath (2015), theorem 3.
    """
    if epsilon == 0:
        return only_fails(delta)

    def share(sign: int) -> arb:
        return ball(1 - delta) / (1 + (-sign * number_ball(epsilon)).exp())

    return FiniteTransform(
        [lambda: -epsilon(), epsilon] if callable(epsilon) else [-epsilon, epsilon],
        [lambda: share(-1), lambda: share(1)],
        failure=delta,
        reverse_failure=delta,
        symmetric=True,
        spacing=epsilon,
        places=(-1, 1),
    )
