"""Curves known at any ε, whatever they are made of: the supremum of G, proved by tangents.

δ is convex in e^ε, and so is δ_μ: cells on which δ lies below one tangent (see measure/tangents.py)
may be as wide as there is room, over any number of knots. Where a cell cannot be proved, G is
looked at again: it may be larger there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Curve, Form
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.measure.method import PROVED, Method
from gdpbridge.measure.problem import UNDECIDED, Answer, Problem
from gdpbridge.measure.tangents import NotProvedError, Tangents
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.exact import ceiling_to_places, digits_of, floor_to_places
from gdpbridge.numeric.flint_context import working_precision
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["METHOD", "solve"]

# places looked at, and those about a likely one
_GRID, _HALVINGS, _CLOSER, _ZOOMS = 129, 24, 9, 12
# places of a peak that are tried, if G is so close to the largest seen
_PEAKS, _NEAR = 3, 1e-3
# how often a place where G is larger may be found
_RAISES = 40
_CLOSEST = 1e-5
# of the range: from how far a climb begins
_STEPS = 1e-2, 1e-4, 1e-6


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text.

    Raises:
        UndecidedError: if the precision cap is reached.
    """
    bits = 64 + 5 * digits_of(problem.tol)
    return with_enough_precision(bits, lambda: _Search(problem).run(), UNDECIDED)


@dataclass(frozen=True)
class _Bound:
    """δ from above, or 1 - δ from below."""

    curve: Curve
    complement: bool

    def at(self, eps: arb) -> arb:
        """Return it at an ε."""
        value = self.curve.enclose(eps)
        if self.complement:
            return value.log_complement().exp().lower()
        log = value.log()
        return arb(0) if certainly(log == arb.neg_inf()) else log.exp().upper()


