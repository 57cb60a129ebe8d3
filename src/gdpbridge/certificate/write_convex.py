"""Write the certificate of what is known by rows: a table, or the points of a trade-off function.

δ is convex in e^ε: each cell is as many edges as lie below one tangent to the Gaussian curve, at
the place where that is as steep as the chord over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb

from gdpbridge.certificate.adding import is_by_orders
from gdpbridge.certificate.binaries import binary_below, binary_text, is_binary
from gdpbridge.certificate.cells import require_far_enough
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof
from gdpbridge.certificate.rows import rows_of
from gdpbridge.certificate.tangents import (
    TangentsOf,
    bounds_of,
    is_of_divergences,
    lemmas_used,
    rows_used,
    tangent_at,
)
from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.formula import Written
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_ceiling
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge.transformations.tuned import Tuned
from gdpbridge_verify.document import Cell, Range
from gdpbridge_verify.evidence import Event, Tangent
from gdpbridge_verify.numbers import binary

__all__ = [
    "event_at",
    "tangent_event",
    "touching_places",
    "with_cells",
    "with_chords",
]

# beyond the bits of the proof: of ends of cells, and of the event
_MORE_BITS = 64
_CENTRE_BITS = 96
_ROOM = 40
# by which a tail may begin later than in the search
_MOST_STEPS = 40
_MAX_SPLITS = 40
# of what the checker bounds in its own way
_FARTHER = 1 + Fraction(1, 2**30)
# in whose multiples a place beyond an irrational one is
_BEYOND = 2**60


def with_chords(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Return a certificate with rows, if it has any, and the cells and the event that prove it.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    if isinstance(profile, Written):
        return _of_formula(bare, proof, profile)
    if is_of_divergences(profile):
        return _of_divergences(bare, proof, profile)
    assert isinstance(profile, Table | TradeoffFunction)
    table, corners = rows_of(profile)
    bits = proof.bits + _MORE_BITS
    with precision(2 * bits):
        event = event_at(profile.curve, proof.witness, bits)
    evidence = replace(bare.evidence, corners=corners, event=event)
    bare = with_cells(replace(bare, table=table, evidence=evidence), proof, profile.curve)
    return replace(bare, table=replace(table, rows=None)) if table.file else bare


def _of_formula(bare: Certificate, proof: Proof, profile: Written) -> Certificate:
    curve = profile.followed.curve
    if proof.tail_from is not None:
        proof, bare = _past_where_it_falls(proof, bare)
    elif curve.end is not None and bare.claim.statement == "whole":
        proof, bare = _past_its_end(proof, bare, curve)
    if proof.tail_from is None:
        # a head says nothing of the tail, and its proof would be for nothing
        claim = replace(bare.claim, verdict="unknown", mu_tail=Range(low="0", high="inf"))
        bare = replace(bare, claim=claim)
    touching = touching_places(curve, proof.bits)
    event = None
    if isinstance(proof.witness, Fraction) and bare.claim.profile_is != "own":
        touching.append(binary_below(proof.witness, proof.bits))
        # so much less than the digits of the claim that it is no matter, and yet to be seen
        bits = _ROOM + 4 * len(bare.claim.mu.low)
        with precision(proof.bits + _MORE_BITS):
            event = tangent_event(curve, touching[-1], bits)
    if event is not None and binary(event.outside) == 0:
        # such an event would be seen at every ε
        event = None
    places = tuple(binary_text(place) for place in touching) or None
    bare = replace(bare, evidence=replace(bare.evidence, touching=places, event=event))
    if not CellChecker(bare).proves_ends():
        # not convex in e^ε, the formula may imply more than was measured: the upper end is proved
        claim = replace(bare.claim, mu=replace(bare.claim.mu, low="0"))
        bare = replace(bare, claim=claim, evidence=replace(bare.evidence, event=None, witness=None))
    return with_cells(bare, proof, curve)


def _past_where_it_falls(proof: Proof, bare: Certificate) -> tuple[Proof, Certificate]:
    """Let the tail begin where the checker can follow it; of a head, or the like, leave it out."""
    whole, start = bare.claim.statement == "whole", proof.tail_from
    assert start is not None
    for _ in range(_MOST_STEPS):
        evidence = replace(bare.evidence, tail_from=binary_text(start))
        found = replace(bare, evidence=evidence)
        checker = CellChecker(found)
        if checker.proves_far_out() and (not whole or checker.proves_tail(start)):
            return replace(proof, tail_from=start), found
        start = binary_below(start * Fraction(5, 4), proof.bits)
    if whole:
        raise UndecidedError("the tail could not be certified")
    return replace(proof, tail_from=None), replace(
        bare, evidence=replace(bare.evidence, tail_from=None)
    )


def _past_its_end(proof: Proof, bare: Certificate, curve: SmoothCurve) -> tuple[Proof, Certificate]:
    """Say where the checker sees that the formula is not above 0."""
    assert curve.end is not None
    with precision(proof.bits + _MORE_BITS):
        end = upper_bound(curve.end)
    for bits in (proof.bits, proof.bits // 2, proof.bits // 4):
        start = Fraction(math.floor(end * 2**bits) + 1, 2**bits)
        found = replace(bare, evidence=replace(bare.evidence, tail_from=binary_text(start)))
        if CellChecker(found).proves_far_out():
            return replace(proof, tail_from=start), found
    raise UndecidedError("where the formula ends could not be certified")


def touching_places(curve: SmoothCurve, bits: int) -> list[Fraction]:
    """Return where lines through (-1, 1) touch a formula, from below, or it or a range of it ends.

    δ may fall at once where another range begins: of what is not binary, a little beyond.
    """
    found: set[Fraction] = set()
    with precision(bits):
        starts = [(piece.start, piece.bracket) for piece in curve.pieces[1:]]
        for start, bracket in starts:
            if isinstance(start, Fraction) and is_binary(start):
                found.add(start)
            else:
                low, high = map(to_fraction, bracket())
                found |= {binary_below(low, bits), _beyond(high)}
        if curve.end is not None:
            end = upper_bound(curve.end)
            found.add(end if is_binary(end) and isinstance(curve.end, Fraction) else _beyond(end))
    return sorted(found - {Fraction(0)})


def _beyond(place: Fraction) -> Fraction:
    return Fraction(math.floor(place * _BEYOND) + 1, _BEYOND)


def _of_divergences(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    table, bounds = bounds_of(profile)
    evidence, curve = bare.evidence, profile.curve
    assert isinstance(curve, SmoothCurve)
    if isinstance(profile, Tuned):
        # of no one mechanism it is known that it attains them
        evidence = replace(evidence, witness=None)
        bare = replace(bare, claim=replace(bare.claim, mu=replace(bare.claim.mu, low="0")))
    elif isinstance(proof.witness, Fraction):
        with precision(proof.bits + _MORE_BITS):
            event = tangent_event(curve, proof.witness, _ROOM + 4 * len(bare.claim.mu.low))
        evidence = replace(evidence, event=event)
    if not isinstance(profile, Renyi) and bare.claim.statement == "head":
        # δ(ε_h), too, is the checker's
        text = bare.claim.failure_probability
        digits = len(text.partition(".")[2])
        wider = format(decimal_ceiling(Fraction(text) * _FARTHER, digits), "f")
        bare = replace(bare, claim=replace(bare.claim, failure_probability=wider))
    bare = replace(bare, table=table, evidence=evidence)
    high: str = bare.claim.mu.high
    if high != "inf":
        writer = _TangentsWriter(bare, profile, proof, bounds)
        cells, tangents = tuple(writer.cells()), writer.tangents()
        table = rows_used(profile, table, tangents)
        evidence = replace(evidence, cells=cells, tangents=tangents)
        lemmas = lemmas_used(bare, table)
        bare = replace(bare, table=table, evidence=evidence, lemmas=lemmas)
    checker = CellChecker(bare)
    require_far_enough(checker, [bare.evidence.cells])
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return bare


def with_cells(bare: Certificate, proof: Proof, curve: Curve) -> Certificate:
    """Return the certificate with cells, where it needs some.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    high: str = bare.claim.mu.high
    if high != "inf":
        writer = _Writer(bare, curve, proof)
        cells = tuple(writer.cells())
        require_far_enough(writer.checker, [cells])
        bare = replace(bare, evidence=replace(bare.evidence, cells=cells))
    checker = CellChecker(bare)
    if not checker.proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return bare


