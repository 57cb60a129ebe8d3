"""Runs of Skellam noise, for the checker: losses that dominate, by δ at some ε.

δ of one run, the same in both directions, is convex in t = e^ε, and so below its chords between any
rows of ε and a number that is at least δ there. The worst mechanism with these rows, as of a table,
dominates it, and so do its runs. Rows are multiples of one number, up to where δ is tiny; what they
leave of δ counts as a failure.
"""

from __future__ import annotations

import math
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Work, exact
from gdpbridge_verify.finite import Finite
from gdpbridge_verify.listed import worst_of
from gdpbridge_verify.parameters import Values
from gdpbridge_verify.values import Skellam

# of δ: bits that are computed, those of a row, and what is left out
_BITS, _FINE, _TINY = 96, 1 << 128, Fraction(1, 1 << 70)
# rows of one run, and of all runs together; the least of one
_MOST, _MOST_OF_ALL, _LEAST = 768, 1 << 18, 32
# in the search for the end
_HALVINGS = 3

Row = tuple[Fraction, Fraction]


def of_skellam(values: Values, times: int, work: Work) -> Finite:
    """Return the losses of one of so many runs."""
    of = Arithmetic(_BITS, work)
    known = Skellam(values, of)

    def delta(at: Fraction) -> Fraction:
        found = exact(known.level(of.exactly(at)).value.high)
        return Fraction(math.ceil(found * _FINE), _FINE)

    end = Fraction(1)
    while delta(end) <= _TINY:
        end /= 2
    while delta(2 * end) > _TINY:
        end *= 2
    low, end = end, 2 * end
    for _ in range(_HALVINGS):
        middle = (low + end) / 2
        low, end = (low, middle) if delta(middle) <= _TINY else (middle, end)
    count = max(_LEAST, min(_MOST, _MOST_OF_ALL // times))
    rows: list[Row] = []
    for number in range(count + 1):
        row = end * number / count, delta(end * number / count)
        if rows and row[1] >= rows[-1][1]:
            break
        # where slopes might rise by less than nothing the row between is left out
        while rows and not _rises(rows, row, of):
            rows.pop()
        rows.append(row)
    return worst_of("mechanism", rows)


def _rises(rows: list[Row], row: Row, of: Arithmetic) -> bool:
    """Whether slopes in t rise at the last row; the first of them is from (-1, 1)."""
    eps, delta = rows[-1]
    t = of.exactly(eps).exp()
    before, above = (of.exactly(-1), Fraction(1))
    if len(rows) > 1:
        before, above = of.exactly(rows[-2][0]).exp(), rows[-2][1]
    falls = of.exactly(above - delta) / (t - before)
    return bool(falls >= of.exactly(delta - row[1]) / (of.exactly(row[0]).exp() - t))
