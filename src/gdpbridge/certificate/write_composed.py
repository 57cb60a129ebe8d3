"""Write the certificate of a composed loss: its lines, and cells that the checker accepts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from gdpbridge.certificate.binaries import binary_text, is_binary, optional_binary_text
from gdpbridge.certificate.cells import all_accepted, require_far_enough
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell, ProvedPiece
from gdpbridge.certificate.write_discrete import above
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.direction import Direction as Side
from gdpbridge.losses.line import Evidence
from gdpbridge.losses.moments import Shares
from gdpbridge.losses.transforms.base import Plan, short
from gdpbridge.losses.transforms.fixed_size import Ray
from gdpbridge.losses.transforms.sampled_search import Quadrature
from gdpbridge_verify.document import Direction
from gdpbridge_verify.evidence import CurvePiece, Edge, Line, Nodes, Split, WitnessLine

__all__ = ["at_zero", "has_line", "line_of", "pieces_at", "with_directions"]

# strips tried, as shares of the longest; of that, to keep off the edge
_LEAST_STRIP, _STRIPS, _LONGEST = 0.05, 60, 0.98

# by how much δ(ε_h) of a head may be above what was measured, where lines are of fewer digits
_WIDER = (Fraction(0), *(Fraction(1, 10**k) for k in (12, 9, 7, 5, 4, 3, 2, 1)))

# how far down, as a power of e, Chernoff's bound is taken where δ is 0
_FALL = 40.0
# how much of the checker's work one of so many lines may take
_MANY_LINES, _MOST_OF_ONE = 2, 0.5

# of δ(0), where that may be near to p
_DIGITS_AT_ZERO = 3, 6, 12, 12


def with_directions(bare: Certificate, proof: Proof) -> Certificate:
    """Return a certificate with the directions of a composed loss and their cells.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell, or of the lower end.
    """
    proof = proof.shown()
    witness_line = None
    if proof.witness_line is not None:
        evidence, reverse = proof.witness_line
        witness_line = WitnessLine(reverse=reverse, line=line_of(evidence))
    empty = tuple(
        Direction(pieces=tuple(_piece(piece, one.cells) for piece in one.pieces), cells=())
        for one in proof.directions
    )
    bare = _with_evidence(bare, directions=empty, witness_line=witness_line)
    if bare.claim.statement == "whole" and not empty and proof.witness is None:
        # the run without sampling is all of the proof
        bare = _with_evidence(bare, witness="tail")
    bare = _with_failure(bare)
    checker = CellChecker(bare)
    cells = all_accepted(checker, [one.cells for one in proof.directions])
    require_far_enough(checker, cells)
    full = tuple(replace(one, cells=own) for one, own in zip(empty, cells, strict=True))
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return _with_evidence(bare, directions=full)


def _with_failure(bare: Certificate) -> Certificate:
    """Claim δ(ε_h) of a head as closely as the lines show it, which may be of few digits."""
    if bare.claim.statement != "head" or bare.claim.mu.high == "inf":
        return bare
    text = bare.claim.failure_probability
    lines = sum(
        piece.line is not None for one in bare.evidence.directions or () for piece in one.pieces
    )
    # where one of many lines takes so much, all of them are too much
    share = 1.0 if lines < _MANY_LINES else _MOST_OF_ONE
    for wider in _WIDER:
        claim = replace(bare.claim, failure_probability=above(text, wider))
        if CellChecker(found := replace(bare, claim=claim), share).proves_failure():
            return found
    raise UndecidedError("δ at eps_h could not be certified")


def at_zero(bare: Certificate, curve: ComposedCurve) -> Certificate:
    """Return a certificate of μ = 0: that δ(0) is at most the failure.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    zero = binary_text(Fraction(0))
    flat = CurvePiece(start=zero, tilt=zero)
    directions = curve.loss.directions
    found = _with_evidence(bare, directions=(_at(flat),) * len(directions))
    for digits in _DIGITS_AT_ZERO:
        if CellChecker(found).proves_upper():
            return found
        lines = (one.whole(digits).stretch(Fraction(0)).line.evidence for one in directions)
        pieces = (CurvePiece(start=zero, line=line_of(one)) for one in lines)
        found = _with_evidence(bare, directions=tuple(map(_at, pieces)))
    raise UndecidedError("δ(0) is not shown to be at most the failure probability")


