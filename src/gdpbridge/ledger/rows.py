"""Between the books and the rows of the tables; a spend takes the same few statements always."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from gdpbridge.ledger import tables
from gdpbridge.ledger.amounts import Amount, amount_text, from_text
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import Account, Entry, Kind, entry_from
from gdpbridge.ledger.refusals import BrokenChainError, UnknownDatasetError

__all__ = [
    "PAGE",
    "add_accounts",
    "amounts_of",
    "entries",
    "entry_of",
    "find",
    "load",
    "names",
    "open_entries",
    "paged",
    "row_of",
    "save_account",
    "save_dataset",
    "save_reservation",
]

PAGE = 2000
# numbers in one statement
_AT_ONCE = 500

_FIND = sa.select(tables.dataset).where(tables.dataset.c.name == sa.bindparam("name"))
_ACCOUNTS = sa.select(
    tables.account.c.partition,
    tables.account.c.part,
    tables.account.c.mu_squared,
    tables.account.c.failure,
).where(tables.account.c.dataset_id == sa.bindparam("dataset"))
_OPEN = sa.select(
    tables.reservation.c.number,
    tables.entry.c.partition,
    tables.entry.c.part,
    tables.entry.c.mu_squared,
    tables.entry.c.failure,
).where(
    tables.reservation.c.dataset_id == sa.bindparam("dataset"),
    tables.entry.c.dataset_id == tables.reservation.c.dataset_id,
    tables.entry.c.number == tables.reservation.c.number,
)
_LAST_OR_KEY = sa.select(tables.entry).where(
    tables.entry.c.dataset_id == sa.bindparam("dataset"),
    sa.or_(
        tables.entry.c.number >= sa.bindparam("number"), tables.entry.c.key == sa.bindparam("key")
    ),
)
_SAVE_ACCOUNT = (
    sa.update(tables.account)
    .where(
        tables.account.c.dataset_id == sa.bindparam("the_dataset"),
        tables.account.c.partition == sa.bindparam("the_partition"),
        tables.account.c.part == sa.bindparam("the_part"),
    )
    .values(mu_squared=sa.bindparam("mu_squared"), failure=sa.bindparam("failure"))
)
_SAVE_DATASET = (
    sa.update(tables.dataset)
    .where(
        tables.dataset.c.id == sa.bindparam("the_dataset"),
        tables.dataset.c.count == sa.bindparam("the_count"),
    )
    .values(
        {
            name: sa.bindparam(name)
            for name in ("count", "head", "budget_mu_squared", "budget_failure")
        }
    )
)


def amounts_of(amount: Amount) -> dict[str, Any]:
    """Return an amount as the columns that hold it."""
    return {"mu_squared": amount_text(amount.square), "failure": amount_text(amount.failure)}


def names(connection: Connection) -> list[str]:
    """Return the names of the data sets, in order."""
    table = tables.dataset
    return list(connection.execute(sa.select(table.c.name).order_by(table.c.name)).scalars())


def find(connection: Connection, name: str) -> RowMapping:
    """Return the row of a data set.

    Raises:
        UnknownDatasetError: if there is none of this name.
    """
    row = None
    # some texts that are no names cannot be asked for
    if isinstance(name, str) and name.isascii() and name.isprintable():
        row = connection.execute(_FIND, {"name": name}).mappings().first()
    if row is None:
        raise UnknownDatasetError(name, names(connection))
    return row


def load(connection: Connection, row: RowMapping, key: str = "") -> tuple[Books, Entry | None]:
    """Return the books as they are kept, vouched for by the last entry, and the entry under a key.

    The history is not read.

    Raises:
        BrokenChainError: if they do not agree.
    """
    name = row["name"]
    try:
        accounts = {
            (one.partition, one.part): Amount(from_text(one.mu_squared), from_text(one.failure))
            for one in connection.execute(_ACCOUNTS, {"dataset": row["id"]})
        }
        budget = row["budget_mu_squared"], row["budget_failure"]
        reserved = {
            one.number: (
                (one.partition, one.part),
                Amount(from_text(one.mu_squared), from_text(one.failure)),
            )
            for one in connection.execute(_OPEN, {"dataset": row["id"]})
        }
        books = Books(
            name,
            neighbours=row["neighbours"],
            accounts=accounts,
            open=reserved,
            budget=None if budget == (None, None) else Amount(*map(from_text, budget)),
            count=row["count"],
            head=row["head"],
        )
        given = {"dataset": row["id"], "number": books.count, "key": key}
        found = list(map(entry_of, connection.execute(_LAST_OR_KEY, given).mappings()))
        last = [one for one in found if one.number >= books.count]
        if len(last) != 1:
            raise BrokenChainError(name, None, "the number of entries is not what is recorded")
        books.vouched_by(last[0])
    except (ValueError, TypeError, KeyError):
        raise BrokenChainError(name, None, "a total or an entry is not in its form") from None
    return books, next((one for one in found if one.key == key), None)


def entries(connection: Connection, key: int, after: int, last: int) -> Iterator[Entry]:
    """Yield the entries after one number, up to another."""
    table = tables.entry
    found = connection.execute(
        sa.select(table)
        .where(table.c.dataset_id == key, table.c.number > after, table.c.number <= last)
        .order_by(table.c.number)
    )
    return (entry_of(row) for row in found.mappings())


def open_entries(connection: Connection, key: int) -> Iterator[Entry]:
    """Yield the entries of the open reservations; by number, so that no other is looked at."""
    table, reserved = tables.entry, tables.reservation
    own = sa.select(reserved.c.number).where(reserved.c.dataset_id == key)
    numbers = list(connection.execute(own.order_by(reserved.c.number)).scalars())
    for first in range(0, len(numbers), _AT_ONCE):
        found = connection.execute(
            sa.select(table)
            .where(
                table.c.dataset_id == key,
                table.c.number.in_(numbers[first : first + _AT_ONCE]),
            )
            .order_by(table.c.number)
        )
        yield from map(entry_of, found.mappings())


def paged(connection: Connection, key: int) -> Iterator[Entry]:
    """Yield all entries, those too that no count knows of."""
    table, done = tables.entry, 0
    while True:
        rows = (
            connection.execute(
                sa.select(table)
                .where(table.c.dataset_id == key, table.c.number > done)
                .order_by(table.c.number)
                .limit(PAGE)
            )
            .mappings()
            .all()
        )
        yield from map(entry_of, rows)
        if len(rows) < PAGE:
            return
        done = rows[-1]["number"]


def entry_of(row: RowMapping) -> Entry:
    """Return a row as an entry.

    Raises:
        ValueError: if it is none.
    """
    document = {name: value for name, value in row.items() if name != "dataset_id"}
    for name in ("mechanism", "details"):
        if document[name] is not None:
            document[name] = json.loads(document[name])
    return entry_from(document)


def row_of(key: int, entry: Entry) -> dict[str, Any]:
    """Return an entry as a row."""
    row = {"dataset_id": key, **entry.document(), "kind": entry.kind.value}
    for name in ("mechanism", "details"):
        if row[name] is not None:
            row[name] = json.dumps(row[name], allow_nan=False)
    return row


def add_accounts(connection: Connection, key: int, accounts: Iterable[Account]) -> None:
    """Add accounts to which nothing is charged."""
    connection.execute(
        sa.insert(tables.account),
        [
            {
                "dataset_id": key,
                "partition": partition,
                "part": part,
                "mu_squared": "0",
                "failure": "0",
            }
            for partition, part in accounts
        ],
    )


def save_account(connection: Connection, key: int, books: Books, account: Account) -> None:
    """Keep what is charged to an account."""
    where = {"the_dataset": key, "the_partition": account[0], "the_part": account[1]}
    connection.execute(_SAVE_ACCOUNT, {**where, **amounts_of(books.accounts[account])})


def save_reservation(connection: Connection, key: int, entry: Entry) -> None:
    """Open or end a reservation, if an entry does so."""
    table = tables.reservation
    if entry.kind is Kind.RESERVE:
        connection.execute(sa.insert(table).values(dataset_id=key, number=entry.number))
    elif entry.kind in (Kind.COMMIT, Kind.CANCEL):
        connection.execute(
            sa.delete(table).where(table.c.dataset_id == key, table.c.number == entry.refers)
        )


def save_dataset(connection: Connection, key: int, books: Books, before: int) -> None:
    """Keep the budget, the count and the last hash."""
    budget = books.budget
    values = {
        "count": books.count,
        "head": books.head,
        "budget_mu_squared": None if budget is None else amount_text(budget.square),
        "budget_failure": None if budget is None else amount_text(budget.failure),
    }
    where = {"the_dataset": key, "the_count": before}
    if connection.execute(_SAVE_DATASET, {**where, **values}).rowcount != 1:
        raise AssertionError("another writer came between, though writers are serialised")
