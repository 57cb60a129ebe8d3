"""The certificates that entries name by their hashes: checked again, and composed into one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.ledger.charges import proved_by
from gdpbridge.ledger.entries import Entry, Kind
from gdpbridge.ledger.refusals import BrokenChainError

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["check_certificates", "composed_certificate"]

# no folder of certificates has more files
_MOST_FILES = 10_000


def check_certificates(dataset: str, entries: Iterable[Entry], folder: str | Path) -> None:
    """Prove anew every certificate that an entry names, and that it is for what was charged.

    Args:
        dataset: the data set's name.
        entries: its entries.
        folder: where the certificates are, by any names.

    Raises:
        InputError: for one that is not there.
        BrokenChainError: for one that does not hold, or not for what was charged.
    """
    files = _by_hash(folder)
    for entry in entries:
        if entry.certificate is None:
            continue
        path = _file_of(entry, files, folder)
        try:
            proved = proved_by(path)
        except InputError as error:
            reason = f"its certificate {path.name} does not hold: {error}"
            raise BrokenChainError(dataset, entry.number, reason) from None
        if proved.mu**2 > entry.amount.square or proved.failure > entry.amount.failure:
            reason = f"its certificate {path.name} is for more than was charged"
            raise BrokenChainError(dataset, entry.number, reason)


def composed_certificate(dataset: str, entries: Iterable[Entry], folder: str | Path) -> Certificate:
    """Compose the certificates of all releases from a data set into one that names them.

    Args:
        dataset: the data set's name.
        entries: its entries.
        folder: where the certificates are, and where the result belongs.

    Raises:
        InputError: where nothing was released, a release has no certificate, or it is not there, or
            parts of the data set were charged, of which the most charged one counts.
        RefusedError: for a certificate that does not hold.
        UndecidedError: if checking them all would be more work than is allowed.
    """
    from gdpbridge.certificate.write_several import of_releases

    files, charged = _by_hash(folder), _charged(entries)
    if not charged:
        raise InputError("dataset", dataset, "one from which something was released")
    for entry in charged:
        if entry.partition:
            advice = Advice("there is none of a data set whose parts are charged")
            raise InputError("dataset", dataset, advice)
        if entry.certificate is None:
            advice = Advice(f"entry {entry.number} has none: charge releases with --certificate")
            raise InputError("certificates", Words("missing"), advice)
    return of_releases([_file_of(entry, files, folder) for entry in charged])


def _charged(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that count: spends, and reservations that were not cancelled."""
    found: dict[int, Entry] = {}
    for entry in entries:
        if entry.kind in (Kind.SPEND, Kind.RESERVE):
            found[entry.number] = entry
        elif entry.kind is Kind.CANCEL and entry.refers is not None:
            found.pop(entry.refers, None)
    return list(found.values())


def _by_hash(folder: str | Path) -> dict[str, Path]:
    """Return the files of a folder by their SHA-256; those that no certificate could be are not."""
    from gdpbridge_verify.reader import MAX_BYTES

    place = Path(folder)
    if not place.is_dir():
        raise InputError("certificates", str(folder), "a folder")
    paths = [path for path in sorted(place.iterdir()) if path.is_file()][: _MOST_FILES + 1]
    if len(paths) > _MOST_FILES:
        raise InputError("certificates", str(folder), f"a folder of at most {_MOST_FILES:,} files")
    return {
        hashlib.sha256(read_bounded(path, MAX_BYTES, field="certificates")).hexdigest(): path
        for path in paths
        if path.stat().st_size <= MAX_BYTES
    }


def _file_of(entry: Entry, files: Mapping[str, Path], folder: str | Path) -> Path:
    assert entry.certificate is not None
    if entry.certificate not in files:
        allowed = f"a folder with that of entry {entry.number}, of SHA-256 {entry.certificate}"
        raise InputError("certificates", str(folder), allowed)
    return files[entry.certificate]
