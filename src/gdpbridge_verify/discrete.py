"""Discrete losses and their sums, for the checker: δ is convex in e^ε, and had from their law."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.composed import ComposedCheck
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.convex import ConvexCheck, Level
from gdpbridge_verify.document import Certificate, Event
from gdpbridge_verify.finite import DiscreteGaussian, Finite, cut_laplace, ratio
from gdpbridge_verify.law import Law
from gdpbridge_verify.mechanisms import GaussianDecay, Mechanism
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.transforms import Laplace, Transform

__all__ = ["DiscreteCheck", "is_discrete"]


def is_discrete(document: Certificate) -> bool:
    """Whether all losses are discrete, or put on a lattice, and δ is to be had from their law."""
    if document.evidence.directions is None:
        return False
    if any(one.unit for two in document.evidence.directions for one in two.pieces):
        return True
    parts = composition_of(document.mechanism).parts
    return all(isinstance(part.transform, Finite) for part in parts)


class DiscreteCheck(ConvexCheck, ComposedCheck):
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
    def _laws(self) -> dict[tuple[int, int, bool], Law]:
        return {}

    def _law(self, direction: int, at: Fraction, *, above: bool) -> Law:
        """Return the law of the piece that an ε is on, with δ at least or at most that of all."""
        starts = self._starts[direction]
        number = sum(start <= at for start in starts) - 1
        if number < 0 or starts != sorted(starts):
            raise Refused(f"evidence.directions[{direction}].pieces", "they do not begin at 0")
        piece = (self.evidence.directions or ())[direction].pieces[number]
        # where nothing is put on a lattice, one law serves both
        key = direction, number, above or piece.unit is None
        if key not in self._laws:
            if piece.tilt is None or piece.line is not None:
                raise Malformed("evidence.directions: piece", "a line", "a tilt")
            parts = [
                (self._placed(one, piece.unit, above=above), times)
                for one, times in self._towards(backward=bool(direction))
            ]
            self._laws[key] = Law(parts, binary(piece.tilt), self.arithmetic)
        return self._laws[key]

    @staticmethod
    def _placed(one: Transform, unit: str | None, *, above: bool) -> Finite:
        """Return losses themselves if they are discrete, else put on the multiples of the unit."""
        if isinstance(one, Finite):
            return one
        field = "evidence.directions: unit"
        size = ratio(field, unit or "0")
        if not isinstance(one, Laplace) or not size:
            raise Malformed(field, unit, "a positive number, for Laplace's and discrete losses")
        return cut_laplace(one.epsilon, size, above=above)

    def _delta(self, direction: int, at: Fraction, *, above: bool) -> Interval:
        """Enclose δ of a direction, or of what is above or below it."""
        failure = self.failure_towards(backward=bool(direction))
        if self._is_past_losses(at):
            return failure
        law = self._law(direction, at, above=above)
        return law.enclose(self.arithmetic.exactly(at)) + failure

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) of the direction in question is at most a number."""
        self._hold(line, level.value - self._delta(self._direction, at, above=True))

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether δ(at) ≤ value as all finite losses are below, and p_∞ is what is set aside."""
        return self.vanishes_at(at) or (value == self.failure and self._has_ended(at))

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number, in every direction."""
        ComposedCheck.at_most(self, line, at, value)

    def delta_above(self, direction: int, at: Fraction) -> Interval:
        """Bound δ of a direction from above by the upper end."""
        return self._delta(direction, at, above=True)

    def _require_reach(self, direction: int, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        self._direction = direction
        self._reach(reached)

    def excess(self, at: Fraction, wanted: Level, _: Event | None) -> Interval:
        """Return by how much δ of the larger direction exceeds what is wanted."""
        both = range(self._count_of_directions)
        found = [self._delta(number, at, above=False) for number in both]
        if not found:
            raise Refused("evidence.directions", "there are none")
        return max(found, key=lambda one: one.low) - wanted.value


def _top(value: Fraction | Interval) -> Fraction:
    """Return a rational number that is not below."""
    return value if isinstance(value, Fraction) else Fraction(*value.high.as_integer_ratio())
