"""The largest rate that reaches a target μ: a bracket proved at both ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.amplify.subsample import subsampling_plan
from gdpbridge.errors import InputError

LAPLACE = gdp.profiles.Laplace(scale=0.5)


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
def test_bracket(scheme: str) -> None:
    """μ is at most the target at the safe end and above it at the other, a hair away."""
    plan = subsampling_plan(LAPLACE, 1, scheme=scheme)
    assert plan.beyond is not None
    assert plan.rate < plan.beyond < plan.rate * (1 + 1e-8)
    safe = gdp.measure(LAPLACE.subsample(plan.rate, scheme=scheme))
    assert safe.mu == plan.mu
    assert safe.mu.high <= 1
    assert float(safe.mu.low) > 1 - 2e-9
    assert gdp.measure(LAPLACE.subsample(plan.beyond, scheme=scheme)).mu.low > 1
    assert plan.measurement.certified
    assert (
        plan.profile.neighbours
        == {
            "poisson": "add-remove",
            "without-replacement": "replace-one",
        }[scheme]
    )


def test_known_rate() -> None:
    """With the target of math.md's check, μ = 0.97828 at γ = 0.5, the rate is 0.5."""
    exact = gdp.measure(LAPLACE.subsample(0.5), tol=1e-15).mu
    plan = subsampling_plan(LAPLACE, exact.high, tol=1e-12)
    assert plan.rate == pytest.approx(0.5, abs=1e-11)


def test_target_met_by_all_the_data() -> None:
    """Where the mechanism is safe enough already the rate is 1."""
    plan = subsampling_plan(LAPLACE, 2)
    assert (plan.rate, plan.beyond) == (1, None)
    assert plan.mu == plan.before.mu
    assert plan.notes == ("the target is met without sampling",)


def test_head_target() -> None:
    """A target for the head alone is met on the head."""
    icea = gdp.profiles.ICEA(messages=20, users=4)
    plan = subsampling_plan(icea, 1, eps_h=5, scheme="without-replacement")
    assert plan.measurement.statement == "head"
    assert plan.mu.high <= 1
    assert plan.measurement.eps_h == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mu": 0}, "mu is 0: must be a number > 0"),
        ({"mu": "x"}, "mu is 'x': must be a number > 0"),
        ({"mu": float("nan")}, "mu is nan: must be a number > 0"),
        ({"mu": float("inf")}, "mu is inf: must be a number > 0"),
        ({"scheme": "with-replacement"}, "scheme is .*: must be one of poisson, without-repl"),
        ({"profile": 3}, "profile is 3: must be a profile"),
        (
            {"profile": gdp.profiles.Gaussian(sigma=0.5)},
            "mu is 1.*: must be at least 2",
        ),
        (
            {"profile": gdp.profiles.ICEA(messages=20, users=4), "eps_h": 5},
            "scheme is 'poisson': must be one stated for replace-one",
        ),
    ],
)
def test_refuses(given: dict[str, Any], message: str) -> None:
    """What is not allowed, or cannot be reached, is refused in one sentence."""
    arguments: dict[str, Any] = {"profile": LAPLACE, "mu": 1, **given}
    with pytest.raises(InputError, match=message):
        subsampling_plan(arguments.pop("profile"), arguments.pop("mu"), **arguments)


def test_draws_at_its_rate(tmp_path: Path) -> None:
    """The plan's own samples have its scheme and rate."""
    plan = subsampling_plan(LAPLACE, 1, scheme="without-replacement")
    (tmp_path / "in.csv").write_text("id\n" + "".join(f"{row}\n" for row in range(1000)))
    expected = int(plan.rate * 1000)
    assert plan.sample_file(tmp_path / "in.csv", tmp_path / "out.csv") == expected
    pytest.importorskip("narwhals")
    arrow = pytest.importorskip("pyarrow")
    assert plan.sample(arrow.table({"id": range(1000)})).num_rows == expected
