"""What is done to a database by other means is seen by the next spend, status and verify."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gdpbridge.cli import main
from gdpbridge.errors import InputError
from gdpbridge.ledger import BrokenChainError, Ledger, checking, view
from gdpbridge.ledger.amounts import amount_text, from_text
from gdpbridge.ledger.entries import Entry, digest
from gdpbridge.ledger.rows import entry_of, find

Make = Callable[..., Ledger]


@pytest.fixture
def spent(file_ledger: Ledger) -> Ledger:
    """A ledger with parts, spends and open reservations."""
    file_ledger.set_budget("census", 3, "1e-6", reason="room")
    file_ledger.add_partition("census", "region", ["north", "south"])
    file_ledger.spend("census", mu=0.5, purpose="a")
    file_ledger.spend("census", mu=0.5, part="region/north", purpose="b")
    file_ledger.spend("census", mu=0.1, part="region/south", purpose="c")
    file_ledger.reserve("census", mu=0.3, purpose="d")
    return file_ledger


def _edit(book: Ledger, *statements: str) -> None:
    with sqlite3.connect(book.where) as connection:
        names = [row[0] for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'")]  # fmt: skip
        for name in names:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def _rewrite(book: Ledger, number: int, **changes: object) -> None:
    """Change the last entry with all that follows from it within the database."""
    with book._store._engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM ledger_entry ORDER BY number")
        row = dict(rows.mappings().all()[number - 1])
    entry = entry_of(row)  # type: ignore[arg-type]
    document = {**entry.document(), **changes}
    document.pop("hash")
    found = digest(document)
    given = ", ".join(f"{name} = '{value}'" for name, value in changes.items())
    _edit(
        book,
        f"UPDATE ledger_entry SET {given}, hash = '{found}' WHERE number = {number}",
        f"UPDATE ledger_dataset SET head = '{found}'",
    )


EDITS = {
    "a part below the largest": "UPDATE ledger_account SET mu_squared='0' WHERE part = 'south'",
    "a new part": "INSERT INTO ledger_account VALUES (1, 'region', 'east', '0', '0')",
    "a reservation less": "DELETE FROM ledger_reservation",
    "a reservation more": "INSERT INTO ledger_reservation VALUES (1, 5)",
    "a reservation's amount": "UPDATE ledger_entry SET mu_squared = '1' WHERE number = 8",
    "a failure": "UPDATE ledger_account SET failure = '0.1'",
}


@pytest.mark.parametrize("edit", EDITS)
def test_the_next_spend_sees_what_it_relies_on(spent: Ledger, edit: str) -> None:
    """Accounts, reservations and their amounts are those that the last entry vouches for."""
    _edit(spent, EDITS[edit])
    for act in (
        lambda: spent.spend("census", mu=0.01, purpose="x"),
        lambda: spent.cancel("census", 8, reason="to get back more"),
        lambda: spent.status("census"),
        lambda: spent.quote("census", mu=0.01),
        lambda: spent.verify("census"),
    ):
        with pytest.raises(BrokenChainError, match="cannot be trusted"):
            act()


def test_a_rewritten_last_entry(spent: Ledger) -> None:
    """The last entry, changed with its hash, its sums and the head, is not that which was noted."""
    _rewrite(spent, 8, purpose="something else")
    for act in (spent.status, spent.verify):
        with pytest.raises(BrokenChainError, match="says that its hash was"):
            act("census")
    with pytest.raises(BrokenChainError, match="remove that file"):
        spent.spend("census", mu=0.01, purpose="x")


def test_an_older_copy(url: str, make_ledger: Make, tmp_path: Path) -> None:
    """A database that is put back as it was is refused until what was noted is removed."""
    book = make_ledger(url)
    book.spend("census", mu=0.1, purpose="a")
    older = [entry.document() for entry in book.history("census")]
    book.spend("census", mu=0.5, purpose="b")
    head = book.status("census").head
    noted = Path(book._heads.where("census"))
    assert json.loads(noted.read_text(encoding="utf-8"))["hash"] == head
    # the same, as long as nothing else is said of it
    other = Ledger(f"{url}.older" if "://" not in url else _another(url), heads=noted.parent)
    other.init()
    with pytest.raises(BrokenChainError, match="this history does not have it"):
        other.load(entry_from_all(older))
    other.load(book.history("census"))
    assert other.verify("census").head == head


def _another(url: str) -> str:
    import psycopg

    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}_older"')
    return f"{url}_older"


def entry_from_all(documents: list[dict[str, object]]) -> list[Entry]:
    """Return documents as entries."""
    from gdpbridge.ledger.entries import entry_from

    return [entry_from(one) for one in documents]


def test_a_copied_file(spent: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is copied over the ledger is seen by every command, and said how to accept."""
    where = Path(spent.where)
    copy = tmp_path / "copy.sqlite"
    _whole_file(spent)
    shutil.copy(where, copy)
    receipt = spent.spend("census", mu=0.5, purpose="e")
    shutil.copy(copy, where)
    Path(f"{where}-wal").unlink(missing_ok=True)
    for words in ("status", "verify", "spend census --mu 0.1 --purpose x", "quote census --mu 0.1"):
        assert main(["ledger", *words.split(), "--ledger", str(where)]) == 3
        shown = capsys.readouterr().err
        assert "an older copy was put in its place" in shown
        assert len(shown.splitlines()) == 1
    noted = Path(spent._heads.where("census"))
    noted.unlink()
    spent.verify("census")
    # a receipt is for whoever has it
    with pytest.raises(BrokenChainError, match="is not in its history"):
        spent.verify("census", since=receipt)


