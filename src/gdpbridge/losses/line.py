"""One line of nodes: a smooth curve above D(ε) and one below, or of 1 - δ, proved in balls.

For c > 0 with M(c) finite, h > 0, s_k = c + ikh and R = 2π/h, Poisson summation gives

    U(ε) = e^{-cε} (h/2π) Σ_k M(s_k) e^{-ikhε}/(s_k(s_k + 1)) = Σ_m D(ε + mR) e^{cmR},

all terms of which are at least 0: U is above D, whatever c and h. What is above it, the aliases,
is bounded by Chernoff's bound at two other tilts, and what is cut off the sum by |M| far out. For c
in (-1, 0) minus the same sum is the like of 1 - δ. See docs/composition.md for all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import acb, acb_mat, acb_poly, arb, arb_mat, arb_poly, arb_series

from gdpbridge.errors import UndecidedError
from gdpbridge.losses.choice import Choice
from gdpbridge.losses.glance import Glance
from gdpbridge.losses.moments import Moments, Shares, kappa
from gdpbridge.losses.needs import SHORT_BITS, depth_of, needs_of, require_reach
from gdpbridge.losses.panels import FARTHEST, Panel, power_tables
from gdpbridge.losses.transforms.base import Plan, powers, short
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.discs import Disc, Entire
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Evidence", "Kind", "Line"]

# h·N·r of a panel's Taylor polynomial: fewer terms for many nodes, where each costs more
_REACH, _REACH_OF_MANY, _MANY = 3.0, 1.0, 4096
# nodes up to which a sum is a polynomial by Horner's rule
_POWERS = 256
# to multiples of what rows, columns and bits of a table are rounded, so that it serves other lines
_ROUND = 8, 8, 64
# places that were asked for last, about which more may be asked
_KEPT = 4
# what an evaluation takes for each node, in units of numeric/effort.py
_EACH_NODE = 10


class Kind(Enum):
    """What a line computes at an ε."""

    CALL = "call"
    """D(ε) = δ(ε) - p_∞, with c > 0."""

    REST = "rest"
    """1 - δ(ε), with -1 < c < 0."""

    PUT = "put"
    """E_P[(e^{ε-L} - 1)⁺] = e^ε·D'(-ε), D' of the opposite direction, with c > 0 for that one."""


@dataclass(frozen=True)
class Evidence:
    """All that is needed to compute a line again.

    Attributes:
        choice: the nodes and the tilts.
        plans: how each factor is evaluated on the line.
        far: how each is bounded beyond the nodes.
        split: of a line of rare noise, how noise is split.
    """

    choice: Choice
    plans: tuple[Plan, ...]
    far: tuple[Plan, ...]
    split: Shares | None = None


class Line:
    """One line of nodes.

    Args:
        moments: M; of the opposite direction for a put.
        choice: the line.
        log_error: log of the relative error wanted.
        mirrored: whether it is a put that is wanted.
        log_tol: log of the relative width that is to come of it, which may be larger.
        above: pairs (b, α) whose α·e^{-bε} bound what M leaves out, and are added above.

    Raises:
        PartLimitError: if it would take many seconds.
    """

    def __init__(
        self,
        moments: Moments,
        choice: Choice,
        log_error: float,
        *,
        mirrored: bool = False,
        log_tol: float | None = None,
        above: tuple[tuple[arb, arb], ...] = (),
    ) -> None:
        wanted = log_error if log_tol is None else log_tol
        self.moments, self.choice, self.above = moments, choice, above
        self.complement = choice.c < 0
        self.kind = Kind.PUT if mirrored else Kind.REST if self.complement else Kind.CALL
        self.depth = depth = depth_of(choice, log_error)
        plans, self.bits, work = needs_of(moments, choice, log_error)
        require_reach(work, wanted)
        with precision(self.bits):
            edge = choice.count * choice.h
            far = tuple(
                factor.transform.beyond_plan(factor.place(choice.c), edge)
                for factor in moments.factors
            )
            shares = moments.shares(above[0][0], depth) if above else None
            self.evidence = Evidence(choice, plans, far, shares)
            columns = [
                factor.values(plan, choice.c, choice.h, choice.count + 1)
                for factor, plan in zip(moments.factors, plans, strict=True)
            ]
            self._weights = self._evaluated(columns)
            sizes = [column[0].real for column in columns]
            top = moments.beyond(choice.c, edge, far, sizes)
            self.cut = top / (arb.pi() * ball(edge))
        self._panels: dict[int, Panel] = {}
        self._derivatives: list[list[acb]] = []
        self._polynomials: list[tuple[acb_poly, arb]] = []
        self._kept: list[tuple[tuple[int, int], arb, list[arb]]] = []
        self._tables: dict[tuple[int, int, int], list[list[arb]]] = {}

    def _evaluated(self, columns: list[list[acb]]) -> acb_mat:
        """Return the terms M(s_k)·(h/2π)/(s_k(s_k + 1)), twice for k > 0, with their sign.

        That of k = r·k₀ + k₁ is in row k₀ and column k₁; behind the last one are zeros.
        """
        choice = self.choice
        count = choice.count + 1
        start, after, step = ball(choice.c), ball(choice.c + 1), ball(choice.h)
        unit = step / arb.pi() * (-1 if self.complement else 1)
        found = []
        for number, values in enumerate(zip(*columns, strict=True)):
            y = step * number
            found.append(self.moments.product(values) * unit / (acb(start, y) * acb(after, y)))
        found[0] /= 2
        row = math.isqrt(count - 1) + 1
        rows = -(-count // row)
        return acb_mat(rows, row, found + [acb(0)] * (rows * row - count))

    @cached_property
    def _aliases(self) -> list[tuple[arb, arb]]:
        """The tilts b, and constants of e^{-bε}, in the bounds of the aliases."""
        with precision(self.bits):
            return [(ball(b), self._alias(b)) for b in (self.choice.right, self.choice.left)]

    def _alias(self, b: Fraction) -> arb:
        """Return the constant of e^{-bε} in the bound of the aliases on b's side."""
        choice = self.choice
        gap = abs(ball(b - choice.c)) * 2 * arb.pi() / ball(choice.h)
        factor = arb(1) if self.complement else kappa(b)
        return factor * self.moments.bound(b) / gap.expm1()

    # --- the curves ------------------------------------------------------------------------------

    def upper(self, eps: Any) -> Any:
        """Enclose a smooth function above what its kind says, at a ball or a power series."""
        if self.kind is Kind.PUT:
            return eps.exp() * self._upper(-eps)
        return self._upper(eps)

    def lower(self, eps: Any) -> Any:
        """Enclose a smooth function below what its kind says; it may be negative."""
        if self.kind is Kind.PUT:
            return eps.exp() * self._lower(-eps)
        return self._lower(eps)

    def _upper(self, eps: Any) -> Any:
        found = (-self._c * eps).exp() * (self.wave(eps) + self.cut)
        for tilt, constant in self.above:
            found += constant * (-tilt * eps).exp()
        return found

    def _lower(self, eps: Any) -> Any:
        below = (-self._c * eps).exp() * (self.wave(eps) - self.cut)
        for tilt, constant in self._aliases:
            below -= constant * (-tilt * eps).exp()
        return below

    @property
    def _c(self) -> arb:
        return ball(self.choice.c)

    def wave(self, eps: Any) -> Any:
        """Enclose e^{cε} times the finite sum: a trigonometric polynomial."""
        at = eps if isinstance(eps, arb) else eps[0]
        length = 1 if isinstance(eps, arb) else eps.prec
        jet = self._jet(at, length)
        if isinstance(eps, arb):
            return jet[0]
        moved = eps - at
        result = arb_series([jet[-1]], length)
        for coefficient in reversed(jet[:-1]):
            result = result * moved + coefficient
        return result

    def _jet(self, at: arb, length: int) -> list[arb]:
        asked = working_precision(), length
        for key, place, jet in self._kept:
            if key == asked and place.mid() == at.mid() and place.rad() == at.rad():
                return jet
        spend(_EACH_NODE * self.choice.count)
        jet = self._found(at, length)
        self._kept = [*self._kept[1 - _KEPT :], (asked, at, jet)]
        return jet

    def _found(self, at: arb, length: int) -> list[arb]:
        if at.is_exact():
            return self._exactly(at, length)
        width = 2 * self._radius
        # the panel of the middle; nothing is asked far from where the line is good
        panel = self._panel(math.floor(float(at.mid()) / float(width)))
        return panel.jet(at, length)

    def _exactly(self, at: arb, length: int) -> list[arb]:
        """Enclose the Taylor coefficients at an exact ε: polynomials in z = e^{-ihε}."""
        step = ball(self.choice.h)
        if self.choice.count >= _POWERS:
            with precision(self.bits):
                return self._taylor(at, arb(1), length)
        # each step of Horner's rule turns the ball, and may widen it by the root of 2
        with precision(self.bits + self.choice.count // 2 + 1):
            turn = acb(0, -step * at).exp()
            return [
                middle(turn).real + around
                for middle, around in map(self._polynomial, range(length))
            ]

    def _polynomial(self, number: int) -> tuple[acb_poly, arb]:
        """Return the polynomial of a Taylor coefficient: its middle, and what is around it.

        All turns are of modulus 1, so that what is around its terms adds up.
        """
        while len(self._derivatives) <= number:
            j, terms = len(self._derivatives), self.nodes
            if j:
                scale = acb(0, -ball(self.choice.h)) / j
                terms = [term * (scale * k) for k, term in enumerate(self._derivatives[-1])]
            self._derivatives.append(terms)
            middle = acb_poly([acb(term.real.mid(), term.imag.mid()) for term in terms])
            off = sum((term.rad() for term in terms), arb(0))
            self._polynomials.append((middle, arb(0, off.upper())))
        return self._polynomials[number]

    def _taylor(self, at: arb, unit: arb, terms: int) -> list[arb]:
        """Enclose the coefficients of the wave's powers of (ε - at)/unit, all nodes at once."""
        turn = -ball(self.choice.h) * at
        few = self.choice.count < _POWERS
        parts, largest = (self._few if few else self._many)(turn, terms)
        reach, scale = ball(self.choice.h * largest) * unit, arb(1)
        found = []
        for j, part in enumerate(parts):
            # the real part of (-i)^j·term
            found.append(scale * (-part if j % 4 > 1 else part))
            scale *= reach
        return found

    def _few(self, turn: arb, terms: int) -> tuple[list[arb], int]:
        """Return the sums of the terms times (k/n)^j/j!, by one table, and n.

        Of those of even j it is the real parts, of the others the imaginary ones.
        """
        weights = self.nodes
        turns = powers([acb(0, turn).exp()], len(weights))
        turned = [x * y for x, y in zip(weights, turns, strict=True)]
        shape = terms, len(turned), working_precision()
        even, odd, shares = power_tables(
            *(-(-one // step) * step for one, step in zip(shape, _ROUND, strict=True))
        )
        turned += [acb(0)] * (even.ncols() - len(turned))
        parts = [arb(0)] * (even.nrows() + odd.nrows())
        parts[::2] = (even * arb_mat(len(turned), 1, [x.real for x in turned])).entries()
        parts[1::2] = (odd * arb_mat(len(turned), 1, [x.imag for x in turned])).entries()
        return [x * y for x, y in zip(parts[:terms], shares, strict=False)], len(turned)

    def _many(self, turn: arb, terms: int) -> tuple[list[arb], int]:
        """Return the same, whose sums are those over i of like ones of r·k₀ and k₁, k = r·k₀ + k₁.

        Two short tables, and one product of matrices, do for every place.
        """
        rows, row = self._weights.nrows(), self._weights.ncols()
        coarse = self._turned(terms, rows, row, turn)
        half = acb_mat(terms, rows, [term for one in coarse for term in one]) * self._weights
        fine = self._turned(terms, row, 1, turn)
        total = acb_poly()
        for k in range(row):
            column = acb_poly([half[j, k] for j in range(terms)])
            total += column * acb_poly([one[k] for one in fine])
        sums = [*total.coeffs(), *[acb(0)] * terms][:terms]
        return [x.imag if j % 2 else x.real for j, x in enumerate(sums)], self.choice.count

    def _turned(self, terms: int, count: int, stride: int, turn: arb) -> list[list[acb]]:
        """Return (k·stride/N)^j/j! times the turn of that node, in row j and column k."""
        turns = powers([acb(0, turn * stride).exp()], count)
        rows = self._table(terms, count, stride)[1:]
        products = [[x * y for x, y in zip(one, turns, strict=True)] for one in rows]
        return [turns, *products]

    def _table(self, terms: int, count: int, stride: int) -> list[list[arb]]:
        key = terms, count, stride
        if key not in self._tables:
            places = [ball(Fraction(k * stride, self.choice.count)) for k in range(count)]
            found = [[arb(1)] * count]
            for j in range(1, terms):
                found.append([term * x / j for term, x in zip(found[-1], places, strict=True)])
            self._tables[key] = found
        return self._tables[key]

    @cached_property
    def nodes(self) -> list[acb]:
        """The terms, one for each node."""
        return list(self._weights.entries())[: self.choice.count + 1]

    # --- on discs -------------------------------------------------------------------------------

    @property
    def tilt(self) -> Fraction:
        """λ: e^{λε} times what it is about is its wave, but for what is cut off and added."""
        c = self.choice.c
        return -1 - c if self.kind is Kind.PUT else c

    def upper_on(self, disc: Disc) -> Entire:
        """Return e^{λε} times the function above on a disc."""
        if self.kind is Kind.PUT:
            return self._side_on(disc.mirrored(), self.cut).mirrored()
        found = self._side_on(disc, self.cut)
        for tilt, constant in self.above:
            found += disc.exponential(self._c - tilt).scaled(constant)
        return found

    def lower_on(self, disc: Disc) -> Entire:
        """Return e^{λε} times the function below on a disc, of a line that is no put."""
        found = self._side_on(disc, -self.cut)
        for tilt, constant in self._aliases:
            found -= disc.exponential(self._c - tilt).scaled(constant)
        return found

    def _side_on(self, disc: Disc, cut: arb) -> Entire:
        spend(disc.count * self.choice.count * self.bits / SHORT_BITS)
        terms = arb_poly(self._taylor(disc.middle, disc.radius, disc.count))
        # a turn of ih(x + iy) is as large as e^{hy}
        size = self._sizes((ball(self.choice.h) * disc.reach).exp())
        return Entire(terms, size) + disc.constant(cut)

    @cached_property
    def _sizes(self) -> arb_poly:
        """The polynomial whose coefficients are the moduli of the terms."""
        return arb_poly([abs(weight) for weight in self.nodes])

    @cached_property
    def log_sizes(self) -> Floats:
        """Log of the moduli of the terms, in float64, one for each node."""
        with precision(self.bits):
            logs = [weight.log() for weight in self._sizes.coeffs()]
        return np.array([float(log.mid()) if log.is_finite() else -np.inf for log in logs])

    @cached_property
    def glance(self) -> Glance:
        """It in float64."""
        return Glance(self)

    @cached_property
    def _radius(self) -> Fraction:
        count = self.choice.count
        reach = _REACH if count < _MANY else _REACH_OF_MANY
        return short(reach / (count * float(self.choice.h)))

    def _panel(self, number: int) -> Panel:
        if number not in self._panels:
            with precision(self.bits):
                middle = (2 * number + 1) * self._radius
                self._panels[number] = self._expanded(middle)
        return self._panels[number]

    @cached_property
    def _terms(self) -> tuple[int, arb]:
        """Return how many terms a panel has, and a bound of the first one left out."""
        reach = FARTHEST * ball(self.choice.h * self._radius * self.choice.count)
        # of terms that are hardly known at all, the sum may be told from nothing only from above
        total = self._sizes(arb(1)).upper()
        if not total.is_finite():
            raise UndecidedError("a line's terms are not known closely enough")
        small = total * arb(2) ** -self.bits
        number, last = 0, total
        while not certainly(last <= small):
            number += 1
            last = last * reach / number
        return number, last

    def _expanded(self, middle: Fraction) -> Panel:
        terms, last = self._terms
        coefficients = self._taylor(ball(middle), ball(self._radius), terms)
        return Panel(middle, self._radius, coefficients, last)
