"""Composed privacy losses: both ends of μ, proved on smooth curves above and below δ.

Each direction of the loss has a smooth curve above its δ, made of lines (see losses/line.py), and
δ is the larger one of both: a μ that the certified method proves for every direction covers δ. The
lower end is G at one ε, from the curve below.

Where the supremum is not, little is needed: first Chernoff's bound at one tilt, then a line of few
digits; a line of all digits only where neither is below what some ε is known to ask for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import Proof, ProvedDirection, ProvedPiece
from gdpbridge.curves.base import Form
from gdpbridge.curves.composed import COARSE_DIGITS, ComposedCurve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import UnknownTail
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.losses.line import Evidence, Line
from gdpbridge.losses.line_integral import DEFAULT_DIGITS, Direction
from gdpbridge.losses.transforms.base import short
from gdpbridge.measure.method import PROVED, Method
from gdpbridge.measure.methods import certified
from gdpbridge.measure.problem import Answer, Forward, Problem
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import digits_of, floor_to_places
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import FLOATS, Probability, ball, to_fraction

__all__ = ["METHOD", "solve"]

# of δ beyond those of μ
_MORE_DIGITS = 3
_ROUNDS = 3
# G must be that much smaller than what is known, relative to it, where it is not looked at closely
_MARGIN = 1e-3
# pieces of Chernoff's bound that are shorter, beside the range, are no longer worth their number
_LEAST_PIECE = 1e-3
# of the largest loss, up to where tilts are sought
_NEAR = 0.9
_DOUBLINGS = 8
# how far past p, relative to ε: beyond the error of its place, and no matter for μ
_PAST = 1e-9
# ends are multiples of 1/this, as certificates want them
_GRID = 2**64
# the share of the work that a first look is
_LOOKED = 0.4
# where on a piece that is looked at
_LOOKS = 9
# shares of the rest of the range that a piece of Chernoff's bound may take
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text.

    Raises:
        UndecidedError: if the precision cap is reached, or no line comes close enough.
        WorkLimitError: if too many cells or nodes would be needed.
    """
    digits = digits_of(problem.tol) + _MORE_DIGITS
    best = _Best()
    for number in range(_ROUNDS):
        answer = _Search(problem, digits, best, fine=number > 0).run()
        if answer.high - answer.low <= problem.tol:
            break
        digits += _MORE_DIGITS
    return answer


@dataclass
class _Best:
    """The largest G that is proved to be exceeded.

    Attributes:
        low: it.
        witness: where.
    """

    low: Fraction = Fraction(0)
    witness: Fraction = Fraction(0)