def _at(piece: CurvePiece) -> Direction:
    return Direction(pieces=(piece,), cells=())


def _with_evidence(bare: Certificate, **changes: Any) -> Certificate:
    return replace(bare, evidence=replace(bare.evidence, **changes))


def _piece(piece: ProvedPiece, cells: Sequence[ProvedCell]) -> CurvePiece:
    start = piece.start
    if not is_binary(start):
        # ε_h is stated in decimals: the line that is best there also serves the cell about it
        start = next(cell.low for cell in cells if cell.low <= start < cell.high)
    return CurvePiece(
        start=binary_text(start),
        line=None if piece.line is None else line_of(piece.line),
        tilt=optional_binary_text(piece.tilt),
        chord=optional_binary_text(piece.chord),
    )


def line_of(evidence: Evidence) -> Line:
    """Return a line as a certificate states it."""
    choice, shares = evidence.choice, evidence.split
    if shares is not None:
        return _rare_line_of(evidence, shares)
    return Line(
        c=choice.c,
        h=choice.h,
        count=choice.count,
        right=choice.right,
        left=choice.left,
        nodes=tuple(_nodes(plan) for plan in evidence.plans),
        far=tuple(_nodes(plan) for plan in evidence.far),
    )


def _rare_line_of(evidence: Evidence, shares: Shares) -> Line:
    """Return a line of rare noise, with nodes on the real line in place of its own."""
    choice = evidence.choice
    low, high = (Edge(place=place, width=width) for place, width in (shares.low, shares.high))
    edge = float(choice.h * choice.count / shares.sigma)
    nodes = tuple(
        _real_nodes(plan, float(shares.sigma), edge, bend, -shares.log_error)
        for plan, bend in zip(
            evidence.plans, (_bend(high), _bend(high) + _bend(low) - 1), strict=True
        )
    )
    return Line(
        c=choice.c,
        h=choice.h,
        count=choice.count,
        right=choice.right,
        left=choice.left,
        nodes=nodes,
        far=(None, _nodes(evidence.far[1])),
        split=Split(low=low, high=high, tilt=shares.tilt),
    )


def _bend(edge: Edge) -> float:
    return 1 + float(edge.width) ** -2


def _real_nodes(plan: Plan, sigma: float, edge: float, bend: float, depth: float) -> Nodes:
    """Return nodes on the real line: wide steps for an error of e^{-depth}.

    With a strip a, the error is e^{bend·a²/2 + edge·a - 2πa/step}.
    """
    assert isinstance(plan, Quadrature)
    strips = _LONGEST * math.pi * sigma * np.geomspace(_LEAST_STRIP, 1.0, _STRIPS)
    rates = edge + bend * strips / 2 + (depth + math.log(2)) / strips
    best = int(rates.argmin())
    step = short(2 * math.pi / float(rates[best]))
    first, last = plan.first * plan.step / step, plan.last * plan.step / step
    return Nodes(
        shift=Fraction(0),
        strip=short(float(strips[best])),
        step=step,
        first=math.floor(first),
        last=math.ceil(last),
    )


def _nodes(plan: Plan) -> Nodes | None:
    if isinstance(plan, Ray):
        half = plan.angle
        return Nodes(shift=half, strip=half, step=plan.step, first=plan.first, last=plan.last)
    if not isinstance(plan, Quadrature):
        return None
    return Nodes(
        shift=plan.shift, strip=plan.strip, step=plan.step, first=plan.first, last=plan.last
    )


def has_line(direction: Direction) -> bool:
    """Whether any piece is one."""
    return any(piece.line is not None for piece in direction.pieces)


def pieces_at(direction: Side, places: Sequence[Fraction]) -> Iterable[CurvePiece]:
    """Yield what bounds δ in a direction at some ε."""
    for eps in places:
        if direction.end is not None and eps > direction.end:
            # δ is 0, and Chernoff's bound falls so fast
            tilt = _FALL / min(float(eps - direction.end), 1.0)
            yield CurvePiece(start=binary_text(eps), tilt=binary_text(short(tilt)))
            continue
        try:
            line = direction.stretch(eps).line
        except (UndecidedError, WorkLimitError):
            tilt = float(direction.moments.tilts.at(np.array([float(eps)])).tilt[0])
            yield CurvePiece(start=binary_text(eps), tilt=binary_text(short(tilt)))
        else:
            yield CurvePiece(start=binary_text(eps), line=line_of(line.evidence))
