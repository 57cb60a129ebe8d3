"""A line in float64: about what it says of δ, and how that bends, for searches alone.

Its terms are larger than what they sum to, so that digits are lost; where more are lost than can be
spared nothing is told. Nothing is proved by it.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from gdpbridge.losses.tilts import log_kappa
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision

if TYPE_CHECKING:
    from gdpbridge.losses.line import Line

__all__ = ["Glance"]

# of the sum of the terms' moduli: where less is left of it, floats have lost too many digits
_LEAST_SHARE = 1e-8
# radii of discs, of which the size of a line's terms is known: N·h·r, and how many of them
_SHORT_REACH, _LONG_REACH, _PLACES = 1e-3, 1e4, 65


class Glance:
    """About what a line says.

    Args:
        line: a line of D or of 1 - δ, with nothing added above it.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._c, self._h = float(line.choice.c), float(line.choice.h)

    @cached_property
    def _top(self) -> float:
        return float(self._line.log_sizes.max())

    @cached_property
    def _weights(self) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
        """The terms over the largest one, and those of the first two derivatives, in columns."""
        with precision(self._line.bits):
            scale = arb(-self._top).exp()
            terms = np.array([complex(term * scale) for term in self._line.nodes])
        turn = -1j * self._h * np.arange(terms.size)
        return np.stack([terms, terms * turn, terms * turn**2], axis=1)

    def _waves(self, eps: Floats, orders: int) -> Floats:
        """Return the wave and its derivatives over the largest term, not a number if unknown."""
        weights = self._weights[:, :orders]
        turns = np.exp(-1j * self._h * np.outer(eps, np.arange(weights.shape[0])))
        found = np.asarray((turns @ weights).real)
        found[found[:, 0] < _LEAST_SHARE * self._size] = np.nan
        return found

    @cached_property
    def _size(self) -> float:
        return float(np.abs(self._weights[:, 0]).sum())

    def logs(self, eps: Floats) -> Floats:
        """Return log of D, or of 1 - δ, at some ε; not a number where floats do not tell."""
        return np.asarray(np.log(self._waves(eps, 1)[:, 0]) + (self._top - self._c * eps))

    def slopes(self, eps: float) -> tuple[float, float, float]:
        """Return log of D, or of 1 - δ, and its first two derivatives, at one ε."""
        value, first, second = self._waves(np.array([eps]), 3)[0].tolist()
        slope = first / value
        log = math.log(value) + (self._top - self._c * eps)
        return log, slope - self._c, second / value - slope * slope

    def log_errors(self, eps: Floats) -> Floats:
        """Return about log of how far the line's ends are apart: cut off, rounded, and aliases."""
        line = self._line
        with precision(line.bits):
            around = 2 * (sum((term.rad() for term in line.nodes), arb(0)) + line.cut)
            errors = [(self._c, float(around.log().mid()) if around else -math.inf)]
        period = 2 * math.pi / self._h
        for b in (float(line.choice.right), float(line.choice.left)):
            log = line.moments.log(b) + (0.0 if line.complement else float(log_kappa(np.array(b))))
            gap = abs(b - self._c) * period
            errors.append((b, log - gap - math.log(-math.expm1(-gap))))
        return np.asarray(np.logaddexp.reduce([log - b * eps for b, log in errors]))

    @cached_property
    def log_sums(self) -> tuple[Floats, Floats]:
        """Log of some radii, and of Σ|a_k|·e^{khr} with each."""
        logs = self._line.log_sizes
        reach = self._line.choice.count * self._h
        places = np.linspace(math.log(_SHORT_REACH / reach), math.log(_LONG_REACH / reach), _PLACES)
        exponents = logs + np.outer(np.exp(places), self._h * np.arange(logs.size))
        tops = exponents.max(axis=1)
        return places, tops + np.log(np.exp(exponents - tops[:, None]).sum(axis=1))
