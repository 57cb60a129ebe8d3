"""Points along a boundary arc in float64: where Newton's method begins, and where the arc ends.

An arc is followed from its first point by small steps in ε, each begun along the tangent. Nothing
here is proved: what comes of it is proved again in balls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.equations import Equations
from gdpbridge.guarantees.events import FloatEvent
from gdpbridge.guarantees.roots import float_jacobian, float_residual, scales_of, solve_floats

__all__ = ["TOP", "Track", "follow"]

Floats = NDArray[np.float64]

# a little beyond the largest ε that can be asked for
TOP = 1.1e5
_GROWTH = 2.0
# of the way so far; cubics between nodes that are so far apart give Newton's method a good start
_LARGEST_STEP = 0.4
_FIRST_STEP = 0.1
_MAX_NODES = 20_000
_BISECTIONS = 50
_ENOUGH = 4
_NEAR = 0.3
# so many nodes for each of the march: cubics then are good to eight digits, and three steps with
# the Jacobian of the nearest node do the rest
_REFINEMENT = 16
_STEPS = 3
_SMALLEST_STEP = 1e-13


@dataclass(frozen=True)
class Track:
    """Points along an arc.

    Attributes:
        equations: those of the arc.
        eps: ε of the nodes, increasing.
        unknowns: the solutions there, of shape (unknowns, nodes).
        slopes: their derivatives by ε.
        inverses: the inverses of the Jacobians there, of shape (nodes, unknowns, equations).
        broken: the number of the condition that the arc breaks at its last node, or None.
        beyond: gives the unknowns past the last node, where they are known in closed form to the
            accuracy of floats.
    """

    equations: Equations
    eps: Floats
    unknowns: Floats
    slopes: Floats
    inverses: Floats
    broken: int | None
    beyond: Callable[[Floats], Floats] | None = None

    def guess(self, eps: Floats) -> Floats:
        """Interpolate the unknowns by cubics."""
        index = np.clip(np.searchsorted(self.eps, eps) - 1, 0, self.eps.size - 2)
        low, width = self.eps[index], np.diff(self.eps)[index]
        x = np.clip((eps - low) / width, -0.5, 1.5)
        left, right = self.unknowns[:, index], self.unknowns[:, index + 1]
        rise = right - left
        up, down = self.slopes[:, index] * width, self.slopes[:, index + 1] * width
        bend = (1 - x) * (up - rise) + x * (rise - down)
        found = left + x * rise + x * (1 - x) * bend
        if self.beyond is None:
            return np.asarray(found)
        far = eps > self.eps[-1]
        found[:, far] = self.beyond(eps[far])
        return np.asarray(found)

    def solved(self, eps: Floats) -> Floats:
        """Return the unknowns at ε: interpolated, and improved by steps with a fixed Jacobian."""
        found = self.guess(eps)
        near = np.full(eps.shape, True) if self.beyond is None else eps <= self.eps[-1]
        if near.any():
            z, inverse = found[:, near], self.inverses[np.searchsorted(self._middles, eps[near])]
            for _ in range(_STEPS):
                value = float_residual(self.equations, z, eps[near])
                z = z - np.matmul(inverse, value.T[:, :, None])[:, :, 0].T
            found[:, near] = z
        return found

    @cached_property
    def _middles(self) -> Floats:
        return (self.eps[1:] + self.eps[:-1]) / 2


def _tabulated(
    equations: Equations,
    eps: Floats,
    unknowns: Floats,
    broken: int | None,
    beyond: Callable[[Floats], Floats] | None,
) -> Track:
    """Make a table of an arc from some of its points, with more of them in between."""
    slopes = _slopes(_inverses(equations, unknowns, eps))
    coarse = Track(equations, eps, unknowns, slopes, np.empty(0), broken)
    shares = np.arange(_REFINEMENT) / _REFINEMENT
    nodes = np.append((eps[:-1, None] + shares * np.diff(eps)[:, None]).ravel(), eps[-1])
    found, settled = solve_floats(equations, coarse.guess(nodes), nodes)
    nodes, found = nodes[settled], found[:, settled]
    if nodes.size < eps.size:
        raise UndecidedError(f"the boundary of the region was lost at ε = {eps[0]:.6g}")
    inverses = _inverses(equations, found, nodes)
    return Track(equations, nodes, found, _slopes(inverses), inverses, broken, beyond)


def _inverses(equations: Equations, z: Floats, eps: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(float_jacobian(equations, z, eps)))
    except np.linalg.LinAlgError:
        raise UndecidedError("the bounds are too close to 0 to be told apart in floats") from None


def _slopes(inverses: Floats) -> Floats:
    # ε enters the last equation, with the factor -1
    return np.asarray(inverses[:, :, -1].T)


def follow(
    equations: Equations,
    first: Floats,
    start: float,
    conditions: Callable[[FloatEvent], Floats],
    before: tuple[float, Floats] | None = None,
    beyond: Callable[[Floats], Floats] | None = None,
) -> Track:
    """Follow an arc until a condition breaks, or to the end of the range.

    Args:
        equations: those of the arc.
        first: the unknowns at its first point.
        start: ε there.
        conditions: what must stay at most 0 along the arc, as an array.
        before: ε and the unknowns at a point before the first one.
        beyond: gives the unknowns past the last point, where they are known in closed form.

    Raises:
        UndecidedError: if the arc is lost.
    """
    at, z = start, first
    nodes, points, slope = [at], [z], _slope(equations, z, at)
    scale = max(start, float(z[1]) if z.size > 1 else start) * 0.05
    step = _FIRST_STEP * scale
    broken: int | None = None
    while broken is None and at < TOP:
        if len(nodes) > _MAX_NODES or step < _SMALLEST_STEP * at:
            raise UndecidedError(f"the boundary of the region was lost at ε = {at:.6g}")
        target = min(at + step, TOP)
        moved = _moved(equations, z, slope, at, target)
        if moved is None:
            step /= 4
            continue
        failing = conditions(_event(equations, moved))
        if (failing > 0).any():
            target, moved, broken = _last(equations, z, slope, at, target, conditions)
        at, z = target, moved
        nodes.append(at)
        points.append(z)
        slope = _slope(equations, z, at)
        step = min(step * _GROWTH, _LARGEST_STEP * (at - start + scale))
    if before is not None:
        nodes, points = [before[0], *nodes], [before[1], *points]
    return _tabulated(equations, np.array(nodes), np.array(points).T, broken, beyond)


def _event(equations: Equations, z: Floats) -> FloatEvent:
    theta, gap, tilt = equations.place(z, float)
    return FloatEvent(*(np.asarray(one, dtype=np.float64) for one in (theta, gap, tilt)))


def _slope(equations: Equations, z: Floats, eps: float) -> Floats:
    return _slopes(_inverses(equations, z[:, None], np.array([eps])))[:, 0]


def _moved(
    equations: Equations, z: Floats, slope: Floats, at: float, target: float
) -> Floats | None:
    guess = z + slope * (target - at)
    if equations.size > 1 and not (guess[1:] > 0).all():
        return None
    found, settled = solve_floats(equations, guess[:, None], np.array([target]))
    # far from the guess it would be another branch
    near = np.abs(found[:, 0] - guess) <= _NEAR * (scales_of(guess) + np.abs(slope) * (target - at))
    return found[:, 0] if settled.all() and near.all() else None


def _last(
    equations: Equations,
    z: Floats,
    slope: Floats,
    low: float,
    high: float,
    conditions: Callable[[FloatEvent], Floats],
) -> tuple[float, Floats, int]:
    """Return a point at which one condition is broken, and hardly more than that, and which."""
    begin = low
    best = _moved(equations, z, slope, begin, high)
    assert best is not None
    for number in range(_BISECTIONS):
        middle = (low + high) / 2
        alone = (conditions(_event(equations, best)) > 0).sum() == 1
        if (alone and number >= _ENOUGH) or not low < middle < high:
            break
        found = _moved(equations, z, slope, begin, middle)
        if found is None:
            break
        if (conditions(_event(equations, found)) > 0).any():
            high, best = middle, found
        else:
            low = middle
    return high, best, int(np.argmax(conditions(_event(equations, best))))
