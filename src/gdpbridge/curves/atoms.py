"""The curve of a pair of laws on whole numbers, by its losses one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.composition import cut_off
from gdpbridge.curves.loss_distribution import loss_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import PlateauTail
from gdpbridge.losses.densities import Pair
from gdpbridge.losses.transforms.base import Number
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.kinds import ball

__all__ = ["atoms_curve"]


@dataclass(frozen=True)
class _Atoms:
    """The losses in one direction.

    Attributes:
        rows: each with its mass, by growing loss.
        infinite: what the chance of an infinite one is at least.
        rest: and at most.
    """

    rows: Sequence[tuple[arb, arb]]
    infinite: arb
    rest: Fraction

    @property
    def failure(self) -> Number:
        """What is known of the chance of an infinite loss."""
        return (lambda: self.infinite.union(ball(self.rest))) if self.rest else Fraction(0)

    @cached_property
    def losses(self) -> Floats:
        """The losses as floats."""
        return np.array([float(loss) for loss, _ in self.rows])

    @cached_property
    def log_masses(self) -> Floats:
        """Log of the mass of each."""
        return np.array([float(mass.log()) for _, mass in self.rows])

    def loss(self, number: int) -> arb:
        """Return a loss."""
        return self.rows[number][0]

    def mass(self, number: int) -> arb:
        """Return its mass."""
        return self.rows[number][1]

    @property
    def last(self) -> Number:
        """The largest loss."""
        return lambda: self.rows[-1][0]


def atoms_curve(
    pairs: Sequence[Pair],
    settled: Callable[[PlateauTail, Callable[[arb], arb]], Tail] | None = None,
) -> Curve:
    """Return the curve of whole numbers, in one direction or in both.

    Args:
        pairs: the directions.
        settled: adds to the tail, if δ is known up to a rest only; it is given δ too.
    """
    atoms = [_Atoms(one.atoms(), one.infinite.lower(), one.rest[0]) for one in pairs]
    return cut_off(loss_curve(atoms), settled)
