"""gdpbridge ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest


@pytest.fixture
def ledger(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs ledger commands on a new ledger with the data set census, μ = 2 and p = 1e-6."""
    monkeypatch.setenv("GDPBRIDGE_LEDGER", str(tmp_path / "ledger.sqlite"))
    for text in (
        "init",
        "dataset add census --unit person --neighbours add-remove",
        "budget set census --mu 2 --failure 1e-6",
    ):
        done = run(f"ledger {text}")
        assert (done.status, done.err) == (0, "")
    return lambda text: run(f"ledger {text}")


def test_numbers_and_mechanisms(ledger: Callable) -> None:
    """Both forms of spend work, with options before or after, and say what is left."""
    done = ledger("spend census --mu 0.5 --purpose 'table 3' --id K")
    assert done.rows["Spent"] == "μ = 0.5 (μ² = 0.25)"
    assert done.rows["Purpose"] == "table 3"
    assert (
        "it was recorded before" in ledger("spend census --mu 1/2 --purpose 'table 3' --id K").out
    )
    for text in (
        "spend census laplace --scale 5 --purpose a",
        "spend --purpose b census laplace --scale 5",
        "spend census --purpose c laplace --scale 5 --neighbours add-remove",
        "spend --mu 0.01 census --purpose d",
        "spend census --mu-squared 1/7 --purpose e",
        "spend census --mu 0.01 --purpose table",
        "spend census --purpose laplace --mu 0.01",
        "spend census gaussian --sigma 5 --compose 3 --purpose f",
    ):
        done = ledger(text)
        assert (done.status, done.err) == (0, ""), text
    assert ledger("verify").rows["Valid"].startswith("yes")
    assert ledger("status").rows["Entries"].startswith("11, the last with hash ")


def test_concentrated_privacy(ledger: Callable) -> None:
    """ρ-zCDP is charged the μ of the class, rounded up: half of what one conversion of ρ says."""
    done = ledger("spend census zcdp --rho 0.5 --purpose a --json")
    assert Fraction("1.283912540113") <= Fraction(done.document["entry"]["mu"])
    assert Fraction(done.document["entry"]["mu"]) < Fraction("1.283912541")
    assert ledger("spend census zcdp --rho 0.05 --compose 3 --purpose b").status == 0


def test_a_specification(ledger: Callable, tmp_path: Path) -> None:
    """A file may describe the mechanism."""
    path = tmp_path / "mechanism.toml"
    path.write_text('kind = "laplace"\nscale = 5\n', encoding="utf-8")
    done = ledger(f"spend census --spec {path} --purpose a --json")
    assert done.status == 0
    assert done.document["entry"]["mechanism"]["scale"] == 5


def test_refused(ledger: Callable) -> None:
    """What does not fit is refused with status 3 and all figures; nothing is recorded."""
    done = ledger("spend census --mu 2.1 --purpose a")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("refused: μ does not fit the budget of census: asked μ = 2.1 ")
    assert "the largest μ that fits is 2\n" in done.err
    done = ledger("spend census --mu 1 --failure 2e-6 --purpose a --json")
    assert done.status == 3
    assert done.error["asked"]["failure"] == 2e-6
    assert done.error["left"]["exact"] == {"mu_squared": "4", "failure": "0.000001"}
    assert done.error["largest_mu"] == 2
    done = ledger("quote census --mu 2.1")
    assert (done.status, done.rows["Fits"]) == (3, "no")
    assert ledger("budget set census --mu 0.1 --reason less").status == 0
    assert ledger("status --json").document["datasets"][0]["entries"] == 3


def test_quote(ledger: Callable) -> None:
    """A quote says what would be left, and records nothing."""
    done = ledger("quote census laplace --scale 1 --json")
    assert done.status == 0
    assert set(done.document) == {
        "schema",
        "dataset",
        "fits",
        "asked",
        "left_before",
        "left_after",
        "largest_mu",
        "balance",
    }
    assert done.document["fits"] is True
    assert done.document["left_after"]["mu_squared"] < 4 - 1.03**2
    assert done.document["balance"]["spent"]["mu"] == 0


def test_reservations(ledger: Callable) -> None:
    """A reservation is committed or cancelled by its number."""
    done = ledger("reserve census --mu 1 --purpose job --expires 2 --json")
    number = done.document["entry"]["number"]
    assert "Reserved" in ledger("status").rows
    assert ledger(f"commit census {number}").status == 0
    done = ledger("reserve census laplace --scale 1 --purpose job --json")
    number = done.document["entry"]["number"]
    done = ledger(f"cancel census {number} --reason 'it never ran' --json")
    assert done.document["balance"]["spent"]["mu"] == 1
    assert "Reserved" not in ledger("status").rows
    done = ledger(f"commit census {number}")
    assert done.status == 2
    assert done.err == f"NUMBER is {number}: must be the number of an open reservation of census\n"


