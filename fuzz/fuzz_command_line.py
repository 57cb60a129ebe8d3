"""Fuzz the command line with typed random arguments.

``python fuzz/fuzz_command_line.py --minutes 10``

Words come from the program itself: its commands, mechanisms, options and what each option takes.
Whatever they are, the outcome is an answer or one sentence, never "a fault" or a traceback.
What fails is printed as a command line to repeat. ``--seed`` and ``--runs`` make it the same again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gdpbridge.cli import main
from gdpbridge.cli.main import _app

NUMBERS = [
    "0", "1", "-1", "0.5", "1e-5", "2", "10", "1e-300", "1e-400", "1e300", "1e400", "nan", "inf",
    "-inf", "1/3", "1/0", "0x1", "1_0", "١", "½", "", " ", "1e", ".", "1,2", "1,2,x", "--", "-",
    "1" * 400,
    "9" * 5000, "0." + "3" * 5000, "1e99999999999", "5e-324", "0.1", "1e-10", "20", "4",
]  # fmt: skip
TEXTS = [
    "a", "", " ", "census", "region/north", "a\nb", "\x1b[2J", "\u202e", "é", "μ", "=1+1",
    "x" * 3000, "a b", "--json", "-o", "delta = exp(-eps)", "delta = ",
    "log_delta = -eps**2", "sigma = A/eps", "A=2", "A",
    "A=2=3", "((((", "1" + "+1" * 300, "person", "add-remove", "replace-one", "poisson",
    "certified", "laplace --scale 1", "'", "\udcff", "\\", "%s", "{}",
    "epsilon <= 8 at delta = 1e-5",
]  # fmt: skip
FILES = {
    "table.csv": "eps,delta\n0,0.1\n1,0.01\n",
    "bad.csv": 'eps,delta\n0,"0.1\n1,2\n',
    "data.csv": "id,v\n1,a\n2,b\n3,c\n",
    "cr.csv": "id,v\r1,a\r2,b\r",
    "scores.csv": "score,member\n0.1,0\n0.9,1\n0.5,1\n",
    "spec.toml": 'kind = "laplace"\nscale = 0.5\n',
    "bad.toml": "kind = [",
    "cert.json": "{}",
    "deep.json": "[" * 5000,
    "history.json": '{"history": [[1.0, 0.01, 10]]}',
    "pld.csv": "loss,probability\n0.5,0.6\n-0.5,0.4\n",
    "empty": "",
    "zero": "\0\0\0",
}
STATUSES = (0, 2, 3, 4)
SECONDS = 3.0


class Slow(KeyboardInterrupt):
    """A command that takes long is interrupted, as by Ctrl-C."""


def words_of(command: Any, random: random.Random, files: list[str]) -> list[str]:
    """Return random words for a command: some of its options, and what they take."""
    context = command.context_class(command)
    found: list[str] = []
    for param in command.get_params(context):
        if param.param_type_name == "argument":
            found.append(value_of(str(param.metavar), random, files))
        elif param.name != "help" and random.random() < (0.9 if param.required else 0.25):
            found.append(random.choice(param.opts))
            if not param.is_flag:
                found.append(value_of(str(param.metavar), random, files))
    if random.random() < 0.2:
        random.shuffle(found)
    return found


def value_of(metavar: str, random: random.Random, files: list[str]) -> str:
    """Return a value that an option's place holder asks for, as a rule."""
    if random.random() < 0.1:
        return random.choice([*NUMBERS, *TEXTS, *files])
    if any(word in metavar for word in ("FILE", "FOLDER", "RECEIPT")):
        return random.choice([*files, "none", "out.html", "out.svg", "out.csv", "/dev/null", "-"])
    if metavar == "URL":
        return random.choice(
            ["ledger.sqlite", "none.sqlite", "mysql://u:p@h/d", "sqlite://", "table.csv"]
        )
    if any(word in metavar for word in ("TEXT", "NAME", "WORD", "DATASET", "PART", "K", "HASH")):
        return random.choice(TEXTS)
    return random.choice(NUMBERS[:12] if random.random() < 0.7 else NUMBERS)


