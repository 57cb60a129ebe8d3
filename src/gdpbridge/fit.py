"""How much a μ overstates the risk: the worst-case regret Δ of reporting it.

Δ is the least shift κ ≥ 0 with f(α + κ) - κ ≤ f_μ(α) for every α, f being the mechanism's trade-off
function and f_μ the stated one: no attacker's error is off by more than κ (Kaissis et al. 2024;
Gomez et al. 2025). Shifting a trade-off function adds κ·(1 + e^ε) to its profile, so that Δ is the
supremum of (δ_stated(ε) - δ(ε))/(1 + e^ε) over ε ≥ 0; negative ε say the same by symmetry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gdpbridge.curves.base import Form
from gdpbridge.errors import Advice, InputError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.goals import certified
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import float_ceiling, float_floor
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["GOOD_FIT", "no_regret_because", "regret", "regret_certificate"]


# below it Gomez et al. call the μ a good fit
GOOD_FIT = 0.01

_TOL = 1e-8
# nothing beyond it matters to the eighth digit
_END = 40.0
_FIRST_POINTS = 401
_MOST_POINTS = 6000
_ROUNDING = 1e-15
# an excess that is no matter of rounding
_COVER = 1e-12
# what differences of numbers up to 1 may be off
_LEAST = 2.0**-52
_BITS = 128


def regret(profile: Profile, mu: Real | Measurement, failure: Real = 0.0) -> Interval:
    """Return an interval for the worst-case regret Δ of stating μ, or (μ, p), for a mechanism.

    Args:
        profile: the mechanism.
        mu: the stated μ ≥ 0; or a measurement, whose upper end and p are what is stated.
        failure: the stated failure probability p, in [0, 1).

    Returns:
        An interval in [0, 1], as a rule at most 1e-8 wide; wider where δ(ε) is only bounded. The
        lower end is proved; the upper one holds where δ is convex in e^ε, as the profile of every
        mechanism is.

    Raises:
        InputError: for an argument outside its range, or a statement that does not cover the
            mechanism.

    Sources: Kaissis, Kolek, Balle, Hayes and Rueckert (2024), definition of the Δ-divergence; Gomez
    et al. (arXiv 2503.10945), who report it as the regret of a μ.
    """
    if not isinstance(profile, Profile):
        raise InputError("profile", type(profile).__name__, "a privacy profile")
    if isinstance(mu, Measurement):
        return regret(profile, mu.mu.high, mu.failure_probability)
    width = exact_between("mu", mu, 0, None, "a finite number ≥ 0")
    p = exact_between("failure", failure, 0, Fraction(1), "a number in [0, 1)")
    search = _Search(profile, width, p)
    while search.split():
        pass
    search.check_cover()
    low = search.low if search.low > 0 else 0.0
    return Interval(low, max(search.high, low) + _LEAST)


def regret_certificate(found: Measurement) -> Certificate:
    """Return the certificate of a measurement together with the regret of stating its upper end.

    Args:
        found: a measurement; that of a head is one of every ε past its δ(ε_h).

    Returns:
        A certificate of μ with one answer more; its interval for the regret is about 1e-5 wide, or
        ends at 1 for a bound that need not be convex, as of clip-rectify.

    Raises:
        InputError: without a certificate of μ, or a finite one, and for losses composed by lines.
        UndecidedError: if the checker cannot be convinced.
    """
    from gdpbridge.certificate.write_regret import with_regret

    profile, document = found.profile.certified_as, certified(found)
    why = no_regret_because(profile)
    if why or found.mu.high.is_infinite():
        raise InputError("regret", profile.kind, Advice(f"leave it out: {why or _NO_MU}"))
    search = _Search(profile, Fraction(found.mu.high), found.failure, _FEW)
    while search.split():
        pass
    return with_regret(document, profile, search.low, search.high, *search.shown())


def no_regret_because(profile: Profile) -> str:
    """Return why no certificate of a regret will come, before any work; empty if one may."""
    return _BY_LINES if profile.certified_as.curve.form is Form.COMPOSED else ""


_NO_MU = "no finite μ is stated"
_BY_LINES = (
    "there is none of the regret of losses composed by lines, which show that δ is below the "
    "Gaussian curve and not how far"
)


@dataclass(frozen=True)
class _Effort:
    """How many points a search begins with, how close it comes, and when it gives up."""

    first: int = _FIRST_POINTS
    tol: float = _TOL
    most: int = _MOST_POINTS


# each has a proof in a certificate
_FEW = _Effort(41, 1e-5, 400)


class _Search:
    """Points of both curves, more of them where the largest difference may be."""

    def __init__(
        self, profile: Profile, mu: Fraction, failure: Fraction, effort: _Effort = _Effort()
    ) -> None:
        self._profile, self._mu, self._failure, self._effort = profile, mu, failure, effort
        first = np.linspace(0.0, 1.0, effort.first) ** 2 * _END
        self._eps = np.empty(0)
        self._sides: tuple[Floats, ...] = ()
        self._add(first)

    def shown(self) -> tuple[float, list[tuple[float, float, float]]]:
        """Return where the difference is largest, and bounds of δ at every point."""
        low, high, stated, _ = self._sides
        worst = int(np.argmax((stated - high) / (1 + np.exp(self._eps))))
        points = zip(self._eps.tolist(), low.tolist(), high.tolist(), strict=True)
        return float(self._eps[worst]), list(points)

    def _add(self, eps: Floats) -> None:
        sides: tuple[Floats, ...] = (*self._profile.curve.delta_bounds(eps), *self._stated(eps))
        if self._sides:
            order = np.argsort(np.concatenate([self._eps, eps]), kind="stable")
            sides = tuple(
                np.concatenate(pair)[order] for pair in zip(self._sides, sides, strict=True)
            )
            eps = np.concatenate([self._eps, eps])[order]
        self._eps, self._sides = eps, sides
        true_low, true_high, stated_low, stated_high = sides
        t = np.exp(eps)
        self.low = float(np.max((stated_low - true_high) / (1 + t)) * (1 - _ROUNDING))
        self._cells = _cells(t, true_low, true_high, stated_high) * (1 + _ROUNDING)
        beyond = float(stated_high[-1]) / (1 + math.exp(_END))
        self.high = max(float(self._cells.max()), beyond)

    def check_cover(self) -> None:
        """Refuse a statement that is below the mechanism somewhere.

        Raises:
            InputError: with an ε where it is.
        """
        true_low, _, _, stated_high = self._sides
        below = true_low > stated_high * (1 + _COVER) + _COVER
        if below.any():
            at = float(self._eps[int(np.argmax(below))])
            allowed = f"one that covers the mechanism, whose δ({at:.4g}) is above that of μ"
            raise InputError("mu", float(self._mu), allowed)

    def _stated(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound p + (1 - p)·δ_μ(ε)."""
        p_low, p_high = float_floor(self._failure), float_ceiling(self._failure)
        if self._mu == 0:
            return np.full(eps.shape, p_low), np.full(eps.shape, p_high)
        with precision(_BITS):
            mu = ball(self._mu)
            found = [gaussian.log_delta_of(ball(Fraction(one)), mu).exp() for one in eps.tolist()]
            # with a tiny μ a ball far out may be of no size; δ_μ(ε) ≤ δ_μ(0) < μ
            most = min(float_ceiling(self._mu), 1.0)
            ends = [
                (max(float_below(one), 0.0), float_above(one)) if one.is_finite() else (0.0, most)
                for one in found
            ]
            low, high = np.array(ends).T
        return (
            (p_low + (1 - p_high) * low) * (1 - _ROUNDING),
            np.minimum((p_high + (1 - p_low) * high) * (1 + _ROUNDING), 1.0),
        )

    def split(self) -> bool:
        """Halve the cells whose bound is not settled; False once none is left, or too many."""
        open_ = np.flatnonzero(self._cells > max(self.low, 0.0) + self._effort.tol)
        left, right = self._eps[open_], self._eps[open_ + 1]
        middle = (left + right) / 2
        # where the bounds of δ are apart, smaller cells do not help
        apart = (self._sides[1] - self._sides[0])[open_] + (self._sides[1] - self._sides[0])[
            open_ + 1
        ]
        gain = self._cells[open_] - max(self.low, 0.0) > apart / (1 + np.exp(left))
        useful = (middle > left) & (middle < right) & gain
        if not useful.any() or self._eps.size + int(useful.sum()) > self._effort.most:
            return False
        self._add(middle[useful])
        return True


