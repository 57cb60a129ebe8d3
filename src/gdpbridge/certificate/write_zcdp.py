"""Write the certificate of ρ-zCDP: tangents above δ, and cells between them that are accepted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

from flint import arb

from gdpbridge.certificate.binaries import binary_below, binary_text
from gdpbridge.certificate.cells import require_far_enough
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.boundary import Boundary
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge_verify.document import Cell
from gdpbridge_verify.evidence import Tangent

__all__ = ["tangents_at", "with_head_of_runs", "with_tangents"]

_MAX_SPLITS = 40
# more than what is written, and that more than how close to its ε a tangent is taken
_GUARD_BITS, _MORE_BITS = 64, 32
# how far past p, relative to ε: beyond the error of its place
_PAST = Fraction(1, 2**60)


def with_tangents(bare: Certificate, proof: Proof, boundary: Boundary) -> Certificate:
    """Return a certificate with the tangents and cells that prove its claim.

    Args:
        bare: the certificate without them.
        proof: what the search left behind.
        boundary: the boundary of the region of events.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell.
        OutOfWork: if all of them are more work than it allows.
    """
    writer = _Writer(bare, boundary, proof.bits)
    cells = tuple(writer.cells(proof)) if proof.cells else ()
    places = {high for _, high, _ in cells}
    if bare.claim.eps_h is not None:
        scale = 2**proof.bits
        at = Fraction(math.floor(Fraction(bare.claim.eps_h) * scale), scale)
        first: Fraction = min(places)
        places |= {at} if at > first else set()
    found = tuple(_cell(*one) for one in cells)
    written = _with(bare, found, map(writer.tangent, sorted(places)))
    checker = CellChecker(written, beside=writer.checker)
    require_far_enough(checker, [found])
    if not checker.proves_ends():
        raise UndecidedError("an end could not be certified")
    return written


def with_head_of_runs(bare: Certificate, boundary: Boundary, bits: int) -> Certificate:
    """Return a certificate of runs whose ρ add up, with the tangent that bounds δ(ε_h) of a head.

    Up to it, and past a failure, their Gaussian curve is all of the proof.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    zero = binary_text(Fraction(0))
    bare = replace(bare, evidence=replace(bare.evidence, witness=zero, tail_from=None))
    if bare.claim.eps_h is not None:
        place = binary_below(Fraction(bare.claim.eps_h), bits)
        bare = _with(bare, (), tangents_at(bare, boundary, [place], bits))
    checker = CellChecker(bare)
    high: str = bare.claim.mu.high
    if not (checker.proves_ends() and (high == "inf" or checker.proves_upper())):
        raise UndecidedError("an end could not be certified")
    return bare


def tangents_at(
    bare: Certificate, boundary: Boundary, places: Iterable[Fraction], bits: int
) -> tuple[Tangent, ...]:
    """Return tangents that bound δ closely at some ε; up to a first one it is a chord."""
    writer = _Writer(bare, boundary, bits)
    return tuple(map(writer.tangent, sorted({max(one, writer.first) for one in places})))


_Range = tuple[Fraction, Fraction, Fraction]


class _Writer:
    """The tangents of one certificate."""

    def __init__(self, bare: Certificate, boundary: Boundary, bits: int) -> None:
        self.bare, self.boundary, self.bits = bare, boundary, bits
        self.tangent, self.checker = cache(self._tangent), CellChecker(bare)

    @property
    def first(self) -> Fraction:
        """Where randomized response ends."""
        with precision(self.bits):
            end: Fraction = to_fraction(self.boundary.pieces[1].bracket()[1])
        return end

    def cells(self, proof: Proof) -> Iterator[_Range]:
        """Yield cells with their centres: the first one to where randomized response ends."""
        first = self.first
        ends = [one.high for one in proof.cells if certainly(one.high > first)]
        if ends and self.bare.claim.statement == "approximate":
            ends[-1] *= 1 + _PAST
        for low, high in pairwise([Fraction(0), first, *ends]):
            yield from self._accepted(low, high)

    def _accepted(self, low: Fraction, high: Fraction, splits: int = 0) -> Iterator[_Range]:
        tangents = [self.tangent(end) for end in (low, high) if end]
        checker = CellChecker(_with(self.bare, (), tangents), beside=self.checker)
        middle = (low + high) / 2
        # randomized response touches at 0; where δ_μ falls steeply its tangent soon is below 0
        for centre in (middle, high) if low else (low,):
            if checker.proves(_cell(low, high, centre)):
                yield low, high, centre
                return
        if splits == _MAX_SPLITS or low == 0:
            raise UndecidedError(f"the cell at ε = {float(low):.12g} could not be certified")
        for left, right in ((low, middle), (middle, high)):
            yield from self._accepted(left, right, splits + 1)

    def _tangent(self, at: Fraction) -> Tangent:
        """Return the tangent of a slightly smaller ε, so that it holds at this one."""
        with precision(self.bits + _GUARD_BITS):
            event = self.boundary.event(ball(at * (1 - Fraction(1, 2**self.bits))).mid())
            inside = event.log_p() - event.log_q()
            # far out the difference is less than its rounding
            found = event.tilt, inside, (event.gap - inside).max(arb(0))
        with precision(self.bits + _MORE_BITS):
            tilt, inside, outside = (to_fraction((one + 0).mid()) for one in found)
        return Tangent(
            at=binary_text(at),
            order=binary_text(1 + tilt),
            inside=binary_text(inside),
            outside=binary_text(outside),
        )


def _cell(low: Fraction, high: Fraction, centre: Fraction) -> Cell:
    return Cell(low=binary_text(low), high=binary_text(high), centre=binary_text(centre))


def _with(bare: Certificate, cells: tuple[Cell, ...], tangents: Iterable[Tangent]) -> Certificate:
    evidence = replace(bare.evidence, cells=cells, tangents=tuple(tangents))
    return replace(bare, evidence=evidence)
