"""Exports: sealed, whole or not at all, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdpbridge.cli import main
from gdpbridge.errors import InputError
from gdpbridge.ledger import BrokenChainError, Ledger, read_entries, write_entries
from gdpbridge.ledger.entries import Entry


@pytest.fixture
def spent(file_ledger: Ledger) -> Ledger:
    """A ledger with some spends."""
    for number in range(4):
        file_ledger.spend("census", mu="1/10", purpose=f"table {number}")
    return file_ledger


def _exported(book: Ledger, format: str) -> str:
    text = io.StringIO(newline="")
    write_entries(book.history("census"), text, format)
    return text.getvalue()


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_no_end_can_be_cut_off(spent: Ledger, tmp_path: Path, format: str) -> None:
    """Wherever an export is cut, it is refused, and nothing is added."""
    text = _exported(spent, format)
    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    lines = {at + 1 for at, letter in enumerate(text) if letter == "\n"}
    for cut in sorted((lines | set(range(0, len(text), 97)) | {len(text) - 2}) - {len(text)}):
        with pytest.raises((InputError, BrokenChainError)):
            other.load(read_entries(io.StringIO(text[:cut], newline=""), format))
        assert other.datasets() == ()
    # but for the end of its last line
    assert other.load(read_entries(io.StringIO(text[:-1], newline=""), format)).entries == 6


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_seal_is_that_of_its_entries(spent: Ledger, format: str) -> None:
    """Entries that are missing, more, or after the seal are refused; so is a changed seal."""
    *lines, seal = _exported(spent, format).splitlines(keepends=True)
    changes = {
        "one is missing": [*lines[:2], *lines[3:], seal],
        "the last is missing": [*lines[:-1], seal],
        "one after it": [*lines, seal, lines[-1]],
        "two seals": [*lines, seal, seal],
        "another hash": [*lines, seal.replace(seal.strip().strip('"}')[-8:], "00000000")],
        "an unknown line": [*lines, seal.replace("ledger-seal", "ledger-sale")],
        "a later seal": [*lines, seal.replace('"version": 1', '"version": 2').replace("/1", "/2")],
    }
    if format == "jsonl":
        changes["another number"] = [*lines, seal.replace('"count": 6', '"count": 7')]
    for changed in changes.values():
        with pytest.raises(InputError):
            list(read_entries(io.StringIO("".join(changed), newline=""), format))


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_an_interrupted_export_leaves_no_file(
    spent: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Ctrl-C in the middle leaves nothing that could be taken for an export."""
    history = Ledger._history

    def interrupted(*words: object) -> Iterator[Entry]:
        entries = history(*words)  # type: ignore[arg-type]
        yield next(entries)
        yield next(entries)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "_history", interrupted)
    folder = tmp_path / "exports"
    folder.mkdir()
    words = ["ledger", "export", "census", "--ledger", spent.where, "-o", str(folder / name)]
    assert main(words) == 130
    assert list(folder.iterdir()) == []
    monkeypatch.undo()
    assert main(words) == 0
    assert (folder / name).stat().st_mode & 0o077 == 0


