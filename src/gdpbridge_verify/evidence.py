"""What some certificates have besides a μ and its cells: each part says which ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from gdpbridge_verify.numbers import Binary, Decimal, Exact, MuDecimal, SignedBinary, SignedExact
from gdpbridge_verify.reader import Most, Text, Whole
from gdpbridge_verify.refusal import Malformed

MAX_CELLS = 100_000
MAX_NODES = 200_000
MAX_RELEASES = 100
# characters of a number in a row
MAX_NUMBER = 400

# as people write them, or as a logarithm of 0
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
Number = Annotated[
    str, Text("a decimal number, or p/q", MAX_NUMBER, f"{_NUMBER}|[0-9]+/[1-9][0-9]*|-inf")
]
Row = Annotated[tuple[Number, ...], Most(2)]
Column = Literal["eps", "delta", "log_delta", "alpha", "beta", "epsilon"]
Delimiter = Literal[",", ";", "\t"]
Ratio = Annotated[str, Text("a fraction p/q, above 0", 200, "[1-9][0-9]*(/[1-9][0-9]*)?")]
FileName = Annotated[str, Text("the name of a file", 200, r"[^/\\\x00-\x1f]+")]
Hash = Annotated[str, Text("a SHA-256 in hexadecimal", 64, "[0-9a-f]{64}")]


Touching = Annotated[tuple[Binary, ...], Most(100)]
RowNumbers = Annotated[tuple[Annotated[int, Whole(0, MAX_CELLS)], ...], Most(MAX_CELLS)]


@dataclass(frozen=True, kw_only=True)
class Breakpoint:
    """A bracket about a point at which the profile's formula changes."""

    low: Binary
    high: Binary


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes j·step + i·shift, j = first, …, last, of a trapezoid rule."""

    shift: Exact
    strip: Annotated[Exact, "half the width of the strip that bounds the rule's error"]
    step: Exact
    first: Annotated[int, Whole(-(2**40), 2**40)]
    last: Annotated[int, Whole(-(2**40), 2**40)]

    def numbers(self, line: str = "evidence.lines: nodes") -> range:
        """Return first, …, last."""
        if not 0 < self.last - self.first < MAX_NODES or self.step <= 0:
            raise Malformed(line, self.last - self.first, "some, in order")
        return range(self.first, self.last + 1)


NodesOfParts = Annotated[tuple[Nodes | None, ...], Most(1000)]


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A soft step Φ((u - place)/width) in the noise u of one run."""

    place: SignedExact
    width: Annotated[Exact, "above 0"]


@dataclass(frozen=True, kw_only=True)
class Split:
    """How runs on samples are parted by their noise: usual, rare and large."""

    low: Annotated[Edge, "where noise begins to be rare"]
    high: Annotated[Edge, "where it begins to be large"]
    tilt: Annotated[Exact, "that of the bound of runs whose noise is all usual"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """Places s = c + ikh, |k| ≤ count, at which a composed loss's transform is summed."""

    c: SignedExact
    h: Exact
    count: Annotated[int, Whole(1, 2**18)]
    right: Annotated[SignedExact, "the tilt that bounds the aliases on the right"]
    left: Annotated[SignedExact, "the tilt that bounds the aliases on the left"]
    nodes: Annotated[NodesOfParts, "for each part, the quadrature on the line, if it needs one"]
    far: Annotated[NodesOfParts, "for each part, the one that bounds what the sum leaves out"]
    split: Annotated[Split | None, "of rare noise: nodes are of what is not large, and rare"] = None


@dataclass(frozen=True, kw_only=True)
class CurvePiece:
    """A smooth curve above δ, up to where the next one begins."""

    start: Binary
    line: Annotated[Line | None, "the line that gives it"] = None
    tilt: Annotated[Binary | None, "or the tilt of Chernoff's bound, or of a law"] = None
    chord: Annotated[Binary | None, "where a chord of 1 - δ ends in that bound"] = None


@dataclass(frozen=True, kw_only=True)
class WitnessLine:
    """The line whose lower curve is above δ_μ at the witness."""

    reverse: Annotated[bool, "whether it is of Q against P"]
    line: Line


@dataclass(frozen=True, kw_only=True)
class Tangent:
    """A line above δ in e^ε: the tangent to all (p, q) that one order allows, seen from an ε."""

    at: Annotated[Binary, "the ε"]
    order: Annotated[Binary, "the order α of the divergence"]
    inside: Annotated[Binary, "log p/q where it touches"]
    outside: Annotated[Binary, "log (1-q)/(1-p) where it touches"]


Tangents = Annotated[tuple[Tangent, ...], Most(MAX_CELLS)]


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event, whose mechanism shows that δ is no smaller."""

    inside: Annotated[Binary, "its probability p under the one data set"]
    outside: Annotated[Binary, "and q under the other"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Another number of the mechanism than μ."""

    quantity: Annotated[
        Literal["delta", "epsilon", "advantage", "tpr", "beta", "regret"],
        "δ at an ε; the least ε ≥ 0 at a δ; δ(0); an attacker's TPR at an FPR; f at a type I "
        "error; the worst-case regret of stating mu.high and failure_probability",
    ]
    at: Annotated[Decimal | None, "that ε, δ or rate; null for an advantage or a regret"]
    low: Annotated[MuDecimal, "at most the number"]
    high: Annotated[MuDecimal, "at least the number"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """δ at an ε, as a step of a proof."""

    at: Annotated[Binary, "the ε"]
    low: Annotated[Decimal, "at most δ there"]
    high: Annotated[Decimal, "at least δ there"]
    event: Annotated[Event | None, "of a table: the event that shows low"] = None
    witness_line: Annotated[WitnessLine | None, "of a composed loss: what shows low"] = None


@dataclass(frozen=True, kw_only=True)
class Point:
    """What the proof of an answer needs besides the mechanism."""

    touch: Annotated[SignedBinary | None, "of a rate or f: the ε of the line that shows it"] = None
    event: Annotated[Event | None, "of a class: what shows the lower end of δ"] = None
    witness_line: Annotated[WitnessLine | None, "of a composed loss: what shows it"] = None
    places: Annotated[
        tuple[Place, ...] | None,
        Most(1000),
        "of the high of f, the low of a rate, and the high of a regret: where δ shows it, in order",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of two numbers that a mechanism is known by, here or in a file beside the document."""

    columns: Annotated[tuple[Column, ...], Most(2)]
    rows: Annotated[tuple[Row, ...] | None, Most(MAX_CELLS), "null: in the file"]
    file: Annotated[FileName | None, "its name, without a folder"] = None
    sha256: Annotated[Hash | None, "of its bytes"] = None
    delimiter: Annotated[Delimiter | None, "what stands between its fields"] = None
    header: Annotated[Annotated[int, Whole(0, 1000)], "how many lines stand before the rows"] = 0
    fields: Annotated[
        tuple[Annotated[int, Whole(0, 1000)], ...], Most(2), "which fields of a line, from 0 on"
    ] = (0, 1)


@dataclass(frozen=True, kw_only=True)
class Release:
    """One of several releases of the same data, by the certificate beside the document."""

    file: Annotated[FileName, "the certificate's name, without a folder"]
    sha256: Annotated[Hash, "of its bytes"]
    count: Annotated[int, Whole(1, 10**9)] = 1


Releases = Annotated[tuple[Release, ...], Most(MAX_RELEASES)]
