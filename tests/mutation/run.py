"""Turn each rounding, margin and proof in what proves, one by one, and see that a test notices.

``make mutants`` runs it, outside the ordinary suite. A change that no test notices must be
explained in ``survivors.txt``; one that is not, or more than a twentieth of all, fails the run.

    python tests/mutation/run.py                       all
    python tests/mutation/run.py --only curves/points  some
    python tests/mutation/run.py --list                what would be changed
    python tests/mutation/run.py --wide goals.py       any slip in a file, not only of rounding

The package and the tests are loaded once. For each change a child process puts it into the loaded
function and runs the quick tests that go through the changed line, until one fails. A first run
notes which lines those are; it is kept in ``build/``, and ``--anew`` does it again.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import gc
import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
KNOWN = ROOT / "build" / "mutants.json"
SOURCES = ROOT / "src"

# what proves, or carries what is proved to where it is shown or charged
SCOPE = [
    "numeric/*.py",
    "gaussian/*.py",
    "curves/*.py",
    "curves/tails/*.py",
    "guarantees/*.py",
    "measure/*.py",
    "measure/methods/*.py",
    "mechanisms/*.py",
    "transformations/*.py",
    "certificate/*.py",
    "gdpbridge_verify/*.py",
    "ledger/amounts.py",
    "ledger/charges.py",
    "interval.py",
    "losses/*.py",
    "losses/transforms/*.py",
]
# the tests that a change is put before
POOL = [
    "amplify/test_clip_rectify_profile.py",
    "certificate/test_*.py",
    "expressions/test_*.py",
    "ledger/test_amounts.py",
    "ledger/test_charges.py",
    "losses/test_*.py",
    "property/test_*.py",
    "unit/test_*.py",
]
# a test that takes longer is not quick
_QUICK = 3.0
# together, for one change
_BUDGET = 30.0
_MOST_SURVIVORS = 0.05


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--only", nargs="*", default=[""], help="changes whose names have one of these"
    )
    parser.add_argument("--tests", nargs="*", default=POOL, help="the tests to put it before")
    parser.add_argument("--again", type=Path, help="only what survived, by an earlier output")
    parser.add_argument("--list", action="store_true", help="list the changes and stop")
    parser.add_argument(
        "--budget", type=float, default=_BUDGET, help="seconds of tests for one change"
    )
    parser.add_argument("--anew", action="store_true", help="note anew what the tests go through")
    parser.add_argument("--wide", nargs="+", help="instead, any slip in files of these names")
    options = parser.parse_args()
    every = _all_mutants() if options.wide is None else _wide_mutants(options.wide)
    mutants = [one for one in every if any(part in one.key for part in options.only)]
    if options.again:
        lines = options.again.read_text("utf-8").splitlines()
        mutants = [
            one for one in mutants if any(f" SURVIVED {one.key} (" in line for line in lines)
        ]
    if options.list:
        for one in mutants:
            print(f"{one.line:5}  {one.key}")
        print(len(mutants))
        return 0
    # nothing but this decides what random tests try
    os.environ.update(CI="1", OPENBLAS_NUM_THREADS="1")
    os.chdir(ROOT)
    files = [str(path) for name in options.tests for path in sorted(Path("tests").glob(name))]
    bench = _Bench(mutants, every, options.budget, anew=options.anew, wide=options.wide)
    silent = ["-q", "--no-header", "--no-summary", "-p", "no:benchmark", "-p", "no:cacheprovider"]
    code = pytest.main([*silent, *files], plugins=[bench])
    if code != 0:
        return int(code)
    return _report(
        mutants,
        bench.survivors,
        complete=options.only == [""] and not (options.again or options.wide),
    )


def _all_mutants() -> list[Mutant]:
    skipped = _named("searches.txt")
    found = []
    for pattern in SCOPE:
        for path in sorted((SOURCES / "gdpbridge").glob(pattern)) or sorted(SOURCES.glob(pattern)):
            name = str(path.relative_to(SOURCES)).removeprefix("gdpbridge/")
            found += mutants_of(name, path.read_bytes())
    return [
        one
        for one in found
        if not any(fnmatch.fnmatchcase(one.key, f"{name}*") for name in skipped)
    ]


def _wide_mutants(patterns: list[str]) -> list[Mutant]:
    paths = {
        path
        for pattern in patterns
        for path in [*(SOURCES / "gdpbridge").glob(pattern), *SOURCES.glob(pattern)]
    }
    return [
        one
        for path in sorted(paths)
        for one in mutants_of(
            str(path.relative_to(SOURCES)).removeprefix("gdpbridge/"), path.read_bytes(), wide=True
        )
    ]


def _named(file: str) -> dict[str, str]:
    """Return the lines "name | reason" of a file."""
    named = {}
    for line in (HERE / file).read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.rpartition(" | ")
            if not name.strip() or len(reason.strip()) < 10:
                raise SystemExit(f"{file}: a name and a reason are wanted: {line}")
            named[name.strip()] = reason.strip()
    return named


# --- the tests, and what each goes through --------------------------------------------------------


class _Bench:
    """A plugin for pytest: runs the tests again and again, each time in a child process."""

    def __init__(
        self,
        mutants: list[Mutant],
        every: list[Mutant],
        budget: float,
        *,
        anew: bool,
        wide: list[str] | None,
    ) -> None:
        self.mutants = mutants
        self.every = every
        self.known = KNOWN.with_stem(f"wide {_key(str(wide).encode())[:8]}") if wide else KNOWN
        self.budget = budget
        self.anew = anew
        self.survivors: list[Mutant] = []
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.session = session
        for path in {one.path for one in self.mutants}:
            # some are loaded only when they are needed
            file = _file(path).relative_to(SOURCES)
            importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
        self.functions = _functions()
        tests = self._known()
        through = defaultdict(list)
        # quick ones first, and those that are about few things
        for name in sorted(
            tests, key=lambda name: tests[name]["seconds"] + len(tests[name]["spots"]) / 100
        ):
            for spot in tests[name]["spots"]:
                through[spot].append(name)
                through[spot.partition(": ")[0]].append(name)
        killers: list[str] = []
        for number, one in enumerate(self.mutants, 1):
            # a line that is new may have been run by whatever calls its function
            usable = through.get(_spot(one)) or list(dict.fromkeys(through[_place(one)]))
            asked, seconds = [], 0.0
            # what noticed the last changes often notices the next
            for name in sorted(usable, key=lambda name: name not in killers):
                seconds += tests[name]["seconds"]
                if seconds > self.budget:
                    break
                asked.append(name)
            started = time.monotonic()
            killer = _in_child(
                lambda one=one, asked=asked: self._notice(one, asked), 5 + 3 * seconds
            )
            if killer == "":
                self.survivors.append(one)
            elif killer:
                killers = [killer, *(name for name in killers if name != killer)][:5]
            print(
                f"{number}/{len(self.mutants)} {'SURVIVED' if killer == '' else 'killed'} "
                f"{one.key} (line {one.line}, {len(asked)} tests, "
                f"{time.monotonic() - started:.1f} s) {'too long' if killer is None else killer}",
                flush=True,
            )
        return True

    def _notice(self, one: Mutant, asked: list[str]) -> str:
        """Return the first test that fails with a change, or nothing."""
        _change(one, self.functions)
        for name, following in pairwise([*asked, None]):
            self._run(name, following)
            if self.failed:
                return name
        return ""

    def _run(self, name: str, following: str | None) -> None:
        self.failed = False
        self.session.config.pluginmanager.unregister(name="terminalreporter")
        item = self.items[name]
        item.ihook.pytest_runtest_protocol(
            item=item, nextitem=self.items[following] if following else None
        )

    def _known(self) -> dict[str, dict[str, Any]]:
        """Return each quick test with its time and its spots, from the last run where it is."""
        known = {}
        if self.known.exists() and not self.anew:
            known = json.loads(self.known.read_text("utf-8"))
        files = defaultdict(list)
        for name in self.items:
            files[name.partition("::")[0]].append(name)
        tests: dict[str, dict[str, Any]] = {}
        for file, names in files.items():
            key = _key((ROOT / file).read_bytes())
            if known.get(file, {}).get("key") != key:
                found = _in_child(lambda names=names: self._watch(names), 3600) or {}
                known[file] = {"key": key, "tests": found}
                spent = sum(one["seconds"] for one in found.values())
                print(f"noted {len(found)} tests of {file}, {spent:.0f} s", flush=True)
                self.known.parent.mkdir(exist_ok=True)
                self.known.write_text(json.dumps(known), "utf-8")
            tests |= known[file]["tests"]
        return {name: one for name, one in tests.items() if name in self.items}

    def _watch(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Return of each test how long it takes, and which lines with changes it goes through."""
        spots: dict[str, dict[int, str]] = defaultdict(dict)
        for one in self.every:
            spots[str(_file(one.path))][one.line] = _spot(one)
        of_code: dict[int, dict[int, str]] = {}
        tests = {}
        # ends a test that is not quick; what else is raised Hypothesis would look into
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        for name, following in pairwise([*names, None]):
            seen: set[str] = set()

            def enter(frame: Any, event: str, _: object, seen: set[str] = seen) -> Any:
                code = frame.f_code
                if code.co_filename not in spots:
                    return None
                own = of_code.get(id(code))
                if own is None:
                    lines, known = {line for *_, line in code.co_lines()}, spots[code.co_filename]
                    own = of_code[id(code)] = {at: known[at] for at in lines if at in known}
                if seen.issuperset(own.values()):
                    return None

                def each_line(frame: Any, event: str, _: object) -> Any:
                    if frame.f_lineno in own:
                        seen.add(own[frame.f_lineno])
                    return each_line

                return each_line

            started = time.process_time()
            threading.settrace(enter)
            sys.settrace(enter)
            signal.setitimer(signal.ITIMER_PROF, _QUICK)
            try:
                self._run(name, following)
            except KeyboardInterrupt:
                self.failed = True
                self.session._setupstate.teardown_exact(following and self.items[following])
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.settrace(None)
            if not self.failed:
                tests[name] = {"seconds": time.process_time() - started, "spots": sorted(seen)}
        return tests


