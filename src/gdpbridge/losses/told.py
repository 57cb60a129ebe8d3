"""What the sum of rounded losses tells: a law that is dominated by that of the losses' own sum.

Each loss is counted as about a multiple of a unit, and whoever sees the sum of the multiples alone
sees less than all losses. Its probability is P_n under P and Q_n under Q, by two products of
powers of polynomials; its own loss is log P_n/Q_n. What is lost is a share of the variance within
a unit: where multiples are rounded up and down by turns, the mean of what is off is known.

Where rare sums are left out, they are the same ones of both: whoever is told nothing at all where
the losses took another way than through what was kept sees less still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.losses.sums import LatticeSum, Step
from gdpbridge.losses.transforms.base import Number
from gdpbridge.losses.trimmed import TrimmedSum
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction

__all__ = ["ToldSum"]

_BITS = 256
_ONE = Fraction(1)


class ToldSum:
    """The finite losses of what the sum of rounded ones tells; see :class:`Law`.

    Losses are in the order of floats: where these do not tell two apart, sums of masses from one
    on are still what an event shows, and below δ.

    Args:
        steps: the rounded losses, at least one, with the probabilities of both.
        failure: the probability that one of them is infinite.
        spare: what may be left out, or 0.
    """

    def __init__(self, steps: Sequence[Step], failure: Number, spare: Fraction) -> None:
        self.failure = failure
        zero = Fraction(0)
        swapped = [replace(step, masses=step.others or step.masses) for step in steps]
        self._p: LatticeSum
        if spare:
            first = TrimmedSum(_ONE, steps, zero, zero, spare, joins=True)
            self._p = first
            self._q: LatticeSum = TrimmedSum(
                _ONE, swapped, zero, zero, spare, first.cuts, joins=True
            )
        else:
            self._p, self._q = (LatticeSum(_ONE, one, zero) for one in (steps, swapped))
        with precision(_BITS):
            known = [
                number
                for number in range(self._p.places.size)
                if certainly(self._p.mass(number) > 0) and certainly(self._q.mass(number) > 0)
            ]
        numbers = np.array(known, np.int64)
        losses = self._p.log_masses[numbers] - self._q.log_masses[numbers]
        order = np.argsort(losses, kind="stable")
        self._numbers = numbers[order]
        self.losses: Floats = np.asarray(losses[order], np.float64)
        self.log_masses: Floats = np.asarray(self._p.log_masses[self._numbers], np.float64)

    def loss(self, number: int) -> arb:
        """Enclose log P_n/Q_n."""
        at = int(self._numbers[number])
        return (self._p.mass(at) / self._q.mass(at)).log()

    def mass(self, number: int) -> arb:
        """Enclose P_n."""
        return self._p.mass(int(self._numbers[number]))

    @property
    def last(self) -> Number:
        """Return what is not below the largest loss."""
        with precision(_BITS):
            return to_fraction(self.loss(self.losses.size - 1).upper())
