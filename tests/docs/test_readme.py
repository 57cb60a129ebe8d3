"""README.md is executed: its commands, its Python, and the make targets it names."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdpbridge.cli import main

Runner = Callable[[str, Path, dict[str, str]], tuple[int, str, str]]

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
# every page of the documentation
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))

FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
SKIP = re.compile(r"<!--\s*not run:\s*\S.*-->")
DURATION = re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)?( ?)(?:µs|ms|s|seconds?)\b")
JSON_DURATION = re.compile(r'("seconds": *)[\d.eE+-]+')
MAKE = re.compile(r"(?:^|[`$;&]) *make((?: +[\w./=-]+)+)", re.MULTILINE)
SHELL_LANGUAGES = {"sh", "bash", "shell", "zsh"}
PYTHON_LANGUAGES = {"python", "pycon", "py"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a Markdown file."""

    language: str
    line: int  # of its first line of text, counted from 1
    text: str
    skipped: bool
    page: str = ""


@dataclass(frozen=True)
class Command:
    """A command of a console block, with what the block shows below it."""

    line: int
    text: str
    shown: str
    status: int


def blocks(markdown: str, page: str = "") -> list[Block]:
    """The fenced blocks of a Markdown text, in order."""
    found = []
    lines = markdown.splitlines()
    previous = ""  # the last line outside blocks that is not blank
    i = 0
    while i < len(lines):
        fence = FENCE.match(lines[i])
        if not fence:
            previous = lines[i].strip() or previous
            i += 1
            continue
        start = i = i + 1
        while i < len(lines) and not lines[i].strip().startswith(fence["ticks"]):
            i += 1
        text = textwrap.dedent("\n".join(lines[start:i]))
        skipped = bool(SKIP.fullmatch(previous))
        found.append(Block(fence["language"], start + 1, text, skipped, page))
        previous = ""
        i += 1
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block; `$ echo $?` becomes the status of the one above it."""
    found: list[Command] = []
    lines = block.text.splitlines()
    i = 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            pytest.fail(f"line {block.line + i}: a console block starts with '$ '")
        start = i
        text = lines[i][2:]
        while text.endswith("\\"):
            i += 1
            text = text[:-1] + lines[i].strip().removeprefix("> ")
        i += 1
        first = i
        while i < len(lines) and not lines[i].startswith("$ "):
            i += 1
        shown = "\n".join(lines[first:i]).strip("\n")
        if text.strip() == "echo $?":
            last = found.pop()
            found.append(Command(last.line, last.text, last.shown, int(shown)))
        else:
            found.append(Command(block.line + start, text, shown, 0))
    return found


def agrees(shown: str, printed: str) -> bool:
    """Whether a text is as shown, where `...` stands for anything and times may differ."""
    want, got = (
        JSON_DURATION.sub(r"\1TIME", DURATION.sub(r"TIME\1", _plain(text)))
        for text in (shown, printed)
    )
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


def make_targets(text: str) -> set[str]:
    """The make targets that a text names, in code or in a command."""
    words = (word for found in MAKE.finditer(text) for word in found[1].split())
    return {word for word in words if "=" not in word and not word.startswith("-")}


def _plain(text: str) -> str:
    """The text without space at line ends and without blank lines around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"


# words that a shell would do more with than split them
SHELL = re.compile(r"[|&;<>$`(){}*?~]|\b[A-Z_]+=")


def _run(command: Command, folder: Path, environment: dict[str, str], here: Runner) -> None:
    alone = command.text.startswith("gdpbridge ") and not SHELL.search(command.text)
    status, out, err = (here if alone else _in_shell)(command.text, folder, environment)
    where = f"line {command.line}: $ {command.text}\n"
    assert status == command.status, f"{where}exit {status}\n{err}"
    as_shown = agrees(command.shown, out) or (status != 0 and agrees(command.shown, out + err))
    if not as_shown:
        pytest.fail(f"{where}--- shown\n{command.shown}\n--- printed\n{out}{err}")