def command_line(random: random.Random, files: list[str]) -> list[str]:
    """Return a random command line, most words of which are right."""
    command: Any = typer.main.get_command(_app())
    path: list[str] = []
    while hasattr(command, "list_commands"):
        context = command.context_class(command)
        names = command.list_commands(context)
        if not names or random.random() < 0.02:
            break
        name = random.choice(names)
        # the paper takes minutes, whatever it is asked
        if name == "paper":
            continue
        inner = command.get_command(context, name)
        if inner is None:
            break
        # a data set stands before the mechanism
        if path[:1] == ["ledger"] and path[-1] in ("quote", "spend", "reserve"):
            path.append("census")
        path.append(name)
        command = inner
    words = words_of(command, random, files) if not hasattr(command, "list_commands") else []
    if random.random() < 0.3:
        words.append("--json")
    return [*path, *words]


@contextlib.contextmanager
def playground() -> Iterator[list[str]]:
    """Work in a folder with files of each kind, and a ledger."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in FILES.items():
                Path(name).write_bytes(text.encode())
            for line in ("init", "dataset add census --unit person --neighbours add-remove",
                         "budget set census --mu 2 --failure 1e-6"):  # fmt: skip
                outcome(["ledger", *line.split(), "--ledger", "ledger.sqlite"])
            yield list(FILES)
        finally:
            os.chdir(before)


def outcome(words: list[str]) -> tuple[int, str, str]:
    """Run a command line; return its status and what it printed."""

    def slow(_: int, frame: Any) -> None:
        while frame is not None:
            if "importlib" in frame.f_code.co_filename:
                # half of a module would be there for all that follow
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                return
            frame = frame.f_back
        raise Slow

    out, err = io.StringIO(), io.StringIO()
    usual = signal.signal(signal.SIGALRM, slow)
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(b"eps,delta\n0,0.1\n"))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = int(main(words))
    except Slow:
        return 130, "", ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
        sys.stdin = stdin
    return status, out.getvalue(), err.getvalue()


def trouble(words: list[str]) -> str:
    """Return what is wrong with the outcome of a command line; nothing if it is an answer."""
    try:
        status, _, err = outcome(words)
    except BaseException as error:  # nothing may leave the program
        return f"{type(error).__name__} left the program: {error}"
    if status == 130:
        return ""
    if "a fault in gdpbridge" in err or "Traceback" in err:
        return err.strip()[:300]
    # a disk, or a file that is no database
    if status == 1 and err.startswith(("failed: ", "the ledger ", '{"error"')):
        return ""
    if status not in STATUSES:
        return f"status {status}: {err[:200]}"
    if status == 2 and not is_sentence(err):
        return f"not a sentence: {err[:300]}"
    return ""


def is_sentence(text: str) -> bool:
    """Whether an error is one line, or one JSON document about it."""
    if text.startswith("{"):
        return set(json.loads(text)) == {"error"}
    return len(text.splitlines()) == 1


def run(seed: int, runs: int | None, minutes: float | None) -> int:
    """Run command lines for so long; print what is wrong; return how many."""
    source, failures, done, started = random.Random(seed), 0, 0, time.monotonic()
    with playground() as files:
        while (runs is None or done < runs) and (
            minutes is None or time.monotonic() - started < 60 * minutes
        ):
            words, done = command_line(source, files), done + 1
            if found := trouble(words):
                failures += 1
                shown = f"gdpbridge {shlex.join(words)[:600]}\n    {found}"
                print(shown.encode("utf-8", "backslashreplace").decode())
    print(f"{done} command lines, {failures} of them wrong")
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--minutes", type=float)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    sys.exit(1 if run(given.seed, given.runs, given.minutes) else 0)
