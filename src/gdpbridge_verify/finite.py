"""Losses on the multiples of a unit, for the checker: what has finitely many, or all but a few.

A run has P(L = k·unit) = p_k, and an infinite loss with the failure probability. Under the tilt s
each p_k is multiplied by e^{s·k·unit} and divided by the sum of all that, F(1 + s).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.bounded import Atom, Pair
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.numbers import about
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.transforms import Nothing, Transform

_COST_OF_BALL, _COST_OF_MASS, _COST_OF_ATOM = 12.0, 10.0, 30.0
MOST_ATOMS = 100_000
_MOST_SENSITIVITY = 10_000


class Unit(NamedTuple):
    """A rational number, or the logarithm of one."""

    value: Fraction
    is_log: bool = False

    def enclosed(self, of: Arithmetic) -> Interval:
        """Enclose it."""
        return of.exactly(self.value).log() if self.is_log else of.exactly(self.value)

    def times(self, count: int, of: Arithmetic) -> Fraction | Interval:
        """Return a multiple, exactly if it is rational."""
        return (self.enclosed(of) if self.is_log else self.value) * count


class Atoms(NamedTuple):
    """A law under a tilt.

    Attributes:
        places: the losses in units, growing.
        masses: encloses the tilted probability of each; what is left out is what they miss of 1.
        total: encloses F(1 + s), by which they are divided.
    """

    places: Sequence[int]
    masses: list[Interval]
    total: Interval


class Finite(Transform):
    """Finitely many losses: F(w) = Σ p_k·e^{(w-1)·k·unit}.

    Args:
        unit: the unit.
        places: the losses in units, growing.
        masses: encloses their probabilities.
        failure: the probability of an infinite loss.
    """

    symmetric = True

    def __init__(
        self,
        unit: Unit,
        places: Sequence[int],
        masses: Callable[[Arithmetic], list[Interval]],
        failure: Fraction = Fraction(0),
    ) -> None:
        self.unit, self.places, self.masses, self.failure = unit, places, masses, failure
        self.numbers = (unit.value,)

    def start(self, of: Arithmetic) -> Interval:
        """Return what every loss has besides its multiple of the unit: nothing."""
        return of.exactly(0)

    def atoms(self, of: Arithmetic, tilt: Fraction) -> Atoms:
        """Return the law under a tilt."""
        of.work.charge(len(self.places) * (10 + of.precision / 30))
        scale = of.exactly(tilt) * self.unit.enclosed(of)
        pairs = zip(self.places, self.masses(of), strict=True)
        weights = [mass * (scale * place).exp() if tilt else mass for place, mass in pairs]
        total = sum(weights, of.exactly(0))
        return Atoms(self.places, [weight / total for weight in weights], total)

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Enclose F(w)."""
        return self.atoms(of, w - 1).total

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F(w + ikh)."""
        of = field.arithmetic
        atoms = self.atoms(of, w - 1)
        of.charge(len(atoms.places) * count * _COST_OF_BALL)
        turn = of.exactly(h) * self.unit.enclosed(of)
        weights = [field.of(mass) for mass in atoms.masses]
        # atoms left out turn to any side
        rest = field.zero((1 - sum(atoms.masses, of.exactly(0))).high)
        zero, total, found = of.exactly(0), field.of(atoms.total), []
        for k in range(count):
            value = rest
            for place, weight in zip(atoms.places, weights, strict=True):
                value = value + field.of(zero, turn * (k * place)).exp() * weight
            found.append(value * total)
        return found

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the losses, of which Q has e^{-L} times as much."""
        of.charge(_COST_OF_ATOM * len(self.places))
        size, first, found = self.unit.enclosed(of), self.places[0], list[Atom]()
        for place, mass in zip(self.places, self.masses(of), strict=True):
            over = self.unit.times(place - first, of)
            found.append(Atom(over, mass, mass * (-(size * place)).exp()))
        return Pair(size * first, found, None, self.failure)

    def largest(self, of: Arithmetic) -> Fraction | Interval | None:
        """Return the last loss."""
        return self.unit.times(self.places[-1], of)


def two_valued(epsilon: Fraction, failure: Fraction = Fraction(0)) -> Finite:
    """(ε, δ)-DP at its worst: ±ε with masses in the ratio e^ε, and infinite with δ."""
    if epsilon == 0:
        return Finite(Unit(Fraction(1)), [0], lambda of: [of.exactly(1 - failure)], failure)

    def masses(of: Arithmetic) -> list[Interval]:
        kept, ends = of.exactly(1 - failure), (epsilon, -epsilon)
        return [kept / (1 + of.exactly(end).exp()) for end in ends]

    return Finite(Unit(epsilon), [-1, 1], masses, failure)


def finite_of(one: Transform) -> Finite | None:
    """Return the losses of a run, None where they are not finitely many, or all but a few."""
    if isinstance(one, Nothing):
        return two_valued(Fraction(0), one.failure)
    return one if isinstance(one, Finite) else None


