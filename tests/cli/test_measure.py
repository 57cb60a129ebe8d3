"""`gdpbridge measure`: values, text and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest

import gdpbridge
from gdpbridge.cli.mechanism import example

KEYS = [
    "schema",
    "mechanism",
    "verdict",
    "reason",
    "statement",
    "mu",
    "attained_at",
    "eps_h",
    "failure_probability",
    "log_failure_probability",
    "whole_range_mu",
    "tail",
    "certified",
    "method",
    "evaluations",
    "cells",
    "seconds",
    "notes",
    "by_failure",
    "profile_is",
    "proof",
]

# words, verdict, statement, a value that the interval holds
VALUES = [
    ("laplace --scale 0.5", "gdp", "whole", "1.80090519327558068"),
    ("laplace --scale 5", "gdp", "whole", "0.239105584"),
    ("pure-dp --epsilon 0.2", "gdp", "whole", "0.250483905"),
    ("sgd-family --A 2 --B 1 --sigma 2", "gdp", "whole", "1.85635728853160437"),
    ("icea --messages 20 --users 4", "not-gdp", "head", "11.884458614346213"),
    ("approx-dp --epsilon 1 --delta 1e-6", "not-gdp", "approximate", "1.232035385344900973"),
    ("gaussian --sigma 2", "gdp", "whole", "0.5"),
]


@pytest.mark.parametrize(("words", "verdict", "statement", "value"), VALUES)
def test_values(run: Callable, words: str, verdict: str, statement: str, value: str) -> None:
    """The documents of the checked mechanisms hold the known values, in at most 1e-9."""
    done = run(f"measure {words} --json")
    document = json.loads(done.out, parse_float=Decimal, parse_int=Decimal)
    assert (done.status, done.err) == (0, "")
    assert (document["verdict"], document["statement"]) == (verdict, statement)
    low, high = document["mu"]["low"], document["mu"]["high"]
    assert high - low <= Decimal("1e-9")
    # a value given to nine digits is a rounded one
    slack = Decimal("1e-9") if len(value) < 13 else 0
    assert low - slack <= Decimal(value) <= high + slack
    assert document["certified"] is True


def test_keys(run: Callable) -> None:
    """The keys of the document, and their order, are a contract."""
    document = run("measure laplace --scale 0.5 --json").document
    assert list(document) == KEYS
    assert document["schema"] == {"name": "gdpbridge.measurement", "version": 1}
    assert document["mechanism"] == {
        "kind": "laplace",
        "neighbours": None,
        "scale": 0.5,
        "sensitivity": 1.0,
    }
    assert list(document["mu"]) == list(document["whole_range_mu"]) == ["low", "high"]
    assert list(document["tail"]) == ["mu_t", "status"]
    assert document["tail"] == {"mu_t": {"low": 0, "high": 0}, "status": "proved"}
    assert (document["attained_at"], document["eps_h"]) == (0, None)
    assert (document["failure_probability"], document["log_failure_probability"]) == (0, "-inf")
    assert document["notes"] == []


def test_infinities(run: Callable) -> None:
    """Infinities are strings: μ_t, the whole-range μ, and a μ that does not exist."""
    document = run("measure approx-dp --epsilon 1 --delta 1e-6 --failure 1e-7 --json").document
    infinite = {"low": "inf", "high": "inf"}
    assert document["mu"] == document["whole_range_mu"] == document["tail"]["mu_t"] == infinite
    assert document["attained_at"] == "inf"


def test_failure_probability_is_as_given(run: Callable) -> None:
    """The failure probability of an approximate statement is the number written."""
    document = run("measure approx-dp --epsilon 1 --delta 1e-6 --json").document
    assert document["failure_probability"] == 1e-6
    document = run("measure laplace --scale 0.5 --failure 1e-3 --json").document
    assert (document["statement"], document["failure_probability"]) == ("approximate", 1e-3)
    assert document["mu"]["high"] <= document["whole_range_mu"]["high"]


def test_head(run: Callable) -> None:
    """--eps-h makes a head statement, with its end, δ there, and the μ of the whole range."""
    done = run("measure laplace --scale 0.5 --eps-h 1")
    assert done.rows["ε_h"] == "1"
    assert done.rows["p"].startswith("0.39347")
    assert done.rows["Whole range"] == "μ = 1.800905193… holds for every ε ≥ 0"
    document = run("measure laplace --scale 0.5 --eps-h 1 --json").document
    assert (document["statement"], document["eps_h"]) == ("head", 1)


def test_text(run: Callable) -> None:
    """The text says the verdict first, then why, μ, what it covers, and how it is known."""
    done = run("measure laplace --scale 0.5")
    assert done.out.startswith("laplace: scale b = 0.5, sensitivity Δ = 1\n\nVerdict ")
    expected = ["Verdict", "Because", "δ(ε)", "μ"]
    expected += ["Covers", "Attained", "Tail", "Proof", "Method"]
    assert list(done.rows)[1:] == expected
    assert done.rows["μ"] == "1.800905193…   in [1.80090519327, 1.80090519378]"
    assert done.rows["Proof"] == "both ends proved in ball arithmetic"
    assert done.rows["Method"].startswith("certified: ")


def test_not_gdp_is_an_answer(run: Callable) -> None:
    """A head statement about a mechanism that is not GDP exits with 0 and names what is left."""
    done = run("measure icea --messages 20 --users 4")
    assert done.status == 0
    assert done.rows["Verdict"].startswith("no finite μ follows from this bound")
    assert done.rows["Whole range"] == "no finite μ for every ε ≥ 0 follows from this bound"
    assert done.rows["Tail"] == "μ_t = ∞, proved"
    assert "neighbours replace-one" in done.out


def test_supremum_in_the_tail(run: Callable) -> None:
    """Where the tail parameter is the supremum, μ is attained in the limit."""
    done = run("measure sgd-family --A 2 --B 0.01 --sigma 2")
    assert done.rows["Attained"] == "in the limit ε → ∞"
    document = run("measure sgd-family --A 2 --B 0.01 --sigma 2 --json").document
    assert document["attained_at"] == "inf"


@pytest.mark.parametrize("digits", [1, 5, 30, 100])
def test_digits(run: Callable, digits: int) -> None:
    """--digits N measures to 10^-N and shows the certain digits, at most N after the point."""
    words = f"measure laplace --scale 0.5 --digits {digits}"
    document = json.loads(run(f"{words} --json").out, parse_float=Decimal)
    assert document["mu"]["high"] - document["mu"]["low"] <= Decimal(10) ** -digits
    shown = run(words).rows["μ"].split("…")[0]
    assert len(shown.partition(".")[2]) in {digits - 1, digits}
    known = "1.80090519327558068229230302842"
    assert shown.startswith(known[: len(shown)]) or shown.startswith(known)


@pytest.mark.parametrize(
    "words", ["gaussian --sigma 3", "gdp --mu 0.1", "icea --messages 20 --users 4"]
)
def test_thirty_digits(run: Callable, words: str) -> None:
    """The width is kept at thirty digits for curves that are known in closed form, too."""
    done = run(f"measure {words} --digits 30 --json")
    mu = json.loads(done.out, parse_float=Decimal)["mu"]
    assert mu["high"] - mu["low"] <= Decimal("1e-30")


def test_tol_goes_before_digits(run: Callable) -> None:
    """With both, --tol is the width and --digits the digits shown."""
    words = "measure laplace --scale 0.5 --digits 4 --tol 1e-12"
    assert run(words).rows["μ"].startswith("1.8009…")
    mu = run(f"{words} --json").document["mu"]
    assert mu["high"] - mu["low"] <= 1e-12


def test_no_certain_digit(run: Callable) -> None:
    """An interval whose ends share no digit is shown as an interval only."""
    assert run("measure laplace --scale 0.5 --tol 1").rows["μ"] == "in [1.80, 2.31]"


def test_floating_point_is_named(run: Callable) -> None:
    """A method without a proof says so, in the text and in the document."""
    words = "measure laplace --scale 0.5 --method adaptive --tol 1e-4"
    done = run(words)
    assert done.rows["Proof"] == "none: computed in floating point"
    assert "Notes" not in done.rows
    document = run(f"{words} --json").document
    assert document["certified"] is False
    assert document["notes"] == ["computed in floating point: not proved"]


def test_work_limit(run: Callable) -> None:
    """A method that would need too much refuses with the number, and status 4."""
    words = "measure laplace --scale 0.5 --method staircase"
    done = run(words)
    assert (done.status, done.out) == (4, "")
    assert "would need 10,026,513,100 evaluations" in done.err
    assert run(f"{words} --json").error["message"] == done.err.strip()


def test_options_before_the_mechanism(run: Callable) -> None:
    """The command's own options may stand before the mechanism."""
    before = run("measure --json --tol=1e-3 laplace --scale 0.5").document
    after = run("measure laplace --scale 0.5 --tol 1e-3 --json").document
    assert before["mu"] == after["mu"]