def _cells(t: Floats, true_low: Floats, true_high: Floats, stated: Floats) -> Floats:
    """Bound (stated - δ)/(1 + t) on each cell between neighbouring t = e^ε.

    Both curves are convex in t: a chord lies above the stated one, and the mechanism's lies above
    the lines through the points of the cells on either side. A ratio of linear functions is
    largest at an end, so that the cell's ends and the point where those lines meet suffice.
    """
    left, right = t[:-1], t[1:]
    width = right - left
    # slopes that the mechanism's curve has at most before, and at least after, a cell
    slope = (true_low[1:] - true_high[:-1]) / width
    slope_high = (true_high[1:] - true_low[:-1]) / width
    before = np.concatenate([[-np.inf], slope[:-1]])
    after = np.concatenate([slope_high[1:], [0.0]])
    chord = (stated[1:] - stated[:-1]) / width
    with np.errstate(invalid="ignore", divide="ignore"):
        # line from the left: true_low[i] + before·(t - left); from the right likewise
        meeting = (true_low[1:] - true_low[:-1] - after * width) / (before - after)
    meeting = np.clip(np.nan_to_num(meeting, nan=0.0, posinf=0.0, neginf=0.0), 0.0, width)
    known = np.isfinite(before)
    under = np.maximum(
        np.where(known, true_low[:-1] + np.where(known, before, 0.0) * meeting, 0.0),
        true_low[1:] - after * (width - meeting),
    )
    inner = (stated[:-1] + chord * meeting - under) / (1 + left + meeting)
    ends = np.maximum(
        (stated[:-1] - true_low[:-1]) / (1 + left), (stated[1:] - true_low[1:]) / (1 + right)
    )
    return np.asarray(np.maximum(inner, ends))
