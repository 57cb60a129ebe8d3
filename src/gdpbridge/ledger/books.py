"""The books of a data set: what its entries sum to, written forward, replayed, or taken back."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn, cast

from gdpbridge.ledger.amounts import ZERO, Amount, amount_text, within
from gdpbridge.ledger.entries import FORMAT, NOTHING, WHOLE, Account, Entry, Kind, digest
from gdpbridge.ledger.refusals import BrokenChainError, BudgetExceededError
from gdpbridge.ledger.rules import check_entry

__all__ = ["Books"]

# 4300 decimal digits, the most that version 0.1.0 could write
_LONGEST_OLD = 14_300


@dataclass
class Books:
    """What the entries of one data set sum to, so far.

    Attributes:
        dataset: its name.
        neighbours: its neighbouring relation.
        accounts: what is charged to the whole and to each part.
        budget: the budget, None before the first is set.
        open: reservations that are neither committed nor cancelled: number → (account, amount).
        count: how many entries there are.
        head: the hash of the last one.
        format: the format of the last one.
    """

    dataset: str
    neighbours: str = ""
    accounts: dict[Account, Amount] = field(default_factory=lambda: {WHOLE: ZERO})
    budget: Amount | None = None
    open: dict[int, tuple[Account, Amount]] = field(default_factory=dict)
    count: int = 0
    head: str = NOTHING
    format: int | None = None
    _keys: set[bytes] = field(default_factory=set, repr=False, compare=False)

    def copy(self) -> Books:
        """Return books that can be changed by themselves."""
        return replace(self, accounts=dict(self.accounts), open=dict(self.open), _keys=set())

    def partitions(self) -> set[str]:
        """Return the names of the partitions."""
        return {partition for partition, _ in self.accounts if partition}

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

    def as_charged(self, asked: Amount) -> Amount:
        """Return what an amount is charged as: itself, or a little more if sums grew long.

        What all accounts have as their common denominator counts: totals are sums over partitions.
        """
        amounts = self.accounts.values()
        squares = Fraction(1, math.lcm(*(one.square.denominator for one in amounts)))
        failures = Fraction(1, math.lcm(*(one.failure.denominator for one in amounts)))
        return Amount(within(squares, asked.square), within(failures, asked.failure))

    def charged(self, account: Account, asked: Amount) -> Amount:
        """Return what a spend is charged as.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        amount = self.as_charged(asked)
        left = self.left(account)
        if not amount.fits(left):
            raise BudgetExceededError(self.dataset, asked, self.total(), left)
        return amount

    def append(self, entry: Entry) -> Entry:
        """Write an entry: number it, apply it, and seal it with totals and hash.

        Raises:
            ValueError: if it breaks a rule, which what writes entries must not let it.
        """
        entry = replace(entry, number=self.count + 1, previous=self.head, format=FORMAT)
        check_entry(self, entry)
        self._apply(entry)
        entry = replace(entry, **self._state(entry))
        entry = replace(entry, hash=entry.computed_hash())
        self._reached(entry)
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
            check_entry(self, entry)
            self._apply(entry)
        except (ValueError, KeyError, TypeError) as error:
            self._refuse(entry, f"its content is not that of such an entry ({error})")
        # shorter than the keys themselves, of which a million may have been used
        key = hashlib.blake2b(entry.key.encode(), digest_size=16).digest()
        if key in self._keys:
            self._refuse(entry, "its key was used before")
        self._keys.add(key)
        if entry.format is None and self.total().square.denominator.bit_length() > _LONGEST_OLD:
            self._refuse(entry, "its totals are longer than any of the first format")
        if any(getattr(entry, name) != value for name, value in self._state(entry).items()):
            self._refuse(entry, "its totals are not the sums of the amounts up to it")
        if not self.total().fits(self.budget or ZERO):
            self._refuse(entry, "more is spent than the budget")
        self._reached(entry)

    def take_back(self, entries: Iterable[Entry], entry_at: Callable[[int], Entry]) -> None:
        """Bring the sums to what they were before some entries.

        Args:
            entries: the last ones, the newest first.
            entry_at: finds an earlier entry, to which one of them refers.

        Raises:
            BrokenChainError: if they cannot have led to these books.
        """
        for entry in entries:
            try:
                self._undo(entry, entry_at)
            except (ValueError, KeyError, TypeError):
                self._refuse(entry, "the sums after it are not those that it led to")

    def _undo(self, entry: Entry, entry_at: Callable[[int], Entry]) -> None:
        match entry.kind:
            case Kind.PARTITION:
                for part in entry.details["parts"]:
                    del self.accounts[entry.partition, part]
            case Kind.SPEND:
                self.accounts[entry.account] -= entry.amount
            case Kind.RESERVE:
                self.accounts[entry.account] -= entry.amount
                del self.open[entry.number]
            case Kind.COMMIT | Kind.CANCEL:
                number = cast(int, entry.refers)
                reserved = entry_at(number)
                self.open[number] = reserved.account, reserved.amount
                if entry.kind is Kind.CANCEL:
                    self.accounts[reserved.account] += reserved.amount

    def _apply(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.CREATE:
                self.neighbours = entry.details["neighbours"]
            case Kind.PARTITION:
                parts = [(entry.partition, part) for part in entry.details["parts"]]
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

    def _reached(self, entry: Entry) -> None:
        self.count, self.head, self.format = entry.number, entry.hash, entry.format

    def _state(self, entry: Entry) -> dict[str, Any]:
        total, budget = self.total(), self.budget
        found = {
            "total_mu_squared": amount_text(total.square),
            "total_failure": amount_text(total.failure),
            "budget_mu_squared": None if budget is None else amount_text(budget.square),
            "budget_failure": None if budget is None else amount_text(budget.failure),
        }
        return found if entry.format is None else {**found, "state": self._digest()}

    def _digest(self) -> str:
        """Return a hash of all that the next entry is judged by, beside the budget."""
        accounts = [[*one, *_texts(amount)] for one, amount in sorted(self.accounts.items())]
        reserved = [
            [number, *account, *_texts(amount)]
            for number, (account, amount) in sorted(self.open.items())
        ]
        return digest({"accounts": accounts, "open": reserved})

    def vouched_by(self, last: Entry) -> None:
        """Check sums, open reservations and budget as stored against the last entry.

        Raises:
            BrokenChainError: if they do not agree.
        """
        if last.hash != last.computed_hash() or (last.number, last.hash) != (self.count, self.head):
            self._refuse(last, "its hash is not that of its content")
        if any(getattr(last, name) != value for name, value in self._state(last).items()):
            self._refuse(
                None,
                "the running totals, the budget or the open reservations are not those of the last "
                "entry",
            )
        self.format = last.format

    def _refuse(self, entry: Entry | None, reason: str) -> NoReturn:
        raise BrokenChainError(self.dataset, None if entry is None else entry.number, reason)


def _texts(amount: Amount) -> tuple[str, str]:
    return amount_text(amount.square), amount_text(amount.failure)
