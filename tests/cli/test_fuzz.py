"""Random command lines: whatever is typed, there is an answer or one sentence."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def fuzz(root: Path) -> ModuleType:
    """The fuzz script of the command line."""
    path = root / "fuzz" / "fuzz_command_line.py"
    spec = importlib.util.spec_from_file_location("fuzz_command_line", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_command_lines(
    fuzz: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of seeded command lines end in an answer or a sentence, none in a fault."""
    monkeypatch.delenv("GDPBRIDGE_DEBUG", raising=False)
    monkeypatch.delenv("GDPBRIDGE_LEDGER", raising=False)
    # what takes long is for the long runs
    monkeypatch.setattr(fuzz, "SECONDS", 0.5)
    failures = fuzz.run(seed=1, runs=300, minutes=None)
    assert failures == 0, capsys.readouterr().out


def test_the_fuzzer_sees_faults(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault, a traceback and what leaves the program are found."""

    def fails(*_: object) -> int:
        raise RuntimeError("broken")

    monkeypatch.setattr(fuzz, "main", fails)
    assert "RuntimeError left the program" in fuzz.trouble(["risk"])
    monkeypatch.undo()
    monkeypatch.setattr(importlib.import_module("gdpbridge.cli.main"), "_run", fails)
    assert "a fault in gdpbridge" in fuzz.trouble(["risk", "--mu", "1"])
