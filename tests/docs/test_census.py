"""The certificates of docs/census.md: the page's commands, and the script that writes them all."""

from __future__ import annotations

import json
import math
import runpy
import shlex
from pathlib import Path

import pytest

import gdpbridge as gdp

ROOT = Path(__file__).parents[2]
CENSUS = ROOT / "examples" / "census"
PAGE = (ROOT / "docs" / "census.md").read_text()


def rounded_up(value: float) -> str:
    return f"{math.ceil(value * 1e4 - 1e-9) / 1e4:.4f}"


def test_the_command_of_a_file() -> None:
    """What is measured there is the file, of which the table has μ."""
    block = PAGE[PAGE.index("## Certificates") :].split("```console\n")[1].split("```")[0]
    words = shlex.split(next(line[2:] for line in block.splitlines() if line.startswith("$ ")))
    units = gdp.load_profile(ROOT / words[words.index("--spec") + 1])
    assert sum(part.times for level in units.parts for part in level.parts) == 160
    found = gdp.measure(units, failure=words[words.index("--failure") + 1])
    assert f"| {rounded_up(float(found.mu.high))} |" in PAGE[PAGE.index("Housing units:") :]


@pytest.mark.slow
def test_the_script(tmp_path: Path) -> None:
    """A row has the table's numbers, and its certificate holds."""
    script = runpy.run_path(str(CENSUS / "certify.py"))
    path = CENSUS / "dhc_units.toml"
    assert set(script["FILES"]) <= {one.stem for one in CENSUS.glob("*.toml")}
    profile = gdp.load_profile(path)
    names = script["names"](path)
    assert len(names) == len(profile.parts)
    row = script["row"](names[1], profile.parts[1], tmp_path / "level.json").split(" | ")
    (shown,) = [line for line in PAGE.splitlines() if line.startswith("| State | 1.7012 |")]
    assert row[2:6] == shown.strip(" |").split(" | ")[2:]
    assert gdp.verify(tmp_path / "level.json").valid
    claimed = json.loads((tmp_path / "level.json").read_text())["claim"]["mu"]["high"]
    assert rounded_up(float(claimed)) == row[5]
