"""Prove δ ≤ p + (1 - p)·δ_μ on the range of a line, by polynomials.

What a line puts above δ is an entire function, and so is the right side: on a disc the difference
is a polynomial and a rest (numeric/discs.py). Of a polynomial on a part of the disc, moved and
scaled to |x| ≤ 1, the terms of order 0 to 2 tell whether it is positive, with all others by their
size: where it nearly touches 0 it is bent upward, and one part goes past that place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb, arb_poly

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

__all__ = ["proved_on"]

# discs tried are so many times as small as the one before, and bounded so many steps further out
_RATIO = 0.75
_SIZES, _FARTHEST = 14, 10
# terms of a polynomial: some, and a share of log of what a line's terms are above its error
_TERMS, _TERMS_EACH = 10, 0.7
# bits that a polynomial's terms may cancel, besides those of the line
_SPARE_BITS = 48
# [-1, 1]
_UNIT = arb(0, 1)
_REACHES = np.arange(_SIZES)[:, None] + np.arange(_FARTHEST - 1)
_LOG_GROWTHS = -math.log(_RATIO) * np.arange(_FARTHEST, 1.0, -1.0)
# log of how far the error that a line is made for is above what its balls hide
_LOG_HIDDEN = math.log(16)
# log of the share of what is to spare that a rest may take
_SHARE = math.log(0.03)
# in how many parts a disc is cut at most, and how often in a row it may fail
_PARTS, _FAILURES = 64, 2
# what a part takes, in units of numeric/effort.py
_PART = 2_000


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
        room = sign * min(math.nextafter(float(abs(stop - at)), math.inf), most) / 2
        found = _width(claim, piece, float(at), room)
        if found is None:
            return
        # rounded up, so that the last one reaches the end
        step = short(found[0], up=True)
        after = stop if step >= abs(stop - at) else at + sign * step
        parts = _parts(claim, piece, (at + after) / 2, abs(after - at) / 2, found[1])
        if parts:
            at, most, failures = after, math.inf, 0
            yield at, parts
        else:
            most, failures = float(abs(after - at)) / 2, failures + 1


def _parts(claim: Tangents, piece: Piece, middle: Fraction, radius: Fraction, growth: float) -> int:
    """Return in how many parts a disc is proved, 0 if it is not."""
    assert piece.line is not None
    count = _terms(piece.line)
    bits = piece.line.bits + _SPARE_BITS
    with precision(max(bits, working_precision())):
        disc = Disc(ball(middle), ball(radius), arb(growth), count)
        side = piece.direction.side_on(piece.line, disc)
        right = expansion_of(disc, claim.mu, complement=piece.complement).scaled(claim.kept)
        whole = right + disc.constant(claim.p)
        spare = side - right if piece.complement else whole - side
        rest = disc.rest(spare.modulus)
        waiting, proved = [(0.5, 0.5), (-0.5, 0.5)], 0
        while waiting:
            centre, half = waiting.pop()
            moved = spare.terms(arb_poly([centre, half]))
            claim.evaluations += 1
            spend(_PART)
            if certainly(_least(moved) > rest):
                proved += 1
            elif proved + len(waiting) > _PARTS or not certainly(moved(arb(0)) > rest):
                return 0
            else:
                waiting += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
    return proved


def _least(polynomial: arb_poly) -> arb:
    """Bound a polynomial on [-1, 1] from below."""
    value, slope, bend = polynomial[0], polynomial[1], polynomial[2]
    high = arb(polynomial.right_shift(3)(_UNIT).abs_upper())
    kept = bend - high
    if certainly(2 * kept > abs(slope)):
        # the least is inside
        return (value - slope * slope / (4 * kept)).lower()
    return (value - abs(slope) + kept.min(arb(0))).lower()


def _terms(line: Line) -> int:
    return _TERMS + int(_TERMS_EACH * line.depth)


def _width(claim: Tangents, piece: Piece, at: float, room: float) -> tuple[float, float] | None:
    """Return how wide the next disc may be, and how far out to bound it, by floats.

    ``room`` is the largest radius, below 0 where the disc is to the left.
    """
    line = piece.line
    assert line is not None
    # all radii and reaches are room·_RATIO^k
    places: Floats = abs(room) * _RATIO ** np.arange(-_FARTHEST, _SIZES, dtype=np.float64)
    sums = _log_sums(line, places)
    radii = places[_FARTHEST:]
    middles: Floats = at + math.copysign(1.0, room) * radii
    reaches, mu = places[_REACHES], float(claim.mu)
    # of δ_μ, and of the line
    edges = middles[:, None] + (reaches if piece.complement else -reaches)
    x = (edges / mu - mu / 2) * (-1 if piece.complement else 1)
    curve = -(np.maximum(x, 0.0) ** 2) / 2 + (reaches / mu) ** 2 / 2
    size = np.maximum(curve, _log_size(line, middles[:, None], reaches, sums[_REACHES]))
    spares = _log_spare(claim, piece, np.append(2 * middles - at, at))
    spare = np.minimum(spares[:-1], spares[-1]) + _SHARE
    rest = (size + math.log(2) - _terms(line) * _LOG_GROWTHS).min(axis=1)
    lost = _log_size(line, middles, radii, sums[_FARTHEST:]) - line.depth - _LOG_HIDDEN
    fits = (rest <= spare) & (lost <= spare)
    if not fits.any():
        return None
    index = int(fits.argmax())
    best = (size[index] - _terms(line) * _LOG_GROWTHS).argmin()
    return 2 * float(radii[index]), float(np.exp(_LOG_GROWTHS[best]))


def _log_spare(claim: Tangents, piece: Piece, eps: Floats) -> Floats:
    """Return log of how far apart both sides are at least, as is thought, in floats."""
    mu, margin = float(claim.mu), math.log(claim.margin)
    found = margin - (eps / mu - mu / 2) ** 2 / 2
    # a line of few digits serves where there is that much; δ_μ is at most about μφ or 1
    digits = math.log(10) * (1 - piece.direction.digits)
    if digits + math.log(max(mu, 1.0)) < margin:
        return np.asarray(found)
    value = log_pair(eps, np.full(eps.shape, mu))[int(piece.complement)]
    return np.maximum(found, value + digits)


def _log_sums(line: Line, reaches: Floats) -> Floats:
    """Return log of the sum of the terms' moduli on discs, without e^{-cε}, in floats."""
    nodes = float(line.choice.h) * np.arange(line.log_sizes.size)
    exponents = line.log_sizes + np.outer(reaches, nodes)
    tops = exponents.max(axis=1)
    return np.asarray(tops + np.log(np.exp(exponents - tops[:, None]).sum(axis=1)))


def _log_size(line: Line, middles: Floats, reaches: Floats, sums: Floats) -> Floats:
    """Return log of the bound of a line's curve on discs, in floats."""
    c = float(line.choice.c)
    if line.kind is Kind.PUT:
        # e^ε is added, too
        return np.maximum(sums + (c + 1) * (middles + reaches), middles + reaches)
    return np.asarray(sums - c * middles + abs(c) * reaches)
