"""Heads noted beside the database: what it must still contain when it is looked at again.

A database says nothing of entries that were cut off its end, nor of an older copy that was put in
its place. So each program that writes notes how far the history had come: for a file in a folder
beside it, for a server in the user's own folder. What a spend relies on is checked from there.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gdpbridge.errors import InputError
from gdpbridge.files import read_bounded, write_text

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["HEADS_VARIABLE", "Head", "Heads", "heads_folder"]

HEADS_VARIABLE = "GDPBRIDGE_LEDGER_HEADS"
_NONE = "none"
_SCHEMA = {"name": "gdpbridge.ledger-head", "version": 1}
_LONGEST = 10_000


@dataclass(frozen=True)
class Head:
    """How far a history had come.

    Attributes:
        number: the number of its last entry then.
        hash: that entry's hash, which stands for all of the history up to it.
    """

    number: int
    hash: str


class Heads:
    """The heads of a ledger's data sets, one a file.

    Args:
        folder: where they are; None to note none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._seen: dict[str, Head | None] = {}

    def by_now(self, dataset: str) -> Heads:
        """Return these with a data set's head as it is now noted, whatever is noted later.

        For a reader, who takes it before a snapshot of the database: what is written and noted
        between the two is in the snapshot, and what comes later is in neither.
        """
        found = Heads(self._folder)
        found._seen[dataset] = self.get(dataset)
        return found

    @property
    def kept(self) -> bool:
        """Whether any are noted."""
        return self._folder is not None

    def where(self, dataset: str) -> str:
        """Return the file of a data set, for a reader."""
        return str(self._file(dataset))

    def datasets(self) -> list[str]:
        """Return the data sets that there were."""
        if self._folder is None or not self._folder.is_dir():
            return []
        names = sorted(path.stem for path in self._folder.glob("*.json"))
        return [name for name in names if self.get(name) is not None]

    def get(self, dataset: str) -> Head | None:
        """Return the head that was noted last; None if there is none that can be read."""
        if self._folder is None:
            return None
        if dataset in self._seen:
            return self._seen[dataset]
        try:
            found = json.loads(read_bounded(self._file(dataset), _LONGEST))
            # names that differ in case only may share a file
            if found["dataset"] != dataset:
                return None
            return Head(int(found["number"]), str(found["hash"]))
        except (InputError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def note(self, dataset: str, head: Head) -> None:
        """Note a head, unless a later one is noted already.

        Where that cannot be written nothing is lost: an older head is one of the history too.
        """
        if self._folder is None:
            return
        there = self.get(dataset)
        if there is not None and there.number >= head.number:
            return
        document = {"schema": _SCHEMA, "dataset": dataset, "number": head.number, "hash": head.hash}
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            text = json.dumps(document) + "\n"
            # what a crash of the machine leaves of it is read as none
            write_text(self._file(dataset), text, private=True, settled=False)

    def _file(self, dataset: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{dataset}.json"


def heads_folder(url: URL, given: str | os.PathLike[str] | None) -> Path | None:
    """Return where the heads of a ledger are noted; None for nowhere.

    Args:
        url: the address of its database.
        given: a folder, "none", or None for the environment's, or the usual one.
    """
    chosen = os.fspath(given) if given is not None else os.environ.get(HEADS_VARIABLE)
    if chosen == _NONE:
        return None
    if chosen:
        return Path(chosen)
    if url.drivername == "sqlite":
        return Path(f"{url.database}.heads")
    # the same database has the same heads, whoever is logged in
    host = url.host or url.query.get("host") or "localhost"
    place = f"{host}:{url.port or url.query.get('port') or 5432}/{url.database}"
    # what the command line is made with knows where each system keeps a user's data
    import typer

    name = hashlib.sha256(place.encode()).hexdigest()[:32]
    return Path(typer.get_app_dir("gdpbridge")) / "heads" / name
