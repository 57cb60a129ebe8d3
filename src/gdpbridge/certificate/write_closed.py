"""Write the certificate of composed losses whose δ is a formula: cells are all that it needs."""

from __future__ import annotations

from dataclasses import replace

from gdpbridge.certificate.cells import accepted
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof
from gdpbridge.curves.base import Form
from gdpbridge.errors import UndecidedError
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify.closed import formula_of
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.document import Cell, Direction
from gdpbridge_verify.kinds import ONLY_COMPOSED
from gdpbridge_verify.refusal import Malformed

__all__ = ["directions_of_formula", "is_closed", "with_formula"]

_COMPOSED = ONLY_COMPOSED - {"subsampled"}


def is_closed(profile: Profile) -> bool:
    """Whether the checker knows δ of a composition as a formula."""
    # of a sample alone it is a formula anyway
    if profile.curve.form not in (Form.SMOOTH, Form.POINTS) or profile.kind not in _COMPOSED:
        return False
    try:
        return formula_of(composition_of(profile.specification()).parts) is not None
    except Malformed:
        return False


def with_formula(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Return a certificate with cells, if the proof has any.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell, or of the lower end.
    """
    evidence = replace(bare.evidence, directions=directions_of_formula(), tail_from=None)
    by_tail = bare.claim.statement == "whole" and profile.tail.gaussian_mu is None
    if evidence.witness is None and by_tail:
        evidence = replace(evidence, witness="tail")
    bare = replace(bare, evidence=evidence)
    checker = CellChecker(bare)
    cells = tuple(cell for proved in proof.cells for cell in accepted(checker, proved))
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return replace(bare, evidence=replace(evidence, directions=directions_of_formula(cells)))


def directions_of_formula(cells: tuple[Cell, ...] = ()) -> tuple[Direction, ...]:
    """Return the one direction that such losses have in a certificate."""
    return (Direction(pieces=(), cells=cells),)
