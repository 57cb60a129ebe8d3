"""F(w) = ∫ p^w q^{1-w} of one pair, for the checker: on a line, at a point, and far out.

The mathematics is that of docs/check-a-mu.md. |F(w)| ≤ F(Re w), and F(1 + s) = E_P[e^{sL}].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import gmpy2
from gmpy2 import mpc, mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided

__all__ = ["Gaussian", "Laplace", "Nodes", "SampledGaussian", "Transform", "power_sums"]

# microseconds of one node at one place, and of one exponential of a ball
_COST_OF_TERM, _COST_OF_BALL = 0.7, 12.0
# where an upper bound at one real place is all that is needed: half a strip, and how far φ reaches
_STRIP, _REACH, _STEPS_PER_STRIP = Fraction(2), 14, 8
_MOST_NODES = 200_000
# of -w·q, up to which (1 - q)^w needs no shorter strip
_MODEST = 8


@dataclass(frozen=True)
class Nodes:
    """The nodes j·step + i·shift, j = first, …, last, of a trapezoid rule, and its strip."""

    shift: Fraction
    strip: Fraction
    step: Fraction
    first: int
    last: int

    def numbers(self, line: str = "evidence.lines: nodes") -> range:
        """Return first, …, last.

        Raises:
            Malformed: if they are none, too many, or out of order.
        """
        if not 0 < self.last - self.first < _MOST_NODES or self.step <= 0:
            raise Malformed(line, self.last - self.first, "some, in order")
        return range(self.first, self.last + 1)


class Transform(ABC):
    """F of one run.

    Attributes:
        failure: P(L = ∞), and Q(L = -∞).
        symmetric: whether both directions are the same.
        needs_nodes: whether its evaluation on a line needs nodes.
        tail_variance: μ_t² of one run.
    """

    failure: Fraction = Fraction(0)
    symmetric: bool = False
    needs_nodes: bool = False
    tail_variance: Fraction = Fraction(0)

    @property
    def gaussian_variance(self) -> Fraction:
        """μ² of a Gaussian mechanism that dominates one run; 0 where none is known."""
        return self.tail_variance

    @abstractmethod
    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh) for k = 0, …, count - 1."""

    @abstractmethod
    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w), or bound it from above by the upper end."""

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound |F(w + iy')| for every y' ≥ y by the upper end."""
        return self.at(field.arithmetic, w)

    def largest(self, of: Arithmetic) -> Fraction | Interval | None:
        """Return the largest finite loss, exactly if it is rational; None if there is none."""
        return None


