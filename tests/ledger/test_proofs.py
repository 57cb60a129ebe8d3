"""What no writer, kill, full disk or stopped server can bring about: a budget that is overspent."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gdpbridge.cli import main
from gdpbridge.errors import InputError
from gdpbridge.ledger import Kind, Ledger, LedgerUnavailableError

Make = Callable[..., Ledger]
Server = Any

# more of both in make test-deep
WRITERS, SPENDS = 8, int(os.environ.get("GDPBRIDGE_SPENDS", "600"))
ROOM = SPENDS // 2
KILLS = int(os.environ.get("GDPBRIDGE_KILLS", "30"))


def _run_writers(root: Path, *words: object) -> dict[str, Any]:
    script = root / "tests" / "ledger" / "writers.py"
    done = subprocess.run(
        [sys.executable, str(script), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.slow
def test_eight_writers_spend_exactly_the_budget(url: str, make_ledger: Make, root: Path) -> None:
    """Of the spends of eight processes the half that fits is accepted, each key once."""
    book = make_ledger(url, mu=1)
    done = _run_writers(root, "spend", url, WRITERS, SPENDS)
    assert done["statuses"] == [0] * WRITERS
    status = book.verify("census")
    assert status.balance.spent.square == 1
    spends = [one for one in book.history("census") if one.kind is Kind.SPEND]
    assert sum(accepted for accepted, _ in done["counts"]) == len(spends) == ROOM
    assert len({one.key for one in spends}) == ROOM
    assert sum(refused for _, refused in done["counts"]) > 0


@pytest.mark.slow
def test_kills_leave_nothing_half_written(url: str, make_ledger: Make, root: Path) -> None:
    """After many kills the chain verifies, what was reported is there, reservations are visible."""
    book = make_ledger(url, mu=100)
    done = _run_writers(root, "kill", url, KILLS)
    assert done["signals"] == [9] * KILLS
    status = book.verify("census")
    entries = list(book.history("census"))
    assert done["reported"]
    assert set(done["reported"]) <= {one.key for one in entries}
    ended = {one.refers for one in entries}
    left_open = {one.number for one in entries if one.kind is Kind.RESERVE} - ended
    assert {one.entry.number for one in status.reservations} == left_open
    assert left_open
    charged = [one for one in entries if one.kind in (Kind.SPEND, Kind.RESERVE)]
    assert status.balance.spent.square == Fraction(len(charged), 10**6)
    book.spend("census", mu=1, purpose="after all that")


FULL = """
import json, resource, signal, sys
from gdpbridge.ledger import Ledger, LedgerUnavailableError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
book, done = Ledger(sys.argv[1]), []
try:
    for number in range(1000):
        book.spend("census", mu="1/1000", purpose="x" * 1000, key=f"k{number}")
        done.append(f"k{number}")
except LedgerUnavailableError as error:
    print(json.dumps({"done": done, "error": str(error)}))
"""


def test_files_that_cannot_grow(file_ledger: Ledger) -> None:
    """Where files cannot grow, one sentence says so; what was reported stays, the rest is not."""
    size = Path(file_ledger.where).stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", FULL, file_ledger.where, str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["error"].startswith(f"the ledger {file_ledger.where} cannot be used")
    assert "\n" not in found["error"]
    file_ledger.verify("census")
    keys = [one.key for one in file_ledger.history("census")][2:]
    assert keys == found["done"]
    file_ledger.spend("census", mu=0.1, purpose="after")


def _spend_long(book: Ledger, times: int) -> None:
    for _ in range(times):
        book.spend("census", mu="1/10000", purpose="x" * 1000)


def test_no_room_left_in_the_database(file_ledger: Ledger) -> None:
    """A database that may not grow says that there is no space, and keeps what it has."""
    before = file_ledger.status("census")
    store = file_ledger._store
    usual = store._sqlite

    def small() -> object:
        connection = usual()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    full = Ledger(file_ledger.where)
    full._store._sqlite = small  # type: ignore[method-assign]
    full._store._engine = full._store._new_engine()
    with pytest.raises(LedgerUnavailableError, match="has no space left: nothing"):
        _spend_long(full, 100)
    after = file_ledger.verify("census")
    assert after.entries >= before.entries


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Be a user whom permissions bind, if this one is root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only(make_ledger: Make) -> Iterator[Path]:
    """A ledger in a folder where nothing may be written."""
    # not pytest's own folder, which only its user can enter
    folder = Path(tempfile.mkdtemp(prefix="gdpbridge-read-only-"))
    path = folder / "ledger.sqlite"
    book = make_ledger(str(path))
    book.spend("census", mu=0.1, purpose="before")
    path.chmod(0o444)
    for one in folder.rglob("*"):
        one.chmod(0o555 if one.is_dir() else 0o444)
    folder.chmod(0o555)
    try:
        yield path
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_read_only_ledger(read_only: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing may be written all can be read; a spend says in one sentence that it cannot."""
    before = Ledger(read_only).verify("census")
    words = ["status", "verify", "history", "export census", "quote census --mu 0.1"]
    # that user may not read the program's own files, which have to be loaded
    for one in words:
        assert main(["ledger", *one.split(), "--ledger", str(read_only)]) == 0
    with _as_nobody():
        book = Ledger(read_only)
        with pytest.raises(LedgerUnavailableError, match=r"read only|cannot be used") as caught:
            book.spend("census", mu=0.1, purpose="a")
        assert "\n" not in str(caught.value)
        assert book.status("census") == book.verify("census") == before
        assert len(list(book.history("census"))) == 3
        assert book.quote("census", mu=0.5).fits
        for one in words:
            assert main(["ledger", *one.split(), "--ledger", str(read_only)]) == 0
    assert capsys.readouterr().err == ""
    # nothing was left behind
    assert {one.name for one in read_only.parent.iterdir()} <= {
        "ledger.sqlite", "ledger.sqlite.heads", "ledger.sqlite-wal", "ledger.sqlite-shm",
    }  # fmt: skip


