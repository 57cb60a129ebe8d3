"""Privacy budgets in a database, that cannot be overspent: see :class:`Ledger`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gdpbridge.errors import MissingExtraError
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
    from gdpbridge.ledger.requests import ChargeOptions, ReserveOptions, SpendOptions
    from gdpbridge.ledger.view import LedgerView

__all__ = [
    "Amount",
    "Balance",
    "BrokenChainError",
    "BudgetExceededError",
    "BudgetTooLowError",
    "ChargeOptions",
    "Dataset",
    "Entry",
    "Kind",
    "Ledger",
    "LedgerUnavailableError",
    "LedgerView",
    "Quote",
    "Receipt",
    "Reservation",
    "ReserveOptions",
    "SpendOptions",
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
    "LedgerView": "gdpbridge.ledger.view",
    **dict.fromkeys(
        ("ChargeOptions", "ReserveOptions", "SpendOptions"), "gdpbridge.ledger.requests"
    ),
    **dict.fromkeys(("Spending", "charged"), "gdpbridge.ledger.guard"),
    **dict.fromkeys(("read_entries", "write_entries"), "gdpbridge.ledger.exchange"),
}

# what the extra ``ledger`` brings
_DATABASE = ("sqlalchemy", "alembic")


def __getattr__(name: str) -> object:
    """Load what is slow to import only when it is asked for."""
    if name in _LAZY:
        try:
            return getattr(importlib.import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in _DATABASE:
                raise
            raise MissingExtraError("ledger", "a ledger") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
