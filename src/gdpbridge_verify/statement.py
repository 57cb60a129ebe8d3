"""The lines of a certificate at one precision; see the module texts for the mathematics."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Jet
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, Certificate, Range
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.mechanisms import Mechanism, Part, ungrouped
from gdpbridge_verify.numbers import about, binary, mu_range
from gdpbridge_verify.points import Points
from gdpbridge_verify.rectified import mechanism_of
from gdpbridge_verify.refusal import Malformed, Refused, Words

__all__ = ["Check"]

MAX_EPS = Fraction(2) ** 200
# of parameters that are shown as a whole
_LONG = 80


class Check(Points):
    """One attempt at one precision."""

    # what of the evidence that is not for every kind
    uses: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, document: Certificate, arithmetic: Arithmetic) -> None:
        self.arithmetic, self.document = arithmetic, document
        self.claim, self.evidence = document.claim, document.evidence
        self.spec = ungrouped(document.mechanism)
        kind = KINDS.get(self.spec.get("kind") or "")
        self.nature_of_kind: Nature = "own" if kind is None else kind.nature
        for name in {"tangents", "corners", "event", "touching"} - self.uses:
            if getattr(self.evidence, name) is not None:
                raise Malformed(f"evidence.{name}", Words("given"), "null for this kind")
        if document.table is not None and not (kind and kind.has_rows):
            raise Malformed("table", Words("given"), "null for this kind")
        self.mechanism = self.build_mechanism()
        self.nature_of_kind = self.mechanism.nature or self.nature_of_kind
        size = document.mechanism.get("size", "1")
        if self.spec.get("kind") == "pure-dp" and size != "1":
            # of k steps that are ε-DP each, not all that kε-DP allows is possible
            self.nature_of_kind = "bound"
        self.low, self.high = mu_range("claim.mu", self.claim.mu.low, self.claim.mu.high)
        self.failure = Fraction(self.claim.failure_probability)
        # a head's may have been rounded up to 1
        if self.failure > 1 or (self.failure == 1 and self.claim.statement != "head"):
            raise Malformed(
                "claim.failure_probability", self.claim.failure_probability, "in [0, 1)"
            )
        self.eps_h = None if self.claim.eps_h is None else Fraction(self.claim.eps_h)
        if (self.eps_h is not None) != (self.claim.statement == "head"):
            raise Malformed("claim.eps_h", self.claim.eps_h, "given for a head, and only then")
        if self.eps_h is not None and not 0 < self.eps_h <= MAX_EPS:
            raise Malformed("claim.eps_h", self.claim.eps_h, "a number > 0")
        if self.claim.statement in ("whole", "answers") and self.failure != 0:
            raise Malformed("claim.failure_probability", self.claim.failure_probability, "0")

    def build_mechanism(self) -> Mechanism:
        """Build the mechanism that the document names."""
        brackets = [
            (binary(bracket.low), binary(bracket.high)) for bracket in self.evidence.breakpoints
        ]
        _ordered(brackets)
        return mechanism_of(self.spec, brackets, self.arithmetic)

    # --- lines ----------------------------------------------------------------------------

    def nature(self) -> list[str]:
        """Check what δ is said to be; documents of version 0.1.0 say nothing of it."""
        claimed, actual = self.claim.profile_is, self.nature_of_kind
        if claimed is None:
            return []
        if claimed != actual:
            raise Refused("claim.profile_is", f"it is {claimed}, but δ of this kind is {actual}")
        return [
            {
                "own": "δ is the mechanism's own profile",
                "class": "δ is at every ε the supremum over all mechanisms with this guarantee",
                "bound": "δ is an upper bound of the mechanism's own profile",
            }[actual]
        ]

    def far_out(self) -> list[str]:
        """Prove what is claimed of the tail, if anything is."""
        tail = self.claim.mu_tail
        if self.claim.verdict != "unknown":
            return [self.verdict(), self.tail_parameter()]
        if (tail.low, tail.high) != ("0", "inf") or self.claim.statement == "whole":
            raise Refused("claim.verdict", "it is unknown, but something is claimed of the tail")
        return ["nothing is claimed of whether some finite μ covers every ε"]

    def verdict(self) -> str:
        """Prove that some finite μ covers every ε, or that none does."""
        mechanism = self.mechanism
        if mechanism.square is not None:
            actual, why = "gdp", "the profile is a Gaussian curve"
        elif mechanism.decay is not None:
            actual, why = "gdp", "log δ falls like -ε²"
        elif mechanism.slow:
            actual, why = "not-gdp", "δ falls no faster than exponentially"
        elif mechanism.floor > 0:
            actual, why = "not-gdp", f"δ never falls below {float(mechanism.floor):g}"
        else:
            actual, why = "gdp", "δ is 0 from some ε on"
        if self.claim.verdict != actual:
            raise Refused("claim.verdict", f"it is {self.claim.verdict}, but {why}: {actual}")
        whose = {"own": "", "class": " of the guarantee", "bound": " of the bound"}
        return f"the verdict{whose[self.nature_of_kind]} is {actual}: {why}"

    def tail_parameter(self) -> str:
        """Prove that the interval for μ_t holds it."""
        low, high = mu_range("claim.mu_tail", self.claim.mu_tail.low, self.claim.mu_tail.high)
        mechanism, exactly = self.mechanism, self.arithmetic.exactly
        if self.claim.verdict == "not-gdp":
            if low is not None:
                raise Refused("claim.mu_tail", "it is finite, but the mechanism is not GDP")
            return "the tail parameter is infinite"
        if low is None or high is None:
            raise Refused("claim.mu_tail", "it is infinite, but the mechanism is GDP")
        if mechanism.decay is None:
            square = mechanism.square or Fraction(0)
            if not low**2 <= square <= high**2:
                raise Refused("claim.mu_tail", f"the tail parameter's square is {about(square)}")
        else:
            self._hold("claim.mu_tail.low", mechanism.decay.mu_t - exactly(low))
            self._hold("claim.mu_tail.high", exactly(high) - mechanism.decay.mu_t)
        return f"the tail parameter: {_text(self.claim.mu_tail)}"

    def failure_at_head(self) -> list[str]:
        """Prove the failure probability of a head statement: δ(ε_h) ≤ p."""
        if self.eps_h is None:
            return []
        self.at_most("claim.failure_probability", self.eps_h, self.failure)
        return [f"δ at eps_h = {self.claim.eps_h} is at most {self.claim.failure_probability}"]

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high."""
        if self.high is None:
            return "no upper end is claimed for μ"
        if self._needs_no_cells:
            assert self.mechanism.square is not None
            if self.mechanism.square > self.high**2:
                raise Refused("claim.mu.high", f"μ² is {about(self.mechanism.square)}")
        else:
            cells = self.evidence.cells
            self._reach(binary(cells[-1].high) if cells else Fraction(0))
        return f"{self.covers}, with μ = {self.claim.mu.high}"

    def lower_end(self) -> str:
        """Prove that the statement fails below mu.low."""
        line, witness = "evidence.witness", self.evidence.witness
        if self.low is None:
            if self.claim.statement != "approximate" or not self.mechanism.floor > self.failure:
                raise Refused("claim.mu.low", "it is infinite, and nothing shows it")
            return f"no finite μ will do: δ never falls below {float(self.mechanism.floor):g}"
        if self.low == 0:
            return "the lower end 0 needs no proof"
        if self._is_its_own_proof:
            assert self.mechanism.square is not None
            if self.mechanism.square < self.low**2:
                raise Refused("claim.mu.low", f"μ² is {about(self.mechanism.square)}")
            return f"{self.no_smaller}: the profile is a Gaussian curve"
        if witness is None:
            raise Refused(line, "there is none for a positive mu.low")
        if witness == "tail":
            if self.mechanism.decay is None or self.claim.statement != "whole":
                raise Refused(line, "the tail is no witness for this claim")
            self._hold(line, self.mechanism.decay.mu_t - self.arithmetic.exactly(self.low))
            return f"{self.no_smaller}: it is at most the tail parameter"
        at = self.witness_in_range(witness)
        self._hold(line, self._excess_at(at, self.low))
        return f"{self.no_smaller}: δ exceeds the bound at ε = {about(at)}"

    @property
    def covers(self) -> str:
        """What the statement says, in words."""
        return {
            "whole": "δ(ε) ≤ δ_μ(ε) for every ε ≥ 0",
            "head": f"δ(ε) ≤ δ_μ(ε) for every ε in [0, {self.claim.eps_h}]",
            "approximate": "δ(ε) ≤ p + (1 - p)·δ_μ(ε) for every ε ≥ 0, "
            f"p = {self.claim.failure_probability}",
        }[self.claim.statement]

    @property
    def no_smaller(self) -> str:
        """What the lower end says, in words."""
        ends = {"bound": "covers this bound", "class": "follows from this guarantee"}
        return f"no μ below {self.claim.mu.low} {ends.get(self.nature_of_kind, 'will do')}"

    def witness_in_range(self, witness: str) -> Fraction:
        """Return the witness, which the statement must be about."""
        at, line = binary(witness), "evidence.witness"
        if at > MAX_EPS:
            raise Refused(line, f"it lies beyond {about(MAX_EPS)}")
        if self.eps_h is not None and at > self.eps_h:
            raise Refused(line, "it lies beyond eps_h")
        return at

    def assumption(self) -> str:
        """Name what is not proved."""
        parameters = ", ".join(
            f"{name} {value if len(value) <= _LONG else f'{value[:_LONG]}…'}"
            for name, value in self.document.mechanism.items()
            if name.rpartition(".")[2] != "neighbours" and value
        )
        named = self.spec.get("neighbours")
        if self.document.mechanism.get("kind") == "grouped":
            size = self.document.mechanism.get("size")
            relation = f"for data sets that are {size} steps between neighbours apart"
        elif named:
            relation = f"for {named} neighbours"
        elif "sensitivity" in self.spec:
            relation = "for any two data sets whose answers are at most the sensitivity apart"
        else:
            relation = (
                "for the pairs of data sets that this was stated for (whether records are added, "
                "removed or replaced is not said)"
            )
        return f"assumed, not proved: the mechanism is that of {parameters}, {relation}"

    # --- the cells ------------------------------------------------------------------------

    def count_of_cells(self) -> int:
        """Return how many cells there are to prove."""
        if self.evidence.cells and (self.high is None or self._needs_no_cells):
            why = "an infinite μ" if self.high is None else "a Gaussian curve"
            raise Malformed("evidence.cells", len(self.evidence.cells), f"none for {why}")
        return len(self.evidence.cells)

    def numbered_cell(self, number: int) -> None:
        """Prove a cell, and that it begins where the last one ended."""
        self.adjacent_cell("evidence", self.evidence.cells, number)

    def adjacent_cell(self, place: str, cells: tuple[Cell, ...], number: int) -> None:
        """Prove a cell, and that it begins where the last one ended."""
        line = f"{place}.cells[{number}]"
        low, high = binary(cells[number].low), binary(cells[number].high)
        reached = binary(cells[number - 1].high) if number else Fraction(0)
        if low != reached:
            raise Refused(
                line,
                f"it begins at {about(low)}, not where the last one ended: "
                f"off by {about(low - reached)}",
            )
        if not low < high <= MAX_EPS:
            raise Refused(line, "it does not end after it begins")
        self.cell(line, cells[number])

    def cell_of(self, line: str, cell: Cell, direction: int) -> None:
        """Prove a cell of a direction; where there are no directions, it is 0."""
        self.cell(line, cell)

    def cell(self, line: str, cell: Cell) -> None:
        """Prove δ ≤ δ_μ (or its approximate form) on one cell for mu.high."""
        low, high = binary(cell.low), binary(cell.high)
        if cell.centre is None:
            self._monotone(line, low, high)
        else:
            self._mean_value(line, low, high, binary(cell.centre))

    def _monotone(self, line: str, low: Fraction, high: Fraction) -> None:
        """Compare δ at the left end with δ_μ at the right end."""
        if self.vanishes_at(low):
            return
        point = Jet.variable(self.arithmetic.exactly(low))
        at, part = self.arithmetic.exactly(high), self._point(low)
        approximate = self.claim.statement == "approximate"
        if approximate and part.log(point).value <= self._failure.log():
            # what is at most p needs no Gaussian curve
            return
        if self.is_large(part, point):
            complement = self.log_complement(part, point).value
            self._hold(line, complement - self._bound.log_complement(at))
            return
        curve = self._bound.log_delta(at)
        if not curve.is_bounded_below():
            curve = self._bound.log_delta_tail_lower(at)
        self._hold(line, curve - self.log(part, point).value)

    def _mean_value(self, line: str, low: Fraction, high: Fraction, centre: Fraction) -> None:
        """Prove F ≥ F(c) + F'(c)·h + min(F''/2 on the cell)·h² ≥ 0 for every h of the cell."""
        if not low <= centre <= high:
            raise Refused(line, "its centre lies outside")
        part = self.part_on(line, low, high)
        exactly = self.arithmetic.exactly
        point = Jet.variable(exactly(centre))
        cell = Jet.variable(self.arithmetic.between(low, high))
        log = self.log(part, point)
        if log.value > self._log_half:
            at_centre = self.log_complement(part, point) - self._complement_of_bound(point)
            on_cell = self.log_complement(part, cell) - self._complement_of_bound(cell)
        else:
            at_centre = self._bound.jet(*point.value.ends()) - log
            on_cell = self._bound.jet(*cell.value.ends()) - self.log(part, cell)
        curvature, _ = on_cell.curvature.ends()
        if not curvature.is_bounded_below():
            raise Refused(line, "the mean-value form says nothing on so wide a cell")
        least = self.least(at_centre.slope, curvature, low - centre, high - centre)
        self._hold(line, at_centre.value + least)

    def least(
        self, slope: Interval, curvature: Interval, low: Fraction, high: Fraction
    ) -> Interval:
        """Enclose the least slope·h + curvature·h² for h from low to high."""
        left, right = self.arithmetic.exactly(low), self.arithmetic.exactly(high)
        least = _least(
            slope * left + curvature * left.square(), slope * right + curvature * right.square()
        )
        if curvature > 0:
            vertex = -slope / (2 * curvature)
            if not (vertex < left or vertex > right):
                least = _least(least, -slope.square() / (4 * curvature))
        return least

    def _complement_of_bound(self, eps: Jet) -> Jet:
        return self._bound.complement_jet(*eps.value.ends())

    # --- δ, or (δ - p)/(1 - p) for an approximate statement ---------------------------------

    def log(self, part: Part, eps: Jet) -> Jet:
        """Return the logarithm of what is compared with δ_μ."""
        value = part.log(eps)
        if self.claim.statement != "approximate":
            return value
        return (value.exp() - self._failure).log() - self._log_kept

    def log_complement(self, part: Part, eps: Jet) -> Jet:
        """Return the logarithm of one minus it."""
        value = part.log_complement(eps)
        if self.claim.statement != "approximate":
            return value
        return value - self._log_kept

    def is_large(self, part: Part, eps: Jet) -> bool:
        """Whether it is above one half, so that one minus it is the better scale."""
        return self.log(part, eps).value > self._log_half

    def _excess_at(self, at: Fraction, mu: Fraction) -> Interval:
        """Return by how much δ exceeds δ_μ at a point, on a logarithmic scale."""
        if self.vanishes_at(at):
            raise Refused("evidence.witness", "δ is 0 there")
        eps = self.arithmetic.exactly(at)
        part, point = self._point(at), Jet.variable(eps)
        curve = GaussianCurve(self.arithmetic.exactly(mu))
        if self.is_large(part, point):
            return curve.log_complement(eps) - self.log_complement(part, point).value
        return self.log(part, point).value - curve.log_delta(eps)

    # --- helpers --------------------------------------------------------------------------

    def _reach(self, reached: Fraction) -> None:
        """Prove that cells up to ``reached`` are all that the statement needs."""
        line = "evidence.cells"
        if self.falls_to(Fraction(0), reached):
            return
        if self.claim.statement == "head":
            assert self.eps_h is not None
            if reached < self.eps_h:
                raise Refused(line, f"they end {about(self.eps_h - reached)} before eps_h")
        elif self.claim.statement == "approximate":
            if not self.falls_to(self.failure, reached):
                point = Jet.variable(self.arithmetic.exactly(reached))
                log = self._point(reached).log(point).value
                self._hold(line, self.arithmetic.exactly(self.failure).log() - log)
        elif self.mechanism.decay is not None:
            if self.evidence.tail_from is None:
                raise Refused("evidence.tail_from", "nothing is said of the tail")
            start = binary(self.evidence.tail_from)
            if start > reached:
                raise Refused(line, f"they end {about(start - reached)} before the tail")
            self.decay_from(start)
        elif self.mechanism.vanishes_from is not None:
            raise Refused(line, f"they end at {about(reached)}, where δ is not 0 yet")
        else:
            raise Refused("claim.statement", "no finite range covers this mechanism's tail")

    def decay_from(self, start: Fraction) -> None:
        """Prove the tail from one inequality at one ε, from which the difference grows."""
        decay, line = self.mechanism.decay, "evidence.tail_from"
        assert decay is not None
        if start < decay.start:
            raise Refused(line, "the tail's form does not hold yet")
        eps, mu = self.arithmetic.exactly(start), self._bound.mu
        self._hold("claim.mu.high: not below the tail parameter", mu - decay.mu_t)
        spread = 1 / decay.mu_t.square() - 1 / mu.square()
        growth = self.arithmetic.exactly(Fraction(1, 2) - decay.linear) + eps * spread
        self._hold(f"{line}: the difference grows", growth - 2 / (eps + mu.square() / 2))
        bound = decay.log_factor + self.arithmetic.exactly(decay.linear * start)
        bound -= eps.square() / (2 * decay.mu_t.square())
        self._hold(line, self._bound.log_delta_tail_lower(eps) - bound)

    @property
    def _is_its_own_proof(self) -> bool:
        """Whether the profile is a Gaussian curve, and the claim about that curve's μ."""
        return self.mechanism.square is not None and self.claim.statement != "approximate"

    @property
    def _needs_no_cells(self) -> bool:
        """Whether a Gaussian curve is compared with itself, or with a larger one."""
        square = self.mechanism.square
        larger = square is not None and self.high is not None and square <= self.high**2
        return self._is_its_own_proof or (larger and not self.evidence.cells)

    @cached_property
    def _failure(self) -> Interval:
        return self.arithmetic.exactly(self.failure)

    @cached_property
    def _log_kept(self) -> Interval:
        return (1 - self._failure).log()

    @cached_property
    def _log_half(self) -> Interval:
        return self.arithmetic.exactly(Fraction(1, 2)).log()

    @cached_property
    def _bound(self) -> GaussianCurve:
        """The curve of mu.high."""
        if not self.high:
            raise Refused("claim.mu.high", "it is 0, and δ is not")
        return GaussianCurve(self.arithmetic.exactly(self.high))


def _least(a: Interval, b: Interval) -> Interval:
    return Interval(a.of, min(a.low, b.low), min(a.high, b.high))


def _ordered(brackets: list[tuple[Fraction, Fraction]]) -> None:
    last = Fraction(-1)
    for number, (low, high) in enumerate(brackets):
        if not last < low < high <= MAX_EPS:
            line = f"evidence.breakpoints[{number}]"
            raise Malformed(line, f"[{about(low)}, {about(high)}]", "in order")
        last = high


def _text(ends: Range) -> str:
    return ends.low if ends.low == ends.high else f"[{ends.low}, {ends.high}]"
