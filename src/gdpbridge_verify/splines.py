"""Laplace noise several times, also beside discrete losses, for the checker: δ at an ε.

With r = ε₀, √(PQ) is for one run e^{-r/2}/2 times atoms of 1 at ±r and the density 1/2 between
them. Of a sum it is the convolution G, and

    D(ε) = e^{ε/2}·Φ(ε),   Φ(ε) = ∫_{x>ε} 2·sinh((x - ε)/2) dG(x).

G's transform is a product of e^{-r/2}/2·(e^{rv}(1 + u) + e^{-rv}(1 - u)), u = 1/(2v): at each sum
c of ±r it has whole coefficients I_m of u^m, and to Φ at ε < c they add Σ I_m·κ_m((c - ε)/2),

    κ_m(z) = 2·Σ_i z^{m+2i+1}/(m+2i+1)!,   κ_m = κ_{m-2} - 2·z^{m-1}/(m-1)!.

From knot to knot downward Φ is A·cosh z + 2B·sinh z + Σ t_m·κ_m(z), z half the distance.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.finite import Finite
from gdpbridge_verify.law import Law
from gdpbridge_verify.refusal import OutOfWork, Undecided

# Laplace parts' runs, and knots
_MOST_RUNS, _MOST_KNOTS = 400, 1 << 13
# microseconds of one operation, and of what a knot or a place needs besides
_COST_OF_STEP, _COST_OF_PLACE, _COST_OF_PRODUCT = 2.0, 60.0, 0.2
# up to which z, beside m, κ_m is summed
_NEAR, _FARTHEST = 2, 1000


class _State(NamedTuple):
    """Φ and G from a knot on downward: A, B and all t_m."""

    value: Interval
    fall: Interval
    density: list[Interval]


class Spline:
    """D(ε) of Laplace noise and discrete losses in one direction.

    Args:
        laplace: ε₀ of each Laplace part, and how many runs.
        others: laws of discrete losses, and how many runs.
        of: the arithmetic.
    """

    def __init__(
        self,
        laplace: Sequence[tuple[Fraction, int]],
        others: Sequence[tuple[Finite, int]],
        of: Arithmetic,
    ) -> None:
        self.of, self.runs = of, sum(times for _, times in laplace)
        if self.runs > _MOST_RUNS:
            raise OutOfWork
        terms = _terms(laplace, of)
        width = sum((epsilon * times for epsilon, times in laplace), Fraction(0))
        self._log_scale = of.exactly(-width / 2) - of.exactly(2).log() * self.runs
        sums, self._lost = [(of.exactly(0), of.exactly(1))], of.exactly(0)
        if others:
            sums, self._lost = Law(others, Fraction(0), of).sums()
        if len(sums) * len(terms) > _MOST_KNOTS:
            raise OutOfWork
        knots = []
        for loss, mass in sums:
            weight = mass * (-loss / 2).exp()
            places = ((loss + place, powers) for place, powers in terms.items())
            knots += [(at, weight, powers) for at, powers in places if not at <= 0]
        knots.sort(key=lambda knot: knot[0].low)
        self._places = [at for at, _, _ in knots]
        self._lows = [at.low for at in self._places]
        self._tops = list(accumulate((at.high for at in self._places), max))
        self._states = self._carried(knots)

    def _carried(self, knots: Sequence[tuple[Interval, Interval, list[int]]]) -> list[_State]:
        """Return the states at all knots, from the last one on.

        Those whose order is not known may come in any: what begins at each is carried over an
        interval of distances, of either sign, by formulas that hold for all of them.
        """
        of, runs, found = self.of, self.runs, list[_State]()
        growth = 1 + of.precision / 500
        of.work.charge(len(knots) * (runs * runs + 8 * runs + 60) * _COST_OF_STEP * growth)
        zero = of.exactly(0)
        state, last = _State(zero, zero, [zero] * runs), zero
        for at, weight, powers in reversed(knots):
            if found:
                state = self._moved(state, (last - at) / 2)
            jumps = [weight * power for power in powers]
            density = [one + jump for one, jump in zip(state.density, jumps[1:], strict=True)]
            state, last = _State(state.value, state.fall + jumps[0], density), at
            found.append(state)
        return found[::-1]

    def _moved(self, state: _State, z: Interval) -> _State:
        """Return Φ and G about a place that is so far below."""
        cosh, sinh = _hyperbolic(z)
        kernels = _kernels(z, self.runs, 2 * sinh)
        value, slope = state.value * cosh + state.fall * (2 * sinh), state.value * sinh
        slope += state.fall * (2 * cosh)
        for number, one in enumerate(state.density):
            value += one * kernels[number + 1]
            slope += one * kernels[number]
        return _State(value, slope / 2, _shifted(state.density, z))

    def enclose(self, at: Fraction) -> Interval:
        """Enclose D at an ε ≥ 0.

        Raises:
            Undecided: if the precision does not tell on which side of a knot it is.
        """
        try:
            return self._enclosed(at)
        except Undecided:
            # it is a knot, or close to one: D does not rise
            near = Fraction(1, 1 << self.of.precision // 2)
            if at < near:
                raise
            before, after = self._enclosed(at - near), self._enclosed(at + near)
            return Interval(self.of, after.low, before.high)

    def _enclosed(self, at: Fraction) -> Interval:
        of, eps = self.of, self.of.exactly(at)
        of.work.charge((6 * self.runs + _COST_OF_PLACE + of.precision / 4) * _COST_OF_STEP)
        number = bisect_right(self._lows, eps.high)
        if number and not self._tops[number - 1] <= eps.low:
            raise Undecided("on which side of a loss it is")
        found = of.exactly(0)
        if number < len(self._places):
            z, state = (self._places[number] - eps) / 2, self._states[number]
            cosh, sinh = _hyperbolic(z)
            found = state.value * cosh + state.fall * (2 * sinh)
            for one, kernel in zip(
                state.density, _kernels(z, self.runs, 2 * sinh)[1:], strict=True
            ):
                found += one * kernel
        value = found * (self._log_scale + eps / 2).exp()
        # what is lost of the masses is worth at most itself
        zero = mpfr(0)
        return Interval(of, max(value.low, zero), max((value + self._lost).high, zero))


def _terms(laplace: Sequence[tuple[Fraction, int]], of: Arithmetic) -> dict[Fraction, list[int]]:
    """Return the coefficients of u^0, u^1, … at each sum of ±ε₀."""
    found: dict[Fraction, list[int]] = {Fraction(0): [1]}
    for epsilon, times in laplace:
        if len(found) * (times + 1) > _MOST_KNOTS:
            raise OutOfWork
        before, found = found, {}
        known = len(next(iter(before.values())))
        of.work.charge(len(before) * known * (times + 1) ** 2 * _COST_OF_PRODUCT)
        row = [math.comb(times, m) for m in range(times + 1)]
        for j in range(times + 1):
            ways = math.comb(times, j)
            for place, powers in before.items():
                at = place + (times - 2 * j) * epsilon
                total = found.setdefault(at, [0] * (known + times))
                for m, one in enumerate(powers):
                    for n, two in enumerate(row):
                        total[m + n] += ways * one * two
            row = _turned(row)
    return found


def _turned(row: list[int]) -> list[int]:
    """Multiply a polynomial by (1 - u)/(1 + u), which divides it but for the last one."""
    quotient, rest = [], 0
    for one in row[:-1]:
        rest = one - rest
        quotient.append(rest)
    return [one - two for one, two in zip([*quotient, 0], [0, *quotient], strict=True)]


def _hyperbolic(z: Interval) -> tuple[Interval, Interval]:
    """Return cosh z and sinh z."""
    rise, growth = z.expm1(), z.exp()
    return (growth + 1 / growth) / 2, (rise + rise / growth) / 2


def _kernels(z: Interval, most: int, first: Interval) -> list[Interval]:
    """Return κ_0, …, κ_most at z, of which the first is known."""
    of = z.of
    powers = [of.exactly(2)]
    for m in range(1, most + 1):
        powers.append(powers[-1] * z / m)
    found = [first] * (most + 1)
    if z > most + _NEAR:
        growth = z.exp()
        before = [growth + 1 / growth, first]
        for m in range(1, most + 1):
            found[m] = before[0] - powers[m - 1]
            before = [before[1], found[m]]
        return found
    for m in (most, most - 1):
        if m > 0:
            found[m] = _series(z, m, powers[m])
    for m in range(most, 2, -1):
        found[m - 2] = found[m] + powers[m - 1]
    return found


def _series(z: Interval, m: int, power: Interval) -> Interval:
    """Return κ_m(z) from 2·z^m/m!, by its series, whose terms are all of one sign."""
    of, square, k = z.of, z.square(), m + 1
    term = power * z / k
    total, top = term, max(abs(z.low), abs(z.high))
    if not top <= _FARTHEST:
        return z.everything()
    while True:
        term = term * square / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
        # from here on less than half is added each time
        near = 2.1 * top * top < (k + 1) * (k + 2)
        if near and max(abs(term.low), abs(term.high)) <= abs(total.high) * 2.0**-of.precision:
            rest = term.hull(of.exactly(0))
            return total + rest
        of.work.charge(_COST_OF_STEP)


def _shifted(density: list[Interval], z: Interval) -> list[Interval]:
    """Return Σ_{l ≥ m} t_l·z^{l-m}/(l - m)! for every m: coefficients about another place."""
    shares = [z.of.exactly(1)]
    for m in range(1, len(density)):
        shares.append(shares[-1] * z / m)
    found = []
    for m, one in enumerate(density):
        total = one
        for other, share in zip(density[m + 1 :], shares[1:], strict=False):
            total += other * share
        found.append(total)
    return found
