"""What a certificate is: a claim about μ and the evidence for it, as versioned plain data.

Every number is a string, so that nothing is rounded on the way: decimals for what people state
(parameters, claims), binary numbers such as ``0x18p-4`` (hexadecimal integer, power of two) for
points of the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final, Literal

from gdpbridge_verify.numbers import signed
from gdpbridge_verify.reader import Most, Text, Whole
from gdpbridge_verify.refusal import Malformed

MAX_CELLS = 100_000
MAX_NODES = 200_000
MAX_RELEASES = 100

NAME: Final = "gdpbridge.certificate"
VERSION: Final = 1

DECIMAL_PATTERN = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?"
_BINARY = r"0x[0-9a-f]+p[+-][0-9]{1,4}"

Decimal = Annotated[str, Text("an exact decimal number", 400, DECIMAL_PATTERN)]
# infinity is what a claim says where no finite μ holds
MuDecimal = Annotated[str, Text("an exact decimal number, or inf", 400, f"{DECIMAL_PATTERN}|inf")]
_EXACT = "an exact number: hexadecimal integer times a power of two"
_SIGNED = "an exact number of either sign: hexadecimal integer times a power of two"
Binary = Annotated[str, Text(_EXACT, 8192, _BINARY)]
SignedBinary = Annotated[str, Text(_SIGNED, 8192, f"-?{_BINARY}")]
Ratio = Annotated[str, Text("a fraction p/q, above 0", 200, "[1-9][0-9]*(/[1-9][0-9]*)?")]
# those of lines are read as numbers at once
Exact = Annotated[Fraction, Text(_EXACT, 8192, _BINARY, signed)]
SignedExact = Annotated[Fraction, Text(_SIGNED, 8192, f"-?{_BINARY}", signed)]
# as people write them, or as a logarithm of 0
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
Number = Annotated[str, Text("a decimal number", 400, f"{_NUMBER}|-inf")]
Row = Annotated[tuple[Number, ...], Most(2)]
Column = Literal["eps", "delta", "log_delta", "alpha", "beta", "epsilon"]
Delimiter = Literal[",", ";", "\t"]
FileName = Annotated[str, Text("the name of a file", 200, r"[^/\\\x00-\x1f]+")]
Hash = Annotated[str, Text("a SHA-256 in hexadecimal", 64, "[0-9a-f]{64}")]
Name = Annotated[str, Text("a name", 40)]
# numbers are short; what is long lists losses and their probabilities
Parameter = Annotated[str, Text("a text", 100_000)]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Which kind of document this is."""

    name: Literal["gdpbridge.certificate"]
    version: Literal[1]


@dataclass(frozen=True, kw_only=True)
class Range:
    """An interval [low, high] for a μ."""

    low: MuDecimal
    high: MuDecimal


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
class Claim:
    """What is said to be true of the mechanism."""

    verdict: Annotated[
        Literal["gdp", "not-gdp", "unknown"],
        "gdp: some finite μ covers every ε ≥ 0; not-gdp: none does; unknown: nothing is said of it",
    ]
    statement: Annotated[
        Literal["whole", "head", "approximate", "answers"],
        "what mu covers: every ε, up to eps_h, all but failure_probability; answers: nothing",
    ]
    mu: Annotated[Range, "holds the least μ for which the statement is true"]
    eps_h: Annotated[Decimal | None, "the end of the head, for a head statement"]
    failure_probability: Annotated[Decimal, "head: at least δ(eps_h); approximate: p; else 0"]
    mu_tail: Annotated[Range, "holds the tail parameter; [0, inf] for a verdict of unknown"]
    profile_is: Annotated[
        Literal["own", "class", "bound"] | None,
        "what δ(ε) is: own: the mechanism's; class: the supremum over all mechanisms with its "
        "guarantee; bound: an upper bound, which no μ below mu.low covers. 0.1.0 does not say it",
    ] = None
    answers: Annotated[tuple[Answer, ...] | None, Most(1000), "other numbers than μ"] = None


