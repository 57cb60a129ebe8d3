"""An edit of the database by other means is detected, and a newer database is refused."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from gdpbridge.errors import InputError
from gdpbridge.ledger import BrokenChainError, Ledger, tables
from gdpbridge.ledger.entries import FORMAT

EDITS = {
    "a smaller amount": "UPDATE ledger_entry SET mu_squared = '0.01' WHERE number = 3",
    "another purpose": "UPDATE ledger_entry SET purpose = 'other' WHERE number = 4",
    "another time": "UPDATE ledger_entry SET time = '2000' WHERE number = 1",
    "another unit": "UPDATE ledger_dataset SET unit = 'household'",
    "no such kind": "UPDATE ledger_entry SET kind = 'gift' WHERE number = 3",
    "not an amount": "UPDATE ledger_entry SET mu_squared = '-1' WHERE number = 3",
    "no JSON": "UPDATE ledger_entry SET details = '{' WHERE number = 3",
    "a missing entry": "DELETE FROM ledger_entry WHERE number = 3",
    "a cut end": "DELETE FROM ledger_entry WHERE number = 5",
    "a smaller total": "UPDATE ledger_account SET mu_squared = '0.01'",
    "a larger budget": "UPDATE ledger_dataset SET budget_mu_squared = '100'",
    "no budget": "UPDATE ledger_dataset SET budget_mu_squared = NULL, budget_failure = NULL",
    "a total that is none": "UPDATE ledger_account SET mu_squared = 'nan'",
    "a lost reservation": "DELETE FROM ledger_reservation",
    "another head": "UPDATE ledger_dataset SET head = 'x'",
    "no entries": "DELETE FROM ledger_entry",
}
# what the running totals and the last entry tell, without reading the history
SEEN_WHEN_SPENDING = [
    "a cut end",
    "a smaller total",
    "a larger budget",
    "no budget",
    "a total that is none",
    "another head",
    "no entries",
]


@pytest.fixture
def spent(file_ledger: Ledger) -> Ledger:
    """A ledger with two spends and an open reservation."""
    file_ledger.spend("census", mu=0.5, purpose="a")
    file_ledger.spend("census", mu=0.5, purpose="b")
    file_ledger.reserve("census", mu=0.1, purpose="c")
    return file_ledger


def _edit(book: Ledger, statement: str) -> None:
    with sqlite3.connect(book.where) as connection:
        for event in ("update", "delete"):
            connection.execute(f"DROP TRIGGER ledger_entry_{event}")
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_found(spent: Ledger, edit: str) -> None:
    """verify finds every edit; a spend finds those of what it reads, and then records nothing."""
    spent.verify("census")
    _edit(spent, EDITS[edit])
    with pytest.raises(BrokenChainError, match="cannot be trusted"):
        spent.verify("census")
    if edit in SEEN_WHEN_SPENDING:
        with pytest.raises(BrokenChainError):
            spent.spend("census", mu=0.01, purpose="d")
        with pytest.raises(BrokenChainError):
            spent.status("census")


def test_the_first_wrong_entry_is_named(spent: Ledger) -> None:
    """The entry that was edited is named, not one that follows it."""
    _edit(spent, EDITS["a smaller amount"])
    with pytest.raises(BrokenChainError, match="entry 3 of census") as caught:
        spent.verify("census")
    assert caught.value.number == 3


def test_a_noted_head_tells_what_was_cut_off(spent: Ledger) -> None:
    """A history that is consistent but shorter than when its head was noted is refused."""
    noted = spent.status("census").head
    spent.verify("census", head=noted)
    spent.spend("census", mu=0.1, purpose="d")
    spent.verify("census", head=noted)
    with pytest.raises(BrokenChainError, match="is not in its history"):
        spent.verify("census", head="0" * 64)


@pytest.mark.parametrize(
    "statement", ["UPDATE ledger_entry SET purpose = 'x'", "DELETE FROM ledger_entry"]
)
def test_entries_are_append_only(ledger: Ledger, statement: str) -> None:
    """The database itself refuses to change or remove an entry."""
    with ledger._store._engine.connect() as connection:
        with pytest.raises(sa.exc.DBAPIError, match="entries of a ledger are never changed"):
            connection.exec_driver_sql(statement)
        connection.rollback()
    ledger.verify("census")


def test_newest_step_is_the_version() -> None:
    """The version that the program asks for is the last step there is."""
    config = Config()
    config.set_main_option("script_location", "gdpbridge.ledger:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == tables.SCHEMA


def test_steps_make_the_tables_that_the_program_uses(url: str) -> None:
    """After all steps the database has the tables, columns and keys of the code."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    book = Ledger(url)
    assert book.init()
    assert not book.init()
    with book._store._engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": tables.VERSION_TABLE}
        )
        assert compare_metadata(context, tables.metadata) == []


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_a_filled_database_is_migrated(
    url: str, version: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an earlier version with entries in it, the steps lose nothing and verify holds."""
    upgrade = command.upgrade
    monkeypatch.setattr(command, "upgrade", lambda config, _: upgrade(config, version))
    book = Ledger(url)
    assert book.init()
    with pytest.raises(
        InputError,
        match=f"at version {version}: must be at version 0003: run 'gdpbridge ledger migrate'",
    ):
        book.status("census")
    with book._store._engine.connect() as connection:
        # as its program had written them
        for table, rows in _rows_of_0_1_0(data).items():
            connection.execute(sa.insert(tables.metadata.tables[table]), rows)
        connection.commit()
    monkeypatch.setattr(command, "upgrade", upgrade)
    assert book.migrate()
    assert not book.migrate()
    before = [json.loads(line) for line in _text(data, "jsonl").splitlines()]
    assert [one.document() for one in book.history("census")] == before
    assert book.verify("census").entries == len(before)
    assert book.spend("census", mu=0.1, purpose="count").entry.format == FORMAT
    assert book.verify("census").entries == len(before) + 1


def _text(data: Path, ending: str) -> str:
    return (data / f"ledger_0_1_0.{ending}").read_text(encoding="utf-8")


def _rows_of_0_1_0(data: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of the database that version 0.1.0 made, by table."""
    with sqlite3.connect(":memory:") as source:
        source.executescript(_text(data, "sql"))
        source.row_factory = sqlite3.Row
        found = {
            f"ledger_{name}": [dict(row) for row in source.execute(f"SELECT * FROM ledger_{name}")]
            for name in ("dataset", "account", "entry", "reservation")
        }
    source.close()
    for row in found["ledger_entry"]:
        row["certified"] = None if row["certified"] is None else bool(row["certified"])
    return found


def test_nothing_to_migrate(url: str) -> None:
    """Where no ledger was made there is none to migrate, and none is made."""
    for _ in range(2):
        with pytest.raises(InputError, match="made first"):
            Ledger(url).migrate()


def test_verify_tells_its_progress(spent: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """verify reads page by page, and reports a rising share of the entries."""
    from gdpbridge.ledger import checking, rows, view

    for module in (checking, rows, view):
        monkeypatch.setattr(module, "PAGE", 2)
    shares: list[float] = []
    spent.verify("census", progress=lambda _, share: shares.append(share))
    assert shares == [2 / 5, 4 / 5]
    assert len(list(spent.history("census"))) == 5


def test_a_newer_database_is_refused(ledger: Ledger) -> None:
    """A database of a later version is left alone, by init too."""
    with ledger._store._engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("UPDATE ledger_version SET version_num = '9999'")
    for act in (
        ledger.init,
        ledger.migrate,
        lambda: ledger.spend("census", mu=0.1, purpose="a"),
        ledger.datasets,
    ):
        with pytest.raises(InputError, match="at version 9999: must be at most version 0003"):
            act()


def test_export_elsewhere(url: str, spent: Ledger, make_ledger: Callable[..., Ledger]) -> None:
    """What is exported and imported elsewhere has the same totals, hashes and reservations."""
    other = Ledger(url)
    if url != spent.where:
        other.init()
    else:
        other = Ledger(f"{url}-2")
        other.init()
    assert other.load(spent.history("census")) == spent.status("census")
    assert list(other.history("census")) == list(spent.history("census"))
    other.verify("census")
    other.commit("census", 5)
    assert other.verify("census").balance.spent == spent.status("census").balance.spent
    with pytest.raises(InputError, match="a new name"):
        other.load(spent.history("census"))


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_files_hold_all_of_it(spent: Ledger, tmp_path: Path, format: str) -> None:
    """Both formats are read back entry by entry, whatever the texts hold."""
    from gdpbridge.ledger import read_entries, write_entries

    for number, purpose in enumerate(("=1+1", "'quoted'", '"', "''", "a,b", "-", "null", "μ ≤ 1")):
        spent.spend("census", mu="1/100", purpose=purpose, actor=purpose, key=f"k{number}")
    spent.set_budget("census", mu="11/7", reason="a third of")
    path = tmp_path / f"census.{format}"
    with path.open("w", encoding="utf-8", newline="") as file:
        count = write_entries(spent.history("census"), file, format)
    with path.open(encoding="utf-8", newline="") as file:
        again = list(read_entries(file, format))
    assert again == list(spent.history("census"))
    assert len(again) == count


@pytest.mark.parametrize(
    "line", ["", "{}", "[]", "{", "null", "1", '{"kind": "gift"}', "[" * 10**5]
)
def test_what_is_no_export(file_ledger: Ledger, tmp_path: Path, line: str) -> None:
    """A file with a line that is no entry is bad input that names the line; nothing is added."""
    from gdpbridge.ledger import read_entries, write_entries

    path = tmp_path / "other.jsonl"
    with path.open("w", encoding="utf-8") as file:
        write_entries(file_ledger.history("census"), file)
    *lines, seal = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, line, seal]), encoding="utf-8")
    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    with path.open(encoding="utf-8") as file, pytest.raises(InputError, match="line 3 is"):
        other.load(read_entries(file))
    assert other.datasets() == ()