def _in_shell(text: str, folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        text,
        shell=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=1200,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs a command in this process, which spares the start of another."""

    def run(text: str, folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            status = int(main(shlex.split(text)[1:]))
        return status, *capsys.readouterr()

    return run


TEXTS = {
    page: blocks(page.read_text(encoding="utf-8"), page.stem) for page in PAGES if page.exists()
}
BLOCKS = [block for found in TEXTS.values() for block in found]
CONSOLE = [b for b in BLOCKS if b.language == "console" and not b.skipped]


def test_readme_shows_something_that_runs() -> None:
    """There is a README, and it shows at least one command that is run."""
    shown = [c.text for b in CONSOLE for c in commands(b)]
    assert any(text.startswith("gdpbridge ") for text in shown)


@pytest.mark.parametrize("block", CONSOLE, ids=lambda b: f"{b.page}-{b.line}")
def test_commands(
    block: Block,
    tmp_path: Path,
    command_folder: Path,
    plain_environment: dict[str, str],
    here: Runner,
) -> None:
    """Each command of a console block prints what the block shows and exits as it says."""
    path = f"{command_folder}{os.pathsep}{os.environ['PATH']}"
    environment = plain_environment | {"PATH": path}
    if (ROOT / "examples").is_dir():
        (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands(block):
        program, *arguments = command.text.split()
        if program == "cat" and len(arguments) == 1 and not (tmp_path / arguments[0]).exists():
            (tmp_path / arguments[0]).write_text(command.shown + "\n", encoding="utf-8")
        elif program == "make":
            assert not command.shown, "show the output of the commands, not of make"
        elif program in {"gdpbridge", "cat"}:
            _run(command, tmp_path, environment, here)
        else:
            pytest.fail(f"line {command.line}: {program} is not run; say why above it")


@pytest.mark.parametrize(
    "page",
    [page for page, found in TEXTS.items() if any(b.language in PYTHON_LANGUAGES for b in found)],
    ids=lambda page: page.stem,
)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks run one after the other, and print what they show."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    report: list[str] = []
    python = [b for b in TEXTS[page] if b.language in PYTHON_LANGUAGES and not b.skipped]
    for block in python:
        if ">>>" in block.text:
            parsed = doctest.DocTestParser().get_doctest(
                block.text, names, page.name, str(page), block.line - 1
            )
            runner = doctest.DocTestRunner(
                optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
            )
            runner.run(parsed, out=report.append, clear_globs=False)
            names.update(parsed.globs)
        else:
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
    if report:
        pytest.fail("".join(report))


def test_no_block_escapes() -> None:
    """A block of shell commands is a console block, so that it is run, or says why it is not."""
    escaped = [
        b.line
        for b in BLOCKS
        if not b.skipped and b.language not in {"console", *PYTHON_LANGUAGES}
        if b.language in SHELL_LANGUAGES or re.search(r"^(\$|>>>) ", b.text, re.MULTILINE)
    ]
    assert not escaped, f"lines {escaped}: use ```console or ```python"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(name: str) -> None:
    """Every make target that a page names is in the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    existing = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    assert make_targets((ROOT / name).read_text(encoding="utf-8")) <= existing


SAMPLE = """\
Some text, then `make test`.

```console
$ gdpbridge a \\
    b
one
... two

three in 0.5 s
$ gdpbridge c
$ echo $?
3
```

<!-- not run: needs a network -->

```console
$ pip install gdpbridge
```
"""


def test_blocks_and_commands_are_found() -> None:
    """The reader of this file sees commands, outputs, exit statuses and skipped blocks."""
    first, second = blocks(SAMPLE)
    assert (first.language, first.line, first.skipped) == ("console", 4, False)
    assert second.skipped
    assert commands(first) == [
        Command(4, "gdpbridge a b", "one\n... two\n\nthree in 0.5 s", 0),
        Command(10, "gdpbridge c", "", 3),
    ]
    assert make_targets(SAMPLE) == {"test"}
    assert make_targets("`make PYTHON=python3.12 lint`, then make it so") == {"lint"}


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("one\n...\nthree", "one\ntwo\nthree\n", True),
        ("μ in [1, 2]  ", "μ in [1, 2]\n\n", True),
        ("done in 0.5 s", "done in 12.25 s\n", True),
        ('{"seconds": 0.5}', '{"seconds": 1.2e-05}\n', True),
        ("μ = 1.5", "μ = 1.6\n", False),
        ("one", "one\ntwo\n", False),
        ("", "one\n", False),
        ("one\n\n\ntwo", "one\ntwo\n", False),
    ],
)
def test_agreement(shown: str, printed: str, same: bool) -> None:
    """Only `...`, times and space at line ends may differ."""
    assert agrees(shown, printed) is same
