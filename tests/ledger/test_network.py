"""A network that is cut between a program and PostgreSQL, at the worst moments."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit

import pytest

from gdpbridge.ledger import Ledger, LedgerUnavailableError

Make = Callable[..., Ledger]


class Wire:
    """Carries bytes to a server and back, and is cut at the next commit that it is told to."""

    def __init__(self, port: int) -> None:
        self._port, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        # "before": the commit never arrives; "after": its answer never comes back
        self.cut: str | None = None
        self.down = False
        self.cuts = 0
        self._silent = False
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            if self.down:
                here.close()
                continue
            there = socket.create_connection(("127.0.0.1", self._port))
            for source, target, is_ours in ((here, there, True), (there, here, False)):
                words = (source, target, here, there, is_ours)
                threading.Thread(target=self._carry, args=words, daemon=True).start()

    def _carry(
        self,
        source: socket.socket,
        target: socket.socket,
        here: socket.socket,
        there: socket.socket,
        is_ours: bool,
    ) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_ours and b"COMMIT" in data and self.cut is not None:
                    how, self.cut = self.cut, None
                    self.cuts += 1
                    if how == "before":
                        break
                    self._silent = True
                elif not is_ours and self._silent:
                    # the answer to the commit
                    self._silent = False
                    break
                target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (here, there):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()


@contextmanager
def _wired(url: str) -> Iterator[tuple[Wire, str]]:
    port = urlsplit(url).port
    assert port is not None
    wire = Wire(port)
    try:
        yield wire, url.replace(f":{port}/", f":{wire.port}/")
    finally:
        wire.close()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_cut_in_the_middle_of_a_commit(server: Any, make_ledger: Make, moment: str) -> None:
    """Whether the commit arrived or not, the spend is recorded once, and is said to be new."""
    url = server.database()
    make_ledger(url)
    with _wired(url) as (wire, wired):
        book = Ledger(wired, timeout=20)
        # the first time all of it is read
        book.spend("census", mu="1/10", purpose="count")
        for number in range(3):
            wire.cut = moment
            receipt = book.spend("census", mu="1/10", purpose="count", key=f"k{number}")
            assert not receipt.repeated
        number = book.reserve("census", mu="1/10", purpose="job").entry.number
        wire.cut = moment
        assert not book.commit("census", number).repeated
        assert wire.cuts == 4
    status = Ledger(url).verify("census")
    assert status.entries == 8
    assert status.balance.spent.square == Fraction(5, 100)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_cut_for_good(server: Any, make_ledger: Make, moment: str) -> None:
    """Where the network stays away that is told; asked again with the key, it is recorded once."""
    url = server.database()
    make_ledger(url)
    with _wired(url) as (wire, wired):
        book = Ledger(wired, timeout=0.3)
        book.spend("census", mu="1/10", purpose="count")
        wire.cut, wire.down = moment, True
        with pytest.raises(LedgerUnavailableError, match="with the same key is safe") as caught:
            book.spend("census", mu="1/10", purpose="count", key="K")
        assert "\n" not in str(caught.value)
        wire.down = False
        again = Ledger(wired).spend("census", mu="1/10", purpose="count", key="K")
        assert again.repeated == (moment == "after")
    status = Ledger(url).verify("census")
    assert status.entries == 4
    assert status.balance.spent.square == Fraction(2, 100)
