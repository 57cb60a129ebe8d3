"""A mechanism and a method in one file outside of the package take part in everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TOY = '''
"""A mechanism and a measuring method of somebody else's."""

from fractions import Fraction
from typing import ClassVar, Literal

from gdpbridge.curves.base import Form
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.measure import Method
from gdpbridge.measure.method import FLOATS
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import Probability


@register
class Toy(Profile):
    """Noise that a toy makes."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["toy"] = "toy"
    size: Real = parameter(
        "size s of the toy",
        symbol="s",
        allowed="a number > 0 and at most 10",
        typical=(0.5, 5.0),
        effect="raises",
        gt=0,
        le=10,
    )

    def build_curve(self) -> SmoothCurve:
        end = self.exact("size")

        def delta(eps, ops):
            return Probability.from_log_complement(ops, (eps - ops.constant(end)) / 2)

        return smooth_curve(delta, ConstantTail(end, Fraction(0)), end)


def glance(problem: Problem) -> Answer:
    """G at 0, where that of a toy is largest."""
    at = Fraction(0)
    low = Fraction(float(problem.curve.largest_seen().upper()))
    return Answer(low, low + problem.tol / 2, at, 1, 1, ("by looking at its start only",))


COARSE = Method(
    name="coarse",
    sentence="a glance at the start of the range",
    assurance=FLOATS,
    handles=frozenset({Form.SMOOTH}),
    unfit="a glance is not enough for this curve",
    solve=glance,
)
'''

DRIVER = """
import contextlib, io, json, sys
from gdpbridge.cli import main

found = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""

Run = tuple[int, str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file, installed as a package is: by its entry points."""
    path = tmp_path_factory.mktemp("elsewhere")
    (path / "toy.py").write_text(TOY)
    (path / "broken.py").write_text("import nowhere_to_be_found\n")
    (path / "mechanism.toml").write_text('kind = "toy"\nsize = 2\n')
    points = "[gdpbridge.mechanisms]\ntoy = toy:Toy\n\n[gdpbridge.methods]\ncoarse = toy:COARSE\n"
    for name, text in (("toy", points), ("broken", "[gdpbridge.mechanisms]\nlost = broken:Lost\n")):
        info = path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        if name == "toy":
            (info / "entry_points.txt").write_text(text)
    return path


def python(folder: Path, code: str, given: str = "") -> str:
    """Run code in a process of its own, with the folder beside the installed packages."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMMANDS = {
    "help": "measure --help",
    "own help": "measure toy --help",
    "identify": "identify toy --size 2",
    "measure": "measure toy --size 2 --json",
    "head": "measure toy --size 2 --eps-h 1 --json",
    "failure": "measure toy --size 2 --failure 0.01 --json",
    "sampled": "measure toy --size 2 --subsample 0.1 --json",
    "spec": "measure --spec mechanism.toml --json",
    "convert": "convert toy --size 2 --delta 1e-5 --json",
    "calibrate": "calibrate toy --mu 1 --json",
    "rectified": "amplify clip-rectify toy --size 2 --eps-h 1 --lower 0 --upper 1 --json",
    "report": "report toy --size 2 -o toy.html",
    "schema": "schema mechanism",
    "certificate": "measure toy --size 2 --certificate toy.json",
    "bad": "measure toy --size 20",
    "method": "measure toy --size 2 --method coarse --json",
    "method in words": "measure toy --size 2 --method coarse",
    "method for lines": "measure discrete-laplace --scale 1 --method coarse",
}


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, Run]:
    """What each command answers: its exit status, standard output and errors."""
    words = [text.split() for text in COMMANDS.values()]
    found = json.loads(python(folder, DRIVER, json.dumps(words)))
    return {name: (code, out, err) for name, (code, out, err) in zip(COMMANDS, found, strict=True)}


def answer(runs: dict[str, Run], name: str) -> Any:
    code, out, err = runs[name]
    assert code == 0, err
    return json.loads(out)


