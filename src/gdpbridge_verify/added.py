"""Guarantees that add up over runs, for the checker: ρ, μ² and Rényi divergences.

Runs of which one is ρ_i-zCDP and the others μ_j-GDP are Σρ-zCDP, μ-GDP being μ²/2-zCDP (Bun and
Steinke 2016), and also √(Σμ²)-GDP, with a μ of each ρ that a lemma shows (Dong, Roth and Su 2022).
What is bounded is the smaller δ of both. Of other guarantees the divergences are added up at some
orders: the rows of the document are proved from them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.closed import upper_end_at_zero
from gdpbridge_verify.composition import leaves_of, require_one_relation, require_short_sums
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.divergences import ProvedRowsCheck
from gdpbridge_verify.document import Certificate, Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.lemmas import mu_of
from gdpbridge_verify.mechanisms import square_of_gaussian
from gdpbridge_verify.parameters import parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.statement import Check
from gdpbridge_verify.zcdp import ZcdpCheck

_COST_OF_PART = 20.0  # microseconds


class ConcentratedCheck(ZcdpCheck):
    """The lines of a certificate of runs of ρ-zCDP, and of μ-GDP ones, at one precision."""

    # the smaller one of two is not where they meet
    is_convex = False

    def build(self) -> Tail:
        """Add up ρ and μ²."""
        require_one_relation(self.spec)
        rhos, squares = list[Fraction](), list[Fraction]()
        for part, times in leaves_of(self.spec):
            kind, values = part.get("kind"), parameters_of(part)
            if kind == "zcdp":
                own, half = Fraction(mu_of(self.document, part)) ** 2, values["rho"]
            elif kind in ("gaussian", "gdp"):
                own, _ = square_of_gaussian(part, values, self.arithmetic.work)
                half = own / 2
            else:
                raise Malformed("mechanism.kind", kind, "zcdp, gaussian or gdp")
            self.arithmetic.charge(_COST_OF_PART)
            rhos.append(times * half)
            squares.append(times * own)
        require_short_sums([*rhos, *squares])
        rho, square = sum(rhos, Fraction(0)), sum(squares, Fraction(0))
        self._gaussian = GaussianCurve(self.arithmetic.exactly(square).sqrt())
        return replace(self.falling(rho), curve=square, is_curve=False, nature="bound")

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number, as either guarantee has it."""
        try:
            self._below_gaussian(line, at, level)
        except (Refused, Undecided):
            super().below(line, at, level)

    def below_tangent(self, line: str, low: Fraction, high: Fraction, centre: Fraction) -> None:
        """Prove that one and the same of both is below a tangent at both ends: its δ is convex."""
        tangent = self.bound.tangent(self.enclosed(centre))
        levels = [(end, self.past(tangent.at(self.enclosed(end)))) for end in (low, high)]
        try:
            for end, level in levels:
                self._below_gaussian(line, end, level)
        except (Refused, Undecided):
            for end, level in levels:
                super().below(line, end, level)

    def _below_gaussian(self, line: str, at: Fraction, level: Level) -> None:
        self.hold(line, self._gaussian.level(self.enclosed(at)).under(level))

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high, for all but failures at ε = 0 alone."""
        assert self.tail.curve is not None
        if self.high is None or self.claim.statement != "approximate" or self.cells_to_prove():
            return super().upper_end()
        return upper_end_at_zero(self, self.tail.curve)

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much the smaller δ exceeds a number, or a number of that sign."""
        other = wanted.under(self._gaussian.level(self.enclosed(at)))
        return min(other, super().excess(at, wanted, proof), key=lambda one: one.low)


class SummedCheck(ProvedRowsCheck):
    """The lines of a certificate of bounds on D_α that add up, at one precision."""

    def build(self) -> Tail:
        """Read the rows of all together, and prove them."""
        runs, self.spec = self.spec, {"kind": "renyi", "neighbours": None}
        found = super().build()
        self.prove_rows(runs)
        return replace(found, nature="bound")


def check_of_sum(document: Certificate, arithmetic: Arithmetic) -> Check:
    """Return the check of sums of divergences, whose rows the document has, or of ρ."""
    kind = ConcentratedCheck if document.table is None else SummedCheck
    return kind(document, arithmetic)
