"""Prove δ ≤ p + (1 - p)·δ_μ on a range from bounds of δ at points.

Both sides are convex in t = e^ε. If δ is at most the tangent of the right side at the middle of a
cell, at both ends of the cell, then δ is below the tangent, and the tangent below the right side,
on all of it. About a place where both touch, but for a margin, cells grow in proportion to their
distance from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from flint import arb

from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.losses.transforms.base import short
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.kinds import ball

__all__ = ["Bound", "NotProvedError", "Tangents"]

# of the widest cell that is likely to be proved
_CAREFUL = 0.93
# a cell is at most so many times as wide as the one before
_GROWTH = 8.0
# a cell that is narrower, beside the first one, is not tried
_NARROWEST = 2.0**-12
# what one takes, in units of numeric/effort.py
_CELL = 1_000


class Bound(Protocol):
    """A bound of δ."""

    @property
    def complement(self) -> bool:
        """Whether it bounds 1 - δ from below, and not δ from above."""

    def at(self, eps: arb) -> arb:
        """Return the bound at an exact ε, an exact number."""


class NotProvedError(Exception):
    """No cell at an ε can be proved.

    Attributes:
        bound: of which curve.
        eps: where.
    """

    def __init__(self, bound: Bound, eps: Fraction) -> None:
        super().__init__(f"no cell at ε = {float(eps):.12g} can be proved")
        self.bound, self.eps = bound, eps


@dataclass(frozen=True)
class _Ray:
    """A tangent at an ε, of δ_μ or of 1 - δ_μ, and what it is measured by.

    Attributes:
        value: p + (1 - p)·δ_μ, or (1 - p)(1 - δ_μ).
        slope: -(1 - p)·∂δ_μ/∂ε, at least 0.
        unit: its second derivative in t, times t².
    """

    value: arb
    slope: arb
    unit: arb


class Tangents:
    """A claim.

    Args:
        mu: μ, exact.
        failure: p.
        margin: how far μ is above the supremum of G, about.
    """

    def __init__(self, mu: arb, failure: Fraction, margin: float) -> None:
        self.mu, self.p, self.kept = mu, ball(failure), ball(1 - failure)
        self.margin = margin
        # δ_μ falls short of its tangent by unit·w²/8, and margin·φ(x) is what there is
        self.first = _CAREFUL * math.sqrt(8 * float(mu) * margin)
        self.evaluations = 0

    def cells(
        self, bound: Bound, start: Fraction, stop: Fraction, width: float
    ) -> Iterator[tuple[Fraction, float]]:
        """Yield ends of proved cells from ``start`` to ``stop``, and how wide the next may be.

        Raises:
            NotProvedError: if one cannot be proved.
        """
        at, sign = start, 1 if stop > start else -1
        here = ball(at)
        known = bound.at(here)
        while at != stop:
            step = short(width)
            last = step >= abs(stop - at)
            after = stop if last else at + sign * step
            there = ball(after)
            value = bound.at(there)
            room = self._room(bound, (here, known), (there, value))
            length = float(abs(after - at)) if last else float(step)
            if room is None:
                width = length / 2
                if width < self.first * _NARROWEST:
                    raise NotProvedError(bound, at)
                continue
            wider = _CAREFUL * math.sqrt(8 * room + length * length)
            width = min(wider, _GROWTH * max(length, width))
            at, here, known = after, there, value
            yield at, width

    def _room(self, bound: Bound, near: tuple[arb, arb], far: tuple[arb, arb]) -> float | None:
        """Return by how much a cell is proved at its far end, in the unit; None for not."""
        self.evaluations += 2
        spend(_CELL)
        middle = ((near[0] + far[0]) / 2).mid()
        ray = self._ray(middle, complement=bound.complement)
        sign = -1 if bound.complement else 1
        least = arb(0)
        for eps, value in (near, far):
            line = ray.value - sign * ray.slope * (eps - middle).expm1()
            least = sign * (line - value)
            if not certainly(least >= 0):
                return None
        return max(float((least / ray.unit).mid()), 0.0)

    def _ray(self, eps: arb, *, complement: bool) -> _Ray:
        value, slope, density = gaussian.tangent_of(eps, self.mu, complement=complement)
        value *= self.kept
        return _Ray(
            value if complement else self.p + value,
            self.kept * slope,
            self.kept * density / self.mu,
        )
