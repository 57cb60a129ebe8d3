"""Which database a ledger is in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gdpbridge.errors import InputError, MissingExtraError
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
