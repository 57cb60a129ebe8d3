"""One line of nodes s = c + ikh, for the checker: curves above and below δ(ε) of composed losses.

With M(s) = ∏ F_i(1 + s)^{T_i}, R = 2π/h and V(ε) = Re Σ_{|k| ≤ N} a_k e^{-ikhε},
a_k = (h/2π)·M(s_k)/(s_k(s_k + 1)), and B a bound of |M(c + iy)| for y ≥ Nh:

    c > 0:       D(ε) ≤ e^{-cε}(V + B/(πNh)),  D(ε) ≥ e^{-cε}(V - B/(πNh)) - Σ_b α_b e^{-bε}
    -1 < c < 0:  the same of 1 - δ(ε), with -V in place of V

and δ = p_∞ + D. See docs/check-a-mu.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Jet
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.numbers import exact
from gdpbridge_verify.refusal import Malformed, Undecided
from gdpbridge_verify.transforms import Nodes, Transform

__all__ = ["Line", "LineData", "Runs", "log_chernoff"]

# microseconds of one term of a Taylor coefficient
_COST_OF_TERM = 0.5
_COST_OF_BALL = 25.0
MAX_NODES = 1 << 18
_MOST_TERMS = 400
_COST_OF_TURN = 2.5
# sums of floats that are rounded to nearest, and products of some, are below these times them
_UPWARD, _UPWARD_SUM, _TINY = 1 + 2.0**-49, 1 + 2.0**-33, 1e-300


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

    def directed(self, backward: bool, s: Fraction) -> tuple[Transform, Fraction, bool]:
        """Return what is evaluated for M(s) in a direction, where, and whether conjugates are."""
        if backward and self.reverse is not None:
            return self.reverse, 1 + s, False
        return self.transform, -s if backward else 1 + s, backward


@dataclass(frozen=True)
class LineData:
    """A line as a certificate has it.

    Attributes:
        c: its real part.
        h: the distance of the nodes.
        count: N.
        right: the tilt b > c of the aliases on the right.
        left: the tilt b < c of those on the left.
        nodes: for each part, the quadrature on the line, None where none is needed.
        far: for each part, the one that bounds what lies beyond the nodes.
    """

    c: Fraction
    h: Fraction
    count: int
    right: Fraction
    left: Fraction
    nodes: tuple[Nodes | None, ...]
    far: tuple[Nodes | None, ...]


class Line:
    """The curves of one line, in one direction.

    Args:
        parts: the mechanisms and their counts.
        backward: whether the direction is Q against P, in which M(s) = ∏ F_i(-s)^{T_i}.
        data: the line.
        arithmetic: the arithmetic.
    """

    def __init__(
        self, parts: Sequence[Runs], backward: bool, data: LineData, arithmetic: Arithmetic
    ) -> None:
        self.parts, self.backward, self.data, self.of = tuple(parts), backward, data, arithmetic
        self._require_shape()
        self._turned: tuple[Fraction, _Turned] | None = None

    def _require_shape(self) -> None:
        data, line = self.data, "evidence.lines"
        if not 1 <= data.count <= MAX_NODES:
            raise Malformed(f"{line}: count", data.count, f"between 1 and {MAX_NODES}")
        if not data.h > 0:
            raise Malformed(f"{line}: h", data.h, "a number > 0")
        if not (data.c > 0 or -1 < data.c < 0):
            raise Malformed(f"{line}: c", data.c, "a number > 0, or between -1 and 0")
        low, high = (Fraction(-1), Fraction(0)) if self.is_complement else (Fraction(0), None)
        if not low <= data.left < data.c:
            raise Malformed(f"{line}: left", data.left, f"at least {low}, and less than c")
        if not data.c < data.right or (high is not None and data.right > high):
            raise Malformed(f"{line}: right", data.right, "more than c, and at most 0 where c < 0")
        if len(data.nodes) != len(self.parts) or len(data.far) != len(self.parts):
            raise Malformed(f"{line}: nodes", len(data.nodes), f"{len(self.parts)}, one a part")
        for part, nodes, far in zip(self.parts, data.nodes, data.far, strict=True):
            for given in (nodes, far):
                if (given is not None) != part.transform.needs_nodes:
                    raise Malformed(f"{line}: nodes", given, "those that the kind needs")

    @property
    def is_complement(self) -> bool:
        """Whether the curves are of 1 - δ."""
        return self.data.c < 0

    # --- the curves --------------------------------------------------------------------------

    def above(self, eps: Jet) -> Jet:
        """Return the logarithm of what is above D, or 1 - δ, at a point or on a range."""
        return self._times_tilt((self._wave(eps) + self._cut).log(), eps)

    def below(self, eps: Jet) -> Jet:
        """Return the logarithm of what is below D, or 1 - δ."""
        tilt = self.of.exactly(self.data.c)
        found = self._wave(eps) - self._cut
        # relative to e^{-cε}
        for place, alias in self._aliases:
            steepness = tilt - self.of.exactly(place)
            found = found - eps.scaled(steepness).exp().scaled(alias)
        return self._times_tilt(found.log(), eps)

    def _times_tilt(self, log: Jet, eps: Jet) -> Jet:
        return log - eps.scaled(self.of.exactly(self.data.c))

    def _wave(self, eps: Jet) -> Jet:
        low, high = exact(eps.value.low), exact(eps.value.high)
        middle = (low + high) / 2
        # a cell about its centre has the same turned terms as the centre
        if self._turned is None or self._turned[0] != middle:
            self._turned = middle, _Turned(self, middle)
        return _Expansion(self, self._turned[1], (high - low) / 2).jet()

    # --- the numbers of the line ---------------------------------------------------------------

    @cached_property
    def _directed(self) -> list[tuple[Transform, Fraction, bool]]:
        return [part.directed(self.backward, self.data.c) for part in self.parts]

    @cached_property
    def field(self) -> Complexes:
        """The complex numbers at this precision."""
        return Complexes(self.of)

    @cached_property
    def terms(self) -> list[Ball]:
        """Return a_k, twice for k > 0, and with the sign of the curve."""
        data, field, of = self.data, self.field, self.of
        count = data.count + 1
        of.work.charge(count * len(self.parts) * 3 * _COST_OF_BALL)
        columns = [
            transform.on_line(field, place, data.h, count, nodes)
            for (transform, place, _), nodes in zip(self._directed, data.nodes, strict=True)
        ]
        unit = of.exactly(data.h) / (2 * of.pi)
        found = []
        for k in range(count):
            value = field.of(-unit if self.is_complement else unit)
            if k:
                value = value + value
            s = field.of(of.exactly(data.c), of.exactly(data.h * k))
            one = field.of(of.exactly(1))
            value = value * (s * (s + one)).inverse()
            for part, column, (_, _, mirrored) in zip(
                self.parts, columns, self._directed, strict=True
            ):
                power = _power(column[k], part.times)
                value = value * (power.conjugate() if mirrored else power)
            found.append(value)
        return found

    @cached_property
    def scales(self) -> tuple[mpfr, list[float], list[float]]:
        """Return a unit, the sizes of a_k in it, and their radii in it and units of rounding."""
        up = self.field.up
        sizes = [ball.size() for ball in self.terms]
        top = max(sizes)
        rounding = self.field.down.mul(top, self.field.unit)
        if not rounding > 0:
            raise Undecided("a line whose terms vanish")
        return (
            top,
            [float(up.div(size, top)) + _TINY for size in sizes],
            [float(up.div(ball.radius, rounding)) + _TINY for ball in self.terms],
        )

    @cached_property
    def _cut(self) -> Interval:
        """Bound what the nodes |k| > N add: within ± B/(πNh)."""
        data, of = self.data, self.of
        edge = data.h * data.count
        log = of.exactly(0)
        for part, (transform, place, _), far in zip(
            self.parts, self._directed, data.far, strict=True
        ):
            size = transform.at(of, place)
            beyond = transform.beyond(self.field, place, edge, far)
            most = Interval(of, mpfr(0), min(size.high, beyond.high))
            log += of.exactly(part.times) * most.log().ends()[1]
        return (log.exp() / (of.pi * of.exactly(edge))).ends()[1]

    @cached_property
    def _aliases(self) -> list[tuple[Fraction, Interval]]:
        """Return the tilts b and bounds of the aliases' constants α_b."""
        return [(b, self._alias(b)) for b in (self.data.left, self.data.right)]

    def _alias(self, b: Fraction) -> Interval:
        of = self.of
        if self.is_complement or b == 0:
            log = _log_moment(self.parts, self.backward, b, of)
        else:
            log = log_chernoff(self.parts, self.backward, b, of)
        periods = 2 * of.pi * of.exactly(abs(b - self.data.c)) / of.exactly(self.data.h)
        return (log.exp() / periods.expm1()).ends()[1]


