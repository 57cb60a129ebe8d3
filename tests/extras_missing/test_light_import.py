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
    "sqlalchemy",
    "sympy",
    "torch",
    "vl_convert",
]
HEAVY = ["flint", "scipy", *OPTIONAL]

IMPORT = "import gdpbridge\n"
HELP = """\
sys.argv = ["gdpbridge", "--help"]
from gdpbridge.cli import main
try:
    status = main()
except SystemExit as stop:
    status = stop.code
assert not status, status
"""


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Neither `import gdpbridge` nor `gdpbridge --help` loads a heavy or an optional module."""
    shown = _run(f"{code}\nprint('loaded:', *[m for m in {HEAVY} if m in sys.modules])")
    assert shown.splitlines()[-1].strip() == "loaded:"


def test_every_public_name_without_extras() -> None:
    """Every public name can be had when no optional module is installed."""
    code = f"for module in {OPTIONAL}: sys.modules[module] = None\n{IMPORT}"
    shown = _run(f"{code}for name in gdpbridge.__all__: getattr(gdpbridge, name)\nprint('done')")
    assert shown.strip() == "done"


def test_help_is_quick() -> None:
    """`gdpbridge --help` takes less than half a second of processor time."""
    code = f"{HELP}\nimport time\nprint(time.process_time())"
    assert min(float(_run(code).splitlines()[-1]) for _ in range(3)) < 0.5