def tangent_event(curve: SmoothCurve, at: Fraction, bits: int) -> Event:
    """Return the event of the tangent in e^ε at an ε."""
    return _binary_event(*tangent_at(curve.pieces_on(ball(at), ball(at))[-1], at), bits)


def event_at(curve: Curve, witness: Fraction | str | None, bits: int) -> Event | None:
    """Return the event of a line through the witness, a little less telling than it is."""
    if not isinstance(witness, Fraction):
        return None
    at = ball(witness)
    a, b = curve.enclose(at).log().exp(), arb(0)
    if isinstance(curve, LinearCurve) and curve.lines.until(at) > 0:
        count = curve.lines.count
        number = curve.lines.owners(at)[0]
        if count is None or not certainly(at >= curve.lines.end(count - 1)):
            line = curve.lines.line(number)
            a, b = line.a, line.b
    return _binary_event(a, b, bits)


def _binary_event(a: arb, b: arb, bits: int) -> Event:
    """Return an event that is a little less telling than p = a and q = b."""
    less = Fraction(1, 2**bits)
    return Event(
        inside=binary_text(_rounded(math.floor, to_fraction(a.lower()) * (1 - less), bits)),
        outside=binary_text(_rounded(math.ceil, to_fraction(b.upper()) * (1 + less), bits)),
    )


