"""What is in the books: entries as frozen values, the chain of their hashes, and what they sum to.

An entry's hash is SHA-256 of its canonical JSON, which holds the hash of the entry before it. Each
entry also holds the totals and the budget after it, so that the last one vouches for them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from types import NoneType
from typing import Any, cast

from gdpbridge.ledger.amounts import ZERO, Amount, amount_text, from_text, within
from gdpbridge.ledger.refusals import BrokenChainError, BudgetExceededError

__all__ = ["WHOLE", "Account", "Books", "Entry", "Kind", "entry_from"]

# the first entry of a data set follows this
_NOTHING = "0" * 64

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
        details: for a creation: unit and neighbouring relation; for a partition: its parts.
        total_mu_squared: the data set's Σμ² after this entry.
        total_failure: the data set's Σp after this entry.
        budget_mu_squared: the budget after this entry, None before the first.
        budget_failure: likewise.
        previous: the hash of the entry before.
        hash: its own.
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
    previous: str = _NOTHING
    hash: str = ""

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

    def document(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def computed_hash(self) -> str:
        """Return the hash that the entry must have."""
        return digest({name: value for name, value in self.document().items() if name != "hash"})


_NAMES = tuple(one.name for one in fields(Entry))
_OTHER_TYPES: dict[str, tuple[type, ...]] = {
    "number": (int,),
    "kind": (str, Kind),
    "mechanism": (dict, NoneType),
    "certified": (bool, NoneType),
    "refers": (int, NoneType),
    "details": (dict,),
}
# the others are texts, and those that default to None may be left out
_TYPES = {
    one.name: _OTHER_TYPES.get(one.name, (str, NoneType) if one.default is None else (str,))
    for one in fields(Entry)
}


def entry_from(document: Mapping[str, Any]) -> Entry:
    """Make an entry of plain data.

    Raises:
        ValueError: if it is not an entry.
    """
    if set(document) != set(_NAMES):
        raise ValueError("not the fields of an entry")
    for name, value in document.items():
        if type(value) not in _TYPES[name]:
            raise ValueError(f"{name} is not of its type")
    for name in ("time", "expires"):
        if document[name] is not None:
            datetime.fromisoformat(document[name])
    return Entry(**{**document, "kind": Kind(document["kind"])})


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain data in its canonical form."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass
class Books:
    """What the entries of one data set sum to, so far.

    Attributes:
        dataset: its name.
        accounts: what is charged to the whole and to each part.
        budget: the budget, None before the first is set.
        open: reservations that are neither committed nor cancelled: number → (account, amount).
        count: how many entries there are.
        head: the hash of the last one.
    """

    dataset: str
    accounts: dict[Account, Amount] = field(default_factory=lambda: {WHOLE: ZERO})
    budget: Amount | None = None
    open: dict[int, tuple[Account, Amount]] = field(default_factory=dict)
    count: int = 0
    head: str = _NOTHING

    def total(self, without: str | None = None) -> Amount:
        """Return the whole's sum and, for each partition, that of its most charged part.

        Args:
            without: a partition to leave out.
        """
        parts: dict[str, list[Amount]] = {}
        for (partition, _), amount in self.accounts.items():
            if partition and partition != without:
                parts.setdefault(partition, []).append(amount)
        return sum((Amount.largest(one) for one in parts.values()), self.accounts[WHOLE])

    def left(self, account: Account) -> Amount:
        """Return what may still be charged to an account; needs a budget."""
        partition, _ = account
        used = self.total()
        if partition:
            used = self.total(without=partition) + self.accounts[account]
        left = cast(Amount, self.budget) - used
        # a part below the most charged one still has what the other parts have used
        return Amount(max(left.square, Fraction(0)), max(left.failure, Fraction(0)))

    def charged(self, account: Account, asked: Amount) -> Amount:
        """Return what a spend is charged as: what is asked, or a little more if sums grew long.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        there = self.accounts[account]
        amount = Amount(within(there.square, asked.square), within(there.failure, asked.failure))
        left = self.left(account)
        if not amount.fits(left):
            raise BudgetExceededError(self.dataset, asked, self.total(), left)
        return amount

    def append(self, entry: Entry) -> Entry:
        """Write an entry: number it, apply it, and seal it with totals and hash."""
        entry = replace(entry, number=self.count + 1, previous=self.head)
        self._apply(entry)
        entry = replace(entry, **self._state())
        entry = replace(entry, hash=entry.computed_hash())
        self.count, self.head = entry.number, entry.hash
        return entry

    def replay(self, entry: Entry) -> None:
        """Follow an entry of the past.

        Raises:
            BrokenChainError: if it does not follow from those before it.
        """
        if entry.number != self.count + 1:
            self._refuse(entry, f"entry {self.count + 1} is missing before it")
        if entry.previous != self.head:
            self._refuse(entry, "it does not follow the entry before it")
        if entry.hash != entry.computed_hash():
            self._refuse(entry, "its hash is not that of its content")
        try:
            self._apply(entry)
        except (ValueError, KeyError, TypeError):
            self._refuse(entry, "its content is not that of such an entry")
        if any(getattr(entry, name) != value for name, value in self._state().items()):
            self._refuse(entry, "its totals are not the sums of the amounts up to it")
        if not self.total().fits(self.budget or ZERO):
            self._refuse(entry, "more is spent than the budget")
        self.count, self.head = entry.number, entry.hash

    def _apply(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.CREATE if self.count:
                raise ValueError("a data set is created once")
            case Kind.PARTITION:
                parts = [(entry.partition, str(part)) for part in entry.details["parts"]]
                if not self.accounts.keys().isdisjoint(parts):
                    raise ValueError("a part is added once")
                self.accounts.update(dict.fromkeys(parts, ZERO))
            case Kind.BUDGET:
                self.budget = entry.amount
            case Kind.SPEND:
                self.accounts[entry.account] += entry.amount
            case Kind.RESERVE:
                self.accounts[entry.account] += entry.amount
                self.open[entry.number] = entry.account, entry.amount
            case Kind.COMMIT:
                del self.open[cast(int, entry.refers)]
            case Kind.CANCEL:
                account, amount = self.open.pop(cast(int, entry.refers))
                self.accounts[account] -= amount

    def _state(self) -> dict[str, Any]:
        total, budget = self.total(), self.budget
        return {
            "total_mu_squared": amount_text(total.square),
            "total_failure": amount_text(total.failure),
            "budget_mu_squared": None if budget is None else amount_text(budget.square),
            "budget_failure": None if budget is None else amount_text(budget.failure),
        }

    def vouched_by(self, last: Entry) -> None:
        """Check totals and budget as stored against the last entry.

        Raises:
            BrokenChainError: if they do not agree.
        """
        if last.hash != last.computed_hash() or (last.number, last.hash) != (self.count, self.head):
            self._refuse(last, "its hash is not that of its content")
        if any(getattr(last, name) != value for name, value in self._state().items()):
            self._refuse(None, "the running totals or the budget are not those of the last entry")

    def _refuse(self, entry: Entry | None, reason: str) -> None:
        raise BrokenChainError(self.dataset, None if entry is None else entry.number, reason)
