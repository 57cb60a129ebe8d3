"""What a search leaves behind for a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

__all__ = ["Proof", "ProvedCell"]


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


@dataclass(frozen=True)
class Proof:
    """The evidence for an interval; empty where the mechanism itself is evidence enough.

    Attributes:
        cells: adjacent ranges from 0 on.
        witness: where the lower end is attained; "tail" for the tail parameter; None if no
            witness is needed.
        tail_from: from where on the tail's rate of decay is the proof, if it is.
        bits: the precision of the search, to which breakpoints are bracketed.
    """

    cells: tuple[ProvedCell, ...] = ()
    witness: Fraction | Literal["tail"] | None = None
    tail_from: Fraction | None = None
    bits: int = 256
