"""Write the certificate of discrete losses: tilts for their law, and cells that are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.binaries import binary_text, shortened
from gdpbridge.certificate.cells import accepted
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.base import Curve
from gdpbridge.errors import UndecidedError
from gdpbridge.losses.transforms.base import short
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.document import Cell, CurvePiece, Direction
from gdpbridge_verify.numbers import binary

__all__ = ["with_laws"]

# a law under another tilt is made where log δ is so far off
_FALL = 40.0
# so many make a certificate of 100 kB
_MOST_CELLS = 1200
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
    if directions * len(proof.cells) > _MOST_CELLS:
        raise UndecidedError("the certificate would be larger than 100 kB")
    pieces = tuple(
        CurvePiece(start=binary_text(start), tilt=binary_text(tilt))
        for start, tilt in _tilts(profile.curve, proof.cells)
    )
    empty = Direction(pieces=pieces, cells=())
    checker = CellChecker(_with(bare, [empty] * directions))
    found = [
        replace(empty, cells=tuple(_cells(checker, proof, number))) for number in range(directions)
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
    return replace(bare, evidence=replace(bare.evidence, directions=tuple(directions)))


def _tilts(curve: Curve, cells: Sequence[ProvedCell]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield where a law under a tilt begins to serve, and the tilt: about -(log δ)'."""
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
