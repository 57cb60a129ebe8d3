"""gdpbridge audit: what is printed, the exit status, and files that are no tables of scores."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scores of 2000 canaries of a Gaussian mechanism with μ = 3."""
    rng = np.random.default_rng(3)
    inside = rng.random(2000) < 0.5
    values = rng.normal(size=2000) + 3 * inside
    rows = "".join(f"{value},{int(one)}\n" for value, one in zip(values, inside, strict=True))
    path = tmp_path_factory.mktemp("audit") / "scores.csv"
    path.write_text(f"score,member\n{rows}")
    return path


def test_a_bound_is_printed_with_its_theorem_and_assumptions(run: Run, scores: Path) -> None:
    """Without a claim the bounds are the answer, and what they rest on is printed."""
    done = run(f"audit {scores}")
    assert done.status == 0
    assert "Mahloujifar" in done.rows["Method"]
    assert "coin" in done.rows["Assumes"]
    assert "μ = 2." in done.rows["In words"]
    assert done.rows["ε"].startswith("at least 5.")


def test_a_contradicted_claim_ends_with_3(run: Run, scores: Path) -> None:
    """A claim that the scores contradict is told with its p-value, and the status is 3."""
    done = run(f"audit {scores} --mu-claimed 1")
    assert done.status == 3
    assert "contradicted, p = " in done.rows["Claim"]
    kept = run(f"audit {scores} --mu-claimed 3")
    assert kept.status == 0
    assert "not contradicted" in kept.rows["Claim"]


def test_the_json_document_has_the_fields_that_scripts_rely_on(run: Run, scores: Path) -> None:
    """mu.low, confidence, method, contradicts and p_value stand in one document."""
    done = run(f"audit {scores} --confidence 0.99 --mu-claimed 1 --json")
    assert done.status == 3
    document = done.document
    assert document["schema"] == {"name": "gdpbridge.audit", "version": 1}
    assert document["confidence"] == 0.99
    assert document["method"] == "f-dp"
    assert document["contradicts"] is True
    assert document["p_value"] < 0.01
    assert 1 < document["mu"]["low"] < 3
    assert done.err == ""


def test_a_mechanism_is_tested_from_a_file_or_by_its_kind(
    run: Run, scores: Path, tmp_path: Path
) -> None:
    """--against takes the words that name a mechanism everywhere."""
    spec = tmp_path / "run.toml"
    spec.write_text('kind = "gaussian"\nsigma = 1.0\n')
    by_file = run(f"audit {scores} --against --spec {spec} --json")
    by_kind = run(f"audit {scores} --against gaussian --sigma 1 --json")
    assert by_file.status == by_kind.status == 3
    assert by_file.document["p_value"] == by_kind.document["p_value"]
    assert "gaussian" in by_file.document["claim"]
    assert by_file.document["epsilon_claimed"] == pytest.approx(4.377, abs=0.001)
    true = run(f"audit {scores} --against gaussian --sigma 0.3333 --json")
    assert (true.status, true.document["contradicts"]) == (0, False)


def test_several_methods_are_named_and_share(run: Run, scores: Path) -> None:
    """--method may be repeated; the answer names all of them."""
    done = run(f"audit {scores} --method f-dp --method guessing --json")
    assert done.document["method"] == "f-dp+guessing"
    assert [one["method"] for one in done.document["findings"]] == ["f-dp", "guessing"]