def response_by_epsilon(epsilon: Fraction, buckets: int) -> Finite:
    """±ε for the answers of the two records, in the ratio e^ε of every two, and 0 for others."""
    if epsilon == 0 or buckets == 2:
        return two_valued(epsilon)

    def masses(of: Arithmetic) -> list[Interval]:
        top = of.exactly(epsilon).exp()
        weights = (of.exactly(1), of.exactly(buckets - 2), top)
        return [weight / (top + (buckets - 1)) for weight in weights]

    return Finite(Unit(epsilon), [-1, 0, 1], masses)


def randomized_response(noise: Fraction, buckets: int) -> Finite:
    """±log(1 + k(1-p)/p), the answers of the two records, and 0, all others."""
    share = noise / buckets
    masses = {-1: share, 0: (buckets - 2) * share, 1: share + 1 - noise}
    if noise == 1:
        masses = {0: Fraction(1)}
    elif buckets == 2:
        del masses[0]
    return Finite(
        Unit(1 + (1 - noise) / share, is_log=True),
        list(masses),
        lambda of: [of.exactly(mass) for mass in masses.values()],
    )


def discrete_laplace(scale: Fraction, sensitivity: int) -> Finite:
    """(Δ - 2x)/b for x = 0, …, Δ, with the mass of all x ≤ 0 at the one end, x ≥ Δ at the other.

    P(x) = r^|x|·(1 - r)/(1 + r), r = e^{-1/b}; P(X ≤ 0) = 1/(1 + r), P(X ≥ Δ) = r^Δ/(1 + r).
    """
    if sensitivity > _MOST_SENSITIVITY:
        raise Malformed("mechanism.sensitivity", sensitivity, f"at most {_MOST_SENSITIVITY}")

    def masses(of: Arithmetic) -> list[Interval]:
        of.work.charge(_COST_OF_MASS * sensitivity)
        found = []
        ratio = of.exactly(-1 / scale).exp()
        for x in range(sensitivity, -1, -1):
            share = of.exactly(-x / scale).exp() / (1 + ratio)
            found.append(share if x in (0, sensitivity) else share * (1 - ratio))
        return found

    return Finite(Unit(1 / scale), range(-sensitivity, sensitivity + 1, 2), masses)


class DiscreteGaussian(Finite):
    """Δ(Δ - 2x)/(2σ²) with P(x) = g(x)/N, g(x) = e^{-x²/(2σ²)}, N its sum over all whole x.

    Tilted by s, P(x) is g(x + sΔ) over its own sum, and F(1 + s) = e^{(s² + s)Δ²/(2σ²)} times the
    ratio of the two sums. Those x are kept where g is not below the precision.
    """

    def __init__(self, sigma: Fraction, sensitivity: int) -> None:
        self.sigma, self.sensitivity = sigma, sensitivity
        self.unit = Unit(sensitivity / (2 * sigma**2))
        self.tail_variance = (sensitivity / sigma) ** 2
        self.numbers = self.unit.value, self.tail_variance

    @property
    def gaussian_variance(self) -> Fraction:
        """None: it is a little less private than the Gaussian mechanism."""
        return Fraction(0)

    def atoms(self, of: Arithmetic, tilt: Fraction) -> Atoms:
        """Return the law under a tilt."""
        shift = tilt * self.sensitivity
        kept, total = self._sum(of, shift)
        norm = self._sum(of, Fraction(0))[1] if shift.denominator != 1 else total
        growth = of.exactly((tilt**2 + tilt) * self.tail_variance / 2).exp()
        # the loss falls with x
        order = sorted(kept, reverse=True)
        places = [self.sensitivity - 2 * x for x in order]
        return Atoms(places, [kept[x] / total for x in order], growth * total / norm)

    def norm(self, of: Arithmetic) -> Interval:
        """Enclose N."""
        return self._sum(of, Fraction(0))[1]

    def _sum(self, of: Arithmetic, shift: Fraction) -> tuple[dict[int, Interval], Interval]:
        """Return g(x + shift) where it is large, and enclose its sum over all x."""
        reach = math.isqrt(int(2 * self.sigma**2 * (of.precision + 8))) + 2
        middle = -round(shift)
        if reach > MOST_ATOMS:
            raise Malformed("mechanism.sigma", about(self.sigma), "less")
        of.work.charge(2 * reach * (10 + of.precision / 30))
        rate = -1 / (2 * self.sigma**2)
        kept = {
            x: of.exactly(rate * (x + shift) ** 2).exp()
            for x in range(middle - reach, middle + reach + 1)
        }
        # beyond, on either side: a ratio of neighbours at most that at distance `reach`
        first = of.exactly(rate * reach**2).exp()
        rest = 2 * first / (1 - of.exactly(rate * (2 * reach + 1)).exp())
        return kept, sum(kept.values(), of.exactly(0)) + rest.hull(of.exactly(0))

    # its losses have no end
    bounded = Transform.bounded
    largest = Transform.largest
