"""Heads at whose end δ is 1 to all digits that are reported."""

from __future__ import annotations

import gdpbridge as gdp


def test_head_with_a_failure_probability_of_one() -> None:
    """It is 1, not more, and its certificate holds."""
    measured = gdp.measure(gdp.profiles.PureDP(epsilon=1000), eps_h=3)
    assert measured.failure_probability == 1
    assert measured.failure == 1
    assert measured.certificate is not None
    assert gdp.verify(measured.certificate).valid
