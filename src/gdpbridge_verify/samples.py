"""Bounded losses of a mechanism on a Poisson sample, for the checker.

With P against Q without sampling, and a record in the sample with probability γ, the pair of its
removal is P' = (1 - γ)Q + γP against Q, and that of its addition is the same the other way round: a
loss L becomes ℓ(L) = log(1 - γ + γe^L), and Q keeps its masses. Where P is 0, P' has (1 - γ)Q.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.bounded import Atom, Density, Pair
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.exponentials import Laplace
from gdpbridge_verify.finite import Finite, finite_of
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.transforms import Runs, Transform

# microseconds: of one loss, and of one exponential of a ball
_COST_OF_LOSS, _COST_OF_BALL = 25.0, 12.0


class Bounded(Transform):
    """Losses of which `bounded` tells all."""

    def largest(self, of: Arithmetic) -> Interval:
        """Return the largest finite loss."""
        found = self.bounded(of)
        return found.lowest + found.atoms[-1].over


class Atomic(Bounded):
    """Finitely many losses without a common unit: F(w) = Σ p·e^{(w-1)·ℓ}."""

    def _losses(self, of: Arithmetic) -> list[tuple[Interval, Interval]]:
        found = self.bounded(of)
        return [(found.lowest + atom.over, atom.p) for atom in found.atoms]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w)."""
        pairs = self._losses(of)
        return sum(((loss * (w - 1)).exp() * mass for loss, mass in pairs), of.exactly(0))

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        of = field.arithmetic
        pairs = [(loss, field.of((loss * (w - 1)).exp() * mass)) for loss, mass in self._losses(of)]
        of.charge(len(pairs) * count * _COST_OF_BALL)
        found, zero = [], of.exactly(0)
        for k in range(count):
            terms = (field.of(zero, loss * (h * k)).exp() * weight for loss, weight in pairs)
            found.append(sum(terms, field.zero(mpfr(0))))
        return found


class Sampled(Bounded):
    """One run on a sample, in one direction."""

    density: Density | None = None

    def __init__(self, rate: Fraction, failure: Fraction, *, backward: bool) -> None:
        self.rate, self.failure, self.backward = rate, failure, backward

    @abstractmethod
    def removal(self, of: Arithmetic) -> list[tuple[Interval, Interval, Interval]]:
        """Return losses ℓ that have a probability of their own, growing, and it under P' and Q."""

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the losses in the direction."""
        found = self.removal(of)
        of.charge(_COST_OF_LOSS * len(found))
        if self.backward:
            found = [(-loss, q, p) for loss, p, q in reversed(found)]
        (lowest, p, q), *rest = found
        others = [Atom(loss - lowest, *masses) for loss, *masses in rest]
        return Pair(lowest, [Atom(Fraction(0), p, q), *others], self.density, self.failure)

    def _moved(self, loss: Interval, q: Interval) -> tuple[Interval, Interval, Interval]:
        """Return ℓ and its masses under P' and Q, of a loss and its mass under Q."""
        ratio = 1 + loss.expm1() * self.rate
        return ratio.log(), ratio * q, q


class SampledFinite(Sampled, Atomic):
    """Finitely many losses."""

    def __init__(self, base: Finite, rate: Fraction, *, backward: bool) -> None:
        failure = Fraction(0) if backward else rate * base.failure
        super().__init__(rate, failure, backward=backward)
        self.base = base

    def removal(self, of: Arithmetic) -> list[tuple[Interval, Interval, Interval]]:
        """Return all losses; where P is 0, P' has a share of Q."""
        unit, base = self.base.unit.enclosed(of), self.base
        found = []
        if base.failure:
            q = of.exactly(base.failure)
            found.append((of.exactly(1 - self.rate).log(), q * (1 - self.rate), q))
        for place, mass in zip(base.places, base.masses(of), strict=True):
            loss = unit * place
            found.append(self._moved(loss, mass * (-loss).exp()))
        return found


class SampledLaplace(Sampled):
    """Laplace noise: two atoms, and a density between them; F is not known on a line."""

    def __init__(self, base: Laplace, rate: Fraction, *, backward: bool) -> None:
        super().__init__(rate, Fraction(0), backward=backward)
        self.base, self.density = base, Density(base.width, Fraction(1, 2), rate, backward)

    def removal(self, of: Arithmetic) -> list[tuple[Interval, Interval, Interval]]:
        """Return the losses of both ends."""
        width, half = of.exactly(self.base.width), of.exactly(Fraction(1, 2))
        ends = ((-width, half), (width, half * (-width).exp()))
        return [self._moved(loss, q) for loss, q in ends]


def sampled(base: Runs, rate: Fraction) -> Runs:
    """Return one run of a mechanism on a sample, both ways.

    Raises:
        Malformed: for one whose losses are not bounded, or are others in each direction.
    """
    one = finite_of(base.transform) or base.transform
    if rate == 1:
        return base
    makes = {Finite: SampledFinite, Laplace: SampledLaplace}
    if base.times != 1 or base.reverse is not None or type(one) not in makes:
        raise Malformed("mechanism.base.kind", "another", "one run with bounded losses")
    make = makes[type(one)]
    return Runs(make(one, rate, backward=False), 1, make(one, rate, backward=True))
