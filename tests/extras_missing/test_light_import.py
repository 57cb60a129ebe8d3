"""The package imports quickly, and without anything optional."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OPTIONAL = [
    "alembic",
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
HEAVY = ["scipy", *OPTIONAL]
# what the first word of a command line needs none of
NUMBERS = ["flint", "gmpy2", "lark", "numpy", "pydantic", "rich", *HEAVY]

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


@pytest.mark.parametrize("code", [IMPORT, HELP.format(words=["--help"])])
def test_nothing_is_loaded_before_it_is_used(code: str) -> None:
    """`import gdpbridge` and `gdpbridge --help` load no numbers, models or parsers."""
    shown = _run(f"{code}\nprint('loaded:', *[m for m in {NUMBERS} if m in sys.modules])")
    assert shown.splitlines()[-1].strip() == "loaded:"


def test_one_mechanism_is_loaded_without_the_others() -> None:
    """Measuring a kind loads neither the other kinds, nor formulas, certificates or ledgers."""
    code = HELP.format(words=["measure", "laplace", "--scale", "0.5"])
    shown = _run(f"{code}\nprint('loaded:', *sys.modules)").splitlines()[-1].split()
    assert "gdpbridge.mechanisms.laplace" in shown
    spare = ["mechanisms.pld", "mechanisms.formula", "losses", "expressions", "plot", "ledger"]
    others = [f"gdpbridge.{name}" for name in [*spare, "certificate.write", "cli.ledger"]]
    assert not {*others, "lark", *OPTIONAL} & set(shown)


def test_a_command_loads_what_it_uses(tmp_path: Path) -> None:
    """Commands on one mechanism or one number load neither the other kinds nor SciPy."""
    certificate = str(tmp_path / "c.json")
    commands = [
        ["measure", "laplace", "--scale", "0.5", "--certificate", certificate],
        ["verify", certificate],
        ["identify", "laplace", "--scale", "0.5"],
        ["check", "laplace", "--scale", "0.5", "--claim", "mu=2"],
        ["calibrate", "laplace", "--mu", "1"],
        ["convert", "laplace", "--scale", "0.5", "--delta", "1e-5"],
        ["convert", "--mu", "1", "--delta", "1e-5"],
        ["risk", "--mu", "1"],
    ]
    code = "".join(HELP.format(words=words) for words in commands)
    loaded = set(_run(f"{code}\nprint('loaded:', *sys.modules)").splitlines()[-1].split())
    spare = {"gdpbridge.mechanisms.pld", *HEAVY}
    assert not spare & loaded, spare & loaded


def test_a_public_function_is_not_hidden_by_its_module() -> None:
    """`gdpbridge.measure` is the function, also once the module of that name is imported."""
    names = ["calibrate", "compose", "identify", "measure", "risk"]
    code = "".join(f"import gdpbridge.{name}\n" for name in names)
    shown = _run(f"{code}print(*[callable(getattr(gdpbridge, name)) for name in {names}])")
    assert shown.split() == ["True"] * len(names)


LEDGER = f"""\
for module in {OPTIONAL}: sys.modules[module] = None
from gdpbridge.cli import main
import gdpbridge
cert, ledger = sys.argv[1:]
assert main(["measure", "laplace", "--scale", "0.5", "--certificate", cert]) == 0
assert main(["verify", cert]) == 0
statuses = [main(["ledger", *words, "--ledger", ledger]) for words in (
    ["init"], ["status"], ["spend", "x", "--mu", "1", "--purpose", "a"], ["import", cert],
)]
assert statuses == [2] * 4, statuses
try:
    gdpbridge.ledger.Ledger(ledger)
except gdpbridge.MissingExtraError as error:
    assert error.extra == "ledger"
"""


def test_all_but_the_ledger_works_without_its_libraries(tmp_path: Path) -> None:
    """Without the extra, measuring and verifying work, and each ledger command is one sentence."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{LEDGER}", tmp_path / "c.json", tmp_path / "l.sqlite"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sentence = "a ledger needs an extra: pip install 'gdpbridge[ledger]'"
    assert done.stderr.splitlines() == [sentence] * 4
    assert not (tmp_path / "l.sqlite").exists()


def test_every_public_name_without_extras() -> None:
    """Every public name can be had when no optional module is installed."""
    code = f"for module in {OPTIONAL}: sys.modules[module] = None\n{IMPORT}"
    shown = _run(f"{code}for name in gdpbridge.__all__: getattr(gdpbridge, name)\nprint('done')")
    assert shown.strip() == "done"
