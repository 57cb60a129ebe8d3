"""Whether the checker will accept parts of a certificate that is being written."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from gdpbridge.numeric.effort import spend
from gdpbridge_verify import check
from gdpbridge_verify.answers import answer
from gdpbridge_verify.arithmetic import Work
from gdpbridge_verify.document import Cell, Certificate
from gdpbridge_verify.refusal import Refused, Undecided
from gdpbridge_verify.statement import MOST_HALVINGS, Check

__all__ = ["CellChecker"]

_SHARE = 0.9
# of numeric/effort.py, in a microsecond of the checker's work
_UNITS = 10


class CellChecker:
    """Whether single cells are proved as they stand.

    Args:
        document: the certificate so far.
        share: how much of the work that the checker allows they may take.
        beside: another one, whose work adds up with this one's, in place of a share.
    """

    def __init__(
        self, document: Certificate, share: float = 1.0, beside: CellChecker | None = None
    ) -> None:
        # what the writer tries is at least what the checker will do, but for short lines
        work = beside._ladder.work if beside else Work(_SHARE * share * check.MAX_WORK)
        self._ladder: check.Ladder = check.Ladder(document, work)

    @property
    def share_spent(self) -> float:
        """How much of the work that the checker allows is spent."""
        return self._ladder.work.spent / self._ladder.work.limit

    def proves(self, cell: Cell, direction: int = 0, halvings: int = MOST_HALVINGS) -> bool:
        """Whether the checker will accept a cell, of a composed loss one of a direction.

        Raises:
            OutOfWork: if all cells so far are more work than the checker allows.
        """

        def line(at: Check) -> None:
            at.direction = direction
            at.cell("cell", cell, halvings)

        return self._holds(line)

    def proves_ends(self) -> bool:
        """Whether the checker will accept the lower end and, of a head, its δ(ε_h).

        Raises:
            OutOfWork: if that is more work than the checker allows, together with the cells.
        """
        return self._holds(lambda at: (at.eps_h is None or at.failure_at_head(), at.lower_end()))

    def proves_failure(self) -> bool:
        """Whether the checker will accept δ(ε_h) of a head."""
        return self._holds(lambda at: at.failure_at_head())

    def proves_upper(self) -> bool:
        """Whether the checker will accept the upper end, beside the cells."""
        return self._holds(lambda at: at.upper_end())

    def proves_beyond(self, reached: Fraction, direction: int) -> bool:
        """Whether the checker will accept that a direction's cells end there."""

        def line(at: Check) -> None:
            at.direction = direction
            at.reach("cells", reached)

        return self._holds(line)

    def proves_answers(self) -> bool:
        """Whether the checker will accept the answers."""
        numbers = range(len(self._ladder.document.claim.answers or ()))
        return all(self._holds(partial(answer, number=number)) for number in numbers)

    def proves_far_out(self) -> bool:
        """Whether the checker will accept what is claimed of the tail."""
        return self._holds(lambda at: at.far_out())

    def proves_tail(self, start: Fraction) -> bool:
        """Whether the checker will accept that nothing need be proved from here on."""
        return self._holds(lambda at: at.decay_from(start))

    def _holds(self, line: Callable[[Check], object]) -> bool:
        work = self._ladder.work
        before = work.spent
        try:
            self._ladder.decide(line)
        except (Refused, Undecided):
            return False
        finally:
            spend(_UNITS * (work.spent - before))
        return True