def test_partitions(ledger: Callable) -> None:
    """Parts are named when a partition is added, and charged as PARTITION/PART."""
    assert ledger("partition add census region --part north --part south").status == 0
    for part in ("north", "south"):
        assert ledger(f"spend census --mu 2 --part region/{part} --purpose a").status == 0
    document = ledger("status census --json").document["datasets"][0]
    assert document["spent"]["mu"] == 2
    assert [one["part"] for one in document["parts"]] == ["region/north", "region/south"]


def test_history_export_import(ledger: Callable, tmp_path: Path) -> None:
    """A history is listed, written to a file, and read into another ledger."""
    ledger("spend census --mu 0.5 --purpose 'table 3' --failure 1e-9")
    assert "μ = 0.5 p = 0.000000001 “table 3” by " in ledger("history").out
    assert len(ledger("history --last 1").out.splitlines()) == 1
    assert [one["number"] for one in ledger("history --json").document["entries"]] == [1, 2, 3]
    shown = ledger("export census")
    *entries, seal = map(json.loads, shown.out.splitlines())
    assert [one["number"] for one in entries] == [1, 2, 3]
    assert seal["count"] == 3
    assert seal["head"] == entries[-1]["hash"]
    path, other = tmp_path / "census.jsonl", tmp_path / "other.sqlite"
    assert ledger(f"export census --output {path}").status == 0
    assert ledger(f"export census --output {path}").status == 2
    assert path.read_text(encoding="utf-8") == shown.out
    assert ledger(f"init --ledger {other}").status == 0
    assert ledger(f"import {path} --ledger {other}").status == 0
    assert ledger(f"import {path} --ledger {other}").status == 2
    here, there = (ledger(f"status --json{x}").document for x in ("", f" --ledger {other}"))
    assert here["datasets"] == there["datasets"]
    head = here["datasets"][0]["head"]
    assert ledger(f"verify census --head {head} --ledger {other}").status == 0
    assert ledger(f"verify census --head {'0' * 64} --ledger {other}").status == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spend", "DATASET is missing: gdpbridge ledger spend needs it"),
        ("spend census lapace --purpose a", "mechanism is lapace: must be one of "),
        ("spend census --purpose a", "--mu is missing: give it, or --mu-squared"),
        ("spend nope --mu 1 --purpose a", "DATASET is nope: must be one of census"),
        ("spend census --mu 0 --purpose a", "--mu is 0: must be a number from 1e-30 to 1e6"),
        ("spend census --mu nan --purpose a", "--mu is nan: must be "),
        ("spend census --mu inf --purpose a", "--mu is inf: must be "),
        ("spend census --mu 5e-324 --purpose a", "--mu is 5e-324: must be "),
        ("spend census --mu=-1 --purpose a", "--mu is -1: must be "),
        ("spend census --mu 1 --failure 1 --purpose a", "--failure is 1: must be 0, or a number"),
        ("spend census --mu 1 --purpose ''", "--purpose is ''"),
        ("spend census laplace --scale 1 --purpose a --neighbours replace-one", "--neighbours is "),
        ("spend census --mu 1 --purpose a --certificate none.json", "--certificate is none.json"),
        ("spend census --mu 1 --purpose a --ledger mysql://h/d", "--ledger is mysql://h/d: must "),
        ("status --ledger none.sqlite", "--ledger is none.sqlite: must be made first, by "),
        ("dataset add x --unit u --neighbours near", "--neighbours is near: must be "),
        ("dataset add 'a b' --unit u --neighbours add-remove", "DATASET is 'a b': must be "),
        ("budget set census --mu 1", "--reason: give one"),
        ("cancel census x --reason y", "NUMBER is x: must be a whole number > 0"),
        ("reserve census --mu 1 --purpose a --expires 0", "--expires is 0: must be a number > 0"),
        ("history --last 0", "--last is 0: must be a whole number > 0"),
        ("export census --format xml", "--format is xml: must be jsonl or csv"),
        ("import none.jsonl", "FILE is none.jsonl: must be a readable file"),
        ("partition add census region", "--part is missing: give it once for each part"),
    ],
)
def test_bad_input(ledger: Callable, text: str, message: str) -> None:
    """Bad input is one sentence that names the word, its value and what is allowed; status 2."""
    done = ledger(text)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(message)
    assert len(done.err.splitlines()) == 1
    done = ledger(f"{text} --json")
    assert set(done.error) == {"field", "value", "message"}