class _Search:
    """One attempt at the working precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.curve = problem, problem.curve
        self.end = to_fraction(ball(problem.end).upper())
        self.places = digits_of(problem.tol) + 2
        self.grid = 2 ** (4 * self.places)
        self.low, self.witness = Fraction(floor_to_places(problem.least, self.places)), Fraction(0)
        self.evaluations = 0

    def run(self) -> Answer:
        """Find the supremum, and prove that it is no larger."""
        self._accept(Fraction(0))
        self._accept(self._last)
        for eps, step in self._peaks():
            self._accept(self._climbed(eps, step))
        cells: list[ProvedCell] = []
        if not self._is_near_ceiling:
            cells = self._covered()
        return Answer(
            low=self.low,
            high=self.high,
            attained_at=self.witness,
            evaluations=self.evaluations,
            cells=len(cells),
            proof=Proof(tuple(cells), self.witness, bits=working_precision()),
        )

    @property
    def high(self) -> Fraction:
        """The upper end: half of the width above the lower one, or what is known beforehand."""
        if self._is_near_ceiling:
            assert self.problem.ceiling is not None
            top = self.problem.ceiling
        else:
            top = self.low + self.problem.tol / 2
        return Fraction(ceiling_to_places(top, self.places))

    @property
    def _is_near_ceiling(self) -> bool:
        ceiling = self.problem.ceiling
        return ceiling is not None and ceiling - self.low <= self.problem.tol

    # --- the lower end ----------------------------------------------------------------------------

    def _peaks(self) -> Iterator[tuple[Fraction, float]]:
        """Yield likely places of the supremum, as floats see them, and how closely."""
        end = float(self.problem.end)
        points = np.linspace(0.0, end, _GRID)
        points = np.unique(np.append(points, end * 2.0 ** -np.arange(1, _HALVINGS)))
        values = self._seen(points)
        inner = values[1:-1]
        tops = 1 + np.flatnonzero((inner >= values[:-2]) & (inner >= values[2:]))
        tops = tops[values[tops] >= (1 - _NEAR) * values.max()]
        for top in tops[np.argsort(-values[tops])][:_PEAKS].tolist():
            low, at, high = (float(one) for one in points[top - 1 : top + 2])
            for _ in range(_ZOOMS):
                near = np.linspace(low, high, _CLOSER)
                best = int(np.argmax(self._seen(near)))
                at = float(near[best])
                low, high = float(near[max(best - 1, 0)]), float(near[min(best + 1, _CLOSER - 1)])
                if high - low <= _CLOSEST * high:
                    break
            yield self._rounded(at), high - low

    def _seen(self, points: Floats) -> Floats:
        self.evaluations += points.size
        values = mu_from_logs(points, *self.curve.logs(points))
        return np.asarray(np.nan_to_num(values, nan=-1.0))

    def _rounded(self, eps: float | Fraction) -> Fraction:
        at = Fraction(round(Fraction(eps) * self.grid), self.grid)
        return min(max(at, Fraction(0)), self._last)

    @property
    def _last(self) -> Fraction:
        """The end rounded down, as a witness must not lie beyond."""
        return to_fraction(ball(self.problem.end).lower())

    def _climbed(self, eps: Fraction, step: float) -> Fraction:
        """Return where the parabola through three values of G is largest, again and again."""
        closest = float(self.problem.tol) ** 0.3 * min(step / _CLOSEST, 1.0)
        while True:
            h = self._rounded(step)
            if not h or eps < h or eps + h > self._last:
                return eps
            before, at, after = (self._mu(place).mid() for place in (eps - h, eps, eps + h))
            bend = before - 2 * at + after
            if not certainly(bend < 0):
                return eps
            moved = eps + h * to_fraction(((before - after) / (2 * bend)).mid())
            eps = self._rounded(min(max(moved, eps - h), eps + h))
            if step <= closest:
                return eps
            step = max(step / 32, closest)

    def _mu(self, eps: Fraction) -> arb:
        """Enclose G."""
        self.evaluations += 1
        at = ball(eps)
        value = self.curve.enclose(at)
        if certainly(value.log() == arb.neg_inf()):
            return arb(0)
        return gaussian.mu_of(at, value)

    def _accept(self, eps: Fraction) -> bool:
        """Make an ε the witness if G is larger there."""
        try:
            mu = self._mu(eps)
        except UndecidedError:
            if eps == 0:
                raise MorePrecisionError("δ(0) is too close to 0 or 1") from None
            return False
        low = Fraction(floor_to_places(to_fraction(mu.lower()), self.places))
        if low <= self.low:
            return False
        if to_fraction(mu.upper()) > low + self.problem.tol / 4:
            raise MorePrecisionError("G is not known closely enough")
        self.low, self.witness = low, eps
        return True

    # --- the upper end ----------------------------------------------------------------------------

    def _covered(self) -> list[ProvedCell]:
        """Prove cells from the witness outward, and begin anew where G is larger.

        Raises:
            MorePrecisionError: if a cell cannot be proved.
        """
        for _ in range(_RAISES):
            try:
                before = [*self._cells(left=True)]
                return [*before[::-1], *self._cells(left=False)]
            except NotProvedError as error:
                found = [self._climbed(error.eps, share * float(self.end)) for share in _STEPS]
                if not max([self._accept(eps) for eps in (*found, error.eps)]):
                    raise MorePrecisionError(str(error)) from None
        raise UndecidedError("G has too many places at which it is nearly largest")

    def _cells(self, *, left: bool) -> Iterator[ProvedCell]:
        half = min(max(self._half(), Fraction(0)), self.end)
        stops = [half, Fraction(0)] if left else [half, self.end]
        at, width = self.witness, 0.0
        claim = Tangents(ball(self.high), Fraction(0), float(self.problem.tol / 2))
        for stop in stops:
            if (stop >= at) if left else (stop <= at):
                continue
            bound = _Bound(self.curve, complement=max(at, stop) <= half)
            for reached, after in claim.cells(bound, at, stop, width or claim.first):
                yield ProvedCell(min(at, reached), max(at, reached), (at + reached) / 2)
                at, width = reached, after
                self.problem.progress("covering", self._share(at, left=left))
        self.evaluations += claim.evaluations

    def _half(self) -> Fraction:
        """Return an ε at which δ is about 1/2."""
        found = float(self.curve.least_epsilon(np.array([0.5]))[0])
        return self.end if math.isinf(found) else self._rounded(found)

    def _share(self, at: Fraction, *, left: bool) -> float:
        done, whole = float(abs(at - self.witness)), float(self.end) or 1.0
        return min((done if left else float(self.witness) + done) / whole, 1.0)


METHOD = Method(
    name="tangents",
    sentence="proving δ(ε) ≤ δ_μ(ε) by tangents on cells that cover the range, in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.POINTS}),
    solve=solve,
)
