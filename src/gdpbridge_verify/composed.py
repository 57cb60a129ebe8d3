"""Composed privacy losses: δ is the larger one of two directions, each below curves of its own.

A line of nodes s = c + ikh gives curves above and below δ(ε). With M(s) = ∏ F_i(1 + s)^{T_i},
R = 2π/h and V(ε) = Re Σ_{|k| ≤ N} a_k e^{-ikhε}, a_k = (h/2π)·M(s_k)/(s_k(s_k + 1)), and B a bound
of |M(c + iy)| for y ≥ Nh:

    c > 0:       D(ε) ≤ e^{-cε}(V + B/(πNh)),  D(ε) ≥ e^{-cε}(V - B/(πNh)) - Σ_b α_b e^{-bε}
    -1 < c < 0:  the same of 1 - δ(ε), with -V in place of V

and δ = p_∞ + D. See docs/check-a-mu.md.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from importlib import import_module

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify import evidence
from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, largest
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.composition import Composition, composition_of
from gdpbridge_verify.document import Cell, Direction, Evidence
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
        low = self.claim.mu.low
        if self.composition.is_made and low != "inf" and Fraction(low):
            raise Malformed("claim.mu.low", low, "0, as another checker may have a closer bound")
        if self.evidence.breakpoints or self.evidence.cells:
            raise Malformed("evidence.cells", len(self.evidence.cells), "in the directions")
        parts = self.composition.parts
        self.variance = Fraction(sum(one.times * one.transform.tail_variance for one in parts))
        given, count = self.evidence.directions or (), self.count_of_directions
        if len(given) > count:
            raise Malformed("evidence.directions", len(given), f"at most {count}: one for each")
        # of those that are left out nothing is shown
        self._directions = given + (Direction(pieces=(), cells=()),) * (count - len(given))
        both = [self.failure_towards(backward=backward) for backward in (False, True)]
        if any(both):
            known = [one for one in both if isinstance(one, Fraction)]
            wide = largest(map(self.enclosed, both))
            return Tail.constant(max(known) if len(known) == 2 else wide)
        why = "every part's losses have a Gaussian tail, or are bounded"
        return Tail(why, square=self.variance)

    def assumption(self) -> str:
        """Name what is not proved: also that there is one order, where no relation tells it."""
        found, parts = super().assumption(), self.composition.parts
        names = self.document.mechanism.items()
        told = any(text for name, text in names if name.rpartition(".")[2] == "neighbours")
        if told or sum(part.times for part in parts if not part.symmetric) <= 1:
            return found
        return f"{found}, one data set of each coming first in all runs"

    @property
    def count_of_directions(self) -> int:
        """How many directions there are to prove."""
        return 1 if all(part.symmetric for part in self.composition.parts) else 2

    def towards(self, *, backward: bool) -> list[tuple[Transform, int]]:
        """Return the losses of a direction, and how often each is added."""
        parts = self.composition.parts
        return [(part.directed(backward, Fraction(0)).transform, part.times) for part in parts]

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
    def _largest(self) -> list[tuple[Fraction, Interval]] | None:
        """The largest finite loss of each direction, in two parts; None if there is none."""
        found = []
        for backward in (False, True):
            towards = self.towards(backward=backward)
            ends = [(one.largest(self.arithmetic), times) for one, times in towards]
            if any(end is None for end, _ in ends):
                return None
            known = sum(end * times for end, times in ends if isinstance(end, Fraction))
            rest = (end * times for end, times in ends if isinstance(end, Interval))
            found.append((Fraction(known), sum(rest, self.enclosed(Fraction(0)))))
        return found

    def is_past_losses(self, at: Fraction) -> bool:
        """Whether an ε is at least the largest finite loss of either direction."""
        return self._largest is not None and all(rest <= at - one for one, rest in self._largest)

    def vanishes_at(self, at: Fraction) -> bool:
        """Whether δ is 0 at an ε."""
        return self.tail.square is not None and self.is_past_losses(at)

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether δ(ε) is p_∞, which is at most a number, as all finite losses are below."""
        return self.is_past_losses(at) and self.tail.floor <= value

    # --- cells and answers, in each direction ---------------------------------------------------

    @cached_property
    def ranges(self) -> list[tuple[str, tuple[Cell, ...]]]:
        """The cells of each direction, and where the document has them."""
        directions = enumerate(self._directions)
        return [(f"evidence.directions[{number}]", one.cells) for number, one in directions]

    def piece_at(self, at: Fraction) -> CurvePiece:
        """Return the piece that an ε is on, of the direction in question."""
        starts, pieces = self._pieces[self.direction]
        number = bisect.bisect_right(starts, at) - 1
        if number < 0:
            raise Refused(f"evidence.directions[{self.direction}].pieces", "they begin past it")
        return pieces[number]

    @cached_property
    def _pieces(self) -> list[tuple[list[Fraction], tuple[CurvePiece, ...]]]:
        """The pieces of each direction, and where they begin."""
        found = []
        for number, one in enumerate(self._directions):
            starts = [binary(piece.start) for piece in one.pieces]
            if starts != sorted(starts):
                raise Refused(f"evidence.directions[{number}].pieces", "they are not in order")
            found.append((starts, one.pieces))
        return found


