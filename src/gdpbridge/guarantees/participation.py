"""How far one record moves C·x where it takes part in several rows of x: the sensitivity of C.

A record changes rows of x, each by a vector of norm at most 1, in a pattern of steps. With the Gram
matrix G = CᵀC it moves C·x by at most √S, S = Σ |G_ij| over the steps i, j of the pattern, and by
that much if no G_ij is negative (Choquette-Choo et al. 2023). Patterns: one step; every b-th step;
or up to k steps at least b apart. For the last one, G_ij = 0 for steps b apart or more leaves the
diagonal alone, and the best pattern is found exactly; else each row of |G| is bounded by its own
best pattern first.

A Toeplitz matrix whose coefficients do not rise and are not negative is worst for the steps 0, b,
2b, …: moving a pattern to earlier steps only adds rows (Kalinin and Lampert 2024, theorem 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import float_above, to_fraction

__all__ = [
    "MAX_SIZE",
    "Participation",
    "Sensitivity",
    "of_banded",
    "of_matrix",
    "of_toeplitz",
]

MAX_SIZE = 1024
_BITS = 512
# more than the roundings of a sum of so many positive floats
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Participation:
    """In which steps a record may take part.

    Attributes:
        most: k, in how many at most.
        separation: b, how far apart they are at least; of one step it says nothing.
        fixed: whether they are exactly b apart.
    """

    most: int = 1
    separation: int = 1
    fixed: bool = False


@dataclass(frozen=True)
class Sensitivity:
    """The square of a sensitivity.

    Attributes:
        square: S, or hardly more.
        is_attained: whether some record moves the answer by √S.
    """

    square: Fraction
    is_attained: bool


def of_toeplitz(
    coefficients: Sequence[Fraction], steps: int, among: Participation
) -> Sensitivity | None:
    """Return that of a lower triangular Toeplitz matrix, None unless its coefficients fall to ≥ 0.

    Args:
        coefficients: of the first column, as many as there are steps at most; 0 beyond.
        steps: the size of the matrix.
        among: the pattern.
    """
    padded = [*coefficients[:steps], Fraction(0)]
    if padded != sorted(padded, reverse=True):
        return None
    total = [Fraction(0)] * steps
    for start in range(0, min(among.most * among.separation, steps), among.separation):
        for number, one in enumerate(coefficients[: steps - start]):
            total[start + number] += one
    return Sensitivity(sum((one * one for one in total), Fraction(0)), True)


def of_banded(matrix: Floats, steps: int, separation: int) -> Sensitivity | None:
    """Return that of one step, where steps so far apart touch no row together; None if some do.

    Args:
        matrix: C, or the coefficients of a Toeplitz matrix as one row.
        steps: the number of columns.
        separation: b; C must be lower triangular and 0 from b below its diagonal on.

    Returns:
        The largest square of a column; attained if all columns of some pattern j, j + b, ... have
        it, as many as there are steps to take part in.
    """
    squares: list[Fraction]
    if matrix.ndim == 1:
        if matrix[separation:].any():
            return None
        sums = [Fraction(0)]
        for one in matrix[: min(separation, steps)].tolist():
            sums.append(sums[-1] + Fraction(one) ** 2)
        squares = [sums[min(len(sums) - 1, steps - column)] for column in range(steps)]
    else:
        below = np.arange(matrix.shape[0])[:, None] - np.arange(steps)[None, :]
        if matrix[(below < 0) | (below >= separation)].any():
            return None
        columns = (matrix[j : j + separation, j].tolist() for j in range(steps))
        squares = [sum((Fraction(one) ** 2 for one in column), Fraction(0)) for column in columns]
    largest, most = max(squares), math.ceil(steps / separation)
    patterns = (squares[first::separation] for first in range(min(separation, steps)))
    return Sensitivity(largest, any(one == [largest] * most for one in patterns))


def of_matrix(matrix: Floats, among: Participation) -> Sensitivity:
    """Return that of a matrix of at most 1024 columns, whose floats are taken as they are."""
    with precision(_BITS):
        columns = arb_mat(matrix.T.tolist())
        gram = columns * columns.transpose()
        size = matrix.shape[1]
        found = [[gram[i, j] for j in range(size)] for i in range(size)]
    attained = all(certainly(one >= 0) for row in found for one in row)
    if among.most == 1:
        return Sensitivity(max(_above(found[i][i]) for i in range(size)), True)
    step = among.separation
    if among.fixed:
        patterns = [range(first, size, step)[: among.most] for first in range(size)]
        return Sensitivity(max(_sum(found, pattern) for pattern in patterns), attained)
    if all(one.is_zero() for i in range(size) for one in found[i][i + step :]):
        weights = [_above(found[i][i]) for i in range(size)]
        return Sensitivity(_best(weights, among.most, step), True)
    sizes = np.array([[float_above(abs(one)) for one in row] for row in found])
    return Sensitivity(_by_rows(sizes, among), False)


def _above(value: arb) -> Fraction:
    return to_fraction(value.upper())


def _sum(gram: Sequence[Sequence[arb]], pattern: Sequence[int]) -> Fraction:
    with precision(_BITS):
        return _above(sum((abs(gram[i][j]) for i in pattern for j in pattern), arb(0)))


def _best(weights: Sequence[Fraction], most: int, step: int) -> Fraction:
    """Return the largest sum of so many weights at least ``step`` apart."""
    before = [Fraction(0)] * (len(weights) + 1)
    for _ in range(most):
        now = [Fraction(0)]
        for number, weight in enumerate(weights):
            now.append(max(now[-1], before[max(number + 1 - step, 0)] + weight))
        if now == before:
            break
        before = now
    return before[-1]


def _by_rows(sizes: Floats, among: Participation) -> Fraction:
    """Bound each row by its best pattern, and the sum of rows by the best pattern of these."""
    count, step = sizes.shape[0], among.separation
    places = np.arange(count)
    apart = np.abs(places[:, None] - places[None, :]) >= step
    rows = _best_floats(np.where(apart, sizes, 0.0), among.most - 1, step) + np.diag(sizes)
    total = _best_floats(rows[None, :] * (1 + _ROUNDING), among.most, step)[0]
    return Fraction(float(total * (1 + _ROUNDING)))


def _best_floats(weights: Floats, most: int, step: int) -> Floats:
    """Return the best sums of each row."""
    before = np.zeros((weights.shape[0], weights.shape[1] + 1))
    for _ in range(most):
        now = np.zeros_like(before)
        for number in range(weights.shape[1]):
            added = before[:, max(number + 1 - step, 0)] + weights[:, number]
            now[:, number + 1] = np.maximum(now[:, number], added)
        if (now == before).all():
            break
        before = now
    return np.asarray(before[:, -1], dtype=np.float64)
