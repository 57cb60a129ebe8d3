"""Write documents of more than one statement: a calibrated parameter, a composition."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from gdpbridge.certificate.model import SCHEMA, Certificate, read, told
from gdpbridge.certificate.verify import verify
from gdpbridge.errors import InputError, RefusedError, UndecidedError, Words
from gdpbridge.files import read_bounded
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, decimal_text, exact
from gdpbridge_verify import document, evidence
from gdpbridge_verify.reader import MAX_BYTES
from gdpbridge_verify.refusal import Refused
from gdpbridge_verify.several import RELEASES, relation_of, the_other_end, total

__all__ = ["of_releases", "with_beyond", "within_target"]

_DIGITS = 25
# of a smaller target
_ROOM, _SHOWN = Fraction(999, 1000), 4
_Named = tuple[Path, str, Certificate]


def within_target(met: Certificate, target: Decimal) -> Certificate:
    """Return the certificate that a target is met, by itself.

    Raises:
        UndecidedError: if the checker's bound is above the target.
    """
    answers = met.claim.answers or ()
    high: str = answers[0].high if answers else met.claim.mu.high
    if high == "inf":
        raise UndecidedError("the checker has no finite bound")
    if Fraction(high) > exact(target):
        # of a target that is so much smaller, the bound is about as much smaller
        smaller = decimal_floor(exact(target) ** 2 / Fraction(high) * _ROOM, _SHOWN)
        raise UndecidedError(
            f"the checker's bound, {float(Fraction(high)):.6g}, is above the target: calibrate to "
            f"{smaller} in its place, and certify that"
        )
    return met


def with_beyond(met: Certificate, other: Certificate, target: Decimal) -> Certificate:
    """Return one certificate of both ends of a calibrated parameter.

    Args:
        met: that of the mechanism that meets the target.
        other: that of the one that misses it.
        target: the target.

    Raises:
        UndecidedError: if what is known of an end is not as close as the target.
    """
    changes = {
        name: value for name, value in other.mechanism.items() if met.mechanism.get(name) != value
    }
    beyond = document.Beyond(
        target=decimal_text(exact(target)),
        changes=changes,
        claim=other.claim,
        evidence=other.evidence,
    )
    found = replace(met, beyond=beyond)
    try:
        the_other_end(found)
    except Refused as refused:
        raise UndecidedError(f"the end beyond could not be certified: {refused.reason}") from None
    return found


def of_releases(files: Sequence[str | Path]) -> Certificate:
    """Return the certificate of the composition of several, which it names by their hashes.

    Args:
        files: certificates of a finite μ, in one folder, where the document belongs too; one that
            is named several times was released as often. Of a composition, its parts are taken.

    Raises:
        InputError: for a file that is no such certificate, or is for other neighbours.
        RefusedError: for one that does not hold.
        UndecidedError: if checking them all would be too much work.
    """
    if not files:
        raise InputError.missing("certificates", "name at least one file")
    paths = [Path(file) for file in files]
    folder = paths[0].parent
    for path in paths:
        if path.resolve().parent != folder.resolve():
            raise InputError("certificates", str(path), f"in the folder of {paths[0].name}")
    named = [part for path in paths for part in _parts_of(path)]
    counts = Counter((path.name, sha256) for path, sha256, _ in named)
    known = {(path.name, sha256): part for path, sha256, part in named}
    if len(known) > evidence.MAX_RELEASES:
        raise InputError("certificates", len(known), f"at most {evidence.MAX_RELEASES}")
    square, failure = total((known[name].claim, count) for name, count in counts.items())
    written = Certificate(
        schema=SCHEMA,
        generator=f"gdpbridge {version('gdpbridge')}",
        mechanism={"kind": RELEASES, **_shared([(part, path.name) for path, _, part in named])},
        claim=_claim(_root(square), decimal_ceiling(failure, _DIGITS)),
        evidence=document.Evidence(breakpoints=(), cells=(), witness=None, tail_from=None),
        releases=tuple(
            evidence.Release(file=name, sha256=sha256, count=count)
            for (name, sha256), count in counts.items()
        ),
    )
    found = verify(written, folder=folder)
    if not found.valid:
        raise RefusedError(f"certificates: {found.reason}", "certificates", found.reason, {})
    return written


def _parts_of(path: Path) -> Iterator[_Named]:
    """Yield a file, its hash and what it holds; of a composition, those that it names."""
    content = read_bounded(path, MAX_BYTES, field="certificates")
    part = read(content)
    if part.releases is None:
        if part.claim.mu.high == "inf":
            raise InputError("certificates", path.name, "of a finite μ")
        yield path, hashlib.sha256(content).hexdigest(), part
        return
    for one in part.releases:
        inner = list(_parts_of(path.parent / one.file))
        if [sha256 for _, sha256, _ in inner] != [one.sha256]:
            raise InputError("certificates", one.file, f"the file that {path.name} names")
        yield from one.count * inner


def _shared(parts: Sequence[tuple[Certificate, str]]) -> dict[str, str | None]:
    """Return for which neighbours all parts are."""
    found: dict[str, str | None] = {"neighbours": None, "size": None}
    for part, file in parts:
        for name, value in told(relation_of, part).items():
            if found[name] not in (None, value) and value is not None:
                other = f"for the same neighbours: others are for {name} {found[name]}"
                raise InputError("certificates", Words(f"{file}, for {name} {value}"), other)
            found[name] = value or found[name]
    return found


def _claim(mu: Decimal, failure: Decimal) -> document.Claim:
    high = format(mu, "f")
    return document.Claim(
        verdict="unknown" if failure else "gdp",
        statement="approximate" if failure else "whole",
        mu=document.Range(low="0", high=high),
        eps_h=None,
        failure_probability=decimal_text(exact(failure)),
        mu_tail=document.Range(low="0", high="inf" if failure else high),
        profile_is="bound",
    )


def _root(square: Fraction) -> Decimal:
    """Return a square root, rounded up."""
    scale = 10 ** (2 * _DIGITS)
    places = math.isqrt(math.ceil(square * scale**2) - 1) + 1 if square else 0
    return decimal_ceiling(Fraction(places, scale), _DIGITS)
