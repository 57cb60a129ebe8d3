"""Documents of more than one statement: a calibrated parameter, and releases that are composed.

- A parameter is calibrated if the target is met with it, and missed with another value of it: two
  statements about one number, of mechanisms that differ in that parameter alone.
- Releases that are μ_i-GDP but for failures p_i are together μ-GDP but for p, if μ² ≥ Σ μ_i² and
  1 - p ≤ Π (1 - p_i); also where each is chosen after seeing the earlier ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from gdpbridge_verify.document import Certificate, Claim, Evidence, Range
from gdpbridge_verify.numbers import about, mu_range
from gdpbridge_verify.parameters import require_relation
from gdpbridge_verify.reader import MAX_BYTES, content_of, parsed, read_as
from gdpbridge_verify.refusal import Malformed, Refused, Words

if TYPE_CHECKING:
    from gdpbridge_verify.check import Verification

# the kind of mechanism that a composition names
RELEASES = "releases"
# as long as so many of the longest certificates
MOST_TIMES = 2
# places after the point of 1 - p, rounded down
_BITS = 1024

_NO_EVIDENCE = Evidence(breakpoints=(), cells=(), witness=None, tail_from=None)
_Number = tuple[tuple[str, Fraction | None], str, str]


# --- a calibrated parameter -------------------------------------------------------------------


def missed(document: Certificate, prove: Callable[[Certificate], object]) -> str:
    """Prove that the target is missed, and return what both statements come to in words."""
    other, in_words = the_other_end(document)
    try:
        prove(other)
    except Refused as refused:
        raise Refused(f"beyond.{refused.line}", refused.reason) from None
    return in_words


def the_other_end(document: Certificate) -> tuple[Certificate, str]:
    """Return the statement that the target is missed, and what both come to in words."""
    beyond = document.beyond
    assert beyond is not None
    own = {name: document.mechanism.get(name) for name in beyond.changes}
    wrong = beyond.changes.keys() - document.mechanism.keys()
    if wrong or not own or any(name.endswith(("kind", "neighbours")) for name in own):
        raise Malformed("beyond.changes", Words(", ".join(own)), "parameters of the mechanism")
    if "random-allocation" in document.mechanism.values():
        # the checker's bound is its own, and finding a second one takes as long as all else may
        raise Malformed("beyond", Words("given"), "null for random allocation")
    if document.claim.profile_is is None:
        raise Malformed("claim.profile_is", None, "given beside another end")
    (what, _, high), (other, low, _) = _number(document.claim), _number(beyond.claim)
    if what != other or document.claim.profile_is != beyond.claim.profile_is:
        raise Refused("beyond.claim", "it is not about the same number")
    if high == "inf" or Fraction(high) > Fraction(beyond.target):
        raise Refused("beyond.target", f"{high} is above it")
    if low != "inf" and not Fraction(low) > Fraction(beyond.target):
        raise Refused("beyond.claim", f"{low} is not above the target")
    here, there = (
        ", ".join(f"{name} {value}" for name, value in one.items()) for one in (own, beyond.changes)
    )
    mechanism = {**document.mechanism, **beyond.changes}
    found = replace(
        document, mechanism=mechanism, claim=beyond.claim, evidence=beyond.evidence, beyond=None
    )
    bound = " of this bound" if document.claim.profile_is == "bound" else ""
    return found, (
        f"the target {beyond.target} is met with {here}; with {there} the same number{bound} is "
        "above it"
    )


def _number(claim: Claim) -> _Number:
    """Return which number a claim is about, and its ends."""
    if claim.statement != "answers":
        failure = Fraction(claim.failure_probability) if claim.eps_h is None else None
        place = failure if claim.eps_h is None else Fraction(claim.eps_h)
        return (claim.statement, place), claim.mu.low, claim.mu.high
    answers = claim.answers or ()
    if len(answers) != 1 or answers[0].quantity == "beta":
        raise Malformed("claim.answers", len(answers), "one, that is the worse the larger it is")
    (one,) = answers
    return (one.quantity, None if one.at is None else Fraction(one.at)), one.low, one.high


# --- a composition ----------------------------------------------------------------------------


def composition(
    document: Certificate, folder: Path, prove: Callable[[Certificate, Path], Verification]
) -> list[str]:
    """Prove each release anew, and that together they are what is claimed."""
    _require_plain(document)
    claims, assumed = [], []
    parts: list[tuple[Claim, int]] = []
    read = 0
    # copies under other names are proved once
    known: dict[str, tuple[str, ...]] = {}
    relation = document.mechanism
    for number, one in enumerate(document.releases or ()):
        line = f"releases[{number}]"
        content = content_of(folder / one.file, f"{line}.file")
        read += len(content)
        if read > MOST_TIMES * MAX_BYTES:
            raise Malformed("releases", read, f"at most {MOST_TIMES * MAX_BYTES:,} bytes together")
        if hashlib.sha256(content).hexdigest() != one.sha256:
            raise Refused(f"{line}.sha256", f"{one.file} is another file")
        part = read_as(Certificate, parsed(content), one.file)
        if part.releases is not None or part.claim.mu.high == "inf":
            raise Malformed(f"{line}.file", one.file, "a certificate of a finite μ of a mechanism")
        own = relation_of(part)
        if any(own[name] not in (None, relation.get(name)) for name in own):
            raise Refused(line, f"{one.file} is for other neighbours: {_in_words(own)}")
        if one.sha256 not in known:
            try:
                known[one.sha256] = prove(part, folder).claims
            except Refused as refused:
                raise Refused(f"{line}: {one.file}: {refused.line}", refused.reason) from None
        said = known[one.sha256]
        parts.append((part.claim, one.count))
        times = "" if one.count == 1 else f"{one.count} times "
        failure = part.claim.failure_probability
        beside = f", p = {failure}" if Fraction(failure) else ""
        claims.append(f"{times}{one.file}, proved anew: μ = {part.claim.mu.high}{beside}")
        assumed.append(f"{one.file}: {said[-1].removeprefix('assumed, not proved: ')}")
    claims += _sum(document.claim, *total(parts))
    each = "that all are of the same data, each chosen at most after seeing the earlier ones"
    return [*claims, f"assumed, not proved: {'; '.join((each, *assumed))}"]


def relation_of(document: Certificate) -> dict[str, str | None]:
    """Return for which data sets a certificate is: the neighbours, and how many steps apart."""
    given = document.mechanism
    named = {given[name] for name in given if name.rpartition(".")[2] == "neighbours"} - {None}
    if len(named) > 1:
        raise Malformed("mechanism.neighbours", Words("several"), "one")
    size = given.get("size") if given.get("kind") == "grouped" else "1"
    return {"neighbours": next(iter(named), None), "size": size}


def total(parts: Iterable[tuple[Claim, int]]) -> tuple[Fraction, Fraction]:
    """Return the sum of squares of several μ, and a bound of the probability of any failure."""
    square, kept, risks = Fraction(0), Fraction(1), Fraction(0)
    for claim, count in parts:
        failure = Fraction(claim.failure_probability)
        square += count * Fraction(claim.mu.high) ** 2
        risks += count * failure
        kept = _down(kept * _power(1 - failure, count))
    return square, min(risks, 1 - kept)


def _require_plain(document: Certificate) -> None:
    claim, given = document.claim, document.mechanism
    if set(given) != {"kind", "neighbours", "size"} or given["kind"] != RELEASES:
        raise Malformed("mechanism", Words(", ".join(given)), f"of kind {RELEASES}")
    require_relation(given["neighbours"])
    others = document.table or document.beyond or document.lemmas or claim.answers
    if document.evidence != _NO_EVIDENCE or others:
        raise Malformed("evidence", Words("given"), "none of a composition's own")
    if not document.releases:
        raise Malformed("releases", 0, "at least one")
    verdict, tail = ("gdp", claim.mu.high) if claim.statement == "whole" else ("unknown", "inf")
    if (
        claim.statement not in ("whole", "approximate")
        or (claim.mu.low, claim.eps_h, claim.profile_is) != ("0", None, "bound")
        or (claim.verdict, claim.mu_tail) != (verdict, Range(low="0", high=tail))
    ):
        raise Malformed("claim", Words("another"), "an upper end of μ alone, and of a bound")


def _sum(claim: Claim, square: Fraction, failure: Fraction) -> Iterator[str]:
    _, high = mu_range("claim.mu", claim.mu.low, claim.mu.high)
    given = Fraction(claim.failure_probability)
    if high is None or high**2 < square:
        raise Refused("claim.mu.high", f"its square is below {about(square)}, the sum of squares")
    if not failure <= given < 1 or (claim.statement == "whole" and given):
        raise Refused("claim.failure_probability", f"together it is up to {about(failure)}")
    if given:
        yield f"all failures together have a probability of at most {claim.failure_probability} = p"
    yield f"together, with μ the root of the sum of squares: μ = {claim.mu.high}"


def _down(value: Fraction) -> Fraction:
    return Fraction((value.numerator << _BITS) // value.denominator, 1 << _BITS)


def _power(value: Fraction, count: int) -> Fraction:
    """Return a power of a number in [0, 1], or a little less."""
    found = Fraction(1)
    while count:
        value = _down(value)
        found = _down(found * value) if count % 2 else found
        value, count = value * value, count // 2
    return found


def _in_words(relation: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in relation.items())
