"""The loss of a pair of densities, by proved masses: how likely it is above a number.

The line is cut into cells. On each of them the masses of p and q are those of their Taylor
polynomials, with the remainder enclosed on the whole cell, and the loss log p/q rises, or falls, or
hardly varies, so that it takes a value at one place at most, which is bracketed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, arb_series

from gdpbridge.errors import UndecidedError
from gdpbridge.losses.density_masses import ORDER, Cell, Density, Side, side_of
from gdpbridge.losses.shares import Shares, places
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below, to_fraction

__all__ = ["Pair"]

_BITS = 192
# what the loss may vary where it is taken to be constant, and where that does not matter
_FLAT = arb(2) ** -70
_UNSEEN = arb(2) ** -85
_MOST_CELLS = 50_000
# of the mass beyond the last cell of an unbounded range; how far it goes at most
_REST = arb(2) ** -75
_FARTHEST = 128
_NEWTON_STEPS = 60
# half the width of the bracket of a place, over the size of the cell
_BRACKET = arb(2) ** -90


@dataclass(frozen=True)
class _Table:
    """Cells by falling lower ends of their losses, these and the upper ends, and sums of masses."""

    cells: list[Cell]
    lows: Floats
    highs: Floats
    sums: list[tuple[arb, arb]]


class Pair:
    """A pair of densities, P and Q.

    Args:
        p: the density of P.
        q: that of Q.
        low: where the range begins, None for nowhere; both have no mass outside it.
        high: where it ends.
        integers: whether x is a whole number.

    Attributes:
        bounded: whether it begins and ends somewhere.
        covered: where the cells begin and end, of a range that does not.
        shift: what the loss is above log p/q, of densities that are not quite normalized.

    Raises:
        UndecidedError: for densities that could not be integrated in a bounded number of cells.
    """

    def __init__(
        self,
        p: Density,
        q: Density,
        low: Fraction | None,
        high: Fraction | None,
        *,
        integers: bool = False,
    ) -> None:
        self._p, self._q = p, q
        self.bounded = low is not None and high is not None
        self.shift = arb(0)
        with precision(_BITS, ORDER + 1):
            cut = self._points if integers else self._cut
            if integers:
                # ranges of whole numbers end before their upper end
                low = None if low is None else Fraction(math.ceil(low))
                high = None if high is None else Fraction(math.floor(high) + 1)
            cells = self._whole(low, high, cut)
        self.p_mass, self.q_mass = _totals(cells)
        self._cells = cells

    def normalized(self) -> Pair:
        """Return the pair with masses of 1, where what is written misses it a little."""

        def scaled(side: Side, total: arb) -> Side:
            return Side(side.mass / total, tuple(term / total for term in side.terms))

        found = copy(self)
        with precision(_BITS):
            found.shift = shift = (self.q_mass / self.p_mass).log()
            p, q = self._p, self._q
            found._p = Density(
                lambda x: p.value(x) / self.p_mass, lambda x: p.log(x) - self.p_mass.log()
            )
            found._q = Density(
                lambda x: q.value(x) / self.q_mass, lambda x: q.log(x) - self.q_mass.log()
            )
            found._cells = [
                replace(
                    one,
                    p=scaled(one.p, self.p_mass),
                    q=scaled(one.q, self.q_mass),
                    loss=one.loss + shift,
                    course=_shifted(one.course, float(shift)),
                )
                for one in self._cells
            ]
            found.p_mass = found.q_mass = arb(1)
        return found

    def backward(self) -> Pair:
        """Return Q and P."""
        found = copy(self)
        for name in ("rest", "range", "infinite", "_table"):
            found.__dict__.pop(name, None)
        found.shift = -self.shift
        found._p, found._q, found.p_mass, found.q_mass = self._q, self._p, self.q_mass, self.p_mass
        found._cells = [
            replace(
                one,
                p=one.q,
                q=one.p,
                loss=-one.loss,
                course=tuple(-term for term in one.course),
                rises=None if one.rises is None else not one.rises,
            )
            for one in self._cells
        ]
        return found

    # --- cells --------------------------------------------------------------------------------

    def _whole(
        self,
        low: Fraction | None,
        high: Fraction | None,
        cut: Callable[[arb, arb], list[Cell]],
    ) -> list[Cell]:
        self.covered: tuple[Fraction | None, Fraction | None] = (None, None)
        if low is not None and high is not None:
            return cut(ball(low), ball(high))
        ends = [ball(one) for one in (low, high) if one is not None]
        left, right = (ends[0], ends[0]) if ends else (arb(-1), arb(1))
        found = [] if ends else cut(left, right)
        for power in range(_FARTHEST):
            step = arb(2) ** power
            if high is None:
                found += cut(right, right + step)
                right += step
            if low is None:
                found += cut(left - step, left)
                left -= step
            if all(certainly(1 - mass < _REST) for mass in _totals(found)):
                break
        self.covered = (
            None if low is not None else to_fraction(left),
            None if high is not None else to_fraction(right),
        )
        return found

    def _points(self, low: arb, high: arb) -> list[Cell]:
        """Return the whole numbers from low to before high."""
        first, last = (int(to_fraction(end)) for end in (low, high))
        if last - first > _MOST_CELLS:
            raise UndecidedError(
                f"more than {_MOST_CELLS:,} whole numbers would have to be looked at, next at "
                f"{first:,}: do the masses add up to 1?"
            )
        found = []
        for place in range(first, last):
            x = arb_series([place, 1], 2)
            p, q = (Side(one.value(x)[0], ()) for one in (self._p, self._q))
            loss = (self._p.log(x) - self._q.log(x))[0]
            if not (p.mass.is_finite() and q.mass.is_finite()):
                raise UndecidedError(f"a mass is not defined at x = {place}")
            if not (p.mass.is_zero() and q.mass.is_zero()):
                at = arb(place)
                found.append(Cell(at, at, p, q, loss if loss.is_finite() else _ANY, None))
        return found

    def _cut(self, low: arb, high: arb) -> list[Cell]:
        waiting, found = [(low, high)], []
        while waiting:
            left, right = waiting.pop()
            middle = ((left + right) / 2).mid()
            cell = self._cell(left, right, middle)
            if cell is not None:
                found.append(cell)
            elif certainly(left < middle) and certainly(middle < right):
                waiting += [(middle, right), (left, middle)]
            else:
                raise UndecidedError(f"a density is not defined near x = {float(left):g}")
            if len(found) + len(waiting) > _MOST_CELLS:
                raise UndecidedError(
                    "the densities could not be integrated in a bounded number of steps near "
                    f"x = {float(left):g}: where one is not smooth, as roots and logarithms of 0 "
                    "are not, another variable may serve, such as u with x = u**2, where both "
                    "densities have a factor 2*u more"
                )
        return found

    def _cell(self, low: arb, high: arb, middle: arb) -> Cell | None:
        """Return a cell, None where too little is known of it."""
        around, radius = low.union(high), ((high - low) / 2).upper()
        p, q = (side_of(one, middle, radius, around) for one in (self._p, self._q))
        if p is None or q is None:
            return None
        if p.mass.is_zero() or q.mass.is_zero():
            known = p.mass.is_zero() and q.mass.is_zero()
            return Cell(low, high, p, q, arb(0) if known else _ANY, None)
        loss, slope, course = self._spread(middle, radius, around)
        rises = True if certainly(slope >= 0) else (False if certainly(slope <= 0) else None)
        flat = loss.is_finite() and certainly(2 * arb(loss.rad()) < _FLAT)
        unseen = certainly(p.mass < _UNSEEN) and certainly(q.mass < _UNSEEN)
        if flat or (unseen and (rises is None or not loss.is_finite())):
            return Cell(low, high, p, q, loss if loss.is_finite() else _ANY, None)
        if rises is None or not loss.is_finite():
            return None
        return Cell(low, high, p, q, loss, rises, course)

    def _spread(self, middle: arb, radius: arb, around: arb) -> tuple[arb, arb, tuple[float, ...]]:
        """Enclose the loss and its slope on a cell, and return its polynomial in floats."""
        at, over = (
            self._p.log(x) - self._q.log(x)
            for x in (arb_series([one, 1], ORDER + 1) for one in (middle, around))
        )
        coarse = over[0], over[1]
        if not over[ORDER].is_finite():
            return *coarse, ()
        slope, reach = ORDER * over[ORDER], arb(0, radius)
        for order in range(ORDER - 1, 0, -1):
            slope = slope * reach + order * at[order]
        loss = at[0] + slope * reach
        loss, slope = (
            fine.intersection(one) if one.is_finite() and fine.is_finite() else fine
            for fine, one in zip((loss, slope), coarse, strict=True)
        )
        return loss, slope, tuple(float(at[order]) for order in range(ORDER))

    def _loss(self, x: arb) -> tuple[arb, arb]:
        """Return the loss and its slope at x."""
        at = arb_series([x, 1], 2)
        found = self._p.log(at) - self._q.log(at)
        return found[0], found[1]

    # --- how likely it is that the loss is above a number ---------------------------------------

    def delta(self, eps: arb) -> tuple[arb, arb, arb]:
        """Enclose P(L > ε) - e^ε·Q(L > ε), Q(L > ε) and minus its slope, on the cells.

        Args:
            eps: an exact ε.
        """
        p, q, density, flat = self._above(eps)
        t = eps.exp()
        total = p - t * q
        for cell in flat:
            total += (cell.p.mass - t * cell.q.mass).max(arb(0))
            q += cell.q.mass.union(arb(0))
        return total, q, density

    def _above(self, eps: arb) -> tuple[arb, arb, arb, list[Cell]]:
        """Return P(L > ε), Q(L > ε), minus its slope, and flat cells that may be on either side."""
        table = self._table
        least, greatest = float_below(eps), float_above(eps)
        certain = int(np.searchsorted(-table.lows, -greatest, side="left"))
        p, q = table.sums[certain]
        density, flat = arb(0), []
        for number in np.flatnonzero((table.lows <= greatest) & (table.highs >= least)).tolist():
            cell = table.cells[number]
            if certainly(cell.loss <= eps):
                continue
            if certainly(cell.loss > eps):
                p, q = p + cell.p.mass, q + cell.q.mass
            elif cell.rises is None:
                flat.append(cell)
            else:
                one, other, slope = self._part(cell, eps)
                p, q, density = p + one, q + other, density + slope
        return p, q, density, flat

    @cached_property
    def _table(self) -> _Table:
        known = [cell for cell in self._cells if cell.loss.is_finite()]
        cells = sorted(known, key=lambda cell: float_below(cell.loss.lower()), reverse=True)
        sums = [(arb(0), arb(0))]
        with precision(_BITS):
            for cell in cells:
                p, q = sums[-1]
                sums.append((p + cell.p.mass, q + cell.q.mass))
        lows, highs = (
            np.array(ends, dtype=np.float64)
            for ends in (
                [float_below(cell.loss.lower()) for cell in cells],
                [float_above(cell.loss.upper()) for cell in cells],
            )
        )
        return _Table(cells, lows, highs, sums)

    def _part(self, cell: Cell, eps: arb) -> tuple[arb, arb, arb]:
        """Return the masses of a cell where its loss is above ε, and the density of Q there."""
        place = self._place(cell, eps)
        sign = 1 if cell.rises else -1
        end = (cell.high if cell.rises else cell.low) - cell.middle
        if place is None:
            return cell.p.mass.union(arb(0)), cell.q.mass.union(arb(0)), arb(0)
        masses = [
            sign * (side.up_to(end) - side.up_to(place - cell.middle)) for side in (cell.p, cell.q)
        ]
        at = arb_series([place, 1], 2)
        return masses[0], masses[1], self._q.value(at)[0] / abs(self._loss(place)[1])

    def _place(self, cell: Cell, eps: arb) -> arb | None:
        """Bracket the place where the loss is ε; None if that cannot be said."""
        low, high = cell.low, cell.high
        sign = 1 if cell.rises else -1
        width = (high - low) * _BRACKET
        at = cell.guess(float(eps)).max(low).min(high).mid()
        for _ in range(_NEWTON_STEPS):
            value, slope = self._loss(at)
            # no place is known better than the loss is there
            known = 4 * (arb(value.rad()) / slope).abs_upper()
            if known.is_finite():
                width = width.max(known)
            low, high = (low, at) if certainly(sign * (value - eps) > 0) else (at, high)
            wanted = at - (value - eps) / slope
            moved = wanted.max(low).min(high).mid() if wanted.is_finite() else at
            if certainly(at == moved) and not certainly(abs(wanted - at) < width):
                moved = ((low + high) / 2).mid()
            near = certainly(4 * abs(moved - at) < width)
            at = moved
            if near:
                break
        ends = (at - width).max(cell.low).mid(), (at + width).min(cell.high).mid()
        before, after = (sign * (self._loss(end)[0] - eps) for end in ends)
        starts = certainly(before <= 0) or certainly(ends[0] == cell.low)
        stops = certainly(after >= 0) or certainly(ends[1] == cell.high)
        return ends[0].union(ends[1]) if starts and stops else None

    # --- the whole law ----------------------------------------------------------------------------

    @cached_property
    def rest(self) -> tuple[Fraction, Fraction]:
        """Bound the masses of P and Q where no loss is known: beyond all cells, or at kinks."""
        unknown = [cell for cell in self._cells if not cell.loss.is_finite()]
        with precision(_BITS):
            found = list(_totals(unknown))
            if not self.bounded:
                masses = self.p_mass, self.q_mass
                found = [
                    one + (1 - mass).max(arb(0)) for one, mass in zip(found, masses, strict=True)
                ]
            p, q = (to_fraction(one.upper()) for one in found)
        return p, q

    @property
    def unknown(self) -> list[Cell]:
        """The cells on which no loss is known, though there is mass of P."""
        return [
            one
            for one in self._cells
            if not (one.loss.is_finite() or one.p.mass.is_zero() or one.q.mass.is_zero())
        ]

    @cached_property
    def infinite(self) -> arb:
        """Enclose the mass of P where Q has none at all, on the cells."""
        masses = (one.p.mass for one in self._cells if one.q.mass.is_zero())
        with precision(_BITS):
            return sum(masses, arb(0))

    @cached_property
    def range(self) -> tuple[arb, arb]:
        """Enclose the least and the greatest loss on the cells, which 0 lies between."""
        with precision(_BITS):
            ends = [self._ends(cell) for cell in self._cells if cell.loss.is_finite()]
            least, greatest = arb(0), arb(0)
            for low, high in ends:
                least, greatest = least.min(low), greatest.max(high)
        return least, greatest

    def _ends(self, cell: Cell) -> tuple[arb, arb]:
        """Enclose the least and the greatest loss on a cell."""
        if cell.rises is None:
            return cell.loss, cell.loss
        ends = [self._loss(end)[0] for end in (cell.low, cell.high)]
        low, high = ends if cell.rises else ends[::-1]
        return low if low.is_finite() else cell.loss, high if high.is_finite() else cell.loss

    def atoms(self) -> list[tuple[arb, arb]]:
        """Return the losses with the masses of P, of whole numbers, by growing loss."""
        known = [(one.loss, one.p.mass) for one in self._cells if one.loss.is_finite()]
        return sorted(known, key=lambda one: to_fraction(one[0].mid()))

    def unit(self, points: int) -> Fraction:
        """Return a unit of which the losses span so many multiples."""
        least, greatest = (float(end) for end in self.range)
        return Fraction(max(greatest - least, 1e-9)).limit_denominator(10**12) / points

    def lattice(self, unit: Fraction) -> FiniteTransform:
        """Return a loss on multiples of a unit that dominates."""
        with precision(_BITS):
            size, shares = ball(unit), Shares(unit)
            first, last = places(self.range[0].union(self.range[1]), unit)
            for cell in self._table.cells:
                if cell.rises is None:
                    shares.add(places(cell.loss, unit), cell.p.mass, cell.q.mass)
            rising = copy(self)
            rising.__dict__.pop("_table", None)
            rising._cells = [cell for cell in self._table.cells if cell.rises is not None]
            before = rising._above(size * first)[:2]
            for place in range(first, last):
                after = rising._above(size * (place + 1))[:2]
                p, q = (one - other for one, other in zip(before, after, strict=True))
                shares.add((place, place + 1), p, q)
                before = after
            return shares.transform(*self.rest)


_ANY = arb(0, float("inf"))


def _shifted(course: tuple[float, ...], by: float) -> tuple[float, ...]:
    return (course[0] + by, *course[1:]) if course else ()


def _totals(cells: Iterable[Cell]) -> tuple[arb, arb]:
    p, q = arb(0), arb(0)
    with precision(_BITS):
        for cell in cells:
            p, q = p + cell.p.mass, q + cell.q.mass
    return p, q
