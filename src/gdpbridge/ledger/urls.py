"""Which database a ledger is in: --ledger, GDPBRIDGE_LEDGER, or a file in the user's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gdpbridge.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["VARIABLE", "default_path", "parse"]

VARIABLE = "GDPBRIDGE_LEDGER"
_ALLOWED = "a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def default_path() -> Path:
    """Return the file that is used where no other is named."""
    # what the command line is made with knows where each system keeps a user's data
    import typer

    return Path(typer.get_app_dir("gdpbridge")) / "ledger.sqlite"


def parse(text: str | os.PathLike[str] | None) -> URL:
    """Return the address of the database that a text names.

    Args:
        text: a file, or a URL of SQLite or PostgreSQL; None for the environment's, or the default.

    Raises:
        InputError: for another database, or one in memory only.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    given = os.fspath(text or os.environ.get(VARIABLE) or default_path())
    if "://" not in given:
        return URL.create("sqlite", database=given)
    try:
        url = make_url(given)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise InputError("ledger", _without_password(given), _ALLOWED) from None
    if backend == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
        return URL.create("sqlite", database=url.database)
    # postgres:// is what some providers call it
    if backend in ("postgresql", "postgres") and url.drivername in (backend, f"{backend}+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise InputError("ledger", _without_password(given), _ALLOWED)


def _without_password(text: str) -> str:
    scheme, mark, rest = text.partition("://")
    before, at, after = rest.rpartition("@")
    return f"{scheme}{mark}{before.partition(':')[0]}{at}{after}" if at else text
