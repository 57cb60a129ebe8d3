"""Check a certificate line by line; see the module texts for the mathematics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from gdpbridge_verify.answers import answer, require_answers_alone
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.document import Certificate
from gdpbridge_verify.kinds import KINDS, Kind
from gdpbridge_verify.lemmas import lemmas_of
from gdpbridge_verify.reader import content_of, parsed, read_as
from gdpbridge_verify.refusal import OutOfWork, Refused, Undecided
from gdpbridge_verify.rows import with_rows
from gdpbridge_verify.several import composition, missed
from gdpbridge_verify.statement import Check

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
    margins: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"<Verification: {'valid' if self.valid else 'refused'}, {self.reason}>"


def read(source: dict[str, Any] | str | bytes | Path) -> Certificate:
    """Read a certificate: a path, JSON text as bytes, or a parsed document; nothing is executed.

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
        Undecided: if a line is with 8192 bits, or all would take more than some five seconds.
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
    except ArithmeticError:
        # floats tell where to look and what takes long: of what is beyond them nothing is proved
        raise Undecided("undecided: it needs a number beyond every float") from None


def _proved(document: Certificate, folder: Path, together: Work) -> Verification:
    """Prove what one mechanism's certificate claims, and charge it to all that is proved."""
    if document.table is not None and document.table.rows is None:
        document = with_rows(document, folder)
    work = Work(MAX_WORK)
    used = lemmas_of(document, partial(_lines, work=work), work) if document.lemmas else ()
    claims = [*used, *_lines(document, work)]
    if document.beyond is not None:
        claims.insert(-1, missed(document, partial(_lines, work=work)))
    together.charge(work.spent)
    margins = tuple(work.margins.items())
    return Verification(True, f"all {len(claims)} claims hold", tuple(claims), margins)


def _lines(document: Certificate, work: Work) -> list[str]:
    decide = Ladder(document, work).decide
    claims = decide(lambda check: check.nature() + check.far_out())
    if document.claim.statement == "head":
        claims.append(decide(lambda check: check.failure_at_head()))
    if document.claim.statement == "answers":
        decide(require_answers_alone)
    if document.claim.answers or document.evidence.points:
        for number in range(decide(lambda check: check.count_of_answers())):
            claims.append(decide(partial(answer, number=number)))
    for direction, number in decide(lambda check: check.cells_to_prove()):
        decide(partial(Check.numbered_cell, direction=direction, number=number))
    if document.claim.statement != "answers":
        claims.append(decide(lambda check: check.upper_end()))
        claims.append(decide(lambda check: check.lower_end()))
    return [*claims, decide(lambda check: check.assumption())]


def _check_of(document: Certificate) -> type[Check]:
    """Return what checks a kind; only its module is loaded, which depends on none of these."""
    spec = document.mechanism
    kind = spec.get("base.kind" if spec.get("kind") == "grouped" else "kind") or ""
    place = KINDS.get(kind, Kind()).check
    if document.evidence.directions is not None:
        place = import_module("gdpbridge_verify.composition").check_of(document)
    module, name = place.split(".")
    found: type[Check] = getattr(import_module(f"gdpbridge_verify.{module}"), name)
    return found


class Ladder:
    """Decides each line of one document at as little precision as that line needs."""

    def __init__(self, document: Certificate, work: Work) -> None:
        self.document, self.work = document, work
        self._checks: dict[int, Check] = {}
        claim = document.claim
        texts = [text for one in claim.answers or () for text in (one.low, one.high)]
        digits = max(map(len, (claim.mu.low, claim.mu.high, *texts)))
        self._first_precision = FIRST_PRECISION + 4 * digits

    def decide(self, line: Callable[[Check], T]) -> T:
        """Return what a line returns at the first precision that decides it.

        Raises:
            Undecided: if none does.
            OutOfWork: if deciding it would take more work than is left.
        """
        precision = self._first_precision
        while True:
            self.work.charge(300 + precision / 10)
            try:
                if precision not in self._checks:
                    check, arithmetic = _check_of(self.document), Arithmetic(precision, self.work)
                    self._checks[precision] = check(self.document, arithmetic)
                return line(self._checks[precision])
            except Undecided:
                precision *= 2
                if precision > MAX_PRECISION:
                    raise
