"""Entries of a ledger as frozen values, and the hashes that chain them.

An entry's hash is SHA-256 of its canonical JSON, which holds the hash of the entry before it. Each
entry also holds the totals and the budget after it, so that the last one vouches for them all.

Formats: entries of version 0.1.0 have none written. What was added since is part of the canonical
JSON only where it holds something, so that a new field changes no hash of an entry without it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import NoneType
from typing import Any

from gdpbridge.ledger.amounts import Amount, from_text

__all__ = [
    "FIELD_TYPES",
    "FIRST_FIELDS",
    "FORMAT",
    "NOTHING",
    "WHOLE",
    "Account",
    "Entry",
    "Kind",
    "digest",
    "entry_from",
]

# what is written now; 1 is that of version 0.1.0
FORMAT = 2

# the first entry of a data set follows this
NOTHING = "0" * 64

# a partition and one of its parts; two empty texts stand for the data set as a whole
Account = tuple[str, str]
WHOLE: Account = ("", "")


class Kind(StrEnum):
    """What an entry records."""

    CREATE = "create"
    PARTITION = "partition"
    BUDGET = "budget"
    SPEND = "spend"
    RESERVE = "reserve"
    COMMIT = "commit"
    CANCEL = "cancel"
    AUDIT = "audit"


@dataclass(frozen=True)
class Entry:
    """One line of a data set's history; it is never changed.

    Attributes:
        number: its place in the data set's history, from 1.
        kind: what it records.
        time: when, in UTC.
        key: the idempotency key: one entry of a data set at most has it.
        request: a hash of what was asked for under the key.
        actor: who did it.
        purpose: what for; for a budget or a cancellation: the reason.
        partition: the partition and
        part: its part that were charged; empty for the data set as a whole.
        mechanism: what was run, as the plain data of a profile.
        statement: "whole" or "approximate", for what is charged.
        mu: the least decimal or fraction that covers the μ charged; for a budget the new one.
        mu_squared: what is charged, exactly; for a budget the new one.
        failure: the failure probability charged, exactly; for a budget the new one.
        certified: whether the μ is proved; None where it was given as a number.
        certificate: the SHA-256 of the certificate, where one was given and holds.
        refers: for a commit or a cancellation: the number of the reservation.
        expires: for a reservation: when it is overdue; it counts all the same.
        details: for a creation: unit and neighbouring relation; for a partition: its parts; for an
            audit: the number of the entry that it is about, and what it found.
        total_mu_squared: the data set's Σμ² after this entry.
        total_failure: the data set's Σp after this entry.
        budget_mu_squared: the budget after this entry, None before the first.
        budget_failure: the same for the failure probability.
        previous: the hash of the entry before it.
        hash: the hash of this one.
        format: how it is written: None for entries of version 0.1.0, else from 2 on.
        token: a number drawn for the call that wrote it, which tells it from a repetition.
        state: a hash of what is charged to each account and of the open reservations after it.
    """

    number: int
    kind: Kind
    time: str
    key: str
    request: str
    actor: str
    purpose: str
    partition: str = ""
    part: str = ""
    mechanism: dict[str, Any] | None = None
    statement: str | None = None
    mu: str | None = None
    mu_squared: str | None = None
    failure: str | None = None
    certified: bool | None = None
    certificate: str | None = None
    refers: int | None = None
    expires: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    total_mu_squared: str = "0"
    total_failure: str = "0"
    budget_mu_squared: str | None = None
    budget_failure: str | None = None
    previous: str = NOTHING
    hash: str = ""
    format: int | None = None
    token: str | None = None
    state: str | None = None

    @property
    def account(self) -> Account:
        """What was charged."""
        return (self.partition, self.part)

    @property
    def amount(self) -> Amount:
        """What was charged, or the budget that was set."""
        return Amount(from_text(self.mu_squared or "0"), from_text(self.failure or "0"))

    @property
    def total(self) -> Amount:
        """The data set's total after this entry."""
        return Amount(from_text(self.total_mu_squared), from_text(self.total_failure))

    @property
    def budget(self) -> Amount | None:
        """The budget after this entry, None before the first."""
        if self.budget_mu_squared is None or self.budget_failure is None:
            return None
        return Amount(from_text(self.budget_mu_squared), from_text(self.budget_failure))

    def document(self) -> dict[str, Any]:
        """Return the entry as plain data: all that its hash covers, and the hash."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value
            for name, value in found.items()
            if value is not None or name in FIRST_FIELDS
        }

    def computed_hash(self) -> str:
        """Return the hash that the entry must have."""
        return digest({name: value for name, value in self.document().items() if name != "hash"})


_NAMES = tuple(one.name for one in fields(Entry))
# those of version 0.1.0, which are part of every hash whatever they hold
FIRST_FIELDS = frozenset(_NAMES[: _NAMES.index("format")])
_OTHER_TYPES: dict[str, tuple[type, ...]] = {
    "number": (int,),
    "kind": (str, Kind),
    "mechanism": (dict, NoneType),
    "certified": (bool, NoneType),
    "refers": (int, NoneType),
    "details": (dict,),
    "format": (int, NoneType),
}
# the others are texts, and those that default to None may be left out
FIELD_TYPES = {
    one.name: _OTHER_TYPES.get(one.name, (str, NoneType) if one.default is None else (str,))
    for one in fields(Entry)
}


def entry_from(document: Mapping[str, Any]) -> Entry:
    """Make an entry of plain data; whether it is a right one is for :mod:`.rules` to say.

    Raises:
        ValueError: if it is not an entry.
    """
    if not document.keys() >= FIRST_FIELDS or not document.keys() <= set(_NAMES):
        raise ValueError("not the fields of an entry")
    for name, value in document.items():
        if type(value) not in FIELD_TYPES[name]:
            raise ValueError(f"{name} is not of its type")
    return Entry(**{**document, "kind": Kind(document["kind"])})


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain data in its canonical form."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
