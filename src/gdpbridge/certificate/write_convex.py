"""Write the certificate of what is known by rows: a table, or the points of a trade-off function.

δ is convex in e^ε: each cell is as many edges as lie below one tangent to the Gaussian curve, at
the place where that is as steep as the chord over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from flint import arb

from gdpbridge.certificate.binaries import binary_text
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof
from gdpbridge.certificate.rows import rows_of
from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.errors import UndecidedError
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge_verify.check import CellChecker
from gdpbridge_verify.document import Cell, Event

__all__ = ["event_at", "with_chords"]

# beyond the bits of the proof: of ends of cells, and of the event
_MORE_BITS = 64
_CENTRE_BITS = 96
_MAX_SPLITS = 40


def with_chords(bare: Certificate, proof: Proof, profile: Table | TradeoffFunction) -> Certificate:
    """Return a certificate with the rows, and the cells and the event that prove its claim.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    table, corners = rows_of(profile)
    bits = proof.bits + _MORE_BITS
    with precision(2 * bits):
        event = event_at(profile.curve, proof.witness, bits)
    evidence = replace(bare.evidence, cells=(), breakpoints=(), corners=corners, event=event)
    bare = replace(bare, table=table, evidence=evidence)
    high: str = bare.claim.mu.high
    if high != "inf":
        writer = _Writer(bare, profile.curve, bits)
        bare = replace(bare, evidence=replace(evidence, cells=tuple(writer.cells())))
    if not CellChecker(bare).proves_ends():
        raise UndecidedError("the lower end could not be certified")
    return replace(bare, table=replace(table, rows=None)) if table.file else bare


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

    def __init__(self, bare: Certificate, curve: Curve, bits: int) -> None:
        self.curve, self.bits = curve, bits
        self.checker = CellChecker(bare)
        self.mu = Fraction(bare.claim.mu.high)
        claim = bare.claim
        self.failure = (
            Fraction(claim.failure_probability) if claim.statement == "approximate" else Fraction(0)
        )
        with precision(bits):
            if claim.eps_h is not None:
                self.end = Fraction(claim.eps_h)
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
        return cell if self.checker.proves(cell) else None

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
