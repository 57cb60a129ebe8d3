"""Check a certificate line by line; see the module texts for the mathematics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

from gdpbridge.certificate.checker.arithmetic import Arithmetic, Work
from gdpbridge.certificate.checker.composed import ComposedCheck, is_composed
from gdpbridge.certificate.checker.discrete import DiscreteCheck, is_discrete
from gdpbridge.certificate.checker.refusal import Malformed, OutOfWork, Refused, Undecided
from gdpbridge.certificate.checker.statement import Check
from gdpbridge.certificate.checker.zcdp import ZcdpCheck
from gdpbridge.certificate.model import Cell, Certificate, read
from gdpbridge.errors import InputError, UndecidedError

__all__ = ["CellChecker", "Verification", "verify"]

FIRST_PRECISION = 96
MAX_PRECISION = 8192
# in microseconds, as charged by formula: some ten thousand cells
MAX_WORK = 4.5e6

T = TypeVar("T")


@dataclass(frozen=True)
class Verification:
    """The outcome of :func:`verify`.

    Attributes:
        valid: whether every line was proved.
        reason: what was proved in one sentence, or the first line that fails and by how much.
        claims: what was proved, a sentence each; what was assumed comes last.
    """

    valid: bool
    reason: str
    claims: tuple[str, ...]


def verify(certificate: Certificate | dict[str, Any] | str | bytes | Path) -> Verification:
    """Re-prove a certificate with interval arithmetic of its own, independent of the search.

    Args:
        certificate: a path, JSON text as bytes, a parsed document or a certificate.

    Returns:
        Whether every line holds; if not, the first that fails and by how much.

    Raises:
        InputError: if it is not a certificate of a known version.
        UndecidedError: if a line is undecided at the precision cap of 8192 bits, or the whole
            would take more work than is allowed, about five seconds.
    """
    document = read(certificate)
    decide = _Ladder(document).decide
    try:
        claims = [
            *decide(lambda check: check.nature()),
            decide(lambda check: check.verdict()),
            decide(lambda check: check.tail_parameter()),
            *decide(lambda check: check.failure_at_head()),
        ]
        for number in range(decide(lambda check: check.count_of_cells())):
            decide(methodcaller("numbered_cell", number))
        claims += [
            decide(lambda check: check.upper_end()),
            decide(lambda check: check.lower_end()),
            decide(lambda check: check.assumption()),
        ]
    except Refused as refused:
        return Verification(False, f"refused at {refused}", ())
    except Malformed as malformed:
        raise InputError(malformed.field, malformed.value, malformed.allowed) from None
    except Undecided as undecided:
        raise UndecidedError(
            f"{undecided}: undecided with {MAX_PRECISION} bits of precision"
        ) from None
    except OutOfWork:
        raise UndecidedError("undecided: more work than is allowed for one certificate") from None
    return Verification(True, f"all {len(claims)} claims hold", tuple(claims))


def _first_precision(document: Certificate) -> int:
    digits = max(len(document.claim.mu.low), len(document.claim.mu.high))
    return FIRST_PRECISION + 4 * digits


class CellChecker:
    """Whether single cells are proved as they stand; for the writer of certificates."""

    def __init__(self, document: Certificate) -> None:
        # what the writer tries is at least what the checker will do, but for short lines
        self._ladder = _Ladder(document, share=0.9)

    def proves(self, cell: Cell, direction: int = 0) -> bool:
        """Whether the checker will accept a cell, of a composed loss one of a direction.

        Raises:
            UndecidedError: if all cells so far are more work than the checker allows.
        """
        return self._holds(lambda check: check.cell_of("cell", cell, direction))

    def proves_ends(self) -> bool:
        """Whether the checker will accept the lower end and, of a head, its δ(ε_h).

        Raises:
            UndecidedError: if that is more work than the checker allows, together with the cells.
        """
        return self._holds(lambda check: (check.failure_at_head(), check.lower_end()))

    def _holds(self, line: Callable[[Check], object]) -> bool:
        try:
            self._ladder.decide(line)
        except (Refused, Undecided):
            return False
        except OutOfWork:
            raise UndecidedError("the certificate would be too long to check") from None
        return True


def _kind_of(document: Certificate) -> type[Check]:
    if is_composed(document.evidence):
        return DiscreteCheck if is_discrete(document) else ComposedCheck
    return ZcdpCheck if document.mechanism.get("kind") == "zcdp" else Check


class _Ladder:
    """Decides each line of one document at as little precision as that line needs."""

    def __init__(self, document: Certificate, share: float = 1) -> None:
        self._work = Work(share * MAX_WORK)
        self._document = document
        self._kind: type[Check] | None = None
        self._checks: dict[int, Check] = {}

    def decide(self, line: Callable[[Check], T]) -> T:
        """Return what a line returns at the first precision that decides it.

        Raises:
            Undecided: if none does.
            OutOfWork: if deciding it would take more work than is left.
        """
        precision = _first_precision(self._document)
        while True:
            try:
                return line(self._at(precision))
            except Undecided:
                precision *= 2
                if precision > MAX_PRECISION:
                    raise

    def _at(self, precision: int) -> Check:
        self._work.charge(300 + precision / 10)
        if precision not in self._checks:
            self._kind = self._kind or _kind_of(self._document)
            self._checks[precision] = self._kind(self._document, Arithmetic(precision, self._work))
        return self._checks[precision]
