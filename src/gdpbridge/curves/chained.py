"""Curves of several steps from data set to data set, each of which tells apart as much.

With f the trade-off function of a step and g = 1 - f, k steps have g∘…∘g, and no less: the pairs
whose tests are nested attain it (Dong, Roth and Su 2022, theorem 2.14). In t = e^ε a curve is made
of lines a - b·t; the corners of g are their (b, a), and its edges have the slopes t of the knots
between them. Edges of g∘h have products of slopes, so that the knots of what is composed are sums
of knots: which ones is found by walking down both functions at once.

A curve that is not made of lines is taken by its chords between some knots, which are above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.linear import LinearCurve, linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, Segments
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import BALLS

__all__ = ["chained_curve", "masses_of_lines"]

_BITS = 256
_KEPT = 4


@dataclass(frozen=True)
class _Shape:
    """A curve on every real ε: lines by growing ε, and the knots between them."""

    lines: list[Line]
    knots: list[arb]


# at the working precision
_Shaped = Callable[[], _Shape]


def chained_curve(curve: Curve, knots: Sequence[Constant], steps: int) -> LinearCurve:
    """Return the curve of as many steps, of a curve that does not fall beyond the last knot.

    Args:
        curve: that of one step, convex in e^ε; between knots its chords are taken.
        knots: where its lines meet on ε > 0, growing.
        steps: how many, 2 or more.

    Raises:
        UndecidedError: if one of the values cannot be told from its neighbours.
    """
    shaped = _power(_remembered(lambda: _one_step(curve, knots)), steps)
    lines = _ChainedLines(shaped)
    if curve.end is not None:
        end = knots[-1]
        last: Constant = (
            steps * end if isinstance(end, Fraction) else lambda: steps * BALLS.constant(end)
        )
        return linear_curve(lines, ConstantTail(last, Fraction(0)), last)
    # of what is cut off, no more is known
    tail = ConstantTail if isinstance(curve.tail, ConstantTail) else PlateauTail
    return linear_curve(lines, tail(lambda: shaped().knots[-1], lines.beyond))


def masses_of_lines(
    curve: Curve, knots: Sequence[Constant], *, bends: bool
) -> tuple[list[Constant], list[Constant], Constant]:
    """Return the losses of the pair that has a curve made of lines, their masses, and P(L = ∞).

    The losses are the knots, on ε < 0 too, and 0 if it ``bends`` there.
    """
    shaped = _remembered(lambda: _one_step(curve, knots))
    # what fails outright comes first there
    first = int(curve.end is None)

    def mass(index: int) -> Constant:
        return lambda: shaped().lines[index].a - shaped().lines[index + 1].a

    def minus(knot: Constant) -> Constant:
        return -knot if isinstance(knot, Fraction) else lambda: -BALLS.constant(knot)

    losses = [*(minus(knot) for knot in reversed(knots)), Fraction(0), *knots]
    masses = [mass(first + index) for index in range(len(losses))]
    if not bends:
        del losses[len(knots)], masses[len(knots)]
    failure = Fraction(0) if curve.end is not None else lambda: shaped().lines[-1].a
    return losses, masses, failure


def _remembered(shaped: _Shaped) -> _Shaped:
    """Return shapes that are made once for all precisions up to one: values may be dear."""
    known: dict[int, _Shape] = {}

    def at() -> _Shape:
        bits = max(working_precision(), _BITS)
        enough = [one for one in known if one >= bits]
        if not enough:
            if len(known) >= _KEPT:
                known.clear()
            with precision(bits):
                known[bits] = shaped()
            enough = [bits]
        return known[min(enough)]

    return at


def _one_step(curve: Curve, knots: Sequence[Constant]) -> _Shape:
    """Return the chords between 0 and the knots, and their mirror images δ(1/t) on ε < 0."""
    ends = [arb(0), *(BALLS.constant(knot) for knot in knots)]
    at = [curve.enclose(end) for end in ends[:-1]]
    values = [(one.log().exp(), one.log_complement().exp()) for one in at]
    if curve.end is None:
        last = curve.enclose(ends[-1].upper())
        values.append((last.log().exp(), last.log_complement().exp()))
    else:
        values.append((arb(0), arb(1)))
    right = []
    for (eps, after), ((value, rest), (below, _)) in zip(
        pairwise(ends), pairwise(values), strict=True
    ):
        t = eps.exp()
        b = (value - below) / ((after - eps).expm1() * t)
        if not certainly(b > 0):
            raise UndecidedError("δ(ε) could not be told apart at two neighbouring knots")
        right.append(Line(value + b * t, rest - b * t, b, 1 - b))
    level, rest = values[-1]
    right.append(Line(level, rest, arb(0), arb(1)))
    left = [_mirrored(line) for line in reversed(right)]
    lines, every = [*left, *right], [*(-end for end in reversed(ends[1:])), *ends]
    if curve.end is None:
        # up to where a mechanism may fail outright δ is 1
        lines, every = [Line(arb(1), arb(0), arb(1), arb(0)), *lines], [arb.neg_inf(), *every]
    return _Shape(lines, every)


def _mirrored(line: Line) -> Line:
    return Line(line.b_complement, line.b, line.a_complement, line.a)


def _power(one: _Shaped, steps: int) -> _Shaped:
    """Return as many steps, by halves."""
    if steps == 1:
        return one
    half = _power(one, steps // 2)
    found = _after(half, half)
    return found if steps % 2 == 0 else _after(found, one)


def _after(inner: _Shaped, outer: _Shaped) -> _Shaped:
    with precision(_BITS):
        path = _path(inner(), outer())
    return _remembered(lambda: _composed(inner(), outer(), path))


def _path(inner: _Shape, outer: _Shape) -> list[tuple[int, int]]:
    """Return the corners of g∘h by falling α, as the corners that are reached in h and in g.

    Those that cannot be told apart are reached at once, which is right if they are the same, and
    else takes the chord over them.
    """
    at, found = (0, 0), [(0, 0)]
    last, most = len(inner.lines) - 1, len(outer.lines) - 1
    while at[0] < last:
        i, j = at
        # the value of h at its next corner, and the argument of g at its own
        if j == most:
            first, second = True, False
        else:
            gap = _gap(inner.lines[i + 1], outer.lines[j + 1])
            first, second = not certainly(gap < 0), not certainly(gap > 0)
        at = i + first, j + second
        found.append(at)
    return found


def _gap(inner: Line, outer: Line) -> arb:
    """Return a of the inner line less b of the outer one, from the numbers that are small."""
    plain, other = inner.a - outer.b, outer.b_complement - inner.a_complement
    return plain if plain.rad() < other.rad() else other


def _composed(inner: _Shape, outer: _Shape, path: list[tuple[int, int]]) -> _Shape:
    lines, knots = [], []
    slopes = [[knot.exp() for knot in shape.knots] for shape in (inner, outer)]
    for number, (i, j) in enumerate(path):
        h, g = inner.lines[i], outer.lines[j]
        if number:
            before = path[number - 1]
            knots.append(inner.knots[before[0]] + outer.knots[min(before[1], len(outer.knots) - 1)])
            if before[1] == j:
                # a corner of h, on the edge of g from this corner to the next one
                t, below = slopes[1][j], outer.lines[j + 1]
                a = below.a + t * _gap(h, below)
                g = Line(a, g.a_complement - t * _gap(h, g), g.b, g.b_complement)
            elif before[0] == i:
                # a corner of g, on such an edge of h
                t, below = slopes[0][i], inner.lines[i + 1]
                b = below.b - _gap(below, g) / t
                h = Line(h.a, h.a_complement, b, h.b_complement + _gap(h, g) / t)
        lines.append(Line(g.a, g.a_complement, h.b, h.b_complement))
    return _Shape(lines, knots)


class _ChainedLines(ArrayLines):
    """The lines on ε ≥ 0."""

    def __init__(self, shaped: _Shaped) -> None:
        self._shaped = shaped
        with precision(_BITS):
            shape = shaped()
            signs = [certainly(knot > 0) - certainly(knot < 0) for knot in shape.knots]
            # it is its own mirror image, so that a single knot about 0 is 0
            if signs.count(0) > 1:
                raise UndecidedError("several of the losses could not be told from 0")
            self._first = signs.index(1)
            lines, ends = shape.lines[self._first :], shape.knots[self._first :]
            starts = [arb(0), *ends[:-1]]
            rows = [
                (end, line.b.log(), line.at(end.exp()).log(), line.complement_at(start.exp()).log())
                for line, start, end in zip(lines, starts, ends, strict=False)
            ]
            if curve_ends := lines[-1].a.is_zero():
                rows[-1] = (*rows[-1][:2], arb.neg_inf(), rows[-1][3])
            floats = np.array([[float(one) for one in row] for row in rows]).reshape(len(rows), 4)
            if np.isnan(floats).any():
                raise UndecidedError("δ(ε) varies too little from loss to loss to be told apart")
            end, log_b, log_at_end, log_complement = floats.T
            self.log_beyond = -np.inf if curve_ends else float(lines[-1].a.log())
        self.beyond = Fraction(0) if curve_ends else lambda: self._shaped().lines[-1].a
        super().__init__(Segments(np.append(0.0, end[:-1]), end, log_b, log_at_end, log_complement))

    def line(self, index: int) -> Line:
        """Return a line."""
        return self._shaped().lines[self._first + index]

    def end(self, index: int) -> arb:
        """Return the knot that it ends at."""
        return self._shaped().knots[self._first + index]
