"""Discrete losses and their sums, for the checker: chords of δ below tangents of a Gaussian curve.

In e^ε, δ is convex: on a cell it is below its chord, and δ_μ above its tangent at the centre. So
two values of δ prove a cell, wherever its losses lie.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.composed import ComposedCheck
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, Certificate
from gdpbridge_verify.finite import DiscreteGaussian, Finite
from gdpbridge_verify.law import Law
from gdpbridge_verify.mechanisms import GaussianDecay, Mechanism
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused

__all__ = ["DiscreteCheck", "is_discrete"]


def is_discrete(document: Certificate) -> bool:
    """Whether all losses are discrete, and δ is to be had from their law."""
    if document.evidence.directions is None:
        return False
    parts = composition_of(document.mechanism).parts
    return all(isinstance(part.transform, Finite) for part in parts)


class DiscreteCheck(ComposedCheck):
    """The lines of a certificate of discrete losses, at one precision."""

    @property
    def may_say_tail(self) -> bool:
        """Whether the losses have no end, so that a whole statement needs a proof of the tail."""
        return bool(self._tail_variance)

    def build_mechanism(self) -> Mechanism:
        """Return what is known of the tail.

        A discrete Gaussian loss has M(s) ≤ e^{v(s² + s)/2}, and one of at most B has M(s) ≤ e^{sB}.
        With v and B their sums, Chernoff's bound at s = (ε - B)/v - 1/2 is, for ε ≥ B + v/2,

            log δ ≤ -(ε - B)²/(2v) + (ε - B)/2 - v/8.

        Of a single one, with y ≥ ε the next loss, δ(ε) ≤ P(L ≥ y), which is at most (N + 1)/(2N)
        times the same at y, from v/2 on.
        """
        super().build_mechanism()
        if not self._tail_variance or self._fails:
            return Mechanism(())
        exactly, parts = self.arithmetic.exactly, self.composition.parts
        variance, bound, factor = self._tail_variance, Fraction(0), exactly(1)
        for part in parts:
            if not part.transform.tail_variance:
                both = part.transform, part.reverse or part.transform
                ends = [one.largest(self.arithmetic) for one in both]
                bound += part.times * max(_top(end) for end in ends if end is not None)
        if len(parts) == 1 and parts[0].times == 1:
            assert isinstance(parts[0].transform, DiscreteGaussian)
            norm = parts[0].transform.norm(self.arithmetic)
            factor = (norm + 1) / (2 * norm)
        constant = -(bound**2) / (2 * variance) - bound / 2 - variance / 8
        return Mechanism(
            (),
            decay=GaussianDecay(
                factor.log() + exactly(constant),
                exactly(variance).sqrt(),
                bound + variance / 2,
                Fraction(1, 2) + bound / variance,
            ),
        )

    @cached_property
    def _laws(self) -> dict[tuple[int, int], Law]:
        return {}

    def _law(self, direction: int, at: Fraction) -> Law:
        """Return the law of the piece that an ε is on."""
        starts = self._starts[direction]
        number = sum(start <= at for start in starts) - 1
        if number < 0 or starts != sorted(starts):
            raise Refused(f"evidence.directions[{direction}].pieces", "they do not begin at 0")
        if (direction, number) not in self._laws:
            piece = (self.evidence.directions or ())[direction].pieces[number]
            if piece.tilt is None or piece.line is not None:
                raise Malformed("evidence.directions: piece", "a line", "a tilt")
            parts = [
                (one, times)
                for one, times in self._towards(backward=bool(direction))
                if isinstance(one, Finite)
            ]
            self._laws[direction, number] = Law(parts, binary(piece.tilt), self.arithmetic)
        return self._laws[direction, number]

    def _delta(self, direction: int, at: Fraction) -> Interval:
        """Enclose δ of a direction."""
        failure = self.failure_towards(backward=bool(direction))
        if self._is_past_losses(at):
            return failure
        return self._law(direction, at).enclose(self.arithmetic.exactly(at)) + failure

    def failure_at_head(self) -> list[str]:
        """Prove δ(ε_h) ≤ p in every direction."""
        if self.eps_h is None:
            return []
        if not self._has_ended(self.eps_h):
            for number in range(self._count_of_directions):
                self._below("claim.failure_probability", number, self.eps_h, self._failure)
        return [f"δ at eps_h = {self.claim.eps_h} is at most {self.claim.failure_probability}"]

    def cell(self, line: str, cell: Cell) -> None:
        """Prove that the chord of δ is below a tangent to the Gaussian curve, at both ends."""
        low, high = binary(cell.low), binary(cell.high)
        if cell.centre is None:
            raise Malformed(f"{line}: centre", None, "a number")
        centre = binary(cell.centre)
        if not low <= centre <= high:
            raise Refused(line, "its centre lies outside")
        inside, shifted, _ = self._bound.tangent(self.arithmetic.exactly(centre))
        for end in (low, high):
            top = inside - self.arithmetic.exactly(end).exp() * shifted
            self._below(line, self._direction, end, self._past(top))

    def _past(self, level: Interval) -> Interval:
        """Return p + (1 - p)·δ of a δ, for an approximate statement."""
        if self.claim.statement != "approximate":
            return level
        return self._failure + (1 - self._failure) * level

    def _below(self, line: str, direction: int, at: Fraction, level: Interval) -> None:
        self._hold(line, level - self._delta(direction, at))

    def _require_reach(self, direction: int, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        if self.claim.statement == "whole" and self.mechanism.decay is not None:
            self._decay(reached)
        elif self.claim.statement == "approximate" and not self._has_ended(reached):
            line = f"evidence.directions[{direction}].cells"
            self._below(line, direction, reached, self._failure)
        else:
            super()._require_reach(direction, reached)

    def _excess_at(self, at: Fraction, mu: Fraction) -> Interval:
        """Return by how much δ of the larger direction exceeds δ_μ."""
        eps = self.arithmetic.exactly(at)
        inside, shifted, _ = GaussianCurve(self.arithmetic.exactly(mu)).tangent(eps)
        level = self._past(inside - eps.exp() * shifted)
        found = [self._delta(number, at) for number in range(self._count_of_directions)]
        return max(found, key=lambda one: one.low) - level


def _top(value: Fraction | Interval) -> Fraction:
    """Return a rational number that is not below."""
    return value if isinstance(value, Fraction) else Fraction(*value.high.as_integer_ratio())
