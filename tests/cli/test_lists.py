"""Lists and ranges of numbers, as ``convert`` takes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def test_lists_and_ranges(run: Callable) -> None:
    """A list, a range and a repeated option are the same places, exactly as decimals."""
    plain = run("convert --mu 1 --epsilon 0.1 --epsilon 0.2 --epsilon 0.3")
    assert plain.status == 0
    for words in ("0.1,0.2,0.3", "0.1:0.3:0.1", "0.1,0.2:0.35:0.1"):
        assert run(f"convert --mu 1 --epsilon {words}").out == plain.out
    assert run("convert laplace --scale 1 --delta 1e-5,1e-6").status == 0


@pytest.mark.parametrize("words", ["1:2", "1:2:0", "2:1:1", "0:1:1e-9", "a:b:c", "1:nan:1", "1,,2"])
def test_bad_lists(run: Callable, words: str) -> None:
    """What is no list is one sentence."""
    done = run(f"convert --mu 1 --epsilon {words}")
    assert done.status == 2
    assert done.err.startswith("--epsilon is ")


def test_several_mechanisms(run: Callable) -> None:
    """Several mechanisms are one table, or one document."""
    words = 'measure laplace --scale 0.5 --and "gaussian --sigma 2" --and "pure-dp --epsilon 1"'
    done = run(words)
    assert done.status == 0
    head, *lines = done.out.splitlines()
    assert head.split() == ["Mechanism", "Verdict", "Covers", "p", "μ", "Proved"]
    assert [line.split(":")[0] for line in lines] == ["laplace", "gaussian", "pure-dp"]
    assert "  1.800905193…  yes" in lines[0]
    found = run(f"{words} --json").document["measurements"]
    assert found[0]["mu"] == run("measure laplace --scale 0.5 --json").document["mu"]
    assert run('measure laplace --scale 1 --and "laplac --scale 1"').status == 2
    assert run('measure laplace --scale 1 --and "gdp --mu 1" --certificate x').status == 2


def test_is_it_so(run: Callable) -> None:
    """With ε and δ both given, the answer is whether δ(ε) ≤ δ, and the exit status says it."""
    # δ(1) = 1 - e^{-1/2}
    done = run("convert laplace --scale 0.5 --epsilon 1 --delta 0.4")
    assert (done.status, done.out[:16]) == (0, "δ(1) ≤ 0.4: yes;")
    assert run("convert laplace --scale 0.5 --epsilon 1 --delta 0.39").status == 3
    done = run("convert --mu 1 --epsilon 1,2 --delta 0.1 --json")
    assert [row["holds"] for row in done.document["table"]] == [False, True]
    assert done.status == 3
    assert run("convert --mu 1 --epsilon 1,2 --delta 0.1,0.2,0.3").status == 2
