"""What is asked of a ledger: the arguments that quote, spend and reserve share, in one place."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict

from gdpbridge.errors import Advice, InputError
from gdpbridge.ledger.amounts import Number
from gdpbridge.ledger.charges import Charge, charge_for, charge_of_numbers
from gdpbridge.ledger.entries import Entry, Kind, digest
from gdpbridge.ledger.rules import LONGEST_EXPIRY
from gdpbridge.ledger.words import RESERVED, checked_key, checked_text, stamp

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate
    from gdpbridge.measure import Measurement
    from gdpbridge.mechanisms.base import Profile

__all__ = [
    "DEFAULT_EXPIRY",
    "ChargeOptions",
    "Draft",
    "Progress",
    "Recorded",
    "Release",
    "ReserveOptions",
    "SpendOptions",
    "draft_of",
]

Progress = Callable[[str, float], None]

DEFAULT_EXPIRY = timedelta(hours=24)


class ChargeOptions(TypedDict, total=False):
    """What :meth:`Ledger.quote`, ``spend`` and ``reserve`` take beside the mechanism.

    Attributes:
        mu: a μ instead of a mechanism; a float stands for the decimal it prints as, "1/11" is a
            fraction.
        mu_squared: a μ² instead.
        failure: the failure probability.
        certificate: a certificate of the μ: a path, its content or the document; it is checked.
        neighbours: the relation that μ is stated for, where nothing else says.
        unit: the unit that μ is stated for.
        part: PARTITION/PART, for a release from one part only.
        uncertified: accept a μ that is not proved; it is recorded as such.
        progress: called with a sentence and a share in [0, 1] during long work.
    """

    mu: Number | None
    mu_squared: Number | None
    failure: Number | None
    certificate: Certificate | str | Path | bytes | None
    neighbours: str | None
    unit: str | None
    part: str | None
    uncertified: bool
    progress: Progress | None


class Recorded(ChargeOptions, total=False):
    """What is recorded beside.

    Attributes:
        key: the idempotency key: the same request under the same key is recorded once.
        actor: who releases; the user of the system if None.
    """

    key: str | None
    actor: str | None


class SpendOptions(Recorded):
    """What :meth:`Ledger.spend` takes.

    Attributes:
        purpose: what the release is for.
    """

    purpose: Required[str]


class ReserveOptions(SpendOptions, total=False):
    """What :meth:`Ledger.reserve` takes.

    Attributes:
        expires: after what time the reservation is shown as overdue; it counts all the same.
    """

    expires: timedelta


@dataclass(frozen=True)
class Release:
    """A release that a ledger is asked about: what the options above say, with their defaults."""

    what: Profile | Measurement | None = None
    mu: Number | None = None
    mu_squared: Number | None = None
    failure: Number | None = None
    certificate: Certificate | str | Path | bytes | None = None
    neighbours: str | None = None
    unit: str | None = None
    part: str | None = None
    uncertified: bool = False
    progress: Progress | None = None
    purpose: str = ""
    key: str | None = None
    actor: str | None = None
    expires: timedelta | None = None

    def charge(self) -> Charge:
        """Return what it costs; a mechanism is measured here.

        Raises:
            InputError: for an argument that is not allowed, or not beside another one.
        """
        for name in ("neighbours", "unit", "part"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(name, value, "a text")
        if self.what is None:
            return charge_of_numbers(self.mu, self.mu_squared, self.failure, self.certificate)
        for name in ("mu", "mu_squared", "certificate"):
            value = getattr(self, name)
            if value is not None:
                raise InputError(name, value, Advice("leave it out where a mechanism is given"))
        return charge_for(
            self.what,
            failure=self.failure,
            uncertified=self.uncertified,
            progress=self.progress,
        )

    def drafted(self, kind: Kind) -> tuple[Charge, Draft]:
        """Return what it costs, and its entry as far as it is known before the books are seen.

        Raises:
            InputError: as for :meth:`charge`.
        """
        purpose = checked_text("purpose", self.purpose)
        expires = self.expires
        if kind is Kind.RESERVE:
            _check_expiry(expires)
        # what is wrong with these is told before any work
        _who(self.key, self.actor)
        charge = self.charge()
        now = datetime.now(UTC)
        asked = {
            **charge.asked,
            "mechanism": charge.mechanism,
            "certificate": charge.certificate,
            "part": self.part,
            "purpose": purpose,
            "expires": None if expires is None else expires.total_seconds(),
        }
        draft = draft_of(
            kind,
            self.key,
            self.actor,
            purpose,
            asked,
            {"neighbours": self.neighbours, "unit": self.unit},
            now,
            mechanism=charge.mechanism,
            statement=charge.statement,
            certified=charge.certified,
            certificate=charge.certificate,
            expires=None if expires is None else stamp(now + expires),
        )
        return charge, draft


@dataclass(frozen=True)
class Draft:
    """An entry that is not numbered yet, and what makes a request the same one again.

    Attributes:
        entry: the entry.
        former: the hash of the request as version 0.1.0 took it, from less than all of it.
    """

    entry: Entry
    former: str

    def repeats(self, found: Entry) -> bool:
        """Whether an entry under the same key is of the same request."""
        if found.format is not None:
            return found.request == self.entry.request
        own = self.entry
        # what the hash left out and the entry shows
        if own.kind is Kind.PARTITION and found.partition != own.partition:
            return False
        if own.kind is Kind.CANCEL and found.purpose != own.purpose:
            return False
        return found.request == self.former


def draft_of(
    kind: Kind,
    key: str | None,
    actor: str | None,
    purpose: str,
    asked: Mapping[str, Any],
    more: Mapping[str, Any],
    now: datetime | None = None,
    **content: Any,
) -> Draft:
    """Draft an entry. Without a key it gets one, so that its transaction can be run again.

    Args:
        kind: what it records.
        key: the idempotency key.
        actor: who asks.
        purpose: what for, or why.
        asked: what a repetition must agree in, as version 0.1.0 had it.
        more: the rest of that.
        now: the time.
        **content: the rest of the entry.
    """
    own_key, who = _who(key, actor, kind)
    entry = Entry(
        number=0,
        kind=kind,
        time=stamp(datetime.now(UTC) if now is None else now),
        key=own_key,
        request=digest({"kind": kind.value, "asked": {**asked, **more}}),
        actor=who,
        purpose=purpose,
        token=uuid.uuid4().hex,
        **content,
    )
    return Draft(entry, digest({"kind": kind.value, "asked": dict(asked)}))


def _who(key: str | None, actor: str | None, kind: Kind | None = None) -> tuple[str, str]:
    if key is None:
        key = uuid.uuid4().hex
    elif kind not in (Kind.COMMIT, Kind.CANCEL) or not RESERVED.match(key):
        key = checked_key(key)
    return key, checked_text("actor", _user() if actor is None else actor)


def _check_expiry(expires: timedelta | None) -> None:
    if not isinstance(expires, timedelta) or not timedelta(0) < expires <= LONGEST_EXPIRY:
        raise InputError("expires", expires, "more than 0 and at most 3650 days")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
