"""Turn each rounding, margin and proof in what proves, one by one, and see that a test notices.

``make mutants`` runs it, outside the ordinary suite. A change that no test notices must be
explained in ``survivors.txt``; one that is not, or more than a twentieth of all, fails the run.

    python tests/mutation/run.py                       all
    python tests/mutation/run.py --only curves/points  some
    python tests/mutation/run.py --list                what would be changed

A first run notes which functions each quick test calls, so that a change is put before the tests
that concern it alone, the quickest first. It is kept in ``build/``; ``--anew`` does it again.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
KNOWN = ROOT / "build" / "mutants.json"

# what proves, or carries what is proved to where it is shown or charged
SCOPE = [
    "numeric/*.py",
    "gaussian/ball.py",
    "gaussian/enclosures.py",
    "curves/*.py",
    "curves/tails/*.py",
    "guarantees/*.py",
    "measure/statements.py",
    "measure/methods/breakpoints.py",
    "measure/methods/certified.py",
    "measure/methods/composed.py",
    "certificate/*.py",
    "../gdpbridge_verify/*.py",
    "ledger/amounts.py",
    "ledger/charges.py",
    "interval.py",
    "losses/line.py",
    "losses/line_*.py",
    "losses/moments.py",
    "losses/roots.py",
    "losses/stretches.py",
    "losses/transforms/*.py",
]
# the tests that a change is put before
POOL = [
    "amplify/test_clip_rectify_profile.py",
    "certificate/test_arithmetic.py",
    "certificate/test_attacks.py",
    "certificate/test_curve.py",
    "certificate/test_directions.py",
    "certificate/test_lines.py",
    "certificate/test_mechanisms.py",
    "certificate/test_write_and_verify.py",
    "certificate/test_zcdp_mutations.py",
    "expressions/*.py",
    "ledger/test_amounts.py",
    "ledger/test_charges.py",
    "losses/test_line_integral.py",
    "losses/test_transforms.py",
    "property/*.py",
    "unit/*.py",
]
# a test that takes longer is not quick
_QUICK = 1.5
# together, for one change
_BUDGET = 20.0
_MOST_SURVIVORS = 0.05
_HEAVY = [
    "flint", "gmpy2", "lark", "mpmath", "numpy", "pydantic", "pytest",
    "scipy.special", "sqlalchemy", "typer",
]  # fmt: skip


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
    options = parser.parse_args()
    mutants = [one for one in _all_mutants() if any(part in one.key for part in options.only)]
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
    os.environ.update(CI="1", OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    for name in _HEAVY:
        importlib.import_module(name)
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="gdpbridge-mutants-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        tests = _known(copy, options.tests, anew=options.anew)
        survivors = _survivors(mutants, tests, copy, options.budget)
    return _report(mutants, survivors, complete=options.only == [""] and not options.again)


def _all_mutants() -> list[Mutant]:
    package, skipped = ROOT / "src" / "gdpbridge", _named("searches.txt")
    found = []
    for pattern in SCOPE:
        for path in sorted(package.glob(pattern)):
            name = str(path.relative_to(package))
            found += mutants_of(name, path.read_bytes())
    return [
        one
        for one in found
        if not any(fnmatch.fnmatchcase(one.key, f"{name}*") for name in skipped)
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


# --- which tests call which functions ------------------------------------------------------------


class _Watch:
    """A plugin for pytest that notes the functions of the package that each test calls."""

    def __init__(self, package: Path) -> None:
        self.prefix = f"{package}/"
        self.tests: dict[str, dict[str, Any]] = {}
        self.seen: set[Any] = set()

    def _called(self, frame: Any, event: str, arg: object) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    def pytest_runtest_setup(self, item: Any) -> None:
        self.seen = set()
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        self.started = time.process_time()

    def pytest_runtest_teardown(self, item: Any) -> None:
        sys.setprofile(None)
        calls = {
            f"{code.co_filename.removeprefix(self.prefix)} {_plain(code.co_qualname)}"
            for code in self.seen
            if code.co_filename.startswith(self.prefix)
        }
        self.tests[item.nodeid] = {
            "seconds": time.process_time() - self.started,
            "calls": sorted(calls),
        }

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.tests.pop(report.nodeid, None)
            print(f"not used, as it fails unchanged: {report.nodeid}", file=sys.stderr, flush=True)


def _plain(name: str) -> str:
    """Return a function's name without what is defined on the way and has none."""
    parts = [part for part in name.split(".") if not part.startswith("<")]
    return ".".join(parts) or "module"


