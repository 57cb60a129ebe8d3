"""Prove δ ≤ p + (1 - p)·δ_μ on the range of a line, by polynomials.

What a line puts above δ is an entire function, and so is the right side: on a disc the difference,
times e^{λε} with the line's tilt λ, is a polynomial and a rest (numeric/discs.py). A polynomial is
positive on [-1, 1] if its Bernstein coefficients are, as it is a mean of them at each place. Where
it nearly touches 0 it is bent upward, and there another test goes past that place: of the terms of
order 0 to 2, with all others by their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, arb_mat, arb_poly, fmpz, fmpz_mat, fmpz_poly

from gdpbridge.gaussian.expansion import expansion_of
from gdpbridge.gaussian.kernels import log_pair
from gdpbridge.losses.line import Kind, Line
from gdpbridge.losses.transforms.base import short
from gdpbridge.measure.pieces import Piece
from gdpbridge.measure.tangents import Tangents
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.discs import Disc
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["proved_about", "proved_on"]

# discs tried are so many times as small as the one before, and bounded so many steps further out
_RATIO = 0.75
_SIZES, _NEAREST, _FARTHEST = 14, 2, 10
_SHRUNK: Floats = _RATIO ** np.arange(_SIZES, dtype=np.float64)
_LOG_GROWTHS = -math.log(_RATIO) * np.arange(_FARTHEST, _NEAREST - 1, -1.0)
_GROWTHS = np.exp(_LOG_GROWTHS)
# terms of a polynomial: some, and a share of log of what a line's terms are above its error
_TERMS, _TERMS_EACH = 20, 1.0
# to multiples of what the terms of a table are rounded, so that it serves other discs
_ROUND = 16
# bits that a polynomial's terms may cancel, besides those of the line
_SPARE_BITS = 48
# [-1, 1]
_UNIT = arb(0, 1)
# log of how far the error that a line is made for is above what its balls hide
_LOG_HIDDEN = math.log(16)
# log of the share of what is to spare that a rest may take
_SHARE = math.log(0.03)
# nodes from which discs may take more than cells, how many of these there may be, and what one
# takes beside a term of a disc
_MANY_NODES, _MOST_CELLS, _CELL_TERMS = 512, 32, 20
# in how many parts a disc is cut at most, and how often in a row it may fail
_PARTS, _FAILURES = 64, 2
# what a part takes, in units of numeric/effort.py
_PART = 2_000
# ends of parts are multiples of one over it, so that floats hold them and their middles
_GRID = 2**40
# half of the part about a place where both sides nearly touch, and of one about another least place
_ABOUT, _AROUND = 0.125, 0.25
# half of a part that is not cut any more: far more than the grid's step
_SHORTEST = 2.0**-30
# a radius that is no more than 0 in floats
_LEAST = 1e-300


def proved_on(
    claim: Tangents, piece: Piece, start: Fraction, stop: Fraction
) -> Iterator[tuple[Fraction, int]]:
    """Yield ends of proved ranges from ``start`` towards ``stop``, and in how many parts each is.

    It ends early where discs that are worth while do not prove it.

    Args:
        claim: the right side.
        piece: the left side; it has a line.
        start: where to begin.
        stop: where to end, on either side.
    """
    if not piece.is_line:
        return
    at, sign = start, 1 if stop > start else -1
    most, failures = math.inf, 0
    while at != stop and failures <= _FAILURES:
        # no less than there is: floats of both may be the same
        room = min(math.nextafter(float(abs(stop - at)), math.inf), most)
        ends = float(at) + sign * room * _SHRUNK
        found = _fitting(claim, piece, np.full(_SIZES, float(at)), ends)
        if found is None:
            return
        # rounded up, so that the last one reaches the end
        step = short(room * float(_SHRUNK[found[0]]), up=True)
        if _takes_more_than_cells(piece.line, room / float(step)):
            return
        after = stop if step >= abs(stop - at) else at + sign * step
        parts = _parts(claim, piece, (at, after), found[1], _edges())
        if parts:
            at, most, failures = after, math.inf, 0
            yield at, parts
        else:
            most, failures = float(abs(after - at)) / 2, failures + 1


def proved_about(claim: Tangents, piece: Piece, at: Fraction) -> tuple[Fraction, Fraction, int]:
    """Return a range about a place at which both sides nearly touch, and in how many parts.

    The range is empty, and in none, where no disc about it proves it.
    """
    if not piece.is_line or not piece.start < at < piece.stop:
        return at, at, 0
    room = float(max(at - piece.start, piece.stop - at))
    lows = np.maximum(float(at) - room * _SHRUNK, float(piece.start))
    highs = np.minimum(float(at) + room * _SHRUNK, float(piece.stop))
    found = _fitting(claim, piece, lows, highs)
    if found is None:
        return at, at, 0
    step = short(room * float(_SHRUNK[found[0]]), up=True)
    low, high = max(at - step, piece.start), min(at + step, piece.stop)
    there = float((2 * at - low - high) / (high - low))
    parts = _parts(claim, piece, (low, high), found[1], _edges(there - _ABOUT, there + _ABOUT))
    return (low, high, parts) if parts else (at, at, 0)


def _parts(
    claim: Tangents,
    piece: Piece,
    ends: tuple[Fraction, Fraction],
    growth: float,
    edges: tuple[float, ...],
) -> int:
    """Return in how many parts a disc between two places is proved, 0 if it is not.

    Args:
        claim: the right side.
        piece: the left side.
        ends: the two places.
        growth: ρ of the disc.
        edges: where the parts of [-1, 1] that are tried first begin and end.
    """
    assert piece.line is not None
    bits, tilt = piece.line.bits + _SPARE_BITS, piece.line.tilt
    with precision(max(bits, working_precision())):
        middle, radius = (ends[0] + ends[1]) / 2, abs(ends[1] - ends[0]) / 2
        disc = Disc(ball(middle), ball(radius), arb(growth), _terms(piece.line))
        side = piece.direction.side_on(piece.line, disc)
        right = expansion_of(disc, claim.mu, ball(tilt), complement=piece.complement)
        right = right.scaled(claim.kept)
        if piece.complement:
            spare = side - right
        elif claim.p.is_zero():
            spare = right - side
        else:
            spare = right + disc.exponential(ball(tilt)).scaled(claim.p) - side
        rest = disc.rest(spare.modulus)
        waiting, proved = list(pairwise(edges)), 0
        while waiting:
            first, last = waiting.pop()
            # exact, as both are multiples of 1/_GRID
            centre, half = (first + last) / 2, (last - first) / 2
            moved = spare.terms if half == 1 else spare.terms(arb_poly([centre, half]))
            claim.evaluations += 1
            spend(_PART)
            if certainly(_least(moved) > rest) or _is_above(moved, rest):
                proved += 1
                continue
            hopeless = half < _SHORTEST or not certainly(moved[0] > rest)
            if hopeless or proved + len(waiting) > _PARTS:
                return 0
            slope, bend = float(moved[1].mid()), float(moved[2].mid())
            cuts = [centre]
            if abs(slope) < bend:
                # it is least inside: one part about that place
                least = centre - half * slope / (2 * bend)
                cuts = [least - half * _AROUND, least + half * _AROUND]
            waiting += pairwise(_edges(*cuts, first=first, last=last))
    return proved


def _edges(*cuts: float, first: float = -1.0, last: float = 1.0) -> tuple[float, ...]:
    """Return where parts of a range begin and end that is cut at some places."""
    rounded = sorted({round(cut * _GRID) / _GRID for cut in cuts})
    return (first, *(cut for cut in rounded if first < cut < last), last)


def _least(polynomial: arb_poly) -> arb:
    """Bound a polynomial on [-1, 1] from below."""
    value, slope, bend = polynomial[0], polynomial[1], polynomial[2]
    high = arb(polynomial.right_shift(3)(_UNIT).abs_upper())
    kept = bend - high
    if certainly(2 * kept > abs(slope)):
        # the least is inside
        return (value - slope * slope / (4 * kept)).lower()
    return (value - abs(slope) + kept.min(arb(0))).lower()


def _is_above(polynomial: arb_poly, value: arb) -> bool:
    """Whether all of a polynomial's Bernstein coefficients on [-1, 1] are above a number."""
    terms = polynomial.coeffs()
    # of 0, which has no terms, as well
    count = -(-max(len(terms), 1) // _ROUND) * _ROUND
    table, shares = _bernstein(count)
    scaled = [term / share for term, share in zip(terms, shares, strict=False)]
    found = table * arb_mat(count, 1, scaled + [arb(0)] * (count - len(terms)))
    return all(certainly(one > value) for one in found.entries())


@lru_cache(maxsize=32)
def _bernstein(count: int) -> tuple[arb_mat, list[fmpz]]:
    """Return Bernstein coefficients of each x^i on [-1, 1] times C(n, i), in column i, and C(n, i).

    With n = count - 1, and as many of n places at 1 as the row says, and the others at -1, it is
    the sum of all products of i of them: the term of z^i in (1 + z)^k·(1 - z)^{n-k}. They are whole
    numbers, and none is rounded.
    """
    up, down = fmpz_poly([1, 1]), fmpz_poly([1, -1])
    rows = [down ** (count - 1)]
    while len(rows) < count:
        rows.append(rows[-1] * up // down)
    table = fmpz_mat(count, count, [term for row in rows for term in row.coeffs()])
    return arb_mat(table), (up ** (count - 1)).coeffs()


def _takes_more_than_cells(line: Line | None, discs: float) -> bool:
    """Whether so many discs take more than cells between tangents, of which some dozens do."""
    assert line is not None
    # a disc takes all terms at each node, and a cell one polynomial or two
    share: float = _terms(line) / (_MOST_CELLS * _CELL_TERMS)
    return line.choice.count >= _MANY_NODES and discs * share > 1


def _terms(line: Line) -> int:
    return _TERMS + int(_TERMS_EACH * line.depth)


def _fitting(
    claim: Tangents, piece: Piece, first: Floats, last: Floats
) -> tuple[int, float] | None:
    """Return which of some discs is the first that fits, and how far out to bound it, by floats.

    Args:
        claim: the right side.
        piece: the left side.
        first: where the discs begin, or end.
        last: their other ends.
    """
    line = piece.line
    assert line is not None
    tilt, mu = float(line.tilt), float(claim.mu)
    middles, radii = (first + last)[:, None] / 2, np.abs(last - first)[:, None] / 2
    reaches = radii * _GROWTHS
    # e^{λε} times δ_μ, and p, and what a line that is a put adds
    edges = middles + (reaches if piece.complement else -reaches)
    x = (edges / mu - mu / 2) * (-1 if piece.complement else 1)
    risen = tilt * middles + abs(tilt) * reaches
    curve = risen - np.maximum(x, 0.0) ** 2 / 2
    if tilt > (-1 if piece.complement else 0):
        curve = np.minimum(curve, mu * mu * tilt * (1 + tilt) / 2)
    curve += (reaches / mu) ** 2 / 2
    added = 0.0 if line.kind is Kind.PUT else _log(float(claim.p))
    size = np.maximum(np.maximum(curve, risen + added), _log_sums(line, reaches))
    spares = [_log_spare(claim, piece, one) + tilt * one for one in (first, last)]
    spare = np.minimum(*spares) + _SHARE
    rests = size + math.log(2) - _terms(line) * _LOG_GROWTHS
    lost = _log_sums(line, radii[:, 0]) - line.depth - _LOG_HIDDEN
    fits = (rests.min(axis=1) <= spare) & (lost <= spare)
    if not fits.any():
        return None
    index = int(fits.argmax())
    return index, float(_GROWTHS[rests[index].argmin()])


def _log_spare(claim: Tangents, piece: Piece, eps: Floats) -> Floats:
    """Return log of how far apart both sides are at least, as is thought, in floats."""
    mu, margin = float(claim.mu), math.log(claim.margin)
    x = eps / mu - mu / 2
    found = margin - x**2 / 2
    # a line of few digits serves where there is that much; δ_μ is at most about μφ or 1
    digits = math.log(10) * (1 - piece.direction.digits)
    if digits + math.log(max(mu, 1.0)) < margin:
        return np.asarray(found)
    value = log_pair(eps, np.full(eps.shape, mu))[int(piece.complement)]
    return np.maximum(found, value + digits)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_sums(line: Line, reaches: Floats) -> Floats:
    """Return log of the sum of the terms' moduli on discs, in floats: a chord lies above it."""
    places, logs = line.glance.log_sums
    return np.interp(np.log(np.maximum(reaches, _LEAST)), places, logs)
