"""Formulas, trade-offs, files and schemas on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from gdpbridge.cli import main

MALFORMED = [
    ["formula"],
    ["formula", ""],
    ["formula", "delta"],
    ["formula", "delta = exp("],
    ["formula", "delta = eps"],
    ["formula", "delta = 9**9**9**9"],
    ["formula", "delta = " + "(" * 900 + "1" + ")" * 900],
    ["formula", "delta = __import__('os').system('true')"],
    ["formula", "delta = exp(-A*eps)"],
    ["formula", "delta = exp(-A*eps)", "--set", "A"],
    ["formula", "delta = exp(-A*eps)", "--set", "A=x"],
    ["formula", "delta = exp(-A*eps)", "--set", "A=1", "--set", "A=2"],
    ["formula", "delta = exp(-A*eps)", "--set", "A=1", "--set", "B=2"],
    ["formula", "delta = exp(-eps)", "--set", "eps=1"],
    ["formula", "delta = exp(-eps)", "--tail", "fast"],
    ["formula", "delta = exp(-eps)", "more"],
    ["formula", "delta = log(eps - 5)"],
    ["tradeoff", "sigma = 1/eps", "--set", "sigma=1"],
    ["tradeoff", "sigma = 1/eps/delta"],
    ["tradeoff", "sigma = -log(delta)*eps", "--set", "sigma=1"],
    ["--spec"],
    ["--spec", "no-such-file"],
    ["laplace", "--spec", "x"],
]


@pytest.mark.parametrize("command", ["measure", "identify"])
@pytest.mark.parametrize("words", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed(command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2 and one line on standard error."""
    assert main([command, *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1


def test_tradeoff(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the interface, as JSON."""
    words = ["tradeoff", "sigma = A/eps*sqrt(log(B/delta))", "--set", "A=2", "--set", "B=1"]
    assert main(["measure", *words, "--set", "sigma=2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mu"]["low"] <= 1.85635728853160437 <= found["mu"]["high"]
    assert found["verdict"] == "gdp"


@pytest.mark.parametrize(
    ("text", "status"),
    [("delta = exp(-eps**2)", 0), ("delta = exp(-eps)", 3)],
)
def test_identify(text: str, status: int) -> None:
    """The exit status is the verdict."""
    assert main(["identify", "formula", text]) == status


def test_unknown_tail_is_status_4(capsys: pytest.CaptureFixture[str]) -> None:
    """A trade-off that is only solved numerically says nothing of the tail."""
    words = ["tradeoff", "sigma = 2*sqrt(log(1.25/delta) + eps*delta)/eps", "--set", "sigma=2"]
    assert main(["identify", *words]) == 4
    assert main(["identify", *words, "--tail", "gaussian:3"]) == 0
    capsys.readouterr()


def test_file_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--spec reads a file, or standard input, before or after other options."""
    content = 'kind = "laplace"\nscale = 0.5\nsubsample = {rate = 0.1}\n'
    path = tmp_path / "mechanism.toml"
    path.write_text(content, encoding="utf-8")
    assert main(["measure", "--tol", "1e-6", "--spec", str(path), "--json"]) == 0
    from_file = json.loads(capsys.readouterr().out)
    assert from_file["mu"]["low"] == pytest.approx(0.27731, abs=5e-6)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert main(["measure", "--spec=-", "--tol", "1e-6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mu"] == from_file["mu"]


@pytest.mark.parametrize("document", ["certificate", "mechanism"])
def test_schema(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each schema is one JSON document."""
    assert main(["schema", document]) == 0
    assert "$defs" in json.loads(capsys.readouterr().out)
