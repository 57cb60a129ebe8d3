"""The default method: the supremum of G, found in floats and proved in ball arithmetic.

For a candidate M, F = log δ_M - log δ (or log(1 - δ) - log(1 - δ_M) where δ > 1/2) is proved to be
non-negative on [0, end], cell by cell, by the mean-value form of second order: about a point x of
the cell,

    F(x + h) ≥ F(x) + F'(x)·h + min(F''/2 on the cell)·h².

Where the supremum is attained, F is nearly zero and nearly flat but convex, so that one wide cell
about that point is proved at once, whatever the tolerance. M is the value of G at a witness plus
half the tolerance; a cell in which F is found negative yields a better witness.

Where δ is known sharply at points only, but to be convex in e^ε, its chord over the cell takes its
place: the line's own error is of second order too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, arb_series

from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Form
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Formula, Piece, chord
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.measure.method import PROVED, Method
from gdpbridge.measure.problem import UNDECIDED, Answer, Problem
from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.exact import ceiling_to_places, digits_of, floor_to_places
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import BALLS, SERIES, Probability, ball, to_fraction

__all__ = ["METHOD", "solve"]

MAX_CELLS = 1_000_000
# what trying a cell takes, in units of numeric/effort.py
_CELL = 3000
_GRID = 33
_CLIMB_STEPS = 60
_LOG_HALF = -0.6931471805599453


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text.

    Raises:
        UndecidedError: if the precision cap is reached.
        WorkLimitError: if more than a million cells would be needed.
    """
    bits = 96 + 7 * digits_of(problem.tol)
    return with_enough_precision(bits, lambda: _Proof(problem).run(), UNDECIDED)


@dataclass(frozen=True)
class Cell:
    """A range of ε on which one formula applies.

    Attributes:
        low: its exact lower end.
        high: its exact upper end.
        formula: the formula, or None for a sliver about a breakpoint, where two may apply.
        by_chords: whether the formula is bounded by its chord on the range.
        beneath: a μ whose curve is above it, where one is known.
    """

    low: arb
    high: arb
    formula: Formula | None
    by_chords: bool = False
    beneath: Constant | None = None


