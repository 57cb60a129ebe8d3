"""The package imports quickly, and without anything optional."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = [
    "altair",
    "dask",
    "dp_accounting",
    "jinja2",
    "narwhals",
    "opacus",
    "opendp",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "sympy",
    "torch",
    "vl_convert",
]
HEAVY = ["alembic", "scipy", "sqlalchemy", *OPTIONAL]

IMPORT = "import gdpbridge\n"
HELP = """\
from gdpbridge.cli import main
assert main({words!r}) == 0
"""
HELPS = [
    ["--help"],
    ["measure", "--help"],
    ["measure", "laplace", "--help"],
    ["ledger", "spend", "--help"],
    ["paper", "--help"],
]


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", [IMPORT, *(HELP.format(words=words) for words in HELPS)])
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Neither `import gdpbridge` nor any `--help` loads a heavy or an optional module."""
    shown = _run(f"{code}\nprint('loaded:', *[m for m in {HEAVY} if m in sys.modules])")
    assert shown.splitlines()[-1].strip() == "loaded:"


def test_every_public_name_without_extras() -> None:
    """Every public name can be had when no optional module is installed."""
    code = f"for module in {OPTIONAL}: sys.modules[module] = None\n{IMPORT}"
    shown = _run(f"{code}for name in gdpbridge.__all__: getattr(gdpbridge, name)\nprint('done')")
    assert shown.strip() == "done"
