"""What a curve answers at points, as numbers or arrays of the shape asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.tradeoff import errors_at, least_errors
from gdpbridge.numeric.points import checked_points, decimals_of, shaped_like

__all__ = ["Evaluated"]

Values = float | NDArray[np.float64]


class Evaluated:
    """What has a curve, and answers for it: every :class:`~gdpbridge.Profile`."""

    @property
    def curve(self) -> Curve:
        """The curve as the measuring methods see it."""
        raise NotImplementedError

    def log_delta(self, eps: ArrayLike) -> Values:
        """Return log δ(ε) in float64.

        Args:
            eps: ε in [0, 1e5], a number or an array.

        Returns:
            A float for a number, an array of the shape of ``eps`` otherwise; -inf where δ is 0.

        Raises:
            InputError: for ε outside the range.
        """
        return shaped_like(eps, self.curve.logs(checked_points(eps, "eps", MAX_EPS))[0])

    def delta(self, eps: ArrayLike) -> Values:
        """Return δ(ε) in float64; arguments as in :meth:`log_delta`."""
        return shaped_like(eps, np.exp(self.curve.logs(checked_points(eps, "eps", MAX_EPS))[0]))

    def gdpt(self, eps: ArrayLike) -> Values:
        """Return the GDP transform G(ε) = μ(ε, δ(ε)) in float64; arguments as in :meth:`log_delta`.

        The mechanism is μ-GDP exactly when μ is at least the supremum of G.
        """
        from gdpbridge.gaussian.kernels import mu_from_logs

        points = checked_points(eps, "eps", MAX_EPS)
        return shaped_like(eps, mu_from_logs(points, *self.curve.logs(points)))

    def least_epsilon(self, delta: ArrayLike) -> Values:
        """Return the least ε in [0, 1e5] with δ(ε) ≤ δ, inf if there is none, in float64.

        The answer is on the safe side of the float64 curve: it is the least float at which the
        computed δ(ε) is at most δ.

        Args:
            delta: δ in [0, 1], a number or an array.

        Returns:
            A float for a number, an array of the shape of ``delta`` otherwise.

        Raises:
            InputError: for δ outside the range.
        """
        return shaped_like(delta, self.curve.least_epsilon(checked_points(delta, "delta", 1.0)))

    def delta_bounds(self, eps: ArrayLike) -> tuple[Values, Values]:
        """Return proved bounds of δ(ε), rounded outward to float64.

        A float ε stands for the decimal that it prints as, like a parameter.

        Args:
            eps: ε in [0, 1e5], a number or an array.

        Returns:
            A lower and an upper bound, floats for a number, arrays of the shape of ``eps``
            otherwise. They are neighbouring floats as a rule. Where the privacy loss is composed
            numerically, they are as far apart as an interval for μ(ε, δ) of a relative width of
            6e-5 asks; the closest one wanted sets the pace for all.

        Raises:
            InputError: for ε outside the range.
        """
        points = checked_points(eps, "eps", MAX_EPS)
        return _shaped(eps, self.curve.deltas_at(decimals_of(points)))

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Values, Values]:
        """Return proved bounds of the least ε ≥ 0 with δ(ε) ≤ δ; see :meth:`delta_bounds`.

        Args:
            delta: δ in [0, 1], a number or an array.

        Returns:
            A lower and an upper bound, infinite where no ε will do.

        Raises:
            InputError: for δ outside the range.
            UndecidedError: at the precision cap. Of several δ, those that are decided are answered,
                and a :class:`~gdpbridge.errors.UndecidedWarning` names the others.
        """
        targets = checked_points(delta, "delta", 1.0)
        return _shaped(delta, self.curve.epsilons_at(decimals_of(targets)))

    def tradeoff(self, alpha: ArrayLike) -> Values:
        """Return the trade-off function f(α), the least type II error, in float64.

        Where the privacy loss is composed numerically it is on the safe side, a lower bound of f.

        Args:
            alpha: type I errors α in [0, 1], a number or an array.

        Returns:
            A float for a number, an array of the shape of ``alpha`` otherwise.

        Raises:
            InputError: for α outside the range.

        Source: Dong, Roth and Su (2022), proposition 2.12.
        """
        points = checked_points(alpha, "alpha", 1.0)
        return shaped_like(alpha, least_errors(self.curve, points.ravel()).reshape(points.shape))

    def tradeoff_bounds(self, alpha: ArrayLike) -> tuple[Values, Values]:
        """Return bounds of the trade-off function f(α), rounded outward to float64.

        The lower bound, which limits the attacker, is proved; the upper one holds where δ is convex
        in e^ε, as the profile of every mechanism is. Arguments as in :meth:`tradeoff`; see
        :meth:`delta_bounds`.
        """
        points = checked_points(alpha, "alpha", 1.0)
        return _shaped(alpha, errors_at(self.curve, decimals_of(points)))


def _shaped(like: ArrayLike, bounds: tuple[Values, Values]) -> tuple[Values, Values]:
    low, high = (shaped_like(like, np.reshape(side, np.shape(like))) for side in bounds)
    return low, high
