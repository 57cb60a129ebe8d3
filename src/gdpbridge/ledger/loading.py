"""A whole history from elsewhere, brought into a ledger: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.ledger import tables
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import Entry, Kind
from gdpbridge.ledger.heads import Head, Heads
from gdpbridge.ledger.refusals import BrokenChainError, LedgerUnavailableError
from gdpbridge.ledger.rows import (
    PAGE,
    add_accounts,
    names,
    row_of,
    save_account,
    save_dataset,
)
from gdpbridge.ledger.store import Store
from gdpbridge.ledger.words import checked_dataset

__all__ = ["load_history"]


def load_history(store: Store, heads: Heads, entries: Iterable[Entry]) -> tuple[str, Head]:
    """Add a data set with its history; return its name, and how far that has come.

    Raises:
        InputError: if they do not begin with a data set, or it is there already.
        BrokenChainError: if they are not what a ledger writes, or not what was noted of it before.
    """
    iterator = iter(entries)
    first = next(iterator, None)
    if not isinstance(first, Entry) or first.kind is not Kind.CREATE:
        raise InputError(
            "entries",
            Words("without a beginning"),
            Advice("give those of a data set from the first one on"),
        )
    try:
        dataset = checked_dataset(**first.details)
    except TypeError:
        raise BrokenChainError("this file", 1, "it does not name a data set") from None
    name = dataset["name"]
    tries = iter([True])

    def work(connection: Connection) -> Books:
        if not next(tries, False):
            # what was read of the entries cannot be read again
            raise LedgerUnavailableError("the import was interrupted: import it again")
        if name in names(connection):
            raise InputError("dataset", name, "a new name: there is such a data set already")
        books, noted = Books(name), heads.get(name)
        inserted = connection.execute(sa.insert(tables.dataset).values(**dataset, count=0, head=""))
        (key,) = cast(Sequence[int], inserted.inserted_primary_key)
        rows: list[dict[str, Any]] = []
        for entry in _chain(first, iterator):
            books.replay(entry)
            if noted is not None and noted.number == entry.number and noted.hash != entry.hash:
                raise _not_as_noted(name, noted, heads)
            rows.append(row_of(key, entry))
            if len(rows) == PAGE:
                connection.execute(sa.insert(tables.entry), rows)
                rows = []
        if rows:
            connection.execute(sa.insert(tables.entry), rows)
        if noted is not None and noted.number > books.count:
            raise _not_as_noted(name, noted, heads)
        add_accounts(connection, key, books.accounts)
        for account in books.accounts:
            save_account(connection, key, books, account)
        if books.open:
            connection.execute(
                sa.insert(tables.reservation),
                [{"dataset_id": key, "number": number} for number in books.open],
            )
        save_dataset(connection, key, books, before=0)
        return books

    books = store.write(work)
    return name, Head(books.count, books.head)


def _chain(first: Entry, rest: Iterable[Entry]) -> Iterable[Entry]:
    yield first
    for entry in rest:
        if not isinstance(entry, Entry):
            raise InputError("entries", type(entry).__name__, "entries of a ledger")
        yield entry


def _not_as_noted(dataset: str, noted: Head, heads: Heads) -> BrokenChainError:
    return BrokenChainError(
        dataset,
        noted.number,
        f"{heads.where(dataset)} says that its hash was {noted.hash}, and this history does not "
        "have it (if another one is meant, remove that file)",
    )
