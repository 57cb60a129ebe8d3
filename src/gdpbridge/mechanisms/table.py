"""A table of (ε, δ) guarantees, and the tightest profile that it implies.

The profile is the lower convex envelope, in e^ε, of the pairs and their mirror images, δ(-ε) = 1 -
e^{-ε}·(1 - δ(ε)), as (ε, δ)-DP bounds the errors of every test (Wasserman and Zhou 2010; Kairouz,
Oh and Viswanath 2015). A table whose last δ is positive says nothing more beyond its last row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from flint import arb
from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.base import Curve
from gdpbridge.curves.chained import masses_of_lines
from gdpbridge.curves.composition import cut_off
from gdpbridge.curves.constants import Constant, upper_bound
from gdpbridge.curves.linear import linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, Segments
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import constant_piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.guarantees.hull import envelope, log_slopes
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.numeric.kinds import ball
from gdpbridge.reading.headers import Columns
from gdpbridge.reading.rows import Rows, rows_of_numbers
from gdpbridge.reading.tables import rows_of_file, rows_of_frame

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["Table"]

# how far the losses may reach on their lattice
_MOST_PLACES = 1 << 16


def _plain(pairs: Any) -> Any:
    """Return pairs as numbers where these say the same as the text."""
    if pairs is None:
        return None
    if not isinstance(pairs, Rows):
        return [[_number(text) for text in _texts(pair)] for pair in pairs]
    return [
        [_number(eps), _number(delta)]
        for eps, delta in zip(pairs.eps_text, pairs.delta_text, strict=True)
    ]


def _as_pairs(given: dict[str, Any]) -> dict[str, Any]:
    """Return ε and δ, or log δ, given as two lists or in one dictionary, as pairs.

    Raises:
        InputError: for lists of two lengths.
    """
    pairs = given.get("pairs")
    if isinstance(pairs, Mapping):
        if not {"delta", "log_delta"} & set(pairs):
            return {**given, "pairs": list(pairs.items())}
        given = {**{name: value for name, value in given.items() if name != "pairs"}, **pairs}
    second = next((name for name in ("delta", "log_delta") if name in given), None)
    if second is None and "eps" not in given:
        return given
    if second is None or "eps" not in given:
        missing = "eps" if second else "delta"
        raise InputError.missing(missing, "give as many eps as delta, or log_delta")
    others = {name: value for name, value in given.items() if name not in ("eps", second)}
    try:
        found = list(zip(given["eps"], given[second], strict=True))
    except (TypeError, ValueError):
        raise InputError(second, given[second], "as many numbers as eps has") from None
    return {**others, "pairs": found, "log": second == "log_delta"}


def _number(text: str) -> float | str:
    return float(text) if exact(float(text)) == exact(text) else text


@register
class Table(Profile):
    """A table of (ε, δ) guarantees."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["table"] = "table"
    file: str | None = Field(
        default=None,
        description="the table",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "pairs",
            "allowed": "a CSV, TSV, JSON or Parquet file, or - for standard input",
        },
    )
    pairs: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the pairs themselves, instead of a file",
        json_schema_extra={"untyped": True, "typed": "0:0.3,1:0.08", "allowed": "pairs of ε and δ"},
    )
    log: bool = Field(
        default=False,
        description="whether the second number of each pair is log δ",
        json_schema_extra={"allowed": "true or false"},
    )
    eps_column: str | None = Field(
        default=None,
        description="the column of ε",
        json_schema_extra={"symbol": "NAME", "allowed": "a name in the first row"},
    )
    delta_column: str | None = Field(
        default=None,
        description="the column of δ, or of log δ if log is in its name",
        json_schema_extra={"symbol": "NAME", "allowed": "a name in the first row"},
    )
    encoding: str | None = Field(
        default=None,
        description="the encoding of the file's text",
        json_schema_extra={
            "symbol": "NAME",
            "allowed": "a name such as latin-1 [default: what a byte-order mark says, else utf-8]",
        },
    )
    _rows: Rows = PrivateAttr()
    _overruled: int = PrivateAttr()

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        given = parameters if file is None else {"file": file, **parameters}
        super().__init__(**_as_pairs(given))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        eps_column: str | None = None,
        delta_column: str | None = None,
        **parameters: Any,
    ) -> Table:
        """Make a table from a data frame of pandas, polars or pyarrow.

        A float stands for the shortest decimal that it prints as.

        Args:
            frame: the data frame.
            eps_column: the column of ε; found by its name if None.
            delta_column: the column of δ, or of log δ if log is in its name.
            **parameters: ``neighbours``.

        Raises:
            InputError: for what is not a table of guarantees, naming the row.
            MissingExtraError: without the extra ``tables``.
        """
        rows = rows_of_frame(frame, Columns(eps_column, delta_column))
        return cls(pairs=rows, log=rows.is_log, **parameters)

    def model_post_init(self, _: Any) -> None:
        """Read the table, so that errors in it come at once."""
        if (self.file is None) == (self.pairs is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and pairs", Words(given), Advice("give one of them"))
        if self.file is not None:
            rows = rows_of_file(
                self.file, Columns(self.eps_column, self.delta_column), self.encoding
            )
        elif isinstance(self.pairs, Rows):
            rows = self.pairs
        else:
            rows = _of_pairs(self.pairs, is_log=self.log)
        self._rows, self._overruled = _sorted(rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or self.neighbours != other.neighbours:
            return False
        return self._rows == other._rows

    def __hash__(self) -> int:
        return hash((self.neighbours, self._rows))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the table has more than it needs."""
        found = list(self._rows.notes)
        if count := self._overruled:
            rows = "row has an ε" if count == 1 else "rows have an ε"
            found.append(
                f"{count:,} {rows} that another row has with a smaller δ: as both hold, the "
                "smaller one is taken"
            )
        if implied := len(self._rows.eps) - self.corners.size:
            rows = "row says" if implied == 1 else "rows say"
            found.append(f"{implied:,} {rows} nothing that the others do not imply")
        return tuple(found)

    @property
    def corners(self) -> Any:
        """The rows that the others do not imply, by growing ε, as the user counts them."""
        _, corners = self._envelope
        return corners.numbers if corners.eps[-1] > 0 else self._rows.numbers[:1]

    @property
    def is_log(self) -> bool:
        """Whether the rows are of log δ."""
        return self._rows.is_log

    @property
    def exact_rows(self) -> list[tuple[Fraction, Fraction | None]]:
        """Each ε with its δ, or log δ, as it is written; None for a logarithm of 0."""
        return _exactly(self._rows)

    @property
    def exact_corners(self) -> list[tuple[Fraction, Fraction | None]]:
        """Those of the rows that bound δ from above."""
        return _exactly(self._envelope[1])

    @cached_property
    def _envelope(self) -> tuple[Any, Rows]:
        kept = envelope(self._rows)
        return kept, self._rows.take(kept)

    def build_curve(self) -> Curve:
        """Return the edges of the envelope, and what is known beyond the last row."""
        kept, corners = self._envelope
        last_eps, last = exact(corners.eps_text[-1]), _delta(corners, -1)
        if last == 0 and last_eps == 0:
            return zero_curve()
        if last == 1:
            raise InputError(
                "table", Words("without any δ below 1"), Advice("give at least one row with δ < 1")
            )
        if last_eps == 0:
            return SmoothCurve((constant_piece(last_eps, last),), PlateauTail(last_eps, last))
        lines = TableLines(corners, log_slopes(self._rows, kept)[0])
        if last == 0:
            return linear_curve(lines, ConstantTail(last_eps, Fraction(0)), last_eps)
        return linear_curve(lines, PlateauTail(last_eps, last))

    def specification(self) -> dict[str, str | None]:
        """Return kind and relation, and the rows that imply the others as ``ε:δ ε:δ …``."""
        found: dict[str, str | None] = {"kind": self.kind, "neighbours": self.neighbours}
        pairs = [
            ["-inf" if one is None else format(Decimal(decimal_text(one)), "f") for one in row]
            for row in self.exact_corners
        ]
        found["rows"] = " ".join(map(":".join, pairs))
        return found | ({"log": "true"} if self.is_log else {})

    @property
    def composed_is(self) -> Nature:
        """The class: one pair of distributions has all of the curve."""
        return self.profile_is

    @cached_property
    def _knots(self) -> list[Fraction]:
        return [eps for eps, _ in self.exact_corners if eps > 0]

    @cached_property
    def _spacing(self) -> Fraction | None:
        if not self._knots:
            return Fraction(1)
        denominator = math.lcm(*(eps.denominator for eps in self._knots))
        found = Fraction(math.gcd(*(int(eps * denominator) for eps in self._knots)), denominator)
        return found if self._knots[-1] <= _MOST_PLACES * found else None

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of as many runs; how it falls beyond the last row is not known."""
        return self.curve if times == 1 else cut_off(super().composed_curve(times))

    def privacy_losses(self) -> Losses:
        """Return the loss of the pair that has this curve: of all mechanisms it is the worst."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import FiniteTransform, only_fails

        if not self._knots:
            last = _delta(self._envelope[1], -1)
            return [Part(only_fails(upper_bound(last)), 1)] if last else []
        losses, masses, failure = masses_of_lines(
            self.curve, self._knots, bends=self.exact_corners[0][0] == 0
        )
        law = FiniteTransform(
            losses,
            masses,
            failure=failure,
            reverse_failure=failure,
            symmetric=True,
            spacing=self._spacing,
        )
        return [Part(law, 1)]


class TableLines(ArrayLines):
    """The edges between the corners of a table's envelope, the first one from (-1, 1)."""

    def __init__(self, corners: Rows, log_b: Any) -> None:
        self.corners = corners
        eps, log_delta, delta = corners.eps, corners.log_delta, corners.delta
        with np.errstate(divide="ignore"):
            log_complement = np.log1p(-delta)
        start = np.append(0.0, eps[:-1])
        # on the first edge 1 - δ = b(1 + e^ε)
        log_complement = np.append(np.log(2.0) + log_b[0], log_complement[:-1])
        # an edge that ends at ε = 0 is not on the range
        self.skipped = int(eps[0] == 0)
        part = Segments(start, eps, log_b, log_delta, log_complement)
        super().__init__(part[self.skipped :])
        self.beyond, self.log_beyond = _delta(corners, -1), float(log_delta[-1])

    def line(self, index: int) -> Line:
        """Return an edge, from the exact pairs."""
        right = index + self.skipped
        right_t, right_delta = self._point(right)
        left_t, left_delta = self._point(right - 1) if right else (arb(-1), arb(1))
        b = (left_delta - right_delta) / (right_t - left_t)
        a = right_delta + b * right_t
        return Line(a, 1 - a, b, 1 - b)

    def _point(self, number: int) -> tuple[arb, arb]:
        delta = _delta(self.corners, number)
        value = ball(delta) if isinstance(delta, Fraction) else delta()
        return ball(exact(self.corners.eps_text[number])).exp(), value

    def end(self, index: int) -> arb:
        """Return the ε of a corner."""
        return ball(exact(self.corners.eps_text[index + self.skipped]))


def _delta(rows: Rows, index: int) -> Constant:
    """Return the δ of a row as it is written."""
    if not rows.is_log:
        return exact(rows.delta_text[index])
    if rows.log_delta[index] == -np.inf:
        return Fraction(0)
    log = exact(rows.delta_text[index])
    return (lambda: ball(log).exp()) if log else Fraction(1)


def _exactly(rows: Rows) -> list[tuple[Fraction, Fraction | None]]:
    found = []
    for eps, delta, log in zip(rows.eps_text, rows.delta_text, rows.log_delta, strict=True):
        nothing = rows.is_log and log == -np.inf
        found.append((exact(eps), None if nothing else exact(delta)))
    return found


def _of_pairs(pairs: Any, *, is_log: bool) -> Rows:
    try:
        eps, delta = zip(*pairs, strict=True)
    except (TypeError, ValueError):
        raise InputError("pairs", pairs, "a sequence of pairs of ε and δ, at least one") from None
    return rows_of_numbers(_texts(eps), _texts(delta), is_log=is_log)


def _texts(values: Sequence[Any]) -> list[str]:
    return [repr(float(value)) if isinstance(value, float) else str(value) for value in values]


def _sorted(rows: Rows) -> tuple[Rows, int]:
    """Return the rows by growing ε, each ε once with its smallest δ, and how many had a larger one.

    Raises:
        InputError: for two ε that differ by less than floats do.
    """
    if (rows.eps[1:] > rows.eps[:-1]).all():
        return rows, 0
    order = np.argsort(rows.eps, kind="stable")
    same = np.flatnonzero(rows.eps[order[1:]] == rows.eps[order[:-1]])
    overruled = 0
    for place in same.tolist():
        first, second = order[place], order[place + 1]
        if exact(rows.eps_text[first]) != exact(rows.eps_text[second]):
            raise InputError(
                f"row {rows.numbers[second]}",
                f"ε {rows.eps_text[second].strip()}",
                f"the ε of row {rows.numbers[first]}, or farther from it than floats round",
            )
        # the next row of this ε is compared with the better one of these
        one, other = _written(rows, first), _written(rows, second)
        overruled += one != other
        if one <= other:
            order[place], order[place + 1] = second, first
    return rows.take(np.delete(order, same)), overruled


def _written(rows: Rows, index: int) -> Fraction | float:
    """Return a row's δ, or log δ, as it is written."""
    return -np.inf if rows.log_delta[index] == -np.inf else exact(rows.delta_text[index])
