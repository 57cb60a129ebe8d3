"""Curves between two of lines: the lower end from the one below, the upper end from the other.

Both are measured with proof as curves of discrete losses, on finer and finer lattices until the two
ends are near enough, the finest lattice has been looked at, or the next one is more work than is
left of the question's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

from gdpbridge.certificate.proof import Proof
from gdpbridge.curves.base import Curve, Form
from gdpbridge.curves.between import BetweenCurve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.errors import WorkLimitError
from gdpbridge.measure.method import COMPOSED_TOL, PROVED, Method
from gdpbridge.measure.methods import breakpoints, certified
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.numeric.effort import what_is_left

__all__ = ["METHOD", "solve"]

# of the width asked for: what the measurement of either curve may take
_SHARE = 8


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text."""
    curve = problem.curve
    assert isinstance(curve, BetweenCurve)
    found = None
    for level in range(curve.levels):
        problem.progress("composing on lattices", level / curve.levels)
        try:
            low, high = _on_lattice(problem, curve, level, found is not None)
        except WorkLimitError:
            if found is None:
                raise
            break
        # every level's ends are bounds
        best = low if found is None or low.low > found.low else found
        top = high if found is None or high.high < found.high else found
        found = replace(
            best,
            # a certificate has laws of its own
            proof=Proof(witness=best.attained_at),
            high=max(top.high, best.low),
            evaluations=low.evaluations + high.evaluations,
            cells=low.cells + high.cells,
        )
        if found.high - found.low <= problem.tol:
            break
    assert found is not None
    return found


def _on_lattice(
    problem: Problem, curve: BetweenCurve, level: int, spare: bool
) -> tuple[Answer, Answer]:
    """Measure the curves below and above at a level, which may be one that can be spared."""
    with what_is_left(f"μ on lattice {level}") if spare else nullcontext():
        low, high = (
            _largest([_measured(problem, one) for one in curves]) for curves in curve.curves(level)
        )
    return low, high


def _largest(found: Sequence[Answer]) -> Answer:
    """Return the answer for the larger one of two curves."""
    best = max(found, key=lambda one: one.low)
    return replace(
        best,
        high=max(one.high for one in found),
        evaluations=sum(one.evaluations for one in found),
        cells=sum(one.cells for one in found),
    )


def _measured(problem: Problem, curve: Curve) -> Answer:
    """Measure one of both curves, as far as the range goes and it is not 0."""
    end = problem.end if curve.end is None else min(problem.end, upper_bound(curve.end))
    if end == 0:
        return Answer(Fraction(0), Fraction(0), Fraction(0), 0, 0)
    method = breakpoints if isinstance(curve, LinearCurve) else certified
    return method.solve(replace(problem, curve=curve, end=end, tol=problem.tol / _SHARE))


METHOD = Method(
    name="between",
    sentence="composing discrete laws above and below the privacy loss exactly, and measuring both "
    "in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.BETWEEN}),
    unfit="nothing has to be composed numerically",
    solve=solve,
    default_tol=COMPOSED_TOL,
    keeps_to_tol=False,
)
