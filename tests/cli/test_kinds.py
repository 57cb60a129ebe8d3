"""``gdpbridge kinds`` lists the mechanisms, and shows what one of them declares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.profiles import kinds


def test_a_line_on_each(run: Callable) -> None:
    """Every kind has one line, in order, with its summary."""
    done = run("kinds")
    assert (done.status, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == list(kinds())


@pytest.mark.parametrize("kind", list(kinds()))
def test_one_kind(run: Callable, kind: str) -> None:
    """A kind's page has its formula, what δ is, its parameters, and whether it has certificates."""
    page = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")
    shown = run(f"kinds {kind}").out
    (found,) = run(f"kinds {kind} --json").document["kinds"]
    assert found["certificate"] == (f"| {kind} | yes |" in page)
    assert found["about"] in shown
    for name in kinds()[kind].parameters():
        assert f"--{name.replace('_', '-')}" in shown


def test_an_unknown_kind(run: Callable) -> None:
    """A misspelt kind is bad input, with a hint."""
    done = run("kinds lapace")
    assert done.status == 2
    assert "did you mean laplace?" in done.err


@pytest.mark.parametrize(
    ("kind", "schemes"),
    [
        ("laplace", ["poisson", "without-replacement", "with-replacement"]),
        ("truncated-laplace", ["poisson", "without-replacement"]),
        ("randomized-response", ["without-replacement"]),
        ("thresholded-release", ["poisson"]),
        ("dpsgd", []),
    ],
)
def test_samples(run: Callable, kind: str, schemes: list[str]) -> None:
    """How samples may be drawn is told, and every other way is refused."""
    (found,) = run(f"kinds {kind} --json").document["kinds"]
    assert found["sampling"] == schemes
    profile = kinds()[kind](
        **{
            "laplace": {"scale": 2},
            "truncated-laplace": {"scale": 2, "delta": 0.01},
            "randomized-response": {"epsilon": 1},
            "thresholded-release": {"noise": "gaussian", "scale": 1, "threshold": 9},
            "dpsgd": {"noise_multiplier": 1, "sample_rate": 0.1, "steps": 2},
        }[kind]
    )
    for scheme in ("poisson", "without-replacement", "with-replacement"):
        size = {"sample": 2, "population": 9} if scheme != "poisson" else {"rate": 0.1}
        if scheme in schemes:
            assert profile.subsample(scheme=scheme, **size).delta(0) < profile.delta(0)
        else:
            with pytest.raises(gdp.InputError):
                _ = profile.subsample(scheme=scheme, **size).curve


def test_the_kinds_that_compose_are_told_from_the_registry() -> None:
    """A kind without a privacy loss is refused with all that have one, and no other."""
    with pytest.raises(gdp.InputError) as caught:
        gdp.profiles.Formula(text="delta = exp(-eps**2)").compose(3)
    told = str(caught.value).partition("composition: ")[2].removesuffix(", or a sample")
    known = told.split(", ")
    assert {"dpsgd", "densities", "table", "truncated-batches"} <= set(known)
    assert {"formula", "icea", "sgd-family", "skellam"}.isdisjoint(known)
    assert known == [kind for kind in kinds() if kind in known]
