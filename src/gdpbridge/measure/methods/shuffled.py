"""P's optimised listing: cells in random order, a binary search only for a new record.

The steps are those of the staircase method. A cell is tested against the record first, and
shuffled cells set few records. For the lower staircase the record compared with is the upper end
of the last search: with its lower end, as printed, every later cell in the same lattice bin would
search again, and the number of searches grows like the square root of the number of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gdpbridge.curves.base import Form
from gdpbridge.measure.floats import NOT_PROVED, curve_is_below, refuse_beyond, rounded_out, search
from gdpbridge.measure.method import FLOATS, Method
from gdpbridge.measure.methods.staircase import grid_steps
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.numeric.arrays import Floats

__all__ = ["METHOD", "solve"]

MAX_EVALUATIONS = 20_000_000
_BLOCK = 8192
_SEED = 20221128


@dataclass
class _Record:
    """The largest step of one staircase so far, between two lattice points."""

    margin: float
    low: float = 0.0
    high: float = 0.0
    at: float = 0.0
    searches: int = 0

    def update(self, eps: Floats, log_delta: Floats, log_complement: Floats, at: Floats) -> None:
        """Go through a block of cells in order, searching where the record is beaten."""
        position = 0
        while position < eps.size:
            rest = slice(position, None)
            beaten = curve_is_below(self.high, eps[rest], log_delta[rest], log_complement[rest])
            if not beaten.any():
                return
            position += int(np.argmax(beaten))
            one = slice(position, position + 1)
            low, high = search(eps[one], log_delta[one], log_complement[one], self.margin)
            self.low, self.high = float(low[0]), float(high[0])
            self.at = float(at[position])
            self.searches += 1
            position += 1


def solve(problem: Problem) -> Answer:
    """Measure with P's optimised listing.

    Raises:
        WorkLimitError: if more than twenty million evaluations of the profile would be needed.
    """
    steps = grid_steps(problem)
    refuse_beyond(MAX_EVALUATIONS, 2 * steps, "shuffled", problem)
    end, margin = float(problem.end), float(problem.tol) / 4
    order = np.random.default_rng(_SEED).permutation(steps)
    lower, upper = _Record(margin), _Record(margin)
    for first in range(0, steps, _BLOCK):
        cells = order[first : first + _BLOCK]
        step = np.float64(end / steps)
        left: Floats = cells * step
        right: Floats = (cells + 1) * step
        at_left, at_right = problem.curve.logs(left), problem.curve.logs(right)
        lower.update(left, *at_right, right)
        upper.update(right, *at_left, left)
        problem.progress("going through shuffled cells", (first + cells.size) / steps)
    notes = (NOT_PROVED, f"{lower.searches} lower and {upper.searches} upper binary searches")
    ends = rounded_out(lower.low, upper.high)
    return Answer(*ends, Fraction(lower.at), 2 * steps, steps, notes)


METHOD = Method(
    name="shuffled",
    sentence="the source paper's optimised listing, in floating point",
    assurance=FLOATS,
    handles=frozenset({Form.SMOOTH, Form.LINEAR, Form.VALUES}),
    solve=solve,
)
