"""Plans of training runs: each row meets the target, and a little less noise would not."""

from __future__ import annotations

import json

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


def test_rows_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """As data, as a table, as JSON of the command; a row that nothing meets has its reason."""
    words = "plan dpsgd --sample-rate 1 --steps 4,9 --mu 1"
    assert main(words.split()) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["steps", "noise", "multiplier"]
    assert len(out) == 3
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
