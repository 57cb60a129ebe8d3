"""Statements about all mechanisms of a class, for the checker: their δ is convex in e^ε.

Such a δ lies below its chords, and the Gaussian curve above each of its tangents, P - e^ε·Q with
P = Φ(-x) and Q = Φ(-y) at a cell's centre: where δ is below one tangent at both ends of a cell, it
is below the Gaussian curve on all of it.

The lower end is one event, of probabilities p and q under the two data sets: the mechanism that
tells whether it occurred, and nothing else, has δ(ε) ≥ p - e^ε·q, and is of the class if it obeys
all statements in both orders of the pair.
"""

from __future__ import annotations

import bisect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, Event, Point
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import Check

__all__ = ["ConvexCheck", "Level"]


class Level(NamedTuple):
    """A number between 0 and 1 that δ is compared with, and one minus it."""

    value: Interval
    complement: Interval


class ConvexCheck(Check):
    """The lines of a certificate about a δ that is convex in e^ε, at one precision."""

    @abstractmethod
    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number."""

    def below_chord(
        self,
        line: str,
        at: Fraction,
        level: Level,
        places: Sequence[Fraction],
        bound: Callable[[int], Interval],
    ) -> None:
        """Prove that δ(ε) is at most a number, from bounds at some ε, in order.

        Before the first place δ is below the line in e^ε through (-1, 1), beyond the last one it
        does not rise.
        """
        number, exactly = bisect.bisect_right(places, at) - 1, self.arithmetic.exactly
        if number < 0:
            share = (1 + exactly(at).exp()) / (1 + exactly(places[0]).exp())
            self._hold(line, share * (1 - bound(0)) - level.complement)
            return
        found = bound(number)
        if number + 1 < len(places) and at != places[number]:
            width = exactly(places[number + 1] - places[number]).expm1()
            share = exactly(at - places[number]).expm1() / width
            found = found + share * (bound(number + 1) - found)
        self._hold(line, level.value - found)

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Prove that the mechanism that tells of one event alone is of the class."""
        raise Refused(line, "no event is a proof for this kind")

    # --- lines ----------------------------------------------------------------------------------

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number."""
        if value == 1 or (isinstance(value, Fraction) and self.falls_to(value, at)):
            return
        number = self.enclosed(value)
        self.below(line, at, Level(number, 1 - number))

    def at_least(
        self, line: str, at: Fraction, value: Fraction, point: Point, *, strictly: bool
    ) -> None:
        """Prove that δ(ε) is at least a number, or above it."""
        number = self.enclosed(value)
        excess = self.excess(at, Level(number, 1 - number), point.event)
        self.hold(line, excess, strictly=strictly)

    def cell(self, line: str, cell: Cell) -> None:
        """Prove that the chord of δ is below a tangent to the Gaussian curve, at both ends."""
        self.prove_cell(line, cell, self.below)

    def prove_cell(
        self, line: str, cell: Cell, below: Callable[[str, Fraction, Level], None]
    ) -> None:
        """Prove that what is convex and below some numbers is below a tangent, at both ends."""
        low, high = binary(cell.low), binary(cell.high)
        if cell.centre is None:
            raise Malformed(f"{line}: centre", None, "a number")
        centre = binary(cell.centre)
        if not low <= centre <= high:
            raise Refused(line, "its centre lies outside")
        inside, shifted, outside = self._bound.tangent(self.arithmetic.exactly(centre))
        for end in (low, high):
            fall = self.arithmetic.exactly(end).exp() * shifted
            below(line, end, self._past(Level(inside - fall, outside + fall)))

    def _reach(self, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        if self.claim.statement != "approximate":
            super()._reach(reached)
        elif not self.falls_to(self.failure, reached):
            self.below("evidence.cells", reached, Level(self._failure, 1 - self._failure))

    def _past(self, level: Level) -> Level:
        """Return p + (1 - p)·δ of a δ, for an approximate statement."""
        if self.claim.statement != "approximate":
            return level
        kept = 1 - self._failure
        return Level(self._failure + kept * level.value, kept * level.complement)

    def _wanted(self, at: Fraction, mu: Fraction) -> Level:
        """Enclose what δ(ε) must reach for μ to be no more than what the statement needs."""
        eps, curve = self.arithmetic.exactly(at), GaussianCurve(self.arithmetic.exactly(mu))
        return self._past(Level(curve.log_delta(eps).exp(), curve.log_complement(eps).exp()))

    def _excess_at(self, at: Fraction, mu: Fraction) -> Interval:
        """Return by how much δ exceeds what is wanted, or a number of that sign."""
        return self.excess(at, self._wanted(at, mu), self.evidence.event)

    def excess(self, at: Fraction, wanted: Level, event: Event | None) -> Interval:
        """Return by how much p - e^ε·q of the event exceeds a number."""
        line = "evidence.event"
        if event is None:
            raise Refused(line, "there is none for a positive lower end")
        p, q = binary(event.inside), binary(event.outside)
        if not 0 <= q <= p <= 1:
            raise Malformed(
                line, "out of order", "two probabilities, the first not below the second"
            )
        self.allows(line, p, q)
        exactly = self.arithmetic.exactly
        return exactly(p) - exactly(at).exp() * exactly(q) - wanted.value
