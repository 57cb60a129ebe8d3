"""Bad input: exit status 2, and one sentence with name, value and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gdpbridge.cli import main

LAPLACE = "measure laplace --scale 0.5"

# the words typed, the field, the value, what the sentence must hold
CASES = [
    *(
        (f"measure laplace --scale {value}", "--scale", value, "must be a finite number > 0")
        for value in ("0", "-1", "nan", "inf", "-inf", "abc", "1e400", "1_0x")
    ),
    ("measure laplace --scale=", "--scale", "", "'': must be a finite number > 0"),
    ("measure laplace --scale ''", "--scale", "", "'': must be a finite number > 0"),
    ("measure laplace --scale 'a\x1b[31m\nb'", "--scale", "a\x1b[31m\nb", r"'a\x1b[31m\nb'"),
    ("measure laplace --scale 1e-9", "--sensitivity/--scale", None, "must be at most 100000"),
    ("measure approx-dp --epsilon 1 --delta 1", "--delta", "1", "must be a number in [0, 1)"),
    ("measure approx-dp --epsilon 1 --delta 1e-400", "--delta", "1e-400", "0 or at least 1e-307"),
    ("measure sgd-family --a 0 --B 1 --sigma 2", "--a", "0", "must be a finite number > 0"),
    ("measure sgd-family --A 0 --B 1 --sigma 2", "--A", "0", "must be a finite number > 0"),
    ("measure icea --messages 2.5 --users 4", "--messages", "2.5", "must be a whole number ≥ 1"),
    (f"{LAPLACE} --neighbours far", "--neighbours", "far", "'replace-one' or 'zero-out'"),
    *(
        (f"{LAPLACE} --tol {value}", "--tol", value, "must be a number in [1e-100, 1]")
        for value in ("0", "1e-400", "-1", "2", "nan", "abc", "1e999999999")
    ),
    *(
        (f"{LAPLACE} --eps-h {value}", "--eps-h", value, "must be a number > 0 and at most 100000")
        for value in ("-1", "0", "inf", "1e6")
    ),
    *(
        (f"{LAPLACE} --failure {value}", "--failure", value, "must be a number ≥ 0 and < 1")
        for value in ("1", "-1", "x")
    ),
    ("measure approx-dp --epsilon 1 --delta 0.1 --failure 0", "--failure", "0", "a number > 0"),
    *(
        (f"{LAPLACE} --digits {value}", "--digits", value, "must be a whole number from 1 to 100")
        for value in ("0", "101", "-3", "1.5", "ten", "1" * 50)
    ),
    (f"{LAPLACE} --eps-h 1 --failure 0.1", "--eps-h and --failure", None, "give one of them"),
    (f"{LAPLACE} --method exact", "--method", "exact", "must be one of certified, adaptive"),
    ("measure lapalce --scale 1", "mechanism", "lapalce", "did you mean laplace?"),
    ("identify icae", "mechanism", "icae", "did you mean icea?"),
    ("measure", "mechanism", None, "needs one of approx-dp, "),
    ("measure --tol 1e-3", "mechanism", None, "needs one of approx-dp, "),
    ("mesure laplace", "command", "mesure", "did you mean measure?"),
    ("laplace --scale 1", "command", "laplace", "did you mean measure laplace?"),
    ("help measure", "command", "help", "did you mean --help?"),
    ("measure run.toml", "mechanism", "run.toml", "did you mean --spec run.toml?"),
    ("measure pairs.csv", "mechanism", "pairs.csv", "did you mean table pairs.csv?"),
    ("measure formula 'delta = exp(-eps^2)'", "TEXT", "delta = exp(-eps^2)", "is written **"),
    ("measure DP-SGD --steps 1", "mechanism", "DP-SGD", "did you mean dpsgd?"),
    ("--verson", "--verson", None, "did you mean --version?"),
    ("measure laplace", "--scale", None, "missing"),
    ("measure --digits 5 laplace", "--scale", None, "missing"),
    ("measure laplace --scal 1", "--scal", None, "did you mean --scale?"),
    ("measure laplace --scal=1", "--scal", None, "did you mean --scale?"),
    ("measure --tool 1 laplace --scale 1", "--tool", None, "did you mean --tol?"),
    ("identify laplace --scale 1 --tol 1", "--tol", None, "is not an option of gdpbridge identify"),
    ("measure laplace -s 1", "-s", None, "must be one of --scale"),
    ("measure laplace --scale", "--scale", None, "has no value"),
    ("measure laplace --scale --tol 1", "--scale", None, "has no value"),
    ("measure --tol", "--tol", None, "has no value"),
    (f"{LAPLACE} --scale 1", "--scale", "1", "given twice"),
    ("measure sgd-family --A 1 --a 1 --B 1 --sigma 2", "--a", "1", "given twice"),
    ("measure --tol 1 laplace --scale 1 --tol 1", "--tol", "1", "given twice"),
    ("measure laplace 0.5", "0.5", None, "one word too many"),
    (f"{LAPLACE} gaussian", "gaussian", None, "one word too many for gdpbridge measure laplace"),
]


@pytest.mark.parametrize(("text", "field", "value", "part"), CASES, ids=lambda x: repr(x)[:60])
def test_one_sentence(run: Callable, text: str, field: str, value: str | None, part: str) -> None:
    """The sentence names the option as typed, its value, and what is allowed; stdout is empty."""
    done = run(text)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    assert done.err.startswith(field) or "\n" in field
    assert part in done.err
    assert "Usage" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("text", "field", "value", "part"), CASES, ids=lambda x: repr(x)[:60])
def test_as_json(run: Callable, text: str, field: str, value: str | None, part: str) -> None:
    """With --json among the words the same error is one JSON document on stderr."""
    done = run(f"{text} --json")
    assert (done.status, done.out) == (2, "")
    assert set(done.error) == {"field", "value", "message"}
    if text != "measure":
        assert done.error["field"] == field
        assert value is None or done.error["value"] == value
        assert part in done.error["message"]


def test_a_switch_takes_no_value(run: Callable) -> None:
    """`--json=yes` is refused, as JSON."""
    done = run(f"{LAPLACE} --json=yes")
    assert (done.status, done.error["field"], done.error["value"]) == (2, "--json", "yes")


def test_long_values_are_cut_short(run: Callable) -> None:
    """A value of any length makes a sentence of a readable length."""
    done = run(f"measure laplace --scale {'x' * 10_000}")
    assert done.status == 2
    assert len(done.err) < 200


def test_the_words_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an argument, main takes the words that the process was started with."""
    monkeypatch.setattr("sys.argv", ["gdpbridge", "identify", "--json"])
    assert main() == 2
    assert json.loads(capsys.readouterr().err)["error"]["field"] == "mechanism"
