"""The supremum of G from δ at a few ε, where no line covers a range.

δ is convex in e^ε and does not rise, so that proved upper bounds at some ε imply one everywhere: a
table of guarantees (see mechanisms/table.py), whose supremum is found exactly. There is where the
bounds show least, and there δ is asked for next. The lower end is the largest G that a proved lower
bound shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from gdpbridge.certificate.proof import Proof, ProvedDirection
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.errors import InputError, UndecidedError, WorkLimitError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.measure.method import default_method
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.mechanisms.table import Table
from gdpbridge.numeric.decide import MorePrecisionError
from gdpbridge.numeric.effort import MOST_WORK, Limit
from gdpbridge.numeric.exact import decimal_ceiling, decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import Probability, ball, to_fraction
from gdpbridge.progress import silent

__all__ = ["by_chords"]

_BY_CHORDS = (
    "no line of the privacy loss covers the range within the limit of work: the upper end is that "
    "of chords in e^ε between proved upper bounds of δ at {count} ε"
)

# ε at which δ is asked for, and how near to one another they may be, as a share of the range
_MOST, _NEAREST = 40, Fraction(1, 1 << 30)
# ε are multiples of 1/this
_GRID = 2**64
# of an upper bound of δ
_DIGITS = 40
# of the width, what the table's own measurement may take
_SHARE = 8
_BITS = 256
_LEAST_TOL = Fraction(1, 10**100)


@dataclass(frozen=True)
class _Known:
    """Proved bounds of δ at an ε."""

    eps: Fraction
    low: Fraction
    high: Fraction


def by_chords(problem: Problem, *, scales: bool) -> tuple[Answer, Fraction] | None:
    """Find the supremum of G, or an interval for it that may be wider than asked for.

    Args:
        problem: of a composed curve, and nothing of it past a failure.
        scales: whether the width asked for is relative to μ, where that is below 1.

    Returns:
        The answer, whose proof no certificate can show, and the width that was asked for; None if
        what is known of δ at the ends of the range says nothing.
    """
    search = _Search(problem)
    for eps in (Fraction(0), search.stop):
        if not search.looks_at(eps):
            return None
    low, _ = search.shown()
    if scales and 0 < low < 1:
        tol = max(problem.tol * Fraction(10) ** math.floor(math.log10(low)), _LEAST_TOL)
        search.problem = replace(problem, tol=tol)
    answer = search.run()
    return None if answer is None else (answer, search.problem.tol)


class _Search:
    """The ε looked at, and what they imply."""

    def __init__(self, problem: Problem) -> None:
        curve = problem.curve
        assert isinstance(curve, ComposedCurve)
        self.problem, self.curve = problem, curve
        # up to the end rounded up something is implied, a witness must not lie beyond the end
        self.stop = Fraction(math.ceil(problem.end * _GRID), _GRID)
        self.last = Fraction(math.floor(problem.end * _GRID), _GRID)
        self.known: list[_Known] = []
        self.limit = Limit("μ", "it is bounded by chords", MOST_WORK)

    def run(self) -> Answer | None:
        found: Answer | None = None
        while True:
            try:
                upper = self._implied()
            except (UndecidedError, MorePrecisionError, InputError):
                return found
            low, witness = self.shown()
            if found is None or upper.high < found.high or low > found.low:
                high = upper.high if found is None else min(upper.high, found.high)
                found = Answer(
                    low=low,
                    high=max(high, low),
                    attained_at=witness,
                    evaluations=len(self.known),
                    cells=len(self.known) - 1,
                    notes=(_BY_CHORDS.format(count=len(self.known)),),
                    proof=Proof(witness=witness, unshown=_unshown),
                    at_best="δ at more ε would be too much work, or is not known closely enough",
                )
            if found.high - found.low <= self.problem.tol or len(self.known) >= _MOST:
                return found
            eps = self._next(upper.attained_at)
            if eps is None or not self.looks_at(eps):
                return found
            self.problem.progress("looking at δ at single ε", len(self.known) / _MOST)

    def looks_at(self, eps: Fraction) -> bool:
        """Bound δ at an ε, unless that is too much work."""
        try:
            with self.limit.part():
                low, high = self.curve.loss.delta(eps)
        except (WorkLimitError, UndecidedError):
            return False
        # rows of a table are decimals
        above = min(Fraction(decimal_ceiling(to_fraction(high), _DIGITS)), Fraction(1))
        self.known.append(_Known(eps, to_fraction(low), above))
        self.known.sort(key=lambda one: one.eps)
        return True

    def _next(self, eps: Fraction) -> Fraction | None:
        """Return an ε to look at next, where the bounds are highest; None where one was, nearly."""
        at, nearest = Fraction(round(eps * _GRID), _GRID), self.stop * _NEAREST
        return None if any(abs(at - one.eps) <= nearest for one in self.known) else at

    def _implied(self) -> Answer:
        """Return the supremum of G of all that the upper bounds imply."""
        rows = [(decimal_text(one.eps), decimal_text(one.high)) for one in self.known]
        curve = Table(pairs=rows).curve
        problem = Problem(curve, self.problem.end, self.problem.tol / _SHARE, silent)
        return default_method(curve.form).solve(problem)

    def shown(self) -> tuple[Fraction, Fraction]:
        """Return the largest G that a lower bound shows, and where."""
        best = Fraction(0), Fraction(0)
        with precision(_BITS):
            for one in self.known:
                eps = min(one.eps, self.last)
                if one.low <= 0:
                    continue
                try:
                    mu = gaussian.mu_of(ball(eps), _as_probability(one.low))
                except UndecidedError:
                    continue
                low = to_fraction(mu.lower()) if mu.is_finite() else Fraction(0)
                best = max(best, (low, eps))
        return best


def _as_probability(value: Fraction) -> Probability:
    return Probability(lambda: ball(value).log(), lambda: ball(1 - value).log())


def _unshown() -> tuple[tuple[ProvedDirection, ...], None]:
    raise UndecidedError(
        "the upper end is proved by δ at single ε, in whose place a certificate needs lines"
    )
