"""What a ledger answers, as plain data and as text."""

from __future__ import annotations

import html as markup
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gdpbridge.ledger.amounts import Amount
from gdpbridge.ledger.entries import Entry, Kind
from gdpbridge.ledger.refusals import amount_document, amount_words, number_down
from gdpbridge.report.record import Schema
from gdpbridge.report.text import Row, laid_out

if TYPE_CHECKING:
    from gdpbridge.ledger.records import Balance, Quote, Receipt, Status

__all__ = [
    "entries_document",
    "entries_text",
    "entry_document",
    "imported_text",
    "quote_document",
    "quote_text",
    "receipt_document",
    "receipt_text",
    "statuses_document",
    "statuses_text",
]

_DONE = {
    Kind.CREATE: "data set added",
    Kind.PARTITION: "partition added",
    Kind.BUDGET: "budget set",
    Kind.SPEND: "spent",
    Kind.RESERVE: "reserved",
    Kind.COMMIT: "committed",
    Kind.CANCEL: "cancelled",
    Kind.AUDIT: "audit noted",
}


def receipt_document(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as the JSON document has it."""
    return {
        "schema": Schema("gdpbridge.ledger-receipt", 1),
        "dataset": receipt.dataset,
        "repeated": receipt.repeated,
        "receipt": receipt.reference,
        "entry": entry_document(receipt.entry),
        "balance": _balance_document(receipt.balance),
    }


def quote_document(quote: Quote) -> dict[str, Any]:
    """Return a quote as the JSON document has it."""
    after = quote.left_after
    return {
        "schema": Schema("gdpbridge.ledger-quote", 1),
        "dataset": quote.dataset,
        "fits": quote.fits,
        "asked": amount_document(quote.charge.amount),
        "left_before": amount_document(quote.left_before, down=True),
        "left_after": None if after is None else amount_document(after, down=True),
        "largest_mu": number_down(quote.largest_mu),
        "balance": _balance_document(quote.balance),
    }


def statuses_document(
    ledger: str,
    statuses: Iterable[Status],
    *,
    verified: bool = False,
    sealed: bool | None = None,
) -> dict[str, Any]:
    """Return where data sets stand as the JSON document has it.

    Args:
        ledger: the database, for a reader.
        statuses: one for each data set.
        verified: whether every hash and sum was recomputed.
        sealed: of an import: whether the file's end was its seal.
    """
    return {
        "schema": Schema("gdpbridge.ledger-verification" if verified else _STATUS, 1),
        "ledger": ledger,
        **({"valid": True} if verified else {}),
        **({} if sealed is None else {"sealed": sealed}),
        "datasets": [_status_document(status) for status in statuses],
    }


# letters of a line in a notebook
_NOTEBOOK = 100
_STATUS = "gdpbridge.ledger-status"


def entries_document(dataset: str, entries: Iterable[Entry]) -> dict[str, Any]:
    """Return a history as the JSON document has it."""
    return {
        "schema": Schema("gdpbridge.ledger-history", 1),
        "dataset": dataset,
        "entries": [entry_document(entry) for entry in entries],
    }


def entry_document(entry: Entry) -> dict[str, Any]:
    """Return an entry with all that its hash covers; amounts are exact, as text."""
    return entry.document()


def receipt_text(receipt: Receipt, width: int, *, colour: bool = False) -> str:
    """Return a receipt as lines of text."""
    entry = receipt.entry
    title = f"{receipt.dataset}: {_DONE[entry.kind]}, as entry {entry.number}"
    if receipt.repeated:
        title += "; it was recorded before, and nothing was done"
    rows = list(_entry_rows(entry))
    if entry.kind is Kind.RESERVE:
        rows.append(Row("Reservation", f"{entry.number}; commit or cancel it by {entry.expires}"))
    rows += _balance_rows(receipt.balance)
    if entry.kind in (Kind.SPEND, Kind.RESERVE):
        rows.append(Row("Receipt", receipt.reference))
    return laid_out(title, rows, width, colour=colour)


def quote_text(quote: Quote, width: int, *, colour: bool = False) -> str:
    """Return a quote as lines of text."""
    after = quote.left_after
    rows = [
        Row("Fits", "yes" if quote.fits else "no", "1"),
        Row("Asked", amount_words(quote.charge.amount)),
        Row("Left now", _left_words(quote.left_before)),
    ]
    if after is not None:
        rows.append(Row("Left then", _left_words(after)))
    title = f"{quote.dataset}: what would be charged; nothing is recorded"
    return laid_out(title, rows, width, colour=colour)


def statuses_text(
    statuses: Iterable[Status], width: int, *, verified: bool = False, colour: bool = False
) -> str:
    """Return where data sets stand as lines of text; arguments as for the document."""
    texts = [
        laid_out(
            _plain(
                f"{one.dataset.name}: unit {one.dataset.unit}, {one.dataset.neighbours} neighbours"
            ),
            _status_rows(one, verified),
            width,
            colour=colour,
        )
        for one in statuses
    ]
    return "\n".join(texts) or "There is no data set yet: add one with 'dataset add'.\n"


def statuses_html(statuses: Iterable[Status]) -> str:
    """Return where data sets stand as a notebook shows it."""
    return f"<pre>{markup.escape(statuses_text(statuses, _NOTEBOOK))}</pre>"


def imported_text(status: Status, width: int, *, sealed: bool, colour: bool = False) -> str:
    """Return where an imported data set stands as lines of text.

    Args:
        status: the data set.
        width: of a line.
        sealed: whether the file's end was its seal.
        colour: whether there may be colour.
    """
    text = statuses_text([status], width, colour=colour)
    if sealed:
        return text
    return (
        f"{text}\nThe file has no seal, as version 0.1.0 wrote it: whether its end is missing "
        "cannot be told.\n"
    )


def entries_text(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a line for each entry, with its end of line."""
    for entry in entries:
        words = [f"{entry.number:>5}", entry.time[:19] + "Z", f"{entry.kind:<9}"]
        if entry.mu is not None:
            words.append(f"μ = {entry.mu}")
        if entry.failure not in (None, "0"):
            words.append(f"p = {entry.failure}")
        if entry.partition:
            words.append("/".join(filter(None, entry.account)))
        if entry.refers is not None:
            words.append(f"of {entry.refers}")
        if entry.purpose:
            words.append(f"“{entry.purpose}”")
        if entry.kind is Kind.AUDIT:
            words.append(f"of {entry.details['entry']}: {_audit_words(entry)}")
        # what was changed by other means may hold anything
        yield _plain(" ".join([*words, f"by {entry.actor}"])) + "\n"


def _plain(text: str) -> str:
    """Text without what a terminal would take for a command."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def _entry_rows(entry: Entry) -> Iterator[Row]:
    if entry.kind in (Kind.SPEND, Kind.RESERVE):
        yield Row("Charged", amount_words(entry.amount), "1")
        if entry.partition:
            yield Row("To", "/".join(entry.account))
        if entry.certified is not None:
            yield Row("Proof", "its μ is proved" if entry.certified else "none: not certified")
    if entry.kind is Kind.AUDIT:
        yield Row("Of entry", str(entry.details["entry"]))
        yield Row("Found", _plain(_audit_words(entry)))
    if entry.purpose:
        label = "Purpose" if entry.kind in (Kind.SPEND, Kind.RESERVE) else "Reason"
        yield Row(label, _plain(entry.purpose))


def _audit_words(entry: Entry) -> str:
    noted = entry.details["audit"]
    words = f"μ at least {noted['mu_low']:.4g} with confidence {noted['confidence']:g}"
    if noted["claim"] is None:
        return words
    verdict = "contradicted" if noted["contradicts"] else "not contradicted"
    return f"{words}, {noted['claim']} {verdict} (p = {noted['p_value']:.2g})"


def _balance_rows(balance: Balance) -> Iterator[Row]:
    if balance.budget is None:
        yield Row("Budget", "none yet: set one with 'budget set'")
        return
    yield Row("Budget", amount_words(balance.budget))
    yield Row("Spent", amount_words(balance.spent))
    if balance.left is not None:
        yield Row("Left", _left_words(balance.left))


def _left_words(left: Amount) -> str:
    return amount_words(left, down=True)


def _status_rows(status: Status, verified: bool) -> Iterator[Row]:
    yield from _balance_rows(status.balance)
    for account, amount in sorted(status.parts.items()):
        yield Row("Part", _plain(f"{'/'.join(account)}: {amount_words(amount)}"))
    for one in status.reservations:
        when = (
            "overdue, and counts until cancelled" if one.overdue else f"until {one.entry.expires}"
        )
        yield Row(
            "Reserved",
            f"entry {one.entry.number}: {amount_words(one.entry.amount)}, {when}; "
            f"“{_plain(one.entry.purpose)}”",
        )
    yield Row("Entries", f"{status.entries:,}, the last with hash {_plain(status.head)}")
    if verified:
        yield Row(
            "Valid",
            "yes: every hash and every sum was recomputed, and it contains what is noted of it",
        )


def _status_document(status: Status) -> dict[str, Any]:
    return {
        "name": status.dataset.name,
        "unit": status.dataset.unit,
        "neighbours": status.dataset.neighbours,
        **_balance_document(status.balance),
        "parts": [
            {"part": "/".join(account), "spent": amount_document(amount)}
            for account, amount in sorted(status.parts.items())
        ],
        "reservations": [
            {
                "number": one.entry.number,
                "overdue": one.overdue,
                "expires": one.entry.expires,
                "purpose": one.entry.purpose,
                "amount": amount_document(one.entry.amount),
            }
            for one in status.reservations
        ],
        "entries": status.entries,
        "head": status.head,
    }


def _balance_document(balance: Balance) -> dict[str, Any]:
    budget, left, largest = balance.budget, balance.left, balance.largest_mu
    return {
        "budget": None if budget is None else amount_document(budget),
        "spent": amount_document(balance.spent),
        "left": None if left is None else amount_document(left, down=True),
        "largest_mu": None if largest is None else number_down(largest),
    }
