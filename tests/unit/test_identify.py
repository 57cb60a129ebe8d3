"""The verdict follows from the tail, with an interval for μ_t and a sentence."""

from __future__ import annotations

from decimal import Decimal

import pytest

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.mechanisms.base import Profile

ROOT_HALF = Decimal("0.70710678118654752440084436210484903928")


@pytest.mark.parametrize(
    ("profile", "verdict", "mu_t"),
    [
        (profiles.Laplace(scale=0.5), Verdict.GDP, "0"),
        (profiles.PureDP(epsilon=0.2), Verdict.GDP, "0"),
        (profiles.RandomizedResponse(noise_parameter=0.8), Verdict.GDP, "0"),
        (profiles.RandomizedResponse(noise_parameter=1), Verdict.GDP, "0"),
        (profiles.Gaussian(sigma=2), Verdict.GDP, "0.5"),
        (profiles.GDP(mu=0.1), Verdict.GDP, "0.1"),
        (profiles.GDP(mu=0), Verdict.GDP, "0"),
        (profiles.SGDFamily(A=2, B=1, sigma=2), Verdict.GDP, str(ROOT_HALF)),
        (profiles.SGDFamily(A=2, B=1e-9, sigma=2), Verdict.GDP, str(ROOT_HALF)),
        (profiles.ICEA(messages=20, users=4), Verdict.NOT_GDP, "Infinity"),
        (profiles.ApproxDP(epsilon=1, delta=1e-6), Verdict.NOT_GDP, "Infinity"),
        (profiles.ApproxDP(epsilon=0, delta=0.1), Verdict.NOT_GDP, "Infinity"),
        (profiles.ApproxDP(epsilon=1, delta=0), Verdict.GDP, "0"),
    ],
    ids=str,
)
def test_verdict(profile: Profile, verdict: Verdict, mu_t: str) -> None:
    """Each kind's verdict, and an interval of twenty digits that holds μ_t."""
    found = gdp.identify(profile)
    assert found.verdict is verdict
    assert found.tail_status is TailStatus.PROVED
    assert found.mu_tail is not None
    assert Decimal(mu_t) in found.mu_tail
    assert found.mu_tail.width <= 1e-20


@pytest.mark.parametrize("cls", profiles.kinds().values(), ids=lambda cls: cls.__name__)
def test_verdicts_have_sentences(cls: type[Profile]) -> None:
    """Every verdict says what it means; the class is only the occasion."""
    assert cls.__doc__
    assert all(verdict.sentence for verdict in Verdict)


def test_reasons_name_their_numbers() -> None:
    """The reason is one sentence with the constant that decides."""
    reasons = {
        profiles.Laplace(scale=0.5): "δ(ε) = 0 for every ε ≥ 2",
        profiles.ApproxDP(epsilon=1, delta=1e-6): "δ(ε) stays at 1e-06 for every ε ≥ 1",
        profiles.SGDFamily(A=2, B=1, sigma=2): "μ_t = 0.70710678",
        profiles.ICEA(messages=20, users=4): "stays above a multiple of",
        profiles.Gaussian(sigma=3): "μ = 0.3333333333…",
    }
    for profile, part in reasons.items():
        assert part in gdp.identify(profile).reason


def test_a_mass_at_infinity() -> None:
    """(0, 0.1)-DP is 0.1 everywhere: not GDP, and μ at ε = 0 is 0.251322693710148."""
    profile = profiles.ApproxDP(epsilon=0, delta=0.1)
    assert "0.1" in gdp.identify(profile).reason
    assert profile.delta([0.0, 1.0, 1e5]) == pytest.approx(0.1, rel=1e-15)
    assert profile.gdpt(0) == pytest.approx(0.251322693710148, rel=1e-13)
