"""Counts with noise, released where they are above a threshold, for the checker.

Of k groups j have the record alone, and give it away with the chance p each: with κ = (1 - p)^j
δ is the largest 1 - κ + κ·δ_{k-j}(ε - log κ), δ_m that of the noise on m counts.
"""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, largest
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.mechanisms import FormulasCheck
from gdpbridge_verify.parameters import Values, parameters_of
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed

# microseconds of a term
_COST = 12.0
_EVERYWHERE = Fraction(0), None


class ThresholdedCheck(FormulasCheck):
    """The lines about counts above a threshold: a maximum, of which a Gaussian curve may be one."""

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return the maximum."""
        self.known = Thresholded(parameters_of(self.spec), self.arithmetic)
        return (Part(*_EVERYWHERE, self.known.level),), self.known.tail

    def covered(
        self, line: str, low: Fraction, high: Fraction, centre: Fraction, halvings: int
    ) -> None:
        """Prove the statement; of a curve with a smaller μ than mu.high there is no need to."""
        square, whole = self.known.square, self.parts
        if square is not None and self.high is not None and square <= self.high**2:
            self.parts = (Part(*_EVERYWHERE, self.known.rest),)
        try:
            super().covered(line, low, high, centre, halvings)
        finally:
            self.parts = whole


def log_kept(values: Values, of: Arithmetic) -> Interval:
    """Enclose log(1 - p)."""
    away = (values["threshold"] - values["contribution"]) / values["scale"]
    if away < 0:
        raise Malformed("mechanism.threshold", "below it", "at least the contribution")
    if values["noise"]:
        given_away = of.exactly(-away).exp()
    else:
        given_away = (of.exactly(away) / of.exactly(2).sqrt()).erfc()
    return (given_away / -2).log1p()


class Thresholded:
    """δ of one such mechanism.

    Attributes:
        tail: a failure, which is never less.
        square: μ² of Gaussian noise in all groups, None for other noise.
    """

    def __init__(self, values: Values, of: Arithmetic) -> None:
        self.of, self.groups = of, int(values["groups"])
        ratio = values["contribution"] / values["scale"]
        counts = range(1, self.groups + 1)
        self.square: Fraction | None = None
        self._ends = [count * ratio for count in counts]
        self._curves: list[GaussianCurve] = []
        if not values["noise"]:
            self.square = self.groups * ratio**2
            self._curves = [GaussianCurve(of.exactly(n * ratio**2).sqrt()) for n in counts]
        self._log_kept = log_kept(values, of)
        is_bound = not self._curves and self.groups > 1
        floor = -(self.groups * self._log_kept).expm1()
        self.tail = Tail.constant(floor, nature="bound" if is_bound else "own")

    def level(self, eps: Interval) -> Level:
        """Enclose δ."""
        return Level.of(largest(self._alone(j, eps) for j in range(self.groups + 1)))

    def rest(self, eps: Interval) -> Level:
        """Enclose the largest of all j but 0."""
        return Level.of(largest(self._alone(j, eps) for j in range(1, self.groups + 1)))

    def _alone(self, groups: int, eps: Interval) -> Interval:
        log_kept = groups * self._log_kept
        shared = self._shared(self.groups - groups, eps - log_kept)
        return log_kept.exp() * shared - log_kept.expm1()

    def _shared(self, groups: int, eps: Interval) -> Interval:
        self.of.charge(_COST)
        if groups == 0:
            return self.of.exactly(0)
        if self._curves:
            return self._curves[groups - 1].level(eps).value
        return (-((eps - self._ends[groups - 1]) / 2).expm1()).positive()
