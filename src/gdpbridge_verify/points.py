"""δ at one ε, for the checker: what is proved of it above and below, whatever the kind."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Jet
from gdpbridge_verify.document import Point
from gdpbridge_verify.mechanisms import Mechanism, Part
from gdpbridge_verify.numbers import about
from gdpbridge_verify.refusal import Refused, Undecided

__all__ = ["Points"]


class Points:
    """A mechanism at one precision.

    Attributes:
        arithmetic: the precision.
        mechanism: its formulas, and what is known of its tail.
    """

    arithmetic: Arithmetic
    mechanism: Mechanism

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number."""
        if self.vanishes_at(at) or (isinstance(value, Fraction) and self.falls_to(value, at)):
            self._hold(line, self.enclosed(value))
        elif value == 1:
            return
        else:
            point = Jet.variable(self.arithmetic.exactly(at))
            self._hold(line, self.enclosed(value) - self._point(at).log(point).value.exp())

    def at_least(
        self, line: str, at: Fraction, value: Fraction, point: Point, *, strictly: bool
    ) -> None:
        """Prove that δ(ε) is at least a number, or above it."""
        floor = self.mechanism.floor
        if floor > value or (floor == value and not strictly):
            return
        if self.vanishes_at(at):
            raise Refused(line, "δ is 0 there")
        jet = Jet.variable(self.arithmetic.exactly(at))
        log = self._point(at).log(jet).value
        self.hold(line, log.exp() - self.enclosed(value), strictly=strictly)

    def never_below(self, line: str, value: Fraction) -> None:
        """Prove that δ is above a number at every ε."""
        if not self.mechanism.floor > value:
            raise Refused(line, "it is infinite, and nothing shows it")

    def enclosed(self, value: Fraction | Interval) -> Interval:
        """Return a number as an interval."""
        return value if isinstance(value, Interval) else self.arithmetic.exactly(value)

    def hold(self, line: str, difference: Interval, *, strictly: bool) -> None:
        """Prove that a difference is at least 0, or above."""
        self._hold(line, difference)
        if strictly and not difference > 0:
            raise Undecided(line)

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether δ(at) ≤ value by the mechanism's constant tail alone."""
        if self.vanishes_at(at):
            return True
        floor, parts = self.mechanism.floor, self.mechanism.parts
        return 0 < floor <= value and bool(parts) and at >= parts[-1].low

    def vanishes_at(self, at: Fraction) -> bool:
        """Whether δ is 0 at an ε."""
        return self.mechanism.vanishes_at(self.arithmetic.exactly(at), at)

    def part_on(self, line: str, low: Fraction, high: Fraction) -> Part:
        """Return the formula that holds on a range."""
        # where two parts meet, the later one is regular
        for part in reversed(self.mechanism.parts):
            if part.low <= low and (part.high is None or high <= part.high):
                return part
        raise Refused(line, "it straddles a point at which the profile changes its formula")

    def _point(self, at: Fraction) -> Part:
        return self.part_on(f"ε = {about(at)}", at, at)

    @staticmethod
    def _hold(line: str, difference: Interval) -> None:
        if difference >= 0:
            difference.of.work.note(line, float(difference.low))
            return
        if difference < 0:
            raise Refused(line, f"short by {float(-difference.high):.3g}")
        raise Undecided(line)
