"""What a release costs: from numbers, a certificate, or a measured mechanism to an exact amount."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.identify import Verdict
from gdpbridge.ledger.amounts import (
    Amount,
    Number,
    amount_text,
    failure_ceiling,
    failure_of,
    mu_of,
    root_ceiling,
    square_of,
)
from gdpbridge.measure import Measurement, is_provable, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_ceiling
from gdpbridge.progress import silent

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["Charge", "Proved", "charge_for", "charge_of_numbers", "proved_by"]

_LEAST = Fraction(1, 10**30)


@dataclass(frozen=True)
class Charge:
    """What a release is charged, and what says so.

    Attributes:
        amount: μ² and the failure probability, rounded up.
        mu: μ, rounded up.
        neighbours: the relation that it is stated for, None if nothing says.
        mechanism: the mechanism as plain data, None for a bare number.
        certified: whether μ is proved; None for a bare number.
        certificate: the SHA-256 of the certificate that was checked.
        asked: what a repetition must agree in to be the same request.
    """

    amount: Amount
    mu: Fraction
    neighbours: str | None
    mechanism: dict[str, Any] | None
    certified: bool | None
    certificate: str | None
    asked: dict[str, Any]

    @property
    def statement(self) -> str:
        """What is claimed of the release: see :class:`gdpbridge.Statement`."""
        return "approximate" if self.amount.failure else "whole"


def charge_for(
    what: Profile | Measurement,
    *,
    failure: Number | None = None,
    uncertified: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Charge:
    """Return what running a mechanism is charged.

    A head statement is charged as the approximate one that it implies, with p = δ(ε_h).

    Args:
        what: a profile, measured here, or a measurement.
        failure: for a profile: the failure probability of the statement, as for ``measure``.
        uncertified: whether a μ is accepted that is not proved.
        progress: as for ``measure``.

    Raises:
        InputError: for a μ that is infinite, 0 or not proved.
    """
    asked: dict[str, Any] = {"failure": None if failure is None else str(failure)}
    if not isinstance(uncertified, bool):
        raise InputError("uncertified", uncertified, "true or false")
    if isinstance(what, Profile):
        if not uncertified and not is_provable(what):
            raise _unproved(what.kind)
        found = measure(
            what,
            failure=None
            if failure is None
            else decimal_ceiling(failure_of("failure", failure), 60),
            progress=silent if progress is None else progress,
        )
    elif isinstance(what, Measurement):
        found = what
        asked = {"statement": found.statement.value, "eps_h": found.eps_h, "mu": str(found.mu.high)}
    else:
        raise InputError("mechanism", what, "a profile or a measurement")
    kind = found.profile.kind
    if found.mu.high.is_infinite() or found.failure >= 1:
        why = "GDP" if found.verdict is Verdict.NOT_GDP else "known to be GDP"
        raise InputError(
            "mechanism",
            kind,
            f"one with a finite μ: it is not {why}, and no failure probability below 1 gives one",
        )
    if not found.certified and not uncertified:
        raise _unproved(kind)
    mu, p = Fraction(found.mu.high), found.failure
    if mu == 0 and p == 0:
        raise InputError("mechanism", kind, "one that says something of the data: its μ is 0")
    mu = mu_of("mu", max(mu, _LEAST))
    return Charge(
        amount=Amount(mu**2, failure_ceiling("failure", p)),
        mu=mu,
        neighbours=found.profile.neighbours,
        mechanism=found.profile.model_dump(mode="json"),
        certified=found.certified,
        certificate=None,
        asked=asked,
    )


def _unproved(kind: str) -> InputError:
    return InputError(
        "mechanism",
        kind,
        "one whose μ is proved, unless an uncertified one is asked for (--uncertified, or "
        "uncertified=True)",
    )


def charge_of_numbers(
    mu: Number | None = None,
    mu_squared: Number | None = None,
    failure: Number | None = None,
    certificate: Certificate | str | Path | bytes | None = None,
) -> Charge:
    """Return the charge that numbers state, or a certificate, or both.

    Args:
        mu: μ.
        mu_squared: μ², instead of μ: the budget is a sum of these, so that all of it can be used.
        failure: the failure probability.
        certificate: a certificate that is checked here; the numbers must be at least its own, which
            are taken where none are given.

    Raises:
        InputError: for a number that is not allowed, or a certificate that does not hold or proves
            less than is stated.
    """
    if mu is not None and mu_squared is not None:
        raise InputError("mu_squared", mu_squared, Advice("leave it out where mu is given"))
    proved = None if certificate is None else proved_by(certificate)
    if mu is None and mu_squared is None:
        if proved is None:
            raise InputError.missing(
                "mu", "give it, or mu_squared, or a mechanism, or a certificate"
            )
        mu = proved.mu
    if mu_squared is not None:
        square = square_of("mu_squared", mu_squared)
        root = root_ceiling(square, 40)
    else:
        root = mu_of("mu", mu if mu is not None else 0)
        square = root**2
    default = Fraction(0) if proved is None else proved.failure
    p = failure_of("failure", default if failure is None else failure)
    if proved is not None and (square < proved.mu**2 or p < proved.failure):
        raise InputError(
            "certificate",
            Words(f"for μ = {amount_text(proved.mu)}, p = {amount_text(proved.failure)}"),
            "for at most the μ and failure probability that are given",
        )
    return Charge(
        amount=Amount(square, p),
        mu=root,
        neighbours=None if proved is None else proved.mechanism.get("neighbours"),
        mechanism=None if proved is None else proved.mechanism,
        certified=None if proved is None else True,
        certificate=None if proved is None else proved.hash,
        asked={"square": amount_text(square), "failure": amount_text(p)},
    )


@dataclass(frozen=True)
class Proved:
    """What a certificate proves.

    Attributes:
        mu: μ.
        failure: the failure probability.
        mechanism: the mechanism, as it names it.
        hash: its SHA-256.
    """

    mu: Fraction
    failure: Fraction
    mechanism: dict[str, Any]
    hash: str


def proved_by(source: Certificate | str | Path | bytes) -> Proved:
    """Check a certificate, and return what it proves.

    Raises:
        InputError: if it does not hold, or says that no finite μ does.
    """
    # the checker is slow to load
    from gdpbridge.certificate.model import Certificate, read
    from gdpbridge.certificate.verify import verify
    from gdpbridge_verify.reader import MAX_BYTES

    folder = Path(source).parent if isinstance(source, str | Path) else None
    if isinstance(source, Certificate):
        content = source.to_json().encode()
    elif isinstance(source, bytes):
        content = source
    elif isinstance(source, str | Path):
        content = read_bounded(source, MAX_BYTES, field="certificate")
    else:
        raise InputError("certificate", source, "a path, its content or the document")
    document = read(content)
    found = verify(document, folder=folder)
    if not found.valid:
        raise InputError("certificate", Words("false"), f"one that holds ({found.reason})")
    claim = document.claim
    if claim.mu.high == "inf":
        raise InputError("certificate", Words("for no finite μ"), "for a finite μ")
    return Proved(
        mu=Fraction(claim.mu.high),
        failure=failure_ceiling("failure", Fraction(claim.failure_probability)),
        mechanism=dict(document.mechanism),
        hash=hashlib.sha256(content).hexdigest(),
    )
