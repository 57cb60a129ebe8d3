"""The ledger: data sets, their budgets, and what is spent of them, in a database.

Σμ² ≤ μ_B² also covers releases that were each chosen after seeing the earlier ones (a GDP privacy
filter: Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023). Failure probabilities add, by
the union bound. Of the parts of a partition, which have no unit in common, the most charged one
counts (parallel composition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

from sqlalchemy.engine import Connection

from gdpbridge.errors import Advice, InputError
from gdpbridge.ledger import checking
from gdpbridge.ledger.amounts import (
    Amount,
    Number,
    amount_text,
    failure_of,
    mu_of,
    root_ceiling,
    square_of,
)
from gdpbridge.ledger.audits import noted_audit
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import Entry, Kind
from gdpbridge.ledger.heads import Head
from gdpbridge.ledger.loading import load_history
from gdpbridge.ledger.records import (
    Receipt,
    Status,
)
from gdpbridge.ledger.requests import (
    DEFAULT_EXPIRY,
    Draft,
    Release,
    ReserveOptions,
    SpendOptions,
    draft_of,
)
from gdpbridge.ledger.rows import amounts_of, find, load, names
from gdpbridge.ledger.view import LedgerView, balance_of
from gdpbridge.ledger.words import (
    checked_dataset,
    checked_name,
    checked_number,
    checked_parts,
    checked_text,
)
from gdpbridge.ledger.writing import (
    Make,
    budget_entry,
    charge_entry,
    end_entry,
    insert_dataset,
    partition_entry,
    written,
)
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Profile

if TYPE_CHECKING:
    from gdpbridge.auditing import Audit
    from gdpbridge.ledger.guard import Spending

__all__ = ["Ledger"]


class Ledger(LedgerView):
    """Privacy budgets in a database that any number of processes may use at once.

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

    def init(self) -> bool:
        """Make the tables, or bring them to this program's version; return whether that was needed.

        Nothing is lost: a ledger that is there stays as it is.
        """
        return self._store.init()

    def migrate(self) -> bool:
        """Bring the tables of a ledger to this version; return whether that was needed."""
        return self._store.migrate()

    def add_dataset(
        self, name: str, *, unit: str, neighbours: str, actor: str | None = None
    ) -> Receipt:
        """Add a data set. Its unit and relation are fixed for good.

        Args:
            name: letters, digits, dots, dashes and underscores.
            unit: the unit of privacy, such as "person".
            neighbours: "add-remove", "replace-one" or "zero-out".
            actor: who does it; the user of the system if None.
        """
        details = checked_dataset(name, unit, neighbours)
        draft = draft_of(Kind.CREATE, None, actor, "", details, {}, details=details)

        def work(connection: Connection) -> tuple[Books, Entry]:
            if name in names(connection):
                books, found = load(connection, find(connection, name), draft.entry.key)
                if found is not None:  # by a try that was not acknowledged
                    return books, found
                raise InputError("dataset", name, "a new name: there is such a data set already")
            if self._heads.get(name) is not None:
                raise checking.gone(name, self._heads)
            books = Books(name)
            entry = books.append(draft.entry)
            insert_dataset(connection, details, books, entry)
            return books, entry

        books, entry = self._store.write(work)
        self._heads.note(name, Head(books.count, books.head))
        return Receipt(name, entry, balance_of(books), repeated=False)

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
        checked_name("partition", name)
        details = {"parts": checked_parts(parts)}
        draft = draft_of(
            Kind.PARTITION,
            key,
            actor,
            "",
            details,
            {"partition": name},
            partition=name,
            details=details,
        )

        return self._append(dataset, draft, partition_entry(dataset, name))

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
            square = mu_of("mu", cast(Number, mu)) ** 2
        else:
            square = square_of("mu_squared", mu_squared)
        budget = Amount(square, failure_of("failure", failure))
        checked_text("reason", reason, empty=True)
        amounts = amounts_of(budget)
        draft = draft_of(
            Kind.BUDGET,
            key,
            actor,
            reason,
            {**amounts, "reason": reason},
            {},
            mu=amount_text(root_ceiling(square, 40)),
            **amounts,
        )

        return self._append(dataset, draft, budget_entry(dataset, budget, reason))

    def spend(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        **options: Unpack[SpendOptions],
    ) -> Receipt:
        """Record a release, if the budget allows it.

        Args:
            dataset: the data set.
            what: a profile, which is measured, or a measurement; its μ and failure probability are
                charged rounded up, a head statement with p = δ(ε_h). None where the options state
                a μ.
            **options: ``purpose``, and what else :class:`~gdpbridge.ledger.requests.SpendOptions`
                lists.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        return self._charge(Kind.SPEND, dataset, Release(what, **options))

    def reserve(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        **options: Unpack[ReserveOptions],
    ) -> Receipt:
        """Spend before running a mechanism, to commit or cancel after it.

        A reservation counts as spent until it is cancelled. After ``expires`` it is shown as
        overdue and counts all the same: whether something was released is not for a clock to say.

        Args:
            dataset: the data set.
            what: as for :meth:`spend`.
            **options: those of :meth:`spend`, and ``expires``, a time from now, 24 hours if left
                out.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        given: ReserveOptions = {"expires": DEFAULT_EXPIRY, **options}
        return self._charge(Kind.RESERVE, dataset, Release(what, **given))

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
        return self._end(Kind.CANCEL, dataset, number, checked_text("reason", reason), actor)

    def note_audit(
        self,
        dataset: str,
        number: int,
        audit: Audit | Mapping[str, Any],
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Keep the result of an audit beside the release that was audited; nothing is charged.

        Args:
            dataset: the data set.
            number: the number of the release's entry: a spend or a reservation.
            audit: what :func:`gdpbridge.audit` found, or what its JSON document holds.
            key: the idempotency key: the same request under the same key is recorded once.
            actor: who audited; the user of the system if None.

        Raises:
            InputError: for another entry, or what is no audit.
        """
        allowed = f"the number of a spend or a reservation of {dataset}"
        checked_number("number", number, allowed)
        found = next(self.history(dataset, after=number - 1), None)
        if found is None or found.kind not in (Kind.SPEND, Kind.RESERVE):
            raise InputError("number", number, allowed)
        details = {"entry": number, "audit": noted_audit(audit)}
        draft = draft_of(Kind.AUDIT, key, actor, "", {"details": details}, {}, details=details)
        return self._append(dataset, draft, lambda _books, _row, entry: entry)

    def load(self, entries: Iterable[Entry]) -> Status:
        """Add a data set with its whole history, as another ledger holds it.

        Args:
            entries: all its entries, from the first.

        Raises:
            BrokenChainError: if they do not follow from each other, or no ledger writes such
                entries; nothing is added.
        """
        name, head = load_history(self._store, self._heads, entries)
        self._heads.note(name, head)
        return self.status(name)

    def spending(
        self,
        dataset: str,
        what: Profile | Measurement | None = None,
        **options: Unpack[ReserveOptions],
    ) -> Spending:
        """Return a context that reserves, runs its body, and commits.

        The reservation is cancelled only where the body says that nothing was released:
        ``run.nothing_released(reason)``. A body that fails without saying so has spent.

        Args are those of :meth:`reserve`.
        """
        from gdpbridge.ledger.guard import Spending

        return Spending(self, dataset, what, options)

    def _charge(self, kind: Kind, dataset: str, release: Release) -> Receipt:
        charge, draft = release.drafted(kind)

        return self._append(dataset, draft, charge_entry(release, charge))

    def _end(
        self, kind: Kind, dataset: str, number: int, reason: str, actor: str | None
    ) -> Receipt:
        allowed = f"the number of an open reservation of {dataset}"
        checked_number("number", number, allowed)
        more = {"reason": reason} if kind is Kind.CANCEL else {}
        # the reservation itself is the key: it ends once
        draft = draft_of(
            kind, f"{kind}:{number}", actor, reason, {"refers": number}, more, refers=number
        )

        return self._append(dataset, draft, end_entry(number, allowed))

    def _append(self, dataset: str, draft: Draft, make: Make) -> Receipt:
        """Write an entry in one transaction, unless its key is there already."""
        heads = self._heads.by_now(dataset)
        if heads.kept and heads.get(dataset) is None:
            # the first time here: all of the history, before others have to wait
            first = self._store.read(
                lambda connection: checking.verified(connection, dataset, {}, heads)
            )
            self._heads.note(dataset, first)
        books, entry = self._store.write(
            lambda connection: written(connection, dataset, draft, make, self._heads)
        )
        self._heads.note(dataset, Head(books.count, books.head))
        # found by a second try of our own, it is not a repetition
        repeated = entry.token != draft.entry.token
        return Receipt(dataset, entry, balance_of(books), repeated=repeated)
