"""Runs of discrete Gaussian noise that are nearly one Gaussian mechanism, for the checker.

With T_j runs of variance σ_j² that a record moves by Δ_j, v_0 of Gaussian noise, v = v_0 +
Σ T_j·Δ_j²/σ_j², μ² = v and x = ε/μ - μ/2, for every ε ≥ 0

    δ_μ(ε)/Θ - R·e^{-x²/2} ≤ δ(ε) ≤ δ_μ(ε) + R·e^{-x²/2},
    R = e^{2vα²}·(1/π)∫ b(y)/(√(α² + y²)·√(1/4 + y²)) dy over y ≥ 0, + (Θ - 1)·e^{v/8},

and δ ≤ δ_M at every ε for M ≥ μ + √(2π)·R·e^{(M² - v)/8}. Here Θ = ∏ ϑ_j(0)^{T_j}, ϑ_j(y) = 1 +
2·Σ_k e^{-2π²σ_j²k²}·cosh(2πkΔ_j·y) over k ≥ 1, 0 < α ≤ 1/4, and b is at most each of

    e^{-vy²/2}·(∏ ϑ_j(y)^{T_j} - 1)   and   exp(-v_0·y²/2 - Σ T_j·V_j·(1 - cos(y·Δ_j/σ_j²)))

with V_j the variance of the noise. docs/check-a-mu.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, Work
from gdpbridge_verify.composed import LossesCheck
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.finite import DiscreteGaussian
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Undecided

# of R, whatever the line needs
_BITS = 96
# beside y, what of b is not looked at more closely; a share of a deviation that is not parted
_SMALL, _FINEST = 1e-10, 32
# what is left out far away: at most so much, or such a share of what was found
_LITTLE, _SHARE = 1e-8, 0.02
_MOST_CELLS, _MOST_SQUARE = 30_000, 1 << 30
# of σ²/Δ, up to where the difference from 1 is looked at
_NEAR = Fraction(5, 2)
# microseconds of a cell, and of one noise on it
_COST_OF_CELL, _COST_OF_NOISE = 25.0, 8.0
# what one certificate may take of all lines
_MOST_WORK = 4.5e6

_Noise = tuple[Fraction, int, int]


class Nearness(NamedTuple):
    """Upper bounds of Θ and R, and what it took to find them, in microseconds."""

    norm: Fraction
    gap: Fraction
    cost: float


class NearnessCheck(LossesCheck):
    """The lines of a certificate of such runs, at one precision: no evidence is needed."""

    count_of_directions = 1

    def build(self) -> Tail:
        """Return what is known of the tail."""
        tail = super().build()
        if self.evidence.witness_line is not None or self.evidence.tail_from is not None:
            raise Malformed("evidence", "a line or a tail", "null: δ is nearly that of one curve")
        if not self.variance < _MOST_SQUARE:
            raise Malformed("mechanism", "a μ² beyond 2^30", "smaller")
        noise: dict[tuple[Fraction, int], int] = {}
        plain = Fraction(0)
        for part in self.composition.parts:
            one = part.transform
            if isinstance(one, DiscreteGaussian):
                key = one.sigma**2, one.sensitivity
                noise[key] = noise.get(key, 0) + part.times
            else:
                plain += part.times * one.tail_variance
        self.near = _nearness(tuple((*key, times) for key, times in noise.items()), plain)
        self.arithmetic.work.charge(self.near.cost)
        self._mu = self.enclosed(self.variance).sqrt()
        self._curve = GaussianCurve(self._mu)
        return tail

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high, which covers every ε."""
        if self.high is None:
            return super().upper_end()
        if cells := self.cells_to_prove():
            raise Malformed("evidence.cells", len(cells), "none: μ covers every ε")
        rise = self.enclosed((self.high**2 - self.variance) / 8).exp()
        root = (2 * self.arithmetic.pi).sqrt()
        self.hold("claim.mu.high", self.high - (self._mu + root * self.near.gap * rise))
        return f"{self.covers}, with μ = {self.claim.mu.high}: δ is so near to a Gaussian curve"

    def _gap(self, at: Fraction) -> Interval:
        """Return R·e^{-x²/2}."""
        x = self.enclosed(at) / self._mu - self._mu / 2
        return (-x.square() / 2).exp() * self.near.gap

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number."""
        delta, gap = self._curve.level(self.enclosed(at)), self._gap(at)
        self.hold(line, Level(delta.value + gap, delta.complement - gap).under(level))

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Return by how much δ(ε) exceeds a number."""
        delta, gap = self._curve.level(self.enclosed(at)), self._gap(at)
        value = delta.value / self.near.norm - gap
        return wanted.under(Level(value, 1 - value))