class _Search:
    """One attempt."""

    def __init__(self, problem: Problem, digits: int, best: _Best, *, fine: bool) -> None:
        curve = problem.curve
        assert isinstance(curve, ComposedCurve)
        if problem.failure:
            # past where δ is only known to have fallen to p, a certificate shows that it is below
            past = problem.end + short(_PAST * (1 + float(problem.end)))
            problem = replace(problem, end=Fraction(math.ceil(past * _GRID), _GRID))
        self.problem, self.curve = problem, curve
        self.digits, self.best, self.fine = digits, best, fine
        self.places = digits_of(problem.tol) + 2
        self.loss = self.curve.loss_to(digits)
        self.coarse = self.curve.loss_to(min(COARSE_DIGITS, digits))

    def run(self) -> Answer:
        """Look at all of the range coarsely, then prove an upper bound in every direction."""
        self._look()
        high = Fraction(0)
        proved: list[ProvedDirection] = []
        evaluations = 0
        pairs = list(zip(self.loss.directions, self.coarse.directions, strict=True))
        for number, (direction, coarse) in enumerate(pairs):
            found = list(self._pieces(direction, coarse))
            upper = SmoothCurve([piece for piece, _ in found], UnknownTail())
            pieces = [evidence for _, evidence in found]
            if not self._ends_with_losses and (
                direction.end is None or self.problem.end < direction.end
            ):
                # what δ is at the end is known to the usual digits, whatever the piece before
                closest = self.loss if self.digits >= DEFAULT_DIGITS else self.curve.loss
                last = closest.directions[number].stretch(self.problem.end).line
                pieces.append(ProvedPiece(self.problem.end, line=last.evidence))
            least = max(self.best.low, high - self.problem.tol / 2)
            shares = [_LOOKED + (1 - _LOOKED) * one / len(pairs) for one in (number, number + 1)]
            progress = Forward(self.problem.progress, *shares)
            part = replace(self.problem, curve=upper, least=least, progress=progress)
            answer = certified.solve(part)
            high = max(high, answer.high)
            cells = answer.proof.cells if answer.proof is not None else ()
            proved.append(ProvedDirection(tuple(pieces), cells))
            evaluations += answer.evaluations
            self._accept(answer.attained_at)
        return Answer(
            low=min(self.best.low, high),
            high=high,
            attained_at=self.best.witness,
            evaluations=evaluations,
            cells=sum(len(one.cells) for one in proved),
            proof=Proof(
                witness=self.best.witness,
                directions=tuple(proved),
                witness_line=self._witness_line(),
            ),
        )

    @property
    def _ends_with_losses(self) -> bool:
        """Whether no finite loss is beyond the range, so that δ ends there with nothing to show."""
        end = self.curve.end
        return not self.problem.failure and end is not None and self.problem.end >= upper_bound(end)

    def _witness_line(self) -> tuple[Evidence, bool] | None:
        """Return the line that shows the larger δ at the witness, and whether it is backward."""
        if not self.best.low:
            return None
        eps = self.best.witness
        lows = [direction.delta(eps)[0] for direction in self.loss.directions]
        backward = max(range(len(lows)), key=lambda number: to_fraction(lows[number]))
        line = self.loss.directions[backward].stretch(eps).line
        return line.evidence, bool(backward)

    # --- the lower end ------------------------------------------------------------------------

    def _accept(self, eps: Fraction) -> None:
        """Make an ε the witness if the curve below shows a larger G there."""
        low = self.loss.delta(eps)[0]
        p = self.problem.failure
        with precision(8 * self.digits + 64):
            low = ((low - ball(p)) / ball(1 - p)).lower()
            if not certainly(low > 0):
                return
            value = gaussian.mu_of(ball(eps), _probability(low))
            found = Fraction(floor_to_places(to_fraction(value.lower()), self.places + 2))
        if found > self.best.low:
            self.best.low, self.best.witness = found, eps

    def _look(self) -> None:
        """See where the supremum is, on coarse lines."""
        end = self.problem.end
        best, at = -1.0, Fraction(0)
        for direction in self.coarse.directions:
            stop = end if direction.end is None else min(end, direction.end)
            start = Fraction(0)
            while True:
                if self._by_chernoff(direction, start, stop, best) is not None:
                    break
                stretch = direction.stretch(start, stop)
                self.problem.progress("looking", _LOOKED * float(start) / (float(stop) or 1.0))
                points = _points(start, min(stretch.stop, stop))
                formula = self.curve.upper_formula(direction, stretch.line)
                values = _gs(formula, points)
                top = int(np.argmax(values))
                if values[top] > best:
                    best, at = float(values[top]), Fraction(float(points[top]))
                if stretch.stop >= stop:
                    break
                start = stretch.stop
        self._accept(min(at, end))

    # --- the upper end ------------------------------------------------------------------------

    def _pieces(
        self, direction: Direction, coarse: Direction
    ) -> Iterator[tuple[Piece, ProvedPiece]]:
        """Yield smooth pieces above δ, no closer than needed, and what each rests on."""
        end = self.problem.end
        at = Fraction(0)
        stop = end if direction.end is None else min(end, direction.end)
        while True:
            known = float(self.best.low) * (1 - _MARGIN)
            found = self._by_chernoff(direction, at, end, known)
            if found is not None:
                formula, after, tilt = found
                evidence = ProvedPiece(at, tilt=tilt)
            else:
                formula, after, line = self._by_line(direction, coarse, at, stop, known)
                evidence = ProvedPiece(at, line=line.evidence)
            yield Piece(at, formula), evidence
            if after >= end:
                return
            at = after

    def _by_line(
        self, direction: Direction, coarse: Direction, at: Fraction, stop: Fraction, known: float
    ) -> tuple[Formula, Fraction, Line]:
        if at >= stop:
            raise UndecidedError(f"no line ends where the losses do, at ε = {float(at):g}")
        if not self.fine:
            stretch = coarse.stretch(at, stop)
            after = min(stretch.stop, stop)
            formula = self.curve.upper_formula(coarse, stretch.line)
            if float(_gs(formula, _points(at, after)).max()) < known:
                return formula, after, stretch.line
        stretch = direction.stretch(at, stop)
        formula = self.curve.upper_formula(direction, stretch.line)
        return formula, min(stretch.stop, stop), stretch.line

    def _by_chernoff(
        self, direction: Direction, at: Fraction, end: Fraction, known: float
    ) -> tuple[Formula, Fraction, Fraction] | None:
        """Return Chernoff's bound where it will do, to where it does, and its tilt."""
        if direction.moments.domain[1] <= 0 or known <= 0:
            return None
        # at the largest loss the best tilt is infinite
        near = float(at) if direction.end is None else min(float(at), _NEAR * float(direction.end))
        best = float(direction.moments.tilts.at(np.array([near])).tilt[0])
        # past the largest loss larger tilts are better, and none is best
        past = direction.end is not None and near < float(at)
        tilts = [short(best * 2**power) for power in range(_DOUBLINGS if past else 1)]
        least = _LEAST_PIECE * (1 + float(end))
        for share in _SHARES:
            length = float(end - at) * share
            if share < 1 and length < least:
                break
            after = end if share == 1 else at + short(length)
            for tilt in tilts:
                formula = self.curve.chernoff_formula(direction, tilt)
                if float(_gs(formula, _points(at, after)).max()) < known:
                    return formula, after, tilt
        return None


def _points(low: Fraction, high: Fraction) -> Floats:
    return np.linspace(float(low), float(high), _LOOKS)


def _gs(formula: Formula, points: Floats) -> Floats:
    """Return G on floats; nothing where δ is not positive."""
    value = formula(points, FLOATS)
    log = np.fmin(np.nan_to_num(value.log(), nan=-np.inf, neginf=-np.inf), 0.0)
    left = value.log_complement()
    rest = np.fmin(np.nan_to_num(left, nan=0.0, neginf=-np.inf), 0.0)
    # a bound above 1 says nothing
    return np.where(
        np.isnan(left), np.inf, np.nan_to_num(mu_from_logs(points, log, rest), nan=np.inf)
    )


def _probability(value: arb) -> Probability:
    return Probability(value.log, (-value).log1p)


METHOD = Method(
    name="composed",
    sentence="composing privacy losses by line integrals, and proving δ(ε) ≤ δ_μ(ε) on cells that "
    "cover the range, in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.COMPOSED}),
    solve=solve,
    unfit="nothing has to be composed numerically",
)