def test_an_edited_export_is_refused(spent: Ledger, tmp_path: Path) -> None:
    """An export in which an amount was changed is not imported."""
    from gdpbridge.ledger.entries import entry_from

    documents = [one.document() for one in spent.history("census")]
    documents[2] = json.loads(json.dumps({**documents[2], "mu_squared": "0.01"}))
    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    with pytest.raises(BrokenChainError, match="entry 3"):
        other.load(map(entry_from, documents))
    assert other.datasets() == ()


FORGERIES: list[dict[str, object]] = [
    {"kind": "partition", "details": {"parts": [""]}},
    {"kind": "partition", "partition": "region", "details": {"parts": ["north"]}},
    {"kind": "partition", "partition": "region", "details": {}},
    {"kind": "create"},
    {"kind": "spend", "mu_squared": "2"},
    {"kind": "spend", "mu_squared": "-1"},
    {"kind": "spend", "partition": "region", "part": "east", "mu_squared": "0.1"},
    {"kind": "commit", "refers": 3},
    {"kind": "cancel", "refers": None},
    {"kind": "reserve", "mu_squared": "0.1", "expires": "tomorrow"},
    {"kind": "spend", "mu_squared": 0.1},
    {"kind": "spend", "mu_squared": "0.1", "number": True},
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=range(len(FORGERIES)))
def test_well_chained_forgeries(
    file_ledger: Ledger, tmp_path: Path, forgery: dict[str, object]
) -> None:
    """An entry that no ledger writes is refused although its hash is right, in files and rows."""
    from gdpbridge.ledger.entries import digest, entry_from

    file_ledger.add_partition("census", "region", ["north", "south"])
    file_ledger.spend("census", mu=0.5, part="region/north", purpose="a")
    documents = [one.document() for one in file_ledger.history("census")]
    last = documents[-1]
    forged = {
        **last, "number": 5, "previous": last["hash"], "key": "forged", "partition": "",
        "part": "", "mu_squared": "0", "failure": "0", **forgery,
    }  # fmt: skip
    forged["hash"] = digest({name: one for name, one in forged.items() if name != "hash"})
    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    with pytest.raises((BrokenChainError, ValueError)):
        other.load(map(entry_from, [*documents, forged]))
    assert other.datasets() == ()
    other.load(map(entry_from, documents))


def test_a_file_of_no_data_set(tmp_path: Path, spent: Ledger) -> None:
    """A first entry that does not describe a data set as one is added is refused."""
    from gdpbridge.ledger.entries import digest, entry_from

    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    (first, *_) = (one.document() for one in spent.history("census"))
    good = first["details"]
    changes = ({"name": "a/b"}, {"neighbours": "near"}, {"unit": ""}, {"x": 1})
    for details in ({}, {"name": 1}, *({**good, **change} for change in changes)):
        forged = {**first, "details": details}
        forged["hash"] = digest({name: one for name, one in forged.items() if name != "hash"})
        with pytest.raises((BrokenChainError, InputError)):
            other.load([entry_from(forged)])
    with pytest.raises(InputError, match="from the first one on"):
        other.load([])
