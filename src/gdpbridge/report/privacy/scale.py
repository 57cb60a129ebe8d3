"""Known deployments, beside which a μ can be read."""

from __future__ import annotations

import math
from typing import NamedTuple

from gdpbridge.measure import Measurement
from gdpbridge.report.privacy.numbers import rounded_up

__all__ = ["KNOWN", "Known", "scale_of"]


class Known(NamedTuple):
    """A line of the scale.

    Attributes:
        name: the deployment, with what it protects.
        value: its μ, rounded up.
        own: whether it is the mechanism of the report.
    """

    name: str
    value: float
    own: bool = False

    @property
    def mu(self) -> str:
        """The μ in words; the report's own in the digits that it has on top."""
        return rounded_up(self.value, 6 if self.own else 4)


# of the files of the same names in examples/deployments, where the sources are
KNOWN = {
    "census_2020_housing": Known("2020 Census redistricting data, a housing unit", 0.487),
    "gboard_spanish_2022": Known("Gboard in Spanish, 2022, a device", 1.66),
    "google_symptoms_search": Known("Google's symptom searches, a user's day", 2.013),
    "census_2020_persons": Known("2020 Census redistricting data, a person", 3.217),
    "israel_births": Known("Israel's births of 2014, a mother and her newborn", 7.819),
    "apple_quicktype": Known("Apple's QuickType suggestions, a user's day", 10.36),
}


def scale_of(found: Measurement) -> list[Known]:
    """Return known deployments and this one by their μ; nothing where this one has none."""
    high = found.mu.upper
    if not math.isfinite(high) or found.failure_probability > 1e-4:
        return []
    return sorted([*KNOWN.values(), Known("this mechanism", high, own=True)], key=_mu)


def _mu(one: Known) -> float:
    return one.value
