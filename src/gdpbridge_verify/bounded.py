"""Bounded losses of one run, for the checker: atoms, and perhaps a density between them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from gdpbridge_verify.arithmetic import Arithmetic, Interval


class Atom(NamedTuple):
    """A loss, over the lowest one, and its probabilities under P and Q."""

    over: Fraction | Interval
    p: Interval
    q: Interval


class Density(NamedTuple):
    """Laplace noise between its atoms: losses ℓ(x) for x in [-r, r], under Q e^{-(x+r)/2}·D/2.

    A place x stands as e^{x/2}; places are in the order of their losses.

    Attributes:
        width: r.
        amount: D, 1/2 of Laplace noise.
        rate: γ; 1 without sampling.
        backward: whether P and Q have changed places, and the losses their sign.
    """

    width: Fraction
    amount: Interval | Fraction
    rate: Fraction = Fraction(1)
    backward: bool = False

    def ends(self, of: Arithmetic) -> tuple[Interval, Interval]:
        """Return the places of the lowest loss and of the largest."""
        top = of.exactly(self.width / 2).exp()
        return (top, 1 / top) if self.backward else (1 / top, top)

    def place(self, ratio: Interval) -> Interval:
        """Return the place whose loss is the logarithm of a number."""
        own = 1 / ratio if self.backward else ratio
        return ((own - 1 + self.rate) / self.rate).sqrt()

    def between(self, first: Interval, last: Interval) -> tuple[Interval, Interval]:
        """Return the masses under P and Q between two places; P has (1 - γ)Q + γe^x·Q."""
        scale = first.of.exactly(-self.width / 2).exp() * self.amount
        low, high = (last, first) if self.backward else (first, last)
        q, removed = (1 / low - 1 / high) * scale, (high - low) * scale
        p = q * (1 - self.rate) + removed * self.rate
        return (q, p) if self.backward else (p, q)

    def merged(self, first: Interval, last: Interval) -> Interval:
        """Return the logarithm of their ratio."""
        found = ((first * last - 1) * self.rate).log1p()
        return -found if self.backward else found


class Pair(NamedTuple):
    """One run in one direction.

    Attributes:
        lowest: its lowest loss.
        atoms: losses with a probability of their own, growing.
        density: what else there is.
        failure: the probability of an infinite loss.
    """

    lowest: Interval
    atoms: list[Atom]
    density: Density | None
    failure: Fraction
