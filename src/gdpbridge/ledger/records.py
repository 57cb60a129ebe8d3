"""What the methods of a ledger answer with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge.ledger.amounts import Amount, root_ceiling, root_floor
from gdpbridge.ledger.charges import Charge
from gdpbridge.ledger.entries import Account, Entry

__all__ = ["Balance", "Dataset", "Quote", "Receipt", "Reservation", "Status", "receipt_parts"]

_REFERENCE = re.compile(r"([^:\s]+):([1-9][0-9]{0,9}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Dataset:
    """A data set under a budget.

    Attributes:
        name: its name.
        unit: the unit of privacy: whose data one neighbour has and the other has not.
        neighbours: "add-remove", "replace-one" or "zero-out".
    """

    name: str
    unit: str
    neighbours: str


@dataclass(frozen=True)
class Balance:
    """Where a data set's budget stands; exact, and the μ's on the safe side.

    Attributes:
        budget: the budget, None if none is set.
        spent: what is spent, open reservations counted.
        left: what is left for a release from the whole; None without a budget.
    """

    budget: Amount | None
    spent: Amount
    left: Amount | None

    @property
    def spent_mu(self) -> Fraction:
        """√Σμ², rounded up."""
        return root_ceiling(self.spent.square)

    @property
    def largest_mu(self) -> Fraction | None:
        """The largest μ that still fits, rounded down; None without a budget."""
        return None if self.left is None else root_floor(self.left.square)


@dataclass(frozen=True)
class Receipt:
    """What was recorded.

    Attributes:
        dataset: the data set's name.
        entry: the entry.
        balance: where the budget stands after it.
        repeated: whether the same request had been recorded before, so that nothing was done.
    """

    dataset: str
    entry: Entry
    balance: Balance
    repeated: bool

    @property
    def reference(self) -> str:
        """DATASET:NUMBER:HASH, to keep: a later history must contain that entry as it is now."""
        return f"{self.dataset}:{self.entry.number}:{self.entry.hash}"


@dataclass(frozen=True)
class Quote:
    """What a spend would do; nothing is recorded.

    Attributes:
        dataset: the data set's name.
        charge: what would be charged.
        fits: whether the budget allows it now.
        left_before: what is left for such a spend.
        left_after: what would be left; None if it does not fit.
        balance: where the budget stands.
    """

    dataset: str
    charge: Charge
    fits: bool
    left_before: Amount
    left_after: Amount | None
    balance: Balance

    @property
    def largest_mu(self) -> Fraction:
        """The largest μ that still fits, rounded down."""
        return root_floor(self.left_before.square)


@dataclass(frozen=True)
class Reservation:
    """A reservation that is neither committed nor cancelled.

    Attributes:
        entry: its entry.
        overdue: whether it has expired; it counts all the same, until it is cancelled.
    """

    entry: Entry
    overdue: bool


@dataclass(frozen=True)
class Status:
    """A data set and where it stands.

    Attributes:
        dataset: the data set.
        balance: budget, spent and left.
        parts: what is charged to each part of each partition.
        reservations: the open ones.
        entries: how many entries its history has.
        head: the hash of the last one, which stands for all of it.
    """

    dataset: Dataset
    balance: Balance
    parts: dict[Account, Amount]
    reservations: tuple[Reservation, ...]
    entries: int
    head: str


def receipt_parts(text: object) -> tuple[str, int, str] | None:
    """Return data set, number and hash of a receipt's reference; None for another text."""
    found = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else (found[1], int(found[2]), found[3])
