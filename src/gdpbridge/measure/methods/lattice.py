"""Curves known between bounds: both ends of μ from bounds that come closer where it matters.

Bounds are coarse at first. An ε whose upper bound of G is below the best lower bound cannot matter;
the others get closer bounds, until the two ends are near enough. At the end, both are worked out
in balls from the numbers found: the upper bounds of δ on a set of ε are a table of guarantees, δ
lies below the lines between them in t = e^ε, and the lower bound at one ε is a witness.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.curves.base import Form
from gdpbridge.curves.bounded import CurveBounds, LatticeCurve
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.losses.composition import Bounds, ComposedLoss
from gdpbridge.measure.method import BOUNDS, COMPOSED_TOL, Method
from gdpbridge.measure.methods import breakpoints
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.mechanisms.table import Table
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import float_ceiling
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import Probability, ball, float_below, to_fraction

__all__ = ["METHOD", "solve"]

NOT_CERTIFIED = (
    "both ends are bounds: discrete laws above and below the privacy loss, their masses proved in "
    "ball arithmetic, are composed by Fourier transforms whose rounding is bounded beforehand and "
    "included; not certified, as SciPy's transform and the system's exp and log are trusted to be "
    "right to a few units of rounding"
)

TIGHTER = (
    "the losses given for the two directions are not those of one pair of distributions; what they "
    "imply together is smaller than either"
)

# points to look at first, and the most to add at once
_FIRST = 257
_MOST = 20_000
# where in a cell its chord is looked at
_PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
# the share of the width that the bounds may take
_SHARE = 0.6
_ROUNDS = 6
# relative to μ: what is small, a width to aim at even if more is allowed, and the least one that
# transforms in float64 can tell
_SMALL = 1e-2
_RELATIVE = 1e-3
_LEAST_WIDTH = 2e-8
_LEAST_AIM = 1e-15
# the table's own supremum is found so many times closer
_EXACT = 16
_BITS = 128


def solve(problem: Problem) -> Answer:
    """Measure between bounds; see the module's text."""
    assert isinstance(problem.curve, LatticeCurve)
    return _Search(problem, problem.curve.bounds).run()