class _Known(NamedTuple):
    """A noise, and bounds of Δ/σ² and of T·V."""

    square: Fraction
    sensitivity: int
    times: int
    low: mpfr
    high: mpfr
    weight: mpfr


@lru_cache(maxsize=8)
def _nearness(noise: tuple[_Noise, ...], plain: Fraction) -> Nearness:
    """Bound Θ and R.

    Raises:
        Undecided: if nothing is shown, as for little noise.
        OutOfWork: if it takes more than one certificate may.
    """
    work = Work(_MOST_WORK)
    of = Arithmetic(_BITS, work)
    variance = plain + sum((t * Fraction(d**2) / s for s, d, t in noise), Fraction(0))
    known = sorted((_known(of, one) for one in noise), key=lambda one: -one.weight)
    inside = Fraction(1, max(16, math.isqrt(math.ceil(64 * variance)) + 1))
    log_norm = sum((_log_theta(of, one, of.exactly(0)) for one in known), of.exactly(0))
    area = _Area(of, known, plain, variance, inside).found()
    rise = of.exactly(2 * variance * inside**2).exp()
    gap = rise * area / of.pi + log_norm.expm1() * of.exactly(variance / 8).exp()
    norm = log_norm.exp()
    if not (gmpy2.is_finite(gap.high) and gmpy2.is_finite(norm.high)):
        raise Undecided("how near noise is to Gaussian noise")
    most = [Fraction(*one.high.as_integer_ratio()) for one in (norm, gap)]
    return Nearness(most[0], most[1], work.spent)


def _known(of: Arithmetic, noise: _Noise) -> _Known:
    """Return the numbers of a noise: V ≥ σ²·(1 - 8π²σ²·Σ k²·r^{k²}), r = e^{-2π²σ²}."""
    square, sensitivity, times = noise
    of.work.charge(_COST_OF_CELL)
    rate, rise = of.exactly(sensitivity / square), 2 * of.pi.square() * square
    r = (-rise).exp()
    # Σ k²·r^{k²} ≤ Σ k²·r^k
    off = 4 * rise * r * (1 + r) / ((1 - r).square() * (1 - r))
    weight = (1 - off).positive() * (times * square)
    return _Known(square, sensitivity, times, rate.low, rate.high, weight.low)


def _log_theta(of: Arithmetic, noise: _Known, y: Interval) -> Interval:
    """Bound T·log ϑ(y) from above by the upper end, y ≥ 0."""
    rise, turn = 2 * of.pi.square() * noise.square, 2 * of.pi * y * noise.sensitivity
    total, k = of.exactly(0), 0
    while True:
        k += 1
        of.work.charge(_COST_OF_CELL)
        term = (turn * k - rise * k**2).exp()
        total += term * (1 + (-2 * k * turn).exp())
        # ratios of terms fall, and those with e^{-2πkΔy} are the smaller ones
        ratio = (turn - rise * (2 * k + 1)).exp()
        if ratio < Fraction(1, 2):
            return (total + 2 * term * ratio / (1 - ratio)).log1p() * noise.times