def test_broken_chain(ledger: Callable, tmp_path: Path) -> None:
    """An edited database is refused with status 3, as text and as JSON."""
    import sqlite3

    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE ledger_dataset SET budget_mu_squared = '100'")
    connection.close()
    for text in ("verify", "spend census --mu 1 --purpose a", "status"):
        done = ledger(text)
        assert (done.status, done.out) == (3, "")
        assert "refused: the books of census cannot be trusted" in done.err
    assert ledger("verify --json").error["dataset"] == "census"


def test_a_ledger_that_cannot_be_made(run: Callable, tmp_path: Path) -> None:
    """A folder that cannot be made is told in one sentence, with status 1."""
    (tmp_path / "file").touch()
    done = run(f"ledger init --ledger {tmp_path}/file/ledger.sqlite")
    assert (done.status, done.out) == (1, "")
    assert "cannot be made" in done.err
    assert len(done.err.splitlines()) == 1


def test_init_again_and_migrate(ledger: Callable) -> None:
    """Making a ledger again changes nothing, and a database of this version needs no step."""
    for text in ("init", "migrate"):
        assert ledger(text).out.startswith("nothing to do: ")
        assert ledger(f"{text} --json").document["changed"] is False
    assert ledger("status").rows["Entries"].startswith("2,")


def test_no_data_set_yet(run: Callable, tmp_path: Path) -> None:
    """An empty ledger says what to do next."""
    url = f"--ledger {tmp_path / 'x.sqlite'}"
    run(f"ledger init {url}")
    assert "add one with 'dataset add'" in run(f"ledger status {url}").out
    assert run(f"ledger status --json {url}").document["datasets"] == []
    assert run(f"ledger history {url}").status == 2


@pytest.mark.parametrize(
    "text",
    [
        "--help",
        "spend --help",
        "spend census --help",
        "spend census laplace --help",
        "dataset add --help",
        "verify --help",
    ],
)
def test_help(run: Callable, text: str) -> None:
    """Every command explains itself, with an example or a list of mechanisms."""
    done = run(f"ledger {text}")
    assert (done.status, done.err) == (0, "")
    assert "Usage: gdpbridge ledger" in done.out


def test_an_audit_is_noted_beside_its_release(
    ledger: Callable, run: Callable, tmp_path: Path
) -> None:
    """What gdpbridge audit --json prints is kept under the release's number, and shown."""
    counts, noted = tmp_path / "counts.csv", tmp_path / "audit.json"
    counts.write_text("true_positives,false_positives\n90,3\n", encoding="utf-8")
    ledger("spend census --mu 0.5 --purpose 'table 3'")
    found = run(f"audit {counts} --positives 100 --negatives 100 --mu-claimed 1 --json")
    noted.write_text(found.out, encoding="utf-8")
    done = ledger(f"audit census 3 {noted}")
    assert done.status == 0
    assert "audit noted" in done.out
    assert "μ = 1 contradicted" in done.rows["Found"]
    assert "of 3: μ at least 2.301" in ledger("history census").out
    assert ledger("verify").status == 0
    assert ledger(f"audit census 1 {noted}").status == 2
    noted.write_text("{}", encoding="utf-8")
    refused = ledger(f"audit census 3 {noted}")
    assert (refused.status, refused.out) == (2, "")


def test_certificates(run: Callable, ledger: Callable, tmp_path: Path) -> None:
    """verify --certificates, and certificate -o, whose file verify accepts."""
    folder = tmp_path / "proofs"
    folder.mkdir()
    assert run(f"measure laplace --scale 4 --certificate {folder / 'a.json'}").status == 0
    charged = ledger(f"spend census --certificate {folder / 'a.json'} --purpose mean")
    assert (charged.status, charged.err) == (0, "")
    assert ledger(f"verify --certificates {folder}").status == 0
    done = ledger(f"certificate census -o {folder / 'all.json'} --json")
    assert (done.status, done.err) == (0, "")
    assert done.document["valid"] is True
    assert run(f"verify {folder / 'all.json'}").status == 0
    text = (folder / "a.json").read_text(encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(json.loads(text)), encoding="utf-8")
    assert run(f"verify {folder / 'all.json'}").status == 3
    done = ledger(f"verify --certificates {folder}")
    assert done.status == 2
    assert "--certificates" in done.err
