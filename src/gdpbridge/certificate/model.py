"""What a certificate is: a claim about μ and the evidence for it, as versioned plain data.

Every number is a string, so that nothing is rounded on the way: decimals for what people state
(parameters, claims), binary numbers such as ``0x1.8p+1`` (hexadecimal mantissa, power of two)
for points of the proof.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, ValidationError

from gdpbridge.errors import InputError, Words
from gdpbridge.files import write_text

__all__ = [
    "DECIMAL_PATTERN",
    "MAX_BYTES",
    "Breakpoint",
    "Cell",
    "Certificate",
    "Claim",
    "CurvePiece",
    "Direction",
    "Evidence",
    "Line",
    "Nodes",
    "Range",
    "Schema",
    "Tangent",
    "WitnessLine",
    "read",
]

MAX_BYTES = 16 * 2**20
MAX_CELLS = 100_000
# no level of a certificate is deeper or has more names than this, and most values are in cells
MAX_DEPTH = 11
# a sequence names every part's parameters
MAX_NAMES = 8000
MAX_PIECES = 2000
MAX_VALUES = 5 * MAX_CELLS
# a list of losses and their probabilities
MAX_TEXT = 100_000

NAME: Final = "gdpbridge.certificate"
VERSION: Final = 1

DECIMAL_PATTERN = r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$"

Decimal = Annotated[
    str,
    StringConstraints(max_length=400, pattern=DECIMAL_PATTERN),
    Field(description="an exact decimal number"),
]
# infinity is what a claim says where no finite μ holds
MuDecimal = Annotated[
    str,
    StringConstraints(max_length=400, pattern=r"^([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|inf)$"),
    Field(description="an exact decimal number, or inf"),
]
Binary = Annotated[
    str,
    StringConstraints(max_length=8192, pattern=r"^0x[0-9a-f]+p[+-][0-9]{1,4}$"),
    Field(description="an exact number: hexadecimal integer times a power of two"),
]

SignedBinary = Annotated[
    str,
    StringConstraints(max_length=8192, pattern=r"^-?0x[0-9a-f]+p[+-][0-9]{1,4}$"),
    Field(description="an exact number of either sign: hexadecimal integer times a power of two"),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Schema(_Strict):
    """Which kind of document this is."""

    name: Literal["gdpbridge.certificate"]
    version: Literal[1]


class Range(_Strict):
    """An interval [low, high] for a μ."""

    low: MuDecimal
    high: MuDecimal


class Claim(_Strict):
    """What is said to be true of the mechanism."""

    verdict: Literal["gdp", "not-gdp"] = Field(
        description="gdp: some finite μ covers every ε ≥ 0; not-gdp: none does"
    )
    statement: Literal["whole", "head", "approximate"] = Field(
        description="what mu covers: every ε, ε up to eps_h, or all but failure_probability"
    )
    mu: Range = Field(description="holds the least μ for which the statement is true")
    eps_h: Decimal | None = Field(description="the end of the head, for a head statement")
    failure_probability: Decimal = Field(
        description="for a head: at least δ(eps_h); for an approximate statement: p; else 0"
    )
    mu_tail: Range = Field(description="holds the tail parameter")
    profile_is: Literal["own", "class", "bound"] | None = Field(
        default=None,
        description="what δ(ε) is: own: the mechanism's exact profile; class: at every ε the "
        "supremum over all mechanisms with its guarantee; bound: an upper bound, so that mu.low "
        "says that no smaller μ follows from it. Not said by version 0.1.0",
    )


class Breakpoint(_Strict):
    """A bracket about a point at which the profile's formula changes."""

    low: Binary
    high: Binary


class Cell(_Strict):
    """A range of ε on which δ ≤ δ_μ is proved for mu.high."""

    low: Binary
    high: Binary
    centre: Binary | None = Field(
        description="where the mean-value form is centred; null: proved by monotonicity"
    )


class Nodes(_Strict):
    """The nodes j·step + i·shift, j = first, …, last, of a trapezoid rule."""

    shift: Binary
    strip: Binary = Field(description="half the width of the strip that bounds the rule's error")
    step: Binary
    first: Annotated[int, Field(ge=-(2**40), le=2**40)]
    last: Annotated[int, Field(ge=-(2**40), le=2**40)]


