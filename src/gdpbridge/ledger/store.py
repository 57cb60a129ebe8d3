"""Transactions that serialise all writers, and database errors told in one sentence.

SQLite: WAL, and BEGIN IMMEDIATE, which takes the one write lock before anything is read.
PostgreSQL: SERIALIZABLE, with a table lock taken before the snapshot, so that writers queue instead
of failing; what fails all the same is tried again, with jitter and a bound.
"""

from __future__ import annotations

import os
import random
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gdpbridge.errors import InputError, MissingExtraError, Words
from gdpbridge.ledger.refusals import LedgerUnavailableError
from gdpbridge.ledger.tables import SCHEMA, VERSION_TABLE
from gdpbridge.ledger.urls import parse

__all__ = ["Store"]

DEFAULT_TIMEOUT = 30.0

T = TypeVar("T")

_SERIALIZATION, _LOCK_TIMEOUT = ("40001", "40P01"), "55P03"
_MISSING_TABLE, _READ_ONLY = ("42P01", "3F000"), ("25006", "42501")
# how long a server that has gone away is tried again, and how often at most anything is
_RECONNECT_SECONDS, _MOST_TRIES = 5.0, 200
_SHORTEST_WAIT, _LONGEST_WAIT = 0.01, 0.5
_UNKNOWN = (
    "whether what was asked is recorded is not known, and asking again with the same key is safe"
)
# any number that other programs do not lock by
_INIT_LOCK = 0x6764706272


