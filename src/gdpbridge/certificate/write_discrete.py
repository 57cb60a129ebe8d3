"""Write the certificate of discrete losses: tilts for their law, and a cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.binaries import binary_text, is_binary
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Curve
from gdpbridge.errors import UndecidedError
from gdpbridge.losses.transforms.base import short
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.document import Cell, Direction
from gdpbridge_verify.evidence import CurvePiece
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import OutOfWork
from gdpbridge_verify.sampled import losses_of

__all__ = ["above", "plain_laws", "tilts", "with_laws"]

# a law under another tilt is made where log δ is so far off
_FALL = 40.0
# places at which log δ is looked at
_LOOKS = 512
# by which mu.high may be above what was measured
_WIDER = tuple(map(Fraction, ("0", "1e-8", "1e-5", "1e-3", "5e-3")))
# so many cells are more than the checker will do
_MANY = 3500
# by how many powers of 2 a tail may begin sooner
_SOONER = 12
_BITS = 128
# by which cells may end later than in the search
_FURTHER = tuple(map(Fraction, ("0", "1e-12", "1e-8", "1e-4", "1e-2", "1")))
# to whole multiples of its inverse the end is rounded up
_FINE = 1 << 64


def plain_laws(bare: Certificate) -> tuple[Direction, ...]:
    """Return directions of discrete losses by their law as it is, without a tilt."""
    zero = binary_text(Fraction(0))
    one = Direction(pieces=(CurvePiece(start=zero, tilt=zero),), cells=())
    symmetric = all(part.symmetric for part in composition_of(losses_of(bare.mechanism)).parts)
    return (one,) if symmetric else (one, one)


def with_laws(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Return a certificate with the laws of discrete losses and a cell proved by them.

    Args:
        bare: the certificate without them.
        proof: what the search left behind.
        profile: the mechanism.

    Raises:
        UndecidedError: if the checker cannot be convinced of the upper or the lower end.
        OutOfWork: if it would be more work than the checker allows.
    """
    parts = composition_of(losses_of(bare.mechanism)).parts
    directions = 1 if all(part.symmetric for part in parts) else 2
    pieces = tuple(
        CurvePiece(start=binary_text(start), tilt=binary_text(tilt))
        for start, tilt in tilts(profile.curve, proof.cells[:: 1 + len(proof.cells) // _LOOKS])
    )
    # the checker parts it at the losses, which it knows
    cells = [
        Cell(low=binary_text(Fraction(0)), high=binary_text(_ended(one.high, bare)), centre=None)
        for one in proof.cells[-1:]
    ]
    empty = Direction(pieces=pieces, cells=())
    # where δ is close to the Gaussian curve over many losses, a little more takes fewer parts
    for wider in _WIDER if len(proof.cells) < _MANY else _WIDER[-2:]:
        claim = bare.claim
        high = above(claim.mu.high, wider)
        tried = replace(bare, claim=replace(claim, mu=replace(claim.mu, high=high)))
        ends = cells
        if wider and proof.tail_from is not None:
            tried, ends = _sooner(_with(tried, [empty] * directions), proof.tail_from, cells)
        try:
            return _covered(tried, empty, ends, directions)
        except OutOfWork:
            continue
    raise OutOfWork


def _sooner(
    bare: Certificate, start: Fraction, cells: list[Cell]
) -> tuple[Certificate, list[Cell]]:
    """Let the tail be the proof from where it can be, and cells end there."""
    checker = CellChecker(bare)
    for share in range(_SOONER, 0, -1):
        at = start / (1 << share)
        if is_binary(at) and checker.proves_tail(at):
            evidence = replace(bare.evidence, tail_from=binary_text(at))
            return replace(bare, evidence=evidence), [replace(cells[-1], high=binary_text(at))]
    return bare, cells


def _covered(
    bare: Certificate, empty: Direction, cells: Sequence[Cell], directions: int
) -> Certificate:
    """Return the certificate with its cells.

    Raises:
        UndecidedError: if the checker cannot be convinced of the upper or the lower end.
        OutOfWork: if it would be more work than the checker allows.
    """
    checker = CellChecker(_with(bare, [empty] * directions))
    if not all(checker.proves(cell, number) for number in range(directions) for cell in cells):
        raise UndecidedError("the upper end could not be certified")
    found = [replace(empty, cells=_far_enough(checker, cells, one)) for one in range(directions)]
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return _with(bare, found)


def _far_enough(checker: CellChecker, cells: Sequence[Cell], direction: int) -> tuple[Cell, ...]:
    """Return cells to where no more are needed: δ of the checker may fall to p a little later.

    Raises:
        UndecidedError: if the checker cannot be convinced.
        OutOfWork: if it would be more work than the checker allows.
    """
    if not cells:
        return ()
    end: Fraction = binary(cells[-1].high)
    for further in _FURTHER:
        beyond = Fraction(math.ceil(end * (1 + further) * _FINE), _FINE) if further else end
        if checker.proves_beyond(beyond, direction):
            break
    else:
        raise UndecidedError("where the cells end could not be certified")
    if beyond == end:
        return tuple(cells)
    more = Cell(low=cells[-1].high, high=binary_text(beyond), centre=None)
    if not checker.proves(more, direction):
        raise UndecidedError("the upper end could not be certified")
    return (*cells, more)


def above(text: str, wider: Fraction) -> str:
    """Return a number that is so much larger, with as many decimals."""
    if text == "inf" or not wider:
        return text
    scale = 10 ** len(text.partition(".")[2])
    return decimal_text(Fraction(math.ceil(Fraction(text) * (1 + wider) * scale), scale))


def _ended(high: Fraction, bare: Certificate) -> Fraction:
    """Return an end that is past the largest loss at any precision, if that is where cells end."""
    if bare.claim.statement == "head":
        return high
    return Fraction(math.ceil(high * _FINE), _FINE)


def _with(bare: Certificate, directions: Sequence[Direction]) -> Certificate:
    return replace(bare, evidence=replace(bare.evidence, directions=tuple(directions)))


def tilts(curve: Curve, cells: Sequence[ProvedCell]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield where a law under a tilt begins to serve, and the tilt: about -(log δ)'.

    Args:
        curve: δ.
        cells: adjacent ranges, at whose lower ends it is looked at.
    """
    yield Fraction(0), Fraction(0)
    with precision(_BITS):
        logs = np.array([_log(curve, one.low) for one in cells])
    at = np.array([float(one.low) for one in cells])
    first = int(np.searchsorted(-logs, _FALL - logs[0])) if cells else 0
    while first < len(cells) - 1:
        last = first + 1
        slope = (logs[first] - logs[last]) / (at[last] - at[first])
        for further in range(last + 1, len(cells)):
            # log δ is concave, and a tilt serves where it is not far above its chord
            wider = (logs[first] - logs[further]) / (at[further] - at[first])
            between = slice(first, further)
            if (logs[between] - logs[first] + wider * (at[between] - at[first])).max() > _FALL:
                break
            last, slope = further, wider
        yield cells[first].low, short(float(slope))
        first = last


def _log(curve: Curve, at: Fraction) -> float:
    found = curve.enclose(ball(at)).log()
    return float(found.mid()) if certainly(found > arb.neg_inf()) else 0.0