def _rounded(to_whole: Callable[[Fraction], int], value: Fraction, bits: int) -> Fraction:
    """Return a number ≥ 0 to about so many bits."""
    if value <= 0:
        return Fraction(0)
    scale = Fraction(2) ** (bits + value.denominator.bit_length() - value.numerator.bit_length())
    return to_whole(value * scale) / scale


class _Writer:
    """The cells of one certificate."""

    def __init__(self, bare: Certificate, curve: Curve, proof: Proof) -> None:
        self.curve, self.proof, self.bits = curve, proof, proof.bits + _MORE_BITS
        bits = self.bits
        self.checker = CellChecker(bare)
        self.mu = Fraction(bare.claim.mu.high)
        claim = bare.claim
        self.failure = (
            Fraction(claim.failure_probability) if claim.statement == "approximate" else Fraction(0)
        )
        with precision(bits):
            if claim.eps_h is not None:
                self.end = Fraction(claim.eps_h)
            elif proof.tail_from is not None:
                self.end = proof.tail_from
            else:
                stop = curve.falls_to(self.failure) if self.failure else curve.end
                assert stop is not None
                self.end = upper_bound(stop)

    def cells(self) -> Iterator[Cell]:
        """Yield cells, each over as many edges as it can be."""
        ends = self._ends()
        stack = [(0, len(ends) - 1, 0)]
        while stack:
            first, last, splits = stack.pop()
            if first == last:
                continue
            low, high = ends[first], ends[last]
            found = self._proved(low, high)
            if found is not None:
                yield found
            elif last - first > 1:
                middle = (first + last) // 2
                stack += [(middle, last, 0), (first, middle, 0)]
            else:
                yield from self._split(low, high, splits)

    def _split(self, low: Fraction, high: Fraction, splits: int) -> Iterator[Cell]:
        if splits == _MAX_SPLITS:
            raise UndecidedError(f"the cell at ε = {float(low):.12g} could not be certified")
        middle = (low + high) / 2
        for left, right in ((low, middle), (middle, high)):
            found = self._proved(left, right)
            yield from self._split(left, right, splits + 1) if found is None else (found,)

    def _ends(self) -> list[Fraction]:
        """Return 0, the ends of edges, and where the proof must reach, as binary numbers."""
        scale = 2**self.bits
        last = Fraction(math.ceil(self.end * scale), scale)
        found = {Fraction(0), last}
        if isinstance(self.curve, SmoothCurve):
            proved: list[Fraction] = [one.high for one in self.proof.cells]
            found |= {end for end in proved if end < last}
        if isinstance(self.curve, LinearCurve):
            with precision(self.bits):
                lines = self.curve.lines
                for number in range(lines.until(ball(last)) if last else 0):
                    end = Fraction(math.ceil(to_fraction(lines.end(number).upper()) * scale), scale)
                    found |= {end} if end < last else set()
        return sorted(found)

    def _proved(self, low: Fraction, high: Fraction) -> Cell | None:
        centre = binary_text(self._centre(low, high))
        cell = Cell(low=binary_text(low), high=binary_text(high), centre=centre)
        return cell if self.checker_of(low, high).proves(cell) else None

    def checker_of(self, low: Fraction, high: Fraction) -> CellChecker:
        """Return the checker of a document that can prove a cell."""
        return self.checker

    def _centre(self, low: Fraction, high: Fraction) -> Fraction:
        """Return about where the Gaussian curve is as steep as the chord."""
        with precision(self.bits):
            left, right = (self._delta(end) for end in (low, high))
            fall = (left - right) / (ball(high).exp() - ball(low).exp()) / ball(1 - self.failure)
            if not certainly(fall > 0):
                return high
            y = arb(2).sqrt() * (2 * fall).erfcinv()
            place = ball(self.mu) * (y - ball(self.mu) / 2)
            if not place.is_finite():
                return low
        with precision(_CENTRE_BITS):
            found: Fraction = to_fraction((place + 0).mid())
        return min(max(found, low), high)

    def _delta(self, eps: Fraction) -> arb:
        if isinstance(self.curve.end, Fraction) and eps >= self.curve.end:
            return arb(0)
        value = self.curve.enclose(ball(eps)).log().exp()
        return arb(0) if value.is_nan() else value


