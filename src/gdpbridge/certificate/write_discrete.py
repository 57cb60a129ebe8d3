"""Write the certificate of discrete losses: tilts for their law, and cells that are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb

from gdpbridge.certificate.binaries import binary_text, shortened
from gdpbridge.certificate.cells import accepted
from gdpbridge.certificate.checker.check import CellChecker
from gdpbridge.certificate.checker.composition import composition_of
from gdpbridge.certificate.checker.numbers import binary
from gdpbridge.certificate.model import Cell, Certificate, CurvePiece, Direction
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Curve
from gdpbridge.errors import UndecidedError
from gdpbridge.losses.transforms.base import short
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["with_laws"]

# a law under another tilt is made where δ has fallen by so much, on a logarithmic scale
_FALL = 60.0
_BITS = 128
# of the ends of cells
_FEW_BITS = 20, 36, 64


def with_laws(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Return a certificate with the laws of discrete losses and the cells proved by them.

    Args:
        bare: the certificate without them.
        proof: what the search left behind.
        profile: the mechanism.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell, or of the lower end.
    """
    parts = composition_of(bare.mechanism).parts
    directions = 1 if all(part.symmetric for part in parts) else 2
    pieces = tuple(
        CurvePiece(start=binary_text(start), tilt=binary_text(tilt))
        for start, tilt in _tilts(profile.curve, proof.cells)
    )
    empty = Direction(pieces=pieces, cells=())
    checker = CellChecker(_with(bare, [empty] * directions))
    found = [
        empty.model_copy(update={"cells": tuple(_cells(checker, proof, number))})
        for number in range(directions)
    ]
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return _with(bare, found)


def _cells(checker: CellChecker, proof: Proof, direction: int) -> Iterator[Cell]:
    """Yield cells with ends of few bits where these will do."""
    reached, last = Fraction(0), proof.cells[-1:]
    for one in proof.cells:
        tried = [_rounded(one, reached, bits, is_last=one in last) for bits in (*_FEW_BITS, 0)]
        for cell in tried:
            if cell is not None and checker.proves(cell, direction):
                yield cell
                reached = binary(cell.high)
                break
        else:
            whole = ProvedCell(reached, one.high, one.centre)
            yield from accepted(checker, whole, direction=direction)
            reached = one.high


def _rounded(one: ProvedCell, low: Fraction, bits: int, *, is_last: bool) -> Cell | None:
    """Return a cell from where the last one ended on, with a high end and a centre of few bits."""
    assert one.centre is not None
    high, centre = one.high, one.centre
    if bits:
        high = high if is_last else shortened(high, bits)
        centre = shortened(centre, bits)
    if high <= low:
        return None
    centre = min(max(centre, low), high)
    return Cell(low=binary_text(low), high=binary_text(high), centre=binary_text(centre))


def _with(bare: Certificate, directions: Sequence[Direction]) -> Certificate:
    update = {"directions": tuple(directions)}
    return bare.model_copy(update={"evidence": bare.evidence.model_copy(update=update)})


def _tilts(curve: Curve, cells: Sequence[ProvedCell]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield where a law under a tilt begins to serve, and the tilt: about -(log δ)'."""
    yield Fraction(0), Fraction(0)
    with precision(_BITS):
        logs = [(one.low, _log(curve, one.low)) for one in cells]
    last = logs[0] if logs else (Fraction(0), 0.0)
    for at, log in logs:
        if log < last[1] - _FALL:
            yield at, short((last[1] - log) / float(at - last[0]))
            last = at, log


def _log(curve: Curve, at: Fraction) -> float:
    found = curve.enclose(ball(at)).log()
    return float(found.mid()) if certainly(found > arb.neg_inf()) else 0.0
