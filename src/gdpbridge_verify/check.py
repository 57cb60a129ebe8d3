"""Check a certificate line by line; see the module texts for the mathematics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

from gdpbridge_verify.answers import answer, count_of_answers
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.composed import ComposedCheck
from gdpbridge_verify.discrete import DiscreteCheck, is_discrete
from gdpbridge_verify.document import Cell, Certificate
from gdpbridge_verify.formulas import FormulaCheck
from gdpbridge_verify.mechanisms import FormulasCheck
from gdpbridge_verify.reader import content_of, parsed, read_as
from gdpbridge_verify.rectified import RectifiedCheck
from gdpbridge_verify.refusal import OutOfWork, Refused, Undecided
from gdpbridge_verify.several import composition, missed
from gdpbridge_verify.statement import MOST_HALVINGS, Check
from gdpbridge_verify.tables import TableCheck, TradeoffCheck, with_rows
from gdpbridge_verify.zcdp import RenyiCheck, ZcdpCheck

__all__ = ["CellChecker", "Verification", "read", "verify"]

FIRST_PRECISION = 96
MAX_PRECISION = 8192
# in microseconds, as charged by formula: some ten thousand cells
MAX_WORK = 4.5e6
# of all releases of a composition: some 20 seconds
MAX_WORK_OF_RELEASES = 4 * MAX_WORK

T = TypeVar("T")


@dataclass(frozen=True)
class Verification:
    """The outcome of :func:`verify`.

    Attributes:
        valid: whether every line was proved.
        reason: what was proved in one sentence, or the first line that fails and by how much.
        claims: what was proved, a sentence each; what was assumed comes last.
        margins: lines, such as those of cells, and how much each has to spare, in its own units.
    """

    valid: bool
    reason: str
    claims: tuple[str, ...]
    margins: tuple[tuple[str, float], ...] = field(default=(), repr=False)


def read(source: dict[str, Any] | str | bytes | Path) -> Certificate:
    """Read a certificate from a file (a path), JSON text as bytes, or a parsed document.

    Nothing in it is executed. Documents over 16 MiB, duplicate keys and anything that is not
    declared in document.py are refused.

    Raises:
        Malformed: if it is not a certificate of a known version.
    """
    if isinstance(source, str | Path):
        source = content_of(source)
    return read_as(Certificate, parsed(source) if isinstance(source, bytes) else source)


def verify(
    source: Certificate | dict[str, Any] | str | bytes | Path, folder: str | Path | None = None
) -> Verification:
    """Re-prove a certificate with interval arithmetic of its own, independent of the search.

    Args:
        source: a path, JSON text as bytes, a parsed document or a certificate as it was read.
        folder: where a file of rows is that the document names; the document's own if None.

    Returns:
        Whether every line holds; if not, the first that fails and by how much.

    Raises:
        Malformed: if it is not a certificate of a known version.
        Undecided: if a line is undecided at the precision cap of 8192 bits, or the whole would
            take more work than is allowed, about five seconds.
    """
    document = source if isinstance(source, Certificate) else read(source)
    if folder is None:
        folder = Path(source).parent if isinstance(source, str | Path) else Path()
    try:
        if document.releases is None:
            return _proved(document, Path(folder), Work(MAX_WORK))
        together = Work(MAX_WORK_OF_RELEASES)
        claims = composition(document, Path(folder), partial(_proved, together=together))
        return Verification(True, f"all {len(claims)} claims hold", tuple(claims))
    except Refused as refused:
        return Verification(False, f"refused at {refused}", ())
    except OutOfWork:
        raise Undecided("undecided: more work than is allowed for one certificate") from None
    except Undecided as undecided:
        raise Undecided(f"{undecided}: undecided with {MAX_PRECISION} bits of precision") from None


def _proved(document: Certificate, folder: Path, together: Work) -> Verification:
    """Prove what one mechanism's certificate claims, and charge it to all that is proved."""
    document = with_rows(document, folder)
    ladder = _Ladder(document)
    claims = _lines(document, ladder)
    if document.beyond is not None:
        other, in_words = missed(document)
        try:
            _lines(other, ladder.of(other))
        except Refused as refused:
            raise Refused(f"beyond.{refused.line}", refused.reason) from None
        claims.insert(-1, in_words)
    together.charge(ladder.spent)
    margins = tuple(ladder.margins.items())
    return Verification(True, f"all {len(claims)} claims hold", tuple(claims), margins)


