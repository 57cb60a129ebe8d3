"""Composed privacy losses: δ is the larger one of two directions, each below curves of its own.

A line of nodes s = c + ikh gives curves above and below δ(ε). With M(s) = ∏ F_i(1 + s)^{T_i},
R = 2π/h and V(ε) = Re Σ_{|k| ≤ N} a_k e^{-ikhε}, a_k = (h/2π)·M(s_k)/(s_k(s_k + 1)), and B a bound
of |M(c + iy)| for y ≥ Nh:

    c > 0:       D(ε) ≤ e^{-cε}(V + B/(πNh)),  D(ε) ≥ e^{-cε}(V - B/(πNh)) - Σ_b α_b e^{-bε}
    -1 < c < 0:  the same of 1 - δ(ε), with -V in place of V

and δ = p_∞ + D. See docs/check-a-mu.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from importlib import import_module

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify import evidence
from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.composition import Composition, composition_of
from gdpbridge_verify.document import Cell, Evidence
from gdpbridge_verify.ends import largest
from gdpbridge_verify.evidence import CurvePiece, Point
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.statement import Check
from gdpbridge_verify.transforms import Runs, Transform

# of what may fail: so few that the chance is a number of few digits
_FEW_RUNS = 32
_RARE = "gdpbridge_verify.rare"
# microseconds
_COST_OF_BALL, _COST_OF_TURN = 25.0, 1.5


class LossesCheck(Check):
    """The lines of a certificate of composed losses, at one precision: what all have in common."""

    uses = frozenset({"directions"})

    def build(self) -> Tail:
        """Return what is known of the tail; the formulas are those of the pieces."""
        self.composition: Composition = composition_of(self.spec)
        self.arithmetic.work.charge(self.composition.cost)
        self.nature_of_kind = self.composition.nature
        if self.evidence.breakpoints or self.evidence.cells:
            raise Malformed("evidence.cells", len(self.evidence.cells), "in the directions")
        parts = self.composition.parts
        self.variance = Fraction(sum(one.times * one.transform.tail_variance for one in parts))
        directions = self.evidence.directions or ()
        # the head's δ needs them too, a whole statement none where the tail is all of the proof
        by_tail = self.claim.statement == "whole" and not any(one.cells for one in directions)
        needed = self.claim.statement == "head" or (self.claim.mu.high != "inf" and not by_tail)
        wanted = self.count_of_directions
        self.is_in_every_direction = len(directions) == wanted
        if needed and not self.is_in_every_direction:
            raise Malformed("evidence.directions", len(directions), f"{wanted} of them")
        both = [self.failure_towards(backward=backward) for backward in (False, True)]
        if any(one.failure for side in (False, True) for one, _ in self.towards(backward=side)):
            known = [one for one in both if isinstance(one, Fraction)]
            wide = largest(map(self.enclosed, both))
            return Tail.constant(max(known) if len(known) == 2 else wide)
        why = "every part's losses have a Gaussian tail, or are bounded"
        return Tail(why, square=self.variance)

    @property
    def count_of_directions(self) -> int:
        """How many directions there are to prove."""
        return 1 if all(part.symmetric for part in self.composition.parts) else 2

    def towards(self, *, backward: bool) -> list[tuple[Transform, int]]:
        """Return the losses of a direction, and how often each is added."""
        parts = self.composition.parts
        return [(part.directed(backward, Fraction(0))[0], part.times) for part in parts]

    def failure_towards(self, *, backward: bool) -> Fraction | Interval:
        """Return p_∞ = 1 - ∏(1 - δ_i)^{T_i} of a direction, exactly if it has few digits."""
        failing = [one for one in self.towards(backward=backward) if one[0].failure]
        if sum(times for _, times in failing) <= _FEW_RUNS:
            return 1 - Fraction(math.prod((1 - one.failure) ** times for one, times in failing))
        log = self.enclosed(Fraction(0))
        for one, times in failing:
            log += self.enclosed(-one.failure).log1p() * times
        return -log.expm1()

    @cached_property
    def fails(self) -> bool:
        """Whether losses may be infinite."""
        return self.tail.square is None

    @cached_property
    def _largest(self) -> list[tuple[Fraction, Interval]] | None:
        """The largest finite loss of each direction, in two parts; None if there is none."""
        found = []
        for backward in (False, True):
            known, rest = Fraction(0), self.enclosed(Fraction(0))
            for transform, times in self.towards(backward=backward):
                one = transform.largest(self.arithmetic)
                if one is None:
                    return None
                if isinstance(one, Fraction):
                    known += times * one
                else:
                    rest += one * times
            found.append((known, rest))
        return found

    def is_past_losses(self, at: Fraction) -> bool:
        """Whether an ε is at least the largest finite loss of either direction."""
        return self._largest is not None and all(rest <= at - one for one, rest in self._largest)

    def vanishes_at(self, at: Fraction) -> bool:
        """Whether δ is 0 at an ε."""
        return not self.fails and self.is_past_losses(at)

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether δ(ε) is p_∞, which is at most a number, as all finite losses are below."""
        return self.is_past_losses(at) and self.tail.floor <= value

    # --- cells and answers, in each direction ---------------------------------------------------

    @cached_property
    def ranges(self) -> list[tuple[str, tuple[Cell, ...]]]:
        """The cells of each direction, and where the document has them."""
        directions = enumerate(self.evidence.directions or ())
        return [(f"evidence.directions[{number}]", one.cells) for number, one in directions]

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number, in every direction."""
        if value == 1:
            return
        if self.is_past_losses(at):
            self.hold(line, self.enclosed(value - self.tail.floor))
            return
        if not self.is_in_every_direction:
            raise Refused(line, "it is not proved in every direction")
        for direction in range(len(self.ranges)):
            self.direction = direction
            self.below(line, at, Level.of(self.enclosed(value)))

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high, in every direction."""
        if self.high is not None and not self.is_in_every_direction:
            raise Refused("evidence.directions", "it is not proved in every direction")
        return super().upper_end()

    def piece_at(self, at: Fraction) -> tuple[int, CurvePiece]:
        """Return the piece that an ε is on, of the direction in question, and its number."""
        pieces = (self.evidence.directions or ())[self.direction].pieces
        starts = self._starts[self.direction]
        number = sum(start <= at for start in starts) - 1
        if number < 0 or starts != sorted(starts):
            line = f"evidence.directions[{self.direction}].pieces"
            raise Refused(line, "they do not begin at 0, or are not in order")
        return number, pieces[number]

    @cached_property
    def _starts(self) -> list[list[Fraction]]:
        return [
            [binary(piece.start) for piece in one.pieces] for one in self.evidence.directions or ()
        ]


