"""Where to put a lattice, and knots on it: fine where the mass is, coarse elsewhere.

Whatever is chosen here, the bounds hold; how close they are depends on it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.laws import Lattice
from gdpbridge.losses.step import Step
from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["MAX_KNOTS", "TooManyKnotsError", "lower_lattice", "place", "upper_lattice"]

# of one law: each costs some 20 µs
MAX_KNOTS = 30_000
# cells of the coarsest level
_FEW = 16
# cells to estimate the tilted law's total with
_LOOK = 512
_BITS = 128
# numbers of lattice points stay whole in a float
_FARTHEST = 2**52
_HALVINGS = 60


class TooManyKnotsError(Exception):
    """A law would need more knots than are allowed."""


def upper_lattice(step: Step, spacing: Fraction) -> Lattice:
    """Return the lattice for a dominating law: the least loss is on it, if there is one."""
    return Lattice(step.least_loss, spacing)


def lower_lattice(step: Step, spacing: Fraction) -> Lattice:
    """Return the lattice for a dominated law: its origin is where it merges the least losses.

    A dominated law has no loss below the mean of a group of the least ones. So that the mass there
    need not be moved, the origin is such a mean: that of the losses up to half a spacing above it.
    """
    half = float(spacing) / 2
    low, high = step.reach(1.0, math.log(1e-30))
    low = max(low, step.bottom)
    with precision(_BITS):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle - _mean_up_to(step, middle) < half:
                low = middle
            else:
                high = middle
        origin = Fraction(_mean_up_to(step, high))
    return Lattice(lambda: ball(origin), spacing)


def _mean_up_to(step: Step, eps: float) -> float:
    """Return log E_Q[e^L | L ≤ ε], rounded up."""
    point = step.point(arb(eps))
    if not point.below > 0:
        return eps
    return math.nextafter(float((point.t - point.put / point.below).log()), math.inf)


def place(step: Step, lattice: Lattice, theta: float, log_share: float) -> Indices:
    """Return knots for a law that will be tilted by e^{θL}.

    A cell of width w adds at most its mass times w²/4 to the variance of the loss. Cells are split
    until all of them together add about as much as if each were one spacing wide.

    Args:
        step: the privacy loss.
        lattice: where the knots may be.
        theta: θ.
        log_share: logarithm of the share of the tilted law that may stay outside.

    Returns:
        Numbers of lattice points, growing, at least two.

    Raises:
        TooManyKnotsError: if there would be more than ``MAX_KNOTS``.
    """
    low, high = step.reach(theta, log_share)
    log_z = _log_total(step, theta, low, high)
    start, stop = _ends(step, lattice, theta, (low, high), log_z + log_share)
    count = _FEW
    while True:
        log_budget = log_z + 2 * math.log(lattice.spacing) - math.log(count)
        knots = _split(step, lattice, theta, (start, stop), log_budget)
        if knots.size <= 2 * count:
            return knots
        count = knots.size


def _split(
    step: Step, lattice: Lattice, theta: float, ends: tuple[int, int], log_budget: float
) -> Indices:
    """Halve cells until each costs at most its budget, or is one spacing wide."""
    start, stop = ends
    if max(abs(start), abs(stop)) > _FARTHEST:
        raise TooManyKnotsError
    width = 1 << max(0, math.ceil(math.log2((stop - start) / _FEW)))
    cells = np.arange(start, stop, width, dtype=np.int64)
    last = int(cells[-1]) + width
    done: list[Indices] = []
    while cells.size:
        log_cost = _log_tilted(step, lattice, theta, cells, width)
        log_cost += 2 * math.log(width * lattice.spacing)
        split = (log_cost > log_budget) & (width > 1)
        done.append(cells[~split])
        width //= 2
        cells = np.sort(np.concatenate([cells[split], cells[split] + width]))
        if cells.size > MAX_KNOTS:
            raise TooManyKnotsError
    return np.append(np.sort(np.concatenate(done)), last)


def _log_tilted(step: Step, lattice: Lattice, theta: float, cells: Indices, width: int) -> Floats:
    """Return log E_Q[e^{θL}] of cells, the tilt taken at its largest: safe for coarse cells."""
    ends = lattice.losses(np.stack([cells, cells + width], axis=-1))
    log_tilted: Floats = step.log_mass(ends.ravel())[::2] + (theta * ends).max(axis=-1)
    return log_tilted


def _log_total(step: Step, theta: float, low: float, high: float) -> float:
    """Estimate log E_Q[e^{θL}]."""
    ends = np.linspace(low, high, _LOOK + 1)
    log_mass = step.log_mass(ends) + theta * (ends[:-1] + ends[1:]) / 2
    return float(np.logaddexp.reduce(log_mass))


def _ends(
    step: Step, lattice: Lattice, theta: float, reach: tuple[float, float], log_least: float
) -> tuple[int, int]:
    """Return lattice points outside which less than e^{log_least} of e^{θL} dQ is left."""
    origin, spacing = lattice.start, float(lattice.spacing)
    first = math.floor((reach[0] - origin) / spacing) - 1
    last = math.ceil((reach[1] - origin) / spacing) + 1
    stride = max(1, (last - first) // 8)
    while step.log_short_of(theta, origin + first * spacing) > log_least:
        first -= stride
        stride *= 2
    if math.isfinite(step.bottom):
        first = max(first, 0)
    stride = max(1, (last - first) // 8)
    while step.log_beyond(theta, origin + last * spacing) > log_least:
        last += stride
        stride *= 2
    return first, max(last, first + 1)
