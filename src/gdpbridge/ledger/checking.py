"""Whether the books are what the entries say: all of them, or those since a head was noted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from sqlalchemy.engine import Connection, RowMapping

from gdpbridge.errors import InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import Entry
from gdpbridge.ledger.heads import Head, Heads
from gdpbridge.ledger.records import Dataset, Receipt, receipt_parts
from gdpbridge.ledger.refusals import BrokenChainError
from gdpbridge.ledger.requests import Progress
from gdpbridge.ledger.rows import PAGE, entries, find, load, paged

__all__ = ["asked_for", "check_since", "gone", "verified"]

_LONGEST_RECEIPT = 2**20


def verified(
    connection: Connection,
    dataset: str,
    asked: Mapping[str, int | None],
    heads: Heads,
    progress: Progress = lambda _sentence, _share: None,
) -> Head:
    """Recompute every hash and sum of a history; return how far it has come.

    Args:
        connection: within a transaction.
        dataset: the data set.
        asked: hashes that the history must contain, each with its number if that is known.
        heads: what was noted, which it must contain too.
        progress: called with a sentence and a share in [0, 1].

    Raises:
        BrokenChainError: at the first entry or sum that is wrong.
    """
    row = find(connection, dataset)
    wanted, noted = dict(asked), heads.get(dataset)
    books, count = Books(dataset), max(1, int(row["count"]))
    described = asdict(Dataset(row["name"], row["unit"], row["neighbours"]))
    try:
        for entry in paged(connection, row["id"]):
            books.replay(entry)
            if wanted.get(entry.hash, entry.number) in (None, entry.number):
                wanted.pop(entry.hash, None)
            if noted is not None and entry.number == noted.number and entry.hash != noted.hash:
                raise _other(dataset, noted, heads)
            if entry.number == 1 and entry.details != described:
                changed = "the data set's name, unit or relation was changed"
                raise BrokenChainError(dataset, 1, changed)
            if entry.number % PAGE == 0:
                progress(f"checking {count:,} entries", min(1.0, entry.number / count))
    except (ValueError, TypeError, KeyError):
        broken = "it is not in the form of an entry"
        raise BrokenChainError(dataset, books.count + 1, broken) from None
    if not books.count:
        raise BrokenChainError(dataset, None, "there are no entries")
    if noted is not None and noted.number > books.count:
        raise _other(dataset, noted, heads)
    for one in wanted:
        raise BrokenChainError(dataset, None, f"the hash {one} is not in its history")
    kept, _ = load(connection, row)
    if (kept.accounts, kept.open) != (books.accounts, books.open):
        raise BrokenChainError(
            dataset, None, "the running totals or reservations are not the sums of its entries"
        )
    return Head(books.count, books.head)


def check_since(connection: Connection, row: RowMapping, books: Books, heads: Heads) -> None:
    """Check that books follow from the head that was noted last, by the entries since then.

    The last entry vouches for all that a spend relies on; the noted head vouches for an entry, and
    with it for the books at that time. What was written since is taken back from the books, which
    must then be those, and followed again with all that is checked of a history.

    Raises:
        BrokenChainError: if they do not.
    """
    noted = heads.get(row["name"])
    if noted is None or (noted.number, noted.hash) == (books.count, books.head):
        return
    if noted.number >= books.count:
        raise _other(books.dataset, noted, heads)
    try:
        first, *since = entries(connection, row["id"], noted.number - 1, books.count)
    except ValueError:
        broken = "an entry since the last check is not in its form"
        raise BrokenChainError(books.dataset, None, broken) from None
    if (first.number, first.hash) != (noted.number, noted.hash):
        raise _other(books.dataset, noted, heads)
    if first.state is None or first.hash != first.computed_hash():
        # the first format does not vouch for its books
        verified(connection, books.dataset, {}, heads)
        return
    by_number = {entry.number: entry for entry in since}

    def entry_at(number: int) -> Entry:
        if number not in by_number:
            (by_number[number],) = entries(connection, row["id"], number - 1, number)
        return by_number[number]

    then = books.copy()
    then.take_back(reversed(since), entry_at)
    then = replace(then, budget=first.budget, count=first.number, head=first.hash)
    then.vouched_by(first)
    for entry in since:
        then.replay(entry)
    if then != books:
        changed = "what is charged is not the sum of the entries since the last check"
        raise BrokenChainError(books.dataset, None, changed)


def asked_for(
    dataset: str, head: str | None, since: Receipt | str | Path | None
) -> dict[str, int | None]:
    """Return the hashes that a history must contain, with their numbers where they are known.

    Raises:
        InputError: for what is no hash, or no receipt of this data set.
    """
    found: dict[str, int | None] = {}
    if head is not None:
        if not isinstance(head, str):
            raise InputError("head", head, "a hash")
        found[head] = None
    if since is not None:
        of, number, value = _receipt(since)
        if of != dataset:
            raise InputError("since", Words(f"a receipt of {of}"), f"one of {dataset}")
        found[value] = number
    return found


def gone(dataset: str, heads: Heads) -> BrokenChainError:
    """Return the error for a data set that is noted and not there."""
    return BrokenChainError(
        dataset,
        None,
        f"it was in this ledger before, as {heads.where(dataset)} says: the database was replaced "
        "by another one (if that was on purpose, remove that file)",
    )


def _receipt(since: Receipt | str | Path) -> tuple[str, int, str]:
    if isinstance(since, Receipt):
        since = since.reference
    if isinstance(since, str) and (found := receipt_parts(since)):
        return found
    if not isinstance(since, str | Path):
        raise InputError("since", since, "a receipt, its reference, or a file with one")
    text = read_bounded(since, _LONGEST_RECEIPT, field="since").decode("utf-8", "replace").strip()
    if found := receipt_parts(text):
        return found
    try:
        document = json.loads(text)
        found = receipt_parts(document["receipt"])
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if found is None:
        allowed = "DATASET:NUMBER:HASH, or a file with that, or with the JSON of a receipt"
        raise InputError("since", str(since), allowed)
    return found


def _other(dataset: str, noted: Head, heads: Heads) -> BrokenChainError:
    return BrokenChainError(
        dataset,
        noted.number,
        f"{heads.where(dataset)} says that its hash was {noted.hash}, and it is not there: the "
        "history was cut off or changed, or an older copy was put in its place (if that was on "
        "purpose, remove that file)",
    )