class _Area:
    """∫ b(y)/(√(α² + y²)·√(1/4 + y²)) dy over y ≥ 0, from above."""

    def __init__(
        self,
        of: Arithmetic,
        noise: Sequence[_Known],
        plain: Fraction,
        variance: Fraction,
        inside: Fraction,
    ) -> None:
        self.of, self.noise, self.plain = of, noise, plain
        self.variance, self.inside, self.tau = variance, inside, 2 * of.pi
        # multiples of a power of 2
        self.unit = Fraction(2) ** -math.frexp(math.sqrt(variance))[1]
        self.near = min(_NEAR * one.square / one.sensitivity for one in noise)
        self.total, self.cells = of.exactly(0), 0

    def found(self) -> Interval:
        """Return cells of [0, Y], and what is beyond."""
        start, stop = Fraction(0), 4 * self.unit
        while True:
            small = max(_SMALL, float(self.total.high) / 500)
            self._add(start, stop, small)
            rest = self._beyond(stop)
            enough = max(_LITTLE, _SHARE * float(self.total.high))
            # the next range is twice as long
            if rest.high < enough or 3 * self.cells > _MOST_CELLS:
                return self.total + rest
            start, stop = stop, 2 * stop

    def _add(self, start: Fraction, stop: Fraction, small: float) -> None:
        """Add up cells, parted where b may be large."""
        of, up, stack = self.of, self.of.up, [(start, stop)]
        while stack:
            low, high = stack.pop()
            self.cells += 1
            of.work.charge(_COST_OF_CELL)
            enough = small * max(1.0, float(low))
            bound = self._near_zero(low, high) if high <= self.near else self._by_cosines(low, high)
            width = high - low
            fine = width * _FINEST <= self.unit or self.cells > _MOST_CELLS
            if fine or bound < enough:
                square = low * low
                sizes = of.exactly((self.inside**2 + square) * (square + Fraction(1, 4))).sqrt()
                term = up.div(up.mul(bound, of.exactly(width).high), sizes.low)
                self.total += Interval(of, mpfr(0), term)
            else:
                middle = (low + high) / 2
                stack += [(middle, high), (low, middle)]

    def _near_zero(self, low: Fraction, high: Fraction) -> mpfr:
        """Bound b by how much more than 1 the product of all ϑ is."""
        of, log, at = self.of, self.of.exactly(0), self.of.exactly(high)
        for one in self.noise:
            log += _log_theta(of, one, at)
        return (of.exactly(-self.variance * low * low / 2).exp() * log.expm1()).high

    def _by_cosines(self, low: Fraction, high: Fraction) -> mpfr:
        """Bound b by the least that the cosines leave, each on its own."""
        of, down, up, tau = self.of, self.of.down, self.of.up, self.tau
        least = of.exactly(self.plain * low * low / 2).low
        first, last = of.exactly(low).low, of.exactly(high).high
        for one in self.noise:
            of.work.charge(_COST_OF_NOISE)
            begin, end = down.mul(one.low, first), up.mul(one.high, last)
            # the last whole turn that is not after the begin
            turns = int(down.floor(down.div(begin, tau.high)))
            over = down.sub(begin, up.mul(turns, tau.high))
            under = down.sub(down.mul(turns + 1, tau.low), end)
            half = down.div(min(over, under), 2)
            if half > 0:
                # 1 - cos z = 2·sin²(z/2), which rises up to z = π
                sine = down.sin(min(half, _QUARTER))
                least = down.add(least, down.mul(one.weight, down.mul(2, down.square(sine))))
                if least > _ENOUGH:
                    break
        return up.exp(up.minus(least))

    def _beyond(self, at: Fraction) -> Interval:
        """Bound ∫ b(y)/y² beyond a place, by the mean of one of the cosines' terms.

        As 1 - cos z ≥ 2z²/π² up to π, over a turn e^{-w(1 - cos z)} has a mean of at most √(π/8w);
        it is taken with 1/y² at the begin of each.
        """
        of = self.of
        place = of.exactly(at)
        found = of.exactly(-self.plain * at * at / 2).exp() / place
        for one in self.noise:
            if one.weight > 0:
                mean = (of.pi / (8 * Interval(of, one.weight, one.weight))).sqrt()
                turn = self.tau / Interval(of, one.low, one.high)
                rest = mean * (1 / place + turn / place.square())
                found = found if found.high < rest.high else rest
        return found


# below π/2, and a power of e that leaves nothing
_QUARTER, _ENOUGH = mpfr(1.5), mpfr(40)
