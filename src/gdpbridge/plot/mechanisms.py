"""What every picture of mechanisms shares: their names in the legend, and the range to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import InputError
from gdpbridge.gaussian.curve import beta, delta, epsilon
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, exact
from gdpbridge.specification.title import mechanism_title, number_text

__all__ = [
    "Stated",
    "grid",
    "names_of",
    "range_end",
    "rounded_down",
    "rounded_up",
]


_POINTS = 401
_NEAR = np.array([0.0, *(10.0**-power for power in range(2, 13))])
_LONGEST_NAME = 72
# few fonts have subscripts, and a line of text is drawn in one font
_PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def names_of(profiles: Sequence[Profile], names: Sequence[str] | None) -> list[str]:
    """Return a different name for each mechanism.

    Raises:
        InputError: if there is not one name for each, or two are the same.
    """
    checked_profiles(profiles)
    if names is None:
        names = []
        for profile in profiles:
            title = mechanism_title({**profile.model_dump(), "neighbours": None}, short=True)
            title = title.translate(_PLAIN)
            short = title if len(title) <= _LONGEST_NAME else f"{title[: _LONGEST_NAME - 1]}…"
            names.append(short if short not in names else f"{short} ({len(names) + 1})")
    if len(names) != len(profiles) or len(set(names)) < len(names):
        allowed = f"a different name for each of the {len(profiles)} mechanisms"
        raise InputError("names", ", ".join(names), allowed)
    return list(names)


def rounded_up(value: float, digits: int = 4) -> str:
    """Return an upper bound in words, rounded up."""
    return f"{float(decimal_ceiling(exact(value), digits)):g}" if value else "0"


def rounded_down(value: float, digits: int = 4) -> str:
    """Return a lower bound in words, rounded down."""
    return f"{float(decimal_floor(exact(value), digits)):g}" if value else "0"


def checked_profiles(profiles: Sequence[object]) -> None:
    """Refuse what is not a profile.

    Raises:
        InputError: for the first that is none.
    """
    for one in profiles:
        if not isinstance(one, Profile):
            raise InputError("profiles", type(one).__name__, "privacy profiles, one by one")


@dataclass(frozen=True)
class Stated:
    """Gaussian curves that stand beside mechanisms: some μ, each failing with probability p.

    Attributes:
        mus: values of μ.
        failure: p.
    """

    mus: tuple[float, ...]
    failure: float

    @classmethod
    def checked(cls, mu: Sequence[Real] | Real, failure: Real) -> Stated:
        """Return them, each μ once.

        Raises:
            InputError: for a μ outside (0, 1000], or p outside [0, 1).
        """
        values = mu if isinstance(mu, Sequence) and not isinstance(mu, str) else [mu]
        allowed = "numbers > 0 and at most 1000"
        checked = [float(exact_between("mu", one, 0, 1000, allowed)) for one in values]
        for one in checked:
            if one == 0:
                raise InputError("mu", one, allowed)
        p = float(exact_between("failure", failure, 0, 1, "a number in [0, 1)"))
        if p == 1:
            raise InputError("failure", failure, "a number in [0, 1)")
        return cls(tuple(dict.fromkeys(checked)), p)

    def name(self, mu: float) -> str:
        """Return how a curve is called."""
        return f"μ = {number_text(mu)}{self.with_failure}"

    @property
    def with_failure(self) -> str:
        """The words for p that follow a μ; none where it is 0."""
        return f", p = {self.failure:g}" if self.failure else ""

    def delta(self, eps: Floats, mu: float) -> Floats:
        """Return p + (1 - p)·δ_μ(ε)."""
        return self.failure + (1 - self.failure) * np.asarray(delta(eps, mu))

    def beta(self, alpha: Floats, mu: float) -> Floats:
        """Return the least type II error, (1 - p)·f_μ(α/(1 - p))."""
        return (1 - self.failure) * np.asarray(beta(self._level(alpha), mu))

    def power(self, alpha: Floats, mu: float) -> Floats:
        """Return the best true-positive rate, without cancellation where it is small."""
        from scipy.special import ndtr, ndtri

        power = self.failure + (1 - self.failure) * ndtr(ndtri(self._level(alpha)) + mu)
        return np.asarray(power, dtype=np.float64)

    def _level(self, alpha: Floats) -> Floats:
        # a failure raises no false alarms: all of α is left for the other cases
        return np.minimum(alpha / (1 - self.failure), 1.0)


def range_end(
    profiles: Sequence[Profile], mus: Sequence[float], given: Real | None, least: float, most: float
) -> float:
    """Return the end of the range of ε to show.

    Args:
        profiles: the mechanisms.
        mus: Gaussian curves beside them.
        given: what is asked for; else where all have fallen to ``least``.
        least: a δ, see ``given``.
        most: the largest range chosen unasked.

    Raises:
        InputError: for a range that is not in (0, 1e5].
    """
    if given is not None:
        allowed = f"a number > 0 and at most {MAX_EPS:g}"
        end = float(exact_between("eps_max", given, 0, int(MAX_EPS), allowed))
        if end == 0:
            raise InputError("eps_max", given, allowed)
        return end
    ends = [float(profile.least_epsilon(least)) for profile in profiles]
    # the corners of tables and the like are of interest, down to the last
    ends += [corner for one in profiles for corner in _corners(one) if corner <= most]
    ends += [float(epsilon(mu, least)) for mu in mus]
    reached = [end for end in ends if np.isfinite(end)]
    longest = most if len(reached) < len(ends) else max(reached, default=0.0)
    # a round number, and not an empty picture where δ is small from the start
    return min(max(_rounded(1.1 * longest), 0.1), most)


def _rounded(value: float) -> float:
    if value <= 0:
        return 0.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(np.ceil(value / unit * 2) / 2 * unit)


def grid(profiles: Sequence[Profile], end: float) -> Floats:
    """Return the ε to draw at: evenly, and where a curve has a corner or ends."""
    points = np.linspace(0.0, end, _POINTS)
    corners = [corner for one in profiles for corner in _corners(one) if 0 < corner < end]
    if len(corners) > _POINTS:
        # a curve of many lines looks smooth
        return points
    at = np.array(corners)[:, None]
    # closely before a corner, where δ may fall to 0, and just after it
    near = np.concatenate([at * (1 - _NEAR), np.nextafter(at, np.inf)], axis=1)
    return np.unique(np.concatenate([points, near.ravel()]))


def _corners(profile: Profile) -> list[float]:
    """Where the pieces of a curve meet, and where it ends."""
    from gdpbridge.numeric.kinds import FLOATS

    return [float(FLOATS.constant(place)) for place in profile.curve.corners()]
