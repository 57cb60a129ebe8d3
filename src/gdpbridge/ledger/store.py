"""Transactions that serialise all writers, and database errors told in one sentence.

SQLite: WAL, and BEGIN IMMEDIATE, which takes the one write lock before anything is read.
PostgreSQL: SERIALIZABLE, with a table lock taken before the snapshot, so that writers queue instead
of failing; what fails all the same is tried again, with jitter and a bound.
"""

from __future__ import annotations

import importlib.util
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
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from gdpbridge.errors import InputError, Masked, MissingExtraError, Words
from gdpbridge.files import may_write
from gdpbridge.ledger.refusals import LedgerUnavailableError
from gdpbridge.ledger.tables import SCHEMA, VERSION_TABLE
from gdpbridge.ledger.urls import parse, secrets_of, shown

__all__ = ["Store"]

DEFAULT_TIMEOUT = 30.0
_MOST_TIMEOUT = 86_400

T = TypeVar("T")

_SERIALIZATION, _LOCK_TIMEOUT = ("40001", "40P01"), "55P03"
_MISSING_TABLE, _READ_ONLY = ("42P01", "3F000"), ("25006", "42501")
# how long a server that has gone away is tried again, and how often at most anything is
_RECONNECT_SECONDS, _MOST_TRIES = 5.0, 200
_SHORTEST_WAIT, _LONGEST_WAIT = 0.01, 0.5
_UNKNOWN = (
    "whether what was asked is recorded is not known, and asking again with the same key is safe"
)
_ANY_FILE = "an SQLite file, or one that is not there yet"
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
        number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not number or not 0 < timeout <= _MOST_TIMEOUT:
            raise InputError("timeout", timeout, f"a number > 0 and at most {_MOST_TIMEOUT}")
        if importlib.util.find_spec("alembic") is None:
            raise MissingExtraError("ledger", "a ledger")
        self.url = parse(url)
        self._timeout = float(timeout)
        self._file = self.url.database if self.url.drivername == "sqlite" else None
        self._engine = self._new_engine()
        self._process = os.getpid()
        # connections are kept open between transactions
        weakref.finalize(self, _close, self._engine, self._process)

    @property
    def where(self) -> str:
        """The database, for a reader; without its password."""
        return self._file or shown(self.url)

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
                if not write and self._is_still():
                    return self._read_still(work)
                with self._transaction(write=write, ready=ready) as connection:
                    if ready:
                        self._check_version(connection)
                    return work(connection)
            except ArgumentError as error:
                raise self._not_understood(error) from None
            except DBAPIError as error:
                limit = self._retried_for(error)
                if time.monotonic() - started > limit or tries == _MOST_TRIES - 1:
                    raise self._explained(error, write=write) from self._cause(error)
            wait = min(_LONGEST_WAIT, _SHORTEST_WAIT * 2 ** min(tries, 10))
            time.sleep(random.uniform(wait / 2, wait))
        raise AssertionError("the last try raises")

    def _is_still(self) -> bool:
        """Whether this is a file that nobody writes and that only looks as if it had to be written.

        To read in WAL mode, SQLite makes files beside the database. Where this user may not, and
        no program has it open, the file itself holds all there is.
        """
        if self._file is None or may_write(Path(self._file).parent):
            return False
        path = Path(self._file)
        return path.is_file() and not path.with_name(f"{path.name}-wal").exists()

    def _read_still(self, work: Callable[[Connection], T]) -> T:
        path = Path(str(self._file))
        engine = sa.create_engine(
            "sqlite://", creator=lambda: self._sqlite("immutable=1"), poolclass=NullPool
        )
        before = path.stat()
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            self._check_version(connection)
            found = work(connection)
        after = path.stat()
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            raise LedgerUnavailableError(f"the ledger {self.where} was written while it was read")
        return found

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
        except ValueError:
            raise InputError("ledger", Masked(self.where), "the name of a file") from None

    def _new_engine(self) -> sa.Engine:
        if self._file is not None:
            return sa.create_engine("sqlite://", creator=self._sqlite, poolclass=NullPool)
        try:
            return sa.create_engine(
                self.url,
                pool_size=1,
                max_overflow=10,
                connect_args={
                    "connect_timeout": 10,
                    "options": f"-c lock_timeout={max(1, round(self._timeout * 1000))} "
                    f"-c idle_in_transaction_session_timeout={self._most_idle()}",
                    # a network that is cut is told after some seconds, not after some minutes
                    "keepalives_idle": 5,
                    "keepalives_interval": 5,
                    "keepalives_count": 3,
                    "tcp_user_timeout": 20_000,
                },
            )
        except ModuleNotFoundError:
            raise MissingExtraError("postgres", "a ledger in PostgreSQL") from None
        except ArgumentError as error:
            raise self._not_understood(error) from None

    def _most_idle(self) -> int:
        """After how many milliseconds a server ends a transaction whose program is silent.

        A program that was cut off holds the lock until then; whoever waits for it waits longer.
        """
        return max(1000, round(self._timeout * 1000 / 3))

    def _sqlite(self, mode: str = "mode=rw") -> Any:
        import sqlite3

        path = quote(os.path.abspath(str(self._file)))
        connection = sqlite3.connect(
            # a file that is missing is not made by looking at it
            f"file:{path}?{mode}",
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
        state, text = _state(error), " ".join(self._without_secrets(str(error.orig)).split())
        about = f"the ledger {self.where}"
        if "no such table" in text or state in _MISSING_TABLE or self._is_missing():
            return self._not_made()
        if "not a database" in text:
            return InputError(
                "ledger", Masked(self.where), "an SQLite file, or one that is not there yet"
            )
        if "invalid connection option" in text:
            return InputError(
                "ledger", Masked(self.where), f"an address that is understood ({text[:200]})"
            )
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

    def _not_understood(self, why: object) -> InputError:
        shown_why = self._without_secrets(str(why))[:200]
        allowed = f"an address that is understood ({shown_why})"
        return InputError("ledger", Masked(self.where), allowed)

    def _without_secrets(self, text: str) -> str:
        for secret in secrets_of(self.url):
            text = text.replace(secret, "***")
        return text

    def _cause(self, error: DBAPIError) -> DBAPIError | None:
        """The error itself, unless a traceback would show with it what must not be shown."""
        found: BaseException | None = error
        while found is not None:
            if self._without_secrets(str(found)) != str(found):
                return None
            found = found.__cause__ or found.__context__
        return error

    def _not_made(self) -> InputError:
        return InputError("ledger", Masked(self.where), "made first, by 'gdpbridge ledger init'")

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
    return error.connection_invalidated or state.startswith(("08", "57P")) or state == "25P03"