def _lines(document: Certificate, ladder: _Ladder) -> list[str]:
    decide = ladder.decide
    claims = [
        *decide(lambda check: check.nature()),
        *decide(lambda check: check.far_out()),
        *decide(lambda check: check.failure_at_head()),
    ]
    for number in range(count_of_answers(document)):
        claims.append(decide(partial(answer, number=number)))
    for number in range(decide(lambda check: check.count_of_cells())):
        decide(methodcaller("numbered_cell", number))
    if document.claim.statement != "answers":
        claims += [decide(lambda check: check.upper_end())]
        claims += [decide(lambda check: check.lower_end())]
    return [*claims, decide(lambda check: check.assumption())]


def _first_precision(document: Certificate) -> int:
    claim = document.claim
    texts = [text for one in claim.answers or () for text in (one.low, one.high)]
    digits = max(map(len, (claim.mu.low, claim.mu.high, *texts)))
    return FIRST_PRECISION + 4 * digits


class CellChecker:
    """Whether single cells are proved as they stand; for the writer of certificates."""

    def __init__(self, document: Certificate) -> None:
        self._document = document
        # what the writer tries is at least what the checker will do, but for short lines
        self._ladder = _Ladder(document, share=0.9)

    def proves(self, cell: Cell, direction: int = 0, halvings: int = MOST_HALVINGS) -> bool:
        """Whether the checker will accept a cell, of a composed loss one of a direction.

        Raises:
            OutOfWork: if all cells so far are more work than the checker allows.
        """

        def line(check: Check) -> None:
            check.direction = direction
            check.cell("cell", cell, halvings)

        return self._holds(line)

    def proves_ends(self) -> bool:
        """Whether the checker will accept the lower end and, of a head, its δ(ε_h).

        Raises:
            OutOfWork: if that is more work than the checker allows, together with the cells.
        """
        return self._holds(lambda check: (check.failure_at_head(), check.lower_end()))

    def proves_answers(self) -> bool:
        """Whether the checker will accept the answers."""
        numbers = range(count_of_answers(self._document))
        return all(self._holds(partial(answer, number=number)) for number in numbers)

    def proves_tail(self, start: Fraction) -> bool:
        """Whether the checker will accept that nothing need be proved from here on."""
        return self._holds(lambda check: check.decay_from(start))

    def _holds(self, line: Callable[[Check], object]) -> bool:
        try:
            self._ladder.decide(line)
        except (Refused, Undecided):
            return False
        return True


def _kind_of(document: Certificate) -> type[Check]:
    if document.evidence.directions is not None:
        return DiscreteCheck if is_discrete(document) else ComposedCheck
    return _CHECKS.get(document.mechanism.get("kind") or "", FormulasCheck)


_CHECKS: dict[str, type[Check]] = {
    "clip-rectify": RectifiedCheck,
    "formula": FormulaCheck,
    "renyi": RenyiCheck,
    "table": TableCheck,
    "tradeoff-function": TradeoffCheck,
    "zcdp": ZcdpCheck,
}


class _Ladder:
    """Decides each line of one document at as little precision as that line needs."""

    def __init__(self, document: Certificate, share: float = 1, work: Work | None = None) -> None:
        self._work = work or Work(share * MAX_WORK)
        self._document = document
        self._kind: type[Check] | None = None
        self._checks: dict[int, Check] = {}

    @property
    def margins(self) -> dict[str, float]:
        """How much the lines that were proved have to spare."""
        return self._work.margins

    @property
    def spent(self) -> float:
        """How much work was done."""
        return self._work.spent

    def of(self, document: Certificate) -> _Ladder:
        """Return that of another document, which does its work from what is left."""
        return _Ladder(document, work=self._work)

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