class Store:
    """A database that holds a ledger.

    Args:
        url: a file or a URL, as for :func:`gdpbridge.ledger.urls.parse`.
        timeout: how many seconds to wait for other writers.
    """

    def __init__(
        self, url: str | os.PathLike[str] | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self._url = parse(url)
        self._timeout = timeout
        self._file = self._url.database if self._url.drivername == "sqlite" else None
        self._engine = self._new_engine()
        self._process = os.getpid()
        # connections are kept open between transactions
        weakref.finalize(self, _close, self._engine, self._process)

    @property
    def where(self) -> str:
        """The database, for a reader; without its password."""
        return self._file or self._url.render_as_string(hide_password=True)

    def init(self) -> bool:
        """Make the tables if there are none, and take the steps to the newest version.

        Returns:
            Whether anything was done.

        Raises:
            InputError: if the database is newer than this program.
            LedgerUnavailableError: if it cannot be written.
        """
        if self._file is not None:
            self._new_file(Path(self._file))
        return self._run(self._migrate, write=True, ready=False)

    def migrate(self) -> bool:
        """Take the steps to the newest version; return and errors as :meth:`init`.

        Raises:
            InputError: if there is no ledger.
        """

        def steps(connection: Connection) -> bool:
            if self._version(connection) is None:
                raise self._not_made()
            return self._migrate(connection)

        return self._run(steps, write=True, ready=False)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run work on one consistent view of the database.

        Raises:
            InputError: if there is no ledger, or one of another version.
            LedgerUnavailableError: if it cannot be read.
        """
        return self._run(work, write=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run work alone among all writers; all of it is kept, or nothing.

        Args:
            work: may be called again after a failure, so that it must find what it has done.

        Raises:
            InputError: if there is no ledger, or one of another version.
            LedgerUnavailableError: if it cannot be written.
        """
        return self._run(work, write=True)

    def _run(self, work: Callable[[Connection], T], *, write: bool, ready: bool = True) -> T:
        started = time.monotonic()
        for tries in range(_MOST_TRIES):
            try:
                with self._transaction(write=write, ready=ready) as connection:
                    if ready:
                        self._check_version(connection)
                    return work(connection)
            except DBAPIError as error:
                limit = self._retried_for(error)
                if time.monotonic() - started > limit or tries == _MOST_TRIES - 1:
                    raise self._explained(error, write=write) from error
            wait = min(_LONGEST_WAIT, _SHORTEST_WAIT * 2 ** min(tries, 10))
            time.sleep(random.uniform(wait / 2, wait))
        raise AssertionError("the last try raises")

    @contextmanager
    def _transaction(self, *, write: bool, ready: bool) -> Iterator[Connection]:
        if self._process != os.getpid():
            # connections of the parent are not ours to use, nor to close
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with self._engine.connect() as connection:
            if self._file is None:
                # the lock that init takes is no help to a snapshot from before it
                level = "SERIALIZABLE" if ready else "READ COMMITTED"
                # it changes the connection itself
                connection.execution_options(isolation_level=level if write else "REPEATABLE READ")
            with connection.begin():
                self._lock(connection, write=write, ready=ready)
                yield connection

    def _lock(self, connection: Connection, *, write: bool, ready: bool) -> None:
        if self._file is not None:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
        elif write and ready:
            # no snapshot is taken before the first query
            connection.exec_driver_sql("LOCK TABLE ledger_dataset IN SHARE ROW EXCLUSIVE MODE")
        elif write:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_INIT_LOCK})")

    def _version(self, connection: Connection) -> str | None:
        if not sa.inspect(connection).has_table(VERSION_TABLE):
            return None
        return connection.exec_driver_sql(_VERSION).scalar()

    def _check_version(self, connection: Connection) -> None:
        found = connection.exec_driver_sql(_VERSION).scalar()
        if found == SCHEMA:
            return
        raise self._other_version(found)

    def _other_version(self, found: str | None) -> InputError:
        if found is not None and found > SCHEMA:
            allowed = f"at most version {SCHEMA}: a newer gdpbridge wrote it, so update this one"
        else:
            allowed = f"at version {SCHEMA}: run 'gdpbridge ledger migrate'"
        return InputError("ledger", Words(f"at version {found}"), allowed)

    def _migrate(self, connection: Connection) -> bool:
        from alembic import command
        from alembic.config import Config

        found = self._version(connection)
        if found is not None and found > SCHEMA:
            raise self._other_version(found)
        if found == SCHEMA:
            return False
        config = Config()
        config.set_main_option("script_location", "gdpbridge.ledger:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return True

    def _new_file(self, path: Path) -> None:
        """Make an empty database that readers do not block, and that survives a crash."""
        import sqlite3

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # a ledger says who did what with which data
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with self._sqlite() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.close()
        except OSError as error:
            raise LedgerUnavailableError(
                f"the ledger {self.where} cannot be made: {error.strerror or error}"
            ) from error
        except sqlite3.Error as error:
            raise self._explained(DBAPIError("", None, error), write=True) from error

    def _new_engine(self) -> sa.Engine:
        if self._file is not None:
            return sa.create_engine("sqlite://", creator=self._sqlite, poolclass=NullPool)
        try:
            return sa.create_engine(
                self._url,
                pool_size=1,
                max_overflow=10,
                connect_args={
                    "connect_timeout": 10,
                    "options": f"-c lock_timeout={max(1, round(self._timeout * 1000))}",
                },
            )
        except ModuleNotFoundError:
            raise MissingExtraError("postgres", "a ledger in PostgreSQL") from None

    def _sqlite(self) -> Any:
        import sqlite3

        path = quote(os.path.abspath(str(self._file)))
        connection = sqlite3.connect(
            # a file that is missing is not made by looking at it
            f"file:{path}?mode=rw",
            uri=True,
            timeout=self._timeout,
            # BEGIN is ours to say
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        # a commit that was reported outlasts a power cut
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _retried_for(self, error: DBAPIError) -> float:
        """How many seconds after its start a transaction that failed so is run again."""
        if self._file is not None:
            return 0  # SQLite has waited already
        if _state(error) in _SERIALIZATION:
            return self._timeout
        return min(_RECONNECT_SECONDS, self._timeout) if _is_lost(error) else 0

    def _explained(self, error: DBAPIError, *, write: bool) -> Exception:
        state, text = _state(error), " ".join(str(error.orig).split())
        about = f"the ledger {self.where}"
        if "no such table" in text or state in _MISSING_TABLE or self._is_missing():
            return self._not_made()
        if "not a database" in text:
            return InputError("ledger", self.where, "an SQLite file, or one that is not there yet")
        what_is_kept = "nothing was recorded"
        if "locked" in text or state == _LOCK_TIMEOUT:
            why = f"is locked by another program for over {self._timeout:g} s"
        elif "disk is full" in text or state == "53100":
            why = "has no space left"
        elif "unable to open" in text:
            why = "cannot be opened by this user"
        elif "readonly" in text or state in _READ_ONLY:
            why = "can be read only, or not by this user"
        else:
            how = "reached" if _is_lost(error) else "used"
            why, what_is_kept = f"cannot be {how} ({text[:200]})", _UNKNOWN
        ending = f": {what_is_kept}" if write else ""
        return LedgerUnavailableError(f"{about} {why}{ending}")

    def _not_made(self) -> InputError:
        return InputError("ledger", self.where, "made first, by 'gdpbridge ledger init'")

    def _is_missing(self) -> bool:
        return self._file is not None and not Path(self._file).exists()


def _close(engine: sa.Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)


_VERSION = f"SELECT version_num FROM {VERSION_TABLE}"


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _is_lost(error: DBAPIError) -> bool:
    """Whether a server went away, is going, or is not there."""
    state = _state(error)
    if not type(error.orig).__module__.startswith("psycopg"):
        return False
    if state is None:
        return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
    return error.connection_invalidated or state.startswith(("08", "57P"))