@pytest.mark.parametrize(
    "text",
    [
        "true_positives,false_positives\n90,3\n",
        "true_positives;false_positives;positives;negatives\n90;3;100;100\n",
        "fpr\ttpr\n0.03\t0.9\n",
    ],
)
def test_counts_and_rates_are_read(run: Run, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of an attack and points of an ROC give the bound of counts, from standard input."""
    given = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr("sys.stdin", given)
    done = run("audit - --positives 100 --negatives 100 --json")
    assert done.document["mu"]["low"] == pytest.approx(2.3009, abs=1e-4)


def test_two_columns_need_no_names(run: Run, scores: Path, tmp_path: Path) -> None:
    """A table without names is one of scores and members; blank lines and CRLF are no matter."""
    bare = tmp_path / "bare.csv"
    rows = scores.read_text().partition("\n")[2]
    bare.write_text(rows.replace("\n", "\r\n") + "\r\n")
    assert (
        run(f"audit {bare} --json").document["mu"] == run(f"audit {scores} --json").document["mu"]
    )


def test_parquet_is_read(run: Run, scores: Path, tmp_path: Path) -> None:
    """The same scores in a Parquet file give the same answer."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    assert pyarrow is not None
    path = tmp_path / "scores.parquet"
    parquet.write_table(csv.read_csv(scores), path)
    assert (
        run(f"audit {path} --json").document["mu"] == run(f"audit {scores} --json").document["mu"]
    )


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("", "", "file is empty: must be a table with columns score and member"),
        ("a,b\n1,2\n", "", "must be a table with columns score and member"),
        ("score,member\n", "", "must be a table"),
        ("score,member\n1,0\n2,x\n", "", "member in row 3 is x: must be a number"),
        ("score,member\n1,0\n2\n", "", "row 3 is without member"),
        ("score,member\n1,0\nnan,1\n", "", "score in row 3 is nan: must be a number, not nan"),
        ("score,member\n1,0\n2,2\n", "", "member in row 3 is 2: must be 0 or 1"),
        ("score,member\n1,0\n2,0\n", "", "must be of canaries that were in"),
        ("score,member\n1,0\n1,1\n", "", "must be different for some canaries"),
        ("1,2,3\n4,5,6\n", "", "must be column names"),
        ("score,member\n1,0\n2,1\n", "--confidence 2", "--confidence is 2: must be a number"),
        ("score,member\n1,0\n2,1\n", "--method best", "--method is best: must be one of f-dp"),
        ("score,member\n1,0\n2,1\n", "--seed x", "--seed is x: must be a whole number"),
        ("score,member\n1,0\n2,1\n", "--delta 1", "--delta is 1: must be a number in [0, 1)"),
        ("score,member\n1,0\n2,1\n", "--against", "--against has no mechanism"),
        ("score,member\n1,0\n2,1\n", "-o x.txt", "must be"),
        ("true_positives,false_positives\n1,0\n", "", "--positives is missing"),
        ("tpr,fpr\n1.2,0\n", "--positives 9 --negatives 9", "tpr in row 1 is 1.2"),
    ],
)
def test_bad_input_ends_with_2_and_one_sentence(
    run: Run, tmp_path: Path, text: str, words: str, sentence: str
) -> None:
    """What cannot be audited is named, with its value and what is allowed; no traceback."""
    path = tmp_path / "given.csv"
    path.write_text(text)
    done = run(f"audit {path} {words}")
    assert done.status == 2
    assert done.out == ""
    assert sentence in done.err.replace("\n", " ")
    assert done.err.count("\n") == 1
    as_json = run(f"audit {path} {words} --json")
    assert as_json.status == 2
    assert json.loads(as_json.err)["error"]["message"]


def test_the_picture_is_drawn(run: Run, scores: Path, tmp_path: Path) -> None:
    """-o draws measured errors, the proved function and the bound, in SVG and in HTML."""
    pytest.importorskip("altair")
    for name in ("audit.svg", "audit.html"):
        target = tmp_path / name
        done = run(f"audit {scores} --against laplace --scale 1 -o {target}")
        assert done.status == 3
        text = target.read_text(encoding="utf-8")
        assert "measured, with its band" in text
        assert "laplace" in text
    counted = tmp_path / "counts.csv"
    counted.write_text("true_positives,false_positives\n90,3\n")
    refused = run(f"audit {counted} --positives 100 --negatives 100 -o {tmp_path / 'x.svg'}")
    assert refused.status == 2
    assert "scores" in refused.err
