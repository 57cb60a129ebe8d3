"""Privacy budgets in a database, that cannot be overspent: see :class:`Ledger`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gdpbridge.ledger.amounts import Amount
from gdpbridge.ledger.entries import Entry, Kind
from gdpbridge.ledger.refusals import (
    BrokenChainError,
    BudgetExceededError,
    BudgetTooLowError,
    LedgerUnavailableError,
    UnknownDatasetError,
)

if TYPE_CHECKING:
    from gdpbridge.ledger.book import Ledger
    from gdpbridge.ledger.exchange import read_entries, write_entries
    from gdpbridge.ledger.guard import Spending, charged
    from gdpbridge.ledger.records import Balance, Dataset, Quote, Receipt, Reservation, Status

__all__ = [
    "Amount",
    "Balance",
    "BrokenChainError",
    "BudgetExceededError",
    "BudgetTooLowError",
    "Dataset",
    "Entry",
    "Kind",
    "Ledger",
    "LedgerUnavailableError",
    "Quote",
    "Receipt",
    "Reservation",
    "Spending",
    "Status",
    "UnknownDatasetError",
    "charged",
    "read_entries",
    "write_entries",
]

# names whose modules need the database library, which is slow to import
_LAZY = {
    **dict.fromkeys(
        ("Balance", "Dataset", "Quote", "Receipt", "Reservation", "Status"),
        "gdpbridge.ledger.records",
    ),
    "Ledger": "gdpbridge.ledger.book",
    **dict.fromkeys(("Spending", "charged"), "gdpbridge.ledger.guard"),
    **dict.fromkeys(("read_entries", "write_entries"), "gdpbridge.ledger.exchange"),
}


def __getattr__(name: str) -> object:
    """Load what is slow to import only when it is asked for."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
