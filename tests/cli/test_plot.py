"""``gdpbridge plot``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("picture", ["profile", "gdpt", "tradeoff", "attack", "staircase"])
def test_pictures(run: Callable, folder: Path, picture: str) -> None:
    """Each picture is written, and described on standard output."""
    done = run(f"plot {picture} laplace --scale 0.5 -o {picture}.svg")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{picture}.svg: ")
    assert (folder / f"{picture}.svg").stat().st_size > 5000


def test_several_mechanisms(run: Callable, folder: Path) -> None:
    """Mechanisms of --with stand in the same picture, also from files, with labels."""
    (folder / "other.toml").write_text('kind = "laplace"\nscale = 2\n')
    done = run(
        "plot profile laplace --scale 0.5 --with 'icea --messages 20 --users 4' "
        "--with '--spec other.toml' --label a --label b --label c --mu 1 -o p.svg --json"
    )
    assert done.status == 0
    assert done.document["schema"] == {"name": "gdpbridge.picture", "version": 1}
    names = {row["name"] for row in done.document["data"]}
    assert names == {"a", "b", "c", "δ_μ, μ = 1"}


def test_own_mu_of_a_mechanism(run: Callable, folder: Path) -> None:
    """A mechanism keeps its --mu; the curve beside it has another spelling."""
    done = run("plot tradeoff gdp --mu 1 --gaussian-mu 2 -o t.svg")
    assert done.status == 0
    assert "gdp: μ = 1, μ = 2" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plot gdpt laplace --scale 0.5 -o x.gif", "-o is x.gif: must be a file that ends in"),
        ("plot gdpt laplace --scale 0.5 -o no/x.png", "must be a file in a folder that exists"),
        ("plot gdpt laplace --scale 0.5", "--output is missing"),
        ("plot gdpt laplace --scale 0.5 --eps-max 0 -o x.png", "--eps-max is 0"),
        (
            "plot gdpt laplace --scale 0.5 --eps-h 1 --failure 0.1 -o x.png",
            "--eps-h and --failure: give one",
        ),
        ("plot profile laplace --scale 0.5 --mu -1 -o x.png", "--mu is -1"),
        ("plot profile laplace --scale 0.5 --with 'laplace --scale -1' -o x.png", "--scale is -1"),
        ("plot profile laplace --scale 0.5 --with laplce -o x.png", "did you mean laplace?"),
        ("plot staircase laplace --scale 0.5 --width 9 -o x.png", "--width is 9"),
        ("plot nothing", "picture is nothing: must be one of profile, gdpt"),
    ],
)
def test_refusals(run: Callable, folder: Path, words: str, message: str) -> None:
    """Bad input is one sentence, exit status 2, and leaves no file."""
    done = run(words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_without_the_extra(run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra one sentence says how to install it."""
    monkeypatch.setitem(sys.modules, "altair", None)
    done = run("plot profile laplace --scale 0.5 -o x.png")
    assert (done.status, done.out) == (2, "")
    assert "pip install 'gdpbridge[charts]'" in done.err
