"""How far one record moves C·x, for the checker: the matrix mechanism is Gaussian with that.

A record changes some steps of x, each by a vector of norm at most 1. With the inner products
G = CᵀC of columns it moves C·x by at most √S, S = Σ|G_ij| over the steps i, j of its pattern, and
by that much if no G_ij is negative. The patterns are any one step; every b-th step, k of them at
most; or up to k steps at least b apart, where C is such that G_ij = 0 for these (so that S is a sum
of G_ii), or a lower triangular Toeplitz matrix whose coefficients do not rise and are not negative:
the pattern 0, b, 2b, … is worst then (Kalinin and Lampert 2024, theorem 2). Numbers are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from gmpy2 import mpz

from gdpbridge_verify.arithmetic import Work
from gdpbridge_verify.parameters import Values
from gdpbridge_verify.refusal import Malformed, Refused

# as doubles have
_ENTRY = re.compile(r"(-?)0x([0-9a-f]{1,16})p([+-][0-9]{1,4})")
_MOST_POWER = 1200
_MOST_COLUMNS = 1024
# microseconds of a product, more of it for each bit of its numbers, and of a pair of columns
_COST, _COST_OF_BIT, _COST_OF_PAIR = 0.15, 0.00004, 3.0


def square_of(values: Values, text: str, work: Work) -> tuple[Fraction, bool]:
    """Return S, and whether some record moves C·x so far.

    Args:
        values: ``steps``, ``participations``, ``separation``, and whether they are ``fixed``.
        text: the rows of C, or only one: the first column of a Toeplitz matrix.
        work: what may be spent.
    """
    steps, most, apart = (int(values[n]) for n in ("steps", "participations", "separation"))
    rows, scale = _rows(text)
    first, *others = rows
    if not others and len(first) > steps:
        raise Malformed("mechanism.steps", steps, "at least the number of coefficients")
    if not others and all(a >= b for a, b in zip(first, [*first[1:], 0], strict=True)):
        return Fraction(int(_falling(first, steps, most, apart, work)), scale), True
    columns = _columns(rows, steps)
    found, attained = _largest(columns, most, apart, work, is_fixed=bool(values["fixed"]))
    return Fraction(int(found), scale), attained


def _columns(rows: list[list[mpz]], steps: int) -> list[tuple[mpz, ...]]:
    """Return the columns of C."""
    if len(rows) > 1:
        if {len(row) for row in rows} != {steps}:
            raise Malformed("mechanism.steps", steps, "the length of each row of entries")
        return list(zip(*rows, strict=True))
    if steps > _MOST_COLUMNS:
        raise Malformed("mechanism.steps", steps, f"at most {_MOST_COLUMNS} of such entries")
    [first] = rows
    return [(*(mpz(0),) * n, *first, *(mpz(0),) * steps)[:steps] for n in range(steps)]


def _largest(
    columns: list[tuple[mpz, ...]], most: int, apart: int, work: Work, *, is_fixed: bool
) -> tuple[mpz, bool]:
    """Return S of columns, in their unit, and whether some record moves C·x so far."""
    steps = len(columns)
    cost = _COST + _COST_OF_BIT * max(one.bit_length() for column in columns for one in column)

    def product(i: int, j: int) -> mpz:
        work.charge(_COST_OF_PAIR + cost * len(columns[0]))
        return sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), mpz(0))

    squares = [product(i, i) for i in range(steps)]
    if most == 1:
        return max(squares), True
    if is_fixed:
        products = {(i, j): product(i, j) for i in range(steps) for j in range(i + 1)}
        patterns = [range(start, steps, apart)[:most] for start in range(steps)]
        work.charge(_COST * sum(len(pattern) ** 2 for pattern in patterns))
        found = max(_sum(products, pattern) for pattern in patterns)
        return found, min(products.values()) >= 0
    if any(product(i, j) for i in range(apart, steps) for j in range(i - apart + 1)):
        raise Refused("mechanism.entries", "of such steps the sensitivity is not known")
    work.charge(_COST * steps**2)
    return _best(squares, min(most, steps), apart), True


def _rows(text: str) -> tuple[list[list[mpz]], Fraction]:
    """Return whole numbers, and what their products are multiples of one over."""
    written = [[_ENTRY.fullmatch(word) for word in row.split()] for row in text.split(";")]
    flat = [one for row in written for one in row]
    if not all(written) or not all(one and abs(int(one[3])) <= _MOST_POWER for one in flat):
        raise Malformed("mechanism.entries", text[:40], "rows of binary numbers, such as 0x1p-1")
    rows = [[(int(f"{one[1]}{one[2]}", 16), int(one[3])) for one in row if one] for row in written]
    least = min(power for row in rows for _, power in row)
    scaled = [[mpz(number) << (power - least) for number, power in row] for row in rows]
    return scaled, Fraction(4) ** -least


def _falling(first: list[mpz], steps: int, most: int, apart: int, work: Work) -> mpz:
    """Return S of a Toeplitz matrix whose coefficients fall: the steps 0, b, 2b, … together."""
    total = [mpz(0)] * steps
    for start in range(0, min(most * apart, steps), apart):
        work.charge(_COST * len(first))
        for number, one in enumerate(first[: steps - start]):
            total[start + number] += one
    return sum((one * one for one in total), mpz(0))


def _best(weights: list[mpz], most: int, apart: int) -> mpz:
    """Return the largest sum of so many weights that are apart."""
    best = [mpz(0)] * (len(weights) + 1)
    for _ in range(most):
        now = [mpz(0)]
        for i, weight in enumerate(weights):
            now.append(max(now[-1], best[max(i + 1 - apart, 0)] + weight))
        best = now
    return best[-1]


def _sum(products: dict[tuple[int, int], mpz], pattern: Iterable[int]) -> mpz:
    places = list(pattern)
    return sum((abs(products[max(i, j), min(i, j)]) for i in places for j in places), mpz(0))