def _whole_file(book: Ledger) -> None:
    with sqlite3.connect(book.where) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_a_data_set_that_is_gone(
    spent: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ledger that was made anew in the old one's place does not begin the data set again."""
    where = Path(spent.where)
    for path in tmp_path.glob(f"{where.name}*"):
        if path.is_file():
            path.unlink()
    again = Ledger(where)
    again.init()
    assert again.lost() == ["census"]
    with pytest.raises(BrokenChainError, match="was in this ledger before"):
        again.add_dataset("census", unit="person", neighbours="add-remove")
    again.add_dataset("other", unit="person", neighbours="add-remove")
    assert main(["ledger", "verify", "--ledger", str(where)]) in (2, 3)
    assert "census" in capsys.readouterr().err


def test_others_spends_are_followed(url: str, make_ledger: Make, tmp_path: Path) -> None:
    """What others wrote since the last look is checked entry by entry, and then noted."""
    book = make_ledger(url)
    book.add_partition("census", "region", ["north", "south"])
    mine = book._heads
    other = Ledger(url, heads=tmp_path / "others")
    number = other.reserve("census", mu=0.1, purpose="a").entry.number
    other.spend("census", mu=0.1, part="region/south", purpose="b")
    other.cancel("census", number, reason="it never ran")
    second = other.reserve("census", mu=0.2, purpose="c", part="region/north").entry.number
    other.set_budget("census", mu=2, reason="more")
    other.commit("census", second)
    other.add_partition("census", "age", ["young"])
    assert mine.get("census").number == 3  # type: ignore[union-attr]
    assert book.status("census").entries == 10
    book.spend("census", mu=0.1, purpose="d")
    assert mine.get("census").number == 11  # type: ignore[union-attr]
    book.verify("census")


def test_heads_are_noted_where_they_can_be(file_ledger: Ledger, tmp_path: Path) -> None:
    """A folder that cannot be written is no reason to refuse a spend; nor is a spoilt file."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    book = Ledger(file_ledger.where, heads=blocked)
    book.spend("census", mu=0.1, purpose="a")
    noted = Path(file_ledger._heads.where("census"))
    for content in (b"", b"{", b"\xff", b'{"dataset": "census"}', b"[" * 9000, b"x" * 20_000):
        noted.write_bytes(content)
        file_ledger.spend("census", mu=0.1, purpose="a")
        assert file_ledger._heads.get("census") is not None
    assert Ledger(file_ledger.where, heads="none").status("census").entries == 9


def test_the_first_look_is_at_all_of_it(spent: Ledger, tmp_path: Path) -> None:
    """Where nothing is noted yet, the first spend checks the whole history."""
    _edit(spent, "UPDATE ledger_entry SET purpose = 'x' WHERE number = 4")
    spent.spend("census", mu=0.01, purpose="noted before, and not relied on")
    fresh = Ledger(spent.where, heads=tmp_path / "fresh")
    with pytest.raises(BrokenChainError, match="entry 4 of census"):
        fresh.spend("census", mu=0.01, purpose="x")


def test_receipts(spent: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each spend has a receipt that verify checks later, as text, file or JSON document."""
    receipt = spent.spend("census", mu=0.1, purpose="e")
    ledger = ["--ledger", spent.where]
    words = ["ledger", "spend", "census", "--mu", "0.1", "--purpose", "f", *ledger]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert f"census:10:{spent.status('census').head}" in shown.replace("\n             ", "")
    assert main([*words, "--json"]) == 0
    document = tmp_path / "receipt.json"
    document.write_text(capsys.readouterr().out, encoding="utf-8")
    text = tmp_path / "receipt.txt"
    text.write_text(f"{receipt.reference}\n", encoding="utf-8")
    for since in (receipt, receipt.reference, document, text, str(document)):
        spent.verify("census", since=since)
    for since in (receipt.reference, str(document)):
        assert main(["ledger", "verify", "--since", since, *ledger]) == 0
    other = receipt.reference.replace(":9:", ":8:")
    with pytest.raises(BrokenChainError, match="is not in its history"):
        spent.verify("census", since=other)
    assert main(["ledger", "verify", "--since", other, *ledger]) == 3
    assert main(["ledger", "verify", "--since", "none.json", *ledger]) == 2
    with pytest.raises(InputError, match="since"):
        spent.verify("census", since=str(text.with_name("none")))


REPLACED = {
    "its number": "dataset_id, number, 'x', NULL",
    "its key": "dataset_id, 99, key, NULL",
    "what it refers to": "dataset_id, 99, 'x', refers",
}


@pytest.mark.parametrize("way", ["INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE"])
@pytest.mark.parametrize("by", [*REPLACED, "its row"])
def test_sqlite_replaces_no_entry(spent: Ledger, way: str, by: str) -> None:
    """INSERT OR REPLACE does not get past the triggers, by whatever it would find its place."""
    spent.commit("census", 8)
    before = list(spent.history("census"))
    names = [field for field in before[0].document() if field not in ("format", "token", "state")]
    changed = ", ".join(
        f"'{name}'" if name == "purpose" else "NULL" if name in ("certified", "mechanism") else name
        for name in names
        if name not in ("number", "key", "refers")
    )
    kept = [name for name in names if name not in ("number", "key", "refers")]
    columns = ", ".join(["dataset_id", "number", "key", "refers", *kept])
    values = REPLACED.get(by, "dataset_id, 99, 'x', NULL")
    if by == "its row":
        columns, values = f"rowid, {columns}", f"rowid, {values}"
    with sqlite3.connect(spent.where) as connection:
        try:
            connection.execute(
                f"{way} INTO ledger_entry ({columns}) SELECT {values}, {changed} "
                "FROM ledger_entry WHERE number = 9"
            )
        except sqlite3.IntegrityError:
            refused = True
        else:
            refused = way == "INSERT OR IGNORE"
        assert refused
        with pytest.raises(sqlite3.IntegrityError, match="never removed"):
            connection.execute("DELETE FROM ledger_dataset")
    connection.close()
    assert list(spent.history("census")) == before
    spent.verify("census")


def test_a_data_set_stays(ledger: Ledger) -> None:
    """The database itself refuses to remove a data set."""
    with ledger._store._engine.connect() as connection:
        with pytest.raises(sa.exc.DBAPIError, match="never removed"):
            connection.exec_driver_sql("DELETE FROM ledger_dataset")
        connection.rollback()
    ledger.verify("census")


# --- totals of many denominators -----------------------------------------------------------------


def _primes(count: int) -> list[int]:
    """Primes of 40 digits."""
    import gmpy2

    found, number = list[int](), gmpy2.mpz(10**39)
    while len(found) < count:
        number = gmpy2.next_prime(number)
        found.append(int(number))
    return found


def test_many_partitions_of_prime_denominators(ledger: Ledger) -> None:
    """However many partitions have amounts of odd denominators, the totals can be written."""
    for number, prime in enumerate(_primes(40)):
        ledger.add_partition("census", f"p{number}", ["a"])
        receipt = ledger.spend(
            "census", mu_squared=Fraction(1, prime), part=f"p{number}/a", purpose="a"
        )
        assert receipt.entry.amount.square >= Fraction(1, prime)
    status = ledger.verify("census")
    spent = status.balance.spent.square
    exact = sum(Fraction(1, prime) for prime in _primes(40))
    assert exact <= spent <= exact + Fraction(40, 10**80)
    assert spent.denominator <= 10**240


@pytest.mark.parametrize("digits", [300, 4300, 9000])
def test_long_amounts_are_written_and_read(digits: int) -> None:
    """Amounts of thousands of digits, as an earlier version's totals have, keep their value."""
    for value in (Fraction(10**digits + 1, 3**digits), Fraction(7, 10**290), Fraction(10**digits)):
        if value.denominator.bit_length() < 60_000:
            assert from_text(amount_text(value)) == value
    with pytest.raises(ValueError, match="not an amount"):
        from_text("1" * 30_000)


@pytest.mark.parametrize("what", ["verify", "status", "quote", "spend"])
def test_a_writer_between_a_reader_and_its_heads_is_no_fault(
    url: str, make_ledger: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    """What another one writes after a reader's snapshot, and notes, is not missing from it."""
    make_ledger(url, mu=9).spend("census", mu=1, purpose="first", key="0")
    reader = Ledger(url, heads=tmp_path / "heads")
    writer = Ledger(url, heads=tmp_path / "heads")
    if what != "spend":
        reader.verify("census")
    found = []

    def and_then_another_writes(connection: Any, dataset: str) -> Any:
        row = find(connection, dataset)
        if not found:
            found.append(row)
            # the reader's snapshot is there, this one's heads will be newer
            monkeypatch.undo()
            writer.spend("census", mu=1, purpose="second", key="1")
        return row

    for module in (view, checking):
        monkeypatch.setattr(module, "find", and_then_another_writes)
    work = {
        "verify": lambda: reader.verify("census"),
        "status": lambda: reader.status("census"),
        "quote": lambda: reader.quote("census", mu=1),
        "spend": lambda: reader.spend("census", mu=1, purpose="third", key="2"),
    }
    work[what]()
    assert found
    assert reader.verify("census").balance.spent.square == (3 if what == "spend" else 2)
