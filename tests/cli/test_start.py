"""Starting the program: what an interruption finds, and whose code runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gdpbridge.cli import main
from gdpbridge.expressions.child import run_isolated

# interrupted when a given module begins to be imported
SCRIPT = textwrap.dedent(
    """
    import os, signal, sys
    wanted, sys.argv = sys.argv[1], sys.argv[2:]

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == wanted:
                sys.meta_path.remove(self)
                os.kill(os.getpid(), signal.SIGINT)

    sys.meta_path.insert(0, Finder())
    from gdpbridge.cli import main
    sys.exit(main())
    """
)
STAGES = ["gdpbridge.errors", "numpy", "pydantic", "typer", "gdpbridge.cli.main", "flint"]
WORDS = ["identify", "laplace", "--scale", "0.5"]


def _interrupted_at(stage: str, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, stage, name, *WORDS, *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_start(stage: str) -> None:
    """Whatever is being imported, an interruption is one word and the exit status 130."""
    done = _interrupted_at(stage, "/usr/bin/gdpbridge")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    done = _interrupted_at(stage, "/usr/bin/gdpbridge", "--json")
    assert json.loads(done.stderr)["error"]["message"] == "interrupted"


@pytest.mark.parametrize("told_as", ["", "except KeyboardInterrupt: raise RuntimeError"])
def test_interrupted_within_code_that_is_text(told_as: str, tmp_path: Path) -> None:
    """The exit status is 130, and not the signal, also where Python runs text as code."""
    code = f"""
import sys
from gdpbridge.cli import main
import gdpbridge.risk
def risk(*_, **__):
    try: exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    {told_as or "finally: pass"}
sys.modules["gdpbridge.risk"].risk = risk
sys.exit(main(["risk", "--mu", "1"]))
"""
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    start = [sys.executable, "-m", "program"]
    done = subprocess.run(start, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_program_that_imports_the_package_is_left_alone() -> None:
    """Imported from Python, an interruption is a KeyboardInterrupt and nothing else."""
    done = _interrupted_at("gdpbridge.errors", "/usr/bin/myprogram")
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    code = "import signal, gdpbridge; print(signal.getsignal(signal.SIGINT).__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "default_int_handler\n"


@pytest.mark.parametrize("module", [False, True])
def test_interrupted_at_any_moment(
    module: bool, command_folder: Path, plain_environment: dict[str, str]
) -> None:
    """A real interruption some time after the start ends without a traceback."""
    start = [sys.executable, "-m", "gdpbridge"] if module else [str(command_folder / "gdpbridge")]
    for moment in (0.3, 0.6, 1.0):
        process = subprocess.Popen(
            [*start, "measure", "laplace", "--scale", "0.5", "--tol", "1e-90"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=plain_environment,
        )
        # from when Python itself has started, which is not ours to guard
        while "libpython" not in (text := _maps(process.pid)) and "_ctypes" not in text:
            if process.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=1200)
        # a shell shows 130 for what ends by the signal too
        assert process.returncode in (0, 130, -signal.SIGINT), shown
        assert "Traceback" not in shown


def _maps(number: int) -> str:
    try:
        return Path(f"/proc/{number}/maps").read_text(encoding="utf-8")
    except OSError:
        return "libpython"


def test_signals_are_as_before_after_a_command(run: object) -> None:
    """A command that is run from Python leaves the handling of signals as it was."""
    before = signal.getsignal(signal.SIGINT)
    assert main(["risk", "--mu", "1"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (
            "measure laplace --scale 0.5",
            [
                *("gdpbridge_verify.check", "gdpbridge.losses", "gdpbridge.mechanisms.table"),
                *("multiprocessing", "scipy", "mpmath", "sympy"),
            ],
        ),
        ("--help", ["gdpbridge_verify.check", "scipy", "numpy", "flint", "pydantic"]),
    ],
)
def test_what_is_not_used_is_not_loaded(words: str, unused: list[str]) -> None:
    """A command starts as fast as what it needs loads: the checker and SciPy take a while."""
    program = (
        "import sys\nfrom gdpbridge.cli import main\n"
        f"main({words.split()!r})\nprint(sorted(set({unused!r}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


FORMULA = ["identify", "formula", "delta = log1p(exp(-eps**2))"]


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder with files that are named like modules, and tell when they are run."""
    folder = tmp_path / "trap"
    (folder / "gdpbridge").mkdir(parents=True)
    names = ["sympy", "numpy", "pydantic", "typer", "scipy", "flint", "json", "lark", "mpmath"]
    for path in [*(folder / f"{name}.py" for name in names), folder / "gdpbridge" / "__init__.py"]:
        path.write_text(f"open({str(tmp_path / 'RUN')!r}, 'a').write(__name__)\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("entry", ["command", "module", "safe module"])
def test_code_of_the_working_folder_is_not_run(
    entry: str, trap: Path, command_folder: Path, plain_environment: dict[str, str]
) -> None:
    """Modules in the working folder are data: neither the program nor a child imports them."""
    pytest.importorskip("sympy")
    start = {
        "command": [str(command_folder / "gdpbridge")],
        "module": [sys.executable, "-m", "gdpbridge"],
        "safe module": [sys.executable, "-P", "-m", "gdpbridge"],
    }[entry]
    if entry == "module":
        # python itself takes the package from there, before any of ours runs
        (trap / "gdpbridge" / "__init__.py").unlink()
        (trap / "gdpbridge").rmdir()
    done = subprocess.run(
        [*start, *FORMULA],
        cwd=trap,
        env=plain_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (4, "")
    assert "0.7071" in done.stdout
    assert not (trap.parent / "RUN").exists()


def test_a_child_is_isolated(trap: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A child finds what its parent does, in no relative folder, and works in an empty one."""
    monkeypatch.chdir(trap)
    monkeypatch.setenv("PYTHONPATH", "")
    package = tmp_path / "lib"
    package.mkdir()
    (package / "probe_of_a_child.py").write_text(
        "import json, os, sys\n"
        "def main():\n"
        "    import sympy\n"
        "    print(json.dumps([sys.argv[1:], sys.stdin.read(), os.listdir(), sys.path,\n"
        "                      sympy.__file__]))\n",
        encoding="utf-8",
    )
    pytest.importorskip("sympy")
    for path in ("", ".", str(trap), str(package)):
        monkeypatch.syspath_prepend(path)
    words, given, files, path, sympy = json.loads(
        run_isolated("probe_of_a_child", ["a", "b"], "text", seconds=60)
    )
    assert (words, given, files) == (["a", "b"], "text", [])
    assert not {"", ".", str(trap), os.getcwd()} & set(path)
    assert not Path(sympy).is_relative_to(trap)
    assert not (tmp_path / "RUN").exists()


def test_every_child_process_is_isolated(root: Path) -> None:
    """The package starts processes in one place only."""
    starts = ("subprocess", "os.system", "os.popen", "os.spawn", "os.exec", "multiprocessing")
    found = {
        path.name
        for path in (root / "src").rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in starts)
    }
    # the workers of sweep.py start with PYTHONSAFEPATH, exports.py starts a browser elsewhere, and
    # progress.py asks whether it runs in a worker
    assert found <= {"child.py", "exports.py", "progress.py", "sweep.py", "symbolic.py"}
