"""Discrete losses and their sums, for the checker: δ is had from their law."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.composed import LossesCheck
from gdpbridge_verify.document import Evidence, Point
from gdpbridge_verify.finite import DiscreteGaussian, Finite, cut_laplace, ratio
from gdpbridge_verify.law import Law
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.profile import Decay, Tail
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.transforms import Laplace, Transform

_UNIT = "evidence.directions: unit"


class DiscreteCheck(LossesCheck):
    """The lines of a certificate of discrete losses, at one precision."""

    def build(self) -> Tail:
        """Return what is known of the tail.

        A discrete Gaussian loss has M(s) ≤ e^{v(s² + s)/2}, and one of at most B has M(s) ≤ e^{sB}.
        With v and B their sums, Chernoff's bound at s = (ε - B)/v - 1/2 is, for ε ≥ B + v/2,

            log δ ≤ -(ε - B)²/(2v) + (ε - B)/2 - v/8.

        Of a single one, with y ≥ ε the next loss, δ(ε) ≤ P(L ≥ y), which is at most (N + 1)/(2N)
        times the same at y, from v/2 on.
        """
        tail = super().build()
        self._laws: dict[tuple[int, int, bool], Law] = {}
        parts, v = self.composition.parts, self.variance
        if self.evidence.tail_from is not None and not v:
            raise Malformed("evidence.tail_from", self.evidence.tail_from, "null")
        if not v or tail.square is None:
            return tail
        bound, factor = Fraction(0), self.enclosed(Fraction(1))
        for part in parts:
            if not part.transform.tail_variance:
                both = part.transform, part.reverse or part.transform
                ends = [one.largest(self.arithmetic) for one in both]
                bound += part.times * max(_top(end) for end in ends if end is not None)
        if len(parts) == 1 and parts[0].times == 1:
            assert isinstance(parts[0].transform, DiscreteGaussian)
            norm = parts[0].transform.norm(self.arithmetic)
            factor = (norm + 1) / (2 * norm)
        log_factor = factor.log() - (bound**2 / (2 * v) + bound / 2 + v / 8)
        decay = Decay(log_factor, bound + v / 2, Fraction(1, 2) + bound / v)
        return Tail(tail.why, square=v, decay=decay)

    def _law(self, at: Fraction, *, above: bool) -> Law:
        """Return the law of the piece that an ε is on, with δ at least or at most that of all."""
        number, piece = self.piece_at(at)
        # where nothing is put on a lattice, one law serves both
        key = self.direction, number, above or piece.unit is None
        if key not in self._laws:
            if piece.tilt is None or piece.line is not None:
                raise Malformed("evidence.directions: piece", "a line", "a tilt")
            parts = [
                (_placed(one, piece.unit, above=above), times)
                for one, times in self.towards(backward=bool(self.direction))
            ]
            self._laws[key] = Law(parts, binary(piece.tilt), self.arithmetic)
        return self._laws[key]

    def _delta(self, at: Fraction, *, above: bool) -> Interval:
        """Enclose δ of the direction in question, or of what is above or below it."""
        failure = self.enclosed(self.failure_towards(backward=bool(self.direction)))
        if self.is_past_losses(at):
            return failure
        return self._law(at, above=above).enclose(self.enclosed(at)) + failure

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) of the direction in question is at most a number."""
        self.hold(line, level.value - self._delta(at, above=True))

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Return by how much δ of the larger direction exceeds a number."""
        if not self.ranges:
            raise Refused("evidence.directions", "there are none")
        found = []
        for direction in range(len(self.ranges)):
            self.direction = direction
            found.append(self._delta(at, above=False) - wanted.value)
        return max(found, key=lambda one: one.low)


def _placed(one: Transform, unit: str | None, *, above: bool) -> Finite:
    """Return losses themselves if they are discrete, else put on the multiples of the unit."""
    if isinstance(one, Finite):
        return one
    size = ratio(_UNIT, unit or "0")
    if not isinstance(one, Laplace) or not size:
        raise Malformed(_UNIT, unit, "a positive number, for Laplace's and discrete losses")
    return cut_laplace(one.epsilon, size, above=above)


def _top(value: Fraction | Interval) -> Fraction:
    """Return a rational number that is not below."""
    return value if isinstance(value, Fraction) else Fraction(*value.high.as_integer_ratio())
