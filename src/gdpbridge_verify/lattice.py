"""Bounded losses on the multiples of one unit, for the checker: a law above δ, and one below.

Each part's losses are counted from its lowest one on, in multiples of the unit u. What lies between
two of them, with masses p and q under P and Q,

    above: goes to both, (p - q·e^y)/(1 - e^{-u}) to the upper one, y the lower one's loss: P and Q
           keep their masses, and δ is replaced by its chord, in e^ε;
    below: goes to the lower one with its mass p, which only lowers losses. A density is first cut
           into cells whose masses have a ratio hardly above a multiple: whoever sees no more
           than the cell sees less.

Pairs that dominate compose, also adaptively, and so do pairs that are dominated: the laws of sums
bound δ on both sides. docs/composition.md has more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, exact
from gdpbridge_verify.bounded import Density, Pair
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.finite import Atoms, Finite, Unit
from gdpbridge_verify.law import DiscreteCheck, Law
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, OutOfWork

# of one run's losses
_MOST_PLACES = 1 << 18
# microseconds: of a cell, and of an atom
_COST_OF_CELL, _COST_OF_ATOM = 60.0, 30.0
_HALF = Fraction(1, 2)
# of the unit, by which a cell's middle is moved past a multiple: no rounding puts it before
_HAIR = Fraction(1, 1 << 44)


class Placed(Finite):
    """Losses that are some number and multiples of the unit.

    Args:
        unit: u.
        start: encloses the number.
        places: the multiples, growing.
        masses: their probabilities.
        failure: that of an infinite loss.
    """

    symmetric = False

    def __init__(
        self,
        unit: Fraction,
        start: Interval,
        places: Sequence[int],
        masses: list[Interval],
        failure: Fraction,
    ) -> None:
        super().__init__(Unit(unit), places, lambda _: masses, failure)
        self._start = start

    def start(self, of: Arithmetic) -> Interval:
        """Return the number."""
        return self._start

    def atoms(self, of: Arithmetic, tilt: Fraction) -> Atoms:
        """Return the law under a tilt."""
        found = super().atoms(of, tilt)
        return found._replace(total=found.total * (self._start * tilt).exp())


class _Masses:
    """Masses under P at multiples of the unit."""

    def __init__(self, unit: Fraction, of: Arithmetic) -> None:
        self.unit, self.of = unit, of
        self.found: dict[int, Interval] = {}

    def add(self, place: int, mass: Interval) -> None:
        """Add a mass."""
        known = self.found.get(place)
        self.found[place] = mass if known is None else known + mass

    def about(self, over: Fraction | Interval) -> tuple[int, int]:
        """Return the multiples that a loss is between, or the one that it is."""
        if isinstance(over, Fraction):
            return math.floor(over / self.unit), math.ceil(over / self.unit)
        ends = over / self.unit
        return math.floor(exact(ends.low)), math.ceil(exact(ends.high))

    def placed(self, pair: Pair) -> Placed:
        """Return the law."""
        places = sorted(self.found)
        if places[-1] - places[0] > _MOST_PLACES:
            raise OutOfWork
        masses = [self.found[place] for place in places]
        return Placed(self.unit, pair.lowest, places, masses, pair.failure)


def law_above(pair: Pair, unit: Fraction, of: Arithmetic) -> Placed:
    """Return a law that dominates that of a run."""
    found = _Masses(unit, of)
    of.charge(_COST_OF_ATOM * len(pair.atoms))
    for atom in pair.atoms:
        first, last = found.about(atom.over)
        if first == last:
            found.add(first, atom.p)
            continue
        # e^{-y} of what it is over the lower one
        part = of.exactly(0) + atom.over - unit * first
        upper = atom.p * ((-part).expm1() / of.exactly(-unit * (last - first)).expm1())
        found.add(first, atom.p - upper)
        found.add(last, upper)
    if pair.density is not None:
        _share(pair, pair.density, found)
    return found.placed(pair)


def _count(pair: Pair, found: _Masses) -> int:
    """Return how many multiples there are to the end of the losses, if not too many."""
    _, last = found.about(pair.atoms[-1].over)
    if last > _MOST_PLACES:
        raise OutOfWork
    found.of.charge(_COST_OF_CELL * last)
    return last


def _share(pair: Pair, density: Density, found: _Masses) -> None:
    """Share a density between the multiples about it."""
    of, unit, last = found.of, found.unit, _count(pair, found)
    whole, step = -of.exactly(-unit).expm1(), of.exactly(unit).exp()
    before, end = density.ends(of)
    base = pair.lowest.exp()
    for place in range(last):
        ratio = base * step
        after = density.place(ratio) if place < last - 1 else end
        p, q = density.between(before, after)
        upper = (p - q * base) / whole
        found.add(place, p - upper)
        found.add(place + 1, upper)
        before, base = after, ratio


def law_below(pair: Pair, unit: Fraction, of: Arithmetic) -> Placed:
    """Return a law that is dominated by that of a run."""
    found = _Masses(unit, of)
    of.charge(_COST_OF_ATOM * len(pair.atoms))
    for atom in pair.atoms:
        found.add(found.about(atom.over)[0], atom.p)
    if pair.density is not None:
        for low, high in _cells(pair, pair.density, found):
            p, _ = pair.density.between(low, high)
            middle = pair.density.merged(low, high) - pair.lowest
            found.add(found.about(middle)[0], p)
    return found.placed(pair)


def _cells(pair: Pair, density: Density, found: _Masses) -> Iterator[tuple[Interval, Interval]]:
    """Yield cells whose middles have losses hardly above multiples: a·b is the middle's square."""
    (before, end), place = density.ends(found.of), 0
    for _ in range(_count(pair, found)):
        reached = (density.merged(before, before) - pair.lowest) / found.unit
        # no cell is much narrower than the others
        place = max(place + 1, math.ceil(exact(reached.high) + _HALF))
        middle = density.place((pair.lowest + found.unit * (place + _HAIR)).exp())
        _, after = (middle.square() / before).ends()
        low, high = (end, before) if density.backward else (before, end)
        if not low < after < high:
            break
        yield before, after
        before = after
    yield before, end


class LatticeCheck(DiscreteCheck):
    """The lines of a certificate of bounded losses on a lattice, at one precision."""

    uses = frozenset({"directions", "unit"})

    def build(self) -> Tail:
        """Return what is known of the tail."""
        self._is_above = True
        tail = super().build()
        self._unit = Fraction(self.evidence.unit or 0)
        if self.variance:
            raise Malformed("evidence.unit", about(self._unit), "null, where a loss has no end")
        return tail

    def law(self, tilt: str, backward: bool, above: bool) -> Law:
        """Return the law of all runs on the side in question."""
        place, parts = law_above if above else law_below, self.towards(backward=backward)
        pairs = [(one.bounded(self.arithmetic), times) for one, times in parts]
        placed = [(place(pair, self._unit, self.arithmetic), times) for pair, times in pairs]
        return Law(placed, binary(tilt), self.arithmetic)

    def at_witness(self, at: Fraction) -> tuple[Fraction, Fraction]:
        """Return what is at least δ at an ε, and what is at most δ there."""
        found: dict[bool, list[Fraction]] = {}
        for is_above in (False, True):
            self._is_above, found[is_above] = is_above, []
            for _ in self.each_direction():
                one = self._delta(at)
                found[is_above].append(exact(one.high if is_above else one.low))
        return max(found[True]), max(found[False])

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much δ of the larger direction exceeds a number."""
        self._is_above = False
        try:
            return super().excess(at, wanted, proof)
        finally:
            self._is_above = True
