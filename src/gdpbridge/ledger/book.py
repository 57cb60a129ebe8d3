"""The ledger: data sets, their budgets, and what is spent of them, in a database.

Σμ² ≤ μ_B² also covers releases that were each chosen after seeing the earlier ones (a GDP privacy
filter: Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023). Failure probabilities add, by
the union bound. Of the parts of a partition, which have no unit in common, the most charged one
counts (parallel composition).
"""

from __future__ import annotations

import getpass
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.ledger import tables
from gdpbridge.ledger.amounts import (
    Amount,
    Number,
    amount_text,
    failure_of,
    mu_of,
    root_ceiling,
    square_of,
)
from gdpbridge.ledger.charges import Charge, charge_for, charge_of_numbers
from gdpbridge.ledger.entries import WHOLE, Account, Books, Entry, Kind, digest
from gdpbridge.ledger.records import Balance, Dataset, Quote, Receipt, Reservation, Status
from gdpbridge.ledger.refusals import (
    BrokenChainError,
    BudgetExceededError,
    BudgetTooLowError,
    LedgerUnavailableError,
)
from gdpbridge.ledger.rows import (
    PAGE,
    add_accounts,
    amounts_of,
    entries,
    find,
    load,
    names,
    open_entries,
    open_numbers,
    paged,
    row_of,
    save_account,
    save_dataset,
    save_reservation,
)
from gdpbridge.ledger.store import DEFAULT_TIMEOUT, Store
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Neighbours, Profile

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate
    from gdpbridge.ledger.guard import Spending

__all__ = ["Ledger"]

Progress = Callable[[str, float], None]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAME_ALLOWED = "1 to 100 letters, digits, dots, dashes and underscores"
_RELATIONS = get_args(Neighbours)
_LONGEST_TEXT, _LONGEST_KEY, _MOST_PARTS = 1000, 200, 10_000
# a reservation's end has such a key
_RESERVED = re.compile(r"(commit|cancel):")
DEFAULT_EXPIRY = timedelta(hours=24)


