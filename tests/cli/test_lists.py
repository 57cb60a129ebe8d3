"""Lists and ranges of numbers, as ``convert`` takes them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from gdpbridge.errors import UndecidedError
from gdpbridge.measure.statements import Request


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


def test_one_of_several_may_be_undecided(run: Callable) -> None:
    """It is a row with what is known, and the exit status says so; the others are answered."""
    words = 'measure laplace --scale 1 --and "gaussian --sigma 2" --method staircase'
    done = run(words)
    assert done.status == 4
    _, first, second, why = done.out.splitlines()
    assert "undecided" in first
    assert "in [0, ∞]" in first
    assert second.split()[-2:] == ["0.5", "yes"]
    assert why.startswith("undecided: laplace: scale b = 1, sensitivity Δ = 1: method staircase")
    found = run(f"{words} --json")
    assert found.status == 4
    assert [one["schema"]["name"] for one in found.document["measurements"]] == [
        "gdpbridge.undecided",
        "gdpbridge.measurement",
    ]
    assert found.document["measurements"][0]["mu"] == {"low": 0, "high": "inf"}
    assert run("measure laplace --scale 1 --method staircase").status == 4


def test_one_failure_probability_may_be_undecided(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its μ is then between those of its neighbours, the rest stands, and the status says so."""
    words = "measure dpsgd --noise-multiplier 2 --sample-rate 0.1 --steps 100 --tol 1e-5 --json"
    before = run(words)
    assert before.status == 0
    mu = {row["failure_probability"]: row["mu"] for row in before.document["by_failure"]}
    measured = Request._approximate

    def not_always(self: Request, p: Fraction) -> object:
        if p in (Fraction(1, 10**8), Fraction(1, 10**20)):
            raise UndecidedError("not now")
        return measured(self, p)

    monkeypatch.setattr(Request, "_approximate", not_always)
    done = run(words)
    assert done.status == 4
    assert done.document["mu"] == before.document["mu"]
    rows = {row["failure_probability"]: row for row in done.document["by_failure"]}
    assert [p for p, row in rows.items() if not row["decided"]] == [1e-8, 1e-20]
    assert rows[1e-8]["mu"] == {"low": mu[1e-5]["low"], "high": mu[1e-10]["high"]}
    assert rows[1e-20]["mu"]["low"] == mu[1e-15]["low"]
    assert rows[1e-20]["mu"]["high"] == before.document["whole_range_mu"]["high"]
    for p in (1e-8, 1e-20):
        assert rows[p]["mu"]["low"] <= mu[p]["low"] <= mu[p]["high"] <= rows[p]["mu"]["high"]
    assert "at p = 1e-08 it is undecided: not now" in done.document["notes"]
    assert "undecided, at least" in run(words.removesuffix(" --json")).out


def test_pairs_may_be_lists(run: Callable) -> None:
    """Without a mechanism each ε, or each pair, has its μ."""
    rows = run("convert --epsilon 1:3:1 --delta 1e-5 --json").document["table"]
    assert [row["epsilon"] for row in rows] == [1, 2, 3]
    for row in rows:
        (one,) = run(f"convert --epsilon {row['epsilon']:g} --delta 1e-5 --json").document["table"]
        assert one["mu"] == row["mu"]
    assert len(run("convert --epsilon 1,2 --json").document["table"]) == 2


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
