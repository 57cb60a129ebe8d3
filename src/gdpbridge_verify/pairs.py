"""A pair of densities as formulas of x, for the checker: δ is the larger one of both integrals.

∫(p - t·q)⁺ dx, t = e^ε, is added up over cells: where p - t·q is of one sign it is a difference of
masses, those of Taylor's polynomials with their remainders; elsewhere the place where the sign
changes is bracketed on the polynomial of p - t·q. Whole numbers x are cells without a width. What
lies beyond all cells, or on cells too narrow to matter, counts for δ from above, not from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.numbers import about
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided
from gdpbridge_verify.taylor import Series, Taylor, integral, integral_to, slope_of, value_of
from gdpbridge_verify.trees import Node

_MOST_CELLS, _MOST_POINTS, _MOST_DOUBLINGS = 4000, 20_000, 40
# what a density may miss of 1, and have too much of it where there is no end
_ROUNDED, _OVER = Fraction(1, 10**9), Fraction(1, 10**18)
# how often a cell is cut, and Newton's method repeated
_MOST_CUTS, _MOST_STEPS = 90, 12
_COST_OF_TERM, _COST_OF_CELL = 4.0, 100.0


class Side(NamedTuple):
    """A density on a cell: its mass, what it lies in, and its polynomial about the middle."""

    mass: Interval
    value: Interval
    series: Series


class Piece(NamedTuple):
    """A cell, half as wide as `reach`, and what P/Q lies in; of a whole number no polynomial."""

    p: Side
    q: Side
    reach: Fraction
    ratio: Interval | None = None

    @property
    def swapped(self) -> Piece:
        """The same with P and Q exchanged, but for the ratio."""
        return Piece(self.q, self.p, self.reach, self.ratio)


class _Order(NamedTuple):
    """Pieces by falling least ratio p/q, and sums of the masses of the first ones."""

    pieces: list[Piece]
    least: list[mpfr]
    largest: list[mpfr]
    sums: list[tuple[Interval, Interval]]


class Pair:
    """Two densities, cut into pieces.

    Attributes:
        pieces: the cells.
        rest: what P and Q may have besides them, at most.
        scale: the masses of P and Q where these are divided by them, else 1.
    """

    def __init__(
        self, nodes: tuple[Node, Node], ends: tuple[Fraction | None, Fraction | None],
        of: Arithmetic, *, integers: bool,
    ) -> None:  # fmt: skip
        self.of, self.nodes, self.integers = of, nodes, integers
        self.bounded = None not in ends
        # so that a cell of about the width of what is smooth has the precision
        self.taylor = Taylor(of, 0 if integers else 2 * math.ceil(of.precision / 12))
        self._slack = Fraction(1, 1 << (of.precision - 12))
        # what a cell may add to δ without its sign being known
        self._unseen = self._slack * 4096
        self.pieces: list[Piece] = []
        self._unknown = [of.exactly(0), of.exactly(0)]
        # of cells that are too narrow to matter, p and q
        self._narrow: list[tuple[Interval, Interval]] = []
        self._gather(*ends)
        totals = self._totals()
        most = 1 + (_ROUNDED if self.bounded else _OVER)
        for total, unknown, name in zip(totals, self._unknown, "pq", strict=True):
            if not (total >= 1 - _ROUNDED and total <= most and unknown <= _ROUNDED):
                if total + unknown < 1 - _ROUNDED or total > most:
                    raise Refused(f"mechanism.{name}", "it is no density: its mass is not 1")
                raise Undecided(f"mechanism.{name}")
        zero = of.exactly(0)
        missing = [zero if self.bounded else 1 - total for total in totals]
        self.rest = [
            Interval(of, mpfr(0), max((one + two).high, mpfr(0)))
            for one, two in zip(missing, self._unknown, strict=True)
        ]
        one = of.exactly(1)
        self.scale = (
            (
                totals[0].hull(totals[0] + self._unknown[0]),
                totals[1].hull(totals[1] + self._unknown[1]),
            )
            if self.bounded
            else (one, one)
        )
        self._orders = [self._ordered(backward=backward) for backward in (False, True)]

    # --- cells ------------------------------------------------------------------------------

    def _gather(self, low: Fraction | None, high: Fraction | None) -> None:
        if self.integers:
            low = None if low is None else Fraction(math.ceil(low))
            high = None if high is None else Fraction(math.floor(high) + 1)
        cut = self._points if self.integers else self._cut
        if low is not None and high is not None:
            cut(low, high)
            return
        one = low if low is not None else high
        left, right = (one, one) if one is not None else (Fraction(-1), Fraction(1))
        if one is None:
            cut(left, right)
        for power in range(_MOST_DOUBLINGS):
            step = Fraction(1 << power)
            if high is None:
                cut(right, right + step)
                right += step
            if low is None:
                cut(left - step, left)
                left -= step
            if all(total >= 1 - Fraction(1, 1 << 78) for total in self._totals()):
                return
        # what is missing is counted anyway

    def _totals(self) -> list[Interval]:
        sides = ([one.p.mass for one in self.pieces], [one.q.mass for one in self.pieces])
        return [sum(masses, self.of.exactly(0)) for masses in sides]

    def _points(self, low: Fraction, high: Fraction) -> None:
        if high - low > _MOST_POINTS or len(self.pieces) > _MOST_POINTS:
            raise OutOfWork
        for x in range(int(low), int(high)):
            at = self.of.exactly(x)
            sides = [self._not_negative(k, self.taylor.about(self.nodes[k], at)[0]) for k in (0, 1)]
            if any(side.high > 0 for side in sides):
                p, q = (Side(one, one, []) for one in sides)
                self.pieces.append(Piece(p, q, Fraction(0)))

    def _not_negative(self, number: int, value: Interval) -> Interval:
        """Return a mass without what cannot be."""
        if value.high < 0:
            raise Malformed(f"mechanism.{'pq'[number]}", "below 0", "a density, not negative")
        if not (value.low >= 0 or value.high < self._slack):
            raise Undecided(f"mechanism.{'pq'[number]}")
        return Interval(self.of, max(value.low, mpfr(0)), value.high)

    def _cut(self, low: Fraction, high: Fraction) -> None:
        waiting = [(low, high)]
        while waiting:
            left, right = waiting.pop()
            if len(self.pieces) + len(waiting) + 8 * len(self._narrow) > _MOST_CELLS:
                raise OutOfWork
            found = self._piece(left, right)
            if found is None:
                middle = (left + right) / 2
                waiting += [(middle, right), (left, middle)]
            elif isinstance(found, Piece):
                self.pieces.append(found)

    def _piece(self, low: Fraction, high: Fraction) -> Piece | bool | None:
        """Return a cell; True for one that does not matter, None for one to be halved."""
        reach, middle = (high - low) / 2, (low + high) / 2
        around = self.of.between(low, high)
        self.of.charge(_COST_OF_CELL)
        wide = [self.taylor.about(node, around) for node in self.nodes]
        values = [one[0] for one in wide]
        tops = [one.high for one in values]
        for number, one in enumerate(wide):
            if one[0].high < 0:
                raise Malformed(f"mechanism.{'pq'[number]}", "below 0", "a density, not negative")
        least = self._slack / 64
        unseen = not self.bounded and all(top * 2 * reach <= least for top in values)
        if unseen or (reach <= least and all(top < mpfr("inf") for top in tops)):
            for number, value in enumerate(values):
                self._unknown[number] += Interval(self.of, mpfr(0), value.high) * (2 * reach)
            self._narrow.append((values[0], values[1]))
            return True
        if reach < Fraction(1, 1 << 200):
            raise Refused("mechanism", f"a density is not defined near x = {about(middle)}")
        sides = []
        for node, one in zip(self.nodes, wide, strict=True):
            side = self._side(node, one, middle, reach)
            if side is None:
                return None
            sides.append(side)
        p, q = sides
        return Piece(p, q, reach, self._ratio_on(p.series, q.series, wide, reach))

    def _ratio_on(
        self, p: Series, q: Series, wide: list[Series], reach: Fraction
    ) -> Interval | None:
        """Enclose p/q on a cell by its own polynomial, at the ends alone where it is monotonic."""
        order = self.taylor.order
        last = self.taylor.quotient(*wide)[order:] or [self.of.exactly(0)]
        series = self.taylor.quotient(p[:-1], q[:-1])[:order] + last
        around = self.of.between(-reach, reach)
        slope = slope_of(series, around)
        if not (slope >= 0 or slope <= 0):
            return value_of(series, around)
        low, high = (value_of(series, self.of.exactly(end)) for end in (-reach, reach))
        return low.hull(high)

    def _side(self, node: Node, wide: Series, middle: Fraction, reach: Fraction) -> Side | None:
        order, size = self.taylor.order, self.of.exactly(reach)
        last = wide[order] if len(wide) > order else self.of.exactly(0)
        off = (last.high - last.low) * mpfr(reach) ** (order + 1)
        if not (wide[0].low >= 0 and off < self._slack):
            return None
        series = (*self.taylor.about(node, self.of.exactly(middle))[:order], last)
        padded = [*series[:-1], *[self.of.exactly(0)] * (order + 1 - len(series)), last]
        mass = integral_to(padded, size) - integral_to(padded, -size)
        return Side(mass, wide[0], padded)

    # --- δ ----------------------------------------------------------------------------------

    def _ordered(self, *, backward: bool) -> _Order:
        of, inf = self.of, mpfr("inf")
        rows = []
        for piece in self.pieces:
            one = piece.swapped if backward else piece
            p, q = one.p.value, one.q.value
            least = of.down.div(p.low, q.high) if q.high > 0 else (inf if p.low > 0 else mpfr(0))
            largest = of.up.div(p.high, q.low) if q.low > 0 else (inf if p.high > 0 else mpfr(0))
            if one.ratio is not None:
                known = 1 / one.ratio if backward else one.ratio
                least, largest = max(least, known.low), min(largest, known.high)
            rows.append((least, largest, one))
        rows.sort(key=lambda row: row[0], reverse=True)
        zero = of.exactly(0)
        masses = ((one.p.mass, one.q.mass) for _, _, one in rows)
        sums = accumulate(masses, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=(zero, zero))
        least, largest, ordered = ([row[k] for row in rows] for k in range(3))
        return _Order(ordered, least, largest, list(sums))

    def delta(self, t: Interval, *, backward: bool) -> Interval:
        """Enclose ∫(p - t·q)⁺, or with P and Q exchanged."""
        order, (first, second) = self._orders[backward], self.scale[:: -1 if backward else 1]
        t = t * first / second
        low, high = 0, len(order.least)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if order.least[middle] >= t.high else (low, middle)
        p, q = order.sums[low]
        total = p - t * q
        self.of.charge(len(order.least) * 0.5)
        for number in range(low, len(order.least)):
            if order.largest[number] > t.low:
                total += self._above(order, number, t)
        total = total / first
        zero = mpfr(0)
        top = (total + self.rest[backward] / first).high
        return Interval(self.of, max(total.low, zero), max(top, zero))

    def _above(self, order: _Order, number: int, t: Interval) -> Interval:
        """Enclose what a cell adds; of where p/q hardly differs from t, nothing but its size."""
        of, piece = self.of, order.pieces[number]
        if order.largest[number] < mpfr("inf"):
            of.charge(_COST_OF_TERM)
            least, largest = (
                Interval(of, end, end) for end in (order.least[number], order.largest[number])
            )
            # q·(p/q - t) is at most this, and at least minus that
            over, under = (largest - t) * piece.q.mass, (t - least) * piece.q.mass
            if over <= self._unseen:
                return Interval(of, mpfr(0), max(over.high, mpfr(0)))
            if under <= self._unseen:
                more = Interval(of, mpfr(0), max(under.high, mpfr(0)))
                return piece.p.mass - t * piece.q.mass + more
        return self._positive(piece, t)

    def _positive(self, piece: Piece, t: Interval) -> Interval:
        """Enclose the integral of the positive part of p - t·q on a cell."""
        if not piece.reach:
            return (piece.p.mass - t * piece.q.mass).positive()
        self.of.charge(_COST_OF_TERM * len(piece.p.series))
        series = [a - t * b for a, b in zip(piece.p.series, piece.q.series, strict=True)]
        total = self.of.exactly(0)
        for found in self._parts(series, piece.reach):
            total += found
        return total

    def _parts(self, series: Series, reach: Fraction) -> Iterator[Interval]:
        """Yield the integrals of the positive part on ranges that are halved as need be."""
        waiting, cuts = [(-reach, reach)], 0
        while waiting:
            low, high = waiting.pop()
            self.of.charge(2 * _COST_OF_TERM * len(series))
            around = self.of.between(low, high)
            slope = slope_of(series, around)
            if slope >= 0 or slope <= 0:
                yield self._monotonic(series, low, high, rises=bool(slope >= 0))
                continue
            middle = (low + high) / 2
            at, half = self.of.exactly(middle), (high - low) / 2
            value = value_of(series, at) + slope * self.of.between(-half, half)
            if value >= 0:
                yield integral(series, low, high, self.of)
            elif value <= 0:
                continue
            elif cuts >= _MOST_CUTS or value * (high - low) <= self._unseen:
                yield Interval(self.of, mpfr(0), value.high) * (high - low)
            else:
                cuts += 1
                waiting += [(low, middle), (middle, high)]

    def _monotonic(self, series: Series, low: Fraction, high: Fraction, *, rises: bool) -> Interval:
        of = self.of
        ends = [value_of(series, of.exactly(end)) for end in (low, high)]
        least, most = ends if rises else ends[::-1]
        if least >= 0:
            return integral(series, low, high, of)
        if most <= 0:
            return of.exactly(0)
        left, right = self._bracket(series, low, high, rises=rises)
        start, stop = (right, high) if rises else (low, left)
        inner = value_of(series, of.exactly(right if rises else left)).positive()
        inside = Interval(of, mpfr(0), inner.high) * (right - left)
        return integral(series, start, stop, of) + inside

    def _bracket(
        self, series: Series, low: Fraction, high: Fraction, *, rises: bool
    ) -> tuple[Fraction, Fraction]:
        """Return a narrow range, before and after which the signs are proved; else the whole."""
        at, width, sign = (low + high) / 2, high - low, 1 if rises else -1
        bits, down = self.of.precision, self.of.down
        most = mpfr(width * (1 << bits))
        for _ in range(_MOST_STEPS):
            self.of.charge(2 * _COST_OF_TERM * len(series))
            place = self.of.exactly(at)
            slope = slope_of(series, place)
            if not (slope > 0 or slope < 0):
                break
            step = down.mul_2exp((value_of(series, place) / slope).low, bits)
            if not step.is_finite():
                break
            # of few bits, as it is a place and no number
            moved = at - Fraction(int(down.floor(min(max(step, -most), most))), 1 << bits)
            # no series is of what lies beyond the ends
            moved = min(max(moved, low), high)
            near, at = abs(moved - at) * (1 << bits // 2) < width, moved
            if near:
                break
        for power in range(bits // 2, 2, -8):
            self.of.charge(2 * _COST_OF_TERM * len(series))
            left, right = at - width / (1 << power), at + width / (1 << power)
            before = left <= low or value_of(series, self.of.exactly(left)) * sign <= 0
            after = right >= high or value_of(series, self.of.exactly(right)) * sign >= 0
            if before and after:
                return max(left, low), min(right, high)
        return low, high

    # --- the largest loss -------------------------------------------------------------------

    def largest(self, *, backward: bool) -> Interval | None:
        """Enclose the largest ratio p/q, None where it is not known to be bounded."""
        order, of = self._orders[backward], self.of
        low, high = mpfr(0), mpfr(0)
        for pair in self._narrow:
            p, q = pair[::-1] if backward else pair
            if p.high > 0:
                if not q > 0:
                    return None
                low, high = max(low, (p / q).low), max(high, (p / q).high)
        for piece, most in zip(order.pieces, order.largest, strict=True):
            if most <= low:
                continue
            found = self._top(piece, low)
            if found is None:
                return None
            low, high = max(low, found.low), max(high, found.high)
        first, second = self.scale[:: -1 if backward else 1]
        return Interval(of, low, max(low, high)) * second / first

    def _top(self, piece: Piece, known: mpfr) -> Interval | None:
        """Enclose the largest ratio on a cell, or at least from what is known on."""
        of = self.of
        if not piece.reach:
            return piece.p.mass / piece.q.mass if piece.q.mass > 0 else None
        low, high, waiting = known, mpfr(0), [(-piece.reach, piece.reach)]
        for _ in range(4 * _MOST_CUTS):
            if not waiting:
                return Interval(of, low, high)
            left, right = waiting.pop()
            of.charge(6 * _COST_OF_TERM * len(piece.p.series))
            around = of.between(left, right)
            p, q = (value_of(one.series, around) for one in (piece.p, piece.q))
            if p.high <= 0:
                continue
            ends = [self._ratio(piece, end) for end in (left, right)]
            if not q > 0 or None in ends:
                if right - left < piece.reach / (1 << 40):
                    return None
            elif (p / q).high <= low:
                continue
            else:
                values = [one for one in ends if one is not None]
                low = max(low, *(one.low for one in values))
                slope = slope_of(piece.p.series, around) * q - slope_of(piece.q.series, around) * p
                flat = (p / q).high - low <= abs(low) * mpfr(2) ** -50
                if slope >= 0 or slope <= 0 or flat:
                    high = max(high, *(one.high for one in values))
                    high = (
                        max(high, (p / q).high) if flat and not (slope >= 0 or slope <= 0) else high
                    )
                    continue
            middle = (left + right) / 2
            waiting += [(left, middle), (middle, right)]
        return None

    def _ratio(self, piece: Piece, at: Fraction) -> Interval | None:
        place = self.of.exactly(at)
        p, q = (value_of(one.series, place) for one in (piece.p, piece.q))
        return p / q if q > 0 else None
