"""Write the certificate of composed losses whose δ is a formula: cells are all that it needs."""

from __future__ import annotations

from dataclasses import replace

from gdpbridge.certificate.cells import all_accepted
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof
from gdpbridge.errors import UndecidedError
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify.document import Cell, Direction

__all__ = ["directions_of_formula", "with_formula"]


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
    (cells,) = all_accepted(checker, [proof.cells])
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    if not cells and not checker.proves_upper():
        raise UndecidedError("the upper end could not be certified")
    return replace(bare, evidence=replace(evidence, directions=directions_of_formula(cells)))


def directions_of_formula(cells: tuple[Cell, ...] = ()) -> tuple[Direction, ...]:
    """Return the one direction that such losses have in a certificate."""
    return (Direction(pieces=(), cells=cells),)
