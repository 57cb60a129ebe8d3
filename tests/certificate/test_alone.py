"""The checker alone: a wheel of its own, in an environment that has gmpy2 and nothing else."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import gmpy2
import pytest
import reading

import gdpbridge
from gdpbridge import profiles

ROOT = Path(__file__).parents[2]
BUILD = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
RUN = (
    "import sys; sys.path[:] = sys.argv[1:5]; "
    "from gdpbridge_verify.__main__ import main; status = main(sys.argv[5:]); "
    "assert not {'gdpbridge', 'numpy', 'pydantic', 'flint'} & set(sys.modules); sys.exit(status)"
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the program of the wheel where only gmpy2 can be imported."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(ROOT / "verifier", folder / "verifier")
    shutil.copytree(ROOT / "src" / "gdpbridge_verify", folder / "src" / "gdpbridge_verify")
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=folder / "verifier", capture_output=True, text=True, check=True,
    )  # fmt: skip
    wheel = folder / built.stdout.strip().splitlines()[-1]
    home = Path(gmpy2.__file__).parent
    for part in home.parent.glob("gmpy2*"):
        (folder / "site").mkdir(exist_ok=True)
        (folder / "site" / part.name).symlink_to(part)
    library = Path(sysconfig.get_path("stdlib"))
    standard = [str(library), str(library / "lib-dynload")]

    def run(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        paths = [str(wheel), str(folder / "site"), *standard]
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", RUN, *paths, *words],
            input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_the_program_of_the_wheel(alone: Run, tmp_path: Path) -> None:
    """Proved, refused, no certificate: words and a status for each, without a traceback."""
    document = gdpbridge.measure(profiles.Laplace(scale=1.0)).certificate
    assert document is not None
    path = tmp_path / "laplace.json"
    document.save(path)
    proved = alone(str(path))
    assert (proved.returncode, proved.stderr) == (0, "")
    for claim in gdpbridge.verify(document).claims:
        assert claim in proved.stdout
    text = document.to_json()
    low = document.claim.mu.low
    refused = alone("-", given=text.replace(low, "1.0300639990"))
    assert refused.returncode == 3
    assert refused.stdout.startswith("refused")
    for words, given in ((["-"], '{"schema": 1}'), ([str(tmp_path / "none")], None), ([], None)):
        wrong = alone(*words, given=given)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "Traceback" not in wrong.stderr
    version = text.replace('"version": 1', '"version": 1.0')
    assert "version is 1.0: must be 1" in alone("-", given=version).stderr


# what is no mathematics: how a document is read, what it may say, and how a check ends
NO_MATHEMATICS = {
    "__init__", "__main__", "check", "document", "evidence", "kinds", "numbers", "parameters",
    "reader", "refusal",
}  # fmt: skip


def defined_in(path: Path) -> set[str]:
    """The functions and classes of a module, and the methods of these, in full."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(f"{path.stem}.{node.name}")
        if isinstance(node, ast.ClassDef):
            methods = (one.name for one in node.body if isinstance(one, ast.FunctionDef))
            found |= {f"{path.stem}.{node.name}.{name}" for name in methods}
    return found


def test_the_page_maps_the_mathematics_to_functions() -> None:
    """Each function that it names is there, and none of the mathematics is missing."""
    page = (ROOT / "docs" / "check-a-mu.md").read_text(encoding="utf-8")
    table = page[page.index("| above | function |") :]
    named = set(re.findall(r"`(\w+\.[\w.]+)`", table)) - {"kinds.KINDS"}
    modules = {path.stem: defined_in(path) for path in (ROOT / "src/gdpbridge_verify").glob("*.py")}
    assert named <= set().union(*modules.values())
    public = {
        name
        for module in modules.keys() - NO_MATHEMATICS
        for name in modules[module]
        if re.fullmatch(r"\w+\.[A-Za-z]\w*", name)
    }
    # a class may be named by its methods
    assert public <= named | {name.rpartition(".")[0] for name in named}


# what else the kernel loads: answers besides μ, several documents, and what some certificates have
BESIDE = ("answers", "between", "decay", "evidence", "grouped", "lemmas", "rows", "several")


def test_the_kernel_knows_no_mechanism() -> None:
    """It imports nothing else of the checker, and the page names it and counts its lines."""
    for name in reading.KERNEL:
        text = (ROOT / f"src/gdpbridge_verify/{name}.py").read_text(encoding="utf-8")
        imported = set(re.findall(r"^ *from gdpbridge_verify\.(\w+) import", text, re.MULTILINE))
        assert imported <= {*reading.KERNEL, *BESIDE}, name
    page = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    said = page[page.index("The kernel is") :].split("\n\n")[0]
    assert set(reading.KERNEL) <= set(re.findall(r"`(\w+)`", said))
    found = re.search(r"It has ([\d,]+) lines", said)
    assert found is not None
    lines = reading.lines_of_kernel()
    assert lines <= reading.MOST_OF_KERNEL
    assert int(found[1].replace(",", "")) == pytest.approx(lines, rel=0.02)
