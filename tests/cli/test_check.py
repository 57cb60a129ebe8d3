"""``gdpbridge check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gdpbridge.cli import main

LAPLACE = ["check", "laplace", "--scale", "0.5"]


@pytest.mark.parametrize(
    ("claims", "status"),
    [(["epsilon <= 2", "mu <= 1.9"], 0), (["epsilon <= 2", "epsilon <= 1.9"], 3)],
)
def test_exit_status(claims: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """0 where every claim is true, 3 where one is false."""
    words = [word for claim in claims for word in ("--claim", claim)]
    assert main([*LAPLACE, *words]) == status
    out = capsys.readouterr().out
    assert out.count("Claim") == 2
    assert ("Witness" in out) is (status == 3)


def test_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    """4 where a bound does not tell."""
    words = ["check", "icea", "--messages", "20", "--users", "4"]
    assert main([*words, "--claim", "delta <= 0.05 at epsilon = 10"]) == 4
    assert "undecided" in capsys.readouterr().out


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mechanism in a file, claims in a table, the answer as JSON."""
    spec, claims = tmp_path / "run.toml", tmp_path / "claims.csv"
    spec.write_text('kind = "laplace"\nscale = 0.5\n')
    claims.write_text("epsilon,delta\n2,0\n1,0.1\n")
    assert main(["check", "--spec", str(spec), "--claims", str(claims), "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == {"name": "gdpbridge.check", "version": 1}
    assert [row["holds"] for row in document["claims"]] == [True, False]
    assert document["claims"][1]["witness"]["epsilon"] == 1


@pytest.mark.parametrize("words", [[], ["--claim", "epsilon << 2"], ["--claims", "nowhere.csv"]])
def test_bad_input(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence that names the option."""
    assert main([*LAPLACE, *words]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("--claim")
    assert found.err.count("\n") == 1