@dataclass(frozen=True, kw_only=True)
class Breakpoint:
    """A bracket about a point at which the profile's formula changes."""

    low: Binary
    high: Binary


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A range of ε on which δ ≤ δ_μ is proved for mu.high."""

    low: Binary
    high: Binary
    centre: Annotated[Binary | None, "where to touch the Gaussian curve first; null: in the middle"]


Cells = Annotated[tuple[Cell, ...], Most(MAX_CELLS)]


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
class Line:
    """Places s = c + ikh, |k| ≤ count, at which a composed loss's transform is summed."""

    c: SignedExact
    h: Exact
    count: Annotated[int, Whole(1, 2**18)]
    right: Annotated[SignedExact, "the tilt that bounds the aliases on the right"]
    left: Annotated[SignedExact, "the tilt that bounds the aliases on the left"]
    nodes: Annotated[NodesOfParts, "for each part, the quadrature on the line, if it needs one"]
    far: Annotated[NodesOfParts, "for each part, the one that bounds what the sum leaves out"]


@dataclass(frozen=True, kw_only=True)
class CurvePiece:
    """A smooth curve above δ, up to where the next one begins."""

    start: Binary
    line: Annotated[Line | None, "the line that gives it"] = None
    tilt: Annotated[Binary | None, "or the tilt of Chernoff's bound, or of a law"] = None
    chord: Annotated[Binary | None, "where a chord of 1 - δ ends in that bound"] = None


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The proof for one direction of a composed loss: P against Q first, then Q against P."""

    pieces: Annotated[tuple[CurvePiece, ...], Most(2000)]
    cells: Annotated[Cells, "adjacent ranges from 0 on"]


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


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event, whose mechanism shows that δ is no smaller."""

    inside: Annotated[Binary, "its probability p under the one data set"]
    outside: Annotated[Binary, "and q under the other"]


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
class Evidence:
    """What the claim's proof needs besides the mechanism."""

    breakpoints: Annotated[tuple[Breakpoint, ...], Most(2), "where δ̂ changes its formula"]
    cells: Annotated[Cells, "adjacent ranges from 0 on"]
    witness: Annotated[
        Binary | Literal["tail"] | None,
        "an ε that shows mu.low; tail: it is at most the tail parameter; null: the mechanism is a "
        "Gaussian curve, or no finite μ exists",
    ]
    tail_from: Annotated[Binary | None, "from here on the rate of decay is the proof, not cells"]
    directions: Annotated[
        tuple[Direction, ...] | None, Most(2), "of a composed loss: one if both are the same"
    ] = None
    unit: Annotated[
        Ratio | None, "of bounded losses: on its multiples are a law above and one below"
    ] = None
    witness_line: Annotated[WitnessLine | None, "of a composed loss: δ at the witness"] = None
    tangents: Annotated[
        tuple[Tangent, ...] | None, Most(MAX_CELLS), "of bounds on divergences, in order of ε"
    ] = None
    corners: Annotated[
        tuple[Annotated[int, Whole(0, MAX_CELLS)], ...] | None,
        Most(MAX_CELLS),
        "of a table: the rows that chords are drawn between, in order of ε",
    ] = None
    touching: Annotated[
        tuple[Binary, ...] | None, Most(100), "of a formula: where lines touch it"
    ] = None
    event: Annotated[Event | None, "of a class: an event that attains mu.low"] = None
    points: Annotated[tuple[Point, ...] | None, Most(1000), "one for each answer"] = None


@dataclass(frozen=True, kw_only=True)
class Beyond:
    """The other end of a calibrated parameter: with it the target is missed."""

    target: Annotated[Decimal, "at least mu.high, or the only answer's; below mu.low, or so, here"]
    changes: Annotated[dict[Name, Parameter | None], Most(10), "parameters that are others here"]
    claim: Claim
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Release:
    """One of several releases of the same data, by the certificate beside the document."""

    file: Annotated[FileName, "the certificate's name, without a folder"]
    sha256: Annotated[Hash, "of its bytes"]
    count: Annotated[int, Whole(1, 10**9)] = 1


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A self-contained, checkable claim about a mechanism's μ."""

    schema: Schema
    generator: Annotated[str, Text("a text", 200), "the program that wrote it; informative only"]
    mechanism: Annotated[dict[Name, Parameter | None], Most(8000), "its kind and parameters"]
    claim: Claim
    evidence: Evidence
    table: Annotated[Table | None, "the rows that the mechanism is known by, if it is"] = None
    beyond: Annotated[Beyond | None, "of a calibrated parameter: its other end"] = None
    releases: Annotated[
        tuple[Release, ...] | None, Most(MAX_RELEASES), "of a composition: what is composed"
    ] = None
