"""Sums of losses with a density between atoms, and of discrete ones, exactly.

Of one run of Laplace noise and the like (losses/transforms/exponential.py), and of finite losses,
√(PQ) is a measure G of atoms and of densities that are constant; P is e^{x/2}·G, and Q e^{-x/2}·G.
Of a sum, G is the convolution: atoms at knots, and a polynomial between any two. In one direction

    δ(ε) - p_∞ = e^{ε/2}·Φ(ε),   Φ(ε) = ∫_{x>ε} 2·sinh((x - ε)/2) dG(x).

From the largest knot on downward Φ is carried from knot to knot: below a knot c, where G has the
density Σ q_j·y^j, y = c - ε,

    Φ(c - y) = A·cosh(y/2) + B·2·sinh(y/2) + Σ q_j·j!·K_{j+1}(y),
    K_m(y) = Σ_i y^{m+2i+1}/(4^i·(m+2i+1)!).

See docs/composition.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce

from flint import arb, arb_poly

from gdpbridge.errors import UndecidedError
from gdpbridge.losses.lattices import exactly, failure_of
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.sums import TIE_BITS, Law
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialTransform
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import MAX_PRECISION, certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["Spline", "spline_of"]

# runs with a density, knots, and both together
_MOST_RUNS, _MOST_KNOTS, _MOST_WORK = 250, 1 << 13, 1 << 17
# bits beyond those asked for, at first and in steps
_GUARD, _STEP = 64, 128
# of what is found, below those asked for
_SPARE = 4
_ORDER_BITS = 256
# what a coefficient takes at so many bits, where Φ is carried on, in units of numeric/effort.py
_CARRIED, _CARRIED_BITS = 25, 256


# a place of G: the sums that it is, of a place of what has a density and the number of another loss
_Knot = tuple[tuple[Fraction, int], ...]


@dataclass(frozen=True)
class _State:
    """Φ and G from a knot on downward, to the next one: A, B and the q_j."""

    value: arb
    fall: arb
    density: arb_poly


class Spline:
    """δ(ε), ε ≥ 0, of losses in one direction.

    Args:
        factors: those with a density, at least one.
        law: the sum of all others, or None.
        failure: p_∞.
    """

    def __init__(self, factors: Sequence[Factor], law: Law | None, failure: Number) -> None:
        self._factors, self._law, self.failure = tuple(factors), law, failure
        self._knots = self._in_order()
        with precision(_ORDER_BITS):
            self._floats = [-float(self._place(knot)) for knot in self._knots]
        self._states = cache(self._carried)

    @property
    def end(self) -> Number:
        """The largest finite loss."""
        last = sum((factor.times * _width(factor) for factor in self._factors), Fraction(0))
        if self._law is None:
            return last
        other = self._law.last
        if isinstance(other, Fraction):
            return last + other
        return lambda: ball(last) + number_ball(other)

    def enclose(self, eps: arb, past: Fraction = Fraction(0)) -> tuple[arb, arb]:
        """Enclose δ and 1 - δ at an exact ε ≥ 0, to the working precision, or of δ past a p.

        Raises:
            UndecidedError: if so much cancels that no precision will do.
        """
        wanted = working_precision() - _SPARE
        bits = -(-(working_precision() + _GUARD) // _STEP) * _STEP
        while bits <= 2 * MAX_PRECISION:
            with precision(bits):
                finite = self._finite(eps)
                failure, kept = number_ball(self.failure), ball(1 - past)
                if isinstance(self.failure, Fraction):
                    value = ball(self.failure - past) + finite
                else:
                    value = failure - ball(past) + finite
                value, rest = value / kept, (1 - failure - finite) / kept
                if min(value.rel_accuracy_bits(), rest.rel_accuracy_bits()) >= wanted:
                    return value, rest
            bits *= 2
        raise UndecidedError(f"δ at ε = {float(eps):.12g} is too small beside what adds up to it")

    def _finite(self, eps: arb) -> arb:
        """Enclose D = δ - p_∞."""
        places, states = self._states(working_precision())
        index: int = bisect_right(self._floats, -float(eps))
        # floats may be off
        while index < len(self._floats) and not certainly(places[index] <= eps):
            index += 1
        index -= 1
        while index >= 0 and certainly(places[index] <= eps):
            index -= 1
        found = arb(0) if index < 0 else _moved(states[index], places[index] - eps)[0]
        # balls may not tell on which side of a knot it is
        while index >= 0 and not certainly(places[index] > eps):
            index -= 1
            other = arb(0) if index < 0 else _moved(states[index], places[index] - eps)[0]
            found = found.union(other)
        return found * (eps / 2).exp()

    # --- knots ----------------------------------------------------------------------------------

    def _in_order(self) -> list[_Knot]:
        """Return the knots above 0, the largest first; equal ones are one."""
        widths = [{Fraction(0)}]
        for factor in self._factors:
            step = _width(factor)
            turns = range(-factor.times, factor.times + 1, 2)
            widths.append({one + turn * step for one in widths[-1] for turn in turns})
        losses = 1 if self._law is None else self._law.losses.size
        found: list[tuple[arb, _Knot]] = []
        with precision(TIE_BITS):
            others = [arb(0) if self._law is None else self._law.loss(n) for n in range(losses)]
            for number, other in enumerate(others):
                for place in widths[-1]:
                    at = ball(place) + other
                    if not certainly(at <= 0):
                        found.append((at, ((place, number),)))
            found.sort(key=lambda pair: to_fraction(pair[0].mid()), reverse=True)
            kept: list[tuple[arb, _Knot]] = []
            for at, knot in found:
                if kept and not certainly(at < kept[-1][0]):
                    # what so many bits do not tell apart is taken to be the same
                    kept[-1] = kept[-1][0], kept[-1][1] + knot
                else:
                    kept.append((at, knot))
        return [knot for _, knot in kept]

    def _place(self, knot: _Knot) -> arb:
        place, number = knot[0]
        return ball(place) + (arb(0) if self._law is None else self._law.loss(number))

    # --- from knot to knot ------------------------------------------------------------------------

    def _carried(self, bits: int) -> tuple[list[arb], list[_State]]:
        """Return all knots and the states there, at a precision."""
        with precision(bits):
            parts, law = self._parts(), self._law
            places = [self._place(knot) for knot in self._knots]
            masses: dict[int, arb] = {}
            found: list[_State] = []
            state, last = _State(arb(0), arb(0), arb_poly()), arb(0)
            for at, knot in zip(places, self._knots, strict=True):
                if found:
                    value, fall = _moved(state, last - at)
                    state = _State(value, fall, state.density(arb_poly([last - at, 1])))
                jump = arb_poly()
                for place, number in knot:
                    if number not in masses:
                        masses[number] = arb(1)
                        if law is not None:
                            masses[number] = law.mass(number) * (-law.loss(number) / 2).exp()
                    jump += parts[place] * masses[number]
                atom, *others = [*jump.coeffs()] or [arb(0)]
                more = [one / math.factorial(m) for m, one in enumerate(others)]
                state = _State(state.value, state.fall + atom, state.density + arb_poly(more))
                found.append(state)
                last = at
        return places, found

    def _parts(self) -> dict[Fraction, arb_poly]:
        """Return ∏(e^{rv}(α + d/v) + e^{-rv}(α - d/v))^n: at each c of e^{cv}, powers of 1/v."""
        found = {Fraction(0): arb_poly([1])}
        for factor in self._factors:
            one, n = factor.transform, factor.times
            assert isinstance(one, ExponentialTransform)
            scale = (-ball(one.loss.width) / 2).exp()
            alpha, density = ball(one.loss.atom) * scale, number_ball(one.loss.density) * scale / 2
            up, down = (
                _powers(arb_poly([alpha, density]), n),
                _powers(arb_poly([alpha, -density]), n),
            )
            product: dict[Fraction, arb_poly] = {}
            for j in range(n + 1):
                term = up[n - j] * down[j] * math.comb(n, j)
                for place, known in found.items():
                    at = place + (n - 2 * j) * one.loss.width
                    product[at] = product.get(at, arb_poly()) + known * term
            found = product
        return found


def spline_of(factors: Sequence[Factor]) -> Spline | None:
    """Return δ of losses in one direction; None where there are other ones, or too many sums."""
    smooth = [one for one in factors if isinstance(one.transform, ExponentialTransform)]
    finite = [one for one in factors if isinstance(one.transform, FiniteTransform)]
    if not smooth or len(smooth) + len(finite) < len(factors):
        return None
    runs, steps = sum(one.times for one in smooth), {_width(one) for one in smooth}
    if runs > _MOST_RUNS:
        return None
    # on their common lattice, or all apart
    unit = reduce(_common, steps)
    spread = 1 + int(sum(one.times * _width(one) for one in smooth) / unit)
    knots = min(spread, math.prod(one.times + 1 for one in smooth))
    if knots * runs > _MOST_WORK:
        return None
    law = None
    if finite:
        law = exactly(finite)
        if law is None or law.losses.size * knots > min(_MOST_KNOTS, _MOST_WORK // runs):
            return None
    return Spline(smooth, law, failure_of(factors))


def _width(factor: Factor) -> Fraction:
    assert isinstance(factor.transform, ExponentialTransform)
    return factor.transform.loss.width


def _common(one: Fraction, other: Fraction) -> Fraction:
    bottom = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * bottom), int(other * bottom)), bottom)


def _powers(one: arb_poly, most: int) -> list[arb_poly]:
    found = [arb_poly([1])]
    for _ in range(most):
        found.append(found[-1] * one)
    return found


def _moved(state: _State, y: arb) -> tuple[arb, arb]:
    """Return Φ(c - y) and its derivative in y."""
    half = y / 2
    cosh, sinh = half.cosh(), half.sinh()
    value = state.value * cosh + 2 * state.fall * sinh
    slope = state.value * sinh / 2 + state.fall * cosh
    coefficients = state.density.coeffs()
    if coefficients:
        spend(_CARRIED * len(coefficients) * working_precision() / _CARRIED_BITS)
        kernels = _kernels(y, len(coefficients), 2 * sinh)
        weight = arb(1)
        for j, one in enumerate(coefficients):
            weight = weight * j if j else weight
            value += one * weight * kernels[j + 1]
            slope += one * weight * kernels[j]
    return value, slope


def _kernels(y: arb, most: int, first: arb) -> list[arb]:
    """Return K_0, …, K_most, of which K_m = 4·(K_{m-2} - y^{m-1}/(m - 1)!)."""
    powers = [arb(1)]
    for m in range(1, most + 1):
        powers.append(powers[-1] * y / m)
    found = [arb(0)] * (most + 1)
    found[0] = first
    if certainly(y > 2 * most + 4):
        before = [(y / 2).cosh(), first]
        for m in range(1, most + 1):
            found[m] = 4 * (before[0] - powers[m - 1])
            before = [before[1], found[m]]
        return found
    for m in (most, most - 1):
        if m > 0:
            found[m] = _series(y, m, powers[m])
    for m in range(most, 2, -1):
        found[m - 2] = found[m] / 4 + powers[m - 1]
    return found


def _series(y: arb, m: int, power: arb) -> arb:
    """Return K_m(y) from y^m/m!, by its series, whose terms are all of one sign."""
    square = y * y / 4
    term = power * y / (m + 1)
    total, k = term, m + 1
    least = arb(2) ** -(working_precision() + _SPARE)
    while True:
        term = term * square / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
        ratio = square / ((k + 1) * (k + 2))
        if certainly(ratio < 0.5) and not certainly(term > total * least):
            return total + arb(0).union(2 * term * ratio)
