"""Curves of discrete losses: the largest μ over their lines, found in floats and proved in balls.

A line a - b·e^ε touches the Gaussian curve of μ = Φ⁻¹(a) - Φ⁻¹(b) at ε = (Φ⁻¹(b)² - Φ⁻¹(a)²)/2 and
lies below it elsewhere: (b, 1 - a) is a breakpoint of the trade-off curve. The supremum of G on
[0, E] is therefore the largest of these μ among the lines that touch within [0, E], and G(0), G(E).

Upper end: for a candidate M, all lines are proved to lie below δ_M on [0, E]. δ is convex in
t = e^ε, so that the chord over many lines lies above them, by an amount that falls with the square
of its length: blocks of lines are proved by their chord, and split where it is too high. A single
line that is too high is a better witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Form
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.lines import Line
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.measure.method import PROVED, Method
from gdpbridge.measure.problem import UNDECIDED, Answer, Problem
from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.exact import ceiling_to_places, digits_of, floor_to_places
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["METHOD", "solve"]

# lines looked at in floats: at first everywhere, then around the best
_SAMPLE = 4096
# after so many lines one by one, fewer are not tried together
_FEW = 64
# what proving a block of lines takes at so many bits, in units of numeric/effort.py
_BLOCK, _BLOCK_BITS = 300, 128
_LOG_HALF = -0.6931471805599453


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text.

    Raises:
        UndecidedError: if the precision cap is reached.
    """
    curve = problem.curve
    assert isinstance(curve, LinearCurve)
    bits = 96 + 4 * digits_of(problem.tol)
    return with_enough_precision(bits, lambda: _Search(problem, curve).run(), UNDECIDED)


@dataclass(frozen=True)
class _Point:
    """A point of the curve, on the scale t = e^ε."""

    t: arb
    value: arb
    complement: arb


