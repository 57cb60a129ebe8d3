"""DP-SGD in the words people have: batch size, records, epochs, and Opacus's rule."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import jsonschema
import pytest

import gdpbridge as gdp
from gdpbridge.cli import main
from gdpbridge.specification.schema import mechanism_schema


def _run(**words: Any) -> gdp.profiles.DPSGD:
    return gdp.profiles.DPSGD(noise_multiplier=1, **words)


@pytest.mark.parametrize(
    ("words", "rate", "steps"),
    [
        ({"batch_size": 256, "records": 60_000, "epochs": 60}, Fraction(256, 60_000), 14_063),
        ({"batch_size": 250, "records": 60_000, "epochs": 60}, Fraction(1, 240), 14_400),
        ({"sample_rate": "256/60000", "steps": 10}, Fraction(256, 60_000), 10),
        ({"sample_rate": 0.01, "epochs": 2.5}, Fraction(1, 100), 250),
        (
            {"batch_size": 256, "records": 60_000, "epochs": 60, "like": "opacus"},
            Fraction(1, 235),
            14_100,
        ),
        ({"batch_size": 9, "records": 5, "epochs": 3, "like": "opacus"}, Fraction(1), 3),
        ({"batch_size": 1, "records": 93, "epochs": 3, "like": "opacus"}, Fraction(1, 93), 279),
    ],
)
def test_rate_and_steps(words: dict[str, Any], rate: Fraction, steps: int) -> None:
    """They follow exactly, a part of a step counts as one, and plain data give the same again."""
    run = _run(**words)
    assert run.exact("sample_rate") == rate
    assert run.sample_rate == float(rate)
    assert run.steps == steps
    assert type(run)(**run.model_dump()) == run
    assert any("derived: " in said for said in run.remarks)


def test_the_same_run_in_other_words() -> None:
    """Old words and new ones give one δ, and nothing is said to be derived of the old ones."""
    old = _run(sample_rate=0.01, steps=300)
    new = _run(batch_size=6, records=600, epochs=3)
    assert old.delta(0.5) == new.delta(0.5)
    assert not any("derived" in said for said in old.remarks)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"batch_size": 256, "steps": 3}, "records is missing: give both"),
        ({"batch_size": 9, "records": 90}, "steps is missing: give a whole number"),
        ({"records": 60_000, "epochs": 3}, "batch_size is missing: give both"),
        ({"epochs": 3}, "sample_rate is missing: epochs need it"),
        ({"steps": 3}, "sample_rate is missing: give a number in [0, 1]"),
        (
            {"batch_size": 9, "records": 90, "epochs": 60, "steps": 3},
            "steps: 3 are not the 600 of 60 epochs: give one of them",
        ),
        (
            {"batch_size": 9, "records": 90, "sample_rate": 0.2, "steps": 3},
            "sample_rate: 0.2 is not the 9/90 of batch_size and records",
        ),
        (
            {"batch_size": 8, "records": 90, "sample_rate": "9/90", "steps": 3},
            "sample_rate: 9/90 is not that of batch_size",
        ),
        ({"batch_size": 91, "records": 90, "steps": 3}, "batch_size is 91: must be at most 90"),
        ({"batch_size": 0, "records": 90, "epochs": 3}, "batch_size is 0: must be a whole"),
        ({"batch_size": "x", "records": 90, "epochs": 3}, "batch_size is 'x': must be a whole"),
        ({"batch_size": 9, "records": 90, "epochs": 0}, "epochs is 0: must be a number > 0"),
        ({"sample_rate": "9/0", "steps": 3}, "sample_rate is '9/0': must be a number"),
        ({"sample_rate": "a tenth", "steps": 3}, "sample_rate is 'a tenth': must be a number"),
        ({"sample_rate": 0.1, "steps": 3, "like": "opacus"}, "batch_size is missing: like opacus"),
        (
            {"batch_size": 9, "records": 90, "like": "opacus"},
            "epochs is missing: the steps are counted by them",
        ),
        ({"batch_size": 9, "records": 90, "epochs": 1, "like": "x"}, "like is 'x': must be opacus"),
        ({"sample_rate": 0, "epochs": 1}, "epochs: at sample rate 0 none ends: give steps"),
    ],
)
def test_what_is_refused(words: dict[str, Any], sentence: str) -> None:
    """What is missing, ambiguous or contradicts itself is told in one sentence with its field."""
    with pytest.raises(gdp.InputError) as refused:
        _run(**words)
    assert str(refused.value).startswith(sentence)


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What was derived is printed as text and in JSON, and a fraction is read."""
    run = "dpsgd --noise-multiplier 1 --batch-size 6 --records 600 --epochs 3"
    told = "derived: sample rate 6/600 = 0.01; 300 steps for 3 epochs"
    assert main(f"measure {run} --failure 1e-3 --tol 1e-2".split()) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    assert main(f"measure {run} --failure 1e-3 --tol 1e-2 --json".split()) == 0
    document = json.loads(capsys.readouterr().out)
    assert told in document["notes"]
    mechanism = document["mechanism"]
    assert (mechanism["sample_rate"], mechanism["steps"]) == (0.01, 300)
    fraction = "dpsgd --noise-multiplier 1 --sample-rate 6/600 --steps 300"
    assert main(f"measure {fraction} --failure 1e-3 --tol 1e-2 --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["mu"] == document["mu"]
    assert main(["measure", "dpsgd", "--noise-multiplier", "1", "--epochs", "3"]) == 2
    assert capsys.readouterr().err.startswith("--sample-rate is missing: epochs need it")


def test_in_a_file(tmp_path: Any) -> None:
    """Specifications take the same words, and the schema lets them pass."""
    plain = {
        "kind": "dpsgd",
        "noise_multiplier": 1,
        "sample_rate": "6/600",
        "epochs": 3,
    }
    jsonschema.Draft202012Validator(mechanism_schema()).validate(plain)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(plain))
    assert gdp.load_profile(path) == _run(batch_size=6, records=600, epochs=3)


def test_calibrating_what_is_left() -> None:
    """The noise is the one parameter to find where rate and steps follow from other words."""
    found = gdp.calibrate("dpsgd", 0.5, tol=1e-2, batch_size=1, records=1, epochs=4)
    assert found.parameter == "noise_multiplier"
    assert found.value == pytest.approx(4, rel=1e-1)