class _Search:
    """One measurement."""

    def __init__(self, problem: Problem, bounds: CurveBounds) -> None:
        self.problem, self.bounds = problem, bounds
        self.failure = float(problem.failure)
        self.end = float(problem.end)
        if Fraction(self.end) > problem.end:
            self.end = math.nextafter(self.end, 0.0)
        self.widths = [bounds.first_width()]
        self.best = 0.0

    def run(self) -> Answer:
        eps = np.linspace(0.0, self.end, _FIRST)
        for number in range(1, _ROUNDS + 1):
            self.problem.progress("composing", number / (_ROUNDS + 1))
            found = self._bounds(eps)
            high, aim = self._on_cells(eps, found), self._aim()
            if float(high.max()) - self.best <= _SHARE * aim or number == _ROUNDS:
                break
            eps = self._finer(eps, high, aim)
            self.widths.append(
                max(min(_SHARE * aim, self.widths[-1] / 2), _LEAST_WIDTH * self.best, _LEAST_AIM)
            )
        return self._proved(eps, found, Fraction(aim))

    def _aim(self) -> float:
        """Return the width to aim at: the tolerance, or less where that is much beside μ."""
        tol = float(self.problem.tol)
        if tol <= _SMALL * self.best:
            return tol
        return min(tol, max(_RELATIVE * self.best, _LEAST_AIM))

    def _bounds(self, eps: Floats) -> Bounds:
        """Bound δ at some ε, closely where it may matter."""
        found = (self._directed(eps, loss) for loss in self.bounds.directions)
        return functools.reduce(lambda one, other: one.larger(other), found)

    def _directed(self, eps: Floats, loss: ComposedLoss) -> Bounds:
        found = loss.within(self.widths[0]).rough_bounds(eps)
        for width in self.widths:
            high = self._mu(eps, found.log_high, found.log_rest_at_high)
            matters = high > self.best
            if matters.any():
                found = found.narrowed(matters, loss.within(width).bounds(eps[matters]))
                self._raise(eps, found)
        return found

    def _raise(self, eps: Floats, found: Bounds) -> None:
        low = self._mu(eps, found.log_low, found.log_rest_at_low)
        self.best = max(self.best, float(low.max()))

    def _mu(self, eps: Floats, log: Floats, rest: Floats) -> Floats:
        """Return G past the failure probability, as floats."""
        if self.failure:
            kept = math.log1p(-self.failure)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.minimum(math.log(self.failure) - log, 0.0)
                log = np.where(share < 0, log + np.log(-np.expm1(share)) - kept, -np.inf)
            rest = np.minimum(rest - kept, 0.0)
        return np.nan_to_num(mu_from_logs(eps, log, rest), nan=np.inf)

    def _on_cells(self, eps: Floats, found: Bounds) -> Floats:
        """Return about the largest G on the chords of the upper bound, a number a cell."""
        width = np.diff(eps)
        largest = np.zeros(width.size)
        for place in _PLACES:
            share = np.expm1(place * width) / np.expm1(width)
            with np.errstate(divide="ignore"):
                before, after = np.log1p(-share), np.log(share)
            log = np.logaddexp(found.log_high[:-1] + before, found.log_high[1:] + after)
            rest = np.logaddexp(
                found.log_rest_at_high[:-1] + before, found.log_rest_at_high[1:] + after
            )
            at = eps[:-1] + place * width
            largest = np.maximum(largest, self._mu(at, np.minimum(log, 0.0), np.minimum(rest, 0.0)))
        return largest

    def _finer(self, eps: Floats, high: Floats, aim: float) -> Floats:
        """Add ε where the supremum may be: chords over cells of width w are w²/8μ too high."""
        cells = np.flatnonzero(high > self.best)
        wanted = math.sqrt(0.5 * aim * max(self.best, aim))
        widths = eps[cells + 1] - eps[cells]
        pieces = np.ceil(widths / max(wanted, float(widths.sum()) / _MOST)).astype(int)
        added = [
            np.linspace(eps[cell], eps[cell + 1], count, endpoint=False)[1:]
            for cell, count in zip(cells, np.maximum(pieces, 2), strict=True)
        ]
        return np.unique(np.concatenate([eps, *added]))

    def _proved(self, eps: Floats, found: Bounds, aim: Fraction) -> Answer:
        """Work out both ends in balls."""
        low, witness = self._lower_end(eps, found)
        high, cells = self._upper_end(eps, found, aim / _EXACT)
        notes: tuple[str, ...] = (NOT_CERTIFIED,)
        if low > high:
            # a table of guarantees says more than the sum of its rows: it holds in both directions
            low, notes = high, (*notes, TIGHTER)
        if self.problem.ceiling is not None:
            high = min(high, self.problem.ceiling)
        return Answer(
            low=min(low, high),
            high=high,
            attained_at=Fraction(witness),
            evaluations=self.bounds.evaluations,
            cells=cells,
            notes=notes,
        )

    def _lower_end(self, eps: Floats, found: Bounds) -> tuple[Fraction, float]:
        index = int(np.argmax(self._mu(eps, found.log_low, found.log_rest_at_low)))
        log, rest = float(found.log_low[index]), float(found.log_rest_at_low[index])
        witness = float(eps[index])
        with precision(_BITS):
            failure, kept = ball(self.problem.failure), ball(1 - self.problem.failure)
            past = arb(log).exp() - failure
            if log == -math.inf or not certainly(past > 0):
                return Fraction(0), witness
            # both are lower bounds of μ: the one from 1 - δ keeps its digits where δ is close to 1
            value = Probability((past / kept).log, lambda: arb(rest) - kept.log())
            low = to_fraction(gaussian.mu_of(arb(witness), value).lower())
        return max(low, Fraction(0)), witness

    def _upper_end(self, eps: Floats, found: Bounds, tol: Fraction) -> tuple[Fraction, int]:
        """Return the largest μ of the table that the upper bounds make."""
        pairs, end = dict(zip(eps.tolist(), found.log_high.tolist(), strict=True)), self.problem.end
        if self.problem.failure:
            # at the end δ was proved to be at most p, which bounds of another width need not show
            last = float_ceiling(end)
            with precision(_BITS):
                log_failure = float_below(ball(self.problem.failure).log())
            pairs[last] = min(pairs.get(last, 0.0), log_failure)
        curve = Table(pairs=list(pairs.items()), log=True).curve
        if self.problem.failure:
            curve = curve.past(self.problem.failure)
        problem = replace(self.problem, curve=curve, end=end, tol=tol)
        answer = breakpoints.solve(problem)
        return answer.high, answer.cells


METHOD = Method(
    name="lattice",
    sentence="composing discrete laws above and below the privacy loss by Fourier transforms, "
    "every rounding bounded",
    assurance=BOUNDS,
    handles=frozenset({Form.BETWEEN}),
    unfit="nothing has to be composed numerically",
    solve=solve,
    default_tol=COMPOSED_TOL,
    keeps_to_tol=False,
    no_certificate="there is no certificate for numerically composed privacy losses yet",
)
