"""Heads at whose end δ is 1 to all digits that are reported."""

from __future__ import annotations

import gdpbridge as gdp


def test_head_with_a_failure_probability_of_one_has_no_certificate() -> None:
    """There is a reason instead of a certificate, not an exception."""
    measured = gdp.measure(gdp.profiles.PureDP(epsilon=1000), eps_h=3)
    assert measured.certificate is None
    assert "1" in measured.uncertified_because
