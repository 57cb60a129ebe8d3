"""Curves above δ of a composed loss, in pieces: lines, Chernoff's bound, or chords."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, arb_series

from gdpbridge.certificate.proof import ProvedPiece
from gdpbridge.curves.pieces import Formula
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.kernels import log1mexp, mu_from_logs
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind, Line
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import SERIES, Probability, ball

__all__ = ["LOOKS", "Piece", "climbed", "needed_mu", "piece_at", "pieces_on"]

# where on a piece G is looked at
LOOKS = 17
_CLIMB_STEPS = 40
_LOG_HALF = -math.log(2.0)


@dataclass(frozen=True)
class Piece:
    """A curve above δ in one direction, on a range.

    Attributes:
        start: where it begins.
        stop: where it ends.
        direction: which direction, at the digits of the line.
        line: the line, or None.
        tilt: then the tilt of Chernoff's bound; 0 for the total variation distance.
        chord: where a chord of 1 - δ from e^ε = 0 ends in the bound of either, or None.
    """

    start: Fraction
    stop: Fraction
    direction: Direction
    line: Line | None = None
    tilt: Fraction | None = None
    chord: Fraction | None = None

    @property
    def is_line(self) -> bool:
        """Whether it is a line, all along."""
        return self.line is not None and self.chord is None

    @property
    def complement(self) -> bool:
        """Whether it bounds 1 - δ from below."""
        return self.chord is not None or (self.line is not None and self.line.kind is Kind.REST)

    def at(self, eps: arb) -> arb:
        """Bound δ from above, or 1 - δ from below."""
        if self.chord is not None:
            # 1 - δ is concave in e^ε, and not below 0 at e^ε = 0
            return (self.last * (eps - ball(self.chord)).exp()).lower()
        if self.line is not None:
            side = self.direction.upper_complement if self.complement else self.direction.upper
            value: arb = side(self.line, eps)
            return value.lower() if self.complement else value.upper()
        assert self.tilt is not None
        moments = self.direction.moments
        if self.tilt == 0:
            # δ falls from what it is at 0
            return moments.distance().upper()
        return (moments.chernoff(self.tilt, eps) + moments.failure()).upper()

    @cached_property
    def last(self) -> arb:
        """A lower bound of 1 - δ at the end of the chord."""
        assert self.chord is not None
        whole = replace(self, chord=None)
        with precision(max(self.direction.bits, self.line.bits if self.line else 0)):
            found = whole.at(ball(self.chord))
            return (found if whole.complement else (1 - found).lower()).max(arb(0))

    def logs(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log δ and log(1 - δ) in floats; not a number where the bound says nothing."""
        with precision(self.direction.bits):
            values = np.array([_log(self.at(arb(one))) for one in points.tolist()])
        with np.errstate(invalid="ignore"):
            other = log1mexp(values)
        return (other, values) if self.complement else (values, other)

    @property
    def points(self) -> Floats:
        """Some ε of the range."""
        return np.linspace(float(self.start), float(self.stop), LOOKS)

    def evidence(self) -> ProvedPiece:
        """Return what it rests on."""
        line = None if self.line is None else self.line.evidence
        return ProvedPiece(self.start, line, self.tilt, self.chord)


def pieces_on(direction: Direction, low: Fraction, high: Fraction) -> list[Piece]:
    """Return lines that cover a range."""
    return [
        Piece(stretch.start, stretch.stop, direction, stretch.line)
        for stretch in direction.cover(low, high)
    ]


def piece_at(pieces: list[Piece], eps: Fraction) -> Piece:
    """Return the piece that holds an ε."""
    return next((piece for piece in pieces if eps < piece.stop), pieces[-1])


def needed_mu(points: Floats, log: Floats, rest: Floats, p: float) -> Floats:
    """Return G past p of log δ and log(1 - δ); 0 where δ ≤ p, infinity where nothing is known.

    A coarse bound of δ may be above 1.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if p:
            log = log + log1mexp(np.minimum(math.log(p) - log, 0.0)) - math.log1p(-p)
            rest = np.minimum(rest - math.log1p(-p), 0.0)
        value = mu_from_logs(points, np.nan_to_num(np.fmin(log, 0.0), nan=-np.inf), rest)
    # δ may be a float of 1 while 1 - δ is known
    unknown = (log >= 0) & ~(rest > -np.inf)
    return np.where(unknown, np.inf, np.nan_to_num(value, nan=0.0))


def climbed(piece: Piece, formula: Formula, start: Fraction, near: float) -> Fraction:
    """Return where G is largest about an ε on a piece, by Newton's method in a bracket.

    Args:
        piece: the range.
        formula: δ past p on it.
        start: the ε.
        near: how close is close enough; an end of the piece that is as close is returned itself.
    """
    low, high = piece.start, piece.stop
    grid = 2 ** math.ceil(1 - math.log2(near))
    known = point = start
    mu: arb | None = None
    for _ in range(_CLIMB_STEPS):
        value = formula(arb_series([ball(point), 1], 3), SERIES)
        slope, bend, mu = _rise(ball(point), value, mu)
        if math.isfinite(slope) and math.isfinite(bend):
            known = point
        elif point > known:
            # δ has fallen to p, and G to 0
            slope, bend = -1.0, 0.0
        else:
            break
        low, high = (point, high) if slope > 0 else (low, point)
        if high - low <= near:
            break
        after = point - Fraction(slope / bend) if bend < 0 else high
        if not low < after < high:
            after = (low + high) / 2
        after = Fraction(round(after * grid), grid)
        if abs(after - point) < near or not low < after < high:
            break
        point = after
    return next((end for end in (piece.start, piece.stop) if abs(known - end) <= 2 * near), known)


def _rise(eps: arb, value: Probability, near: arb | None) -> tuple[float, float, arb | None]:
    """Return the first derivatives of G at an ε, up to a positive factor, and about G there.

    ``near`` is G at an ε near it, if it is known.
    """
    logs, rests = value.log(), value.log_complement()
    try:
        mu = gaussian.about_mu(eps, Probability(lambda: logs[0], lambda: rests[0]), near)
    except UndecidedError:
        return math.nan, math.nan, None
    if certainly(logs[0] > _LOG_HALF):
        off = rests - gaussian.log_delta_complement_series(eps, eps, mu)
    else:
        off = gaussian.log_delta_series(eps, eps, mu) - logs
    return -float(off[1].mid()), -2 * float(off[2].mid()), mu


def _log(value: arb) -> float:
    """Return a logarithm in floats, not a number where there is none."""
    return float(value.log().mid()) if certainly(value > 0) else math.nan
