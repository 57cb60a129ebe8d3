"""What an entry may hold, given those before it: one set of rules for what is written and imported.

A history that passes could have been written by the commands of this version, or of 0.1.0 where its
entries are of the first format. Sums, hashes and numbers are checked where they are followed, in
:mod:`.books`.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from gdpbridge.ledger.amounts import (
    GRID,
    MOST_DENOMINATOR,
    Amount,
    amount_text,
    from_text,
    mu_of,
    root_ceiling,
    square_of,
    within,
)
from gdpbridge.ledger.audits import check_audit
from gdpbridge.ledger.entries import FORMAT, Entry, Kind
from gdpbridge.ledger.words import (
    checked_dataset,
    checked_key,
    checked_name,
    checked_parts,
    checked_text,
    checked_time,
)

if TYPE_CHECKING:
    from gdpbridge.ledger.books import Books

__all__ = ["LONGEST_EXPIRY", "check_entry"]

LONGEST_EXPIRY = timedelta(days=3650)

_HASH, _TOKEN = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
# a μ was rounded to 40 places, and what was charged to the grid
_HAIR = Fraction(1, 10**40)

_CHARGES = {"mechanism", "statement", "mu", "mu_squared", "failure", "certified", "certificate"}
# what entries of a kind may hold beside what all have
_HELD = {
    Kind.CREATE: {"details"},
    Kind.PARTITION: {"partition", "details"},
    Kind.BUDGET: {"mu", "mu_squared", "failure", "purpose"},
    Kind.SPEND: _CHARGES | {"partition", "part", "purpose"},
    Kind.RESERVE: _CHARGES | {"partition", "part", "purpose", "expires"},
    Kind.COMMIT: {"partition", "part", "refers"},
    Kind.CANCEL: {"partition", "part", "refers", "purpose"},
    Kind.AUDIT: {"details"},
}
_EMPTY: dict[str, object] = {
    **dict.fromkeys(("purpose", "partition", "part"), ""),
    **dict.fromkeys(_CHARGES | {"refers", "expires"}),
    "details": {},
}


def check_entry(books: Books, entry: Entry) -> None:
    """Check what an entry holds against the books before it.

    Raises:
        ValueError: if no ledger writes such an entry there, with words that say why.
    """
    _check_format(books, entry)
    for name, empty in _EMPTY.items():
        if name not in _HELD[entry.kind] and getattr(entry, name) != empty:
            raise ValueError(f"a {entry.kind} has no {name}")
    when = checked_time(entry.time)
    checked_text("actor", entry.actor)
    if not _HASH.fullmatch(entry.request):
        raise ValueError("request is no hash")
    if entry.kind in (Kind.COMMIT, Kind.CANCEL):
        _check_end(books, entry)
    else:
        checked_key(entry.key)
    if (entry.kind is Kind.CREATE) != (books.count == 0):
        raise ValueError("a data set is created once, by its first entry")
    match entry.kind:
        case Kind.CREATE:
            if set(entry.details) != {"name", "unit", "neighbours"}:
                raise ValueError("details are not those of a data set")
            checked_dataset(**entry.details)
            if entry.details["name"] != books.dataset:
                raise ValueError("it is another data set")
        case Kind.PARTITION:
            _check_partition(books, entry)
        case Kind.BUDGET:
            _check_budget(books, entry)
        case Kind.SPEND | Kind.RESERVE:
            _check_charge(books, entry)
        case Kind.AUDIT:
            _check_audit(books, entry)
    if entry.expires is not None:
        latest = when + LONGEST_EXPIRY
        # the first format took the time of the entry a moment later
        if not (_is_old(entry) or when < checked_time(entry.expires)) or (
            checked_time(entry.expires) > latest
        ):
            raise ValueError("it expires before it is made, or too late")
    if entry.kind is Kind.RESERVE and entry.expires is None:
        raise ValueError("a reservation says when it is overdue")


def _is_old(entry: Entry) -> bool:
    return entry.format is None


def _check_format(books: Books, entry: Entry) -> None:
    if entry.format not in (None, FORMAT):
        raise ValueError(f"format {entry.format} is not one that this program knows")
    if _is_old(entry):
        if books.count and books.format is not None:
            raise ValueError("an entry of the first format does not follow one of a later format")
        if entry.token is not None or entry.state is not None:
            raise ValueError("the first format has neither token nor state")
    elif not _TOKEN.fullmatch(entry.token or ""):
        raise ValueError("token is not 32 hexadecimal digits")


def _check_end(books: Books, entry: Entry) -> None:
    if entry.refers not in books.open:
        raise ValueError("it ends no open reservation")
    if entry.key != f"{entry.kind}:{entry.refers}":
        raise ValueError("its key is not that of the end of its reservation")
    if entry.account != books.open[entry.refers][0]:
        raise ValueError("its part is not that of its reservation")
    if entry.kind is Kind.CANCEL:
        checked_text("reason", entry.purpose)


def _check_partition(books: Books, entry: Entry) -> None:
    checked_name("partition", entry.partition)
    if books.neighbours != "add-remove":
        raise ValueError("only data sets for add-remove neighbours have partitions")
    if entry.partition in books.partitions():
        raise ValueError("there is such a partition already")
    if set(entry.details) != {"parts"} or type(entry.details["parts"]) is not list:
        raise ValueError("details are not the parts of a partition")
    checked_parts(entry.details["parts"])


def _check_audit(books: Books, entry: Entry) -> None:
    if _is_old(entry):
        raise ValueError("the first format has no audits")
    if set(entry.details) != {"entry", "audit"}:
        raise ValueError("details are not those of an audit")
    about = entry.details["entry"]
    if type(about) is not int or not 1 <= about <= books.count:
        raise ValueError("it is about no entry before it")
    check_audit(entry.details["audit"])


def _check_budget(books: Books, entry: Entry) -> None:
    square, failure = _read(entry.mu_squared), _read(entry.failure)
    square_of("mu_squared", square)
    _check_failure(failure)
    if square.denominator > GRID or _read(entry.mu) != root_ceiling(square, 40):
        raise ValueError("μ is not the root of μ²")
    if _is_old(entry) and entry.purpose.isspace() and entry.purpose.isprintable():
        # which was taken for a reason then
        return
    checked_text("reason", entry.purpose, empty=books.budget is None)


def _check_charge(books: Books, entry: Entry) -> None:
    checked_text("purpose", entry.purpose)
    if books.budget is None:
        raise ValueError("there is no budget yet")
    if entry.account not in books.accounts:
        raise ValueError("there is no such part")
    _check_proof(entry)
    amount = Amount(_read(entry.mu_squared), _read(entry.failure))
    _check_failure(amount.failure)
    if entry.statement != ("approximate" if amount.failure else "whole"):
        raise ValueError("statement does not fit the failure probability")
    mu = mu_of("mu", _read(entry.mu))
    if _is_old(entry):
        _check_old_amount(books, entry, amount, mu)
        return
    square_of("mu_squared", amount.square)
    if mu != root_ceiling(amount.square, 40):
        raise ValueError("μ is not the root of μ²")
    if books.as_charged(amount) != amount or max(_denominators(amount)) > GRID:
        raise ValueError("amounts are not rounded as they are when they are charged")


def _check_old_amount(books: Books, entry: Entry, amount: Amount, mu: Fraction) -> None:
    """Check an amount of the first format, where each account had a grid of its own."""
    there = books.accounts[entry.account]
    if not mu**2 + Fraction(1, GRID) >= amount.square >= (mu - _HAIR) ** 2:
        raise ValueError("μ is not the root of μ²")
    for total, one in ((there.square, amount.square), (there.failure, amount.failure)):
        grid = math.lcm(total.denominator, GRID)
        on_grid = grid % one.denominator == 0
        short = one.denominator <= GRID and within(total, one) == one
        if not (on_grid or short) or grid > GRID * MOST_DENOMINATOR:
            raise ValueError("amounts are not rounded as they are when they are charged")


def _check_proof(entry: Entry) -> None:
    if (entry.mechanism is None) != (entry.certified is None):
        raise ValueError("a mechanism is certified or not, a number neither")
    if entry.mechanism is not None:
        checked_text("mechanism", entry.mechanism.get("kind"))
    if entry.certificate is not None and not (
        entry.certified is True and _HASH.fullmatch(entry.certificate)
    ):
        raise ValueError("certificate is not that of a proved μ")


def _check_failure(value: Fraction) -> None:
    if not 0 <= value < 1 or value.denominator > GRID * MOST_DENOMINATOR:
        raise ValueError("failure is no probability that is kept")


def _denominators(amount: Amount) -> tuple[int, int]:
    return amount.square.denominator, amount.failure.denominator


def _read(text: str | None) -> Fraction:
    if text is None:
        raise ValueError("an amount is missing")
    found = from_text(text)
    if amount_text(found) != text:
        raise ValueError("an amount is not in its shortest form")
    return found
