"""One step of DP-SGD on a batch of a fixed size, for the checker: the pair that bounds it.

F(w) = K(w) + K(1 - w) + 1 - K(0) - K(1), K(w) = ∫ φ(u) g(u)^w du over u > m/2, on a ray from m/2
into the upper half plane. See docs/check-a-mu.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.complexes import Ball, Complexes, cosine
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.transforms import Transform, power_sums, turns_of

_COST_OF_BALL, _COST_OF_BOX = 12.0, 30.0
# of a box in which a bound is constant, the logarithm of the growth of g^w; how far φ reaches
_GROWTH, _REACH = Fraction(1, 2), 12
# where F is wanted at a real place, the logarithm of one over the error
_FAINT = 32


@dataclass(frozen=True)
class _Sector:
    """The sector 0 ≤ arg x ≤ β about a ray, on which |g| ≥ 1 and arg g ≥ 0."""

    cosine: Interval
    double: Interval


class FixedSizeGaussian(Transform):
    """The nodes are u = m/2 + e^{j·step + i·shift}; shift = strip is half of the sector's angle β.

    Args:
        apart: m, the sensitivity over the noise's standard deviation.
        rate: q, the share of the records in a batch.
    """

    symmetric = True
    needs_nodes = True

    def __init__(self, apart: Fraction, rate: Fraction) -> None:
        self.apart, self.rate = apart, rate
        self.tail_variance = apart**2
        self.numbers = (self.tail_variance,)
        self._known: dict[tuple[int, Fraction, int], tuple[Interval, Interval]] = {}

    # --- on a line -----------------------------------------------------------------------------

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh) = K(w + ikh) + conj K(1 - w + ikh) + the atom."""
        assert nodes is not None
        of = field.arithmetic
        logs, bases = self._on_ray(field, nodes)
        turns, sides = turns_of(field, logs, h), []
        for tilt in (w, 1 - w):
            weights = [(base + tilt * log).exp() for base, log in zip(bases, logs, strict=True)]
            sums, rounding = power_sums(field, weights, turns, count)
            radius = field.up.add(rounding, self._error(of, tilt, nodes, nodes.shift).high)
            sides.append([Ball(field, value, radius) for value in sums])
        atom = field.of(self._atom(of))
        return [one + other.conjugate() + atom for one, other in zip(*sides, strict=True)]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Bound F(w) by sums on the real line, in steps that need no search."""
        of = of.coarse()
        total = self._atom(of)
        for tilt in (w, 1 - w):
            nodes = self._usual_nodes(tilt)
            of.charge((nodes.last - nodes.first) * _COST_OF_BALL)
            for j in range(nodes.first, nodes.last + 1):
                log, base = self._at_node(of, nodes.step, j)
                total += (base + log * tilt).exp()
            # the integrand is real on the real line: the strip reaches as far below as above
            total += self._error(of, tilt, nodes, 2 * nodes.shift)
        return Interval(of, mpfr(0), total.high)

    def _usual_nodes(self, w: Fraction) -> Nodes:
        odds = (2 - self.rate) / self.rate
        # no float is as small as a rate may be, or as close to 1
        log_odds = math.log(odds.numerator) - math.log(odds.denominator)
        widest = math.atan(min(0.5, 0.45 * math.pi / max(log_odds, 1.0)))
        half = Fraction(math.floor(widest * 0.45 * 2**20), 2**20)
        step = Fraction(math.floor(4 * math.pi * float(half) / _FAINT * 2**20), 2**20)
        steep = max(w, Fraction(0)) * self.apart
        end = math.log((float(steep) + _REACH) / math.cos(4 * float(half)))
        first, last = math.floor(-_FAINT / step), math.ceil(end / step)
        return Nodes(shift=half, strip=half, step=step, first=first, last=last)

    def _at_node(self, of: Arithmetic, step: Fraction, j: int) -> tuple[Interval, Interval]:
        """Enclose log g, and log of φ·(du/ds)·η, at a node on the real line."""
        key = of.precision, step, j
        if key not in self._known:
            of.charge(3 * _COST_OF_BALL)
            log_x = of.exactly(step * j)
            x = log_x.exp()
            log = ((x * self.apart).expm1() * self.rate).log1p()
            u = x + self.apart / 2
            scale = (of.exactly(step) / (2 * of.pi).sqrt()).log()
            self._known[key] = log, log_x + scale - u.square() / 2
        return self._known[key]

    def _atom(self, of: Arithmetic) -> Interval:
        """Enclose P(L = 0) = (1 - q)·(2Φ(m/2) - 1)."""
        tail = (of.exactly(self.apart) / of.exactly(8).sqrt()).erfc()
        return (1 - tail) * (1 - self.rate)

    def _on_ray(self, field: Complexes, nodes: Nodes) -> tuple[list[Ball], list[Ball]]:
        """Enclose log g, and log of φ·(du/ds)·η, at the nodes."""
        of = field.arithmetic
        if nodes.shift != nodes.strip:
            raise Malformed("evidence.lines: strip", nodes.strip, "the shift, half of the sector")
        numbers = nodes.numbers()
        of.charge(6 * (nodes.last - nodes.first) * _COST_OF_BALL)
        scale = field.of((of.exactly(nodes.step) / (2 * of.pi).sqrt()).log())
        apart, shift, half = map(field.of, (self.apart, self.apart / 2, Fraction(1, 2)))
        mixture, logs, bases = self._mixture(field), [], []
        for j in numbers:
            log_x = field.of(nodes.step * j, nodes.shift)
            x = log_x.exp()
            u = x + shift
            logs.append(_log_g(x * apart, *mixture))
            bases.append(log_x + scale - u * u * half)
        return logs, bases

    def _mixture(self, field: Complexes) -> tuple[Ball, Ball]:
        """Enclose q and 1 - q."""
        return field.of(self.rate), field.of(1 - self.rate)

    # --- the error of the sum ------------------------------------------------------------------

    def _sector(self, of: Arithmetic, half: Fraction) -> _Sector:
        """Return the sector 0 ≤ arg x ≤ 2·half, if tan β ≤ 1/2 and ≤ .45π/log((2 - q)/q)."""
        if not 0 < half < Fraction(1, 2):
            raise Refused("evidence.lines: shift", "the ray is not next to the real line")
        beta = of.exactly(2 * half)
        along = cosine(beta)
        sine = cosine(of.pi / 2 - beta)
        limit = of.pi * Fraction(9, 20) / of.exactly((2 - self.rate) / self.rate).log()
        if not (2 * sine <= along and sine <= limit * along):
            raise Refused("evidence.lines: shift", "the sector is too wide")
        return _Sector(along, cosine(2 * beta))

    def _error(self, of: Arithmetic, w: Fraction, nodes: Nodes, strip: Fraction) -> Interval:
        """Bound what a sum differs from K by, for every Im w ≥ 0.

        The integrand is bounded in a strip of angles to either side of the nodes.
        """
        sector = self._sector(of, nodes.shift)
        step = of.exactly(nodes.step)
        start = of.exactly(nodes.step * nodes.first).exp()
        stop = of.exactly(nodes.step * nodes.last).exp()
        periods = (2 * of.pi * (strip / nodes.step)).expm1()
        beside = 2 * self._size(of, w, sector) / periods
        # below the first node the terms are at most those of a geometric series
        head = self._weight(of, sector, of.exactly(0)) * start * self._power(of, w, start)
        head = head * step / (1 - (-step).exp())
        # beyond the last one x·|φ|·|g|^w falls, so that they are below an integral
        fall = self._fall(w, sector, stop)
        if not fall * stop > 1:
            raise Refused("evidence.lines: last", "the nodes leave out the middle")
        return beside + head + self._tail(of, w, sector, stop)

    def _power(self, of: Arithmetic, w: Fraction, x: Interval) -> Interval:
        """Bound |g|^w within x of m/2."""
        if w <= 0:
            return of.exactly(1)
        return (((x * self.apart).expm1() * self.rate).log1p() * w).exp()

    def _weight(self, of: Arithmetic, sector: _Sector, x: Interval) -> Interval:
        """Bound |φ| at x and beyond, in the sector."""
        square = x * sector.cosine * self.apart + x.square() * sector.double + self.apart**2 / 4
        return (-square / 2).exp() / (2 * of.pi).sqrt()

    def _size(self, of: Arithmetic, w: Fraction, sector: _Sector) -> Interval:
        """Bound ∫ |φ|·|g|^w dx on every ray of the sector, box by box."""
        steep = max(w, Fraction(0)) * self.apart
        width = _GROWTH / (steep + 1)
        reach = steep / Fraction(float(sector.double.low)) + _REACH
        count = -(-reach // width)
        of.charge(count * _COST_OF_BOX)
        total = of.exactly(0)
        for low, high in pairwise(width * number for number in range(count + 1)):
            weight = self._weight(of, sector, of.exactly(low))
            total += weight * self._power(of, w, of.exactly(high)) * width
        return total + self._tail(of, w, sector, of.exactly(width * count))

    def _fall(self, w: Fraction, sector: _Sector, x: Interval) -> Interval:
        """Bound from below how fast log of |φ|·|g|^w falls at x."""
        return (
            sector.double * x - max(w, Fraction(0)) * self.apart + sector.cosine * (self.apart / 2)
        )

    def _tail(self, of: Arithmetic, w: Fraction, sector: _Sector, x: Interval) -> Interval:
        """Bound ∫ |φ|·|g|^w beyond x, where g grows at most as e^{m(x' - x)}."""
        fall = self._fall(w, sector, x)
        if not fall > 0:
            raise Refused("evidence.lines: last", "the nodes leave out the middle")
        return self._weight(of, sector, x) * self._power(of, w, x) / fall

    # --- far out -------------------------------------------------------------------------------

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound by the atom and ∫ |φ|·|g|^w·e^{-y·arg g} on a ray, by boxes.

        arg g grows while Im t + θ ≤ π; later it is at least Im t - π/6, as q·e^t is then at least
        twice 1 - q.
        """
        assert nodes is not None
        of = field.arithmetic
        self._sector(of, nodes.shift)
        theta = of.exactly(nodes.shift)
        # on the ray itself, of angle θ
        ray = _Sector(cosine(theta), cosine(2 * theta))
        sine = cosine(of.pi / 2 - theta)
        total, mixture = self._atom(of), self._mixture(field)
        end = of.exactly(0)
        for low, high in pairwise(self._points(of, nodes)):
            if high * sine * self.apart + theta <= of.pi:
                t = field.of(low * ray.cosine * self.apart, low * sine * self.apart)
                arg = _log_g(t, *mixture).imaginary()
            else:
                arg = low * sine * self.apart - of.pi / 6
            share = self._weight(of, ray, low) * (high - low) * (arg * -y).exp()
            total += share * (self._power(of, w, high) + self._power(of, 1 - w, high))
            end = high
        return total + self._tail(of, w, ray, end) + self._tail(of, 1 - w, ray, end)

    def _points(self, of: Arithmetic, nodes: Nodes) -> Iterator[Interval]:
        numbers = nodes.numbers("evidence.lines: far")
        of.charge(8 * (nodes.last - nodes.first) * _COST_OF_BALL)
        yield of.exactly(0)
        for j in numbers:
            yield of.exactly(nodes.step * j).exp()


def _log_g(t: Ball, rate: Ball, kept: Ball) -> Ball:
    """Enclose log(1 - q + q·e^t), whose argument grows beyond π with Im t."""
    if t.imaginary() < 3:
        return (rate * t.exp() + kept).log()
    return t + (rate + kept * (-t).exp()).log()
