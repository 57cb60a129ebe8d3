"""The pictures of a privacy report."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from gdpbridge.measure import Measurement
from gdpbridge.numeric.exact import decimal_ceiling

if TYPE_CHECKING:
    from gdpbridge.plot import Picture

__all__ = ["pictures_of"]

_LABEL = "this mechanism"
# curves of larger μ lie on the axes
_LARGEST = 1000.0


def pictures_of(found: Measurement) -> dict[str, Picture]:
    """Return pictures of a mechanism beside its statement, by the name that their files have."""
    from gdpbridge import plot

    profile, names = found.profile, [_LABEL]
    high, p = found.mu.upper, found.failure_probability
    # a round number in the legend, on the safe side
    mu = [float(decimal_ceiling(Fraction(high), 6))] if 0 < high <= _LARGEST and p < 1 else []
    p = p if mu else 0.0
    pictures = {
        "tradeoff": plot.tradeoff(profile, mu=mu, failure=p, names=names),
        "attack": plot.attack(profile, mu=mu, failure=p, names=names),
        "profile": plot.profile(profile, mu=mu, failure=p, names=names),
    }
    if math.isfinite(high):
        pictures["gdpt"] = plot.gdpt(profile, measured=found, names=names)
    return pictures
