"""F(w) = ∫ p^w q^{1-w} of one pair, for the checker: on a line, at a point, and far out.

The mathematics is that of docs/check-a-mu.md. |F(w)| ≤ F(Re w), and F(1 + s) = E_P[e^{sL}].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import gmpy2
from gmpy2 import mpc, mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.bounded import Atom, Pair
from gdpbridge_verify.complexes import Ball, Complexes, cosine
from gdpbridge_verify.evidence import MAX_NODES, Nodes
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided

# microseconds of one node at one place, and of one exponential of a ball
_COST_OF_TERM, _COST_OF_BALL = 0.55, 12.0
# where an upper bound at one real place is all that is needed: half a strip, and how far φ reaches
_STRIP, _REACH, _STEPS_PER_STRIP = Fraction(2), 14, 8
# of -w·q, up to which (1 - q)^w needs no shorter strip
_MODEST = 8

Balls = list[Ball]


class Transform:
    """F of one run.

    Attributes:
        failure: P(L = ∞), and Q(L = -∞).
        symmetric: whether both directions are the same.
        needs_nodes: whether its evaluation on a line needs nodes.
        tail_variance: μ_t² of one run.
        numbers: rational numbers that are added up over runs.
    """

    failure: Fraction = Fraction(0)
    symmetric: bool = False
    needs_nodes: bool = False
    tail_variance: Fraction = Fraction(0)
    numbers: tuple[Fraction, ...] = ()

    @property
    def gaussian_variance(self) -> Fraction:
        """μ² of a Gaussian mechanism that dominates one run; 0 where none is known."""
        return self.tail_variance

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh) for k = 0, …, count - 1."""
        raise Malformed("evidence.unit", None, "a unit, for what is known on a lattice alone")

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w), or bound it from above by the upper end."""
        raise Malformed("evidence.unit", None, "a unit, for what is known on a lattice alone")

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the losses of a run, if they are bounded."""
        raise Malformed("evidence.unit", "given", "null, where a loss is not bounded")

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound |F(w + iy')| for every y' ≥ y by the upper end."""
        return self.at(field.arithmetic, w)

    def largest(self, of: Arithmetic) -> Fraction | Interval | None:
        """Return the largest finite loss, exactly if it is rational; None if there is none."""
        return None


class Directed(NamedTuple):
    """What M(s) is evaluated by in a direction, where, and whether its conjugates are wanted."""

    transform: Transform
    place: Fraction
    mirrored: bool


@dataclass(frozen=True)
class Runs:
    """One mechanism's transform and how often it is run.

    Attributes:
        transform: that of P against Q.
        times: how often it is run.
        reverse: the one of Q against P, where that is of another pair; None where it is F(-s).
    """

    transform: Transform
    times: int
    reverse: Transform | None = None

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return self.transform is self.reverse or (self.reverse is None and self.transform.symmetric)

    def directed(self, backward: bool, s: Fraction) -> Directed:
        """Return what is evaluated for M(s) in a direction."""
        if backward and self.reverse is not None:
            return Directed(self.reverse, 1 + s, False)
        return Directed(self.transform, -s if backward else 1 + s, backward)


class Nothing(Transform):
    """A run that tells nothing, but all where it fails: F(w) = 1 - f."""

    symmetric = True

    def __init__(self, failure: Fraction = Fraction(0)) -> None:
        self.failure = failure

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Return F, which is the same everywhere."""
        return [field.of(1 - self.failure)] * count

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F."""
        return of.exactly(1 - self.failure)

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the only finite loss, 0."""
        kept = of.exactly(1 - self.failure)
        return Pair(of.exactly(0), [Atom(Fraction(0), kept, kept)], None, self.failure)

    def largest(self, of: Arithmetic) -> Fraction:
        """Return 0."""
        return Fraction(0)


class Gaussian(Transform):
    """L is N(-v/2, v) under Q: F(w) = e^{v(w² - w)/2}, and |F(w + iy)| = F(w)·e^{-vy²/2}."""

    symmetric = True

    def __init__(self, variance: Fraction) -> None:
        self.tail_variance = variance
        self.numbers = (variance,)

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        field.arithmetic.charge(count * _COST_OF_BALL)
        half, places = self.tail_variance / 2, [h * k for k in range(count)]
        return [field.of(half * (w * w - w - y * y), half * (2 * w - 1) * y).exp() for y in places]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w)."""
        return of.exactly(self.tail_variance * (w * w - w) / 2).exp()

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Return |F(w + iy)|, which falls."""
        return field.arithmetic.exactly(self.tail_variance * (w * w - w - y * y) / 2).exp()