def _log_moment(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log M(b) from above."""
    log = of.exactly(0)
    for part in parts:
        transform, place, _ = part.directed(backward, b)
        log += of.exactly(part.times) * transform.at(of, place).log().ends()[1]
    return log


def log_chernoff(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log(κ(b)·M(b)) from above for b > 0, κ(b) = b^b/(1 + b)^{1 + b}."""
    kappa = of.exactly(b) * of.exactly(b).log() - of.exactly(1 + b) * of.exactly(1 + b).log()
    return (_log_moment(parts, backward, b, of) + kappa).ends()[1]


def _power(value: Ball, times: int) -> Ball:
    """Return v^T: by logarithms, or where v may be 0 by its size alone."""
    field = value.field
    try:
        turned = value.middle.real < 0
        log = (-value if turned else value).log()
        power = (log * field.of(field.arithmetic.exactly(times))).exp()
        return -power if turned and times % 2 else power
    except Undecided:
        return field.zero(field.up.pow(value.size(), times))


def _sum(values: Sequence[float]) -> float:
    """Return a little more than a sum of numbers ≥ 0."""
    total = sum(values) * _UPWARD_SUM
    if not total < math.inf:
        raise Undecided("a line that does not converge")
    return total


class _Turned:
    """The terms a_k·e^{-ikhm} about a place m, and how far off and how large each may be.

    Sizes are floats in units of ``top``, radii in units of ``top`` times a unit of rounding; what
    is too small for a float is taken to be ``_TINY``.
    """

    def __init__(self, line: Line, middle: Fraction) -> None:
        of, field = line.of, line.field
        of.work.charge(len(line.terms) * _COST_OF_TURN)
        step = field.of(of.exactly(0), of.exactly(-line.data.h * middle)).exp()
        up = field.up
        # |ẑ^k(1 + …) - z^k| ≤ k·(|z - ẑ| + 2 units)·(1 + …)^k, with |z| = 1
        off = up.add(step.radius, up.mul(2, field.unit))
        growth = up.pow(up.add(1, up.mul(2, off)), len(line.terms))
        drift = float(up.div(up.mul(off, growth), field.unit)) * _UPWARD
        self.top, self.sizes, radii = line.scales
        # |âẑ - az| ≤ |â - a|·|z| + |â|·|ẑ - z|, and rounding
        self.radii = [
            (radius + size * (k * drift + 2)) * _UPWARD
            for k, (size, radius) in enumerate(zip(self.sizes, radii, strict=True))
        ]
        power = field.of(of.exactly(1)).middle
        self.reals, self.imaginaries = [], []
        multiply = field.nearest.mul
        for term in line.terms:
            value = multiply(term.middle, power)
            self.reals.append(value.real)
            self.imaginaries.append(value.imag)
            power = multiply(power, step.middle)


class _Expansion:
    """V about a place m as a polynomial in x = (ε - m)/r, |x| ≤ 1, with what is left out.

    Its coefficients are Re Σ_k b_k (-ikhr)^j/j! for j < J, and the rest is at most
    Σ_k |b_k| (khr)^J/J!.
    """

    def __init__(self, line: Line, turned: _Turned, radius: Fraction) -> None:
        self.line, self.of = line, line.of
        # at a point three coefficients are all that is asked for, in units of the nodes
        self.is_point = radius == 0
        self.unit = radius or 1 / (line.data.h * line.data.count)
        self.coefficients: list[Interval] = []
        self.rest = Interval(self.of, mpfr(0), self._expand(turned))

    def _expand(self, turned: _Turned) -> mpfr:
        """Find the coefficients, and return the bound of the rest."""
        field, up, nearest = self.line.field, self.line.field.up, self.line.field.nearest
        count = len(turned.sizes)
        step = self.of.exactly(self.line.data.h * self.unit).high
        with gmpy2.context(nearest):
            scale = [step * k for k in range(count)]
            squares = [value * value for value in scale]
            columns = [turned.reals, turned.imaginaries]
        sizes, radii = turned.sizes, turned.radii
        # a little more than each, also after the roundings of the products below
        coarse = [float(value) * _UPWARD for value in scale]
        small = _sum(sizes) * float(field.unit) + _TINY
        factorial = gmpy2.mpz(1)
        for terms in range(_MOST_TERMS + 1):
            total = _sum(sizes) + _TINY
            if terms == _MOST_TERMS or (terms >= 3 and (self.is_point or total <= small)):
                break
            self.of.work.charge(count * _COST_OF_TERM)
            if terms:
                factorial *= terms
                with gmpy2.context(nearest):
                    factors = scale if terms == 1 else squares
                    columns[terms % 2] = [
                        value * factor
                        for value, factor in zip(columns[terms % 2], factors, strict=True)
                    ]
            with gmpy2.context(nearest):
                middle = gmpy2.fsum(columns[terms % 2]) / factorial
            if terms % 4 >= 2:
                middle = nearest.minus(middle)
            # six roundings of half a unit a term, and those of the sum
            off = (_sum(radii) + _TINY + total * (3 * terms + 3)) * _UPWARD
            away = up.mul(up.mul(turned.top, field.unit), mpfr(off))
            self.coefficients.append(
                Interval(self.of, self.of.down.sub(middle, away), self.of.up.add(middle, away))
            )
            ratios = [value / (terms + 1) for value in coarse]
            sizes = [value * ratio for value, ratio in zip(sizes, ratios, strict=True)]
            radii = [value * ratio for value, ratio in zip(radii, ratios, strict=True)]
        return up.mul(turned.top, mpfr(total))

    def jet(self) -> Jet:
        """Return V, V' and V''/2 on all of the range."""
        of, terms = self.of, len(self.coefficients)
        unit = of.exactly(self.unit)
        if self.is_point:
            value, slope, curvature = self.coefficients[:3]
            return Jet(value, slope / unit, curvature / unit.square())
        x = Interval(of, mpfr(-1), mpfr(1))
        value, slope, curvature = of.exactly(0), of.exactly(0), of.exactly(0)
        for j in reversed(range(terms)):
            one = self.coefficients[j]
            value = value * x + one
            if j >= 1:
                slope = slope * x + one * j
            if j >= 2:
                curvature = curvature * x + one * (j * (j - 1) // 2)
        rest = self.rest.high
        away = Interval(of, of.down.minus(rest), rest)
        # the i-th derivative's rest is the same sum with J - i in place of J: J!/(J - i)! times it
        return Jet(
            value + away,
            (slope + away * terms) / unit,
            (curvature + away * (terms * (terms - 1) // 2)) / unit.square(),
        )
