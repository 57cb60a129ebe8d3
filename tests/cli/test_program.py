"""The program as a whole: help, version, faults, interruption, streams, colour and width."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import gdpbridge
import gdpbridge as gdp
from gdpbridge.cli.output import Status, spelt_for
from gdpbridge.cli.progress import Progress
from gdpbridge.errors import MissingExtraError, UndecidedError

LAPLACE = "measure laplace --scale 0.5"


def _raising(error: BaseException) -> Callable[..., Any]:
    def raising(*_: object, **__: object) -> None:
        raise error

    return raising


@pytest.mark.parametrize("text", ["", "--help", "measure --help", "measure --json --help"])
def test_help(run: Callable, text: str) -> None:
    """Help goes to standard output, with an example."""
    done = run(text)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Usage: gdpbridge")
    assert "gdpbridge measure laplace --scale 0.5" in done.out


def test_exit_statuses_are_listed(run: Callable) -> None:
    """The main help lists every exit status."""
    shown = run("--help").out
    assert all(re.search(rf"^ +{status.value}  ", shown, re.MULTILINE) for status in Status)


@pytest.mark.parametrize("command", ["measure", "identify"])
@pytest.mark.parametrize("kind", list(gdpbridge.profiles.kinds()))
def test_help_of_every_kind(run: Callable, command: str, kind: str) -> None:
    """The help of a mechanism describes each of its parameters and shows an example."""
    shown = " ".join(run(f"{command} {kind} --help").out.split())
    for name, field in gdpbridge.profiles.kinds()[kind].parameters().items():
        # a Python function is none of the command line's
        if name == "function":
            continue
        assert f"--{name.replace('_', '-')}" in shown or f" {name.upper()}" in shown
        assert field.description is not None
        assert field.description in shown
    assert f"Example: gdpbridge {command} {kind} " in shown
    assert ("--tol WIDTH" in shown) == (command == "measure")


def test_help_wins_over_what_is_missing(run: Callable) -> None:
    """--help is answered although a parameter is missing."""
    assert run("measure laplace --tol 1 --help").status == 0


def test_version(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """--version prints the name and the version."""
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.3")
    assert run("--version").out == "gdpbridge 1.2.3\n"


def test_fault(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the program exits with 1 and asks to be reported, without a traceback."""
    monkeypatch.setattr("gdpbridge.measure", _raising(ZeroDivisionError("no\nluck")))
    done = run(LAPLACE)
    assert (done.status, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "a fault in gdpbridge (ZeroDivisionError: no luck): please report it" in done.err
    assert "Traceback" not in done.err
    assert run(f"{LAPLACE} --json").error["field"] is None


def test_debug_shows_the_traceback(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """With GDPBRIDGE_DEBUG set a fault shows its traceback."""
    monkeypatch.setattr("gdpbridge.measure", _raising(ZeroDivisionError()))
    monkeypatch.setenv("GDPBRIDGE_DEBUG", "1")
    assert "Traceback" in run(LAPLACE).err


def test_interruption(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption exits with 130 and one line."""
    monkeypatch.setattr("gdpbridge.measure", _raising(KeyboardInterrupt()))
    done = run(LAPLACE)
    assert (done.status, done.out, done.err) == (130, "", "interrupted\n")


def test_undecided_and_missing_extra(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undecided is status 4; a missing extra is status 2 and says what to install."""
    monkeypatch.setattr("gdpbridge.measure", _raising(UndecidedError("cannot tell")))
    assert run(LAPLACE).status == 4
    monkeypatch.setattr("gdpbridge.measure", _raising(MissingExtraError("charts", "A chart")))
    done = run(LAPLACE)
    assert done.status == 2
    assert "pip install 'gdpbridge[charts]'" in done.err


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize(
    "text",
    [
        "measure icea --messages 20 --users 4",
        "measure sgd-family --A 2 --B 1 --sigma 2 --digits 60",
        "measure approx-dp --epsilon 1 --delta 1e-6",
        "identify icea --messages 20 --users 4",
    ],
)
def test_width(run: Callable, monkeypatch: pytest.MonkeyPatch, text: str, width: int) -> None:
    """Text is wrapped to the width; only a number on its own may be longer."""
    wide = run(text).out
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = run(text).out
    for line in narrow.splitlines():
        alone = re.fullmatch(r"(at least |at most  |)[\d.…]+", line[13:])
        assert len(line) <= width or alone, line
    # nothing is cut: the same words in the same order, but for the time
    words = [
        re.sub(r"[\d.]+ m?s\b|\bin\b|at (least|most)|[\[\],]", "", " ".join(shown.split())).split()
        for shown in (wide, narrow)
    ]
    assert words[0] == words[1]
    numbers = [re.findall(r"\d+\.\d{8,}", shown) for shown in (wide, narrow)]
    assert numbers[0] == numbers[1]


def _on_terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colour(
    run: Callable, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    """Colour is for terminals, and not where NO_COLOR is set."""
    assert "\x1b" not in run("identify laplace --scale 1").out
    _on_terminal(monkeypatch, **environment)
    assert ("\x1b[1;32m" in run("identify laplace --scale 1").out) == coloured
    assert "\x1b" not in run("identify laplace --scale 1 --json").out


class _Clock:
    """A clock that moves on by some seconds each time it is read."""

    def __init__(self, step: float = 3.0) -> None:
        self.now = 0.0
        self.step = step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress shows as users see it, by a clock that this file sets."""
    monkeypatch.setattr("gdpbridge.progress._QUIET_SECONDS", 1.0)
    monkeypatch.setattr("gdpbridge.progress.time", _Clock())


@pytest.mark.usefixtures("after_a_second")
def test_progress_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal, progress is a plain line now and then, on standard error."""
    with Progress(silent=False) as progress:
        for share in (0.1, 0.2, 0.3, 0.4):
            progress("covering", share)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["covering: 10%", "covering: 30%"]


@pytest.mark.usefixtures("after_a_second")
def test_progress_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, progress is one moving line that is cut to the width and gone at the end."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "35")
    with Progress(silent=False) as progress:
        progress("covering", 0.25)
        progress("covering cells", 0.5)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\n" not in shown.err
    lines = shown.err.split("\r\x1b[2K")
    assert lines == [
        "",
        f"{'━' * 5}{'─' * 15}  25% covering",
        f"{'━' * 10}{'─' * 10}  50% covering",
        "",
    ]


@pytest.mark.usefixtures("after_a_second")
@pytest.mark.parametrize("place", ["terminal", "notebook", "file"])
def test_progress_of_the_library(
    place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of the library draws one bar where people look on, unless it is told otherwise."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: place == "terminal", raising=False)
    monkeypatch.setattr("gdpbridge.progress._in_notebook", lambda: place == "notebook")
    profile = gdp.profiles.Laplace(scale=0.5)
    # its many measurements draw none of their own
    assert gdp.calibrate("laplace", target_mu=1.8).value > 0
    drawn = capsys.readouterr().err
    assert ("searching" in drawn) == (place != "file")
    assert "covering" not in drawn
    assert ("\x1b" in drawn) == (place == "terminal")
    seen: list[str] = []
    gdp.measure(profile, 1e-3, method="shuffled", progress=lambda word, _: seen.append(word))
    assert seen
    assert capsys.readouterr().err == ""


def test_no_progress_for_a_short_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of less than a second reports nothing."""
    monkeypatch.setattr("gdpbridge.progress._QUIET_SECONDS", 1.0)
    monkeypatch.setattr("gdpbridge.progress.time", _Clock(step=0.3))
    with Progress(silent=False) as progress:
        progress("covering", 0.5)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("after_a_second")
def test_no_progress_in_json(run: Callable) -> None:
    """With --json standard error stays empty however long it takes."""
    words = "measure laplace --scale 0.5 --method shuffled --tol 1e-3"
    assert run(words).err != ""
    assert run(f"{words} --json").err == ""


def _spawn(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "gdpbridge", *words],
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )


def test_exit_status_of_the_process() -> None:
    """The process exits with the status, and keeps its two streams apart."""
    done = _spawn("identify", "icea", "--messages", "20", "--users", "4")
    assert (done.returncode, done.stderr) == (3, b"")
    done = _spawn("measure", "laplace", "--scale", "0", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b'"field": "--scale"' in done.stderr


def test_a_stream_that_knows_only_ascii() -> None:
    """Text and JSON reach a stream of any encoding; JSON stays JSON."""
    done = _spawn("identify", "laplace", "--scale", "1", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert b"mu_t = 0" in done.stdout
    assert b"epsilon >= 2" in done.stdout or b"epsilon >= 1" in done.stdout
    assert b"\\u" not in done.stdout
    done = _spawn("identify", "laplace", "--scale", "1", "--json", PYTHONIOENCODING="ascii")
    assert b"\\u03b4(\\u03b5) = 0" in done.stdout
    done = _spawn("measure", "gdp", "--help", PYTHONIOENCODING="ascii")
    assert done.stdout.isascii()
    assert b"--mu mu " in done.stdout


def test_columns_stay_in_line_where_signs_are_spelt() -> None:
    """What is spelt out takes the room that stands beside it; two spaces are left."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    shown = spelt_for(stream, "Verdict      yes\nμ            1\nδ(ε)         own\n  at ε")
    assert shown == "Verdict      yes\nmu           1\ndelta(epsilon)  own\n  at epsilon"
    assert spelt_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), "μ  1") == "μ  1"


def test_a_reader_that_has_gone_away() -> None:
    """A closed pipe is no fault: nothing is said about it."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "gdpbridge", "identify", "laplace", "--scale", "1"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_disk_that_is_full() -> None:
    """An answer that cannot be written is status 1 and one line."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gdpbridge", "identify", "laplace", "--scale", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"failed: ")
    assert done.stderr.count(b"\n") == 1
