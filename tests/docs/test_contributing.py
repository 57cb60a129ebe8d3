"""CONTRIBUTING's walk through a new mechanism is made in a copy of the sources, and runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_BLOCK = re.compile(
    r"```python\n# (?P<path>\S+?)(?:, (?P<how>in|before) (?P<anchor>[^\n]+))?\n(.*?)```", re.S
)


def _edit(folder: Path, block: re.Match[str]) -> Path:
    """Make a new file of a block, or put it into a file at the line that it names."""
    path, text = folder / block["path"], block[4]
    if block["how"] is None:
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (at,) = (number for number, line in enumerate(lines) if line.startswith(block["anchor"]))
    lines.insert(at + (block["how"] == "in"), text)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the edits made."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        root / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    blocks = list(_BLOCK.finditer((root / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert len(blocks) == 8
    for block in blocks:
        _edit(folder, block)
    return folder


def _python(folder: Path, root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_pass(copy: Path, root: Path) -> None:
    """Its own tests, the contract of mechanisms, the public door's and the checker's."""
    own = str(copy / "tests" / "unit" / "test_bit_flip.py")
    others = ["contract/test_profile_contract.py", "certificate/test_mechanisms.py"]
    shown = _python(
        copy,
        root,
        *("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", own),
        *(f"tests/{path}" for path in [*others, "unit/test_public_door.py"]),
        *("-k", "bit or public_door"),
    )
    found = re.search(r"(\d+) passed", shown)
    assert found is not None
    assert int(found[1]) >= 12


def test_the_command_line_knows_it(copy: Path, root: Path, tmp_path: Path) -> None:
    """The command measures it with a certificate, which verify accepts."""
    certificate = str(tmp_path / "certificate.json")
    words = ["measure", "bit-flip", "--flip", "0.25", "--certificate", certificate]
    assert "1.348979500" in _python(copy, root, "-m", "gdpbridge", *words)
    assert "probability f" in _python(
        copy, root, "-m", "gdpbridge", "measure", "bit-flip", "--help"
    )
    _python(copy, root, "-m", "gdpbridge", "verify", certificate)


def test_its_style(copy: Path, root: Path) -> None:
    """What is written there has the form that lint asks for."""
    pytest.importorskip("ruff")
    files = [
        str(copy / "src/gdpbridge/mechanisms/bit_flip.py"),
        str(copy / "tests/unit/test_bit_flip.py"),
    ]
    config = ["--config", str(root / "pyproject.toml")]
    _python(copy, root, "-m", "ruff", "check", "--no-cache", "--ignore=D,I", *config, *files)
    _python(copy, root, "-m", "ruff", "format", "--no-cache", "--check", *config, *files)
