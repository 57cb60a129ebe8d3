"""Trade-offs noise = g(ε, δ): inverted, refined and measured."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.tradeoff import Tradeoff

CASES = json.loads((Path(__file__).parents[1] / "data" / "tradeoff_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"])
def test_published_examples(case: dict[str, Any]) -> None:
    """The paper's two trade-offs: verdict, δ(0), μ and tail parameter."""
    profile = Tradeoff(case["text"], set=case["set"])
    found = gdp.measure(profile)
    assert found.verdict == case["verdict"]
    assert found.certified
    assert profile.delta(0.0) == pytest.approx(case["delta_0"], rel=1e-7)
    assert found.mu.low <= Decimal(case["mu"]) <= found.mu.high
    assert found.mu_tail is not None
    tail = math.inf if case["mu_tail"] is None else case["mu_tail"]
    assert found.mu_tail.lower == pytest.approx(tail, rel=1e-12)


@pytest.mark.slow
def test_same_mechanism_in_two_words() -> None:
    """The trade-off of the sgd family and that kind agree, with a crossing too."""
    for factor in (0.1, 0.5, 1, 3):
        text = "sigma = A/eps*sqrt(log(B/delta))"
        written = gdp.measure(Tradeoff(text, set={"A": 2, "B": factor, "sigma": 2}))
        known = gdp.measure(gdp.profiles.SGDFamily(A=2, B=factor, sigma=2))
        assert max(written.mu.low, known.mu.low) <= min(written.mu.high, known.mu.high)


def test_projected_noisy_sgd() -> None:
    """(0.2, e⁻²) costs 10·C unrefined; the refined curve of noise 8.086·C is as good there."""
    profile = Tradeoff("sigma = -C*log(delta)/eps", set={"C": 1, "sigma": 8.086})
    assert profile.delta(0.2) == pytest.approx(math.exp(-2), rel=1e-3)
    naive = Tradeoff("sigma = -C*log(delta)/eps", set={"C": 1, "sigma": 10}, naive=True)
    assert naive.delta(0.2) == pytest.approx(math.exp(-2), rel=1e-12)
    assert float(naive.delta(0.2)) > float(
        Tradeoff("sigma = -C*log(delta)/eps", set={"C": 1, "sigma": 10}).delta(0.2)
    )


@pytest.mark.parametrize(
    ("text", "g"),
    [
        pytest.param(
            "sigma = (log(1/delta) + sqrt(log(1/delta)))/eps",
            lambda eps, log: (-log + np.sqrt(-log)) / eps,
            marks=pytest.mark.deep,
        ),
        (
            "sigma = 2*sqrt(log(1.25/delta) + eps*delta)/eps",
            lambda eps, log: 2 * np.sqrt(np.log(1.25) - log + eps * np.exp(log)) / eps,
        ),
    ],
)
@pytest.mark.slow
def test_solver(text: str, g: Any) -> None:
    """Where delta cannot be isolated, the solution found satisfies the equation, and is proved."""
    profile = Tradeoff(text, set={"sigma": 2})
    eps = np.array([3.0, 5.0, 10.0])
    assert g(eps, np.asarray(profile.log_delta(eps))) == pytest.approx(2.0, rel=1e-9)
    found = gdp.measure(profile, eps_h=10, tol=1e-6)
    assert found.certified
    assert found.verdict == "unknown"
    grid = np.linspace(0, 10, 101)
    assert float(np.max(np.asarray(profile.gdpt(grid)))) <= found.mu.upper + 1e-9


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sigma = 1/eps", {"sigma": 1}),
        ("sigma = A/eps/delta", {"sigma": 1}),
        ("sigma = 1/eps/delta", {}),
        ("sigma = -log(delta)*eps", {"sigma": 1}),
    ],
)
def test_refused(text: str, values: dict[str, float]) -> None:
    """No delta, unknown names, or a δ that rises with ε."""
    with pytest.raises(InputError):
        gdp.identify(Tradeoff(text, set=values))


def test_plain_data_round_trip() -> None:
    """A trade-off survives being written as data, and is equal to what it was."""
    profile = Tradeoff("s = 1/eps/delta", set={"s": 4})
    assert gdp.load_profile(json.loads(json.dumps(profile.model_dump()))) == profile