class ComposedCheck(LossesCheck):
    """Composed losses with curves above and below δ from lines, or from Chernoff's bound."""

    def build(self) -> Tail:
        """Return what is known of the tail."""
        if self.evidence.tail_from is not None:
            raise Malformed("evidence.tail_from", self.evidence.tail_from, "null")
        self._lines: dict[tuple[evidence.Line, bool], Line] = {}
        self._chernoff: dict[tuple[int, int], Interval] = {}
        return super().build()

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high; a whole one perhaps without cells.

        δ is at most that of Gaussian mechanisms with the same noise and no sampling.
        """
        if self.high is None or self.claim.statement != "whole" or self.count_of_cells():
            return super().upper_end()
        parts = self.composition.parts
        if not all(part.transform.gaussian_variance for part in parts) or self.fails:
            raise Refused("evidence.directions", "there is no proof for the whole range")
        if sum(part.times * part.transform.gaussian_variance for part in parts) > self.high**2:
            raise Refused("claim.mu.high", "it is less than that of the run without sampling")
        return f"{self.covers}, with μ = {self.claim.mu.high}: that of the run without sampling"

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) of the direction in question is at most a number."""
        self.hold(line, self._above(at).under(level))

    def _above(self, at: Fraction) -> Level:
        """Return what is above δ in the direction in question."""
        number, piece = self.piece_at(at)
        if (piece.line is None) == (piece.tilt is None):
            raise Malformed("evidence.directions: piece", "both or neither", "a line or a tilt")
        if piece.chord is None:
            return self._bound(piece, (self.direction, number), at)
        # 1 - δ is concave in e^ε, and at least 0 at e^ε = 0
        end = binary(piece.chord)
        if at > end:
            raise Refused("evidence.directions: chord", f"it ends before ε = {about(at)}")
        last = self._bound(piece, (self.direction, number), end).complement
        rest = last * self.arithmetic.exactly(at - end).exp()
        return Level(1 - rest, rest)

    @property
    def _failure(self) -> Fraction | Interval:
        """The chance of an infinite loss in the direction in question."""
        return self.failure_towards(backward=bool(self.direction))

    def _bound(self, piece: CurvePiece, key: tuple[int, int], at: Fraction) -> Level:
        """Return what a line, or Chernoff's bound, shows above δ in the direction in question."""
        if piece.line is not None:
            curve = self._line(piece.line, bool(self.direction))
            if curve.is_complement:
                rest = curve.below(at)
                return Level(1 - rest, rest)
            return Level.of(curve.above(at) + self._failure)
        # D(ε) ≤ κ(b)·M(b)·e^{-bε}, and δ(ε) ≤ δ(0)
        tilt, parts = binary(piece.tilt or ""), self.composition.parts
        if tilt < 0:
            raise Malformed("evidence.directions: tilt", about(tilt), "a number ≥ 0")
        if tilt == 0:
            return Level(*import_module(_RARE).distance_of(parts, self.arithmetic))
        if key not in self._chernoff:
            backward = bool(self.direction)
            self._chernoff[key] = log_chernoff(parts, backward, tilt, self.arithmetic)
        return Level.of((self._chernoff[key] - tilt * at).exp() + self._failure)

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much what a line shows of δ from below exceeds a number."""
        given = proof.witness_line
        if given is None:
            raise Refused("evidence.witness_line", "there is none for a positive lower end")
        curve = self._line(given.line, given.reverse)
        if curve.is_complement:
            rest = curve.above(at)
            return wanted.under(Level(1 - rest, rest))
        return wanted.under(
            Level.of(curve.below(at) + self.failure_towards(backward=given.reverse))
        )

    def _line(self, model: evidence.Line, backward: bool) -> Line:
        key = model, backward
        if key not in self._lines:
            kind = Line if model.split is None else import_module(_RARE).RareLine
            self._lines[key] = kind(self.composition.parts, backward, model, self.arithmetic)
        return self._lines[key]


class Line:
    """The curves of one line, in one direction.

    Args:
        parts: the mechanisms and their counts.
        backward: whether the direction is Q against P, in which M(s) = ∏ F_i(-s)^{T_i}.
        data: the line.
        arithmetic: the arithmetic.
    """

    def __init__(
        self, parts: Sequence[Runs], backward: bool, data: evidence.Line, arithmetic: Arithmetic
    ) -> None:
        self.parts, self.backward, self.data, self.of = tuple(parts), backward, data, arithmetic
        self.field = Complexes(arithmetic)
        line, below = "evidence.lines", data.c < 0
        if not data.h > 0:
            raise Malformed(f"{line}: h", data.h, "a number > 0")
        if not (data.c > 0 or -1 < data.c < 0):
            raise Malformed(f"{line}: c", data.c, "a number > 0, or between -1 and 0")
        if not (-1 if below else 0) <= data.left < data.c:
            raise Malformed(f"{line}: left", data.left, "less than c, at least 0, or -1 for c < 0")
        if not data.c < data.right or (below and data.right > 0):
            raise Malformed(f"{line}: right", data.right, "more than c, and at most 0 where c < 0")
        needed = [part.transform.needs_nodes for part in self.parts]
        for given in (data.nodes, data.far):
            if [one is not None for one in given] != needed:
                raise Malformed(f"{line}: nodes", len(given), "those that the parts need")

    @property
    def is_complement(self) -> bool:
        """Whether the curves are of 1 - δ."""
        return self.data.c < 0

    # --- the curves --------------------------------------------------------------------------

    def above(self, at: Fraction) -> Interval:
        """Return what is above D, or 1 - δ, at an ε."""
        return (self._wave(at) + self._cut) * self._decay(self.data.c, at)

    def below(self, at: Fraction) -> Interval:
        """Return what is below D, or 1 - δ, at an ε."""
        found = (self._wave(at) - self._cut) * self._decay(self.data.c, at)
        for place, alias in self._aliases:
            found = found - alias * self._decay(place, at)
        return found

    def _decay(self, tilt: Fraction, at: Fraction) -> Interval:
        return self.of.exactly(-tilt * at).exp()

    def _wave(self, at: Fraction) -> Interval:
        """Enclose V(ε), the real part of Σ a_k z^k, z = e^{-ihε}.

        With d what z and each product may be off by, z^k is off by at most (1 + d)^k - 1.
        """
        of, field, up = self.of, self.field, self.field.up
        count = len(self.terms)
        of.work.charge(count * _COST_OF_TURN)
        turn = field.of(0, -self.data.h * at).exp()
        off = up.mul(count, up.log1p(up.add(turn.radius, up.mul(2, field.unit))))
        sizes, radii = self._sizes
        error = up.add(up.mul(sizes, up.expm1(off)), up.mul(radii, up.exp(off)))
        # each product and the sum are rounded
        error = up.add(error, up.mul(up.mul(sizes, up.exp(off)), up.mul(3, field.unit)))
        values, power, step = [], field.of(1).middle, turn.middle
        with gmpy2.context(field.nearest):
            for term in self.terms:
                values.append((term.middle * power).real)
                power = power * step
            total = gmpy2.fsum(values)
        return Interval(of, of.down.sub(total, error), of.up.add(total, error))

    # --- the numbers of the line ---------------------------------------------------------------

    @cached_property
    def _directed(self) -> list[tuple[Transform, Fraction, bool]]:
        return [part.directed(self.backward, self.data.c) for part in self.parts]

    @cached_property
    def terms(self) -> list[Ball]:
        """Return a_k, twice for k > 0, and with the sign of the curve."""
        data, field, of = self.data, self.field, self.of
        count = data.count + 1
        of.work.charge(count * len(self.parts) * 3 * _COST_OF_BALL)
        columns = [
            transform.on_line(field, place, data.h, count, nodes)
            for (transform, place, _), nodes in zip(self._directed, data.nodes, strict=True)
        ]
        unit = of.exactly(-data.h if self.is_complement else data.h) / (2 * of.pi)
        found = []
        for k in range(count):
            s = field.of(data.c, data.h * k)
            value = (s * (s + 1)).inverse() * (unit * (2 if k else 1))
            for part, column, (_, _, mirrored) in zip(
                self.parts, columns, self._directed, strict=True
            ):
                power = power_of(column[k], part.times)
                value = value * (power.conjugate() if mirrored else power)
            found.append(value)
        return found

    @cached_property
    def _sizes(self) -> tuple[mpfr, mpfr]:
        """Return sums of the sizes of all a_k, and of how much they may be off."""
        sizes, radii, up = mpfr(0), mpfr(0), self.field.up
        for term in self.terms:
            sizes, radii = up.add(sizes, term.size()), up.add(radii, term.radius)
        return sizes, radii

    @cached_property
    def _cut(self) -> Interval:
        """Bound what the nodes |k| > N add: within ± B/(πNh)."""
        data, of = self.data, self.of
        edge = data.h * data.count
        log = of.exactly(0)
        for part, (transform, place, _), far in zip(
            self.parts, self._directed, data.far, strict=True
        ):
            size = transform.at(of, place)
            beyond = transform.beyond(self.field, place, edge, far)
            most = Interval(of, mpfr(0), min(size.high, beyond.high))
            log += most.log().ends()[1] * part.times
        return (log.exp() / (of.pi * edge)).ends()[1]

    @cached_property
    def _aliases(self) -> list[tuple[Fraction, Interval]]:
        """Return the tilts b and bounds of the aliases' constants α_b."""
        return [(b, self._alias(b)) for b in (self.data.left, self.data.right)]

    def _alias(self, b: Fraction) -> Interval:
        of = self.of
        if self.is_complement or b == 0:
            log = _log_moment(self.parts, self.backward, b, of)
        else:
            log = log_chernoff(self.parts, self.backward, b, of)
        periods = 2 * of.pi * (abs(b - self.data.c) / self.data.h)
        return (log.exp() / periods.expm1()).ends()[1]


def _log_moment(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log M(b) from above."""
    log = of.exactly(0)
    for part in parts:
        transform, place, _ = part.directed(backward, b)
        log += transform.at(of, place).log().ends()[1] * part.times
    return log


def log_chernoff(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log(κ(b)·M(b)) from above for b > 0."""
    return (_log_moment(parts, backward, b, of) + log_kappa(b, of)).ends()[1]


def log_kappa(b: Fraction, of: Arithmetic) -> Interval:
    """Enclose log κ(b) for b > 0, κ(b) = b^b/(1 + b)^{1 + b}."""
    return of.exactly(b).log() * b - of.exactly(1 + b).log() * (1 + b)


def power_of(value: Ball, times: int) -> Ball:
    """Return v^T: by logarithms, or where v may be 0 by its size alone."""
    field = value.field
    try:
        turned = value.middle.real < 0
        log = (-value if turned else value).log()
        power = (log * times).exp()
        return -power if turned and times % 2 else power
    except Undecided:
        return field.zero(field.up.pow(value.size(), times))
