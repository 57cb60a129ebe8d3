"""How near the losses of discrete Gaussian noise, composed, are to one Gaussian loss: proved.

T_j runs of variance σ_j² and sensitivity Δ_j have, with v = Σ T_j·Δ_j²/σ_j² and ϑ_j(m) = Σ_k
e^{-2π²σ_j²k² + 2πikm} (Poisson's formula),

    M(s) = e^{v(s² + s)/2}·∏ (ϑ_j(sΔ_j)/ϑ_j(0))^{T_j},

and Gaussian noise beside them only adds to v. All coefficients of ϑ being positive, M differs on
Re s = c from e^{v(s² + s)/2}/Θ, Θ = ∏ ϑ_j(0)^{T_j}, by at most e^{v(c² + c)/2}·b(y), with

    b(y) = e^{-vy²/2}·(∏ ϑ_j(iyΔ_j)^{T_j} - 1)/Θ ≤ exp(-Σ T_j·V_j·(1 - cos(y·Δ_j/σ_j²))),

V_j the variance of the noise: by Jacobi's triple product the characteristic function at z is a
product of factors 1 - κ·sin²(z/2), 0 < κ ≤ 1, and Σ κ = 2V. The integral of docs/composition.md at
c = ε/v - 1/2, or a little off it next to c = 0, then shows for all ε ≥ 0

    δ_μ(ε)/Θ - R·e^{-x²/2} ≤ δ(ε) ≤ δ_μ(ε) + R·e^{-x²/2},  μ² = v, x = ε/μ - μ/2,

R = e^{2vα²}·(1/π)∫ b(y)/(|α + iy|·|1/2 + iy|) dy + (Θ - 1)·e^{v/8}, α at most 1/4. As δ_m grows
with m by φ(ε/m - m/2), δ ≤ δ_M for M = μ + √(2π)·R·e^{(M² - v)/8}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from gdpbridge.losses.moments import Losses
from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["Nearness", "nearness"]

_BITS = 96
# of b, beside the distance from 0, that is not looked at more closely
_SMALL = 1e-10
# of a deviation of the loss, cells that are not parted further
_FINEST = 32
# what is left out far away, absolutely and beside what was found
_LITTLE, _SHARE, _LITTLE_MORE = 1e-8, 0.02, 0.002
_MOST_CELLS = 60_000
# of σ²/Δ, as far as the difference from 1 is looked at
_NEAR = 2.5
_HALF = 0.5
_MOST_MU = 1 << 20
# a μ for every ε that is so close to the least one
_CLOSE = Fraction(1, 500)


@dataclass(frozen=True)
class Nearness:
    """What is known.

    Attributes:
        variance: v.
        norm: Θ, not below it.
        gap: R, not below it.
    """

    variance: Fraction
    norm: Fraction
    gap: Fraction

    def largest(self) -> Fraction | None:
        """Return an M ≥ μ with δ ≤ δ_M at every ε; None if it is far from μ."""
        with precision(_BITS):
            mu = ball(self.variance).sqrt()
            # of the M in the exponent
            most = mu * (1 + arb(2) ** -6)
            rise = ((most * most - ball(self.variance)) / 8).exp()
            found = (mu + (2 * arb.pi()).sqrt() * ball(self.gap) * rise).upper()
            return to_fraction(found) if certainly(found < most) else None

    def close(self, share: Fraction = _CLOSE) -> Fraction | None:
        """Return the same M if it is hardly above μ, by a share of it at most, else None."""
        found = self.largest()
        if found is None or found**2 > self.variance * (1 + share) ** 2:
            return None
        return found


@dataclass(frozen=True)
class _Set:
    """Runs of one noise, and numbers of it.

    Attributes:
        rate: Δ/σ².
        weight: T·V, not above it.
        times: T.
        variance: σ².
        sensitivity: Δ.
    """

    rate: arb
    weight: arb
    times: int
    variance: Fraction
    sensitivity: int

    def log_theta(self, y: arb) -> arb:
        """Bound T·log ϑ(iyΔ)."""
        rate, turn = 2 * arb.pi() ** 2 * ball(self.variance), 2 * arb.pi() * y * self.sensitivity
        total, k = arb(0), 0
        while True:
            k += 1
            term = (turn * k - rate * k * k).exp()
            total += term * (1 + (-2 * turn * k).exp())
            # the ratio of what follows falls from one to the next
            ratio = (turn - rate * (2 * k + 1)).exp()
            if certainly(ratio < _HALF):
                # two such sums, the second one at most as large
                return (total + 2 * term * ratio / (1 - ratio)).log1p() * self.times


def nearness(losses: Losses) -> Nearness | None:
    """Return how near runs are to Gaussian noise; None where other losses are among them.

    Args:
        losses: the mechanisms and how often each is run.
    """
    known: dict[tuple[Fraction, int], int] = {}
    plain = Fraction(0)
    for part in losses:
        one = part.transform
        if isinstance(one, GaussianTransform):
            plain += part.times * one.variance
        elif isinstance(one, DiscreteGaussianTransform):
            key = one.variance, one.sensitivity
            known[key] = known.get(key, 0) + part.times
        else:
            return None
    variance = plain + sum(
        (times * Fraction(delta**2) / square for (square, delta), times in known.items()), plain * 0
    )
    if not known or variance > _MOST_MU**2:
        return None
    return _found(tuple((*key, times) for key, times in known.items()), plain, variance)


@lru_cache(maxsize=64)
def _found(
    runs: tuple[tuple[Fraction, int, int], ...], plain: Fraction, variance: Fraction
) -> Nearness | None:
    with precision(_BITS):
        # those that alone are enough nearly everywhere come first
        sets = sorted((_set(*one) for one in runs), key=lambda one: -float(one.weight))
        log_norm = sum((one.log_theta(arb(0)) for one in sets), arb(0))
        # at most 1/16 and 1/(8√v), for which e^{2vα²} is hardly above 1
        inside = Fraction(1, max(16, math.isqrt(math.ceil(64 * variance)) + 1))
        area = _Area(sets, plain, variance, inside).found()
        rise = ball(2 * variance * inside**2).exp()
        gap = rise * area / arb.pi() + log_norm.expm1() * ball(variance / 8).exp()
        if not gap.is_finite():
            return None
        return Nearness(variance, *(to_fraction(one.upper()) for one in (log_norm.exp(), gap)))


def _set(variance: Fraction, sensitivity: int, times: int) -> _Set:
    square = ball(variance)
    small = 2 * arb.pi() ** 2 * square
    r = (-small).exp()
    # V = σ²·(1 - 4π²σ²·E k²), E k² ≤ 2Σ k²·r^{k²}
    off = 4 * small * r * (1 + r) / (1 - r) ** 3
    weight = (times * square * (1 - off)).lower().max(arb(0))
    return _Set(ball(sensitivity / variance), weight, times, variance, sensitivity)


class _Area:
    """∫ b(y)/(|α + iy|·|1/2 + iy|) dy over y ≥ 0, from above."""

    def __init__(
        self, sets: Sequence[_Set], plain: Fraction, variance: Fraction, inside: Fraction
    ) -> None:
        self._sets, self._plain, self._inside = sets, ball(plain), ball(inside)
        self._variance, self._turn = ball(variance), 2 * arb.pi()
        # below it k = ±1 is most of ϑ
        self._near = min(_NEAR * float(one.variance) / one.sensitivity for one in sets)
        self._unit = 1 / math.sqrt(float(variance))

    def found(self) -> arb:
        """Return it: cells of [0, Y], and what is beyond."""
        total, start, stop, cells = arb(0), 0.0, 4 * self._unit, 0
        while True:
            # more of what is small would change little
            small = max(_SMALL, _LITTLE_MORE * float(total))
            area, count = self._between(start, stop, small)
            total, cells = total + area, cells + count
            rest = self._beyond(arb(stop))
            enough = (total * _SHARE).max(arb(_LITTLE))
            # the next range is twice as long
            if 3 * cells > _MOST_CELLS or certainly(rest < enough):
                return (total + rest).upper()
            start, stop = stop, 2 * stop

    def _between(self, start: float, stop: float, small: float) -> tuple[arb, int]:
        """Add up cells of a range; return how many were looked at, too."""
        stack, total, cells = [(start, stop)], arb(0), 0
        while stack:
            low, high = stack.pop()
            cells += 1
            enough = small * max(1.0, low)
            bound = self._above(arb(low), arb(high), enough)
            fine = (high - low) * _FINEST <= self._unit or cells > _MOST_CELLS
            if fine or certainly(bound < enough):
                square = arb(low) ** 2
                sizes = ((self._inside**2 + square) * (square + arb(1) / 4)).sqrt()
                total += bound * (arb(high) - arb(low)) / sizes
            else:
                middle = (low + high) / 2
                stack += [(middle, high), (low, middle)]
        return total, cells

    def _above(self, low: arb, high: arb, enough: float) -> arb:
        """Bound b on a range: by cosines, or about 0 by how much more than 1 the product is."""
        if certainly(high < self._near):
            rise = sum((one.log_theta(high) for one in self._sets), arb(0))
            return (-self._variance * low * low / 2).exp() * rise.expm1()
        least, middle, reach = self._plain * low * low / 2, (low + high) / 2, (high - low) / 2
        most = -math.log(enough)
        for one in self._sets:
            place = one.rate * middle
            off = abs(place - self._turn * round(float(place / self._turn)))
            # the least distance from a whole turn
            near = (off.min(self._turn - off) - one.rate * reach).lower().max(arb(0))
            least += one.weight * (1 - near.cos())
            if certainly(least > most):
                break
        return (-least).exp().upper()

    def _beyond(self, at: arb) -> arb:
        """Bound ∫ b(y)/y² beyond a place, by the mean of what one of the sets leaves.

        1 - cos z ≥ 2z²/π² for |z| ≤ π, so that over a turn e^{-w(1 - cos z)} has a mean of at most
        √(π/8w): it is taken with 1/y² at the begin of each.
        """
        found = (-self._plain * at * at / 2).exp() / at
        for one in self._sets:
            if certainly(one.weight > 0):
                mean = (arb.pi() / (8 * one.weight)).sqrt().min(arb(1))
                found = found.min(mean * (1 / at + self._turn / one.rate / at**2))
        return found.upper()
