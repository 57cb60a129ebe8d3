"""The Gaussian privacy curve on Arb balls, at the working precision.

With x = ε/μ - μ/2, y = ε/μ + μ/2 and Mills' ratio R(z) = Φ(-z)/φ(z),

    δ_μ(ε)     = φ(x) (R(x) - R(y)),        ∂δ_μ/∂ε = -φ(x) R(y),
    1 - δ_μ(ε) = φ(x) (R(-x) + R(y)),       ∂δ_μ/∂μ =  φ(x).

Intervals of ε are served from their two ends alone, because R decreases, R(x) - R(y) decreases
in ε (R is convex), and δ_μ is log-concave in ε: it is the integral over s ≥ 0 of e^{-s} times a
Gaussian survival function of ε + s, and marginals of log-concave functions are log-concave
(Prékopa 1973).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal

from flint import arb, arb_series

from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.decide import MorePrecisionError, certainly
from gdpbridge.numeric.flint_context import precision, series_length, working_precision
from gdpbridge.numeric.kinds import Probability

__all__ = [
    "about_mu",
    "epsilon_of",
    "guarded",
    "log_delta_complement_of",
    "log_delta_complement_series",
    "log_delta_of",
    "log_delta_series",
    "log_delta_tail_lower",
    "mu_of",
    "probability",
    "tangent_of",
    "variance_of_pure_dp",
]

Number = float | int | str | Decimal

Enclosure = Callable[[], arb]

_MAX_NEWTON_STEPS = 400
_LOG_HALF = -math.log(2.0)
# beyond it the asymptotic series gives thousands of bits, and Arb's erfc few
_ASYMPTOTIC_FROM = 256


def log_delta_of(eps: arb, mu: arb) -> arb:
    """Enclose log δ_μ(ε) for balls ε ≥ 0 and μ > 0 of small radius."""
    with guarded(eps, mu):
        x, y = _ends(eps, mu)
        return _log_density(x) + (_mills(x) - _mills(y)).log()


def log_delta_complement_of(eps: arb, mu: arb) -> arb:
    """Enclose log(1 - δ_μ(ε)) for balls ε ≥ 0 and μ > 0 of small radius."""
    with guarded(eps, mu):
        x, y = _ends(eps, mu)
        return _log_density(x) + (_mills(-x) + _mills(y)).log()


def tangent_of(eps: arb, mu: arb, *, complement: bool) -> tuple[arb, arb, arb]:
    """Enclose δ_μ(ε), or 1 - δ_μ(ε), with -∂δ_μ/∂ε and φ(x), for ε ≥ 0 and μ > 0 of small radius.

    In t = e^ε the slope of δ_μ is ∂δ_μ/∂ε/t, and its second derivative φ(x)/(μt²).
    """
    with guarded(eps, mu):
        x, y = _ends(eps, mu)
        density = _log_density(x).exp()
        if certainly(y > _ASYMPTOTIC_FROM):
            right = _mills(y)
            value = _mills(-x) + right if complement else _mills(x) - right
            return density * value, density * right, density
        root = 1 / arb(2).sqrt()
        slope = eps.exp() * (y * root).erfc() / 2
        near = ((-x if complement else x) * root).erfc() / 2
        return near + slope if complement else near - slope, slope, density


def probability(eps: arb, mu: arb) -> Probability:
    """Enclose δ_μ(ε) as a :class:`Probability`; μ may be an exact zero."""
    if mu.is_zero():
        return Probability(arb.neg_inf, lambda: arb(0))
    return Probability(lambda: log_delta_of(eps, mu), lambda: log_delta_complement_of(eps, mu))


def log_delta_series(low: arb, high: arb, mu: arb) -> arb_series:
    """Enclose the Taylor coefficients of order 0 to 2 of log δ_μ at every ε in [low, high].

    With h = -(log δ_μ)' = R(y)/D and D = R(x) - R(y): h' = h + h² - 1/(μD).
    """
    with guarded(high, mu):
        (x0, y0), (x1, y1) = _ends(low, mu), _ends(high, mu)
        right0, right1 = _mills(y0), _mills(y1)
        gap0, gap1 = _mills(x0) - right0, _mills(x1) - right1
        value = _hull(_log_density(x0) + gap0.log(), _log_density(x1) + gap1.log())
        hazard = _hull(right0 / gap0, right1 / gap1)
        curvature = hazard + hazard * hazard - 1 / (mu * _hull(gap0, gap1))
    return arb_series([value, -hazard, -curvature / 2], 3)


def log_delta_complement_series(low: arb, high: arb, mu: arb) -> arb_series:
    """Enclose the Taylor coefficients of order 0 to 2 of log(1 - δ_μ) at every ε in [low, high].

    With g = (log(1 - δ_μ))' = R(y)/C and C = R(-x) + R(y): g' = g - g² - 1/(μC).
    """
    with guarded(high, mu):
        (x0, y0), (x1, y1) = _ends(low, mu), _ends(high, mu)
        right0, right1, left0, left1 = _mills(y0), _mills(y1), _mills(-x0), _mills(-x1)
        value = _hull(
            _log_density(x0) + (left0 + right0).log(), _log_density(x1) + (left1 + right1).log()
        )
        total = _hull(left0 + right1, left1 + right0)
        growth = _hull(right0, right1) / total
        curvature = growth - growth * growth - 1 / (mu * total)
    return arb_series([value, growth, curvature / 2], 3)


def log_delta_tail_lower(eps: arb, mu: arb) -> arb:
    """Bound log δ_μ(ε) from below by an elementary function, from R(z) < (z² + 2)/(z(z² + 3)).

    log δ_μ(ε) ≥ log μ - ½ log 2π - ε²/(2μ²) + ε/2 - μ²/8 - log(y² + 3).
    """
    y = eps / mu + mu / 2
    quadratic = -(eps * eps) / (2 * mu * mu) + eps / 2 - mu * mu / 8
    return mu.log() - (2 * arb.pi()).log() / 2 + quadratic - (y * y + 3).log()


def variance_of_pure_dp(eps: arb) -> arb:
    """Enclose μ² for μ = -2·Φ⁻¹(1/(1 + e^ε)), the least one of ε-DP (Dong, Roth and Su 2022)."""
    share = 1 / (1 + eps.exp())
    return 8 * (2 * share).erfcinv() ** 2


def mu_of(eps: arb, delta: Probability) -> arb:
    """Enclose μ(ε, δ), the μ with δ_μ(ε) = δ, for δ strictly between 0 and 1.

    Newton's method gives a candidate; what is returned is a ball at whose ends the curve is
    proved to lie on either side of δ, so nothing rests on convergence.

    Raises:
        UndecidedError: if the working precision does not tell δ from 0 or 1.
    """
    scale = _Scale(eps, delta)
    candidate, radius = scale.newton(_start(eps, delta))
    low = high = candidate
    for _ in range(working_precision()):
        radius = 2 * radius + candidate * _unit()
        low, high = (candidate - radius).lower(), (candidate + radius).upper()
        if not certainly(low > 0):
            low = arb(0)
        below = low.is_zero() or certainly(scale.excess(low) < 0)
        if below and certainly(scale.excess(high) > 0):
            return _hull(low, high)
    raise MorePrecisionError(f"μ could not be told from [{low}, {high}]")


def about_mu(eps: arb, delta: Probability, start: arb | None = None) -> arb:
    """Return a number near μ(ε, δ), by Newton's method from one that may be near it: not proved.

    Raises:
        UndecidedError: if the working precision does not tell δ from 0 or 1.
    """
    scale = _Scale(eps, delta)
    return scale.newton(_start(eps, delta) if start is None else start)[0]


class _Scale:
    """The equation δ_m(ε) = δ in m, on the logarithm of δ or of 1 - δ, whichever is the longer."""

    def __init__(self, eps: arb, delta: Probability) -> None:
        self.eps = eps
        log = delta.log()
        self.upper_half = certainly(log > _LOG_HALF)
        self.target = delta.log_complement() if self.upper_half else log
        if not self.target.is_finite():
            raise MorePrecisionError("δ is too close to 0 or 1")

    def excess(self, mu: arb) -> arb:
        """Return an increasing function of m that vanishes at the solution."""
        if self.upper_half:
            return self.target - log_delta_complement_of(self.eps, mu)
        return log_delta_of(self.eps, mu) - self.target

    def slope_inverse(self, mu: arb) -> arb:
        """Return the reciprocal of the derivative of :meth:`excess`."""
        with guarded(self.eps, mu):
            x, y = _ends(self.eps, mu)
            return _mills(-x) + _mills(y) if self.upper_half else _mills(x) - _mills(y)

    def newton(self, start: arb) -> tuple[arb, arb]:
        """Return a candidate and an estimate of its error; neither is proved."""
        candidate, radius = start, arb(0)
        for _ in range(_MAX_NEWTON_STEPS):
            excess = self.excess(candidate)
            found = excess * self.slope_inverse(candidate)
            # what is not known of δ is part of it
            step, radius = found.mid(), arb(found.abs_upper())
            moved = (candidate - step).mid()
            candidate = moved if certainly(moved > 0) else (candidate / 2).mid()
            if excess.contains(0) or certainly(abs(step) <= candidate * _unit()):
                break
        return candidate, radius


def _start(eps: arb, delta: Probability) -> arb:
    """Return a lower bound of μ(ε, δ): δ_μ(ε) is at most Φ(-x) and at most δ_μ(0)."""
    tail, complement = delta.log().exp(), delta.log_complement().exp()
    at_zero = arb(8).sqrt() * (
        tail.erfinv() if certainly(tail < complement) else complement.erfcinv()
    )
    quantile = _quantile(delta)
    root = (quantile * quantile + 2 * eps).sqrt()
    inside = 2 * eps / (root - quantile) if certainly(quantile < 0) else quantile + root
    start = inside.max(at_zero).mid()
    return start if start.is_finite() and certainly(start > 0) else arb(1)


def _quantile(delta: Probability) -> arb:
    """Return Φ⁻¹(δ)."""
    tail, complement = delta.log().exp(), delta.log_complement().exp()
    if certainly(tail < complement):
        return -arb(2).sqrt() * (2 * tail).erfcinv()
    return arb(2).sqrt() * (2 * complement).erfcinv()


def epsilon_of(mu: arb, delta: Probability) -> arb:
    """Enclose the ε > 0 with δ_μ(ε) = δ, for 0 < δ < δ_μ(0), by Newton's method and a proof.

    Raises:
        UndecidedError: if the working precision does not decide.
    """
    target = delta.log()
    # log δ_μ is concave in ε, so that from an upper bound Newton's steps only come down;
    # δ_μ(ε) ≤ Φ(-x) gives one
    candidate, radius = (mu * (mu / 2 - _quantile(delta))).mid(), arb(0)
    for _ in range(_MAX_NEWTON_STEPS):
        series = log_delta_series(candidate, candidate, mu)
        step = ((series[0] - target) / series[1]).mid()
        radius = abs(step)
        moved = (candidate - step).mid()
        candidate = moved if certainly(moved > 0) else (candidate / 2).mid()
        if (series[0] - target).contains(0) or certainly(radius <= candidate * _unit()):
            break
    for _ in range(working_precision()):
        radius = 2 * radius + candidate * _unit()
        low, high = (candidate - radius).lower(), (candidate + radius).upper()
        if not certainly(low > 0):
            low = arb(0)
        above = low.is_zero() or certainly(log_delta_of(low, mu) > target)
        if above and certainly(log_delta_of(high, mu) < target):
            return _hull(low, high)
    raise MorePrecisionError("ε could not be enclosed")


def _unit() -> arb:
    """Return the relative spacing to which a solution is polished."""
    return arb(2) ** (8 - working_precision())


def _ends(eps: arb, mu: arb) -> tuple[arb, arb]:
    ratio, half = eps / mu, mu / 2
    return ratio - half, ratio + half


def _mills(z: arb) -> arb:
    """Enclose Mills' ratio Φ(-z)/φ(z)."""
    if certainly(z > _ASYMPTOTIC_FROM):
        return _mills_asymptotic(z)
    return (arb.pi() / 2).sqrt() * (z * z / 2).exp() * (z / arb(2).sqrt()).erfc()


