"""What a certificate is: a claim about μ and the evidence for it, as versioned plain data.

Every number is a string, so that nothing is rounded on the way: see numbers.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from gdpbridge_verify import evidence as more
from gdpbridge_verify.numbers import Binary, Decimal, MuDecimal
from gdpbridge_verify.reader import Most, Text

Name = Annotated[str, Text("a name", 40)]
# numbers are short; what is long lists losses and their probabilities
MAX_TEXT = 100_000
Parameter = Annotated[str, Text("a text", MAX_TEXT)]


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
    answers: Annotated[tuple[more.Answer, ...] | None, Most(1000), "other numbers than μ"] = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A range of ε on which δ ≤ δ_μ is proved for mu.high."""

    low: Binary
    high: Binary
    centre: Annotated[Binary | None, "where to touch the Gaussian curve first; null: in the middle"]


Cells = Annotated[tuple[Cell, ...], Most(more.MAX_CELLS)]


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The proof for one direction of a composed loss: P against Q first, then Q against P."""

    pieces: Annotated[tuple[more.CurvePiece, ...], Most(2000)]
    cells: Annotated[Cells, "adjacent ranges from 0 on"]


Directions = Annotated[tuple[Direction, ...], Most(2)]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the claim's proof needs besides the mechanism."""

    breakpoints: Annotated[tuple[more.Breakpoint, ...], Most(2), "where δ̂ changes its formula"]
    cells: Annotated[Cells, "adjacent ranges from 0 on"]
    witness: Annotated[
        Binary | Literal["tail"] | None,
        "an ε that shows mu.low; tail: it is at most the tail parameter; null: the mechanism is a "
        "Gaussian curve, or no finite μ exists",
    ]
    tail_from: Annotated[Binary | None, "from here on the rate of decay is the proof, not cells"]
    directions: Annotated[Directions | None, "of a composed loss: one if both are the same"] = None
    unit: Annotated[more.Ratio | None, "of bounded losses: that of laws above and below"] = None
    witness_line: Annotated[more.WitnessLine | None, "of a composed loss: δ at the witness"] = None
    tangents: Annotated[more.Tangents | None, "of bounds on divergences, in order of ε"] = None
    corners: Annotated[more.RowNumbers | None, "of a table: rows between chords, in order"] = None
    touching: Annotated[more.Touching | None, "of a formula: where lines touch it"] = None
    event: Annotated[more.Event | None, "of a class: an event that attains mu.low"] = None
    points: Annotated[tuple[more.Point, ...] | None, Most(1000), "one for each answer"] = None


@dataclass(frozen=True, kw_only=True)
class Beyond:
    """The other end of a calibrated parameter: with it the target is missed."""

    target: Annotated[Decimal, "at least mu.high, or the only answer's; below mu.low, or so, here"]
    changes: Annotated[dict[Name, Parameter | None], Most(10), "parameters that are others here"]
    claim: Claim
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """What a proof uses of something that the mechanism is made of; it is proved first."""

    mechanism: Annotated[dict[Name, Parameter | None], Most(8000), "its kind and parameters"]
    claim: Claim
    evidence: Evidence
    table: more.Table | None = None


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A self-contained, checkable claim about a mechanism's μ."""

    schema: Schema
    generator: Annotated[str, Text("a text", 200), "the program that wrote it; informative only"]
    mechanism: Annotated[dict[Name, Parameter | None], Most(8000), "its kind and parameters"]
    claim: Claim
    evidence: Evidence
    table: Annotated[more.Table | None, "the rows that the mechanism is known by, if it is"] = None
    beyond: Annotated[Beyond | None, "of a calibrated parameter: its other end"] = None
    releases: Annotated[more.Releases | None, "of a composition: what is composed"] = None
    lemmas: Annotated[tuple[Lemma, ...] | None, Most(100), "what is used of its parts"] = None
