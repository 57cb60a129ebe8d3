"""The certificates of docs/census.md: the page's commands, and the script that writes them all."""

from __future__ import annotations

import json
import math
import re
import runpy
import shlex
from pathlib import Path

import pytest

import gdpbridge as gdp

ROOT = Path(__file__).parents[2]
CENSUS = ROOT / "examples" / "census"
PAGE = (ROOT / "docs" / "census.md").read_text()


def table(level: str) -> list[float]:
    """μ of a level, of persons and of units."""
    rows = re.findall(rf"^\| {level} \|(?: [\d.]+ \|){{4}} ([\d.]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 2
    return [float(one) for one in rows]


def stated(path: Path) -> float:
    """The μ that a certificate states."""
    return float(json.loads(path.read_text())["claim"]["mu"]["high"])


def rounded_up(value: float) -> float:
    return math.ceil(value * 1e4 - 1e-9) / 1e4


def test_the_commands_of_a_level() -> None:
    """They are for the specification's numbers, and what is shown is the table's μ."""
    block = PAGE[PAGE.index("## Certificates") :].split("```console\n")[1].split("```")[0]
    commands = [shlex.split(line[2:]) for line in block.splitlines() if line.startswith("$ ")]
    assert [words[1] for words in commands] == ["measure", "measure", "compose", "verify"]
    state = gdp.load_profile(CENSUS / "dhc_persons.toml").parts[1]
    for part, words in zip(state.parts, commands[:2], strict=True):
        assert float(words[words.index("--sigma") + 1]) == part.base.sigma
        assert int(words[words.index("--compose") + 1]) * commands[2].count(words[-1]) == part.times
    (shown,) = re.findall(r"squares: μ = ([\d.]+)$", block, re.MULTILINE)
    assert rounded_up(float(shown)) == table("State")[0]


@pytest.mark.slow
def test_the_script(tmp_path: Path) -> None:
    """A level has the table's μ; the same twice, composed of compositions, √2 times that."""
    certify = runpy.run_path(str(CENSUS / "certify.py"))["certify"]
    found = gdp.verify(certify(CENSUS / "dhc_persons.toml", tmp_path, [6, 6]), folder=tmp_path)
    assert found.valid
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["all.json", "level_6.json", "query_0.json"]
    level, both = (stated(tmp_path / f"{name}.json") for name in ("level_6", "all"))
    assert rounded_up(level) == table("Optimised block group")[0]
    assert both == pytest.approx(math.sqrt(2) * level, rel=1e-9)