class SampledGaussian(Transform):
    """One step of DP-SGD on a Poisson sample: ∫ φ(u)·g(u)^w·g(-u)^v du.

    g(u) = 1 - q + q·e^{t(u)}, t(u) = u/σ - 1/(2σ²). A record is added or removed, with v = 0, or
    replaced: P = (1 - q)·N(0, σ²) + q·N(1, σ²) against the same with N(-1, σ²), with v = 1 - w.
    """

    needs_nodes = True
    bend: Fraction = Fraction(1)  # on Im u = v what is integrated grows by e^{bend·v²/2}

    def __init__(self, sigma: Fraction, rate: Fraction, *, replaced: bool = False) -> None:
        self.sigma, self.rate, self.symmetric = sigma, rate, replaced
        self.tail_variance = 1 / sigma**2
        self.numbers = (self.tail_variance,)

    @property
    def gaussian_variance(self) -> Fraction:
        """For q ≤ 1/2 the parts of both mixtures match up so that none is more than 1 apart."""
        return self.tail_variance * (4 if self.symmetric and 2 * self.rate > 1 else 1)

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh) by nodes on Im u = b: one error serves every k."""
        assert nodes is not None
        of, up = field.arithmetic, field.up
        logs, weights = self._weighted(field, w, nodes)
        share, cut = self._share_off(of, w, h * count, nodes), self._cut(of, w, nodes)
        sums, rounding = power_sums(field, weights, turns_of(field, logs, h), count)
        if not share < 1:
            raise Refused("evidence.lines: step", "the quadrature is too coarse for any bound")
        # F(w) ≤ |sum| + cut + share·F(w)
        first = Interval(of, mpfr(0), up.add(up.hypot(sums[0].real, sums[0].imag), rounding))
        radius = up.add(rounding, (share * ((first + cut) / (1 - share)) + cut).high)
        return [Ball(field, value, radius) for value in sums]

    def _share_off(self, of: Arithmetic, w: Fraction, y: Fraction, nodes: Nodes) -> Interval:
        height = nodes.shift + nodes.strip
        if not 0 < nodes.strip <= nodes.shift:
            raise Malformed("evidence.lines: strip", nodes.strip, "above 0 and at most the shift")
        if not of.pi * self.sigma > height:
            raise Refused("evidence.lines: strip", "the integrand may not be analytic there")
        return 2 * self._growth(of, w, height, height, nodes)

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Bound F(w): the trapezoid rule on the real line, in steps that need no search."""
        nodes, of = self._real_nodes(w), of.coarse()
        places = [nodes.step * j for j in nodes.numbers()]
        of.charge(2 * len(places) * _COST_OF_BALL)
        terms = ((self._log_at(of, w, x) - x * x / 2).exp() for x in places)
        total = sum(terms, of.exactly(0)) * nodes.step / (2 * of.pi).sqrt()
        share = 2 * self._growth(of, w, nodes.strip, nodes.strip, nodes)
        if not share < 1:
            raise Undecided("the moment at a real place")
        return Interval(of, mpfr(0), ((total + self._cut(of, w, nodes)) / (1 - share)).high)

    def _log_at(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        """Enclose the logarithm of g(x)^w·g(-x)^v."""
        found = self._log_g(of, x) * w
        return found + self._log_g(of, -x) * (1 - w) if self.symmetric else found

    def _real_nodes(self, w: Fraction) -> Nodes:
        powers = self._below_zero(w)
        strip = min(_STRIP, self.sigma * (Fraction(3, 2) if powers else 3))
        flat = not self.symmetric and 2 * self.rate <= 1 and -powers * self.rate < _MODEST
        if powers and not flat:
            # so that the cosine to that power is at most about e^4
            root = Fraction(math.isqrt(math.floor(2**45 / -powers)), 2**20)
            strip = min(strip, self.sigma * root)
        low = (Fraction(0) if flat else min(w, -self._other(w), Fraction(0))) / self.sigma
        high = max(w, Fraction(0)) / self.sigma
        step = strip / _STEPS_PER_STRIP
        # so steep a tilt, for which no step may be left, is no fault of the document
        if step * (MAX_NODES - 2) <= high - low + 2 * _REACH:
            raise OutOfWork
        first, last = math.floor((low - _REACH) / step), math.ceil((high + _REACH) / step)
        return Nodes(shift=Fraction(0), strip=strip, step=step, first=first, last=last)

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound by the integral of sizes on Im u = b, which falls in y."""
        assert nodes is not None
        of, height = field.arithmetic, nodes.shift + nodes.strip
        if nodes.shift <= 0 or nodes.strip <= 0:
            raise Malformed("evidence.lines: far", nodes.shift, "nodes off the real axis")
        # where the real part of what y multiplies is not below 0
        if not of.pi * self.sigma > (height if nodes.strip <= nodes.shift else 2 * height):
            raise Refused("evidence.lines: far", "the strip is too wide")
        total, square = of.exactly(0), nodes.shift**2 / 2
        for log, weight in zip(*self._weighted(field, w, nodes), strict=True):
            total += (log.imaginary() * -y).exp() * Interval(of, mpfr(0), weight.size())
        total = total * of.exactly(square * (self.bend - 1)).exp()
        error = 2 * self._growth(of, w, nodes.strip, height, nodes) * self.at(of, w)
        return total + error * of.exactly(square * self.bend).exp() + self._cut(of, w, nodes)

    def _other(self, w: Fraction) -> Fraction:
        """Return v."""
        return 1 - w if self.symmetric else Fraction(0)

    def _below_zero(self, w: Fraction) -> Fraction:
        """Return the sum of the exponents below 0, of moduli that may be smaller off the line."""
        return min(w, Fraction(0)) + min(self._other(w), Fraction(0))

    def _logs(self, field: Complexes, nodes: Nodes) -> tuple[Balls, Balls]:
        """Enclose L and b at the nodes: what is integrated is φ·e^{b + wL}."""
        logs = self._log_mixture(field, nodes, 1)
        if not self.symmetric:
            return logs, [field.zero(mpfr(0))] * len(logs)
        bases = self._log_mixture(field, nodes, -1)
        return [log - base for log, base in zip(logs, bases, strict=True)], bases

    def _log_mixture(self, field: Complexes, nodes: Nodes, sign: int) -> list[Ball]:
        """Enclose log g(±u) at the nodes."""
        numbers = nodes.numbers()
        field.arithmetic.charge(3 * len(numbers) * _COST_OF_BALL)
        drift, turn = 1 / (2 * self.sigma**2), sign * nodes.shift / self.sigma
        kept, rate = field.of(1 - self.rate), field.of(self.rate)
        places = [sign * nodes.step * j / self.sigma - drift for j in numbers]
        return [(kept + rate * field.of(place, turn).exp()).log() for place in places]

    def _weighted(self, field: Complexes, w: Fraction, nodes: Nodes) -> tuple[Balls, Balls]:
        """Enclose L, and the terms φ·e^{b + wL}·η at the nodes."""
        of, (logs, bases) = field.arithmetic, self._logs(field, nodes)
        of.charge(len(logs) * _COST_OF_BALL)
        scale = field.of((of.exactly(nodes.step) / (2 * of.pi).sqrt()).log())
        tilt, weights = field.of(w), list[Ball]()
        for j, log, base in zip(nodes.numbers(), logs, bases, strict=True):
            x = nodes.step * j
            square = field.of((nodes.shift**2 - x * x) / 2, -x * nodes.shift)
            weights.append((tilt * log + base + square + scale).exp())
        return logs, weights

    def _growth(
        self, of: Arithmetic, w: Fraction, rise: Fraction, height: Fraction, nodes: Nodes
    ) -> Interval:
        """Return e^{rise²/2}/(e^{2πa/η} - 1), as much more as |g| may be smaller at a height."""
        growth = of.exactly(rise**2 * self.bend / 2).exp() * self._thinned(of, w, height)
        return growth / (2 * of.pi * (nodes.strip / nodes.step)).expm1()

    def _thinned(self, of: Arithmetic, w: Fraction, height: Fraction) -> Interval:
        """Bound how much smaller |g| is than on the real line, to a power below 0.

        It is at least cos(height/2σ) of what it is there, and at least 1 - q where 2·height < πσ;
        without v, F(w) ≥ 1 for w < 0.
        """
        powers = self._below_zero(w)
        if powers == 0:
            return of.exactly(1)
        most = cosine(of.exactly(height / (2 * self.sigma)))
        if not most > 0:
            raise Refused("evidence.lines: strip", "it is too wide")
        found = (most.log() * powers).exp()
        if self.symmetric or not of.pi * self.sigma > 2 * height:
            return found
        flat = (of.exactly(1 - self.rate).log() * w).exp()
        return flat if flat < found else found

    def _cut(self, of: Arithmetic, w: Fraction, nodes: Nodes) -> Interval:
        """Bound the nodes left out, all on Im u = shift."""
        below, above, v = nodes.first * nodes.step, nodes.last * nodes.step, self._other(w)
        if below > 0 or above < 0 or below * self.sigma > -v or above * self.sigma < w:
            raise Refused("evidence.lines: nodes", "they leave out the middle")
        cost = of.exactly(nodes.shift**2 / 2).exp() * self._thinned(of, w, nodes.shift)
        return cost * (self._cut_above(of, w, v, above) + self._cut_above(of, v, w, -below))

    def _cut_above(self, of: Arithmetic, w: Fraction, v: Fraction, x: Fraction) -> Interval:
        """Bound ∫ φ(u)·g(u)^w·g(-u)^v above x.

        g/e^t falls, so that g ≤ (g(x)/e^{t(x)})·e^t; g(-u) falls from g(-x) to 1 - q.
        """
        log_g = self._log_g(of, x)
        back = self._log_g(of, -x) if v >= 0 else of.exactly(1 - self.rate).log()
        if w < 0:
            power = (log_g * w).exp()
            if not self.symmetric and power < 1:
                # off the real line g may be near its least, 1 - q, everywhere
                power = of.exactly(1)
            return power * (back * v).exp() * of.exactly(x).normal_tail()
        log_k = log_g - (x / self.sigma - 1 / (2 * self.sigma**2))
        moved = log_k * w + back * v + w * (w - 1) / (2 * self.sigma**2)
        return moved.exp() * of.exactly(x - w / self.sigma).normal_tail()

    def _log_g(self, of: Arithmetic, x: Fraction) -> Interval:
        t = of.exactly(x / self.sigma - 1 / (2 * self.sigma**2))
        return (t.exp() * self.rate + (1 - self.rate)).log()


def turns_of(field: Complexes, logs: Sequence[Ball], h: Fraction) -> list[Ball]:
    """Return z_j = e^{ihL_j}."""
    step = field.of(0, h)
    return [(step * log).exp() for log in logs]


def power_sums(
    field: Complexes, weights: Sequence[Ball], turns: Sequence[Ball], count: int
) -> tuple[list[mpc], mpfr]:
    """Return Σ_j W_j z_j^k for k < count, and a bound of the error of each.

    The products run from k to k + 1 without radii. With r and s the radii of W and z, A = |W| + r
    and a = (|z| + s)·(1 + unit), a term is off by at most (r + A·k·(a - |z|))·max(1, a)^k, and k
    times the least number more in place of r.
    """
    of, up = field.arithmetic, field.up
    of.charge(count * len(weights) * _COST_OF_TERM)
    error, total = mpfr(0), mpfr(0)
    for weight, turn in zip(weights, turns, strict=True):
        size, drift = weight.size(), up.add(turn.radius, up.mul(turn.size(), field.unit))
        growth = up.pow(max(up.add(turn.size(), drift), mpfr(1)), count)
        off = up.add(weight.radius, up.mul(count, up.add(up.mul(size, drift), field.least)))
        error = up.add(error, up.mul(off, growth))
        total = up.add(total, up.mul(size, growth))
    # each sum is rounded once, in both of its parts
    error = up.add(error, up.mul(total, up.mul(2, field.unit)))
    terms, factors = [one.middle for one in weights], [turn.middle for turn in turns]
    sums = []
    with gmpy2.context(field.nearest):
        for _ in range(count):
            parts = [term.real for term in terms], [term.imag for term in terms]
            sums.append(mpc(*map(gmpy2.fsum, parts), of.precision))
            terms = [term * factor for term, factor in zip(terms, factors, strict=True)]
    return sums, error