def test_the_format_follows_the_name(
    spent: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """x.csv is CSV, unless another format is asked for; import reads it in the same way."""
    ledger = ["--ledger", spent.where]
    for name, extra, is_csv in (
        ("a.csv", [], True),
        ("b.CSV", [], True),
        ("c.jsonl", [], False),
        ("d", [], False),
        ("e.csv", ["--format", "jsonl"], False),
        ("f", ["--format", "csv"], True),
    ):
        path = tmp_path / name
        assert main(["ledger", "export", "census", "-o", str(path), *extra, *ledger]) == 0
        assert path.read_text(encoding="utf-8").startswith("schema,") == is_csv
        other = str(tmp_path / f"{name}.sqlite")
        main(["ledger", "init", "--ledger", other])
        assert main(["ledger", "import", str(path), *extra, "--ledger", other]) == 0
    shown = capsys.readouterr()
    assert "no seal" not in shown.out


def test_empty_is_empty_in_csv(spent: Ledger) -> None:
    """A text that is empty is an empty cell, and is read back as such."""
    rows = list(csv.DictReader(io.StringIO(_exported(spent, "csv"))))
    assert all(row["partition"] == row["part"] == row["certificate"] == "" for row in rows)
    assert rows[0]["purpose"] == ""
    assert [row["schema"] for row in rows] == [*["gdpbridge.ledger-entry/2"] * 6,
                                               "gdpbridge.ledger-seal/1"]  # fmt: skip


@pytest.mark.parametrize("sign", [*"=+-@", *"＝＋－＠", "−", " =", "'", '"'])
def test_no_cell_is_a_formula(spent: Ledger, sign: str) -> None:
    """What a spreadsheet may take for a formula is guarded, full-width signs too."""
    spent.spend("census", mu="1/10", purpose=f"{sign}1+1", actor=f"{sign}a")
    text = _exported(spent, "csv")
    row = list(csv.DictReader(io.StringIO(text)))[-2]
    assert row["purpose"].startswith("'")
    assert row["actor"].startswith("'")
    assert list(read_entries(io.StringIO(text, newline=""), "csv")) == list(spent.history("census"))


@pytest.mark.parametrize(
    "change",
    [
        lambda row: [*row, "x"],
        lambda row: row[:-1],
        lambda row: [],
        lambda row: [f'"{row[0]}', *row[1:]],
        lambda row: ["\x00", *row[1:]],
        lambda row: ["x", *row[1:]],
        lambda row: [row[0], "x", *row[2:]],
        lambda row: [row[0], "1e5", *row[2:]],
    ],
    ids=["more", "fewer", "none", "open", "zero", "schema", "number", "float"],
)
@pytest.mark.parametrize("old", [False, True])
def test_ragged_csv(
    spent: Ledger, tmp_path: Path, data: Path, old: bool, change: Callable, capsys: object
) -> None:
    """A row that is no entry is bad input with its line, never a fault."""
    source = (data / "ledger_0_1_0.csv").read_text(encoding="utf-8")
    text = source if old else _exported(spent, "csv")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    lines = [",".join(change(row)) if at == 2 else _line(row) for at, row in enumerate(rows)]
    path, other = tmp_path / "in.csv", str(tmp_path / "other.sqlite")
    path.write_text("\n".join(lines), encoding="utf-8")
    main(["ledger", "init", "--ledger", other])
    assert main(["ledger", "import", str(path), "--ledger", other]) == 2
    message = capsys.readouterr().err  # type: ignore[attr-defined]
    assert message.startswith("line 2 is not an entry: must be an entry of a ledger")
    assert "fault" not in message
    assert len(message.splitlines()) == 1


def _line(row: list[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()


def test_a_line_without_end(tmp_path: Path) -> None:
    """A file of one endless line is refused before it takes all the memory, in both formats."""
    other = Ledger(tmp_path / "other.sqlite")
    other.init()
    for format in ("jsonl", "csv"):
        with open("/dev/zero", encoding="utf-8") as file, pytest.raises(InputError):
            other.load(read_entries(file, format))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), letter=st.sampled_from('0"{},:\n\\\x00=é9'), cut=st.booleans())
def test_no_change_of_an_export_passes(
    spent: Ledger, tmp_path: Path, at: int, letter: str, cut: bool
) -> None:
    """A letter more, less or another one is bad input or refused, never another history."""
    book = tmp_path / "base.sqlite"
    if not book.exists():
        Ledger(book, heads="none").init()
    before = _exported(spent, "jsonl")
    place = at % len(before)
    text = before[:place] + letter + before[place + cut :]
    entries = list(spent.history("census"))
    copy = tmp_path / "copy.sqlite"
    shutil.copy(book, copy)
    other = Ledger(copy, heads="none")
    try:
        other.load(read_entries(io.StringIO(text)))
    except ValueError:
        assert other.datasets() == ()
    except Exception as error:
        assert type(error).__name__ == "BrokenChainError"  # noqa: PT017
        assert other.datasets() == ()
    else:
        # such as a blank between two fields
        assert list(other.history("census")) == entries
    json.loads(before.splitlines()[0])
