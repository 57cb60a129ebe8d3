"""Curves above δ of a composed loss, in pieces: lines, Chernoff's bound, or chords."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import ProvedPiece
from gdpbridge.gaussian.kernels import log1mexp, mu_from_logs
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line import Kind, Line
from gdpbridge.numeric.arrays import Floats, Mask
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["LOOKS", "Piece", "needed_mu", "piece_at", "pieces_on", "refined"]

# where on a piece G is looked at
LOOKS = 17
# and of what it hides, more closely
_CLOSER = 65
# log of a δ that is so near 1 that floats do not tell 1 - δ from it
_NEAR_ONE = math.log1p(-1e-3)


@dataclass(frozen=True)
class Piece:
    """A curve above δ in one direction, on a range.

    Attributes:
        start: where it begins.
        stop: where it ends.
        direction: which direction, at the digits of the line.
        line: the line, or None.
        tilt: then the tilt of Chernoff's bound, or None.
        level: then a number that δ has fallen to where it begins.
        chord: where a chord of 1 - δ from e^ε = 0 ends in the bound of either, or None.
    """

    start: Fraction
    stop: Fraction
    direction: Direction
    line: Line | None = None
    tilt: Fraction | None = None
    level: arb | None = None
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
        if self.level is not None:
            # δ falls
            return self.level
        assert self.tilt is not None
        moments = self.direction.moments
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
        if self.is_line:
            assert self.line is not None
            found = self.direction.glanced(self.line, points)
            if found is not None and (found < _NEAR_ONE).all():
                rest = log1mexp(found)
                return (rest, found) if self.complement else (found, rest)
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


def refined(
    pieces: list[Piece],
    fine: Direction,
    hidden: Callable[[Piece, Floats], Mask],
    eps: Fraction | None = None,
) -> list[Piece]:
    """Return pieces with lines of all digits where coarse ones do not show enough, or about an ε.

    Args:
        pieces: the pieces, which cover a range.
        fine: the direction, to all digits.
        hidden: whether a piece does not show enough, at some ε.
        eps: an ε.
    """
    found: list[Piece] = []
    for piece in pieces:
        if not piece.is_line or piece.direction is fine:
            found.append(piece)
            continue
        where = _bad(piece, (piece.start, piece.stop), LOOKS, hidden, eps)
        if where is None:
            found.append(piece)
            continue
        # more closely, as lines of all digits may be dear: many discs, each of many nodes
        low, high = _bad(piece, where, _CLOSER, hidden, eps) or where
        if low > piece.start:
            found.append(replace(piece, stop=low))
        found += pieces_on(fine, low, high)
        if high < piece.stop:
            found.append(replace(piece, start=high))
    return found


def _bad(
    piece: Piece,
    ends: tuple[Fraction, Fraction],
    looks: int,
    hidden: Callable[[Piece, Floats], Mask],
    eps: Fraction | None,
) -> tuple[Fraction, Fraction] | None:
    """Return ends of what a line does not show, or of what is about an ε, by so many looks."""
    points = np.linspace(float(ends[0]), float(ends[1]), looks)
    bad = hidden(piece, points)
    if eps is not None and ends[0] <= eps <= ends[1]:
        bad[int(np.abs(points - float(eps)).argmin())] = True
    where = np.flatnonzero(bad)
    if not where.size:
        return None
    first, last = int(where[0]) - 1, int(where[-1]) + 1
    low = Fraction(float(points[first])) if first > 0 else ends[0]
    high = Fraction(float(points[last])) if last < looks - 1 else ends[1]
    return low, high


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


def _log(value: arb) -> float:
    """Return a logarithm in floats, not a number where there is none."""
    return float(value.log().mid()) if certainly(value > 0) else math.nan
