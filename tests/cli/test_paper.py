"""``gdpbridge paper``: the summary, the document, the exit status, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gdpbridge.paper import reproduce as module
from gdpbridge.paper.finding import Status, check
from gdpbridge.paper.reproduce import ALL_CLAIMS, Reproduction
from gdpbridge.paper.tables import TABLE_CLAIMS

BY_NAME = {claim.name: claim for claim in ALL_CLAIMS}
SOME = [*TABLE_CLAIMS, BY_NAME["laplace-mu"], BY_NAME["tail-theorem"]]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    """A run of some statements without figures, in place of the whole one."""
    some = Reproduction(tuple(map(check, SOME)), (), 0.5)
    monkeypatch.setattr(module, "reproduce", lambda **_: some)
    return some


def test_summary(run: Callable, tmp_path: Path, done: Reproduction) -> None:
    """The text says how much agrees, what is flagged, and where the page is."""
    answer = run(f"paper -o {tmp_path}/new/folder/")
    assert (answer.status, answer.err) == (0, "")
    assert answer.rows["Statements"] == f"{len(done.findings)} checked: 27 agree with ours"
    assert "theorem 3.3: as worded, every finite μ ≥ μ_t will do: not so" in answer.rows["Flagged"]
    assert "printed 5.28, ours 5.56405630…" in answer.rows["Flagged"]
    assert answer.rows["Page"].endswith("/new/folder/index.html")
    assert (tmp_path / "new" / "folder" / "index.html").is_file()


def test_document(run: Callable, tmp_path: Path, done: Reproduction) -> None:
    """--json prints the numbers that the folder holds."""
    answer = run(f"paper --output {tmp_path} --json")
    assert answer.status == 0
    assert answer.document["schema"] == {"name": "gdpbridge.paper", "version": 1}
    assert answer.document["counts"]["flagged"] == 3
    assert len(answer.document["findings"]) == len(done.findings)
    assert (tmp_path / "numbers.json").read_text(encoding="utf-8") == answer.out


def test_disagreement(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that does not agree is told first, on the page too, with exit status 1."""
    wrong = replace(BY_NAME["laplace-mu"], printed="1.77")
    some = Reproduction(tuple(map(check, [*TABLE_CLAIMS, wrong])), (), 0.5)
    assert len(some.of_status(Status.DISAGREES)) == 1
    monkeypatch.setattr(module, "reproduce", lambda **_: some)
    answer = run(f"paper -o {tmp_path}")
    assert answer.status == 1
    assert "printed 1.77, ours" in answer.rows["Disagree"]
    assert 'id="disagree"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_folder_that_cannot_be_made(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the folder's place is bad input, told before any work."""
    monkeypatch.setattr(module, "reproduce", lambda **_: pytest.fail("worked"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    answer = run(f"paper -o {tmp_path}/file")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"-o is {tmp_path}/file: must be a folder that can be written to")
    assert len(answer.err.splitlines()) == 1
    error = run(f"paper --output {tmp_path}/file --json").error
    assert (error["field"], error["value"]) == ("--output", f"{tmp_path}/file")


@pytest.mark.parametrize("name", ["''", "'a\0b'"], ids=["empty", "nul"])
def test_what_names_no_folder(run: Callable, name: str) -> None:
    """An empty name and one that no folder can have are bad input."""
    answer = run(f"paper -o {name}")
    assert (answer.status, answer.out) == (2, "")
    assert "must be the name of a folder" in answer.err


def test_folder_is_asked_for(run: Callable) -> None:
    """Without a folder one sentence says what is missing."""
    answer = run("paper")
    assert (answer.status, answer.out) == (2, "")
    assert "is missing: gdpbridge paper needs a folder" in answer.err


@pytest.mark.parametrize("module_name", ["altair", "vl_convert", "jinja2"])
def test_missing_extra(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module_name: str
) -> None:
    """Without the extra the answer is how to install it, and nothing is left behind."""
    monkeypatch.setitem(sys.modules, module_name, None)
    answer = run(f"paper -o {tmp_path}/new")
    assert (answer.status, answer.out) == (2, "")
    assert "pip install 'gdpbridge[charts]'" in answer.err
    assert not (tmp_path / "new").exists()
