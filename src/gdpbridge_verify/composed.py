"""Composed privacy losses, for the checker: δ is the larger one of two directions, above and below.

Each direction has smooth curves above its δ, of lines or of Chernoff's bound, and cells that prove
each curve to be below the Gaussian one; the lower curve of one line at the witness is the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval, Jet
from gdpbridge_verify.composition import Composition, composition_of
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, CurvePiece, Evidence, Point, WitnessLine
from gdpbridge_verify.document import Line as LineModel
from gdpbridge_verify.document import Nodes as NodesModel
from gdpbridge_verify.lines import Line, LineData, log_chernoff
from gdpbridge_verify.mechanisms import Mechanism, Part, log1mexp
from gdpbridge_verify.numbers import about, binary, mu_range, signed
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import Check
from gdpbridge_verify.transforms import Nodes, Transform

__all__ = ["ComposedCheck", "is_composed"]

# of what may fail: so few that the chance is a number of few digits
_FEW_RUNS = 32


def is_composed(evidence: Evidence) -> bool:
    """Whether a document proves its claim in the way of composed losses."""
    return evidence.directions is not None


class ComposedCheck(Check):
    """The lines of a certificate of a composed loss, at one precision."""

    @cached_property
    def composition(self) -> Composition:
        """Return what is run, as the document names it."""
        return composition_of(self.spec)

    @property
    def may_say_tail(self) -> bool:
        """Whether the document may say from where on the tail is proved by its decay."""
        return False

    def build_mechanism(self) -> Mechanism:
        """Return what is known of the tail; the formulas are those of the pieces."""
        found = self.composition
        self.nature_of_kind = found.nature
        if self.evidence.breakpoints or self.evidence.cells:
            raise Malformed("evidence.cells", len(self.evidence.cells), "in the directions")
        if self.evidence.tail_from is not None and not self.may_say_tail:
            raise Malformed("evidence.tail_from", self.evidence.tail_from, "null")
        directions = self.evidence.directions or ()
        # the head's δ needs them too, a whole statement none where the tail is all of the proof
        by_tail = self._is_whole and not self.count_of_cells()
        needed = self.claim.statement == "head" or (self.claim.mu.high != "inf" and not by_tail)
        wanted = self._wanted_directions
        if len(directions) != wanted and needed:
            raise Malformed("evidence.directions", len(directions), f"{wanted} of them")
        return Mechanism(())

    @property
    def _wanted_directions(self) -> int:
        return 1 if all(part.symmetric for part in self.composition.parts) else 2

    @property
    def _is_whole(self) -> bool:
        return self.claim.statement == "whole"

    # --- the tail ------------------------------------------------------------------------------

    def _towards(self, *, backward: bool) -> list[tuple[Transform, int]]:
        """Return the losses of a direction, and how often each is added."""
        parts = self.composition.parts
        return [(part.directed(backward, Fraction(0))[0], part.times) for part in parts]

    def _failure_exactly(self, *, backward: bool) -> Fraction | None:
        """Return p_∞ of a direction, None if it would be a number of very many digits."""
        failing = [one for one in self._towards(backward=backward) if one[0].failure]
        if sum(times for _, times in failing) > _FEW_RUNS:
            return None
        return 1 - Fraction(math.prod((1 - one.failure) ** times for one, times in failing))

    def failure_towards(self, *, backward: bool) -> Interval:
        """Enclose p_∞ = 1 - ∏(1 - δ_i)^{T_i} in a direction."""
        known = self._failure_exactly(backward=backward)
        if known is not None:
            return self.arithmetic.exactly(known)
        log = self.arithmetic.exactly(0)
        for one, times in self._towards(backward=backward):
            log += self.arithmetic.exactly(times) * (-self.arithmetic.exactly(one.failure)).log1p()
        return -log.expm1()

    def _sets_aside_all(self, value: Fraction | Interval) -> bool:
        """Whether p_∞ is at most a number."""
        for backward in (False, True):
            known = self._failure_exactly(backward=backward)
            if known is None:
                if not self.failure_towards(backward=backward) <= self.enclosed(value):
                    return False
            elif isinstance(value, Fraction):
                if known > value:
                    return False
            elif not self.enclosed(known) <= value:
                return False
        return True

    @cached_property
    def failure_mass(self) -> Interval:
        """Enclose p_∞, the larger one of both directions."""
        one, other = (self.failure_towards(backward=backward) for backward in (False, True))
        return Interval(one.of, max(one.low, other.low), max(one.high, other.high))

    @cached_property
    def _fails(self) -> bool:
        both = self._towards(backward=False) + self._towards(backward=True)
        return any(transform.failure for transform, _ in both)

    def _is_past_losses(self, at: Fraction) -> bool:
        """Whether an ε is at least the largest finite loss of either direction."""
        for backward in (False, True):
            left, rest = at, self.arithmetic.exactly(0)
            for transform, times in self._towards(backward=backward):
                one = transform.largest(self.arithmetic)
                if one is None:
                    return False
                if isinstance(one, Fraction):
                    left -= times * one
                else:
                    rest += self.arithmetic.exactly(times) * one
            if not self.arithmetic.exactly(left) >= rest:
                return False
        return True

    @property
    def _tail_variance(self) -> Fraction:
        return sum(
            (part.times * part.transform.tail_variance for part in self.composition.parts),
            Fraction(0),
        )

    def verdict(self) -> str:
        """Prove that some finite μ covers every ε, or that none does."""
        actual, why = "gdp", "every part's losses have a Gaussian tail, or are bounded"
        if self._fails:
            actual, why = "not-gdp", f"δ never falls below {float(self.failure_mass.low):g}"
        if self.claim.verdict != actual:
            raise Refused("claim.verdict", f"it is {self.claim.verdict}, but {why}: {actual}")
        return f"the verdict is {actual}: {why}"

    def tail_parameter(self) -> str:
        """Prove that the interval for μ_t holds √ΣT_i·μ_{t,i}²."""
        low, high = mu_range("claim.mu_tail", self.claim.mu_tail.low, self.claim.mu_tail.high)
        if self._fails:
            if low is not None:
                raise Refused("claim.mu_tail", "it is finite, but the mechanism is not GDP")
            return "the tail parameter is infinite"
        if low is None or high is None:
            raise Refused("claim.mu_tail", "it is infinite, but the mechanism is GDP")
        if not low**2 <= self._tail_variance <= high**2:
            raise Refused("claim.mu_tail", f"its square is {about(self._tail_variance)}")
        return f"the tail parameter: {self.claim.mu_tail.low} to {self.claim.mu_tail.high}"

    # --- the upper end ---------------------------------------------------------------------------

    def at_most(self, line: str, at: Fraction, value: Fraction | Interval) -> None:
        """Prove that δ(ε) is at most a number, in every direction."""
        number = self.enclosed(value)
        if value == 1:
            return
        if self._is_past_losses(at) and (not self._fails or self._sets_aside_all(value)):
            self._hold(line, number)
            return
        if self._count_of_directions != self._wanted_directions:
            raise Refused(line, "it is not proved in every direction")
        for direction in range(self._count_of_directions):
            self._hold(line, number - self.delta_above(direction, at))

    def delta_above(self, direction: int, at: Fraction) -> Interval:
        """Enclose what is above δ of a direction."""
        return self._log_above(direction, at).exp()

    def at_least(
        self, line: str, at: Fraction, value: Fraction, point: Point, *, strictly: bool
    ) -> None:
        """Prove that δ(ε) is at least a number, or above it, by a line of one direction."""
        number = self.enclosed(value)
        if self.failure_mass > number:
            return
        if point.witness_line is None:
            raise Refused(line, "there is no line")
        eps = Jet.variable(self.arithmetic.exactly(at))
        log = self._below_at(point.witness_line, eps).log(eps).value
        self.hold(line, log.exp() - number, strictly=strictly)

    def never_below(self, line: str, value: Fraction) -> None:
        """Prove that δ is above a number at every ε."""
        if not self.failure_mass > self.enclosed(value):
            raise Refused(line, "it is infinite, and nothing shows it")

    def _log_above(self, direction: int, at: Fraction) -> Interval:
        point = Jet.variable(self.arithmetic.exactly(at))
        part = self._piece_on("evidence.directions", direction, at, at)
        return part.log(point).value

    def _has_ended(self, at: Fraction) -> bool:
        """Whether there is nothing left of δ at ε but, at most, p_∞, which is at most p."""
        if not self._is_past_losses(at):
            return False
        return not self._fails or self._sets_aside_all(self.failure)

    @property
    def _count_of_directions(self) -> int:
        return len(self.evidence.directions or ())

    def count_of_cells(self) -> int:
        """Return how many cells there are to prove in all."""
        return sum(len(one.cells) for one in self.evidence.directions or ())

    def numbered_cell(self, number: int) -> None:
        """Prove a cell for its direction, and that it begins where the last one ended."""
        for direction, one in enumerate(self.evidence.directions or ()):
            if number < len(one.cells):
                self._direction = direction
                self.adjacent_cell(f"evidence.directions[{direction}]", one.cells, number)
                return
            number -= len(one.cells)

    def cell_of(self, line: str, cell: Cell, direction: int) -> None:
        """Prove a cell of a direction."""
        self._direction = direction
        self.cell(line, cell)

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high."""
        if self.high is None:
            return "no upper end is claimed for μ"
        if self._is_whole and not self.count_of_cells():
            return self._whole_by_tail()
        for direction, one in enumerate(self.evidence.directions or ()):
            reached = binary(one.cells[-1].high) if one.cells else Fraction(0)
            self._require_reach(direction, reached)
        return f"{self.covers}, with μ = {self.claim.mu.high}"

    def _whole_by_tail(self) -> str:
        """δ is at most that of Gaussian mechanisms with the same noise and no sampling."""
        assert self.high is not None
        parts = self.composition.parts
        if not all(part.transform.gaussian_variance for part in parts) or self._fails:
            raise Refused("evidence.directions", "there is no proof for the whole range")
        if sum(part.times * part.transform.gaussian_variance for part in parts) > self.high**2:
            raise Refused("claim.mu.high", "it is less than that of the run without sampling")
        return f"{self.covers}, with μ = {self.claim.mu.high}: that of the run without sampling"

    def _require_reach(self, direction: int, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        line = f"evidence.directions[{direction}].cells"
        # past the largest loss δ is p_∞: nothing, or what an approximate statement sets aside
        approximate = self.claim.statement == "approximate"
        if self._has_ended(reached) if approximate else self.vanishes_at(reached):
            return
        if self.claim.statement == "head":
            assert self.eps_h is not None
            if reached < self.eps_h:
                raise Refused(line, f"they end {about(self.eps_h - reached)} before eps_h")
        elif approximate:
            log = self._log_above(direction, reached)
            self._hold(line, self.arithmetic.exactly(self.failure).log() - log)
        else:
            raise Refused(line, "they end before the losses do")

    def part_on(self, line: str, low: Fraction, high: Fraction) -> Part:
        """Return the curve above δ of the direction that is being proved."""
        return self._piece_on(line, self._direction, low, high)

    def _piece_on(self, line: str, direction: int, low: Fraction, high: Fraction) -> Part:
        pieces = (self.evidence.directions or ())[direction].pieces
        starts = self._starts[direction]
        found = None
        for number, start in enumerate(starts):
            if start <= low:
                found = number
        if found is None:
            raise Refused(line, "no piece begins before it")
        if found + 1 < len(starts) and high > starts[found + 1]:
            raise Refused(line, "it straddles the end of a piece")
        return self._curve_of(direction, found, pieces[found])

    @cached_property
    def _starts(self) -> list[list[Fraction]]:
        return [
            [binary(piece.start) for piece in one.pieces] for one in self.evidence.directions or ()
        ]

    @cached_property
    def _curves(self) -> dict[tuple[int, int], Part]:
        return {}

    def _curve_of(self, direction: int, number: int, piece: CurvePiece) -> Part:
        key = direction, number
        if key not in self._curves:
            if (piece.line is None) == (piece.tilt is None):
                raise Malformed("evidence.directions: piece", "both or neither", "a line or a tilt")
            if piece.line is None:
                self._curves[key] = self._of_chernoff(direction, binary(str(piece.tilt)))
            else:
                self._curves[key] = self._of_line(self._line(piece.line, bool(direction)))
        return self._curves[key]

    @cached_property
    def _lines(self) -> dict[tuple[LineModel, bool], Line]:
        return {}

    def _line(self, model: LineModel, backward: bool) -> Line:
        key = model, backward
        if key not in self._lines:
            parts = self.composition.parts
            self._lines[key] = Line(parts, backward, _data(model), self.arithmetic)
        return self._lines[key]

    def _of_line(self, line: Line) -> Part:
        if line.is_complement:
            # 1 - δ is at least what is below H
            return Part(Fraction(0), None, lambda eps: log1mexp(line.below(eps)), line.below)

        def log(eps: Jet) -> Jet:
            return self._with_failure(line.above(eps))

        return Part(Fraction(0), None, log, lambda eps: log1mexp(log(eps)))

    def _of_chernoff(self, direction: int, tilt: Fraction) -> Part:
        """D(ε) ≤ κ(b)·M(b)·e^{-bε}."""
        if tilt <= 0:
            raise Malformed("evidence.directions: tilt", about(tilt), "a number > 0")
        exactly = self.arithmetic.exactly
        top = log_chernoff(self.composition.parts, bool(direction), tilt, self.arithmetic)

        def log(eps: Jet) -> Jet:
            return self._with_failure(-eps.scaled(exactly(tilt)) + top)

        return Part(Fraction(0), None, log, lambda eps: log1mexp(log(eps)))

    def _with_failure(self, log: Jet) -> Jet:
        return (log.exp() + self.failure_mass).log() if self._fails else log

    def vanishes_at(self, at: Fraction) -> bool:
        """Whether δ is 0 at an ε."""
        return not self._fails and self._has_ended(at)

    # --- the lower end ---------------------------------------------------------------------------

    def lower_end(self) -> str:
        """Prove that the statement fails below mu.low, by the curve below δ of one line."""
        line, witness = "evidence.witness", self.evidence.witness
        if self.low is None:
            failure = self.arithmetic.exactly(self.failure)
            if self.claim.statement != "approximate" or not self.failure_mass > failure:
                raise Refused("claim.mu.low", "it is infinite, and nothing shows it")
            return f"no finite μ will do: δ never falls below {float(self.failure_mass.low):g}"
        if self.low == 0:
            return "the lower end 0 needs no proof"
        if witness == "tail":
            if not self._is_whole or self._fails or self.low**2 > self._tail_variance:
                raise Refused(line, "the tail is no witness for this claim")
            return f"{self.no_smaller}: it is at most the tail parameter"
        if witness is None:
            raise Refused(line, "there is none for a positive mu.low")
        at = self.witness_in_range(witness)
        self._hold(line, self._excess_at(at, self.low))
        return f"{self.no_smaller}: δ exceeds the bound at ε = {about(at)}"

    def _excess_at(self, at: Fraction, mu: Fraction) -> Interval:
        """Return by how much a line's lower curve exceeds δ_μ, on a logarithmic scale."""
        given = self.evidence.witness_line
        if given is None:
            raise Refused("evidence.witness_line", "there is none for a positive mu.low")
        eps = self.arithmetic.exactly(at)
        point = Jet.variable(eps)
        below = self._below_at(given, point)
        gaussian = GaussianCurve(self.arithmetic.exactly(mu))
        if self.is_large(below, point):
            return gaussian.log_complement(eps) - self.log_complement(below, point).value
        return self.log(below, point).value - gaussian.log_delta(eps)

    def _below_at(self, given: WitnessLine, point: Jet) -> Part:
        """Return what one line shows of δ from below, at one ε."""
        curve = self._line(given.line, given.reverse)
        if curve.is_complement:
            complement = curve.above(point)
            return Part(Fraction(0), None, lambda _: log1mexp(complement), lambda _: complement)
        log = curve.below(point)
        if self._fails:
            log = (log.exp() + self.failure_towards(backward=given.reverse)).log()
        return Part(Fraction(0), None, lambda _: log, lambda _: log1mexp(log))


def _data(model: LineModel) -> LineData:
    return LineData(
        signed(model.c),
        binary(model.h),
        model.count,
        signed(model.right),
        signed(model.left),
        tuple(_nodes(one) for one in model.nodes),
        tuple(_nodes(one) for one in model.far),
    )


def _nodes(model: NodesModel | None) -> Nodes | None:
    if model is None:
        return None
    return Nodes(
        binary(model.shift), binary(model.strip), binary(model.step), model.first, model.last
    )
