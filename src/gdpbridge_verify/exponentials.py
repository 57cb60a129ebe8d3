"""Losses with a density of e^{-x/2} and atoms at both ends, for the checker.

Under Q the loss has the density (D/2)·e^{-(x+r)/2} on [-r, r] and atoms m at -r and m·e^{-r} at r;
with probability f it is infinite. The pair is symmetric, m(1 + e^{-r}) + D(1 - e^{-r}) = 1 - f, and

    F(w) = m·(e^{(w-1)r} + e^{-wr}) + D·e^{-r/2}·sinh((1/2 - w)r)/(1/2 - w).

Of a bounded range m = 0 and D = 1/(1 - e^{-r}); of truncated Laplace noise m = 1/2 - δ₀ and
D = 1/2 + δ₀/(e^{ε₀} - 1), f = δ₀; of Laplace noise m = D = 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.bounded import Atom, Density, Pair
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.transforms import Transform

_HALF = Fraction(1, 2)
# microseconds
_COST_OF_BALL = 12.0


class Exponential(Transform):
    """One run of a mechanism with such a loss.

    Args:
        width: r, positive.
        atom: m.
        density: encloses D.
        failure: f.
    """

    symmetric = True

    def __init__(
        self,
        width: Fraction,
        atom: Fraction,
        density: Callable[[Arithmetic], Interval],
        failure: Fraction = Fraction(0),
    ) -> None:
        self.width, self.atom, self.density, self.failure = width, atom, density, failure
        self.numbers = width, atom, failure

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        of, width = field.arithmetic, self.width
        of.charge(4 * count * _COST_OF_BALL)
        scale = self.density(of) * of.exactly(-width / 2).exp() / 2
        found = [field.of(self.at(of, w))]
        for k in range(1, count):
            z = field.of(w, h * k)
            gap = _HALF - z
            ends = ((z - 1) * width).exp() + (z * -width).exp()
            sine = (gap * width).exp() - (gap * -width).exp()
            found.append(ends * self.atom + sine * gap.inverse() * scale)
        return found

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w); sinh(x)/x lies between 1 and cosh x, which serves next to x = 0."""
        x = of.exactly(abs(_HALF - w) * self.width)
        if x > Fraction(1, 2 ** (of.precision // 2)):
            ratio = (x.exp() - (-x).exp()) / (2 * x)
        else:
            ratio = of.exactly(1).hull((x.exp() + (-x).exp()) / 2)
        middle = of.exactly(-self.width / 2).exp() * ratio * self.width
        return self._ends(of, w) * self.atom + middle * self.density(of)

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound the sine by cosh/y: what is left are the two atoms."""
        of = field.arithmetic
        return self._ends(of, w) * (self.atom + self.density(of) / (2 * y))

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the two atoms, and what is between them."""
        width, near = of.exactly(self.width), of.exactly(self.atom)
        far = near * (-width).exp()
        ends = [Atom(Fraction(0), far, near), Atom(2 * self.width, near, far)]
        return Pair(-width, ends, Density(self.width, self.density(of)), self.failure)

    def largest(self, of: Arithmetic) -> Fraction:
        """Return r."""
        return self.width

    def _ends(self, of: Arithmetic, w: Fraction) -> Interval:
        return of.exactly((w - 1) * self.width).exp() + of.exactly(-w * self.width).exp()


class Laplace(Exponential):
    """Laplace noise."""

    def __init__(self, epsilon: Fraction) -> None:
        super().__init__(epsilon, _HALF, lambda of: of.exactly(_HALF))


def of_bounded_range(width: Fraction) -> Exponential:
    """Return the loss that dominates all of a range r > 0."""
    return Exponential(width, Fraction(0), lambda of: 1 / -of.exactly(-width).expm1())


def of_truncated_laplace(width: Fraction, failure: Fraction) -> Exponential:
    """Return the loss of noise that is cut off: ε₀ and δ₀."""

    def density(of: Arithmetic) -> Interval:
        return of.exactly(failure) / of.exactly(width).expm1() + _HALF

    return Exponential(width, _HALF - failure, density, failure)