class Ledger:
    """Privacy budgets in a database that any number of processes may use at once.

    Args:
        url: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE (extra ``postgres``); None
            for what GDPBRIDGE_LEDGER names, or a file in the user's folder.
        timeout: how many seconds to wait for other writers.

    Raises:
        InputError: here for an address that is not allowed; by every method for an argument that
            is not, an unknown data set, or a database that holds no ledger of this version.
        MissingExtraError: for PostgreSQL without its driver.
        LedgerUnavailableError: by every method, if the database cannot be read or written now.
        BrokenChainError: by every method, if what it needs of the books was changed by other means.
    """

    def __init__(
        self, url: str | os.PathLike[str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self._store = Store(url, timeout)

    @property
    def where(self) -> str:
        """The database, for a reader."""
        return self._store.where

    def init(self) -> bool:
        """Make the tables, or bring them to this program's version; return whether that was needed.

        Nothing is lost: a ledger that is there stays as it is.
        """
        return self._store.init()

    def migrate(self) -> bool:
        """Bring the tables of a ledger to this version; return whether that was needed."""
        return self._store.migrate()

    def datasets(self) -> tuple[Dataset, ...]:
        """Return the data sets, by name."""
        table = tables.dataset
        rows = self._store.read(
            lambda connection: (
                connection.execute(sa.select(table).order_by(table.c.name)).mappings().all()
            )
        )
        return tuple(_dataset(row) for row in rows)

    def add_dataset(
        self, name: str, *, unit: str, neighbours: str, actor: str | None = None
    ) -> Receipt:
        """Add a data set. Its unit and relation are fixed for good.

        Args:
            name: letters, digits, dots, dashes and underscores.
            unit: the unit of privacy, such as "person".
            neighbours: "add-remove" or "replace-one".
            actor: who does it; the user of the system if None.
        """
        _check_dataset(name, unit, neighbours)
        details = {"name": name, "unit": unit, "neighbours": neighbours}
        draft = _draft(Kind.CREATE, None, details, actor, "", details=details)

        def work(connection: Connection) -> Receipt:
            if name in names(connection):
                books, found = load(connection, find(connection, name), draft.key)
                if found is not None:  # by a try that was not acknowledged
                    return Receipt(name, found, _balance(books), repeated=False)
                raise InputError("dataset", name, "a new name: there is such a data set already")
            books = Books(name)
            sealed = books.append(draft)
            inserted = connection.execute(
                sa.insert(tables.dataset).values(
                    name=name, unit=unit, neighbours=neighbours, count=1, head=sealed.hash
                )
            )
            (key,) = cast(Sequence[int], inserted.inserted_primary_key)
            add_accounts(connection, key, [WHOLE])
            connection.execute(sa.insert(tables.entry), row_of(key, sealed))
            return Receipt(name, sealed, _balance(books), repeated=False)

        return self._store.write(work)

    def add_partition(
        self,
        dataset: str,
        name: str,
        parts: Iterable[str],
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Split a data set into parts that have no unit in common.

        A release from one part is charged to it alone, and of the parts the most charged one
        counts. That the parts are disjoint is the caller's word.

        Args:
            dataset: the data set, for add-remove neighbours: a record that is replaced could move
                from one part to another.
            name: the partition's name.
            parts: the parts' names, at most 10,000.
            key: the idempotency key.
            actor: who does it.
        """
        _check_name("partition", name)
        names = list(parts)
        for part in names:
            _check_name("part", part)
        if not names or len(set(names)) < len(names) or len(names) > _MOST_PARTS:
            raise InputError("parts", names, f"1 to {_MOST_PARTS:,} names, each once")
        details = {"parts": names}
        draft = _draft(Kind.PARTITION, key, details, actor, "", partition=name, details=details)

        def make(books: Books, row: RowMapping, _: Connection) -> Entry:
            if row["neighbours"] != "add-remove":
                raise InputError(
                    "dataset",
                    dataset,
                    "one for add-remove neighbours: replacing a record can move "
                    "it from one part to another",
                )
            if any(name == partition for partition, _ in books.accounts):
                raise InputError("partition", name, "a new name: there is such a partition already")
            return draft

        return self._append(dataset, draft, make)

    def set_budget(
        self,
        dataset: str,
        mu: Number | None = None,
        failure: Number = 0,
        *,
        mu_squared: Number | None = None,
        reason: str = "",
        key: str | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Set the budget, or raise or lower it; never below what is spent.

        Args:
            dataset: the data set.
            mu: μ_B: Σμ² ≤ μ_B².
            failure: p_B: Σp ≤ p_B.
            mu_squared: μ_B², instead of μ_B.
            reason: why; needed for every budget but the first.
            key: the idempotency key.
            actor: who does it.

        Raises:
            BudgetTooLowError: if more is spent already.
        """
        if mu is None and mu_squared is None:
            raise InputError.missing("mu", "give it, or mu_squared")
        if mu is not None and mu_squared is not None:
            raise InputError("mu_squared", mu_squared, Advice("leave it out where mu is given"))
        if mu_squared is None:
            width = mu_of("mu", cast(Number, mu))
            budget = Amount(width**2, failure_of("failure", failure))
        else:
            budget = Amount(square_of("mu_squared", mu_squared), failure_of("failure", failure))
            width = root_ceiling(budget.square, 40)
        amounts = amounts_of(budget)
        draft = _draft(
            Kind.BUDGET,
            key,
            {**amounts, "reason": reason},
            actor,
            _text("reason", reason, empty=True),
            mu=amount_text(width),
            **amounts,
        )

        def make(books: Books, _row: RowMapping, _: Connection) -> Entry:
            if books.budget is not None and not reason:
                raise InputError("reason", reason, Advice("give one for a change of the budget"))
            if not (spent := books.total()).fits(budget):
                raise BudgetTooLowError(dataset, budget, spent)
            return draft

        return self._append(dataset, draft, make)

    def quote(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        failure: Number | None = None,
        certificate: Certificate | str | Path | bytes | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        part: str | None = None,
        uncertified: bool = False,
        progress: Progress | None = None,
    ) -> Quote:
        """Say what a spend would leave; nothing is recorded. Arguments as for :meth:`spend`."""
        charge = _charge(what, mu, mu_squared, failure, certificate, uncertified, progress)

        def work(connection: Connection) -> Quote:
            row = find(connection, dataset)
            books, _ = load(connection, row)
            account = _account(books, part)
            _check_fit_for(row, charge, neighbours, unit)
            _need_budget(books)
            left, balance = books.left(account), _balance(books)
            try:
                amount = books.charged(account, charge.amount)
            except BudgetExceededError:
                return Quote(dataset, charge, False, left, None, balance)
            return Quote(dataset, charge, True, left, left - amount, balance)

        return self._store.read(work)

    def spend(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        failure: Number | None = None,
        certificate: Certificate | str | Path | bytes | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        part: str | None = None,
        purpose: str,
        key: str | None = None,
        actor: str | None = None,
        uncertified: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Record a release, if the budget allows it.

        Args:
            dataset: the data set.
            what: a profile, which is measured, or a measurement; its μ and failure probability are
                charged rounded up, a head statement with p = δ(ε_h).
            mu: a μ instead; a float stands for the decimal it prints as, "1/11" is a fraction.
            mu_squared: a μ² instead.
            failure: the failure probability.
            certificate: a certificate of the μ: a path, its content or the document; it is checked.
            neighbours: the relation that μ is stated for, where nothing else says.
            unit: the unit that μ is stated for.
            part: PARTITION/PART, for a release from one part only.
            purpose: what the release is for.
            key: the idempotency key: the same request under the same key is recorded once.
            actor: who releases; the user of the system if None.
            uncertified: accept a μ that is not proved; it is recorded as such.
            progress: called with a sentence and a share in [0, 1] during long work.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        charge = _charge(what, mu, mu_squared, failure, certificate, uncertified, progress)
        return self._charge(
            Kind.SPEND, dataset, charge, neighbours, unit, part, purpose, key, actor
        )

    def reserve(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        failure: Number | None = None,
        certificate: Certificate | str | Path | bytes | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        part: str | None = None,
        purpose: str,
        key: str | None = None,
        actor: str | None = None,
        uncertified: bool = False,
        progress: Progress | None = None,
        expires: timedelta = DEFAULT_EXPIRY,
    ) -> Receipt:
        """Spend before running a mechanism, to commit or cancel after it.

        A reservation counts as spent until it is cancelled. After ``expires`` it is shown as
        overdue and counts all the same: whether something was released is not for a clock to say.

        Args are those of :meth:`spend`, and ``expires``, a time from now.
        """
        if not timedelta(0) < expires <= timedelta(days=3650):
            raise InputError("expires", expires, "more than 0 and at most 3650 days")
        charge = _charge(what, mu, mu_squared, failure, certificate, uncertified, progress)
        return self._charge(
            Kind.RESERVE, dataset, charge, neighbours, unit, part, purpose, key, actor, expires
        )

    def commit(self, dataset: str, number: int, *, actor: str | None = None) -> Receipt:
        """Make a reservation a spend, overdue or not; its charge stays what it was.

        Args:
            dataset: the data set.
            number: the number of the reservation's entry.
            actor: who does it.
        """
        return self._end(Kind.COMMIT, dataset, number, "", actor)

    def cancel(
        self, dataset: str, number: int, *, reason: str, actor: str | None = None
    ) -> Receipt:
        """Give a reservation's charge back; only for a release that did not happen.

        Args:
            dataset: the data set.
            number: the number of the reservation's entry.
            reason: how it is known that nothing was released.
            actor: who does it.
        """
        return self._end(Kind.CANCEL, dataset, number, _text("reason", reason), actor)

    def history(self, dataset: str, *, last: int | None = None, after: int = 0) -> Iterator[Entry]:
        """Yield the entries in order, read page by page.

        Args:
            dataset: the data set.
            last: only so many of the newest.
            after: only those with a larger number.
        """
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

        def work(connection: Connection) -> Status:
            row = find(connection, dataset)
            books, _ = load(connection, row)
            now = datetime.now(UTC)
            return Status(
                dataset=_dataset(row),
                balance=_balance(books),
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
        progress: Progress = lambda _sentence, _share: None,
    ) -> Status:
        """Recompute every hash and sum of a data set's history.

        Args:
            dataset: the data set.
            head: a hash that was noted earlier, which the history must contain: what is cut off its
                end can be told by nothing else.
            progress: called with a sentence and a share in [0, 1].

        Returns:
            Where it stands.

        Raises:
            BrokenChainError: at the first entry or sum that is wrong.
        """

        def work(connection: Connection) -> None:
            row = find(connection, dataset)
            books, heads = Books(dataset), {"" if head is None else head}
            count = max(1, int(row["count"]))
            last: Entry | None = None
            try:
                for last in paged(connection, row["id"]):
                    books.replay(last)
                    heads.discard(last.hash)
                    if last.number % PAGE == 0:
                        progress(f"checking {count:,} entries", min(1.0, last.number / count))
                    if last.number == 1 and last.details != asdict(_dataset(row)):
                        changed = "the data set's name, unit or relation was changed"
                        raise BrokenChainError(dataset, 1, changed)
            except (ValueError, TypeError, KeyError):
                broken = "it is not in the form of an entry"
                raise BrokenChainError(dataset, books.count + 1, broken) from None
            if last is None:
                raise BrokenChainError(dataset, None, "there are no entries")
            if heads - {""}:
                raise BrokenChainError(dataset, None, f"the hash {head} is not in its history")
            kept, _ = load(connection, row)
            open_ones = set(open_numbers(connection, row["id"]))
            if kept.accounts != books.accounts or open_ones != set(books.open):
                raise BrokenChainError(
                    dataset,
                    None,
                    "the running totals or reservations are not the sums of its entries",
                )

        self._store.read(work)
        return self.status(dataset)

    def load(self, entries: Iterable[Entry]) -> Status:
        """Add a data set with its whole history, as another ledger holds it.

        Args:
            entries: all its entries, from the first.

        Raises:
            BrokenChainError: if they do not follow from each other; nothing is added.
        """
        iterator = iter(entries)
        first = next(iterator, None)
        if first is None or first.kind is not Kind.CREATE:
            raise InputError(
                "entries",
                Words("without a beginning"),
                Advice("give those of a data set from the first one on"),
            )
        try:
            dataset = Dataset(**first.details)
        except TypeError:
            raise BrokenChainError("this file", 1, "it does not name a data set") from None
        _check_dataset(dataset.name, dataset.unit, dataset.neighbours)
        tries = iter([True])

        def work(connection: Connection) -> None:
            if not next(tries, False):
                # what was read of the entries cannot be read again
                raise LedgerUnavailableError("the import was interrupted: import it again")
            if dataset.name in names(connection):
                raise InputError(
                    "dataset", dataset.name, "a new name: there is such a data set already"
                )
            books = Books(dataset.name)
            inserted = connection.execute(
                sa.insert(tables.dataset).values(**asdict(dataset), count=0, head="")
            )
            (key,) = cast(Sequence[int], inserted.inserted_primary_key)
            rows: list[dict[str, Any]] = []
            for entry in (first, *iterator):
                books.replay(entry)
                rows.append(row_of(key, entry))
                if len(rows) == PAGE:
                    connection.execute(sa.insert(tables.entry), rows)
                    rows = []
            if rows:
                connection.execute(sa.insert(tables.entry), rows)
            add_accounts(connection, key, books.accounts)
            for account in books.accounts:
                save_account(connection, key, books, account)
            if books.open:
                connection.execute(
                    sa.insert(tables.reservation),
                    [{"dataset_id": key, "number": number} for number in books.open],
                )
            save_dataset(connection, key, books, before=0)

        self._store.write(work)
        return self.status(dataset.name)

    def spending(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        *,
        purpose: str,
        **options: Any,
    ) -> Spending:
        """Return a context that reserves, runs its body, and commits.

        The reservation is cancelled only where the body says that nothing was released:
        ``run.nothing_released(reason)``. A body that fails without saying so has spent.

        Args are those of :meth:`reserve`.
        """
        from gdpbridge.ledger.guard import Spending

        return Spending(self, dataset, what, {"purpose": purpose, **options})

    def _charge(
        self,
        kind: Kind,
        dataset: str,
        charge: Charge,
        neighbours: str | None,
        unit: str | None,
        part: str | None,
        purpose: str,
        key: str | None,
        actor: str | None,
        expires: timedelta | None = None,
    ) -> Receipt:
        purpose = _text("purpose", purpose)
        now = datetime.now(UTC)
        asked = {
            **charge.asked,
            "mechanism": charge.mechanism,
            "certificate": charge.certificate,
            "part": part,
            "purpose": purpose,
            "expires": None if expires is None else expires.total_seconds(),
        }
        draft = _draft(
            kind,
            key,
            asked,
            actor,
            purpose,
            mechanism=charge.mechanism,
            statement=charge.statement,
            mu=amount_text(charge.mu),
            certified=charge.certified,
            certificate=charge.certificate,
            expires=None if expires is None else _stamp(now + expires),
        )

        def make(books: Books, row: RowMapping, _: Connection) -> Entry:
            _check_fit_for(row, charge, neighbours, unit)
            partition, name = account = _account(books, part)
            _need_budget(books)
            amount = books.charged(account, charge.amount)
            return replace(draft, partition=partition, part=name, **amounts_of(amount))

        return self._append(dataset, draft, make)

    def _end(
        self, kind: Kind, dataset: str, number: int, reason: str, actor: str | None
    ) -> Receipt:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError("number", number, "the number of a reservation's entry")
        asked = {"refers": number}
        # the reservation itself is the key: it ends once
        draft = replace(
            _draft(kind, None, asked, actor, reason, refers=number), key=f"{kind}:{number}"
        )

        def make(books: Books, row: RowMapping, connection: Connection) -> Entry:
            found = connection.execute(
                sa.select(tables.reservation.c.number).where(
                    tables.reservation.c.dataset_id == row["id"],
                    tables.reservation.c.number == number,
                )
            ).scalar()
            if found is None:
                raise InputError(
                    "number", number, f"the number of an open reservation of {dataset}"
                )
            (entry,) = entries(connection, row["id"], number - 1, number)
            if entry.hash != entry.computed_hash():
                raise BrokenChainError(dataset, number, "its hash is not that of its content")
            books.open[number] = entry.account, entry.amount
            return replace(draft, partition=entry.partition, part=entry.part)

        return self._append(dataset, draft, make)

    def _append(
        self,
        dataset: str,
        draft: Entry,
        make: Callable[[Books, RowMapping, Connection], Entry],
    ) -> Receipt:
        """Write an entry in one transaction, unless its key is there already."""

        def work(connection: Connection) -> Receipt:
            row = find(connection, dataset)
            books, found = load(connection, row, draft.key)
            if found is not None:
                if found.request != draft.request:
                    raise InputError(
                        "key",
                        draft.key,
                        f"a new key: entry {found.number} of {dataset} has it, with other content",
                    )
                # found by a second try of our own, it is not a repetition
                again = found.time != draft.time
                return Receipt(dataset, found, _balance(books), repeated=again)
            before, accounts = books.count, dict(books.accounts)
            sealed = books.append(make(books, row, connection))
            connection.execute(sa.insert(tables.entry), row_of(row["id"], sealed))
            if sealed.kind is Kind.PARTITION:
                add_accounts(connection, row["id"], books.accounts.keys() - accounts.keys())
            elif books.accounts != accounts:
                save_account(connection, row["id"], books, sealed.account)
            save_reservation(connection, row["id"], sealed)
            save_dataset(connection, row["id"], books, before)
            return Receipt(dataset, sealed, _balance(books), repeated=False)

        return self._store.write(work)


def _charge(
    what: Profile | Measurement | None,
    mu: Number | None,
    mu_squared: Number | None,
    failure: Number | None,
    certificate: Certificate | str | Path | bytes | None,
    uncertified: bool,
    progress: Progress | None,
) -> Charge:
    if what is None:
        return charge_of_numbers(mu, mu_squared, failure, certificate)
    for name, value in (("mu", mu), ("mu_squared", mu_squared), ("certificate", certificate)):
        if value is not None:
            raise InputError(name, value, Advice("leave it out where a mechanism is given"))
    return charge_for(what, failure=failure, uncertified=uncertified, progress=progress)


def _draft(
    kind: Kind,
    key: str | None,
    asked: Mapping[str, Any],
    actor: str | None,
    purpose: str,
    **content: Any,
) -> Entry:
    """An entry that is not numbered yet. Without a key it gets one, so that it can be retried."""
    if key is not None and _RESERVED.match(key):
        raise InputError("key", key, "one that does not begin with commit: or cancel:")
    if key is not None and (not key.strip() or len(key) > _LONGEST_KEY or not key.isprintable()):
        raise InputError("key", key, f"1 to {_LONGEST_KEY} printable characters")
    return Entry(
        number=0,
        kind=kind,
        time=_stamp(datetime.now(UTC)),
        key=key or uuid.uuid4().hex,
        request=digest({"kind": kind.value, "asked": dict(asked)}),
        actor=_text("actor", actor or _user()),
        purpose=purpose,
        **content,
    )


def _stamp(when: datetime) -> str:
    return when.isoformat(timespec="microseconds")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _text(field: str, value: str, *, empty: bool = False) -> str:
    fine = isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable()
    if not fine or not (empty or value.strip()):
        least = 0 if empty else 1
        raise InputError(field, value, f"{least} to {_LONGEST_TEXT:,} printable characters")
    return value


def _check_dataset(name: str, unit: str, neighbours: str) -> None:
    _check_name("dataset", name)
    if len(_text("unit", unit)) > 100:
        raise InputError("unit", unit, "at most 100 characters")
    if neighbours not in _RELATIONS:
        raise InputError("neighbours", neighbours, " or ".join(map(repr, _RELATIONS)))


def _check_name(field: str, name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(field, name, _NAME_ALLOWED)


def _account(books: Books, part: str | None) -> Account:
    if part is None:
        return WHOLE
    partition, _, name = part.partition("/")
    account = (partition, name)
    if account == WHOLE or account not in books.accounts:
        known = sorted("/".join(one) for one in books.accounts if one != WHOLE)
        some = f", such as {known[0]}" if known else f": {books.dataset} has none"
        raise InputError("part", part, f"PARTITION/PART of {books.dataset}{some}")
    return account


def _need_budget(books: Books) -> None:
    if books.budget is None:
        raise InputError(
            "dataset",
            books.dataset,
            Advice(f"{books.dataset} has no budget yet: set one first, by 'budget set'"),
        )


def _check_fit_for(
    row: RowMapping, charge: Charge, neighbours: str | None, unit: str | None
) -> None:
    """Refuse what is stated for another relation or unit than the data set's."""
    for found in (charge.neighbours, neighbours):
        if found is not None and found != row["neighbours"]:
            allowed = f"{row['neighbours']}, the neighbouring relation of {row['name']}"
            raise InputError("neighbours", found, allowed)
    if unit is not None and unit != row["unit"]:
        raise InputError("unit", unit, f"{row['unit']}, the unit of privacy of {row['name']}")


def _balance(books: Books) -> Balance:
    left = None if books.budget is None else books.left(WHOLE)
    return Balance(books.budget, books.total(), left)


def _dataset(row: RowMapping) -> Dataset:
    return Dataset(row["name"], row["unit"], row["neighbours"])
