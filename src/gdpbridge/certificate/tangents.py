"""Tangents to bounds on divergences at some orders, and the rows that a certificate has of them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

from flint import arb, arb_series

from gdpbridge.certificate.adding import is_by_orders, is_exact_sum
from gdpbridge.certificate.binaries import binary_below, binary_text
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.rows import rows_of
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.guarantees.repeated import log_inverse_gamma
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.numeric.exact import (
    decimal_ceiling,
    decimal_floor,
    decimal_text,
    exact,
    rational_text,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import SERIES, ball, to_fraction
from gdpbridge.transformations.tuned import Tuned
from gdpbridge_verify.document import Lemma
from gdpbridge_verify.evidence import Table, Tangent
from gdpbridge_verify.numbers import binary

__all__ = [
    "TangentsOf",
    "bounds_of",
    "is_of_divergences",
    "lemmas_used",
    "place_of_order",
    "rows_used",
    "tangent_at",
]

# beyond the bits of the proof
_MORE_BITS = 64
_CENTRE_BITS = 96
# by which a float may be off
_HAIR, _DIGITS_OF_PLACE = Fraction(1, 10**14), 15
# of divergences that the checker bounds in its own way
_WIDER, _ROW_DIGITS = 1 + Fraction(1, 10**12), 20


def is_of_divergences(profile: Profile) -> bool:
    """Whether what is known of a mechanism are divergences at some orders."""
    return isinstance(profile, Renyi | Tuned) or is_by_orders(profile)


def bounds_of(profile: Profile) -> tuple[Table, tuple[Bound, ...]]:
    """Return the rows of divergences as they are given, and the bounds that follow from them."""
    if isinstance(profile, Renyi):
        return rows_of(profile)[0], profile.bounds
    found = {tilt: profile.renyi_divergence(tilt) for tilt in sorted(profile.renyi_orders or ())}
    bounds = tuple(Bound(tilt, value) for tilt, value in found.items() if value is not None)
    one = profile.base if isinstance(profile, Tuned) else profile
    if isinstance(one, Renyi):
        return rows_of(one)[0], bounds
    known = [(bound.tilt, one.renyi_divergence(bound.tilt)) for bound in bounds]
    pairs = [(1 + tilt, value) for tilt, value in known if value is not None]
    if not is_exact_sum(one):
        # the checker proves them in its own way
        pairs = [
            (alpha, exact(decimal_ceiling(value * _WIDER, _ROW_DIGITS))) for alpha, value in pairs
        ]
    rows = tuple((rational_text(alpha), rational_text(value)) for alpha, value in pairs)
    return Table(columns=("alpha", "epsilon"), rows=rows), bounds


def rows_used(profile: Profile, table: Table, tangents: Iterable[Tangent]) -> Table:
    """Return the rows that are needed, where each of them is the checker's work."""
    if not isinstance(profile, Tuned) or isinstance(profile.base, Renyi):
        # of sums all are, for an event that shows a lower end
        return table
    rows = [(Fraction(alpha), Fraction(most)) for alpha, most in table.rows or ()]
    orders = {binary(one.order) for one in tangents}
    # a row is for the orders below it, too
    kept = {min(alpha for alpha, _ in rows if alpha >= order) for order in orders}
    if profile.distribution != "poisson":
        with precision(_CENTRE_BITS):
            size = log_inverse_gamma(profile.exact("mean"), profile.exact("shape"))
            s = to_fraction(size.upper())
        kept.add(min((most * (1 - 1 / nu) + s / nu, nu) for nu, most in rows)[1])
    return replace(table, rows=tuple(row for row in table.rows or () if Fraction(row[0]) in kept))


def place_of_order(alpha: Fraction) -> Fraction:
    """Return log(α/(α - 1)), or hardly less: δ of one run there counts for a poisson number."""
    place = Fraction(math.log1p(1 / (alpha - 1))) * (1 - _HAIR)
    return exact(decimal_floor(place, _DIGITS_OF_PLACE))


def lemmas_used(bare: Certificate, table: Table) -> tuple[Lemma, ...] | None:
    """Return those of the lemmas that are for the orders of rows."""
    orders = (Fraction(row[0]) for row in table.rows or ())
    places = {decimal_text(place_of_order(alpha)) for alpha in orders}
    used = tuple(
        one
        for one in bare.lemmas or ()
        if not one.claim.answers or one.claim.answers[0].at in places
    )
    return used or None


def tangent_at(piece: Piece, at: Fraction) -> tuple[arb, arb]:
    """Return p and q of the tangent p - q·e^ε to a piece at an ε."""
    point = ball(at)
    value = piece.formula(arb_series([point, 1], 2), SERIES).log()
    delta, t = value[0].exp(), point.exp()
    q = -(delta * value[1]) / t
    return delta + q * t, q


class TangentsOf:
    """Tangents to bounds on divergences at some orders.

    A piece of the curve is a corner, whose line needs tangents at its ends alone, or an arc.
    """

    def __init__(self, curve: SmoothCurve, bounds: Sequence[Bound], bits: int) -> None:
        self.pieces, self.bounds, self.bits = curve.pieces, bounds, bits
        with precision(bits):
            self.starts = [self._past(piece.bracket()[1]) for piece in self.pieces[1:]]
        self.at, self._tilt = cache(self._tangent), cache(self._best_tilt)

    def _past(self, place: arb) -> Fraction:
        scale = 2**self.bits
        return Fraction(math.floor(to_fraction(place.upper()) * scale) + 1, scale)

    def places(self, eps: Fraction) -> tuple[Fraction, ...]:
        """Return where tangents bound δ at an ε: there, or before and after a corner."""
        number = bisect.bisect_right(self.starts, eps)
        if number % 2:
            return (eps,)
        return tuple(self.starts[max(number - 1, 0) : number + 1])

    def over(self, places: Iterable[Fraction]) -> tuple[Tangent, ...]:
        """Return the tangents at some places, in order."""
        return tuple(self.at(place) for place in sorted(set(places)))

    def _tangent(self, at: Fraction) -> Tangent:
        """Return the tangent where the arc is as steep as a slightly smaller ε."""
        number = bisect.bisect_right(self.starts, at)
        # a corner is touched where the arc before it ends
        number -= 1 - number % 2
        with precision(self.bits + _MORE_BITS):
            p, q = tangent_at(self.pieces[number], at * (1 - Fraction(1, 2 ** (self.bits - 8))))
            inside, outside = (p / q).log(), ((1 - q) / (1 - p)).log()
        tilt = self._tilt(number)
        with precision(self.bits):
            ratios = [to_fraction((one + 0).mid()) for one in (inside, outside)]
        return Tangent(
            at=binary_text(at),
            order=binary_text(binary_below(1 + tilt, self.bits)),
            inside=binary_text(ratios[0]),
            outside=binary_text(ratios[1]),
        )

    def _best_tilt(self, number: int) -> Fraction:
        """Return α - 1 of the bound that is attained on an arc."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else start + 1
        with precision(self.bits):
            p, q = tangent_at(self.pieces[number], (start + end) / 2)
            return max(self.bounds, key=lambda one: float(_divergence(one, p, q))).tilt


def _divergence(bound: Bound, p: arb, q: arb) -> arb:
    """Return D_α over its bound."""
    u = ball(bound.tilt)
    total = p * (p / q) ** u + (1 - p) * ((1 - p) / (1 - q)) ** u
    return total.log() / u / ball(bound.value)
