"""Which database a ledger is in: --ledger, GDPBRIDGE_LEDGER, or a file in the user's folder."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from gdpbridge.errors import InputError, Masked

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["VARIABLE", "default_path", "parse", "secrets_of", "shown"]

VARIABLE = "GDPBRIDGE_LEDGER"
_HIDDEN = "***"
# password, passfile, sslpassword, and what drivers may add
_SECRET = re.compile("pass|secret|token|credential", re.IGNORECASE)
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
        InputError: for another database, or one in memory only; no password is in it.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if text is not None and not isinstance(text, str | os.PathLike):
        raise InputError("ledger", text, _ALLOWED)
    given = os.fspath(text or os.environ.get(VARIABLE) or default_path())
    if not isinstance(given, str) or "\0" in given:
        raise InputError("ledger", repr(given), _ALLOWED)
    if "://" not in given:
        return URL.create("sqlite", database=given)
    try:
        url = make_url(given)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise _refused(given) from None
    if backend == "sqlite" and url.database not in (None, "", ":memory:"):
        if url.query or url.host or url.username or url.password:
            raise _refused(given)
        return URL.create("sqlite", database=url.database)
    # a password with @ in it, that is not written as an escape, would be taken for a host
    if "@" in (url.host or ""):
        raise _refused(given)
    # postgres:// is what some providers call it
    if backend in ("postgresql", "postgres") and url.drivername in (backend, f"{backend}+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise _refused(given)


def shown(url: URL) -> str:
    """Return an address for a reader, without what must not be read."""
    hidden = {name: _HIDDEN for name in url.query if _SECRET.search(name)}
    # the sign that stands for it is not written as an escape
    return url.update_query_dict(hidden).render_as_string(hide_password=True).replace("%2A", "*")


def secrets_of(url: URL) -> list[str]:
    """Return the texts in an address that must not be shown, in any message."""
    found = [str(url.password)] if url.password else []
    for name, value in url.query.items():
        if _SECRET.search(name):
            found += [value] if isinstance(value, str) else value
    return [one for one in found if one]


def _refused(text: str) -> InputError:
    return InputError("ledger", Masked(_without_password(text)), _ALLOWED)


def _without_password(text: str) -> str:
    """A text that may be an address, without what may be a password in it."""
    scheme, mark, rest = text.partition("://")
    address, question, query = rest.partition("?")
    # of several @ the last one ends the password
    before, at, after = address.rpartition("@")
    user, colon, _ = before.partition(":")
    if at:
        user += f"{colon}{_HIDDEN}" if colon else ""
    host, colon, port = after.partition(":")
    if colon and not re.fullmatch(r"[0-9]*(/.*)?", port):
        # where the @ is missing the password stands in place of the port
        after = f"{host}:{_HIDDEN}"
    # a ? or @ may also be part of a password
    if question and ("@" in query or "=" not in query):
        question, query = "?", _HIDDEN
    fields = (field.partition("=") for field in query.split("&"))
    shown_query = "&".join(
        f"{name}{equals}{_HIDDEN if _SECRET.search(name) else value}"
        for name, equals, value in fields
    )
    if question and query == _HIDDEN and not at:
        after = _HIDDEN
    return f"{scheme}{mark}{user}{at}{after}{question}{shown_query}"
