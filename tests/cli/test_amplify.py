"""`gdpbridge amplify`: plans, and samples of files drawn by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ICEA = "icea --messages 20 --users 4"


def test_clip_rectify(run: Callable) -> None:
    """Verdict gdp, the theorem's μ and the smaller one of the joint profile."""
    done = run(f"amplify clip-rectify {ICEA} --eps-h 10 --lower 0 --upper 1 --json")
    assert (done.status, done.err) == (0, "")
    document = done.document
    assert document["schema"] == {"name": "gdpbridge.clip-rectify", "version": 1}
    assert document["mechanism"]["kind"] == "icea"
    assert (document["verdict"], document["statement"]) == ("gdp", "whole")
    assert document["mu"]["low"] <= 3.07274090096111686 <= document["mu"]["high"]
    assert document["head_mu"]["low"] <= 3.31242283115696897 <= document["head_mu"]["high"]
    assert (document["lower"], document["upper"], document["eps_h"]) == (0, 1, 10)
    assert (document["scale"], document["sensitivity"]) == (0.1, 1)
    assert document["mean_absolute_error"] == 0.1
    assert document["standard_deviation"] == pytest.approx(0.1 * 2**0.5, rel=1e-15)
    assert document["certified"] is True


def test_clip_rectify_of_a_vector(run: Callable) -> None:
    """Bounds with commas are those of a vector."""
    done = run(f"amplify clip-rectify {ICEA} --eps-h 10 --lower -1,0 --upper 1,3 --json")
    assert (done.document["lower"], done.document["upper"]) == ([-1, 0], [1, 3])
    assert done.document["scale"] == 0.5
    assert any("L1 diameter" in note for note in done.document["notes"])


def test_clip_rectify_as_text(run: Callable) -> None:
    """The text says what to do, what it costs and what it gives."""
    done = run(f"amplify clip-rectify {ICEA} --eps-h 10 --lower 0 --upper 1")
    assert done.status == 0
    assert done.rows["Then add"] == "Laplace noise of scale 0.1"
    assert done.rows["μ"].startswith("3.07274090…")
    assert done.rows["Theorem's μ"].startswith("3.312422831…")
    assert done.rows["Covers"].endswith("the mechanism is μ-GDP")
    assert done.rows["Added error"] == "0.1 in the mean, 0.141421 as a standard deviation"


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
def test_subsample(run: Callable, scheme: str) -> None:
    """The rate is a bracket: safe at its lower end, and close."""
    done = run(f"amplify subsample laplace --scale 0.5 --mu 1 --scheme {scheme} --json")
    assert (done.status, done.err) == (0, "")
    document = done.document
    assert document["schema"] == {"name": "gdpbridge.subsample", "version": 1}
    assert document["scheme"] == scheme
    assert document["rate"] < document["beyond"] < document["rate"] * (1 + 1e-8)
    assert 1 - 2e-9 < document["mu"]["low"] <= document["mu"]["high"] <= 1
    assert document["mu_before"]["low"] <= 1.800905193275604 <= document["mu_before"]["high"]
    assert (document["certified"], document["statement"]) == (True, "whole")


def test_subsample_as_text(run: Callable) -> None:
    """The text gives the rate first, with its scheme."""
    done = run("amplify subsample laplace --scale 0.5 --mu 2")
    assert done.rows["Rate"] == "1, poisson"
    assert done.rows["Target"] == "μ ≤ 2"
    assert done.rows["Notes"] == "the target is met without sampling"


def test_subsample_for_a_head(run: Callable) -> None:
    """A target for the head says so, with its ε_h and what is left beyond."""
    done = run("amplify subsample gaussian --sigma 0.5 --mu 1 --eps-h 5")
    assert done.rows["ε_h"] == "5"
    assert float(done.rows["p"]) < 1


def test_target_of_a_mechanism_with_a_mu(run: Callable) -> None:
    """Where --mu is the mechanism's, the target is --target-mu."""
    done = run("amplify subsample gdp --mu 2 --target-mu 1 --eps-h 3 --json")
    assert done.document["mechanism"]["mu"] == 2
    assert done.document["target_mu"] == 1
    assert run("amplify subsample laplace --scale 0.5 --target-mu 1").status == 0


def test_sample_of_a_file(run: Callable, tmp_path: Path) -> None:
    """With --input and --output a sample is drawn at the plan's rate."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id\n" + "".join(f"{row}\n" for row in range(1000)))
    words = "amplify subsample laplace --scale 0.5 --mu 1 --scheme without-replacement"
    done = run(f"{words} --input {source} --output {target} --json")
    assert done.status == 0
    lines = target.read_text().splitlines()
    assert lines[0] == "id"
    assert len(lines) == 1 + int(1000 * done.document["rate"])


@pytest.mark.parametrize(
    ("words", "field", "message"),
    [
        (f"clip-rectify {ICEA} --eps-h 10 --lower 0", "--upper", "--upper is missing: "),
        (f"clip-rectify {ICEA} --eps-h 10 --lower 1 --upper 0", "--upper", "must be above lower"),
        (f"clip-rectify {ICEA} --eps-h 10 --lower a --upper 0", "--lower", "a number, or several"),
        (f"clip-rectify {ICEA} --eps-h 0 --lower 0 --upper 1", "--eps-h", "must be a number > 0"),
        ("clip-rectify", "mechanism", "mechanism is missing: gdpbridge amplify clip-rectify needs"),
        ("subsample laplace --scale 0.5", "--mu", "--mu is missing: "),
        ("subsample laplace --scale 0.5 --mu 0", "--mu", "--mu is 0: must be a number > 0"),
        ("subsample gdp --mu 2 --target-mu 1", "--target-mu", "must be at least 2"),
        ("subsample laplace --scale 0.5 --mu 1 --scheme x", "--scheme", "must be one of poisson"),
        ("subsample laplace --scale 0.5 --mu 1 --input a.csv", "--output", "is missing"),
        (
            "subsample laplace --scale 0.5 --mu 1 --input no.csv --output b.csv",
            "--input",
            "--input is no.csv: must be a file that exists",
        ),
        ("magic", "command", "command is magic: must be one of clip-rectify, subsample"),
    ],
)
def test_bad_words(run: Callable, words: str, field: str, message: str) -> None:
    """What is wrong is told in one sentence that names the option as typed, and the status is 2."""
    done = run(f"amplify {words}")
    assert done.status == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.count("\n") == 1
    assert run(f"amplify {words} --json").error["field"] == field