def _known(copy: Path, pool: list[str], *, anew: bool) -> dict[str, dict[str, Any]]:
    """Return each quick test with its time and what it calls, from the last run where it is."""
    files = [path for pattern in pool for path in sorted((ROOT / "tests").glob(pattern))]
    known = json.loads(KNOWN.read_text("utf-8")) if KNOWN.exists() and not anew else {}
    tests: dict[str, dict[str, Any]] = {}
    for path in files:
        name = str(path.relative_to(ROOT))
        key = hashlib.sha256(path.read_bytes()).hexdigest()
        if known.get(name, {}).get("key") != key:
            found = _in_child(_watch, copy, name, limit=1200)
            known[name] = {"key": key, "tests": found if isinstance(found, dict) else {}}
            print(f"noted what {len(known[name]['tests'])} tests of {name} call", flush=True)
            KNOWN.parent.mkdir(exist_ok=True)
            KNOWN.write_text(json.dumps(known), "utf-8")
        tests |= known[name]["tests"]
    return {name: one for name, one in tests.items() if one["seconds"] <= _QUICK}


def _watch(copy: Path, name: str) -> dict[str, dict[str, Any]]:
    import pytest

    watch = _Watch(copy / "gdpbridge")
    pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:benchmark", name], plugins=[watch])
    return watch.tests


# --- one change at a time -----------------------------------------------------------------------


def _survivors(
    mutants: list[Mutant], tests: dict[str, dict[str, Any]], copy: Path, budget: float
) -> list[Mutant]:
    survivors = []
    for number, one in enumerate(mutants, 1):
        asked = _asked(one, tests, budget)
        target = copy / "gdpbridge" / one.path
        source = target.read_bytes()
        started = time.monotonic()
        target.write_bytes(one.apply(source))
        try:
            seconds = sum(tests[name]["seconds"] for name in asked)
            notices = _is_noticed(copy, asked, limit=5 + int(3 * seconds))
        finally:
            target.write_bytes(source)
        if not notices:
            survivors.append(one)
        word = "killed" if notices else "SURVIVED"
        print(
            f"{number}/{len(mutants)} {word} {one.key} (line {one.line}, {len(asked)} tests, "
            f"{time.monotonic() - started:.0f} s)",
            flush=True,
        )
    return survivors


def _asked(one: Mutant, tests: dict[str, dict[str, Any]], budget: float) -> list[str]:
    """Return the tests that call a function, the quickest first, as far as the time allows."""
    calls = {name: set(found["calls"]) for name, found in tests.items()}
    through = [name for name in tests if f"{one.path} {one.function}" in calls[name]]
    if not through:
        # code of a module or a class, or a function that is new
        through = [name for name in tests if any(c.startswith(f"{one.path} ") for c in calls[name])]
    asked, total = [], 0.0
    for name in sorted(through, key=lambda name: tests[name]["seconds"]):
        total += tests[name]["seconds"]
        if total > budget:
            break
        asked.append(name)
    return asked


def _exit_code(_: Path, asked: list[str]) -> int:
    import pytest

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark", *asked]))


def _is_noticed(copy: Path, asked: list[str], limit: int) -> bool:
    if not asked:
        return False
    code = _in_child(_exit_code, copy, asked, limit=limit)
    # no code: it took too long; 2: the changed module cannot even be loaded
    if code in (0, 1, 2, None):
        return code != 0
    raise SystemExit(f"pytest ended with {code} on {asked}: try --anew")


def _in_child(work: Any, copy: Path, argument: Any, limit: int) -> Any:
    """Do it in a child process whose gdpbridge is the copy; None if it is killed by its limit."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(ROOT)
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        answer: dict[str, Any] = {}
        try:
            answer["result"] = work(copy, argument)
        except BaseException:
            answer["error"] = traceback.format_exc()
        finally:
            with os.fdopen(writing, "w") as pipe:
                json.dump(answer, pipe)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(text) if text else {"result": None}
    if "error" in answer:
        raise SystemExit(answer["error"])
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