class ComposedCheck(LossesCheck):
    """Composed losses with curves above and below δ from lines, or from Chernoff's bound."""

    def build(self) -> Tail:
        """Return what is known of the tail."""
        if self.evidence.tail_from is not None:
            raise Malformed("evidence.tail_from", self.evidence.tail_from, "null")
        tail, parts = super().build(), self.composition.parts
        # each is made once
        self._line = cache(self._made_line)
        self._chernoff = cache(partial(log_chernoff, parts))
        return tail

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high; a whole one perhaps without cells.

        δ is at most that of Gaussian mechanisms with the same noise and no sampling.
        """
        if self.high is None or self.claim.statement != "whole" or self.cells_to_prove():
            return super().upper_end()
        parts = self.composition.parts
        if self.tail.square is None or not all(part.transform.gaussian_variance for part in parts):
            raise Refused("evidence.directions", "there is no proof for the whole range")
        if sum(part.times * part.transform.gaussian_variance for part in parts) > self.high**2:
            raise Refused("claim.mu.high", "it is less than that of the run without sampling")
        return f"{self.covers}, with μ = {self.claim.mu.high}: that of the run without sampling"

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) of the direction in question is at most a number."""
        self.hold(line, self._above(at).under(level))

    def _above(self, at: Fraction) -> Level:
        """Return what is above δ in the direction in question."""
        piece = self.piece_at(at)
        if (piece.line is None) == (piece.tilt is None):
            raise Malformed("evidence.directions: piece", "both or neither", "a line or a tilt")
        end = at if piece.chord is None else binary(piece.chord)
        if at > end:
            raise Refused("evidence.directions: chord", f"it ends before ε = {about(at)}")
        found = self._bound(piece, end)
        if at == end:
            return found
        # 1 - δ is concave in e^ε, and at least 0 at e^ε = 0
        rest = found.complement * self.arithmetic.exactly(at - end).exp()
        return Level(1 - rest, rest)

    def _bound(self, piece: CurvePiece, at: Fraction) -> Level:
        """Return what a line, or Chernoff's bound, shows above δ in the direction in question."""
        backward = bool(self.direction)
        failure = self.failure_towards(backward=backward)
        if piece.line is not None:
            return self._line(backward, piece.line).level(at, failure, above=True)
        # D(ε) ≤ κ(b)·M(b)·e^{-bε}, and δ(ε) ≤ δ(0)
        tilt, parts = binary(piece.tilt or ""), self.composition.parts
        if tilt == 0:
            return Level(*import_module(_RARE).distance_of(parts, self.arithmetic))
        log = self._chernoff(backward, tilt, self.arithmetic)
        return Level.of((log - tilt * at).exp() + failure)

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much what a line shows of δ from below exceeds a number."""
        given = proof.witness_line
        if given is None:
            raise Refused("evidence.witness_line", "there is none for a positive lower end")
        failure = self.failure_towards(backward=given.reverse)
        line = self._line(given.reverse, given.line)
        return wanted.under(line.level(at, failure, above=False))

    def _made_line(self, backward: bool, model: evidence.Line) -> Line:
        kind: type[Line] = Line if model.split is None else import_module(_RARE).RareLine
        return kind(self.composition.parts, backward, model, self.arithmetic)


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
        self.field, self._alias = Complexes(arithmetic), cache(self._bound_alias)
        # whether the curves are of 1 - δ
        line, self.is_complement = "evidence.lines", data.c < 0
        self._directed = [part.directed(backward, data.c) for part in parts]
        if not data.h > 0:
            raise Malformed(f"{line}: h", data.h, "a number > 0")
        least, most = (-1, 0) if self.is_complement else (0, math.inf)
        if not least <= data.left < data.c < data.right <= most:
            allowed = "between left and right, all of them at least 0, or between -1 and 0"
            raise Malformed(f"{line}: c", data.c, allowed)
        needed = [part.transform.needs_nodes for part in self.parts]
        for given in (data.nodes, data.far):
            if [one is not None for one in given] != needed:
                raise Malformed(f"{line}: nodes", len(given), "those that the parts need")

    # --- the curves --------------------------------------------------------------------------

    def level(self, at: Fraction, failure: Fraction | Interval, *, above: bool) -> Level:
        """Return what is above δ at an ε, or below it, given p_∞."""
        # δ is below where 1 - δ is above
        found = self.curve(at, above=above != self.is_complement)
        return Level(1 - found, found) if self.is_complement else Level.of(found + failure)

    def curve(self, at: Fraction, *, above: bool) -> Interval:
        """Return what is above D, or 1 - δ, at an ε, or what is below."""
        cut = self._cut if above else -self._cut
        found = (self._wave(at) + cut) * self._decay(self.data.c, at)
        if not above:
            for place in (self.data.left, self.data.right):
                found -= self._alias(place) * self._decay(place, at)
        return found

    def _decay(self, tilt: Fraction, at: Fraction) -> Interval:
        return self.of.exactly(-tilt * at).exp()

    def _wave(self, at: Fraction) -> Interval:
        """Enclose V(ε), the real part of Σ a_k z^k, z = e^{-ihε}.

        With d what z and each product may be off by, z^k is off by at most (1 + d)^k - 1.
        """
        of, field, up = self.of, self.field, self.field.up
        terms, sizes, radii = self._terms
        count = len(terms)
        of.charge(count * _COST_OF_TURN)
        turn = field.of(0, -self.data.h * at).exp()
        off = up.mul(count, up.log1p(up.add(turn.radius, up.mul(2, field.unit))))
        error = up.add(up.mul(sizes, up.expm1(off)), up.mul(radii, up.exp(off)))
        # each product and the sum are rounded
        error = up.add(error, up.mul(up.mul(sizes, up.exp(off)), up.mul(3, field.unit)))
        error = up.add(error, up.mul(2 * count, field.least))
        values, power, step = [], field.of(1).middle, turn.middle
        with gmpy2.context(field.nearest):
            for term in terms:
                values.append((term.middle * power).real)
                power = power * step
            total = gmpy2.fsum(values)
        return Interval(of, of.down.sub(total, error), of.up.add(total, error))

    # --- the numbers of the line ---------------------------------------------------------------

    @cached_property
    def _terms(self) -> tuple[list[Ball], mpfr, mpfr]:
        """Return a_k, twice for k > 0, with the sign of the curve; sums of sizes, and of radii."""
        data, field, of, up = self.data, self.field, self.of, self.field.up
        count, sizes, radii = data.count + 1, mpfr(0), mpfr(0)
        of.charge(count * len(self.parts) * 3 * _COST_OF_BALL)
        columns = [
            one.transform.on_line(field, one.place, data.h, count, nodes)
            for one, nodes in zip(self._directed, data.nodes, strict=True)
        ]
        unit = of.exactly(-data.h if self.is_complement else data.h) / (2 * of.pi)
        found = []
        for k in range(count):
            s = field.of(data.c, data.h * k)
            value = (s * (s + 1)).inverse() * (unit * (2 if k else 1))
            for part, column, one in zip(self.parts, columns, self._directed, strict=True):
                power = power_of(column[k], part.times)
                value = value * (power.conjugate() if one.mirrored else power)
            found.append(value)
            sizes, radii = up.add(sizes, value.size()), up.add(radii, value.radius)
        return found, sizes, radii

    @cached_property
    def _cut(self) -> Interval:
        """Bound what the nodes |k| > N add: within ± B/(πNh)."""
        data, of = self.data, self.of
        edge = data.h * data.count
        log = of.exactly(0)
        for part, one, far in zip(self.parts, self._directed, data.far, strict=True):
            size = one.transform.at(of, one.place)
            beyond = one.transform.beyond(self.field, one.place, edge, far)
            most = Interval(of, mpfr(0), min(size.high, beyond.high))
            log += most.log().ends()[1] * part.times
        return (log.exp() / (of.pi * edge)).ends()[1]

    def _bound_alias(self, b: Fraction) -> Interval:
        """Bound α_b."""
        bound = log_moment if self.is_complement or b == 0 else log_chernoff
        periods = 2 * self.of.pi * (abs(b - self.data.c) / self.data.h)
        moment = bound(self.parts, self.backward, b, self.of).exp()
        return (moment / periods.expm1()).ends()[1]


def log_moment(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log M(b) from above."""
    log = of.exactly(0)
    for part in parts:
        one = part.directed(backward, b)
        log += one.transform.at(of, one.place).log().ends()[1] * part.times
    return log


def log_chernoff(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log(κ(b)·M(b)) from above for b > 0."""
    return (log_moment(parts, backward, b, of) + log_kappa(b, of)).ends()[1]


def log_kappa(b: Fraction, of: Arithmetic) -> Interval:
    """Enclose log κ(b) for b > 0, κ(b) = b^b/(1 + b)^{1 + b}."""
    return of.exactly(b).log() * b - of.exactly(1 + b).log() * (1 + b)


def power_of(value: Ball, times: int) -> Ball:
    """Return v^T: by logarithms, or where v may be 0 by its size alone."""
    field = value.field
    try:
        turned = value.middle.real < 0
        power = ((-value if turned else value).log() * times).exp()
        return -power if turned and times % 2 else power
    except Undecided:
        return field.zero(field.up.pow(value.size(), times))