class Line(_Strict):
    """Places s = c + ikh, |k| ≤ count, at which a composed loss's transform is summed."""

    c: SignedBinary
    h: Binary
    count: Annotated[int, Field(ge=1, le=2**18)]
    right: SignedBinary = Field(description="the tilt that bounds the aliases on the right")
    left: SignedBinary = Field(description="the tilt that bounds the aliases on the left")
    nodes: tuple[Nodes | None, ...] = Field(
        max_length=1000, description="for each part, the quadrature on the line, where it needs one"
    )
    far: tuple[Nodes | None, ...] = Field(
        max_length=1000, description="for each part, the one that bounds what the sum leaves out"
    )


class CurvePiece(_Strict):
    """A smooth curve above δ, up to where the next one begins."""

    start: Binary
    line: Line | None = Field(default=None, description="the line that gives it")
    tilt: Binary | None = Field(default=None, description="or the tilt of Chernoff's bound")


class Direction(_Strict):
    """The proof for one direction of a composed loss: P against Q first, then Q against P."""

    pieces: tuple[CurvePiece, ...] = Field(max_length=MAX_PIECES)
    cells: Annotated[tuple[Cell, ...], FailFast()] = Field(
        max_length=MAX_CELLS, description="adjacent ranges from 0 on, each within a piece"
    )


class WitnessLine(_Strict):
    """The line whose lower curve is above δ_μ at the witness."""

    reverse: bool = Field(description="whether it is of Q against P")
    line: Line


class Tangent(_Strict):
    """A line above δ in e^ε: the tangent to all (p, q) that one order allows, seen from an ε."""

    at: Binary = Field(description="the ε")
    order: Binary = Field(description="the order α of the divergence")
    inside: Binary = Field(description="log p/q where it touches")
    outside: Binary = Field(description="log (1-q)/(1-p) where it touches")


class Evidence(_Strict):
    """What the claim's proof needs besides the mechanism."""

    breakpoints: tuple[Breakpoint, ...] = Field(
        max_length=2, description="of a refined profile: where it changes its formula, in order"
    )
    cells: Annotated[tuple[Cell, ...], FailFast()] = Field(
        max_length=MAX_CELLS, description="adjacent ranges from 0 on"
    )
    witness: Binary | Literal["tail"] | None = Field(
        description="an ε with G(ε) ≥ mu.low; tail: mu.low is at most the tail parameter; "
        "null: the mechanism is a Gaussian curve, or no finite μ exists"
    )
    tail_from: Binary | None = Field(
        description="from here on the tail is proved by its rate of decay, not by cells"
    )
    directions: tuple[Direction, ...] | None = Field(
        default=None,
        max_length=2,
        description="of a composed loss, whose δ is the larger one of both directions: the proof "
        "for each, or for one if they are the same",
    )
    witness_line: WitnessLine | None = Field(
        default=None, description="of a composed loss: what shows δ at the witness"
    )
    tangents: tuple[Tangent, ...] | None = Field(
        default=None,
        max_length=MAX_CELLS,
        description="of a bound on divergences: lines above δ, in order of their ε",
    )


