"""The lines of a certificate at one precision, for every kind of mechanism.

In t = e^ε every δ is convex, hence below its chords, and every δ_μ above its tangents: where δ is
below one tangent at both ends of a cell, it is below δ_μ on all of it. If one tangent is not enough
for a cell, one for each of its halves may be. A kind says what it knows of δ by `build`, `below`
and `excess`; docs/check-a-mu.md has the proofs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, Certificate, Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.grouped import nature_in_place, ungrouped
from gdpbridge_verify.kinds import KINDS, Kind
from gdpbridge_verify.lemmas import in_place
from gdpbridge_verify.numbers import about, binary, mu_range
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided, Words

MAX_EPS = Fraction(2) ** 200
# of parameters that are shown as a whole
_LONG = 80
MOST_HALVINGS = 60
# in multiples of μ
_FAR_OUT = 8
_COST_OF_CELL = 60.0  # microseconds
_NATURES = {
    "own": "δ is the mechanism's own profile",
    "class": "δ is at every ε the supremum over all mechanisms with this guarantee",
    "bound": "δ is an upper bound of the mechanism's own profile",
}


class Check(ABC):
    """One attempt at one precision."""

    # what of the evidence that is not for every kind
    uses: ClassVar[frozenset[str]] = frozenset()
    # whether δ as it is stated is convex in e^ε, as the profile of every mechanism is
    is_convex = True

    def __init__(self, document: Certificate, arithmetic: Arithmetic) -> None:
        self.arithmetic, self.document = arithmetic, document
        self.claim, self.evidence = document.claim, document.evidence
        grouped = document.mechanism.get("kind") == "grouped"
        placed = in_place(document) if document.lemmas else document.mechanism
        self.spec = ungrouped(placed) if grouped else placed
        kind = KINDS.get(self.spec.get("kind") or "", Kind())
        self.nature_of_kind = kind.nature
        # a composed loss is proved in one of two directions at a time
        self.direction = 0
        for name in ("tangents", "corners", "event", "touching", "directions", "unit"):
            if name not in self.uses and getattr(self.evidence, name) is not None:
                raise Malformed(f"evidence.{name}", Words("given"), "null for this kind")
        if self.evidence.breakpoints and not (kind.has_breakpoints or kind.of_others):
            raise Malformed("evidence.breakpoints", len(self.evidence.breakpoints), "none")
        if document.table is not None and not (kind.has_rows or "table" in self.uses):
            raise Malformed("table", Words("given"), "null for this kind")
        self.tail = self.build()
        self.nature_of_kind = self.tail.nature or self.nature_of_kind
        if self.spec is not document.mechanism:
            another = nature_in_place(document.mechanism, placed)
            self.nature_of_kind = another or self.nature_of_kind
        claim, statement = self.claim, self.claim.statement
        self.low, self.high = mu_range("claim.mu", claim.mu.low, claim.mu.high)
        self.failure = Fraction(claim.failure_probability)
        # a head's may have been rounded up to 1
        fits = {"head": self.failure <= 1, "approximate": self.failure < 1}
        if not fits.get(statement, self.failure == 0):
            allowed = "in [0, 1), and 0 but for a head or an approximate statement"
            raise Malformed("claim.failure_probability", claim.failure_probability, allowed)
        # p of an approximate statement, 0 of others
        self.aside = self.failure if statement == "approximate" else Fraction(0)
        self.eps_h = None if claim.eps_h is None else Fraction(claim.eps_h)
        if (self.eps_h is not None) != (statement == "head"):
            raise Malformed("claim.eps_h", claim.eps_h, "given for a head, and only then")
        if self.eps_h is not None and not 0 < self.eps_h <= MAX_EPS:
            raise Malformed("claim.eps_h", claim.eps_h, "a number > 0")

    @abstractmethod
    def build(self) -> Tail:
        """Read the mechanism, and return what is known of its δ far out."""

    @abstractmethod
    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε), of the direction in question, is at most a number."""

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much δ(ε) exceeds a number, or a number of that sign."""
        raise Refused("evidence", "nothing is known of δ from below for this kind")

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number, in every direction."""
        if value == 1 or (isinstance(value, Fraction) and self.falls_to(value, at)):
            return
        if self.vanishes_at(at):
            self.hold(line, self.enclosed(value))
            return
        for _ in self.each_direction():
            self.below(line, at, Level.of(self.enclosed(value)))

    def reaches(self, line: str, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Prove that δ(ε) is at least a number, and return by how much it exceeds that."""
        if self.vanishes_at(at):
            raise Refused(line, "δ is 0 there")
        excess = self.excess(at, wanted, proof)
        self.hold(line, excess)
        return excess

    def vanishes_at(self, at: Fraction) -> bool:
        """Whether δ is 0 at an ε."""
        start = self.tail.vanishes_from
        if start is None or start <= at:
            return start is not None
        if not start > at:
            raise Undecided("where δ becomes 0")
        return False

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether δ(ε) is at most a number by what is known of it far out alone."""
        start = self.tail.floor_from
        floored = start is not None and at >= start and self.tail.floor <= value
        return floored or self.vanishes_at(at)

    def enclosed(self, value: Fraction | Interval) -> Interval:
        """Return a number as an interval."""
        return value if isinstance(value, Interval) else self.arithmetic.exactly(value)

    @staticmethod
    def hold(line: str, difference: Interval) -> None:
        """Prove that a difference is at least 0."""
        if difference < 0:
            raise Refused(line, f"short by {float(-difference.high):.3g}")
        if not difference >= 0:
            raise Undecided(line)
        if line:
            spare, margins = float(difference.low), difference.of.work.margins
            margins[line] = min(spare, margins.get(line, spare))

    def nature(self) -> list[str]:
        """Check what δ is said to be, and say it, as documents of version 0.1.0 do not."""
        claimed, actual = self.claim.profile_is, self.nature_of_kind
        if claimed not in (None, actual):
            raise Refused("claim.profile_is", f"it is {claimed}, but δ of this kind is {actual}")
        return [_NATURES[actual]]

    def far_out(self) -> list[str]:
        """Prove what is claimed of the tail, if anything is."""
        if self.claim.verdict != "unknown":
            return [self.verdict(), self.tail_parameter()]
        tail = self.claim.mu_tail
        if (tail.low, tail.high) != ("0", "inf") or self.claim.statement == "whole":
            raise Refused("claim.verdict", "it is unknown, but something is claimed of the tail")
        return ["nothing is claimed of whether some finite μ covers every ε"]

    def verdict(self) -> str:
        """Prove that some finite μ covers every ε, or that none does."""
        actual, why = "not-gdp" if self.tail.square is None else "gdp", self.tail.why
        if not self.tail.known:
            raise Refused("claim.verdict", f"{why}: it is unknown")
        if self.claim.verdict != actual:
            raise Refused("claim.verdict", f"it is {self.claim.verdict}, but {why}: {actual}")
        whose = {"own": "", "class": " of the guarantee", "bound": " of the bound"}
        return f"the verdict{whose[self.nature_of_kind]} is {actual}: {why}"

    def tail_parameter(self) -> str:
        """Prove that the interval for μ_t holds it."""
        line, tail, square = "claim.mu_tail", self.claim.mu_tail, self.tail.square
        low, high = mu_range(line, tail.low, tail.high)
        if square is None:
            if low is not None:
                raise Refused(line, "it is finite, but the mechanism is not GDP")
            return "the tail parameter is infinite"
        if low is None or high is None:
            raise Refused(line, "it is infinite, but the mechanism is GDP")
        self.hold(f"{line}.low", self.enclosed(square - low**2))
        self.hold(f"{line}.high", self.enclosed(high**2 - square))
        return f"the tail parameter: {tail.low if low == high else f'[{tail.low}, {tail.high}]'}"

    def decay_from(self, start: Fraction) -> None:
        """Prove the tail from one inequality at one ε, from which the difference grows."""
        decay, square = self.tail.decay, self.tail.square
        assert decay is not None
        assert square is not None
        decay.require_below(self.bound.mu, self.enclosed(square), start, self.hold)

    def failure_at_head(self) -> str:
        """Prove the failure probability of a head statement: δ(ε_h) ≤ p."""
        assert self.eps_h is not None
        self.at_most("claim.failure_probability", self.eps_h, self.failure)
        return f"δ at eps_h = {self.claim.eps_h} is at most {self.claim.failure_probability}"

    def count_of_answers(self) -> int:
        """Return how many answers besides μ there are to prove; each has its point."""
        count, points = len(self.claim.answers or ()), len(self.evidence.points or ())
        if count != points:
            raise Malformed("evidence.points", points, f"one for each of {count} answers")
        return count

    @cached_property
    def ranges(self) -> list[tuple[str, tuple[Cell, ...]]]:
        """The cells of each direction, and where the document has them."""
        return [("evidence", self.evidence.cells)]

    def each_direction(self) -> Iterator[tuple[str, tuple[Cell, ...]]]:
        """Yield those of each direction, which is then the one in question."""
        for direction, cells in enumerate(self.ranges):
            self.direction = direction
            yield cells

    def cells_to_prove(self) -> list[tuple[int, int]]:
        """Return each cell's direction and number."""
        ranges = enumerate(self.ranges)
        found = [(way, number) for way, (_, cells) in ranges for number in range(len(cells))]
        if found and (self.high is None or self._is_its_own_proof):
            raise Malformed("evidence.cells", len(found), "none for an infinite μ, or a curve's")
        return found

    def numbered_cell(self, direction: int, number: int) -> None:
        """Prove a cell, and that it begins where the last one ended."""
        self.direction, (place, cells) = direction, self.ranges[direction]
        line = f"{place}.cells[{number}]"
        low, high = binary(cells[number].low), binary(cells[number].high)
        if low != (reached := binary(cells[number - 1].high) if number else Fraction(0)):
            raise Refused(line, f"it begins {about(low - reached)} past where the last one ended")
        if not low < high <= MAX_EPS:
            raise Refused(line, "it does not end after it begins")
        self.cell(line, cells[number])

    def cell(self, line: str, cell: Cell, halvings: int = MOST_HALVINGS) -> None:
        """Prove the statement for mu.high on one cell, or on each of its halves."""
        low, high = binary(cell.low), binary(cell.high)
        centre = self.touching(low, high) if cell.centre is None else binary(cell.centre)
        if not low <= centre <= high:
            raise Refused(line, "its centre lies outside")
        self.covered(line, low, high, centre, halvings)

    def covered(
        self, line: str, low: Fraction, high: Fraction, centre: Fraction, halvings: int
    ) -> None:
        """Prove the statement for mu.high from one ε to another."""
        if self.falls_to(self.aside, low) or (self.aside and self._is_set_aside(low)):
            return
        try:
            self._proved(line, low, high, centre)
            return
        except Refused:
            if not halvings:
                raise
        middle = self.parting(low, high)
        # where δ is larger, no halves will do
        self.below_end(line, middle, middle)
        for half in ((low, middle), (middle, high)):
            self.covered(line, *half, self.touching(*half), halvings - 1)

    def parting(self, low: Fraction, high: Fraction) -> Fraction:
        """Return where to part a range; as `touching`, where its tangent is to be."""
        return (low + high) / 2

    touching = parting

    def _proved(self, line: str, low: Fraction, high: Fraction, centre: Fraction) -> None:
        self.arithmetic.charge(_COST_OF_CELL)
        work = self.arithmetic.work
        margin = work.margins.get(line, math.inf)
        try:
            self.below_tangent(line, low, high, centre)
        except Refused:
            work.margins[line] = margin
            # over a wide range a chord in e^ε says less than that δ does not rise, as far out
            if high - low < 1 and low < _FAR_OUT * (self.high or 0):
                raise
            self.below_end(line, low, high)

    def below_tangent(self, line: str, low: Fraction, high: Fraction, centre: Fraction) -> None:
        """Prove that the chord of δ is below a tangent to the Gaussian curve, at both ends."""
        tangent = self.bound.tangent(self.enclosed(centre))
        for end in (low, high):
            self.below(line, end, self.past(tangent.at(self.enclosed(end))))

    def below_end(self, line: str, low: Fraction, high: Fraction) -> None:
        """Prove that δ at the low end is below the Gaussian curve at the high end."""
        self.below(line, low, self.past(self.bound.level(self.enclosed(high))))

    def _is_set_aside(self, at: Fraction) -> bool:
        """Whether from an ε on what may fail is all of δ."""
        try:
            # it is no line
            self.below("", at, Level.of(self.enclosed(self.failure)))
        except (Refused, Undecided):
            return False
        return True

    def past(self, level: Level) -> Level:
        """Return p + (1 - p)·δ of a δ."""
        kept = 1 - self.aside
        return Level(level.value * kept + self.aside, level.complement * kept)

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high."""
        if self.high is None:
            return "no upper end is claimed for μ"
        square = self.tail.curve
        if square is None or square > self.high**2:
            if square is not None and self._is_its_own_proof:
                raise Refused("claim.mu.high", f"μ² is {about(square)}")
            for place, cells in self.each_direction():
                self.reach(f"{place}.cells", binary(cells[-1].high) if cells else Fraction(0))
        return f"{self.covers}, with μ = {self.claim.mu.high}"

    def reach(self, line: str, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        if self.falls_to(self.aside, reached):
            return
        if self.eps_h is not None:
            if reached < self.eps_h:
                raise Refused(line, f"they end {about(self.eps_h - reached)} before eps_h")
        elif self.claim.statement == "approximate":
            self.below(line, reached, Level.of(self.enclosed(self.failure)))
        elif self.tail.decay is None or self.evidence.tail_from is None:
            raise Refused(line, f"they end at {about(reached)}, where δ is not 0 yet")
        else:
            start = binary(self.evidence.tail_from)
            if start > reached:
                raise Refused(line, f"they end {about(start - reached)} before the tail")
            self.decay_from(start)

    @property
    def _is_its_own_proof(self) -> bool:
        """Whether the profile is a Gaussian curve, and the claim about that curve's μ."""
        is_curve = self.tail.curve is not None and self.tail.is_curve
        return is_curve and self.claim.statement != "approximate"

    @cached_property
    def bound(self) -> GaussianCurve:
        """The curve of mu.high."""
        if not self.high:
            raise Refused("claim.mu.high", "it is 0, and δ is not")
        return GaussianCurve(self.enclosed(self.high))

    def lower_end(self) -> str:
        """Prove that the statement fails below mu.low."""
        line, witness, square = "evidence.witness", self.evidence.witness, self.tail.square
        if self.low is None:
            if self.claim.statement != "approximate" or not self.tail.floor > self.failure:
                raise Refused("claim.mu.low", "it is infinite, and nothing shows it")
            return f"no finite μ will do: {self.tail.why}"
        if self.low == 0:
            return "the lower end 0 needs no proof"
        if self._is_its_own_proof:
            assert self.tail.curve is not None
            if self.tail.curve < self.low**2:
                raise Refused("claim.mu.low", f"μ² is {about(self.tail.curve)}")
            return f"{self.no_smaller}: the profile is a Gaussian curve"
        if witness is None and (self.tail.curve is None or self.tail.is_curve):
            raise Refused(line, "there is none for a positive mu.low")
        if witness in (None, "tail"):
            if not square or self.claim.statement != "whole":
                raise Refused(line, "the tail is no witness for this claim")
            self.hold(line, self.enclosed(square - self.low**2))
            return f"{self.no_smaller}: it is at most the tail parameter"
        at = binary(witness)
        if at > (self.eps_h or MAX_EPS):
            raise Refused(line, "it lies beyond eps_h, or 2^200")
        level = GaussianCurve(self.enclosed(self.low)).level(self.enclosed(at))
        self.reaches(line, at, self.past(level), self.evidence)
        return f"{self.no_smaller}: δ exceeds the bound at ε = {about(at)}"

    @property
    def covers(self) -> str:
        """What the statement says."""
        return {
            "whole": "δ(ε) ≤ δ_μ(ε) for every ε ≥ 0",
            "head": f"δ(ε) ≤ δ_μ(ε) for every ε in [0, {self.claim.eps_h}]",
            "approximate": "δ(ε) ≤ p + (1 - p)·δ_μ(ε) for every ε ≥ 0, "
            f"p = {self.claim.failure_probability}",
        }[self.claim.statement]

    @property
    def no_smaller(self) -> str:
        """What the lower end says."""
        ends = {"bound": "covers this bound", "class": "follows from this guarantee"}
        return f"no μ below {self.claim.mu.low} {ends.get(self.nature_of_kind, 'will do')}"

    def assumption(self) -> str:
        """Name what is not proved."""
        mechanism = self.document.mechanism
        parameters: list[str] = []
        relation = "the pairs of data sets that this was stated for "
        relation += "(whether records are added, removed or replaced is not said)"
        if "sensitivity" in self.spec:
            relation = "any two data sets whose answers are at most the sensitivity apart"
        # what is around another one may leave its relation out, or the other way round
        for name, value in reversed(mechanism.items()):
            if name.rpartition(".")[2] == "neighbours":
                relation = f"{value} neighbours" if value else relation
            elif value:
                parameters.append(f"{name} {value[:_LONG]}{'…' * (len(value) > _LONG)}")
        if mechanism.get("kind") == "grouped":
            relation = f"data sets that are {mechanism.get('size')} steps between neighbours apart"
        named = ", ".join(parameters[::-1])
        return f"assumed, not proved: the mechanism is that of {named}, for {relation}"
