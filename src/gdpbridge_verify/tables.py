"""Tables of (ε, δ) guarantees, and trade-off functions by their points, for the checker.

Rows (t, δ), t = e^ε, bound a δ that is convex in t: it lies below the chords between them. So does
its mirror image δ(1/t) = 1 - (1 - δ(t))/t, for the other order of the pair; the chord from a row to
its own image is on the line through (-1, 1), on which 1 - δ is proportional to 1 + t. Any choice
of rows, the corners, bounds δ from above, whether or not the others imply less.

A point (α, β) of a trade-off function gives the line 1 - β - α·t of its test, and 1 - α - β·t for
the other order; δ is the largest of all these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.convex import ConvexCheck
from gdpbridge_verify.numbers import about
from gdpbridge_verify.parameters import parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Words

# microseconds of a row
_COST_OF_ROW = 25.0
_MAX_EPS = 100_000


class RowsCheck(ConvexCheck):
    """What both have in common: rows of two numbers, in the document or from its file."""

    columns: tuple[tuple[str, str], ...]

    def build(self) -> Tail:
        """Read the rows, and return what is known of the tail."""
        self.values = parameters_of(self.spec)
        given = self.document.table
        if given is None or not given.rows or given.columns not in self.columns:
            allowed = " or ".join(map(" and ".join, self.columns))
            raise Malformed("table", Words("missing or of other columns"), f"rows of {allowed}")
        if any(len(row) != 2 or row[0] == "-inf" for row in given.rows):
            raise Malformed("table.rows", Words("of other rows"), "pairs of numbers")
        return self.far_tail()

    def far_tail(self) -> Tail:
        """Return what is known of δ far out."""
        raise NotImplementedError

    @cached_property
    def rows(self) -> list[tuple[Fraction, Fraction | None]]:
        """The rows, exactly; None stands for a logarithm of 0."""
        assert self.document.table is not None
        # once for every precision
        self.arithmetic.work.charge(_COST_OF_ROW * len(self.document.table.rows or ()))
        return [
            (Fraction(first), None if second == "-inf" else Fraction(second))
            for first, second in self.document.table.rows or ()
        ]


class TableCheck(RowsCheck):
    """The lines of a certificate of a table of guarantees, at one precision."""

    columns = (("eps", "delta"), ("eps", "log_delta"))
    uses = frozenset({"corners", "event"})

    def far_tail(self) -> Tail:
        """Where a row says 0, δ is; else a failure of the least δ is of the class."""
        for number, (eps, delta) in enumerate(self.rows):
            allowed = 0 <= eps <= _MAX_EPS and (
                delta is None or (delta <= 0 if self._is_log else 0 <= delta <= 1)
            )
            if not allowed or (delta is None and not self._is_log):
                raise Malformed(f"table.rows[{number}]", about(eps), "ε ≥ 0 and a probability")
        ends = [eps for eps, delta in self.rows if self._is_zero(delta)]
        if ends:
            return Tail.ends(min(ends))
        least = min(delta for _, delta in self.rows if delta is not None)
        return Tail.constant(self._delta(least))

    @property
    def _is_log(self) -> bool:
        table = self.document.table
        return table is not None and table.columns[1] == "log_delta"

    def _is_zero(self, delta: Fraction | None) -> bool:
        return delta is None or (delta == 0 and not self._is_log)

    def _delta(self, written: Fraction | None) -> Interval:
        exactly = self.arithmetic.exactly
        if written is None:
            return exactly(0)
        return exactly(written).exp() if self._is_log else exactly(written)

    @cached_property
    def _corners(self) -> tuple[list[Fraction], list[Interval]]:
        numbers = self.evidence.corners or ()
        if not numbers or max(numbers) >= len(self.rows):
            raise Malformed("evidence.corners", len(numbers), "numbers of rows, from 0 on")
        places = [self.rows[number][0] for number in numbers]
        if any(one >= other for one, other in itertools.pairwise(places)):
            raise Malformed("evidence.corners", len(numbers), "in order of their ε")
        return places, [self._delta(self.rows[number][1]) for number in numbers]

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare the chord between the corners beside an ε."""
        places, deltas = self._corners
        self.arithmetic.charge(_COST_OF_ROW)
        self.below_chord(line, at, level, places, deltas.__getitem__)

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether a row says so, as it is written."""
        self.arithmetic.charge(_COST_OF_ROW * len(self.rows) / 10)
        rows = [delta for eps, delta in self.rows if eps <= at]
        return any(
            self._is_zero(delta) or (delta is not None and not self._is_log and delta <= value)
            for delta in rows
        )

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Prove that δ of the event is at most each row's, in both orders of the pair."""
        exactly = self.arithmetic.exactly
        self.arithmetic.charge(_COST_OF_ROW * len(self.rows))
        inside, outside, rest, other = (exactly(one) for one in (p, q, 1 - q, 1 - p))
        for number, (eps, written) in enumerate(self.rows):
            t, delta = exactly(eps).exp(), self._delta(written)
            self.hold(f"{line}: row {number}", delta - (inside - outside * t))
            self.hold(f"{line}: row {number}", delta - (rest - other * t))


class TradeoffCheck(RowsCheck):
    """The lines of a certificate of a trade-off function, at one precision."""

    columns = (("alpha", "beta"),)
    uses = frozenset({"event"})

    def far_tail(self) -> Tail:
        """Return where the last line ends, or the constant that one of them is."""
        found = self._end()
        # of rows below the function that was given
        return replace(found, nature="bound") if self.values["bound"] else found

    def _end(self) -> Tail:
        for number, (alpha, beta) in enumerate(self.rows):
            if beta is None or not (alpha >= 0 and beta >= 0 and 0 < alpha + beta <= 1):
                raise Malformed(f"table.rows[{number}]", about(alpha), "errors, 0 < α + β ≤ 1")
        floor = max((p for p, q in self._events() if q == 0), default=Fraction(0))
        if floor:
            return Tail.constant(floor)
        top = max((p / q for p, q in self._events() if q), default=Fraction(1))
        if top <= 1:
            return Tail.ends(Fraction(0))
        return Tail.ends(self.arithmetic.exactly(top).log())

    def _events(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the probabilities of each point's test, in both orders."""
        for alpha, beta in self.rows:
            assert beta is not None
            yield 1 - beta, alpha
            yield 1 - alpha, beta

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare every line."""
        exactly = self.arithmetic.exactly
        self.arithmetic.charge(_COST_OF_ROW * len(self.rows))
        t = exactly(at).exp()
        for p, q in self._events():
            self.hold(line, level.value - (exactly(p) - exactly(q) * t))

    def falls_to(self, value: Fraction, at: Fraction) -> bool:
        """Whether every line does."""
        if value == 0:
            return self.vanishes_at(at)
        exactly = self.arithmetic.exactly
        self.arithmetic.charge(_COST_OF_ROW * len(self.rows))
        t = exactly(at).exp()
        return all(
            exactly(value) >= exactly(p) - exactly(q) * t if q else p <= value
            for p, q in self._events()
        )

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Find a point whose test tells more."""
        self.arithmetic.charge(_COST_OF_ROW * len(self.rows) / 10)
        if not any(p <= inside and q >= outside for inside, outside in self._events()):
            raise Refused(line, "no point of the function allows it")
