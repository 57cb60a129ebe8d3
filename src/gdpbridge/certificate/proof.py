"""What a search leaves behind for a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.numeric.effort import within

if TYPE_CHECKING:
    from gdpbridge.losses.line import Evidence

    WitnessLine = tuple[Evidence, bool] | None
    Unshown = Callable[[], tuple[tuple["ProvedDirection", ...], WitnessLine]]

__all__ = ["Proof", "ProvedCell", "ProvedDirection", "ProvedPiece", "continued"]


# cells beyond those of a search
_MOST, _FINE = 4096, 1 << 64


@dataclass(frozen=True)
class ProvedCell:
    """A range of ε on which the upper end was proved.

    Attributes:
        low: its lower end.
        high: its upper end.
        centre: where the mean-value form was centred; None if proved by monotonicity.
    """

    low: Fraction
    high: Fraction
    centre: Fraction | None


def continued(cells: tuple[ProvedCell, ...], end: Fraction) -> tuple[ProvedCell, ...]:
    """Return cells with more up to an end, about as wide, on which a certificate looks itself."""
    if not cells or cells[-1].high >= end:
        return cells
    low = cells[-1].high
    count = min(math.ceil(len(cells) * (end - low) / low), _MOST)
    # binary numbers, as all ends are
    steps = (low + (end - low) * number / count for number in range(1, count))
    ends = [low, *(Fraction(math.floor(one * _FINE), _FINE) for one in steps), end]
    return *cells, *(ProvedCell(one, other, None) for one, other in pairwise(ends))


@dataclass(frozen=True)
class ProvedPiece:
    """A smooth curve above δ of a composed loss.

    Attributes:
        start: where it begins.
        line: the line that gives it, or None.
        tilt: then the tilt of Chernoff's bound.
        chord: where a chord of 1 - δ from e^ε = 0 ends in the bound of either, or None.
    """

    start: Fraction
    line: Evidence | None = None
    tilt: Fraction | None = None
    chord: Fraction | None = None


@dataclass(frozen=True)
class ProvedDirection:
    """One direction of a composed loss.

    Attributes:
        pieces: the curve above δ.
        cells: adjacent ranges from 0 on, each within a piece.
    """

    pieces: tuple[ProvedPiece, ...]
    cells: tuple[ProvedCell, ...]


@dataclass(frozen=True)
class Proof:
    """The evidence for an interval; empty where the mechanism itself is evidence enough.

    Attributes:
        cells: adjacent ranges from 0 on.
        witness: where the lower end is attained; "tail" for the tail parameter; None if no
            witness is needed.
        tail_from: from where on the tail's rate of decay is the proof, if it is.
        bits: the precision of the search, to which breakpoints are bracketed.
        directions: of a composed loss, in place of the cells.
        witness_line: of a composed loss, the line that shows δ at the witness, and whether it is of
            Q against P.
        unshown: finds the directions and the line at the witness, where they are of another form
            than the search's: work that is only done for whoever asks for a certificate, or for a
            pickle.
        looser: measures to fewer digits, for a certificate that is less work to check: both ends,
            and their proof. None where that is no less work.
    """

    cells: tuple[ProvedCell, ...] = ()
    witness: Fraction | Literal["tail"] | None = None
    tail_from: Fraction | None = None
    bits: int = 256
    directions: tuple[ProvedDirection, ...] = field(default=(), compare=False)
    witness_line: WitnessLine = field(default=None, compare=False)
    unshown: Callable[[], tuple[tuple[ProvedDirection, ...], WitnessLine]] | None = field(
        default=None, compare=False, repr=False
    )
    looser: Callable[[], tuple[Fraction, Fraction, Proof]] | None = field(
        default=None, compare=False, repr=False
    )

    def shown(self) -> Proof:
        """Return it with its directions, and the line at its witness."""
        if self.unshown is None:
            return self
        directions, line = self.unshown()
        return replace(self, directions=directions, witness_line=line, unshown=None)

    def __reduce__(self) -> tuple[object, ...]:
        try:
            with within("what a certificate needs", "it is left out"):
                shown = self.shown()
        except (UndecidedError, WorkLimitError):
            # what no certificate can show is left out
            shown = replace(self, unshown=None)
        shown = replace(shown, looser=None)
        return Proof, tuple(getattr(shown, one.name) for one in fields(Proof))
