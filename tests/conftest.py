"""Settings and fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("dev", deadline=None, max_examples=20)
settings.register_profile("ci", deadline=None, max_examples=20, derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=1000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev")
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only ``make test-deep`` runs."""
    if PROFILE != "deep":
        config.hook.pytest_deselected(items=[one for one in items if _is_deep(one)])
        items[:] = [one for one in items if not _is_deep(one)]


def _is_deep(item: pytest.Item) -> bool:
    return item.get_closest_marker("deep") is not None


@pytest.fixture(scope="session")
def peak_memory() -> str:
    """Python text of a function that tells the most KiB of memory of its process."""
    # what getrusage tells of Linux is that of the process that started this one, if it was larger
    return """
def peak():
    try:
        with open("/proc/self/status") as status:
            (line,) = (text for text in status if text.startswith("VmHWM:"))
        return int(line.split()[1])
    except OSError:
        import resource, sys
        found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return found // 1024 if sys.platform == "darwin" else found
"""


@pytest.fixture(scope="session")
def thinned() -> Callable[..., list[Any]]:
    """Takes one in so many of a long list of cases; all of them in ``make test-deep``."""

    def some(cases: Iterable[Any], one_in: int, first: int = 0) -> list[Any]:
        every = list(cases)
        # of a short list at least one
        step = max(min(one_in, len(every)), 1)
        return every if PROFILE == "deep" else every[first % step :: step]

    return some


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of stored reference values."""
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def plain_environment() -> dict[str, str]:
    """Environment for a child process: no colour, a known width and encoding."""
    changed = {
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
        "TERM": "dumb",
    }
    return {k: v for k, v in os.environ.items() if k != "FORCE_COLOR"} | changed


@pytest.fixture(scope="session")
def command_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to put on PATH that holds this interpreter's gdpbridge and nothing else."""
    folder = tmp_path_factory.mktemp("bin")
    installed = Path(sysconfig.get_path("scripts")) / "gdpbridge"
    command = folder / "gdpbridge"
    if installed.exists():
        shutil.copy(installed, command)
    else:
        command.write_text(
            f"#!{sys.executable}\n"
            "import sys\nfrom gdpbridge.cli import main\n"
            "sys.argv[0] = 'gdpbridge'\nsys.exit(main())\n",
            encoding="utf-8",
        )
        command.chmod(0o755)
    return folder


@pytest.fixture
def at_most_calls() -> Callable[[int], AbstractContextManager[None]]:
    """Gives a block that fails where more functions are called in it: work, whatever the load."""

    @contextmanager
    def block(limit: int) -> Iterator[None]:
        calls = 0

        def count(_: object, event: str, __: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)
        assert calls <= limit, f"{calls} calls"

    return block