def _mills_asymptotic(z: arb) -> arb:
    """Enclose Mills' ratio at large z, where exp and erfc over- and underflow.

    z R(z) = 1 - 1/z² + 3/z⁴ - 15/z⁶ + ... is alternating and enveloping: each partial sum is
    off by less than the first term left out, and to its side (Abramowitz and Stegun 7.1.24).
    """
    inverse_square = 1 / (z * z)
    term, total, k = arb(1), arb(1), 0
    while certainly(term.abs_lower() > arb(2) ** (-working_precision())):
        k += 1
        if 2 * k > _ASYMPTOTIC_FROM**2:
            raise UndecidedError("Mills' ratio: too many digits asked for")
        term = -term * (2 * k - 1) * inverse_square
        total += term
    return total.union(total - term * (2 * k + 1) * inverse_square) / z


def _log_density(x: arb) -> arb:
    return -(x * x + (2 * arb.pi()).log()) / 2


def _hull(a: arb, b: arb) -> arb:
    return a.union(b)


def guarded(eps: arb, mu: arb, length: int | None = None) -> AbstractContextManager[None]:
    """Work with the bits that squaring x and y and taking R(x) - R(y) will cost.

    Power series have ``length`` terms, or as many as before.
    """
    length = series_length() if length is None else length
    largest = float((eps / mu + mu).abs_upper())
    smallest = float(mu.abs_lower())
    if not (math.isfinite(largest) and smallest > 0):
        return precision(working_precision(), length)
    lost = 4 * math.log2(largest + 2) + max(0.0, -math.log2(smallest)) + 16
    return precision(working_precision() + int(lost), length)
