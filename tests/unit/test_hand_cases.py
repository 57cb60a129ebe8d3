"""Real failures of other tools that a plain profile answers; the rest stand by their topic."""

from __future__ import annotations

from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge import profiles


def test_mass_at_infinity_alone() -> None:
    """C10: (0, 0.1)-DP is δ = 0.1 throughout; no μ covers it, and G(0) is 2Φ⁻¹(0.55)."""
    p = profiles.ApproxDP(epsilon=0, delta=0.1)
    assert p.delta([0.0, 5.0, 1e4]) == pytest.approx([0.1, 0.1, 0.1], rel=1e-14)
    found = gdp.identify(p)
    assert found.verdict == "not-gdp"
    assert "0.1" in found.reason
    assert p.gdpt(0.0) == pytest.approx(0.251322693710148, rel=1e-13)


def test_randomized_response() -> None:
    """C11: two answers, noise parameter 0.8."""
    p = profiles.RandomizedResponse(noise_parameter=0.8)
    found = gdp.measure(p, "1e-15")
    assert found.mu.lower == pytest.approx(0.506694206271599598, rel=1e-14)
    assert found.attained_at == pytest.approx(0, abs=1e-12)
    assert p.delta(0.0) == pytest.approx(0.2, rel=1e-14)
    assert p.least_epsilon(0.0) == pytest.approx(0.405465108108164382, rel=1e-14)


@pytest.mark.parametrize(
    ("make", "mu"),
    [
        (lambda: profiles.PureDP(epsilon=2.64), 3.00307905386421946),
        (lambda: profiles.Laplace(scale=0.3787878787878788), 2.21936761936276739),
        (lambda: profiles.PureDP(epsilon=0.44), 0.549568657897727381),
    ],
)
def test_published_pure_dp(make: Any, mu: float) -> None:
    """C24: published ε's, and the better value if the noise is known to be Laplace."""
    found = gdp.measure(make(), "1e-12")
    assert found.verdict == "gdp"
    assert mu * (1 - 1e-12) <= found.mu.upper <= mu * (1 + 1e-9)
