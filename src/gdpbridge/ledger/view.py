"""What can be asked of a ledger; nothing is written."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from gdpbridge.ledger import checking, tables
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import WHOLE, Entry
from gdpbridge.ledger.heads import Heads, heads_folder
from gdpbridge.ledger.records import Balance, Dataset, Quote, Receipt, Reservation, Status
from gdpbridge.ledger.refusals import BudgetExceededError
from gdpbridge.ledger.requests import ChargeOptions, Progress, Release
from gdpbridge.ledger.rows import PAGE, entries, find, load, open_entries
from gdpbridge.ledger.store import DEFAULT_TIMEOUT, Store
from gdpbridge.ledger.words import checked_number
from gdpbridge.ledger.writing import account_of, check_fit_for, need_budget
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Profile

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["LedgerView", "balance_of"]


class LedgerView:
    """What can be asked of a ledger, one that may only be read too; see :class:`Ledger`.

    Args:
        url: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE (extra ``postgres``); None
            for what GDPBRIDGE_LEDGER names, or a file in the user's folder.
        timeout: how many seconds to wait for other writers.
        heads: the folder where it is noted how far each history had come, so that what was cut off
            or put back since is seen; "none" for nowhere; None for what GDPBRIDGE_LEDGER_HEADS
            names, or a folder beside the file, or in the user's own for a server.

    Raises:
        InputError: here for an address that is not allowed; by every method for an argument that
            is not, an unknown data set, or a database that holds no ledger of this version.
        MissingExtraError: for PostgreSQL without its driver.
        LedgerUnavailableError: by every method, if the database cannot be read or written now.
        BrokenChainError: by every method, if what it needs of the books was changed by other means.
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        heads: str | os.PathLike[str] | None = None,
    ) -> None:
        self._store = Store(url, timeout)
        self._heads = Heads(heads_folder(self._store.url, heads))

    @property
    def where(self) -> str:
        """The database, for a reader; without any password."""
        return self._store.where

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where}>"

    def _repr_html_(self) -> str:
        # the report lies above the ledger
        shown = importlib.import_module("gdpbridge.report.ledger")
        return str(shown.statuses_html([self.status(one.name) for one in self.datasets()]))

    def datasets(self) -> tuple[Dataset, ...]:
        """Return the data sets, by name."""
        table = tables.dataset
        rows = self._store.read(
            lambda connection: (
                connection.execute(sa.select(table).order_by(table.c.name)).mappings().all()
            )
        )
        return tuple(_dataset(row) for row in rows)

    def quote(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        **options: Unpack[ChargeOptions],
    ) -> Quote:
        """Say what a spend would leave; nothing is recorded.

        Args:
            dataset: the data set.
            what: as for :meth:`spend`.
            **options: see :class:`~gdpbridge.ledger.requests.ChargeOptions`.
        """
        release = Release(what, **options)
        charge = release.charge()
        heads = self._heads.by_now(dataset)

        def work(connection: Connection) -> Quote:
            row = find(connection, dataset)
            books, _ = load(connection, row)
            checking.check_since(connection, row, books, heads)
            account = account_of(books, release.part)
            check_fit_for(row, charge, release)
            need_budget(books)
            left, balance = books.left(account), balance_of(books)
            try:
                amount = books.charged(account, charge.amount)
            except BudgetExceededError:
                return Quote(dataset, charge, False, left, None, balance)
            return Quote(dataset, charge, True, left, left - amount, balance)

        return self._store.read(work)

    def history(self, dataset: str, *, last: int | None = None, after: int = 0) -> Iterator[Entry]:
        """Yield the entries in order, read page by page.

        Args:
            dataset: the data set.
            last: only so many of the newest.
            after: only those with a larger number.
        """
        checked_number("after", after, "a whole number ≥ 0", least=0)
        if last is not None:
            checked_number("last", last, "a whole number > 0")
        return self._history(dataset, last, after)

    def _history(self, dataset: str, last: int | None, after: int) -> Iterator[Entry]:
        count = self._store.read(lambda connection: int(find(connection, dataset)["count"]))
        done = max(after, 0 if last is None else count - last)
        while done < count:

            def page(connection: Connection, done: int = done) -> list[Entry]:
                key = find(connection, dataset)["id"]
                return list(entries(connection, key, done, min(done + PAGE, count)))

            yield from self._store.read(page)
            done += PAGE

    def status(self, dataset: str) -> Status:
        """Return where a data set stands."""
        heads = self._heads.by_now(dataset)

        def work(connection: Connection) -> Status:
            row = find(connection, dataset)
            books, _ = load(connection, row)
            checking.check_since(connection, row, books, heads)
            now = datetime.now(UTC)
            return Status(
                dataset=_dataset(row),
                balance=balance_of(books),
                parts={key: value for key, value in books.accounts.items() if key != WHOLE},
                reservations=tuple(
                    Reservation(one, datetime.fromisoformat(str(one.expires)) < now)
                    for one in open_entries(connection, row["id"])
                ),
                entries=books.count,
                head=books.head,
            )

        return self._store.read(work)

    def verify(
        self,
        dataset: str,
        *,
        head: str | None = None,
        since: Receipt | str | Path | None = None,
        certificates: str | Path | None = None,
        progress: Progress = lambda _sentence, _share: None,
    ) -> Status:
        """Recompute every hash and sum of a data set's history, and check every entry's rules.

        That shows that the history is whole and was not changed in part. That nothing was cut off
        its end, and that it is not another history as a whole, is shown only as far as it contains
        what was noted elsewhere: the head beside the database, a head or a receipt given here.

        Args:
            dataset: the data set.
            head: a hash that was noted earlier, which the history must contain.
            since: a receipt that was given for an entry, which the history must contain as it was:
                the receipt, its reference, or a file with either, or with the JSON document.
            certificates: a folder with the certificates that entries name, which are proved anew,
                and must be for what was charged.
            progress: called with a sentence and a share in [0, 1].

        Returns:
            Where it stands.

        Raises:
            BrokenChainError: at the first entry or sum that is wrong.
        """
        asked = checking.asked_for(dataset, head, since)
        heads = self._heads.by_now(dataset)
        found = self._store.read(
            lambda connection: checking.verified(connection, dataset, asked, heads, progress)
        )
        self._heads.note(dataset, found)
        if certificates is not None:
            from gdpbridge.ledger.certificates import check_certificates

            check_certificates(dataset, self.history(dataset), certificates)
        return self.status(dataset)

    def certificate(self, dataset: str, folder: str | Path) -> Certificate:
        """Compose the certificates of all releases from a data set into one that names them.

        Args:
            dataset: the data set, of which no parts are charged.
            folder: where the certificates are that entries name, and where the result belongs.

        Raises:
            InputError: where a release has no certificate, or it is not there.
            RefusedError: for a certificate that does not hold.
            UndecidedError: if checking them all would be more work than is allowed.
        """
        from gdpbridge.ledger.certificates import composed_certificate

        return composed_certificate(dataset, self.history(dataset), folder)

    def lost(self) -> list[str]:
        """Return the data sets whose heads are noted and that are gone from the database."""
        noted = self._heads.datasets()
        there = {one.name for one in self.datasets()}
        return [name for name in noted if name not in there]


def balance_of(books: Books) -> Balance:
    """Return where a budget stands."""
    left = None if books.budget is None else books.left(WHOLE)
    return Balance(books.budget, books.total(), left)


def _dataset(row: RowMapping) -> Dataset:
    return Dataset(row["name"], row["unit"], row["neighbours"])
