"""On which side of a Gaussian curve a profile lies, and whether it crosses it: proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdpbridge.gaussian.ball import delta_lower, delta_upper
from gdpbridge.mechanisms.base import Profile

__all__ = ["Sides", "sides"]

_POINTS = 401


@dataclass(frozen=True)
class Sides:
    """Where a profile is proved to lie above and below δ_μ on a range of ε.

    Attributes:
        above: an ε at which δ > δ_μ; None if none was found.
        below: an ε at which δ < δ_μ; None if none was found.
        all_above: whether δ > δ_μ is proved on the whole range, cell by cell.
    """

    above: float | None
    below: float | None
    all_above: bool

    @property
    def crosses(self) -> bool:
        """Whether the two curves cross, as both are continuous."""
        return self.above is not None and self.below is not None


def sides(profile: Profile, mu: float, eps_max: float) -> Sides:
    """Compare a profile with δ_μ at evenly spaced ε in [0, eps_max] and on the cells between.

    δ > δ_μ on all of a cell if δ at its right end is above δ_μ at its left end, as both fall.

    Args:
        profile: the mechanism; its δ must be known exactly.
        mu: μ > 0.
        eps_max: the end of the range.
    """
    places = np.linspace(0.0, eps_max, _POINTS)
    low, high = (np.asarray(end) for end in profile.delta_bounds(places))
    curve_low = np.array([delta_lower(eps, mu) for eps in places.tolist()])
    curve_high = np.array([delta_upper(eps, mu) for eps in places.tolist()])
    above, below = low > curve_high, high < curve_low
    return Sides(
        above=float(places[int(np.argmax(above))]) if above.any() else None,
        below=float(places[int(np.argmax(below))]) if below.any() else None,
        all_above=bool((low[1:] > curve_high[:-1]).all()),
    )
