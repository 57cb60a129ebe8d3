"""Statements about all mechanisms of a class: bounds of their δ at some ε, and an event.

The lower end is one event, of probabilities p and q under the two data sets: the mechanism that
tells whether it occurred, and nothing else, has δ(ε) ≥ p - e^ε·q, and is of the class if it obeys
all statements in both orders of the pair.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import Check


class ConvexCheck(Check):
    """The lines of a certificate about a class of mechanisms, at one precision."""

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
        number, eps = bisect.bisect_right(places, at) - 1, self.enclosed(at)
        if number < 0:
            share = (1 + eps.exp()) / (1 + self.enclosed(places[0]).exp())
            self.hold(line, share * (1 - bound(0)) - level.complement)
            return
        found = bound(number)
        if number + 1 < len(places) and at != places[number]:
            width = self.enclosed(places[number + 1] - places[number]).expm1()
            share = self.enclosed(at - places[number]).expm1() / width
            found = found + share * (bound(number + 1) - found)
        self.hold(line, level.value - found)

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Prove that the mechanism that tells of one event alone is of the class."""
        raise Refused(line, "no event is a proof for this kind")

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much p - e^ε·q of the event exceeds a number."""
        line, event = "evidence.event", proof.event
        if event is None:
            raise Refused(line, "there is none for a positive lower end")
        p, q = binary(event.inside), binary(event.outside)
        if not 0 <= q <= p <= 1:
            allowed = "two probabilities, the first not below the second"
            raise Malformed(line, "out of order", allowed)
        self.allows(line, p, q)
        return p - self.enclosed(at).exp() * q - wanted.value
