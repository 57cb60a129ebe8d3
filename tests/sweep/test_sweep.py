"""Sweeps: rows in order, errors as rows, journals, executors; and the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.cli import main
from gdpbridge.errors import InputError
from gdpbridge.sweep import grid

P = gdp.profiles
SPECS: list[Any] = [
    P.Laplace(scale=0.5),
    {"kind": "gaussian", "sigma": 2},
    {"kind": "gaussian", "sigma": -1},
    {"kind": "icea", "messages": 20, "users": 4},
    *({"kind": "pure-dp", "epsilon": at / 8} for at in range(1, 16)),
    {"kind": "dpsgd", "noise_multiplier": 4, "sample_rate": 0.02, "steps": 50},
]


class Here(Executor):
    """Runs each task at once, in this process; counts them."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Killed(Here):
    """Stops at the second task."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.calls:
            raise KeyboardInterrupt
        return super().submit(fn, *args, **kwargs)


def without_times(rows: gdp.Sweep) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_rows() -> None:
    """Each row is what measure says of its mechanism, in order; a failed one is its error."""
    found = gdp.sweep(SPECS, Here(), delta=0.01)
    assert [row["index"] for row in found] == list(range(len(SPECS)))
    for row, spec in zip(found, SPECS, strict=True):
        if row["error"] is not None:
            continue
        profile = spec if isinstance(spec, P.Laplace) else gdp.load_profile(spec)
        measured = gdp.measure(profile)
        assert (row["mu_low"], row["mu_high"]) == (measured.mu.lower, measured.mu.upper)
        # a line made for μ serves ε too, and may differ in the last digits
        ends = pytest.approx(profile.epsilon_bounds(0.01), rel=1e-13)
        assert (row["epsilon_low"], row["epsilon_high"]) == ends
        assert row["verdict"] == measured.verdict
    errors = [row for row in found if row["error"] is not None]
    assert [row["index"] for row in errors] == [2]
    assert errors[0]["sigma"] == -1
    assert "sigma is -1" in errors[0]["error"]


def test_executors() -> None:
    """Threads and processes of this machine give the same rows."""
    few = SPECS[:3]
    here = without_times(gdp.sweep(few, Here()))
    with ThreadPoolExecutor(1) as pool:
        assert without_times(gdp.sweep(few, pool)) == here
    assert without_times(gdp.sweep(few, workers=1)) == here


def test_dask() -> None:
    """So does a Dask cluster on this machine."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with distributed.Client(**options, dashboard_address=None) as client:
        found = gdp.sweep(SPECS[:3], client.get_executor())
    assert without_times(found) == without_times(gdp.sweep(SPECS[:3], Here()))


@pytest.mark.slow
def test_ray() -> None:
    """So does Ray, by an executor of three lines, as docs/dpsgd.md has it."""
    ray = pytest.importorskip("ray")

    class OnRay(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return ray.remote(fn).remote(*args, **kwargs).future()

    with ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False):
        found = gdp.sweep(SPECS[:3], OnRay())
    assert without_times(found) == without_times(gdp.sweep(SPECS[:3], Here()))


def test_resumed(tmp_path: Path) -> None:
    """After a kill, what is finished is not computed again, and nothing else is taken."""
    journal = tmp_path / "rows.jsonl"
    with pytest.raises(KeyboardInterrupt):
        gdp.sweep(SPECS, Killed(), journal=journal)
    whole = gdp.sweep(SPECS, Here())
    assert journal.read_text(encoding="utf-8").count("\n") == 0
    first = Here()
    gdp.sweep(SPECS[:9], first, journal=journal)
    with journal.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut o')
    second = Here()
    assert without_times(gdp.sweep(SPECS, second, journal=journal)) == without_times(whole)
    assert (first.calls, second.calls) == (2, 2)
    third = Here()
    assert without_times(gdp.sweep(SPECS[::-1], third, journal=journal))[0]["index"] == 0
    assert third.calls == 0
    # another question is another row
    gdp.sweep(SPECS[:1], third, journal=journal, eps_h=1)
    assert third.calls == 1


def test_shown() -> None:
    """A sweep is rows, columns, a data frame, a table in a notebook, and one line."""
    found = gdp.sweep(SPECS[:3], Here())
    columns = found.to_dict()
    assert columns["error"][:2] == [None, None]
    assert found[:1].to_dict()["kind"] == ["laplace"]
    assert "<td>laplace</td>" in found._repr_html_()
    assert repr(found) == "<Sweep of 3 mechanisms, 1 of them failed>"
    frame = pytest.importorskip("pyarrow") and found.to_frame()
    assert frame.column("sigma").to_pylist() == [None, 2.0, -1.0]


def test_grids() -> None:
    """Every combination, the last parameter varying fastest; a range has its end."""
    made = grid({"kind": "x", "grid": {"a": [1, 2], "b": "0.1:0.3:0.1"}})
    assert [(one["a"], one["b"]) for one in made] == [
        (a, b) for a in (1, 2) for b in (0.1, 0.2, 0.3)
    ]
    for bad in ({"a": 1}, {"a": []}, {"a": "1:2"}, {"a": "1:2:0"}, 5):
        with pytest.raises(InputError, match="kind is missing"):
            grid({})
        with pytest.raises(InputError, match="grid"):
            grid({"kind": "x", "grid": bad})


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_command(
    tmp_path: Path,
    ending: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command writes the table, and takes its journal away."""
    # a process of its own takes seconds to start, and is tried above
    monkeypatch.setattr(sys.modules["gdpbridge.sweep"], "_running", lambda *_: nullcontext(Here()))
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    source = tmp_path / "grid.toml"
    source.write_text(
        'kind = "gaussian"\n[grid]\nsigma = [-1, 1, 2]\n[ask]\ndelta = 1e-5\n', encoding="utf-8"
    )
    target = tmp_path / f"out.{ending}"
    assert main(["sweep", str(source), "-o", str(target), "--workers", "1"]) == 0
    said = "3 rows, 1 of them with an error; row 0: sigma is -1.0: must be a finite number > 0"
    assert capsys.readouterr().out == f"{target}: {said}\n"
    assert [one.name for one in tmp_path.iterdir() if "rows" in one.name] == []
    if ending == "json":
        rows = json.loads(target.read_text(encoding="utf-8"))
        assert [row.get("mu_high") for row in rows] == [None, 1.0, 0.5]
    elif ending == "csv":
        assert target.read_text(encoding="utf-8").count("\n") == 4
    else:
        from pyarrow import parquet

        assert parquet.read_table(target).column("epsilon_low").to_pylist()[0] is None


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ('kind = "gaussian"\n[ask]\nepsilon = 1\n', [], "ask.epsilon"),
        ('kind = "gaussian"\n[grid]\nsigma = 1\n', [], "grid.sigma"),
        ('kind = "gaussian"\nsigma = 1\n', ["--workers", "0"], "workers"),
        ('kind = "gaussian"\nsigma = 1\n', ["-o", "out.xlsx"], "out.xlsx"),
        ('kind = "gaussian"\nsigma = 1\n', ["-o", "nowhere/out.csv"], "-o is nowhere/out.csv"),
        ("kind", [], "FILE is"),
    ],
)
def test_refused(
    tmp_path: Path, text: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input is one sentence and exit status 2."""
    source = tmp_path / "grid.toml"
    source.write_text(text, encoding="utf-8")
    output = [] if "-o" in words else ["-o", str(tmp_path / "out.csv")]
    assert main(["sweep", str(source), *output, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