def test_read_only_while_it_is_written(make_ledger: Make) -> None:
    """A reader without rights sees what a writer with rights has written, while it writes."""
    folder = Path(tempfile.mkdtemp(prefix="gdpbridge-read-only-"))
    path = folder / "ledger.sqlite"
    try:
        book = make_ledger(str(path))
        with book._store._engine.connect():
            book.spend("census", mu=0.1, purpose="a")
            folder.chmod(0o755)
            for one in folder.rglob("*"):
                one.chmod(0o755 if one.is_dir() else 0o644)
            with _as_nobody():
                assert Ledger(path).status("census").entries == 3
    finally:
        shutil.rmtree(folder)


def test_locked_database(url: str, make_ledger: Make) -> None:
    """A database that another program holds is told in one sentence after the time given."""
    make_ledger(url)
    book = Ledger(url, timeout=0.2)
    holder = Ledger(url)
    held, release = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held.set()
        release.wait(30)

    thread = threading.Thread(target=holder._store.write, args=(hold,))
    thread.start()
    try:
        assert held.wait(30)
        assert book.status("census").entries == 2
        with pytest.raises(LedgerUnavailableError, match="is locked by another program for over"):
            book.spend("census", mu=0.1, purpose="a")
    finally:
        release.set()
        thread.join()
    book.spend("census", mu=0.1, purpose="a")


def test_server_stopped_in_mid_transaction(
    make_server: Callable[[], Server], make_ledger: Make
) -> None:
    """A server that crashes before a commit has recorded nothing, and after one lost nothing."""
    server = make_server()
    url = server.database()
    book = make_ledger(url)
    kept = book.spend("census", mu=0.1, purpose="before", key="B")
    spend = _spend_work(book)
    restarts = [threading.Timer(0.1, server.start)]

    def crash(connection: object) -> object:
        result = spend(connection)
        if restarts:
            server.stop()
            restarts[0].start()
            started.append(restarts.pop())
        return result

    started: list[threading.Timer] = []
    # the transaction is run again once the server is back
    book._store.write(crash)
    started[0].join()
    entries = list(book.history("census"))
    assert [one.key for one in entries[2:]] == ["B", "D"]
    assert entries[2] == kept.entry
    server.stop()
    hasty = Ledger(url, timeout=0.1)
    with pytest.raises(LedgerUnavailableError, match="with the same key is safe") as caught:
        hasty.spend("census", mu=0.1, purpose="down", key="E")
    assert "\n" not in str(caught.value)
    server.start()
    assert not book.spend("census", mu=0.1, purpose="down", key="E").repeated
    assert book.verify("census").entries == 5


def _spend_work(book: Ledger) -> Callable[[object], str]:
    """Return what a spend under the key D runs in its transaction."""
    caught: list[Callable[[object], str]] = []

    class Caught(Exception):
        pass

    def catch(work: Callable[[object], str]) -> None:
        caught.append(work)
        raise Caught

    usual = book._store.write
    book._store.write = catch  # type: ignore[method-assign, assignment]
    with pytest.raises(Caught):
        book.spend("census", mu=0.1, purpose="during", key="D")
    book._store.write = usual  # type: ignore[method-assign]
    return caught[0]


def test_what_is_no_ledger(tmp_path: Path) -> None:
    """A missing file, an empty one and one of another kind are each bad input, and left alone."""
    missing = tmp_path / "none.sqlite"
    with pytest.raises(InputError, match="made first, by 'gdpbridge ledger init'"):
        Ledger(missing).status("census")
    assert not missing.exists()
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to be looked at " * 10, encoding="utf-8")
    with pytest.raises(InputError, match="an SQLite file"):
        Ledger(text).status("census")
    with pytest.raises(InputError, match="an SQLite file"):
        Ledger(text).init()
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    with pytest.raises(InputError, match="made first"):
        Ledger(empty).status("census")
