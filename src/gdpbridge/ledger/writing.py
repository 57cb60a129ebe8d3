"""How an entry comes about: what each kind needs of the books, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from gdpbridge.errors import Advice, InputError
from gdpbridge.ledger import tables
from gdpbridge.ledger.amounts import Amount, amount_text, root_ceiling
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.charges import Charge
from gdpbridge.ledger.checking import check_since
from gdpbridge.ledger.entries import WHOLE, Account, Entry, Kind
from gdpbridge.ledger.heads import Heads
from gdpbridge.ledger.refusals import BudgetTooLowError
from gdpbridge.ledger.requests import Draft, Release
from gdpbridge.ledger.rows import (
    add_accounts,
    amounts_of,
    find,
    load,
    row_of,
    save_account,
    save_dataset,
    save_reservation,
)
from gdpbridge.ledger.words import checked_text

__all__ = [
    "Make",
    "account_of",
    "budget_entry",
    "charge_entry",
    "check_fit_for",
    "end_entry",
    "insert_dataset",
    "need_budget",
    "partition_entry",
    "written",
]

# completes an entry from the books and the data set's row, or refuses it
Make = Callable[[Books, RowMapping, Entry], Entry]


def written(
    connection: Connection, dataset: str, draft: Draft, make: Make, heads: Heads
) -> tuple[Books, Entry]:
    """Write an entry, unless its key is there already; return the books after it, and the entry.

    Raises:
        InputError: if another request has its key.
        BrokenChainError: if the books it relies on were changed by other means.
    """
    row = find(connection, dataset)
    books, found = load(connection, row, draft.entry.key)
    check_since(connection, row, books, heads)
    if found is not None:
        if not draft.repeats(found):
            raise InputError(
                "key",
                found.key,
                f"a new key: entry {found.number} of {dataset} has it, with other content",
            )
        return books, found
    before, accounts = books.count, dict(books.accounts)
    sealed = books.append(make(books, row, draft.entry))
    connection.execute(sa.insert(tables.entry), row_of(row["id"], sealed))
    if sealed.kind is Kind.PARTITION:
        add_accounts(connection, row["id"], books.accounts.keys() - accounts.keys())
    elif books.accounts != accounts:
        save_account(connection, row["id"], books, sealed.account)
    save_reservation(connection, row["id"], sealed)
    save_dataset(connection, row["id"], books, before)
    return books, sealed


def insert_dataset(
    connection: Connection, details: dict[str, Any], books: Books, entry: Entry
) -> None:
    """Write a new data set with its first entry."""
    inserted = connection.execute(
        sa.insert(tables.dataset).values(**details, count=books.count, head=books.head)
    )
    (key,) = cast(Sequence[int], inserted.inserted_primary_key)
    add_accounts(connection, key, [WHOLE])
    connection.execute(sa.insert(tables.entry), row_of(key, entry))


def partition_entry(dataset: str, name: str) -> Make:
    """Return what completes the entry of a new partition."""

    def make(books: Books, row: RowMapping, entry: Entry) -> Entry:
        if row["neighbours"] != "add-remove":
            raise InputError(
                "dataset",
                dataset,
                "one for add-remove neighbours: replacing a record can move "
                "it from one part to another",
            )
        if name in books.partitions():
            raise InputError("partition", name, "a new name: there is such a partition already")
        return entry

    return make


def budget_entry(dataset: str, budget: Amount, reason: str) -> Make:
    """Return what completes the entry of a budget."""

    def make(books: Books, _row: RowMapping, entry: Entry) -> Entry:
        if books.budget is not None:
            if not reason:
                raise InputError("reason", reason, Advice("give one for a change of the budget"))
            checked_text("reason", reason)
        if not (spent := books.total()).fits(budget):
            raise BudgetTooLowError(dataset, budget, spent)
        return entry

    return make


def charge_entry(release: Release, charge: Charge) -> Make:
    """Return what completes the entry of a spend or a reservation."""

    def make(books: Books, row: RowMapping, entry: Entry) -> Entry:
        check_fit_for(row, charge, release)
        partition, part = account = account_of(books, release.part)
        need_budget(books)
        amount = books.charged(account, charge.amount)
        mu = amount_text(root_ceiling(amount.square, 40))
        return replace(entry, partition=partition, part=part, mu=mu, **amounts_of(amount))

    return make


def end_entry(number: int, allowed: str) -> Make:
    """Return what completes the entry of a commit or a cancellation."""

    def make(books: Books, _row: RowMapping, entry: Entry) -> Entry:
        if number not in books.open:
            raise InputError("number", number, allowed)
        (partition, part), _ = books.open[number]
        return replace(entry, partition=partition, part=part)

    return make


def account_of(books: Books, part: str | None) -> Account:
    """Return what PARTITION/PART names; the whole for None.

    Raises:
        InputError: if there is no such part.
    """
    if part is None:
        return WHOLE
    partition, _, name = part.partition("/")
    account = (partition, name)
    if account == WHOLE or account not in books.accounts:
        known = sorted("/".join(one) for one in books.accounts if one != WHOLE)
        some = f", such as {known[0]}" if known else f": {books.dataset} has none"
        raise InputError("part", part, f"PARTITION/PART of {books.dataset}{some}")
    return account


def need_budget(books: Books) -> None:
    """Refuse to charge what has no budget."""
    if books.budget is None:
        advice = f"{books.dataset} has no budget yet: set one first, by 'budget set'"
        raise InputError("dataset", books.dataset, Advice(advice))


def check_fit_for(row: RowMapping, charge: Charge, release: Release) -> None:
    """Refuse what is stated for another relation or unit than the data set's."""
    for found in (charge.neighbours, release.neighbours):
        if found is not None and found != row["neighbours"]:
            allowed = f"{row['neighbours']}, the neighbouring relation of {row['name']}"
            raise InputError("neighbours", found, allowed)
    if release.unit is not None and release.unit != row["unit"]:
        allowed = f"{row['unit']}, the unit of privacy of {row['name']}"
        raise InputError("unit", release.unit, allowed)