def _key(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _place(one: Mutant) -> str:
    return f"{one.path} {one.function}"


def _spot(one: Mutant) -> str:
    """Name the line of a change in a way that other changes of the file do not disturb."""
    return f"{_place(one)}: {_lines(_file(one.path))[one.line - 1].strip()}"


def _file(path: str) -> Path:
    own = SOURCES / "gdpbridge" / path
    return own if own.exists() else SOURCES / path


@functools.cache
def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


# --- one change at a time -------------------------------------------------------------------------

_Functions = dict[tuple[str, str, int], list[FunctionType]]


def _functions() -> _Functions:
    """Return the package's functions, by where they are, with nothing remembered in them."""
    found = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            code = one.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(one)
        elif isinstance(one, functools._lru_cache_wrapper) and one.__module__.startswith("gdp"):
            one.cache_clear()
    return found


def _change(one: Mutant, functions: _Functions) -> None:
    """Put a change into the outermost function around it, as it is loaded."""
    path = _file(one.path)
    module = compile(one.apply(path.read_bytes()), str(path), "exec")
    new = max(
        (code for code in _outermost(module) if code.co_firstlineno <= one.line),
        key=lambda code: code.co_firstlineno,
    )
    loaded = functions.get((str(path), new.co_qualname, new.co_firstlineno))
    if not loaded:
        raise RuntimeError(f"no function is loaded that has {one.key}")
    for function in loaded:
        function.__code__ = new


def _outermost(code: CodeType) -> list[CodeType]:
    """Return the functions in a module, also those in its classes, but none within functions."""
    found = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            is_function = const.co_flags & 2  # CO_NEWLOCALS
            found += [const] if is_function else _outermost(const)
    return found


def _in_child(work: Callable[[], Any], limit: float) -> Any:
    """Return what is worked out in a child process; None if that takes more seconds than this."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            answer = {"result": work()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(text) if text else {"result": None}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


# --- the end ------------------------------------------------------------------------------------


def _report(mutants: list[Mutant], survivors: list[Mutant], *, complete: bool) -> int:
    explained = _named("survivors.txt")
    open_ = [one for one in survivors if one.key not in explained]
    print()
    for path, count in sorted(Counter(one.path for one in mutants).items()):
        left = sum(one.path == path for one in survivors)
        print(f"{path:40} {count:4} changes, {left} unnoticed")
    share = len(survivors) / max(1, len(mutants))
    print(
        f"{len(mutants)} changes, {len(mutants) - len(survivors)} noticed, {len(survivors)} not "
        f"({share:.1%}), of which {len(survivors) - len(open_)} are explained"
    )
    for one in open_:
        print(f"not explained: line {one.line}: {one.key}")
    stale = set(explained) - {one.key for one in survivors} if complete else set()
    for key in sorted(stale):
        print(f"explained, and yet noticed or gone: {key}")
    too_many = complete and share > _MOST_SURVIVORS
    return 1 if open_ or stale or too_many else 0


if __name__ == "__main__":
    sys.exit(main())
