"""The built wheel works away from the source tree, and the project's files agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, freshly built."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_contents(wheel: Path) -> None:
    """The wheel holds the package, its type marker and its licence, and nothing beside them."""
    info = f"gdpbridge-{PROJECT['version']}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_string(archive.read(f"{info}/METADATA").decode())
        licence = archive.read(f"{info}/licenses/LICENSE")
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "gdpbridge").rglob("*.py")
    }
    assert sources | {"gdpbridge/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"gdpbridge", info}
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    """The installed wheel is imported from its own folder, knows its version and runs."""
    target = tmp_path / "site"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    _run(*pip, "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=elsewhere)
    environment = os.environ | {"PYTHONPATH": str(target)}
    code = (
        "import gdpbridge, importlib.metadata;"
        "print(gdpbridge.__file__);"
        "print(importlib.metadata.version('gdpbridge'));"
        "print(gdpbridge.__version__)"
    )
    where, recorded, reported = _run(
        sys.executable, "-c", code, cwd=elsewhere, env=environment
    ).splitlines()
    assert Path(where).is_relative_to(target)
    assert recorded == reported == PROJECT["version"]
    shown = _run(str(target / "bin" / "gdpbridge"), "--help", cwd=elsewhere, env=environment)
    assert "measure" in shown


def test_changelog_is_at_this_version() -> None:
    """The top of the changelog is this version or what is not released yet."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert top is not None
    assert top[1] in {"Unreleased", PROJECT["version"]}


def test_citation_is_at_this_version(root: Path) -> None:
    """What CITATION.cff tells to cite is this version."""
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == PROJECT["version"]


def test_oldest_versions_are_the_lower_bounds() -> None:
    """What `make test-oldest` installs is exactly what the lower bounds promise."""
    pins = (ROOT / "requirements" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in pins if line and not line.startswith("#"))
    bounds = dict(
        re.fullmatch(r"([\w-]+)>=([\w.]+),<[\w.]+", text).groups()
        for text in PROJECT["dependencies"]
    )
    assert pinned == bounds
