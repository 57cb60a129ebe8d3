"""Poisson batches that are cut at a largest size, against what they are and dp_accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import gdpbridge as gdp
from gdpbridge.numeric.exact import exact
from gdpbridge.sources.dp_accounting import event_of_profile

P = gdp.profiles
RUN: dict[str, Any] = {"noise_multiplier": 1, "sample_rate": 0.01, "steps": 100}
RELATIONS = ("add-remove", "zero-out", "replace-one")


def chance(records: int, most: int, rate: Fraction) -> Fraction:
    """That so many of all other records are sampled, added up."""
    others = records - 1
    ways = range(most, others + 1)
    return sum(
        (math.comb(others, k) * rate**k * (1 - rate) ** (others - k) for k in ways), Fraction(0)
    )


@pytest.mark.parametrize(("records", "most"), [(300, 20), (40, 3), (40, 39)])
def test_the_chance_that_a_batch_is_cut(records: int, most: int) -> None:
    """Some of T steps has a binomial tail, rounded up, and that counts as a failure."""
    profile = P.TruncatedBatches(
        noise_multiplier=1, sample_rate=0.01, steps=3, records=records, max_batch_size=most
    )
    wanted = 1 - (1 - chance(records, most, Fraction(1, 100))) ** 3
    failing = profile.run.parts[1].exact("delta0")  # type: ignore[attr-defined]
    assert wanted <= failing <= wanted * (1 + Fraction(1, 10**15))
    assert f"at most {float(failing):.6g}, counted as a failure" in profile.remarks[0]
    assert profile.profile_is is gdp.Nature.BOUND


@pytest.mark.parametrize("relation", RELATIONS)
def test_as_dpsgd_where_nothing_is_cut(relation: Any) -> None:
    """With room for all records it is the same run; else δ is larger by less than the failure."""
    run = P.DPSGD(**RUN, neighbours=relation)
    roomy, cut = (
        P.TruncatedBatches(**RUN, records=1000, max_batch_size=most, neighbours=relation)
        for most in (1000, 25)
    )
    assert (roomy.run, roomy.profile_is) == (run, run.profile_is)
    failing = float(cut.run.parts[1].exact("delta0"))  # type: ignore[attr-defined]
    assert 1e-6 < failing < 1e-2
    low, high = run.delta_bounds(1.0)
    assert low < cut.delta_bounds(1.0)[1] <= high + failing
    assert cut.to_neighbours(RELATIONS[0]).neighbours == RELATIONS[0]


@pytest.mark.parametrize("eps", [0.0, 0.5, 1.0])
def test_a_step_that_is_known_is_within(eps: float) -> None:
    """Three records, batches of two at most, the others at -1: δ of both directions, integrated."""
    sigma, rate, most = 3, 0.9, 2
    grid = np.linspace(-25, 25, 100_001)

    def density(values: list[int]) -> Any:
        """The sum's density: each set of records as likely as it is, each choice of it alike."""
        total = np.zeros_like(grid)
        for mask in range(2 ** len(values)):
            drawn = [value for i, value in enumerate(values) if mask >> i & 1]
            weight = rate ** len(drawn) * (1 - rate) ** (len(values) - len(drawn))
            # of three alike but the first, dropping one leaves that one in two times of three
            kept = [drawn] if len(drawn) <= most else [drawn[:i] + drawn[i + 1 :] for i in range(3)]
            for one in kept:
                total += weight / len(kept) * norm.pdf(grid, sum(one), sigma)
        return total

    profile = P.TruncatedBatches(
        noise_multiplier=sigma, sample_rate=rate, steps=1, records=3, max_batch_size=most
    )
    p, q = density([1, -1, -1]), density([-1, -1])
    step = grid[1] - grid[0]
    both = [np.maximum(a - math.exp(eps) * b, 0).sum() * step for a, b in ((p, q), (q, p))]
    # steps that are cut are worse than those of DP-SGD, and are not only counted so
    whole = P.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=1)
    assert whole.delta_bounds(eps)[1] < max(both) < profile.delta_bounds(eps)[0]


def test_dp_accounting_is_tighter_where_batches_are_cut() -> None:
    """By less than what is counted as a failure."""
    pytest.importorskip("dp_accounting")
    profile = P.TruncatedBatches(**RUN | {"steps": 2}, records=1000, max_batch_size=20)
    event = event_of_profile(profile)
    assert (event.count, event.event.truncated_batch_size) == (2, 20)
    theirs, ours = gdp.profile_of(event).delta(0.1), profile.delta(0.1)
    failing = float(profile.run.parts[1].exact("delta0"))  # type: ignore[attr-defined]
    assert theirs < ours < theirs + failing


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"max_batch_size": 9}, "max_batch_size is 9: must be above the expected batch of 10"),
        ({"max_batch_size": 0}, "max_batch_size is 0: must be a whole number from 1"),
        ({"sample_rate": 0}, r"sample_rate is 0.*: must be a number in \(0, 1\]"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    """Batches that are cut as a rule, and what is out of its range."""
    with pytest.raises(gdp.InputError, match=words):
        P.TruncatedBatches(**{**RUN, "records": 1000, "max_batch_size": 40, **changed})


def test_the_chance_is_no_less_than_its_float() -> None:
    """Chances beyond the floats are the smallest one, not 0."""
    profile = P.TruncatedBatches(**RUN, records=60_000, max_batch_size=59_999)
    assert exact(profile.run.parts[1].delta0) > 0  # type: ignore[attr-defined]
