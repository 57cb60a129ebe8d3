"""Parameters at the far ends of what is allowed: an answer that is right, or one sentence."""

from __future__ import annotations

import math

import pytest

from gdpbridge import profiles
from gdpbridge.errors import InputError, UndecidedError


def test_noise_that_is_too_small_to_compose() -> None:
    """A sentence, where arrays of terabytes were asked for; one run is a formula."""
    for sigma in (1e-8, 1e-300):
        for given in ({}, {"sampling": "fixed-size"}):
            run = profiles.DPSGD(noise_multiplier=sigma, sample_rate=0.5, steps=1000, **given)
            with pytest.raises(InputError, match="noise is less than a thousandth"):
                run.delta_bounds(1.0)
    one = profiles.DPSGD(noise_multiplier=0.002, sample_rate=0.5, steps=1)
    assert one.delta(1.0) == pytest.approx(0.5)


@pytest.mark.filterwarnings("error")
def test_groups_of_what_tells_next_to_nothing() -> None:
    """Losses that are 0 but for 10⁻³⁰⁰ are not told apart, and are said to be so."""
    with pytest.raises(UndecidedError, match="told"):
        profiles.ApproxDP(epsilon=1e-300, delta=1e-300).group(2)


@pytest.mark.filterwarnings("error")
def test_randomized_response_beyond_floats() -> None:
    """e^ε₀ may be larger than any float."""
    profile = profiles.RandomizedResponse(noise_parameter=1e-300, buckets=10**12)
    low, high = profile.epsilon_bounds(0.5)
    assert 717 < low <= high < 719
    assert profile.tradeoff(0.5) == pytest.approx(0.0, abs=1e-300)
    # 1 - δ = (p/k)(k - 1 + e^ε)
    rest = math.exp(712 - 312 * math.log(10))
    assert profile.log_delta(712.0) == pytest.approx(math.log1p(-rest), rel=1e-9)


def test_what_floats_cannot_hold() -> None:
    """A ratio beyond floats is refused by name; divergences next to 0 are undecided."""
    with pytest.raises(InputError, match="sigma/A is 1e\\+300: must be at most 1e\\+100"):
        profiles.SGDFamily(A=1, B=1, sigma=1e300)
    with pytest.raises(UndecidedError, match="too close to 0"):
        profiles.Renyi(orders=[10_000], epsilons=[1e-9]).delta(0.0)