class _TangentsWriter(_Writer):
    """The cells of bounds on divergences at some orders, and tangents at their ends."""

    def __init__(
        self, bare: Certificate, profile: Profile, proof: Proof, bounds: Sequence[Bound]
    ) -> None:
        curve, self.profile = profile.curve, profile
        assert isinstance(curve, SmoothCurve)
        super().__init__(bare, curve, proof)
        # the checker's divergences are hardly larger
        self.end *= _FARTHER if bare.claim.statement == "approximate" else 1
        if is_by_orders(profile):
            # rows need be proved but once
            bare = replace(bare, mechanism={"kind": "renyi", "neighbours": None})
        self.bare, self.known = bare, TangentsOf(curve, bounds, self.bits)
        self.used: set[Fraction] = set()

    def checker_of(self, low: Fraction, high: Fraction) -> CellChecker:
        """Let the document have the tangents at the ends of a cell, or about them."""
        places = {*self.known.places(low), *self.known.places(high)}
        self.used |= places
        tangents, bare = self.known.over(places), self.bare
        assert bare.table is not None
        evidence = replace(bare.evidence, tangents=tangents)
        table = rows_used(self.profile, bare.table, tangents)
        lemmas = lemmas_used(bare, table)
        found = replace(bare, table=table, evidence=evidence, lemmas=lemmas)
        return CellChecker(found, beside=self.checker)

    def tangents(self) -> tuple[Tangent, ...]:
        """Return all that were used."""
        return self.known.over(self.used)
