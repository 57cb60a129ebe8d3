"""Runs of a trade-off function, for the checker: the losses of the pair that attains it.

f is linear between rows (α, β), from α = 0, where P has 1 - β that Q never has, to β = 0, where Q
has 1 - α that P never has. Between two rows Q has the mass by which α rises, P that by which β
falls, and the loss is the logarithm of their ratio.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.bounded import Atom, Pair
from gdpbridge_verify.listed import RATIO, ratio
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.samples import Atomic
from gdpbridge_verify.transforms import Runs

_MOST_ROWS, _COST_OF_LOSS = 5000, 25.0
_ROWS = f"{RATIO}:{RATIO}(?: {RATIO}:{RATIO})+"

Row = tuple[Fraction, Fraction]


class Slopes(Atomic):
    """One run in one direction.

    Args:
        rows: α and β, growing and falling.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.failure = 1 - rows[0][1]
        self.symmetric = rows == _mirrored(rows)
        edges = list(pairwise(rows))[::-1]
        self._masses = [(one[1] - other[1], other[0] - one[0]) for one, other in edges]

    def bounded(self, of: Arithmetic) -> Pair:
        """Return the losses."""
        of.charge(_COST_OF_LOSS * len(self._masses))
        losses = [of.exactly(p / q).log() for p, q in self._masses]
        over: list[Fraction | Interval] = [loss - losses[0] for loss in losses]
        over[0] = Fraction(0)
        found = [
            Atom(loss, of.exactly(p), of.exactly(q))
            for loss, (p, q) in zip(over, self._masses, strict=True)
        ]
        return Pair(losses[0], found, None, self.failure)


def of_tradeoff(field: str, text: str, times: int) -> Runs:
    """Read rows ``α:β α:β …`` of a convex function, and return so many runs of the pair.

    Raises:
        Malformed: for rows of no such function.
    """
    if re.fullmatch(_ROWS, text) is None:
        raise Malformed(field, text[:40], "α:β α:β …, each p or p/q, two rows at least")
    pairs = (row.split(":") for row in text.split())
    rows = [(ratio(field, alpha), ratio(field, beta)) for alpha, beta in pairs]
    rising = all(one[0] < other[0] and one[1] > other[1] for one, other in pairwise(rows))
    if len(rows) > _MOST_ROWS or not rising or not (rows[0][0] == 0 == rows[-1][1]):
        allowed = f"at most {_MOST_ROWS} rows, α growing from 0 and β falling to 0"
        raise Malformed(field, text[:40], allowed)
    slopes = [(one[1] - other[1]) / (other[0] - one[0]) for one, other in pairwise(rows)]
    if rows[0][1] > 1 or rows[-1][0] > 1 or any(a <= b for a, b in pairwise(slopes)):
        raise Malformed(field, text[:40], "rows of a convex function, at most 1")
    forward = Slopes(rows)
    return Runs(forward, times, None if forward.symmetric else Slopes(_mirrored(rows)))


def _mirrored(rows: list[Row]) -> list[Row]:
    return [(beta, alpha) for alpha, beta in reversed(rows)]