def test_option_names(run: Callable) -> None:
    """Options are the public names of the parameters, and A may be written a."""
    upper = run("measure sgd-family --A 2 --B 1 --sigma 2 --json").document
    lower = run("measure sgd-family --a 2 --b 1 --sigma 2 --json").document
    assert upper["mechanism"] == lower["mechanism"]
    document = run("measure randomized-response --noise-parameter 0.5 --json").document
    assert document["mechanism"]["buckets"] == 2
    document = run("measure laplace --scale 1 --neighbours add-remove --json").document
    assert document["mechanism"]["neighbours"] == "add-remove"


# a kind that is given as text has no typical value to show
NUMERIC = [
    kind
    for kind, cls in gdpbridge.profiles.kinds().items()
    if " --" in example("measure", cls) and "FILE" not in example("measure", cls)
]


@pytest.mark.parametrize("kind", NUMERIC)
def test_the_example_of_every_kind_runs(run: Callable, kind: str) -> None:
    """The example in the help of each mechanism, made from the registry, works."""
    words = example("measure", gdpbridge.profiles.kinds()[kind]).removeprefix("gdpbridge ")
    assert words.startswith(f"measure {kind} --")
    assert run(words).status == 0


def test_the_best_of_several_runs(run: Callable) -> None:
    """--tune is the best of a random number of runs, as in Python; a mean below 1 is refused."""
    found = run("measure zcdp --rho 0.01 --compose 2 --tune 10 --json").document
    same = gdpbridge.measure(gdpbridge.profiles.ZCDP(rho=0.01).compose(2).tune(10))
    assert float(found["mu"]["high"]) == float(same.mu.high)
    assert found["profile_is"] == "bound"
    for bad in ("x", "0.5"):
        done = run(f"measure zcdp --rho 0.01 --tune {bad}")
        assert done.status == 2
        assert f"--tune is {bad}: must be a number" in done.err
