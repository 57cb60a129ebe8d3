"""What shells offer after TAB: commands, kinds, options, their values and files."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdpbridge.cli.completing import ASKED, FILES
from gdpbridge.profiles import kinds


@pytest.fixture
def offered(run: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Gives the words offered at the end of a command line; a blank there begins a new word."""
    monkeypatch.setenv(ASKED, "1")

    def offers(text: str) -> list[str]:
        done = run(f"{text} ''" if text.endswith(" ") or not text else text)
        assert (done.status, done.err) == (0, "")
        return [line.partition("\t")[0] for line in done.out.splitlines()]

    return offers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("me", ["measure"]),
        ("measure lap", ["laplace"]),
        ("measure --json lap", ["laplace"]),
        ("measure --tol 1e-3 lap", ["laplace"]),
        ("measure laplace --sc", ["--scale", "--scheme"]),
        ("measure laplace --scale 1 --sc", ["--scheme"]),
        ("measure laplace --method sh", ["shuffled"]),
        ("measure laplace --scheme with-", ["with-replacement"]),
        ("measure laplace --neighbours ", ["add-remove", "replace-one", "zero-out"]),
        ("measure laplace --scale ", []),
        ("measure laplace --certificate ", [FILES]),
        ("measure table ", [FILES]),
        ("measure --spec ", [FILES]),
        ("measure --spec m.toml --dig", ["--digits"]),
        ("convert --mu 1 --del", ["--delta"]),
        ("verify ", [FILES]),
        ("ledger data", ["dataset"]),
        ("ledger spend cen", []),
        ("ledger spend census lap", ["laplace"]),
        ("ledger spend census laplace --pur", ["--purpose"]),
        ("amplify cl", ["clip-rectify"]),
        ("schema ", ["certificate", "mechanism"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("measure no-such-kind --sc", []),
        ("no-such-command ", []),
    ],
)
def test_offers(offered: Callable[[str], list[str]], text: str, expected: list[str]) -> None:
    """Each place offers what may stand there, and an option that was given no more."""
    assert offered(text) == expected


def test_every_command_and_kind(offered: Callable[[str], list[str]]) -> None:
    """Commands come in the order of the help, kinds are all there, and options end each line."""
    commands = offered("")
    assert commands[0] == "measure"
    assert offered("measure ") == list(kinds())
    for command in commands:
        assert "--help" in offered(f"{command} --h")


LINES = [
    ("gdpbridge meas", "measure"),
    ("gdpbridge measure lap", "laplace"),
    ("gdpbridge measure laplace --sca", "--scale"),
    ("gdpbridge measure laplace --method bre", "breakpoints"),
    ("gdpbridge verify some", "some file.json"),
]


@pytest.fixture
def shell(
    command_folder: Path, plain_environment: dict[str, str], tmp_path: Path
) -> Callable[[str], tuple[str, dict[str, str]]]:
    """Gives the path of a shell and its environment, and leaves its script in a file."""
    (tmp_path / "some file.json").touch()

    def prepared(name: str) -> tuple[str, dict[str, str]]:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        path = f"{command_folder}{os.pathsep}{os.environ['PATH']}"
        environment = plain_environment | {"PATH": path, "HOME": str(tmp_path)}
        script = subprocess.run(
            ["gdpbridge", "completion", name], env=environment, capture_output=True, check=True
        )
        (tmp_path / "script").write_bytes(script.stdout)
        return found, environment

    return prepared


def _shown(words: list[str], environment: dict[str, str], folder: Path) -> list[str]:
    done = subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_bash(shell: Callable[[str], tuple[str, dict[str, str]]], tmp_path: Path) -> None:
    """Bash is offered the one word that fits, also a file with a space in its name."""
    path, environment = shell("bash")
    code = "source ./script\n" + "".join(
        f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; "
        '_gdpbridge gdpbridge; printf "%s\\n" "${COMPREPLY[@]}"\n'
        for line, _ in LINES
    )
    shown = _shown([path, "--norc", "-c", code], environment, tmp_path)
    assert shown == [expected for _, expected in LINES]


def test_fish(shell: Callable[[str], tuple[str, dict[str, str]]], tmp_path: Path) -> None:
    """Fish is offered the same, with what it is."""
    path, environment = shell("fish")
    code = "source ./script\n" + "".join(f"complete -C '{line}'\n" for line, _ in LINES)
    shown = _shown([path, "--no-config", "-c", code], environment, tmp_path)
    assert [row.partition("\t")[0].replace("\\", "") for row in shown] == [
        expected for _, expected in LINES
    ]


class _Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        os.close(slave)
        self._shown = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, pattern: str) -> re.Match[str]:
        """Wait for what the shell shows; only a shell that is stuck is given up, after minutes."""
        while not (found := re.search(pattern, self._shown)):
            ready, _, _ = select.select([self._master], [], [], 120)
            assert ready, f"the shell shows no {pattern!r}: {self._shown!r}"
            self._shown += os.read(self._master, 4096).decode(errors="replace")
        self._shown = self._shown[found.end() :]
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def zsh(shell: Callable[[str], tuple[str, dict[str, str]]], tmp_path: Path) -> Iterator[_Terminal]:
    """Zsh with the completion in place."""
    path, environment = shell("zsh")
    terminal = _Terminal([path, "-f", "-i"], environment, tmp_path)
    terminal.type(
        "PS1='> '; unsetopt zle_bracketed_paste; bindkey -e; autoload -Uz compinit; "
        "compinit -u -d ./dump; source ./script; print -r -- rea''dy\n"
    )
    terminal.until("ready")
    yield terminal
    terminal.close()


def test_zsh(zsh: _Terminal) -> None:
    """Zsh puts in the one word that fits."""
    for line, expected in LINES:
        zsh.type(f"{line}\t\x01print -rl -- BE''GIN \x05 EN''D\n")
        shown = zsh.until(r"(?s)BEGIN\r\n(.*?)\r\nEND").group(1).split("\r\n")
        assert shown[-1] == expected
