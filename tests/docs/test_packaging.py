"""The built wheel works away from the source tree, and the project's files agree."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
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
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources | {"gdpbridge/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"gdpbridge", "gdpbridge_verify", info}
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


USE = '''
"""What a user writes, under mypy --strict."""

from collections.abc import Sequence

import numpy as np

import gdpbridge as gdp


def least(profile: gdp.Profile, tol: float = 1e-6) -> gdp.Interval:
    found: gdp.Measurement = gdp.measure(profile, tol=tol)
    return found.mu


def worst(profiles: Sequence[gdp.Profile]) -> float:
    return max(float(least(one).high) for one in profiles)


laplace = gdp.profiles.Laplace(scale=0.5, sensitivity=1.0)
kinds: list[gdp.Profile] = [
    laplace,
    laplace.subsample(0.1),
    gdp.profiles.ApproxDP(epsilon=1, delta=1e-5),
    gdp.profiles.Callable(lambda eps: 0.0, trusted=("non-increasing", "upper bound")),
    gdp.profiles.DPSGD(noise_multiplier=1.0, sample_rate=0.01, steps=10),
    gdp.profiles.DiscreteGaussian(sigma=1),
    gdp.profiles.DiscreteLaplace(scale=1),
    gdp.profiles.Formula("delta = exp(-eps**2)"),
    gdp.profiles.GDP(mu=1),
    gdp.profiles.Gaussian(sigma=2),
    gdp.profiles.ICEA(messages=20, users=4),
    gdp.profiles.PLD(remove=[(0.0, 0.9), (1.0, 0.1)]),
    gdp.profiles.PureDP(epsilon=0.2).compose(50),
    gdp.profiles.RandomizedResponse(noise_parameter=0.5, buckets=3),
    gdp.profiles.SGDFamily(A=1, B=1, sigma=2),
    gdp.profiles.Sequence(parts=(laplace, laplace)),
    gdp.profiles.Table(pairs=[(0.5, 0.1), (1.0, 0.01)]),
    gdp.profiles.Tradeoff("sigma = A/eps*sqrt(log(1/delta))", set={"A": 2, "sigma": 2}),
    gdp.profiles.ZCDP(rho=0.1),
]
verdict: gdp.Verdict = gdp.identify(laplace).verdict
values = laplace.delta(np.linspace(0, 1, 5))
certificate: gdp.Certificate | None = gdp.measure(laplace).certificate
checked: gdp.Verification | None = None if certificate is None else gdp.verify(certificate)
standing: gdp.Standing = gdp.measure(laplace).proof
nature: gdp.Nature = laplace.profile_is
calibrated: gdp.Calibration = gdp.calibrate("laplace", target_mu=1)
risk: gdp.Risk = gdp.risk(1)
loaded: gdp.Profile = gdp.load_profile({"kind": "laplace", "scale": 0.5})
print(worst(kinds), gdp.mu(1.0, delta=1e-5), values, certificate)
'''


@pytest.mark.slow
def test_a_users_script_is_typed(wheel: Path, tmp_path: Path) -> None:
    """Under mypy --strict a script that uses the public names passes, and a slip does not."""
    pytest.importorskip("mypy")
    # installed where mypy looks for other people's packages, beside what is installed here
    venv.create(tmp_path / "venv", with_pip=False)
    python = next((tmp_path / "venv").glob("bin/python"))
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # of the extras nothing is there, as after a plain installation; mypy would read them all
    for typed in ("numpy", "pydantic", "pydantic_core", "typing_extensions", "annotated_types"):
        where = importlib.util.find_spec(typed).origin
        path = Path(where).parent if where.endswith("__init__.py") else Path(where)
        (site / path.name).symlink_to(path)
    script = tmp_path / "use.py"
    slips = ["gdp.profiles.Laplace(scale=0.5).no_such_method()", "gdp.Interval.nothing"]
    script.write_text(USE + "\n".join(slips) + "\n")
    mypy = (sys.executable, "-m", "mypy")
    done = subprocess.run(
        (*mypy, "--strict", "--no-error-summary", "--python-executable", str(python), "use.py"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    first = USE.count("\n") + 1
    lines = [line.split(":")[:2] for line in done.stdout.splitlines()]
    assert lines == [["use.py", str(first)], ["use.py", str(first + 1)]], done.stdout


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
        for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["ledger"]
    )
    assert pinned == bounds