class Gaussian(Transform):
    """L is N(-v/2, v) under Q: F(w) = e^{v(w² - w)/2}."""

    symmetric = True

    def __init__(self, variance: Fraction) -> None:
        self.tail_variance = variance

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        of = field.arithmetic
        of.work.charge(count * _COST_OF_BALL)
        half = self.tail_variance / 2
        real, turn = half * (w * w - w), half * h * (2 * w - 1)
        return [
            field.of(of.exactly(real - half * h * h * k * k), of.exactly(turn * k)).exp()
            for k in range(count)
        ]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w)."""
        return of.exactly(self.tail_variance * (w * w - w) / 2).exp()

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """|F(w + iy)| = F(w)·e^{-v·y²/2}."""
        of = field.arithmetic
        return of.exactly(self.tail_variance * (w * w - w - y * y) / 2).exp()


class Laplace(Transform):
    """F(w) = (e^{(w-1)ε₀} + e^{-wε₀})/2 + e^{-ε₀/2}·sinh(x)/(2·(1/2 - w)), x = (1/2 - w)·ε₀."""

    symmetric = True

    def __init__(self, epsilon: Fraction) -> None:
        self.epsilon = epsilon

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        of = field.arithmetic
        of.work.charge(4 * count * _COST_OF_BALL)
        found = [field.of(self.at(of, w))]
        half = field.of(of.exactly(Fraction(1, 2)))
        scale = field.of(of.exactly(-self.epsilon / 2).exp()) * half * half
        for k in range(1, count):
            turn = h * k * self.epsilon
            up = field.of(of.exactly((w - 1) * self.epsilon), of.exactly(turn)).exp()
            down = field.of(of.exactly(-w * self.epsilon), of.exactly(-turn)).exp()
            gap = field.of(of.exactly(Fraction(1, 2) - w), of.exactly(-h * k))
            x = field.of(of.exactly((Fraction(1, 2) - w) * self.epsilon), of.exactly(-turn))
            found.append((up + down) * half + (x.exp() - (-x).exp()) * scale * gap.inverse())
        return found

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w); sinh(x)/x lies between 1 and cosh x, which serves next to x = 0."""
        eps = of.exactly(self.epsilon)
        x = of.exactly(abs(Fraction(1, 2) - w) * self.epsilon)
        cosh = (x.exp() + (-x).exp()) / 2
        if x > of.exactly(Fraction(1, 2 ** (of.precision // 2))):
            ratio = (x.exp() - (-x).exp()) / (2 * x)
        else:
            ratio = of.exactly(1).hull(cosh)
        ends = of.exactly((w - 1) * self.epsilon).exp() + of.exactly(-w * self.epsilon).exp()
        return ends / 2 + eps * (-eps / 2).exp() * ratio / 2

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound the sine by cosh/y: what is left are the two atoms."""
        of = field.arithmetic
        ends = of.exactly((w - 1) * self.epsilon).exp() + of.exactly(-w * self.epsilon).exp()
        return ends / 2 * (1 + 1 / of.exactly(2 * y))

    def largest(self, of: Arithmetic) -> Fraction:
        """Return ε₀."""
        return self.epsilon


class SampledGaussian(Transform):
    """One step of DP-SGD: ∫ φ(u)·g(u)^w du, g(u) = 1 - q + q·e^{t(u)}, t(u) = u/σ - 1/(2σ²)."""

    needs_nodes = True
    # whether |g| ≥ 1 - q bounds what is integrated for w < 0
    keeps_modulus = True

    def __init__(self, sigma: Fraction, rate: Fraction) -> None:
        self.sigma, self.rate = sigma, rate
        self.tail_variance = 1 / sigma**2

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh) by nodes on Im u = b: one error serves every k."""
        assert nodes is not None
        of = field.arithmetic
        height = nodes.shift + nodes.strip
        if not 0 < nodes.strip <= nodes.shift:
            raise Malformed("evidence.lines: strip", nodes.strip, "above 0 and at most the shift")
        self._require_strip(of, height)
        logs, weights = self._weighted(field, w, nodes)
        sums, rounding = power_sums(field, weights, logs, h, count)
        up = field.up
        share = 2 * self._growth(of, w, height, nodes)
        cut = self._cut(of, w, nodes)
        if not share < 1:
            raise Refused("evidence.lines: step", "the quadrature is too coarse for any bound")
        # F(w) ≤ |sum| + cut + share·F(w)
        first = Interval(of, mpfr(0), up.add(up.hypot(sums[0].real, sums[0].imag), rounding))
        radius = up.add(rounding, (share * ((first + cut) / (1 - share)) + cut).high)
        return [Ball(field, value, radius) for value in sums]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Bound F(w): the trapezoid rule on the real line, in steps that need no search."""
        strip = min(_STRIP, self.sigma * Fraction(3, 2))
        powers = self._below_zero(w)
        wide = self.keeps_modulus and 2 * self.rate <= 1 and -powers * self.rate < _MODEST
        if powers and not wide:
            # so that the cosine to that power is at most about e^4
            strip = min(strip, self.sigma * _root(Fraction(32) / -powers))
        low, high = self._tilted(w)
        nodes = Nodes(
            Fraction(0),
            strip,
            strip / _STEPS_PER_STRIP,
            _floor((low - _REACH) * _STEPS_PER_STRIP / strip),
            -_floor(-(high + _REACH) * _STEPS_PER_STRIP / strip),
        )
        if nodes.last - nodes.first >= _MOST_NODES:
            # so steep a tilt is the checker's to bound, and no fault of the document
            raise OutOfWork
        field = Complexes(of)
        _, weights = self._weighted(field, w, nodes)
        total = sum((weight.real() for weight in weights), of.exactly(0))
        share = 2 * self._growth(of, w, strip, nodes)
        if not share < 1:
            raise Undecided("the moment at a real place")
        size = (total + self._cut(of, w, nodes)) / (1 - share)
        return Interval(of, mpfr(0), size.high)

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound by the integral of sizes on Im u = v, which falls in y."""
        assert nodes is not None
        of = field.arithmetic
        if nodes.shift <= 0 or nodes.strip <= 0:
            raise Malformed("evidence.lines: far", nodes.shift, "nodes off the real axis")
        height = nodes.shift + nodes.strip
        if not of.exactly(2 * height) < of.pi * of.exactly(self.sigma):
            raise Refused("evidence.lines: far", "the strip is too wide")
        tilt, depth = of.exactly(w), of.exactly(y)
        total = of.exactly(0)
        scale = (of.exactly(nodes.step) / (2 * of.pi).sqrt()).log()
        logs, bases = self._logs(field, nodes)
        for j, log, base in zip(range(nodes.first, nodes.last + 1), logs, bases, strict=True):
            place = base.real() - of.exactly((nodes.step * j) ** 2 / 2)
            total += (tilt * log.real() - depth * log.imaginary() + place + scale).exp()
        growth = of.exactly(nodes.strip**2 / 2).exp() * self._thinned(of, w, height)
        periods = (2 * of.pi * of.exactly(nodes.strip / nodes.step)).expm1()
        error = 2 * growth * self.at(of, w) / periods
        shifted = of.exactly(nodes.shift**2 / 2).exp()
        return (total + error) * shifted + self._cut(of, w, nodes)

    def _below_zero(self, w: Fraction) -> Fraction:
        """Return the sum of the exponents below 0, of moduli that may be smaller off the line."""
        return min(w, Fraction(0))

    def _tilted(self, w: Fraction) -> tuple[Fraction, Fraction]:
        """Return between which places the integrand has its bulk."""
        return min(w / self.sigma, Fraction(0)), max(w / self.sigma, Fraction(0))

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        """Return places beyond which the bounds of what is cut off hold."""
        return Fraction(0), max(w / self.sigma, Fraction(0))

    def _logs(self, field: Complexes, nodes: Nodes) -> tuple[list[Ball], list[Ball]]:
        """Enclose L and b at the nodes: what is integrated is φ·e^{b + wL}."""
        logs = self._log_mixture(field, nodes, 1)
        return logs, [field.zero(mpfr(0))] * len(logs)

    def _log_mixture(self, field: Complexes, nodes: Nodes, sign: int) -> list[Ball]:
        """Enclose log g(±u) at the nodes."""
        of = field.arithmetic
        numbers = nodes.numbers()
        of.work.charge(2 * (nodes.last - nodes.first) * _COST_OF_BALL)
        drift = 1 / (2 * self.sigma**2)
        kept, rate = field.of(of.exactly(1 - self.rate)), field.of(of.exactly(self.rate))
        turn = of.exactly(sign * nodes.shift / self.sigma)
        found = []
        for j in numbers:
            t = field.of(of.exactly(sign * nodes.step * j / self.sigma - drift), turn)
            found.append((kept + rate * t.exp()).log())
        return found

    def _weighted(
        self, field: Complexes, w: Fraction, nodes: Nodes
    ) -> tuple[list[Ball], list[Ball]]:
        """Enclose L, and the terms φ·e^{b + wL}·η at the nodes."""
        of = field.arithmetic
        logs, bases = self._logs(field, nodes)
        of.work.charge(len(logs) * _COST_OF_BALL)
        tilt = field.of(of.exactly(w))
        scale = field.of((of.exactly(nodes.step) / (2 * of.pi).sqrt()).log())
        weights = []
        for j, log, base in zip(range(nodes.first, nodes.last + 1), logs, bases, strict=True):
            x = nodes.step * j
            square = field.of(
                of.exactly((nodes.shift**2 - x * x) / 2), of.exactly(-x * nodes.shift)
            )
            weights.append((tilt * log + base + square + scale).exp())
        return logs, weights

    def _require_strip(self, of: Arithmetic, height: Fraction) -> None:
        if not of.exactly(height) < of.pi * of.exactly(self.sigma):
            raise Refused("evidence.lines: strip", "the integrand may not be analytic there")

    def _growth(self, of: Arithmetic, w: Fraction, height: Fraction, nodes: Nodes) -> Interval:
        """Return e^{height²/2}/(e^{2πa/η} - 1), as much more as |g| may be smaller off the line."""
        growth = of.exactly(height**2 / 2).exp() * self._thinned(of, w, height)
        return growth / (2 * of.pi * of.exactly(nodes.strip / nodes.step)).expm1()

    def _thinned(self, of: Arithmetic, w: Fraction, height: Fraction) -> Interval:
        """Bound how much smaller |g| is than on the real line, to a power below 0.

        It is at least cos(height/2σ) of what it is there, and at least 1 - q where 2·height < πσ;
        F(w) ≥ 1 for w < 0.
        """
        powers = self._below_zero(w)
        if powers == 0:
            return of.exactly(1)
        cosine = of.exactly(height / (2 * self.sigma)).cos()
        if not cosine > 0:
            raise Refused("evidence.lines: strip", "it is too wide")
        found = (of.exactly(powers) * cosine.log()).exp()
        if self.keeps_modulus and of.exactly(2 * height) < of.pi * of.exactly(self.sigma):
            flat = (of.exactly(w) * of.exactly(1 - self.rate).log()).exp()
            return flat if flat < found else found
        return found

    def _cut(self, of: Arithmetic, w: Fraction, nodes: Nodes) -> Interval:
        """Bound the nodes left out, all on Im u = shift."""
        below, above = nodes.first * nodes.step, nodes.last * nodes.step
        low, high = self._middle(w)
        if below > low or above < high:
            raise Refused("evidence.lines: nodes", "they leave out the middle")
        cost = of.exactly(nodes.shift**2 / 2).exp() * self._thinned(of, w, nodes.shift)
        return cost * (self._cut_below(of, w, below) + self._cut_above(of, w, above))

    def _log_g(self, of: Arithmetic, x: Fraction) -> Interval:
        t = of.exactly(x / self.sigma - 1 / (2 * self.sigma**2))
        return (of.exactly(1 - self.rate) + of.exactly(self.rate) * t.exp()).log()

    def _cut_below(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        """Bound ∫ φ·g^w below x: g grows, and is above 1 - q."""
        power = self._log_g(of, x) if w >= 0 else of.exactly(1 - self.rate).log()
        return (of.exactly(w) * power).exp() * _normal_tail(of.exactly(-x))

    def _cut_above(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        """Bound ∫ φ·g^w above x: g/e^t falls, so that g ≤ (g(x)/e^{t(x)})·e^t."""
        tilt, log_g = of.exactly(w), self._log_g(of, x)
        if w < 0:
            # off the real line g may be near its least, 1 - q, everywhere
            power = (tilt * log_g).exp()
            return (of.exactly(1) if power < 1 else power) * _normal_tail(of.exactly(x))
        log_k = log_g - of.exactly(x / self.sigma - 1 / (2 * self.sigma**2))
        moved = tilt * log_k + of.exactly(w * (w - 1) / (2 * self.sigma**2))
        return moved.exp() * _normal_tail(of.exactly(x - w / self.sigma))


def _normal_tail(x: Interval) -> Interval:
    """Return P(N(0, 1) > x)."""
    return (x / x.of.exactly(2).sqrt()).erfc() / 2


def _root(value: Fraction) -> Fraction:
    """Return about the square root, from below."""
    scale = 1 << 20
    return Fraction(math.isqrt(_floor(value * scale * scale)), scale)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def power_sums(
    field: Complexes, weights: Sequence[Ball], logs: Sequence[Ball], h: Fraction, count: int
) -> tuple[list[mpc], mpfr]:
    """Return Σ_j W_j z_j^k, z_j = e^{ihL_j}, for k < count, and a bound of the error of each.

    The products run from k to k + 1 without radii. With r and s the radii of W and z, A = |W| + r
    and a = (|z| + s)·(1 + unit), a term is off by at most (r + A·k·(a - |z|))·max(1, a)^k.
    """
    of, up = field.arithmetic, field.up
    of.work.charge(count * len(weights) * _COST_OF_TERM)
    step = field.of(of.exactly(0), of.exactly(h))
    turns = [(step * log).exp() for log in logs]
    error, total = mpfr(0), mpfr(0)
    for weight, turn in zip(weights, turns, strict=True):
        size, drift = weight.size(), up.add(turn.radius, up.mul(turn.size(), field.unit))
        growth = up.pow(max(up.add(turn.size(), drift), mpfr(1)), count)
        off = up.add(weight.radius, up.mul(up.mul(size, count), drift))
        error = up.add(error, up.mul(off, growth))
        total = up.add(total, up.mul(size, growth))
    # each sum is rounded once, in both of its parts
    error = up.add(error, up.mul(total, up.mul(2, field.unit)))
    terms = [weight.middle for weight in weights]
    factors = [turn.middle for turn in turns]
    sums = []
    with gmpy2.context(field.nearest):
        for k in range(count):
            sums.append(
                mpc(
                    gmpy2.fsum([term.real for term in terms]),
                    gmpy2.fsum([term.imag for term in terms]),
                    of.precision,
                )
            )
            if k < count - 1:
                terms = [term * factor for term, factor in zip(terms, factors, strict=True)]
    return sums, error
