"""Write a certificate: the claim, and evidence that the checker is known to accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version

from gdpbridge.certificate.checker.check import CellChecker
from gdpbridge.certificate.checker.lines import binary
from gdpbridge.certificate.model import (
    NAME,
    VERSION,
    Breakpoint,
    Cell,
    Certificate,
    Claim,
    Evidence,
    Range,
    Schema,
)
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction
from gdpbridge.transformations.clip_rectify import ClipRectify

__all__ = ["range_of", "write"]

_MAX_SPLITS = 40


def range_of(interval: Interval) -> Range:
    """Return an interval as a certificate states it."""
    return Range(low=_mu_text(interval.low), high=_mu_text(interval.high))


def write(profile: Profile, claim: Claim, proof: Proof) -> Certificate:
    """Put a certificate together.

    The search and the checker enclose a cell a little differently, so each cell is checked once
    here, and split where the checker needs it narrower.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell.
    """
    breakpoints = _breakpoints(profile, proof.bits)
    proof = _past_the_last_bracket(proof, breakpoints)
    bare = Certificate(
        schema=Schema(name=NAME, version=VERSION),
        generator=f"gdpbridge {version('gdpbridge')}",
        mechanism=profile.specification(),
        claim=claim,
        evidence=Evidence(
            breakpoints=breakpoints,
            cells=(),
            witness="tail" if proof.witness == "tail" else _binary(proof.witness),
            tail_from=_binary(proof.tail_from),
        ),
    )
    checker = CellChecker(bare)
    cells = tuple(cell for proved in proof.cells for cell in _accepted(checker, proved, 0))
    return bare.model_copy(update={"evidence": bare.evidence.model_copy(update={"cells": cells})})


def _past_the_last_bracket(proof: Proof, breakpoints: tuple[Breakpoint, ...]) -> Proof:
    """Let a tail that begins within the last bracket begin at its end, as the checker wants it."""
    if proof.tail_from is None or not breakpoints:
        return proof
    end = binary(breakpoints[-1].high)
    if proof.tail_from >= end:
        return proof
    *cells, last = proof.cells
    extended = ProvedCell(last.low, end, None)
    return replace(proof, cells=(*cells, extended), tail_from=end)


def _accepted(checker: CellChecker, proved: ProvedCell, splits: int) -> Iterator[Cell]:
    cell = Cell(
        low=_exact_binary(proved.low),
        high=_exact_binary(proved.high),
        centre=_binary(proved.centre),
    )
    if checker.proves(cell):
        yield cell
        return
    if splits == _MAX_SPLITS:
        raise UndecidedError(f"the cell at ε = {float(proved.low):.12g} could not be certified")
    middle = (proved.low + proved.high) / 2
    for low, high in ((proved.low, middle), (middle, proved.high)):
        centre = None if proved.centre is None else min(max(proved.centre, low), high)
        yield from _accepted(checker, ProvedCell(low, high, centre), splits + 1)


def _breakpoints(profile: Profile, bits: int) -> tuple[Breakpoint, ...]:
    """Bracket the breakpoints that are not rational; the checker knows the others."""
    # the knots of clip and rectify are in its specification, its base may have breakpoints
    inner = profile.base if isinstance(profile, ClipRectify) else profile
    curve = inner.curve
    # every kind that the checker knows is one of formulas
    assert isinstance(curve, SmoothCurve)
    with precision(bits):
        brackets = [
            piece.bracket() for piece in curve.pieces[1:] if not isinstance(piece.start, Fraction)
        ]
        return tuple(
            Breakpoint(low=_exact_binary(to_fraction(low)), high=_exact_binary(to_fraction(high)))
            for low, high in brackets
        )


def _mu_text(value: Decimal) -> str:
    return "inf" if value.is_infinite() else format(value, "f")


def _binary(value: Fraction | None) -> str | None:
    return None if value is None else _exact_binary(value)


def _exact_binary(value: Fraction) -> str:
    """Return a dyadic rational as a hexadecimal integer times a power of two."""
    exponent = value.denominator.bit_length() - 1
    assert value.denominator == 1 << exponent
    mantissa = value.numerator
    if mantissa and not exponent:
        trailing = (mantissa & -mantissa).bit_length() - 1
        mantissa, exponent = mantissa >> trailing, -trailing
    return f"0x{mantissa:x}p{-exponent:+d}"
