"""Convert between a μ, a pair (μ, p), a mechanism's profile, and single (ε, δ) pairs.

Every answer is an interval; its upper end is the safe one to publish.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.points import delta_interval, enclosed, least_epsilon
from gdpbridge.errors import InputError
from gdpbridge.gaussian import ball as directed
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.effort import within
from gdpbridge.numeric.exact import (
    decimal_ceiling,
    decimal_floor,
    decimal_text,
    exact,
)
from gdpbridge.numeric.kinds import BALLS, Probability, ball

__all__ = ["Source", "beta_at", "delta_at", "epsilon_at", "mu_of_pair"]

# a μ, a pair (μ, p), or a mechanism
Source = Real | tuple[Real, Real] | Profile

_DIGITS = 20
_MAX_MU = Fraction(1000)
_INFINITE = Interval("Infinity", "Infinity")
_ZERO = Interval(0, 0)
_ALPHA = "a number in [0, 1]"
# where that takes too much work
_ELSE = "another ε or δ, more noise or fewer runs take less, and measure may find a μ"
_DELTA, _EPS = "a number in [0, 1]", f"a number in [0, {MAX_EPS:g}]"


def delta_at(source: Source, eps: Real) -> Interval:
    """Return an interval for the least δ at which a guarantee is (ε, δ)-DP.

    Args:
        source: a μ ≥ 0, a pair (μ, p), or a profile.
        eps: ε in [0, 1e5].

    Raises:
        InputError: for an argument outside its range.
        UndecidedError: at the precision cap.
        WorkLimitError: for more work than is allowed for one question.

    Source: Dong, Roth and Su (2022), corollary 2.13; for (μ, p), δ = p + (1 - p)·δ_μ(ε).
    """
    at = exact_between("epsilon", eps, 0, Fraction(MAX_EPS), _EPS)
    if isinstance(source, Profile):
        with within(f"δ of {source.kind} at ε = {eps}", _ELSE):
            return source.curve.delta_at(at)
    log_delta = _log_delta(source)
    return _ZERO if log_delta is None else delta_interval(_enclosing(log_delta), at)


def epsilon_at(source: Source, delta: Real) -> Interval:
    """Return an interval for the least ε ≥ 0 at which a guarantee is (ε, δ)-DP.

    Args:
        source: a μ ≥ 0, a pair (μ, p), or a profile.
        delta: δ in [0, 1].

    Returns:
        Two neighbouring floats, as a rule; infinity where no ε will do.

    Raises:
        InputError: for an argument outside its range.
        UndecidedError: at the precision cap.
        WorkLimitError: for more work than is allowed for one question.

    Source: as for :func:`delta_at`.
    """
    target = exact_between("delta", delta, 0, Fraction(1), _DELTA)
    if isinstance(source, Profile):
        with within(f"ε of {source.kind} at δ = {delta}", _ELSE):
            return source.curve.epsilon_at(target)
    log_delta = _log_delta(source)
    if log_delta is None or target == 1:
        return _ZERO
    if isinstance(source, tuple):
        mu, p = source[0], exact(source[1])
        if exact(mu) == 0:
            return _ZERO if target >= p else _INFINITE
        if target > p:
            # p + (1 - p)·δ_μ ≤ δ is a question about δ_μ alone
            return least_epsilon(_enclosing(_curve(mu)), (target - p) / (1 - p))
        return _INFINITE
    return least_epsilon(_enclosing(log_delta), target)


def beta_at(source: Source, alpha: Real) -> Interval:
    """Return an interval for f(α), the least type II error of a test with type I error α.

    Args:
        source: a μ ≥ 0, a pair (μ, p), or a profile.
        alpha: α in [0, 1].

    Raises:
        InputError: for an argument outside its range.
        WorkLimitError: for more work than is allowed for one question.

    Source: Dong, Roth and Su (2022), section 2 and proposition 2.12; for (μ, p), which gives
    everything away with probability p, f(α) = (1 - p)·f_μ(α/(1 - p)).
    """
    at = exact_between("alpha", alpha, 0, Fraction(1), _ALPHA)
    if isinstance(source, Profile):
        from gdpbridge.curves.tradeoff import errors_at

        with within(f"f(α) of {source.kind} at α = {alpha}", _ELSE):
            ends = errors_at(source.curve, [at])
        return Interval(*(Decimal(end[0]) for end in ends))
    mu, p = source if isinstance(source, tuple) else (source, 0)
    width = exact_between("mu", mu, 0, _MAX_MU, f"a number in [0, {float(_MAX_MU):g}]")
    failure = exact_between("failure", p, 0, Fraction(1), "a number in [0, 1)")
    if failure == 1:
        raise InputError("failure", p, "a number in [0, 1)")
    # a failure raises no false alarms: all of α is left for the other cases
    level = at / (1 - failure)
    if level in (0, 1) or level > 1 or width == 0:
        value = max((1 - failure) * (1 - level), Fraction(0))
        return Interval(decimal_floor(value, _DIGITS), decimal_ceiling(value, _DIGITS))
    text = decimal_text(width)
    sides = (
        directed.beta_lower(decimal_ceiling(level, 2 * _DIGITS), text),
        directed.beta_upper(decimal_floor(level, 2 * _DIGITS), text),
    )
    low, high = ((1 - failure) * Fraction(side) for side in sides)
    return Interval(decimal_floor(low, _DIGITS), decimal_ceiling(high, _DIGITS))


def mu_of_pair(eps: Real, delta: Real) -> Interval:
    """Return an interval for the μ whose curve passes through (ε, δ).

    It is the μ of a Gaussian mechanism calibrated to that pair. A mechanism known only to be
    (ε, δ)-DP need not be GDP at all.

    Args:
        eps: ε in [0, 1e5].
        delta: δ in [0, 1].

    Raises:
        InputError: for an argument outside its range.
    """
    at = exact_between("epsilon", eps, 0, Fraction(MAX_EPS), _EPS)
    value = exact_between("delta", delta, 0, Fraction(1), _DELTA)
    if value == 0:
        return _ZERO
    if value == 1:
        return _INFINITE
    return enclosed(
        lambda: gaussian.mu_of(ball(at), Probability.from_log(BALLS, ball(value).log()))
    )


LogDelta = Callable[[arb], arb]


def _log_delta(source: Real | tuple[Real, Real]) -> LogDelta | None:
    """Return log δ(ε) of a μ or (μ, p) as an enclosure, or None if δ is 0 throughout."""
    mu, p = source if isinstance(source, tuple) else (source, 0)
    width = exact_between("mu", mu, 0, _MAX_MU, f"a number in [0, {float(_MAX_MU):g}]")
    log_curve = _curve(mu)
    failure = exact_between("failure", p, 0, Fraction(1), "a number in [0, 1)")
    if failure == 1:
        raise InputError("failure", p, "a number in [0, 1)")

    def mixture(eps: arb) -> arb:
        if width == 0:
            return ball(failure).log()
        log = log_curve(eps)
        return (ball(failure) + ball(1 - failure) * log.exp()).log() if failure else log

    return None if width == 0 and failure == 0 else mixture


def _enclosing(log_delta: LogDelta) -> Callable[[arb], Probability]:
    return lambda eps: Probability.from_log(BALLS, log_delta(eps))


def _curve(mu: Real) -> LogDelta:
    width = exact(mu)
    return lambda eps: gaussian.log_delta_of(eps, ball(width))
