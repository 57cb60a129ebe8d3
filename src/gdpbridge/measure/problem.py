"""The question every measuring method answers: the supremum of G on a range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gdpbridge.certificate.proof import Proof
from gdpbridge.curves.base import Curve
from gdpbridge.numeric.decide import MAX_PRECISION
from gdpbridge.progress import Progress, silent

__all__ = ["UNDECIDED", "Answer", "Forward", "Problem"]

UNDECIDED = f"undecided with {MAX_PRECISION} bits of precision: ask for a larger --tol"


class Forward:
    """Progress in parts, whose share never falls, whatever the parts report.

    Args:
        progress: where it is passed on to.
        start: the share that is done when it begins.
        stop: the share that is done when it ends.
    """

    def __init__(self, progress: Progress, start: float = 0.0, stop: float = 1.0) -> None:
        self._progress, self._start, self._stop = progress, start, stop
        self._share = start

    def __call__(self, sentence: str, share: float) -> None:
        """Report a share in [0, 1] of this part."""
        now = self._start + (self._stop - self._start) * share
        self._share = min(max(self._share, now), self._stop)
        self._progress(sentence, self._share)


@dataclass(frozen=True)
class Problem:
    """Find the supremum of G(ε) = μ(ε, δ(ε)) for ε in [0, end], to within tol.

    Attributes:
        curve: the curve δ.
        end: the end of the range, ≥ 0.
        tol: the largest width allowed of the interval for the supremum.
        progress: called now and then during long work.
        ceiling: a number known to be at least the supremum, if there is one.
        failure: p, where the curve is another one's past p (see Curve.past), else 0.
        least: a number known to be at most the supremum of a curve that this one is a bound of: the
            answer's upper end need not be less than half the tolerance above it.
    """

    curve: Curve
    end: Fraction
    tol: Fraction
    progress: Progress = silent
    ceiling: Fraction | None = None
    failure: Fraction = Fraction(0)
    least: Fraction = Fraction(0)


@dataclass(frozen=True)
class Answer:
    """An interval [low, high] for the supremum, and how it was found.

    Attributes:
        low: at most the supremum.
        high: at least the supremum; ``high - low`` is at most the tolerance.
        attained_at: an ε with G(ε) ≥ low.
        evaluations: the number of evaluations of the curve.
        cells: the number of cells that cover the range.
        notes: what a careful reader should know.
        proof: what proves low and high, or None where they rest on floating point.
        at_best: why they may be further apart than asked for, in a method that need not keep to it.
    """

    low: Fraction
    high: Fraction
    attained_at: Fraction
    evaluations: int
    cells: int
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    at_best: str = (
        "no lattice that fits in the memory and the work allowed for a question makes it narrower"
    )
