"""Privacy losses that are single numbers: randomized response, discrete noise, given losses."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from gdpbridge.losses.laws import UNIT, Lattice, Law
from gdpbridge.losses.step import Point, Step
from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["MAX_LOOSE", "Atoms", "two_losses"]

_BITS = 128
_HAIR = Fraction(1, 2**40)
# of losses that are not all on the lattice of the composition
MAX_LOOSE = 20_000


# a number known exactly, or enclosed at the working precision
_Number = Fraction | Callable[[], arb]


class Atoms(Step):
    """Finitely many losses, each with its probability under P.

    Args:
        losses: the finite losses, growing.
        masses: P(L = y) of each, positive.
        spacing: a number that all losses are whole multiples of, if there is one.
        failure: P(L = ∞).
        reverse_failure: Q(L = -∞).
        symmetric: whether both directions are the same.
    """

    def __init__(
        self,
        losses: Sequence[Fraction],
        masses: Sequence[_Number],
        *,
        spacing: Fraction | None = None,
        failure: Fraction = Fraction(0),
        reverse_failure: Fraction = Fraction(0),
        symmetric: bool = False,
    ) -> None:
        self.losses, self.masses, self.spacing = losses, masses, spacing
        self.failure, self.reverse_failure, self.symmetric = failure, reverse_failure, symmetric
        self.bottom, self.top = float(losses[0]), float(losses[-1])
        self._sums: dict[int, _Sums] = {}

    @cached_property
    def _index(self) -> Indices:
        """The losses in spacings, if they have one."""
        assert self.spacing is not None
        return np.array([int(loss / self.spacing) for loss in self.losses], dtype=np.int64)

    @cached_property
    def _at(self) -> Floats:
        return np.array([float(loss) for loss in self.losses])

    @cached_property
    def _log_q(self) -> Floats:
        with precision(_BITS):
            return np.log([float(_ball(mass)) for mass in self.masses]) - self._at

    def least_loss(self) -> arb:
        """Return the first one."""
        return ball(self.losses[0])

    def greatest_loss(self) -> arb:
        """Return the last one."""
        return ball(self.losses[-1])

    def exact_law(self, spacing: Fraction) -> Law | None:
        """Return the law itself where all losses are multiples of the spacing."""
        if self.spacing is None or (self.spacing / spacing).denominator != 1:
            return None
        index = self._index * int(self.spacing / spacing)
        error = 4 * UNIT * (1 + np.abs(self._log_q) + np.abs(self._at))
        lattice = Lattice(lambda: arb(0), spacing)
        return Law(lattice, index, self._log_q, error, (-math.inf, math.inf))

    def lower_lattice(self, spacing: Fraction) -> Lattice:
        """Return the lattice that the first loss is on, but for a hair.

        Just above it, balls can tell that the first line is not negative.
        """
        return Lattice(lambda: self.least_loss() + ball(spacing * _HAIR), spacing)

    def upper_knots(self, lattice: Lattice, tilt: float, log_share: float) -> Indices:
        """Return the lattice points beside each loss."""
        steps = [(loss - self.losses[0]) / lattice.spacing for loss in self.losses]
        return np.unique([end for step in steps for end in (math.floor(step), math.ceil(step))])

    def lower_knots(
        self, lattice: Lattice, tilt: float, log_share: float
    ) -> tuple[Indices, list[Fraction]]:
        """Return the lattice points nearest to losses, and where the lines between them are met."""
        steps = [(loss - self.losses[0]) / lattice.spacing - _HAIR for loss in self.losses]
        half, last = Fraction(1, 2), math.floor(steps[-1])
        # a dominated law has no loss above the greatest one
        knots = np.unique([max(min(math.ceil(step - half), last), 0) for step in steps])
        return knots, [int(knot) + half for knot in knots[:-1]]

    def finite_q(self) -> arb:
        """Sum the masses under Q."""
        return self._now().q_from[0]

    def finite_p(self) -> arb:
        """Sum the masses under P."""
        return self._now().p_from[0]

    def _now(self) -> _Sums:
        """Return the sums at the working precision."""
        bits = working_precision()
        if bits not in self._sums:
            self._sums[bits] = _Sums(self.losses, self.masses)
        return self._sums[bits]

    def point(self, eps: arb) -> Point:
        """Sum the losses on either side; one that cannot be told from ε counts as neither."""
        sums, t = self._now(), eps.exp()
        middle = float(eps)
        first = bisect.bisect_left(self._at, middle)
        last = first
        while first > 0 and not ball(self.losses[first - 1]) < eps:
            first -= 1
        while last < len(self.losses) and not ball(self.losses[last]) > eps:
            last += 1
        call = sums.p_from[last] - t * sums.q_from[last]
        put = t * sums.q_before[first] - sums.p_before[first]
        above, below = sums.q_from[last], sums.q_before[first]
        for number in range(first, last):
            excess = sums.q[number] * (sums.ratio[number] - t)
            call, put = call + excess.max(arb(0)), put + (-excess).max(arb(0))
            below = below + sums.q[number]
        return Point(t, call, put, above, below)

    def log_mass(self, eps: Floats) -> Floats:
        """Sum the masses in each cell."""
        sums = np.append(0.0, np.cumsum(np.exp(self._log_q)))
        ends = sums[np.searchsorted(self._at, eps, side="right")]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(np.diff(ends), 0.0)))

    def reach(self, theta: float, log_share: float) -> tuple[float, float]:
        """Return all of the range."""
        return self.bottom, self.top

    def log_beyond(self, theta: float, eps: float) -> float:
        """Sum what is beyond, where a law ends before the last loss."""
        return self._log_sum(theta, self._at >= eps)

    def log_short_of(self, theta: float, eps: float) -> float:
        """Sum what is before, where a law begins after the first loss."""
        return self._log_sum(theta, self._at < eps)

    def _log_sum(self, theta: float, where: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
        if not where.any():
            return -math.inf
        log = float(np.logaddexp.reduce((self._log_q + theta * self._at)[where]))
        return log + 1e-9 * (1 + abs(log))


class _Sums:
    """Masses and their sums from both ends, as balls."""

    def __init__(self, losses: Sequence[Fraction], masses: Sequence[_Number]) -> None:
        self.ratio = [ball(loss).exp() for loss in losses]
        p = [_ball(mass) for mass in masses]
        self.q = [mass / ratio for mass, ratio in zip(p, self.ratio, strict=True)]
        self.p_before, self.q_before = _running(p), _running(self.q)
        self.p_from = _running(p[::-1])[::-1]
        self.q_from = _running(self.q[::-1])[::-1]


def _ball(value: _Number) -> arb:
    return ball(value) if isinstance(value, Fraction) else value()


def _running(values: Sequence[arb]) -> list[arb]:
    sums = [arb(0)]
    for value in values:
        sums.append(sums[-1] + value)
    return sums


def two_losses(eps0: Fraction, failure: Fraction = Fraction(0)) -> Atoms:
    """Return the loss of ε₀-randomized response that fails outright with some probability."""

    def share(loss: Fraction) -> Callable[[], arb]:
        return lambda: ball(1 - failure) / (1 + ball(-loss).exp())

    losses = [-eps0, eps0] if eps0 else [eps0]
    masses = [share(loss) for loss in losses] if eps0 else [lambda: ball(1 - failure)]
    return Atoms(
        losses,
        masses,
        spacing=eps0 or Fraction(1),
        failure=failure,
        reverse_failure=failure,
        symmetric=True,
    )
