"""Which database a ledger is in."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pytest

from gdpbridge.cli import main
from gdpbridge.errors import GdpBridgeError, InputError, MissingExtraError
from gdpbridge.ledger import Ledger
from gdpbridge.ledger.urls import VARIABLE, default_path, parse


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("books.sqlite", "sqlite:///books.sqlite"),
        ("/srv/a b.sqlite", "sqlite:////srv/a b.sqlite"),
        ("sqlite:////srv/books.sqlite", "sqlite:////srv/books.sqlite"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        (
            "postgres://u@h:5432/d?sslmode=require",
            "postgresql+psycopg://u@h:5432/d?sslmode=require",
        ),
        ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    """A file, and URLs of both databases, are understood."""
    assert str(parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "mysql://h/d",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x?mode=memory",
        "://",
        "x://y",
        "postgresql+asyncpg://h/d",
        "postgresql://h:port/d",
    ],
)
def test_other_addresses(text: str) -> None:
    """Another database, or one that is gone with the process, is refused with what is allowed."""
    with pytest.raises(InputError, match="must be a file, sqlite:///FILE or"):
        parse(text)


def test_no_password_is_shown() -> None:
    """Neither an error nor the ledger's name for a reader holds a password."""
    with pytest.raises(InputError) as caught:
        parse("mysql://user:secret@host/d")
    assert "secret" not in str(caught.value)
    pytest.importorskip("psycopg")
    assert "secret" not in Ledger("postgresql://user:secret@host/d").where


SECRETS = [
    "postgresql://u:s3cret@127.0.0.1:1/led",
    "postgresql://u@127.0.0.1:1/led?password=s3cret",
    "postgresql://u@127.0.0.1:1/led?passfile=/s3cret&sslpassword=s3cret&sslmode=disable",
    "postgresql://u@127.0.0.1:1/led?PASSWORD=s3cret",
    "postgresql://u:s3cret@127.0.0.1:1/led?nonsense=1",
    "postgresql://u:s3cret@127.0.0.1:port/led",
    "postgresql://u:s3cret@127.0.0.1:99999/led",
    "postgresql://u:s3cret@/led?port=x",
    "postgresql://u:s3cret/led",
    "postgresql://u:s3cret@h@h/led",
    "postgresql://u:s3@s3cret@h/led",
    "postgresql://u:s3?s3cret@h/led",
    "postgresql+asyncpg://u:s3cret@h/led",
    "mysql://u:s3cret@h/db",
    "mysql://h/db?password=s3cret",
    "mysql://h/db?user=u&api_token=s3cret",
    "://u:s3cret@h",
    "sqlite://u:s3cret@h/db",
    "sqlite:///x?password=s3cret",
]


@pytest.mark.parametrize("url", SECRETS)
@pytest.mark.parametrize("how", ["option", "variable"])
def test_no_password_is_ever_shown(
    url: str, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in text, in JSON, in a traceback, nor in what a program prints of an error."""
    pytest.importorskip("psycopg")
    monkeypatch.setenv("GDPBRIDGE_DEBUG", "1")
    monkeypatch.setattr("gdpbridge.ledger.store._RECONNECT_SECONDS", 0)
    words = ["ledger", "status"]
    if how == "variable":
        monkeypatch.setenv(VARIABLE, url)
    else:
        words += ["--ledger", url]
    for extra in ([], ["--json"]):
        assert main([*words, *extra]) in (1, 2)
        shown = capsys.readouterr()
        assert "s3cret" not in shown.out + shown.err
        assert "fault" not in shown.err
    try:
        book = Ledger(url)
        assert "s3cret" not in book.where + repr(book)
        book.status("census")
    except GdpBridgeError as error:
        text = "".join(traceback.format_exception(error))
        own = [line for line in text.splitlines() if not line.startswith("    ")]
        assert "s3cret" not in "\n".join(own)
    else:
        raise AssertionError("there is no such ledger")


def test_where_nothing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment's ledger comes before the file in the user's folder."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert Ledger().where == str(default_path())
    assert default_path().parts[-2:] == ("gdpbridge", "ledger.sqlite")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "x.sqlite"))
    assert Ledger().where == str(tmp_path / "x.sqlite")
    assert Ledger(tmp_path / "y.sqlite").where == str(tmp_path / "y.sqlite")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PostgreSQL ledger without its driver says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gdpbridge\[postgres\]'"):
        Ledger("postgresql://h/d")


def test_a_folder_is_made_for_a_new_ledger(tmp_path: Path) -> None:
    """init makes the folders that are missing, and a file that only its user can read."""
    path = tmp_path / "a" / "b" / "ledger.sqlite"
    assert Ledger(path).init()
    assert path.stat().st_mode & 0o077 == 0