class _Proof:
    """One attempt at the working precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        assert isinstance(problem.curve, SmoothCurve)
        self.curve = problem.curve
        self.evaluations = 0
        self.cells: list[ProvedCell] = []
        # outward rounding of the ends to this grid costs a fiftieth of the tolerance
        self.places = digits_of(problem.tol) + 2
        self.witness = arb(0)
        self.low = Fraction(floor_to_places(problem.least, self.places))
        self.candidate = arb(0)
        self._raise_candidate(self.low + problem.tol / 2)

    def run(self) -> Answer:
        self._accept(arb(0))
        for point in self._peaks():
            self._accept(point)
        if not self._is_near_ceiling():
            self._cover()
        return Answer(
            low=self.low,
            high=to_fraction(self.candidate),
            attained_at=to_fraction(self.witness),
            evaluations=self.evaluations,
            cells=len(self.cells),
            proof=Proof(tuple(self.cells), to_fraction(self.witness), bits=working_precision()),
        )

    # --- the lower end: witnesses ---------------------------------------------------------

    def _accept(self, eps: arb) -> None:
        """Make ``eps`` the witness if G is larger there than at the last one."""
        # the cells reach up to the end rounded up, a witness must not
        eps = eps.min(ball(self.problem.end).lower())
        value = self._enclose(eps)
        if certainly(value.log() == arb.neg_inf()):
            return
        if value.log().is_nan() and value.log_complement().is_finite():
            # δ cannot be told from 0 here, and G is at least 0
            return
        try:
            mu = gaussian.mu_of(eps, value)
        except UndecidedError:
            raise MorePrecisionError from None
        low = Fraction(floor_to_places(to_fraction(mu.lower()), self.places))
        if low > self.low:
            if to_fraction(mu.upper()) > low + self.problem.tol / 2:
                raise MorePrecisionError
            self.witness, self.low = eps, low
            self._raise_candidate(low + self.problem.tol / 2)

    def _raise_candidate(self, high: Fraction) -> None:
        if self._is_near_ceiling():
            assert self.problem.ceiling is not None
            high = self.problem.ceiling
        self.candidate = ball(Fraction(ceiling_to_places(high, self.places))).upper()

    def _is_near_ceiling(self) -> bool:
        """Whether what is known beforehand is sharp enough, so that nothing need be proved."""
        ceiling = self.problem.ceiling
        return ceiling is not None and ceiling - self.low <= self.problem.tol

    def _peaks(self) -> list[arb]:
        """Return the likely places of the supremum, from a float64 grid on each piece."""
        best_value, best = -1.0, arb(0)
        bracket: tuple[Formula, arb, arb] | None = None
        for cell in self._ranges():
            if cell.formula is None:
                continue
            low, high = float(cell.low), float(cell.high)
            points = np.unique(np.concatenate([np.linspace(low, high, _GRID), _dense(low, high)]))
            values = np.nan_to_num(mu_from_logs(points, *self.curve.logs(points)), nan=-1.0)
            self.evaluations += points.size
            top = int(np.argmax(values))
            if values[top] > best_value:
                best_value = values[top]
                inner = 0 < top < points.size - 1
                ends = {0: cell.low, points.size - 1: cell.high}
                best = ends.get(top, arb(points[top]))
                around = arb(points[max(top - 1, 0)]), arb(points[min(top + 1, points.size - 1)])
                bracket = (cell.formula, *around) if inner else None
        if bracket is not None:
            best = self._climb(best, *bracket)
        return [best]

    def _climb(self, start: arb, formula: Formula, low: arb, high: arb) -> arb:
        """Return a stationary point of G in [low, high], by Newton's method kept in a bracket."""
        point = start
        near_enough = ball(self.problem.tol).sqrt() / 64
        for _ in range(_CLIMB_STEPS):
            value = self._enclose(point)
            try:
                mu = gaussian.mu_of(point, value).mid()
            except UndecidedError:
                return point
            difference = self._difference(formula, point, point, mu, _is_large(value))
            slope, curvature = difference[1].mid(), 2 * difference[2].mid()
            if not (slope.is_finite() and curvature.is_finite()):
                return point
            # G rises where F falls
            low, high = (point, high) if certainly(slope < 0) else (low, point)
            moved = (point - slope / curvature).mid() if certainly(curvature > 0) else high
            if not (certainly(low < moved) and certainly(moved < high)):
                moved = ((low + high) / 2).mid()
            if certainly(abs(moved - point) < near_enough):
                return moved
            point = moved
        return point

    # --- the upper end: cells -------------------------------------------------------------

    def _cover(self) -> None:
        """Prove every cell for the candidate, splitting and raising the candidate as needed."""
        stack = list(reversed(self._ranges()))
        total = float(self.problem.end) or 1.0
        while stack:
            cell = stack.pop()
            spend(_CELL)
            if self._proved(cell):
                if len(self.cells) % 32 == 0:
                    self.problem.progress("covering", float(cell.high) / total)
                continue
            middle = ((cell.low + cell.high) / 2).mid()
            narrowest = (1 + cell.high) * arb(2) ** -(working_precision() // 2)
            if certainly(cell.high - cell.low < narrowest):
                raise MorePrecisionError
            if cell.formula is not None and self._improved(middle, cell):
                stack.append(cell)
                continue
            if len(self.cells) + len(stack) > MAX_CELLS:
                raise WorkLimitError(
                    f"more than {MAX_CELLS} cells would be needed for a width of "
                    f"{float(self.problem.tol):g}: ask for a larger --tol",
                    needed=len(self.cells) + len(stack),
                    limit=MAX_CELLS,
                )
            stack += [replace(cell, low=middle), replace(cell, high=middle)]

    def _ranges(self) -> list[Cell]:
        """Return the pieces' ranges within [0, end], with slivers about inexact breakpoints."""
        end = ball(self.problem.end).upper()
        cells: list[Cell] = []
        low, current = arb(0), self.curve.pieces[0]
        for piece in self.curve.pieces[1:]:
            start = BALLS.constant(piece.start)
            if certainly(start > end):
                break
            left, right = piece.bracket()
            right = right.min(end)
            if certainly(left > low):
                cells.append(_cell(current, low, left))
            if certainly(right > left):
                cells.append(Cell(left.max(low), right, None))
            low, current = right, piece
        if certainly(end > low) or not cells:
            cells.append(_cell(current, low, end))
        return cells

    def _proved(self, cell: Cell) -> bool:
        centre = None
        if cell.beneath is None or not certainly(BALLS.constant(cell.beneath) <= self.candidate):
            centre = self._mean_value_centre(cell)
            if centre is None and not self._proved_by_monotonicity(cell):
                return False
        ends = to_fraction(cell.low), to_fraction(cell.high)
        self.cells.append(ProvedCell(*ends, None if centre is None else to_fraction(centre)))
        return True

    def _mean_value_centre(self, cell: Cell) -> arb | None:
        """Return the centre about which the mean-value form proves the cell, if it does."""
        if cell.formula is None:
            return None
        inside = certainly(cell.low <= self.witness) and certainly(self.witness <= cell.high)
        centre = self.witness if inside else ((cell.low + cell.high) / 2).mid()
        formula = cell.formula
        if cell.by_chords:
            formula = chord(formula, cell.low, cell.high)
        value = formula(centre, BALLS)
        large = _is_large(value)
        at_centre = self._difference(formula, centre, centre, self.candidate, large)
        if not certainly(at_centre[0] > 0):
            return None
        on_cell = self._difference(formula, cell.low, cell.high, self.candidate, large)
        least = _least_of_quadratic(
            at_centre[1], on_cell[2].lower(), cell.low - centre, cell.high - centre
        )
        return centre if certainly(at_centre[0] + least > 0) else None

    def _proved_by_monotonicity(self, cell: Cell) -> bool:
        """Compare δ at the left end with δ_M at the right end."""
        value = self._enclose(cell.low)
        if certainly(value.log() == arb.neg_inf()):
            return True
        curve = gaussian.probability(cell.high, self.candidate)
        if _is_large(value) or value.log().is_nan():
            # log δ is not a number where δ cannot be told from 0, but 1 - δ still bounds it
            return certainly(curve.log_complement() <= value.log_complement())
        return certainly(value.log() <= curve.log())

    def _improved(self, point: arb, cell: Cell) -> bool:
        """Look for a better witness in a cell in which F is negative somewhere."""
        assert cell.formula is not None
        value = self._enclose(point)
        curve = gaussian.probability(point, self.candidate)
        if not certainly(value.log() > curve.log()):
            return False
        before = self.low
        self._accept(self._climb(point, cell.formula, cell.low, cell.high))
        self._accept(point)
        return self.low > before

    def _difference(
        self, formula: Formula, low: arb, high: arb, mu: arb, large: bool
    ) -> arb_series:
        """Enclose the Taylor coefficients of F on [low, high], on the scale asked for."""
        value = formula(arb_series([low.union(high), 1], 3), SERIES)
        self.evaluations += 1
        if large:
            return value.log_complement() - gaussian.log_delta_complement_series(low, high, mu)
        return gaussian.log_delta_series(low, high, mu) - value.log()

    def _enclose(self, eps: arb) -> Probability:
        self.evaluations += 1
        return self.curve.enclose(eps)


def _cell(piece: Piece, low: arb, high: arb) -> Cell:
    return Cell(low, high, piece.formula, piece.by_chords, piece.beneath)


def _is_large(value: Probability) -> bool:
    """Whether δ is above one half, so that 1 - δ is the better scale."""
    return certainly(value.log() > _LOG_HALF)


def _least_of_quadratic(slope: arb, curvature: arb, low: arb, high: arb) -> arb:
    """Bound slope·h + curvature·h² from below for h in [low, high]."""
    least = (slope * low + curvature * low * low).min(slope * high + curvature * high * high)
    if certainly(curvature > 0):
        vertex = -slope / (2 * curvature)
        if not (certainly(vertex < low) or certainly(vertex > high)):
            least = least.min(-slope * slope / (4 * curvature))
    return least


def _dense(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return points that crowd towards the left end, where long ranges have their features."""
    if high - low <= 4:
        return np.empty(0)
    return np.asarray(low + (high - low) * 2.0 ** -np.arange(1, 25))


METHOD = Method(
    name="certified",
    sentence="proving δ(ε) ≤ δ_μ(ε) on cells that cover the range, in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.SMOOTH}),
    solve=solve,
)
