"""The sum of many equal losses on a lattice, from above, where some mass may count as a failure.

The unit is that of one run, and grows with the runs as far as the window about the mean is wide
(losses/trimmed.py). What counts as a failure is nothing beside 1 - δ(0), of which M(-1/2) tells:
M²/2 ≤ 1 - δ(0) ≤ M, the coefficient of Bhattacharyya (Kailath 1967).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.errors import WorkLimitError
from gdpbridge.losses.lattices import atoms_of, failure_of, laws_of
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.rounding import Atoms
from gdpbridge.losses.sums import Law, Step
from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.trimmed import TrimmedSum, kept
from gdpbridge.numeric.effort import within
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction

__all__ = ["laws_above"]

_BITS = 256
# what an exact law may take, and one without what is rare, in units of numeric/effort.py; of two
# directions half each
_EXACT, _TRIMMED = 4_000_000, 12_000_000
# multiples of the last unit that the window is wide, the most first
_POINTS = (1 << 14, 1 << 13, 1 << 12)
# bits of what counts as a failure: below 1, and below what fails anyway; and those of 1 - δ(0)
# that are to be known
_SPARE, _BESIDE, _SEEN = 85, 10, 16


@dataclass(frozen=True)
class _Runs:
    """Runs of one loss on a lattice.

    Attributes:
        atoms: the finite losses and how many runs.
        failure: the probability that one of all is infinite.
        hidden: about -log₂ of 1 - δ(0), which may be twice as much.
    """

    atoms: Atoms
    failure: Number
    hidden: float

    @property
    def known(self) -> float:
        """-log₂ of what the masses of all runs are known to."""
        with precision(_BITS):
            off = sum((arb(mass.rad()) for mass in self.atoms.masses()), arb(0))
            off = self.atoms.times * off + arb(2) ** -_BITS
            return float(-off.log() / arb.const_log2())


def laws_above(directions: Sequence[Factor], *, sees_zero: bool = True) -> list[Law] | None:
    """Return laws on lattices that dominate runs; None if there are too many of them.

    Args:
        directions: the finite losses of a run, on a lattice, and how many runs, in one direction
            or in both.
        sees_zero: whether 1 - δ(0) is to be known.

    Returns:
        One law for both directions where these are not told apart.
    """
    found: list[Law] = []
    kinds = _alike([_runs(factor) for factor in directions])
    for runs in kinds:
        law = _exact(runs) or _trimmed(runs, _TRIMMED // len(kinds), sees_zero=sees_zero)
        if law is None:
            return None
        found.append(law)
    return found


def _runs(factor: Factor) -> _Runs:
    hidden = -float(factor.log_sizes(np.array([-0.5]))[0]) / math.log(2)
    return _Runs(atoms_of(factor), failure_of([factor]), hidden)


def _alike(runs: list[_Runs]) -> list[_Runs]:
    """Return runs whose masses are about those of both directions, if one may be the other."""
    one, *others = runs
    with precision(_BITS):
        masses = one.atoms.masses()
        for other in others:
            if other.atoms.places != one.atoms.places:
                return runs
            pairs = list(zip(masses, other.atoms.masses(), strict=True))
            if not all(first.overlaps(second) for first, second in pairs):
                return runs
            masses = [first.union(second) for first, second in pairs]
    failing = max(_upper(each.failure) for each in runs)
    return [replace(one, atoms=replace(one.atoms, masses=lambda: masses), failure=failing)]


def _upper(failure: Number) -> Fraction:
    with precision(_BITS):
        return to_fraction(number_ball(failure).upper())


def _exact(runs: _Runs) -> Law | None:
    try:
        with within("an exact law", "give fewer runs", _EXACT):
            return laws_of([runs.atoms], runs.failure)
    except WorkLimitError:
        return None


def _trimmed(runs: _Runs, most_work: int, *, sees_zero: bool) -> Law | None:
    atoms, times, bits = runs.atoms, runs.atoms.times, _SPARE
    if not isinstance(atoms.unit, Fraction):
        return None
    if sees_zero:
        if runs.hidden + _SEEN > runs.known:
            return None
        bits += math.ceil(2 * runs.hidden)
    failing, spare = _upper(runs.failure), Fraction(times, 1 << bits)
    if failing:
        spare = min(spare, failing / (1 << _BESIDE))
    step = Step(atoms.places, atoms.masses, times)
    width, most = kept(step, spare), (times.bit_length() - 1) // 2
    for points in _POINTS:
        halvings = min(most, max(0, math.ceil(math.log2(width / points))))
        unit, one = atoms.unit * (1 << halvings), replace(step, halvings=halvings)
        try:
            with within("a law without what is rare", "give fewer runs", most_work):
                return TrimmedSum(unit, [one], failing + spare, Fraction(0), spare)
        except WorkLimitError:
            continue
    return None