class TestMechanism:
    """One file is enough for a mechanism."""

    def test_help(self, runs: dict[str, Run]) -> None:
        """It is listed, and its parameters are options."""
        assert "Noise that a toy makes" in runs["help"][1]
        assert "--size s" in runs["own help"][1]

    @pytest.mark.parametrize("name", ["identify", "report", "schema"])
    def test_answered(self, runs: dict[str, Run], name: str) -> None:
        """The command answers about it."""
        code, out, err = runs[name]
        assert code == 0, err
        assert "toy" in out

    @pytest.mark.parametrize("name", ["measure", "head", "failure", "sampled", "spec"])
    def test_measured(self, runs: dict[str, Run], name: str) -> None:
        """Each statement about it is proved; from a file too."""
        found = answer(runs, name)
        assert found["certified"]
        assert found["proof"]["proved"]
        assert not found["proof"]["certificate"]
        if name in ("measure", "spec"):
            assert found["mu"]["low"] <= 1.800905193276 <= found["mu"]["high"]
            assert found["mechanism"] == {"kind": "toy", "neighbours": None, "size": 2.0}

    def test_converted_and_calibrated(self, runs: dict[str, Run]) -> None:
        """Its ε is read off, its parameter is found for a μ, and noise is added to it."""
        assert answer(runs, "convert")["epsilon"]["high"] < 2
        assert answer(runs, "calibrate")["measurement"]["mu"]["high"] <= 1
        assert answer(runs, "rectified")

    def test_no_certificate(self, runs: dict[str, Run], folder: Path) -> None:
        """It is said in one sentence that there is none, and nothing is written."""
        code, out, err = runs["certificate"]
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert "no certificate for a mechanism of kind toy" in err
        assert not (folder / "toy.json").exists()

    def test_bad_input(self, runs: dict[str, Run]) -> None:
        """Its parameters are checked as any others are."""
        code, _, err = runs["bad"]
        assert code == 2
        assert err == "--size is 20: must be a number > 0 and at most 10\n"


class TestMethod:
    """One object is enough for a measuring method."""

    def test_measured(self, runs: dict[str, Run]) -> None:
        """It is listed and used, and what it does not prove is not called proved."""
        assert "coarse" in runs["own help"][1]
        found = answer(runs, "method")
        assert found["method"] == "coarse"
        assert not found["certified"]
        assert found["mu"]["low"] <= 1.800905193276 <= found["mu"]["high"]
        assert "computed in floating point" in runs["method in words"][1]

    def test_unfit(self, runs: dict[str, Run]) -> None:
        """A curve of another form is refused in its own words."""
        code, _, err = runs["method for lines"]
        assert code == 2
        assert "a glance is not enough for this curve" in err

    def test_report(self, folder: Path) -> None:
        """What a report rests on is said in the method's own words."""
        code = (
            "import gdpbridge as gdp\n"
            "from gdpbridge.report.privacy.basis import obtained, standing\n"
            "found = gdp.measure(gdp.profiles.Toy(size=2), method='coarse')\n"
            "print(obtained(found), standing(found))"
        )
        told = python(folder, code)
        assert "By a glance at the start of the range (method coarse" in told
        assert "computed in floating point, not proved" in told


class TestPython:
    """In Python it is one of the profiles."""

    def test_public_door(self, folder: Path) -> None:
        """Once installed, it has a public name; registered by hand, it does too."""
        code = (
            "import gdpbridge as gdp\n"
            "toy = gdp.profiles.Toy(size=2)\n"
            "print(gdp.measure(toy).mu, gdp.load_profile({'kind': 'toy', 'size': 2}) == toy)"
        )
        assert python(folder, code).startswith("[1.80090519327, 1.80090519378] True")

    def test_own_kinds_are_not_replaced(self, folder: Path) -> None:
        """A package cannot put a mechanism or a method in the place of one of the library's."""
        code = (
            "import dataclasses\n"
            "from typing import Literal\n"
            "import toy\n"
            "from gdpbridge.measure import register_method\n"
            "from gdpbridge.mechanisms.registry import profile_class, register\n"
            "class Laplace(toy.Toy):\n"
            "    kind: Literal['laplace'] = 'laplace'\n"
            "for taken in (\n"
            "    lambda: register(Laplace),\n"
            "    lambda: register_method(dataclasses.replace(toy.COARSE, name='certified')),\n"
            "):\n"
            "    try:\n"
            "        taken()\n"
            "    except ValueError as error:\n"
            "        print(error)\n"
            "print(profile_class('laplace').__module__)"
        )
        assert python(folder, code).splitlines() == [
            "the kind 'laplace' is one of gdpbridge's own",
            "the method 'certified' is one of gdpbridge's own",
            "gdpbridge.mechanisms.laplace",
        ]

    def test_a_broken_package_is_left_out(self, folder: Path) -> None:
        """It is named in a warning, and everything else goes on working."""
        points = folder / "broken-1.dist-info" / "entry_points.txt"
        points.write_text("[gdpbridge.mechanisms]\nlost = broken:Lost\n")
        code = (
            "import warnings\n"
            "from gdpbridge.profiles import kinds\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n"
            "    print('lost' in kinds(), 'toy' in kinds(), len(seen), seen[0].message)"
        )
        command = [["identify", "--help"], ["identify", "laplace", "--scale", "1"]]
        try:
            found = python(folder, code)
            runs = json.loads(python(folder, DRIVER, json.dumps(command)))
        finally:
            points.unlink()
        # once a process, and only where all kinds are loaded
        assert [code for code, _, _ in runs] == [0, 0]
        assert runs[0][2].startswith("warning: gdpbridge.mechanisms lost of broken is left out")
        assert runs[0][2].count("\n") == 1
        assert not runs[1][2]
        assert found.startswith("False True 1 gdpbridge.mechanisms lost of broken is left out")
        assert "nowhere_to_be_found" in found