class _Search:
    """One attempt at the working precision."""

    def __init__(self, problem: Problem, curve: LinearCurve) -> None:
        self.problem, self.curve, self.lines = problem, curve, curve.lines
        # the lines reach up to the end rounded up, a witness must not
        self.end, self.last_witness = ball(problem.end).upper(), ball(problem.end).lower()
        self.count = curve.lines.until(self.end)
        self.evaluations = 0
        self.cells = 0
        self.places = digits_of(problem.tol) + 2
        self.witness = arb(0)
        self.low = Fraction(0)
        self.candidate = arb(0)
        self._known: dict[int, Line] = {}
        # the last line of each block
        self._blocks: list[int] = []
        # how many lines in a row had to be proved one by one
        self._alone = 0
        self._places: dict[int, tuple[arb, arb]] = {}

    def run(self) -> Answer:
        self._accept_point(arb(0))
        self._accept_point(self.last_witness)
        for index in self._likely():
            self._accept(index)
        self._cover()
        return Answer(
            low=self.low,
            high=to_fraction(self.candidate),
            attained_at=to_fraction(self.witness),
            evaluations=self.evaluations,
            cells=self.cells,
            proof=Proof(self._proved_cells(), to_fraction(self.witness), bits=working_precision()),
        )

    # --- the lower end: witnesses ---------------------------------------------------------

    def _likely(self) -> list[int]:
        """Return the lines about the largest G, as floats see it at the middles of lines."""
        low, high = 0, self.count
        while True:
            indices = np.unique(np.linspace(low, high - 1, min(_SAMPLE, high - low)).astype(int))
            ends = self.lines.ends(indices)
            starts = np.where(indices > 0, self.lines.ends(np.maximum(indices - 1, 0)), 0.0)
            middles = np.minimum((starts + ends) / 2, float(self.problem.end))
            values = np.nan_to_num(mu_from_logs(middles, *self.curve.logs(middles)))
            self.evaluations += indices.size
            top = int(np.argmax(values))
            left, right = indices[max(top - 1, 0)], indices[min(top + 1, indices.size - 1)]
            if right - left <= 2:
                return list(range(int(left), int(right) + 1))
            low, high = int(left), int(right) + 1

    def _accept_point(self, eps: arb) -> None:
        """Make ``eps`` the witness if G is larger there than at the last one."""
        value = self.curve.enclose(eps)
        self.evaluations += 1
        if certainly(value.log() == arb.neg_inf()):
            return
        try:
            mu = gaussian.mu_of(eps, value)
        except UndecidedError:
            # at the end of an approximate statement's range δ - p may be as good as 0
            if eps.is_zero():
                raise MorePrecisionError from None
            return
        self._raise(mu, eps)

    def _accept(self, index: int) -> None:
        """Make the point where a line touches the witness if G is larger there."""
        line = self._line(index)
        upper, lower = _quantile(line.a, line.a_complement), _quantile(line.b, line.b_complement)
        touching = (lower * lower - upper * upper) / 2
        if certainly(touching >= 0) and certainly(touching <= self.last_witness):
            self._raise(upper - lower, touching.mid())

    def _raise(self, mu: arb, eps: arb) -> None:
        if not mu.is_finite():
            raise MorePrecisionError
        low = Fraction(floor_to_places(to_fraction(mu.lower()), self.places))
        if low > self.low or self.candidate.is_zero():
            if to_fraction(mu.upper()) > low + self.problem.tol / 2:
                raise MorePrecisionError
            self.witness, self.low = eps, max(low, Fraction(0))
            high = ceiling_to_places(self.low + self.problem.tol / 2, self.places)
            self.candidate = ball(Fraction(high)).upper()

    def _proved_cells(self) -> tuple[ProvedCell, ...]:
        """Return the blocks as ranges of ε."""
        found, low = [], Fraction(0)
        for last in self._blocks:
            end = self.end if last == self.count - 1 else self.lines.end(last).min(self.end)
            high = to_fraction(end.mid())
            if high > low:
                found.append(ProvedCell(low, high, None))
                low = high
        return tuple(found)

    # --- the upper end: blocks of lines -----------------------------------------------------

    def _cover(self) -> None:
        """Prove every block for the candidate, splitting and raising the candidate as needed."""
        stack = [(0, self.count - 1)]
        while stack:
            first, last = stack.pop()
            spend(_BLOCK * working_precision() / _BLOCK_BITS)
            # where G is flat, few lines together are not worth the attempt
            alone = 0 < last - first < _FEW <= self._alone
            if not alone and self._is_below(self._chord(first, last)):
                self._blocks.append(last)
                self._alone = self._alone + 1 if first == last else 0
                self.cells += 1
                if self.cells % 1000 == 0:
                    self.problem.progress("covering", last / self.count)
            elif first < last:
                middle = (first + last) // 2
                stack += [(middle + 1, last), (first, middle)]
            else:
                before = self.low
                self._accept(first)
                if self.low == before:
                    raise MorePrecisionError
                stack.append((first, last))
        if not self._rest_is_below():
            raise MorePrecisionError

    def _rest_is_below(self) -> bool:
        """Whether the constant beyond the last line, if there is one, lies below δ_M on [0, end].

        G rises where δ is constant, so that the end of the range decides.
        """
        if self.curve.end is not None or self.count != self.lines.count:
            return True
        if certainly(self.lines.end(self.count - 1) >= self.end):
            return True
        value = self.curve.enclose(self.end)
        bound = gaussian.probability(self.end, self.candidate)
        if certainly(value.log() > _LOG_HALF):
            return certainly(bound.log_complement() <= value.log_complement())
        return certainly(value.log() <= bound.log())

    def _chord(self, first: int, last: int) -> Line:
        """Return a line above the curve from one line's left end to another one's right end."""
        if first == last:
            return self._line(first)
        left, right = self._point(first, self.lines.start(first)), self._right(last)
        b = (left.value - right.value) / (right.t - left.t)
        return Line(left.value + b * left.t, left.complement - b * left.t, b, 1 - b)

    def _right(self, index: int) -> _Point:
        end = self.lines.end(index)
        # past the end of the range nothing need be proved
        past = index == self.count - 1 and certainly(end > self.end)
        return self._point(index, self.end if past else end)

    def _point(self, index: int, eps: arb) -> _Point:
        line, t = self._line(index), eps.exp()
        return _Point(t, line.at(t), line.complement_at(t))

    def _line(self, index: int) -> Line:
        if index not in self._known:
            self.evaluations += 1
            self._known[index] = self.lines.line(index)
        return self._known[index]

    def _is_below(self, line: Line) -> bool:
        """Whether a line is proved to lie below δ_M on [0, end], M the candidate.

        δ_M minus the line is convex in t, and least where δ_M has the line's slope: if that is
        outside the range, at an end of it, where δ itself is below δ_M.
        """
        if certainly(line.a <= 0):
            return True
        lower = self._place(line.b, line.b_complement)
        slope_at = -self.candidate * (lower + self.candidate / 2)
        for end, outside in (
            (arb(0), certainly(slope_at <= 0)),
            (self.end, certainly(slope_at >= self.end)),
        ):
            if outside:
                return self._is_below_at(line, end)
        return certainly(self._place(line.a, line.a_complement) - lower <= self.candidate)

    def _place(self, p: arb, complement: arb) -> arb:
        """Return Φ⁻¹; lines of one law share the balls of their masses, which are kept."""
        if id(p) not in self._places:
            self._places[id(p)] = p, _quantile(p, complement)
        return self._places[id(p)][1]

    def _is_below_at(self, line: Line, eps: arb) -> bool:
        curve, t = gaussian.probability(eps, self.candidate), eps.exp()
        # not their logarithms: a line may meet zero here
        if certainly(line.at(t) > 0.5):
            return certainly(curve.log_complement().exp() <= line.complement_at(t))
        return certainly(line.at(t) <= curve.log().exp())


def _quantile(p: arb, complement: arb) -> arb:
    """Enclose Φ⁻¹(p), from the smaller one of p and 1 - p."""
    root = arb(2).sqrt()
    if certainly(p < complement):
        return -root * (2 * p).erfcinv()
    return root * (2 * complement).erfcinv()


METHOD = Method(
    name="breakpoints",
    sentence="checking each breakpoint of the trade-off function, in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.LINEAR}),
    unfit="the losses of this mechanism are not discrete",
    solve=solve,
)
