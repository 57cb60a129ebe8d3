"""What ρ-zCDP says as a whole: its curve, the μ for which it is μ-GDP, and sums of such guarantees.

With t from 2t·artanh(t) = ρ the class is μ-GDP for μ = 2Φ⁻¹((1 + t)/2), and for no smaller one, as
δ(0) = t. That is proved for each ρ at hand. In e^ε both δ and δ_μ are convex.

- As long as randomized response is the worst event, δ is the tangent to δ_μ at ε = 0.
- On a cell [a, b] beyond it δ lies below its chord. A tangent to δ_μ that lies above δ at a and at
  b lies above the chord, and δ_μ above the tangent: two values of δ prove the cell.
- From some ε on the tail does; see handover.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import GaussianDecayTail
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = [
    "MAX_RHO",
    "MIN_RHO",
    "Concentration",
    "gaussian_cells",
    "zcdp_curve",
    "zcdp_mu",
    "zcdp_tail",
]

# below that, float64 does not find the boundary of what is possible
MIN_RHO = Fraction(1, 10**6)
MAX_RHO = Fraction(10**4)

_BITS = 128
# how close to √(2ρ) or μ the tail need come is no question here: any ε will do
_TAIL_TOL = Fraction(1, 10**9)
_MAX_CELLS = 10_000


@cache
def zcdp_curve(rho: Fraction) -> SmoothCurve:
    """Return δ(ε) of the class of ρ-zCDP mechanisms."""
    return SmoothCurve(zcdp_boundary(rho).pieces, zcdp_tail(rho))


def zcdp_tail(rho: Fraction) -> GaussianDecayTail:
    """Return how it falls."""
    # for α > 1, δ ≤ e^{(α-1)(ρα-ε)}: least at -(ε - ρ)²/(4ρ) = -ρ/4 + ε/2 - ε²/(2·2ρ), ε > ρ
    return GaussianDecayTail(-rho / 4, lambda: ball(2 * rho).sqrt(), rho, linear=Fraction(1, 2))


def zcdp_mu(rho: Fraction) -> Callable[[], arb]:
    """Return the least μ for which ρ-zCDP implies μ-GDP, as a constant.

    Raises:
        UndecidedError: if it could not be proved.
    """
    gaussian_cells(rho)
    return _mu_at_zero(rho)


def _mu_at_zero(rho: Fraction) -> Callable[[], arb]:
    curve = zcdp_curve(rho)
    return lambda: gaussian.mu_of(arb(0), curve.enclose(arb(0)))


@cache
def gaussian_cells(rho: Fraction) -> tuple[Fraction, ...]:
    """Prove that ρ-zCDP is μ-GDP for the μ of δ(0).

    Returns:
        The ends of the cells, increasing: randomized response proves it up to the first one, the
        tail from the last one on.

    Raises:
        UndecidedError: if it could not be proved.
    """
    return with_enough_precision(_BITS, lambda: _Cells(rho).ends())


class _Cells:
    """One attempt at the working precision."""

    def __init__(self, rho: Fraction) -> None:
        self.rho, self.curve, self.mu = rho, zcdp_curve(rho), _mu_at_zero(rho)()
        self._known: dict[arb, arb] = {}

    def ends(self) -> tuple[Fraction, ...]:
        start, _ = self.curve.pieces[1].bracket()
        least = self.mu.lower()
        handover = zcdp_tail(self.rho).covered_from(lambda: least, _TAIL_TOL)
        # it is so for the μ that it tells, and δ_μ rises with μ
        if not certainly(ball(handover.high) <= least):
            raise MorePrecisionError
        found = [start]
        stack = [(start, ball(handover.end).max(start).upper())]
        while stack:
            low, high = stack.pop()
            if not certainly(low < high):
                continue
            if self._proved(low, high):
                found.append(high)
                continue
            middle = ((low + high) / 2).mid()
            if len(found) + len(stack) > _MAX_CELLS:
                raise UndecidedError("it could not be proved which μ-GDP follows from ρ-zCDP")
            if not (certainly(low < middle) and certainly(middle < high)):
                raise MorePrecisionError
            stack += [(middle, high), (low, middle)]
        return tuple(to_fraction(one) for one in found)

    def _proved(self, low: arb, high: arb) -> bool:
        centre = ((low + high) / 2).mid()
        series = gaussian.log_delta_series(centre, centre, self.mu)
        # the tangent in e^ε is δ_μ(c)(1 + (log δ_μ)'(c)(e^{ε-c} - 1))
        return all(
            certainly(
                self._log_delta(eps) <= series[0] + (series[1] * (eps - centre).expm1()).log1p()
            )
            for eps in (low, high)
        )

    def _log_delta(self, eps: arb) -> arb:
        if eps not in self._known:
            self._known[eps] = self.curve.enclose(eps).log()
        return self._known[eps]


@dataclass(frozen=True)
class Concentration:
    """What is known of mechanisms run together, each ρ_i-zCDP or μ_i-GDP.

    They are Σρ-zCDP and √(Σμ²)-GDP together, μ_i-GDP being (μ_i²/2)-zCDP too (Bun and Steinke
    2016; Dong, Roth and Su 2022).

    Attributes:
        rho: Σρ of all of them.
        square: Σμ² of those that are known to be μ-GDP.
        counts: the ρ of the others, increasing, each with how many have it.
    """

    rho: Fraction
    square: Fraction
    counts: tuple[tuple[Fraction, int], ...] = ()

    @classmethod
    def of_zcdp(cls, rho: Fraction) -> Concentration:
        """Return that of a ρ-zCDP mechanism."""
        return cls(rho, Fraction(0), ((rho, 1),))

    @classmethod
    def of_gdp(cls, mu: Fraction) -> Concentration:
        """Return that of a μ-GDP mechanism."""
        return cls(mu * mu / 2, mu * mu)

    @classmethod
    def total(cls, parts: Iterable[Concentration]) -> Concentration:
        """Return that of all of them together."""
        parts = tuple(parts)
        counts: Counter[Fraction] = Counter()
        for part in parts:
            counts.update(dict(part.counts))
        return cls(
            sum((part.rho for part in parts), Fraction(0)),
            sum((part.square for part in parts), Fraction(0)),
            tuple(sorted(counts.items())),
        )

    def times(self, count: int) -> Concentration:
        """Return that of so many runs."""
        counts = tuple((rho, count * number) for rho, number in self.counts)
        return Concentration(count * self.rho, count * self.square, counts)

    def group(self, size: int) -> Concentration:
        """Return that for groups of so many records: size²·ρ and size·μ."""
        square = size * size
        counts = tuple((square * rho, number) for rho, number in self.counts)
        return Concentration(square * self.rho, square * self.square, counts)

    def mu(self) -> Constant:
        """Return √(Σμ²).

        Raises:
            UndecidedError: if the μ of one of them could not be proved.
        """
        if not self.counts and (exact := _root(self.square)) is not None:
            return exact
        found = [(zcdp_mu(rho), count) for rho, count in self.counts]

        def root() -> arb:
            total = ball(self.square)
            for mu, count in found:
                one = mu()
                total += count * one * one
            return total.sqrt()

        return root


def _root(square: Fraction) -> Fraction | None:
    """Return the square root of a rational number, if it is one."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    root = Fraction(top, bottom)
    return root if root * root == square else None
