"""Tables, subsampling and composition as words of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PLAIN = "eps,delta\n0.5,1e-3\n1,1e-5\n2,1e-4\n4,1e-9\n"


@pytest.fixture
def table(tmp_path: Path) -> str:
    """The path of a small table."""
    path = tmp_path / "pairs.csv"
    path.write_text(PLAIN, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command line; exit status, standard output and standard error."""
    from gdpbridge.cli import main

    status = main(list(words))
    output = capsys.readouterr()
    return status, output.out, output.err


def test_table(capsys: pytest.CaptureFixture[str], table: str) -> None:
    """A table is measured as a head up to its last row, with the redundant row noted."""
    status, out, _ = run(capsys, "measure", "table", table, "--json")
    found = json.loads(out)
    assert status == 0
    assert found["mechanism"]["file"] == table
    assert (found["statement"], found["eps_h"], found["verdict"]) == ("head", 4, "unknown")
    assert found["mu"]["low"] == pytest.approx(0.82252, abs=1e-5)
    assert "1 row says nothing" in found["notes"][0]
    assert run(capsys, "identify", "table", table)[0] == 4


def test_composition(capsys: pytest.CaptureFixture[str]) -> None:
    """50 × 0.2-DP by --compose."""
    status, out, _ = run(capsys, "measure", "pure-dp", "--epsilon", "0.2", "--compose", "50")
    assert status == 0
    assert "1.42007917" in out
    assert "pure-dp: epsilon ε₀ = 0.2; composed: times k = 50" in out


def test_subsampling(capsys: pytest.CaptureFixture[str]) -> None:
    """A rate, or draws of records, before or after the mechanism; sampling comes first."""
    laplace = ("laplace", "--scale", "0.5")
    status, out, _ = run(capsys, "measure", *laplace, "--subsample", "0.1", "--json")
    assert status == 0
    first = json.loads(out)
    assert first["mu"]["low"] == pytest.approx(0.27731, abs=1e-5)
    assert first["mechanism"]["neighbours"] == "add-remove"
    sizes = ("--subsample", "10/100", "--scheme", "without-replacement", "--json")
    second = json.loads(run(capsys, "measure", *sizes, *laplace)[1])
    assert second["mu"] == first["mu"]
    assert second["mechanism"]["neighbours"] == "replace-one"
    gaussian = ("gaussian", "--sigma", "2", "--compose", "4", "--json")
    assert json.loads(run(capsys, "measure", *gaussian)[1])["mu"] == {"low": 1, "high": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laplace", "--scale", "1", "--subsample", "2"), "--subsample is 2: must be"),
        (("laplace", "--scale", "1", "--subsample", "x"), "--subsample is x: must be"),
        (("laplace", "--scale", "1", "--subsample", "1/0"), "--subsample is 1/0: must be"),
        (("laplace", "--scale", "1", "--scheme", "poisson"), "together with --subsample"),
        (("laplace", "--scale", "1", "--subsample", "0.1", "--scheme", "x"), "--scheme is x"),
        (
            ("icea", "--messages", "20", "--users", "4", "--compose", "2"),
            "mechanism is icea: must be",
        ),
        (("pure-dp", "--epsilon", "1", "--compose", "0"), "--compose is 0: must be"),
        (("pure-dp", "--epsilon", "1", "--compose", "1.5"), "--compose is 1.5: must be"),
        (
            ("laplace", "--scale", "1", "--neighbours", "replace-one", "--subsample", "0.1"),
            "under add-remove only",
        ),
        (("table",), "FILE and --pairs: give one of them"),
        (("renyi", "--orders", "2,x", "--epsilons", "1,2"), "--orders[1] is 2,x: must be a number"),
        (("renyi", "--orders", "2"), "--epsilons is missing: give as many"),
        (("table", "--pairs", "1"), "--pairs is 1: must be a sequence of pairs"),
        (("matrix", "--entries", "1,0;1", "--sigma", "2"), "must be rows of numbers of one length"),
        (("sparse-vector", "--epsilon", "0"), "--epsilon is 0: must be a number > 0"),
        (
            ("sparse-vector", "--epsilon", "1", "--answer-scale", "2"),
            "--answer-scale is 2: must be left out beside",
        ),
        (
            ("thresholded-release", "--noise", "laplace", "--scale", "1", "--delta", ".5"),
            "--delta is .5: must be a number in (0, 0.5)",
        ),
        (("table", "no-such.csv"), "No such file"),
        (("laplace", "--scale", "1", "--method", "breakpoints"), "--method is breakpoints"),
    ],
)
def test_bad_words(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    """One sentence, in the words that were typed, and exit status 2."""
    status, out, err = run(capsys, "measure", *words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


TABLES = {
    "empty": "",
    "names alone": "eps,delta\n",
    "δ above 1": "eps,delta\n1,0.5\n2,1.5\n",
    "δ below 0": "eps,delta\n1,0.5\n2,-0.1\n",
    "ε below 0": "eps,delta\n1,0.5\n-2,0.1\n",
    "nan": "eps,delta\n1,0.5\n2,nan\n",
    "infinite": "eps,delta\n1,0.5\ninf,0.1\n",
    "text": "eps,delta\n1,0.5\n2,low\n",
    "underscore": "eps,delta\n1,0.5\n2_0,0.1\n",
    "empty cell": "eps,delta\n1,0.5\n2,\n",
    "short row": "eps,delta\n1,0.5\n2\n",
    "long row": "eps,delta\n1,0.5\n2,0.1,0\n",
    "ε hardly apart": "eps,delta\n2,0.1\n2.00000000000000000001,0.2\n",
    "decimal comma": "eps;delta\n1;0.5\n2;0,1\n",
    "no ε": "size,delta\n1,0.5\n",
    "two of ε": "eps,epsilon,delta\n1,1,0.5\n",
    "three columns": "1,2,3\n",
    "open quote": 'eps,delta\n1,0.5\n2,"0.1\n',
    "broken JSON": "[[1, 0.5], [2",
    "JSON triple": "[[1, 0.5], [2, 0.1, 0], [3, 0]]",
    "JSON truth": "[[1, 0.5], [2, true]]",
    "huge": "eps,delta\n1,0.5\n2,1e999999999\n",
}
ROWS = {"three columns": "row 1", "JSON triple": "row 2", "JSON truth": "row 2"}
NO_ROW = {"empty", "names alone", "no ε", "two of ε", "broken JSON"}


@pytest.mark.parametrize("name", TABLES)
def test_malformed_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    """Exit status 2 and one sentence that names the row, as the user counts lines."""
    path = tmp_path / "bad.csv"
    path.write_text(TABLES[name], encoding="utf-8")
    status, out, err = run(capsys, "measure", "table", str(path))
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    if name not in NO_ROW:
        assert ROWS.get(name, "row 3") in err