class Certificate(_Strict):
    """A self-contained, checkable claim about a mechanism's μ."""

    schema_: Schema = Field(alias="schema")
    generator: Annotated[str, StringConstraints(max_length=200)] = Field(
        description="the program that wrote it; informative only"
    )
    mechanism: dict[
        Annotated[str, StringConstraints(max_length=40)],
        Annotated[str, StringConstraints(max_length=MAX_TEXT)] | None,
    ] = Field(description="the mechanism's kind and parameters, numbers as exact decimals")
    claim: Claim
    evidence: Evidence

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, serialize_by_alias=True
    )

    def to_json(self) -> str:
        """Return the document as JSON text, a line for each cell."""
        document = self.model_dump(mode="json", by_alias=True)
        evidence = document["evidence"]
        cells = evidence.pop("cells")
        for name in ("directions", "witness_line", "tangents"):
            if evidence[name] is None:
                del evidence[name]
        if self.claim.profile_is is None:
            # a document that does not say it stays as it was written
            del document["claim"]["profile_is"]
        text = json.dumps(document, indent=1, ensure_ascii=False)
        lines = ",\n   ".join(json.dumps(cell) for cell in cells)
        body = f'"cells": [\n   {lines}\n  ]' if cells else '"cells": []'
        return text.replace('"evidence": {', '"evidence": {\n  ' + body + ",", 1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the document to a file, as a whole or not at all."""
        write_text(path, self.to_json())


def read(source: Certificate | dict[str, Any] | str | bytes | Path) -> Certificate:
    """Read a certificate from a file (a path), JSON text as bytes, or a parsed document.

    Nothing in it is executed. Documents over 16 MiB, duplicate keys and anything that the schema
    does not know are refused.

    Raises:
        InputError: if it is not a certificate of a known version.
    """
    if isinstance(source, str | Path):
        source = _file(Path(source))
    document: object = source
    if isinstance(source, bytes):
        document = _parsed(source)
    elif isinstance(source, Certificate):
        # a copy with changes was never validated
        try:
            document = source.model_dump(mode="json", by_alias=True, warnings=False)
        except (AttributeError, TypeError, ValueError):
            raise InputError(
                "certificate", Words("no document"), "a document of JSON data"
            ) from None
    _refuse_outsized(document)
    _refuse_other_schemas(document)
    try:
        # the JSON round trip lets strict models take lists for tuples
        return Certificate.model_validate_json(json.dumps(document))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(_name(part) for part in first["loc"])
        raise InputError(f"certificate: {place}", first["input"], first["msg"]) from None
    except (RecursionError, TypeError, ValueError):
        raise InputError("certificate", Words("no document"), "a document of JSON data") from None


def _name(part: str | int) -> str:
    text = str(part)
    return text if text.isidentifier() or isinstance(part, int) else repr(text[:40])


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError("certificate", str(path), f"a readable file ({error.strerror})") from None
    except ValueError:
        raise InputError("certificate", str(path), "a path") from None
    return content


def _parsed(content: bytes) -> object:
    if len(content) > MAX_BYTES:
        raise InputError("certificate", Words("too large"), f"at most {MAX_BYTES:,} bytes")
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant
        )
    except (ValueError, RecursionError):
        raise InputError(
            "certificate", Words("not JSON"), "a JSON document whose keys are unique"
        ) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate key")
    return result


def _constant(name: str) -> object:
    raise ValueError(name)


def _refuse_outsized(document: object) -> None:
    """Refuse what could not be a certificate before it costs memory or time."""
    if not isinstance(document, dict):
        raise InputError(
            "certificate", Words(f"of type {type(document).__name__}"), "a JSON object"
        )
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for value in level:
            if isinstance(value, dict):
                if len(value) > MAX_NAMES:
                    raise InputError(
                        "certificate",
                        Words("too large"),
                        f"made of objects of at most {MAX_NAMES} names",
                    )
                inner.extend(value.values())
            elif isinstance(value, list | tuple):
                if len(value) > MAX_CELLS:
                    raise InputError(
                        "certificate", Words("too large"), f"made of lists of at most {MAX_CELLS:,}"
                    )
                inner.extend(value)
            elif isinstance(value, int) and value.bit_length() > 64:
                raise InputError(
                    "certificate",
                    Words("one with a huge integer"),
                    "one whose large numbers are texts",
                )
            if len(inner) > MAX_VALUES:
                raise InputError(
                    "certificate",
                    Words("too large"),
                    f"a document of at most {MAX_VALUES:,} values",
                )
        level = inner
    if level:
        raise InputError("certificate", Words("too deep"), f"at most {MAX_DEPTH} levels deep")


def _refuse_other_schemas(document: object) -> None:
    schema = document.get("schema") if isinstance(document, dict) else None
    name = schema.get("name") if isinstance(schema, dict) else None
    if name != NAME:
        raise InputError("certificate: schema", name, f"the name {NAME!r}")
    version = schema.get("version") if isinstance(schema, dict) else None
    # neither true nor 1.0 is a version
    if type(version) is not int or version != VERSION:
        raise InputError("certificate: schema.version", version, f"{VERSION}")
