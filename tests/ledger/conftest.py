"""Ledgers in a file, and in a PostgreSQL server that the tests start."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdpbridge.ledger import Ledger


class Server:
    """A PostgreSQL server of its own, on loopback, in a temporary folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self._run("initdb", "-A", "trust", "-U", "gdp", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # the server crashes in these tests, the machine does not: what is written is not lost
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB -c fsync=off "
            f"-c unix_socket_directories={self._folder}"
        )
        log = str(self._folder / "log")
        self._run("pg_ctl", "-w", "-t", "60", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; immediate is as a crash."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def database(self) -> str:
        """Make an empty database, and return its URL."""
        import psycopg

        name = f"ledger_{uuid.uuid4().hex}"
        address = f"postgresql://gdp@127.0.0.1:{self.port}"
        with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"{address}/{name}"

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), "-D", str(self._folder / "data"), *words]
        user = "postgres" if os.geteuid() == 0 else None
        done = subprocess.run(
            command,
            cwd=self._folder,
            user=user,
            group=user,
            extra_groups=[] if user else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def _programs() -> Path:
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    return found[-1].parent if found else Path(str(on_path)).parent


@pytest.fixture(scope="session")
def make_server() -> Iterator[Callable[[], Server]]:
    """Starts PostgreSQL servers, which end with the tests."""
    servers: list[Server] = []
    folders: list[Path] = []

    def start() -> Server:
        programs = _programs()
        # not pytest's own folder, which only its user can enter
        folder = Path(tempfile.mkdtemp(prefix="gdpbridge-postgres-"))
        folders.append(folder)
        server = Server(programs, folder)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(make_server: Callable[[], Server]) -> Server:
    """A PostgreSQL server that tests share; each has a database of its own."""
    return make_server()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("server").database()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def unchanged_ledger(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Ledger:
    """The same for tests in which nothing is recorded: they share it."""
    folder = tmp_path_factory.mktemp("unchanged")
    if request.param == "sqlite":
        return _made(str(folder / "ledger.sqlite"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.get_app_dir", lambda name: str(folder / name))
        return _made(request.getfixturevalue("server").database())


@pytest.fixture
def ledger(url: str) -> Ledger:
    """A ledger with a data set, census, whose budget is μ = 1, p = 1e-6."""
    return _made(url)


@pytest.fixture(autouse=True)
def heads_of_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is noted of ledgers on servers out of the user's own folder."""
    monkeypatch.setattr("typer.get_app_dir", lambda name: str(tmp_path / name))


@pytest.fixture(scope="session")
def make_ledger() -> Callable[..., Ledger]:
    """Makes such a ledger at an address, with another budget if given."""
    return _made


@pytest.fixture
def file_ledger(tmp_path: Path) -> Ledger:
    """The same in SQLite only, for what does not depend on the database."""
    return _made(str(tmp_path / "ledger.sqlite"))


def _made(url: str, mu: object = 1, failure: object = "1e-6") -> Ledger:
    """Make a ledger with the data set census."""
    book = Ledger(url)
    book.init()
    book.add_dataset("census", unit="person", neighbours="add-remove")
    book.set_budget("census", mu, failure)
    return book
