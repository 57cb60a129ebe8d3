"""Composed privacy losses: both ends of μ, proved on curves above and below δ.

Each direction of the loss has a curve above its δ, made of lines (see losses/line.py), and δ is the
larger one of both: a μ that is proved for every direction covers δ. Proved is it by tangents (see
tangents.py), from the place where G is largest on. The lower end is G at one ε, from the curve
below.

Where the supremum is not, little is needed (see first_look.py); a line of all digits only where
less is not below what some ε is known to ask for.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import Proof, ProvedDirection, ProvedPiece
from gdpbridge.curves.base import Form
from gdpbridge.curves.composed import COARSE_DIGITS, ComposedCurve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.pieces import Piece as SmoothPiece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import UnknownTail
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import log_pair
from gdpbridge.losses.line import Evidence, Kind, Line
from gdpbridge.losses.line_integral import DEFAULT_DIGITS
from gdpbridge.losses.transforms.base import short
from gdpbridge.measure.climb import climbed
from gdpbridge.measure.first_look import LOOKED, MARGIN, FirstLook
from gdpbridge.measure.method import PROVED, Method
from gdpbridge.measure.methods import certified
from gdpbridge.measure.pieces import Piece, piece_at, pieces_on, refined
from gdpbridge.measure.polynomials import proved_about, proved_on
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.measure.tangents import NotProvedError, Tangents
from gdpbridge.numeric.arrays import Floats, Mask
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import MOST_WORK, within
from gdpbridge.numeric.exact import ceiling_to_places, digits_of, exact, floor_to_places
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import Probability, ball, to_fraction
from gdpbridge.progress import silent

__all__ = ["METHOD", "solve"]

# of δ beyond those of μ
_MORE_DIGITS = 3
_ROUNDS = 3
# of μ, where more are too much work to check
_LOOSE_DIGITS = 4, 2
# how often a place where G is larger may be found
_RAISES = 40
# looks at G before an ε where only a coarse line showed it
_HALVINGS = 17
# a piece is made sharper so far about a place where it does not do, as a share of it
_ABOUT = 0.125
# how far past p, relative to ε: beyond the error of its place, and no matter for μ
_PAST = 1e-9
# and how much further a certificate may go, so that it needs no line for the end alone
_FURTHER = [Fraction(1, 10**power) for power in (7, 6, 5, 4, 3)]
_NO_LINE = "the upper end is proved by δ at one ε, in whose place a certificate needs lines"
# ends are multiples of 1/this, as certificates want them
_GRID = 2**64
# a coarse line will do where its error is so small a share of what there is to spare
_SPARE = 10
_HALF, _LOG_HALF = 0.5, -math.log(2.0)
# how far a G found in floats may be off, relative to 1 + G
_FLOATS_OFF = 1e-12


def solve(problem: Problem) -> Answer:
    """Measure with proof; see the module's text.

    Raises:
        UndecidedError: if no line comes close enough, or a cell cannot be proved.
        WorkLimitError: if too many nodes would be needed.
    """
    digits = digits_of(problem.tol) + _MORE_DIGITS
    for _ in range(_ROUNDS):
        answer = _Search(problem, digits).run()
        if answer.high - answer.low <= problem.tol:
            break
        digits += _MORE_DIGITS
    return answer


class _Search:
    """One attempt."""

    def __init__(self, problem: Problem, digits: int) -> None:
        curve = problem.curve
        assert isinstance(curve, ComposedCurve)
        if problem.failure:
            # past where δ is only known to have fallen to p, a certificate shows that it is below
            past = problem.end + short(_PAST * (1 + float(problem.end)))
            problem = replace(problem, end=Fraction(math.ceil(past * _GRID), _GRID))
        self.problem, self.curve, self.digits = problem, curve, digits
        self.places = digits_of(problem.tol) + 2
        self.bits = 40 + 4 * digits
        self.loss = curve.loss_to(digits, curve.floor)
        self.coarse = curve.loss_to(min(COARSE_DIGITS, digits), curve.floor)
        # the largest G that is seen, and the ends that it proves
        self.seen, self.low, self.high = -1.0, Fraction(0), Fraction(0)
        self.witness: tuple[Fraction, int, Line] | None = None
        self.evaluations = 0

    def run(self) -> Answer:
        """Look at all of the range coarsely, then prove an upper bound in every direction."""
        look = FirstLook(self.problem, self.loss, self.coarse)
        pieces = [list(look.pieces(number)) for number in range(len(self.coarse.directions))]
        self.seen, self.evaluations = look.seen, look.evaluations
        self._accept(*look.best, pieces)
        if not self.low and self.seen > self.problem.tol and look.best[1]:
            with suppress(UndecidedError, WorkLimitError):
                self._look_before(*look.best, pieces)
        # a coarse line may have shown more than there is
        self.seen = float(self.low) or self.seen
        for _ in range(_RAISES):
            try:
                counts = [self._proved(number, pieces) for number in range(len(pieces))]
                break
            except _RaisedError:
                continue
        else:
            raise UndecidedError("G has too many places at which it is nearly largest")
        return Answer(
            low=self.low,
            high=self.high,
            attained_at=self.witness[0] if self.witness else Fraction(0),
            evaluations=self.evaluations,
            cells=sum(counts),
            proof=Proof(
                witness=self.witness[0] if self.witness else Fraction(0),
                unshown=partial(self._shown, pieces),
                looser=self._looser if self._loose_tol else None,
            ),
        )

    def _look_before(self, number: int, eps: Fraction, pieces: list[list[Piece]]) -> None:
        """Look ever nearer to an ε where no more than p is shown: G may be large before it."""
        for halvings in range(1, _HALVINGS):
            before = self.low
            self._accept(number, eps - eps / 2**halvings, pieces)
            if self.low == before > 0:
                break

    def _looser(self) -> tuple[Fraction, Fraction, Proof]:
        """Measure to few digits."""
        tol = self._loose_tol
        assert tol is not None
        problem = replace(self.problem, tol=tol, progress=silent)
        found = _Search(problem, digits_of(tol) + _MORE_DIGITS).run()
        assert found.proof is not None
        return found.low, max(found.high, self.high), found.proof

    @property
    def _loose_tol(self) -> Fraction | None:
        """The width with fewer digits, None where there are few already."""
        size = math.floor(math.log10(self.high)) if self.high > 0 else 0
        widths = (Fraction(10) ** (size - digits) for digits in _LOOSE_DIGITS)
        return next((one for one in widths if one > self.problem.tol), None)

    # --- what is known of the supremum ----------------------------------------------------------

    def _accept(self, number: int, eps: Fraction, pieces: list[list[Piece]]) -> bool:
        """Raise the ends to what G is about an ε, if that is more."""
        self._refine(number, pieces, eps)
        before = self.high
        # where two pieces meet, G may rise on either
        for piece in [one for one in pieces[number] if one.start <= eps <= one.stop]:
            if not piece.is_line:
                continue
            assert piece.line is not None
            with precision(max(self.bits, piece.line.bits)):
                formula = self.curve.upper_formula(piece.direction, piece.line)
                near = float(self.problem.tol) ** 0.5 / 64
                found = climbed(piece, formula, eps, near, self.problem.failure)
                top = found.eps
                low, high = self._mu(piece, top, found.mu)
                if float(low) < self.seen * (1 - MARGIN):
                    # the climb may have gone to a lower top
                    low, high, top = max((low, high, top), (*self._mu(piece, eps), eps))
            if low > self.low:
                self.low, self.witness = low, (top, number, piece.line)
            self.high = max(self.high, high)
            self.seen = max(self.seen, float(low))
            if top != eps and top in (piece.start, piece.stop):
                # and goes on where the climb came to an end
                self._accept(number, top, pieces)
        return self.high > before

    def _mu(
        self, piece: Piece, eps: Fraction, near: float | None = None
    ) -> tuple[Fraction, Fraction]:
        """Return an end below G and one that is half of the width above what is above it.

        What is near G is tried for the lower end, where floats are near enough.
        """
        assert piece.line is not None
        at, p, spare = ball(eps), self.problem.failure, self.problem.tol / 2
        bounds = piece.direction.bounds(piece.line, at)
        rests = piece.direction.complements(piece.line, at)[::-1]
        if near is not None and self.problem.tol > _FLOATS_OFF * (1 + near) * _SPARE:
            hair, rest = exact(_FLOATS_OFF * (1 + near)), certainly(bounds[0] > _HALF)
            low = Fraction(floor_to_places(exact(near) - hair, self.places))
            if low > 0:
                value = gaussian.tangent_of(at, ball(low), complement=rest)[0] * ball(1 - p)
                if certainly(value >= rests[0] if rest else ball(p) + value <= bounds[0]):
                    high = exact(near) + hair + spare
                    return low, Fraction(ceiling_to_places(high, self.places))
        ends = []
        for value, rest in zip(bounds, rests, strict=True):
            left, other = ((value - ball(p)) / ball(1 - p)), rest / ball(1 - p)
            some = certainly(left > 0)
            ends.append(gaussian.mu_of(at, Probability(left.log, other.log)) if some else arb(0))
        low = Fraction(floor_to_places(to_fraction(ends[0].lower()), self.places))
        high = to_fraction(ends[1].upper()) + spare
        return low, Fraction(ceiling_to_places(high, self.places))

    # --- pieces -----------------------------------------------------------------------------------

    def _refine(self, number: int, pieces: list[list[Piece]], eps: Fraction | None = None) -> None:
        """Put lines of all digits where coarse ones do not show enough, or about an ε."""

        def hidden(piece: Piece, points: Floats) -> Mask:
            enough = _SPARE * 10.0**-piece.direction.digits
            return np.asarray(~(self._margin(points, piece) > enough))

        pieces[number] = refined(pieces[number], self.loss.directions[number], hidden, eps)

    def _margin(self, points: Floats, piece: Piece) -> Floats:
        """Return log of what is claimed over what the piece shows, or of what both leave of 1."""
        p = float(self.problem.failure)
        mu = max(float(self.high), self.seen)
        if not 0 < mu < math.inf:
            return np.full(points.shape, -np.inf)
        log, rest = log_pair(points, np.full(points.shape, mu))
        shown, left = piece.logs(points)
        if p:
            log = np.logaddexp(math.log(p), math.log1p(-p) + log)
        # lines are that close beside the smaller one of δ and 1 - δ
        small = (shown < _LOG_HALF) & (not piece.complement)
        return np.where(small, log - shown, left - rest - math.log1p(-p))

    # --- the proof --------------------------------------------------------------------------------

    def _proved(self, number: int, pieces: list[list[Piece]]) -> int:
        """Prove the upper end in one direction, and return how many cells it takes.

        Raises:
            _RaisedError: if G is larger somewhere.
            UndecidedError: if a cell cannot be proved.
        """
        if self._is_near_ceiling:
            assert self.problem.ceiling is not None
            self.high = Fraction(ceiling_to_places(self.problem.ceiling, self.places))
            return 0
        while True:
            self._refine(number, pieces)
            self.problem.progress("covering", LOOKED + (1 - LOOKED) * number / len(pieces))
            try:
                return self._covered(number, pieces[number])
            except NotProvedError as error:
                self._unproved(number, pieces, error)

    def _shown(
        self, pieces: list[list[Piece]]
    ) -> tuple[tuple[ProvedDirection, ...], tuple[Evidence, bool] | None]:
        """Return pieces and cells for a certificate: fewer, and of the form that it has.

        With them comes the line at the witness, and whether it is of Q against P.

        Raises:
            UndecidedError: if the upper end cannot be proved in that form.
        """
        shown = tuple(self._shown_in(number, some) for number, some in enumerate(pieces))
        if self.witness is None:
            return shown, None
        at, number, line = self.witness
        if line.kind is Kind.PUT:
            line = self.loss.directions[number].shown(self.digits).stretch(at).line
        return shown, (line.evidence, bool(number))

    def _shown_in(self, number: int, pieces: list[Piece]) -> ProvedDirection:
        pieces = self._as_certified(number, pieces)
        formulas, known = [], [piece.evidence() for piece in pieces]
        for piece in pieces:
            if piece.chord is not None:
                formula = self.curve.chord_formula(piece.direction, piece.chord, piece.last)
            elif piece.line is not None:
                formula = self.curve.upper_formula(piece.direction, piece.line)
            else:
                assert piece.tilt is not None
                formula = self.curve.chernoff_formula(piece.direction, piece.tilt)
            formulas.append(SmoothPiece(piece.start, formula))
        direction, end = self.loss.directions[number], self.problem.end
        if not self._ends_with_losses and (direction.end is None or end < direction.end):
            past = self._past(pieces[-1])
            if past is None:
                # what δ is at the end is known to the usual digits, whatever the piece before
                closest = self.curve.loss_to(max(self.digits, DEFAULT_DIGITS))
                line = closest.directions[number].shown(closest.digits).stretch(end).line
                known.append(ProvedPiece(end, line=line.evidence))
            end = past or end
        if self._is_near_ceiling:
            return ProvedDirection(tuple(known), ())
        hair = Fraction(2, 10**self.places)
        least = max(self.high - self.problem.tol / 2 - hair, Fraction(0))
        curve = SmoothCurve(formulas, UnknownTail())
        part = replace(
            self.problem, curve=curve, end=end, least=least, ceiling=None, progress=silent
        )
        # the checker has no time for more cells
        with within("the upper end in cells", "there is room for fewer", MOST_WORK // 2):
            answer = certified.solve(part)
        if answer.high > self.high or answer.proof is None:
            raise UndecidedError("the upper end cannot be shown in the form of a certificate")
        return ProvedDirection(tuple(known), answer.proof.cells)

    def _as_certified(self, number: int, pieces: list[Piece]) -> list[Piece]:
        """Put what a certificate may have in place of a level, and of lines of the other direction.

        Raises:
            UndecidedError: if no line comes close enough there.
        """
        found: list[Piece] = []
        for piece in pieces:
            put = piece.line is not None and piece.line.kind is Kind.PUT
            if piece.level is None and not put:
                found.append(piece)
            elif piece.level is not None and certainly(
                piece.level >= piece.direction.moments.distance().upper()
            ):
                found.append(replace(piece, level=None, tilt=Fraction(0)))
            else:
                try:
                    lines = self.loss.directions[number].shown(piece.direction.digits)
                    found += pieces_on(lines, piece.start, piece.stop)
                except (UndecidedError, WorkLimitError) as error:
                    raise UndecidedError(f"{_NO_LINE}: {error}") from error
        return found

    def _past(self, last: Piece) -> Fraction | None:
        """Return an end, hardly further, at which the last piece shows that δ is at most p."""
        p, end = self.problem.failure, self.problem.end
        for further in _FURTHER if p and last.chord is None else ():
            at = Fraction(math.ceil(end * (1 + further) * _GRID), _GRID)
            with precision(max(self.bits, last.line.bits if last.line else 0)):
                shown = last.at(ball(at))
                if certainly(shown >= ball(1 - p) if last.complement else shown <= ball(p)):
                    return at
        return None

    @property
    def _is_near_ceiling(self) -> bool:
        """Whether what is known beforehand is as sharp as what is asked for."""
        ceiling = self.problem.ceiling
        return ceiling is not None and ceiling - self.low <= self.problem.tol

    def _unproved(self, number: int, pieces: list[list[Piece]], error: NotProvedError) -> None:
        """Make a piece sharper, or raise the ends."""
        piece, fine = error.bound, self.loss.directions[number]
        assert isinstance(piece, Piece)
        if piece.direction is fine and piece.is_line:
            if self._accept(number, error.eps, pieces):
                raise _RaisedError
            raise UndecidedError(f"a cell at ε = {float(error.eps):.12g} could not be proved")
        sharper = fine if piece.is_line else self.coarse.directions[number]
        at, reach = pieces[number].index(piece), short(float(piece.stop - piece.start) * _ABOUT)
        low, high = max(piece.start, error.eps - reach), min(piece.stop, error.eps + reach)
        pieces[number][at : at + 1] = [
            *([replace(piece, stop=low)] if low > piece.start else []),
            *pieces_on(sharper, low, high),
            *([replace(piece, start=high)] if high < piece.stop else []),
        ]

    def _covered(self, number: int, pieces: list[Piece]) -> int:
        """Cover the range by proved cells, from where G is largest outward; return their number."""
        start = Fraction(0)
        if self.witness and self.witness[1] == number:
            start = self.witness[0]
        middle = pieces.index(piece_at(pieces, start))
        with precision(self.bits):
            margin = float(self.problem.tol / 2)
            claim = Tangents(ball(self.high), self.problem.failure, margin)
            low, high, count = proved_about(claim, pieces[middle], start)
        for run, left in ((pieces[middle::-1], True), (pieces[middle:], False)):
            width, at = claim.first, low if left else high
            for piece in run:
                stop = piece.start if left else piece.stop
                with precision(max(self.bits, piece.line.bits if piece.line else 0)):
                    for reached, parts in proved_on(claim, piece, at, stop):
                        count, width, at = count + parts, float(abs(reached - at)), reached
                        self._progress_at(at)
                    for reached, after in claim.cells(piece, at, stop, width):
                        count, width = count + 1, after
                        self._progress_at(reached)
                at = stop
        self.evaluations += claim.evaluations
        return count

    def _progress_at(self, eps: Fraction) -> None:
        share = float(eps) / float(self.problem.end or 1)
        self.problem.progress("covering", LOOKED + (1 - LOOKED) * share)

    @property
    def _ends_with_losses(self) -> bool:
        """Whether no finite loss is beyond the range, so that δ ends there with nothing to show."""
        end = self.curve.end
        return not self.problem.failure and end is not None and self.problem.end >= upper_bound(end)


class _RaisedError(Exception):
    """G was found to be larger than was thought."""


METHOD = Method(
    name="composed",
    sentence="composing privacy losses by line integrals, and proving δ(ε) ≤ δ_μ(ε) on cells that "
    "cover the range, in ball arithmetic",
    assurance=PROVED,
    handles=frozenset({Form.COMPOSED}),
    solve=solve,
    unfit="nothing has to be composed numerically",
)
