"""DP-SGD on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.cli import main

SETTING = "--noise-multiplier 1 --sample-rate 0.01 --steps 10000"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[int, str, str]]:
    """Run a command; its status and what it printed."""

    def run_words(words: str) -> tuple[int, str, str]:
        status = main(words.split())
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run_words


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--noise-multiplier", bad) for bad in ("0", "-1", "nan", "inf", "x")),
        *(("--sample-rate", bad) for bad in ("-0.1", "1.0001", "nan", "x")),
        *(("--steps", bad) for bad in ("-1", "1.5", "nan", "x", "1e9")),
    ],
)
def test_bad_settings(run: Callable[[str], tuple[int, str, str]], option: str, value: str) -> None:
    """Exit 2 and one sentence that names the option, its value and what is allowed."""
    words = SETTING.split()
    words[words.index(option) + 1] = value
    status, out, err = run(f"measure dpsgd {' '.join(words)}")
    assert (status, out) == (2, "")
    assert err.startswith(f"{option} is {value}: must be ")
    assert err.count("\n") == 1


def test_text(run: Callable[[str], tuple[int, str, str]]) -> None:
    """The text has the statement, the table of μ by p, and why a μ needs one."""
    status, out, _ = run(f"measure dpsgd {SETTING}")
    assert status == 0
    for words in ("μ by p", "1e-20", "Whole range  μ = 100", "needs its p or ε_h", "composed:"):
        assert words in out


def test_json(run: Callable[[str], tuple[int, str, str]]) -> None:
    """The document has the fields of every measurement, and the table."""
    _, out, _ = run(f"measure dpsgd {SETTING} --json")
    document = json.loads(out)
    assert document["statement"] == "approximate"
    assert document["failure_probability"] == 1e-10
    assert document["whole_range_mu"] == {"low": 100, "high": 100}
    assert document["certified"] is True
    rows = document["by_failure"]
    assert [row["failure_probability"] for row in rows] == [1e-5, 1e-8, 1e-10, 1e-15, 1e-20]
    assert rows[2]["mu"] == document["mu"]


def test_convert(run: Callable[[str], tuple[int, str, str]]) -> None:
    """ε at a δ and δ at an ε are given as two ends."""
    _, out, _ = run(f"convert dpsgd {SETTING} --delta 1e-5 --json")
    ends = json.loads(out)["epsilon"]
    # cut off, not rounded
    assert 6.1877123 <= ends["low"] <= ends["high"] <= 6.1877124
    _, out, _ = run(f"convert dpsgd {SETTING} --epsilon 5 --json")
    ends = json.loads(out)["delta"]
    assert ends["low"] - 5e-11 <= 2.779296e-4 <= ends["high"] + 5e-11


def test_calibrate(run: Callable[[str], tuple[int, str, str]]) -> None:
    """The noise multiplier found has a μ that is at most the target, and not far below it."""
    words = "calibrate dpsgd --mu 1 --sample-rate 0.1 --steps 100 --eps-h 3 --tol 1e-2 --json"
    _, out, _ = run(words)
    document = json.loads(out)
    assert document["parameter"] == "noise_multiplier"
    assert 0.98 <= document["measurement"]["mu"]["high"] <= 1


@pytest.mark.parametrize(
    ("words", "nature"),
    [
        (SETTING, "own"),
        (f"{SETTING} --neighbours replace-one", "own"),
        # what δ is at ε_h is asked for closer than μ
        ("--noise-multiplier 1 --sample-rate 0.1 --steps 100 --tol 0.01", "own"),
        (
            "--noise-multiplier 2 --sample-rate 0.3 --steps 100 --neighbours replace-one "
            "--sampling fixed-size --tol 0.01",
            "bound",
        ),
    ],
)
def test_certificate(
    run: Callable[[str], tuple[int, str, str]], tmp_path: Path, words: str, nature: str
) -> None:
    """A run has a certificate that is accepted, whatever is replaced or left out, and how drawn."""
    file = tmp_path / "certificate.json"
    assert run(f"measure dpsgd {words} --eps-h 2.2 --certificate {file}")[0] == 0
    status, out, _ = run(f"verify {file}")
    assert (status, "claims hold" in out) == (0, True)
    document = json.loads(file.read_text())
    assert document["claim"]["profile_is"] == nature
    # drawn in another way it would be another mechanism
    other = "poisson" if "sampling" in document["mechanism"] else "fixed-size"
    document["mechanism"] |= {"sampling": other, "neighbours": "replace-one"}
    file.write_text(json.dumps(document))
    assert run(f"verify {file}")[0] != 0


STATE: dict[str, Any] = {"history": [[1.1, 0.01, 500], [1.1, 0.01, 500]], "mechanism": "rdp"}


@pytest.mark.parametrize("data", [STATE, STATE["history"], {"model": 1, "accountant": STATE}])
def test_opacus_file(run: Callable[[str], tuple[int, str, str]], tmp_path: Path, data: Any) -> None:
    """An accountant's state, its history alone, or a checkpoint that holds it."""
    file = tmp_path / "state.json"
    file.write_text(json.dumps(data))
    _, out, _ = run(f"convert opacus {file} --delta 1e-5 --json")
    ends = json.loads(out)["epsilon"]
    assert ends["low"] - 5e-9 <= 1.51536192 <= ends["high"] + 5e-9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "JSON, or a file written by torch.save"),
        ("{}", "history is missing"),
        ("[]", "history: give at least one entry"),
        ("[[1, 0.1]]", "history[0] is '[1, 0.1]'"),
        ("[[1, 7, 10]]", "history[0].sample_rate is 7"),
        ("[[0, 0.1, 10]]", "history[0].noise_multiplier is 0"),
    ],
)
def test_bad_opacus_file(
    run: Callable[[str], tuple[int, str, str]], tmp_path: Path, content: str, message: str
) -> None:
    """Exit 2 and one sentence that names the entry."""
    file = tmp_path / "state.json"
    file.write_text(content)
    status, _, err = run(f"measure opacus {file}")
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_ordinary_run_has_a_default_answer() -> None:
    """Sixty epochs in batches of 256: the table of μ by p comes with the answer, row by row."""
    run = gdp.profiles.DPSGD(noise_multiplier=1.1, sample_rate=0.0042667, steps=14062)
    found = gdp.measure(run)
    assert [p for p, _ in found.by_failure] == [1e-5, 1e-8, 1e-10, 1e-15, 1e-20]
    uppers = [mu.upper for _, mu in found.by_failure]
    assert uppers == sorted(uppers)
    assert found.mu.width <= 1e-4
