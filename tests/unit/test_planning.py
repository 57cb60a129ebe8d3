"""Plans of training runs: each row meets the target, and a little less noise would not."""

from __future__ import annotations

import json
import shlex

import pytest

import gdpbridge as gdp
from gdpbridge.cli import main
from gdpbridge.errors import InputError

RUN = {"records": 1000, "epochs": 1, "batch_size": [10, 1000]}


@pytest.mark.slow
def test_each_row_meets_the_target() -> None:
    """ε at δ is proved to be at most the target, and close; the other numbers are the run's."""
    found = gdp.plan(**RUN, target_epsilon=2, target_delta=1e-5)
    assert [row.given["batch_size"] for row in found] == [10, 1000]
    for row in found:
        assert row.epsilon is not None
        assert row.epsilon.upper <= 2
        assert row.epsilon.lower == pytest.approx(2, rel=1e-5)
        assert row.profile is not None
        assert (row.solved, row.value) == ("noise_multiplier", row.noise_multiplier)
        rate = row.given["batch_size"] / 1000
        assert (row.sample_rate, row.steps) == (rate, round(1 / rate))
        assert row.noise_per_sample == pytest.approx(row.noise_multiplier / (rate * 1000))
        assert row.advantage == pytest.approx(row.profile.delta_bounds(0.0)[1])
    # without sampling, the noise of a Gaussian mechanism
    full = found[1]
    assert gdp.epsilon(1 / full.noise_multiplier, 1e-5) == pytest.approx(2, rel=1e-5)


def test_another_parameter() -> None:
    """The number of steps that a budget allows, the noise given."""
    (row,) = gdp.plan(sample_rate=1.0, noise_multiplier=2.0, target_mu=2.5)
    # μ = √steps/2
    assert (row.solved, row.value, row.steps) == ("steps", 25, 25)
    assert row.noise_per_sample is None
    assert repr(row) == "<PlanRow steps = 25>"


@pytest.mark.parametrize(
    ("solve", "given"),
    [
        ("epochs", {"batch_size": [100, 200], "records": 10_000}),
        ("batch_size", {"records": 10_000, "epochs": [2, 3]}),
        ("records", {"batch_size": 100, "steps": [100, 200]}),
        ("sample_rate", {"steps": [100, 200]}),
    ],
)
def test_any_parameter(solve: str, given: dict[str, object]) -> None:
    """The target is met at the value found and missed at the next one, which the row can show."""
    for row in gdp.plan(noise_multiplier=1.0, target_advantage=0.2, solve=solve, **given):
        assert row.solved == solve
        assert row.value == getattr(row.profile, solve)
        assert row.calibration is not None
        for profile, met in ((row.profile, True), (row.calibration.beyond_profile, False)):
            low, high = profile.delta_bounds(0.0)
            assert (high <= 0.2, low > 0.2) == (met, not met)
        if solve == "epochs":
            assert row.calibration.beyond_profile.steps == row.steps + 1


def test_a_row_names_the_command_that_proves_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The command of each row says yes."""
    for rest in (
        "1 --tpr 0.1 --fpr 0.05",
        "1 --epsilon 1 --delta 1e-4",
        "1 --advantage 0.3",
        "0.1 --mu 0.4",
    ):
        assert main(f"plan dpsgd --steps 100 --sample-rate {rest}".split()) == 0
        command = shlex.split(capsys.readouterr().out.splitlines()[-1])
        assert command[0] == "gdpbridge"
        assert main(command[1:]) == 0
        assert "Answer       true" in capsys.readouterr().out


def test_what_the_table_shows_is_on_the_safe_side() -> None:
    """Noise, μ and ε are rounded up, a sample rate down: the setting that is read meets it too."""
    (row,) = plan = gdp.plan(sample_rate=1, steps=7, target_epsilon=1, target_delta=1e-4)
    shown = dict(zip(*plan.table(), strict=True))
    assert float(shown["noise multiplier"]) >= row.noise_multiplier
    assert float(shown["μ"]) >= row.mu.upper
    assert float(shown["ε"]) >= row.epsilon.upper
    (row,) = plan = gdp.plan(noise_multiplier=3, steps=70, target_advantage=0.1)
    assert float(dict(zip(*plan.table(), strict=True))["sample rate"]) <= row.sample_rate


def test_rows_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """As data, as a table, as JSON of the command; a row that nothing meets has its reason."""
    words = "plan dpsgd --sample-rate 1 --steps 4,9 --mu 1"
    assert main(words.split()) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["steps", "noise", "multiplier"]
    assert len(out) == 6
    assert main([*words.split(), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["noise_multiplier"] for row in rows] == pytest.approx([2, 3], rel=1e-6)
    assert all(row["mu_high"] <= 1 for row in rows)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "laplace", "target_mu": 1}, "kind"),
        ({}, "target_epsilon"),
        ({"target_mu": 1, "steps": []}, "steps"),
        ({"target_mu": 1, "sample_rate": 0.5}, "parameter"),
        ({"target_mu": 1, "sample_rate": [0.5, 2], "steps": -1}, "target"),
    ],
)
def test_refused(given: dict[str, object], said: str) -> None:
    """What cannot be planned is refused with the field."""
    with pytest.raises(InputError, match=said):
        gdp.plan(**given)  # type: ignore[arg-type]
