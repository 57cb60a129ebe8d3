"""Convert between a μ, a pair (μ, p), a mechanism's profile, and single (ε, δ) pairs.

Every answer is an interval; its upper end is the safe one to publish.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.points import proved_deltas
from gdpbridge.curves.tail import ConstantTail, PlateauTail
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.gaussian import ball as gaussian
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import (
    decimal_ceiling,
    decimal_floor,
    exact,
    float_ceiling,
    float_floor,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Probability, ball, to_fraction

__all__ = ["Source", "beta_at", "delta_at", "epsilon_at", "mu_of_pair"]

# a μ, a pair (μ, p), or a mechanism
Source = Real | tuple[Real, Real] | Profile

_DIGITS = 20
_BITS = 160
_MAX_BITS = 1 << 13
_MAX_MU = Fraction(1000)
_FARTHEST = 2.0**1000
# below it an answer is only bounded
_LEAST = "1e-4000"
_INFINITE = Interval("Infinity", "Infinity")
_ZERO = Interval(0, 0)
_ALPHA = "a number in [0, 1]"
_DELTA, _EPS = "a number in [0, 1]", f"a number in [0, {MAX_EPS:g}]"


def delta_at(source: Source, eps: Real) -> Interval:
    """Return an interval for the least δ at which a guarantee is (ε, δ)-DP.

    Args:
        source: a μ ≥ 0, a pair (μ, p), or a profile.
        eps: ε in [0, 1e5].

    Raises:
        InputError: for an argument outside its range.
        UndecidedError: at the precision cap.

    Source: Dong, Roth and Su (2022), corollary 2.13; for (μ, p), δ = p + (1 - p)·δ_μ(ε).
    """
    at = exact_between("epsilon", eps, 0, Fraction(MAX_EPS), _EPS)
    log_delta = _log_delta(source)
    if log_delta is None or _is_past_end(source, at):
        return _ZERO
    if isinstance(source, Profile) and source.curve.bounds is not None:
        # ε as a float, rounded to either side
        ends = np.array([max(float_floor(at), 0.0), float_ceiling(at)])
        low, high = proved_deltas(source.curve, ends)
        return Interval(Decimal(low[1]), Decimal(high[0]))
    return _enclosed(lambda: log_delta(ball(at)).exp())


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

    Source: as for :func:`delta_at`.
    """
    target = exact_between("delta", delta, 0, Fraction(1), _DELTA)
    log_delta = _log_delta(source)
    if log_delta is None or target == 1:
        return _ZERO
    if isinstance(source, tuple):
        mu, p = source[0], exact(source[1])
        if exact(mu) == 0:
            return _ZERO if target >= p else _INFINITE
        if target > p:
            # p + (1 - p)·δ_μ ≤ δ is a question about δ_μ alone
            return _least_epsilon(_curve(mu), (target - p) / (1 - p))
        return _INFINITE
    if isinstance(source, Profile) and source.curve.bounds is not None:
        ends = np.array([float_ceiling(target), float_floor(target)])
        low, high = source.curve.bounds.epsilon(ends)
        return Interval(Decimal(low[0]), Decimal(high[1]))
    known = _constant_from(source, target)
    return _least_epsilon(log_delta, target) if known is None else _enclosed(known)


def beta_at(source: Source, alpha: Real) -> Interval:
    """Return an interval for f(α), the least type II error of a test with type I error α.

    Args:
        source: a μ ≥ 0, a pair (μ, p), or a profile.
        alpha: α in [0, 1].

    Raises:
        InputError: for an argument outside its range.

    Source: Dong, Roth and Su (2022), section 2 and proposition 2.12; for (μ, p), which gives
    everything away with probability p, f(α) = (1 - p)·f_μ(α/(1 - p)).
    """
    at = exact_between("alpha", alpha, 0, Fraction(1), _ALPHA)
    if isinstance(source, Profile):
        # α as a float, rounded to either side: f falls
        sides = np.array([min(float_ceiling(at), 1.0), max(float_floor(at), 0.0)])
        lows, highs = map(np.asarray, source.tradeoff_bounds(sides))
        return Interval(Decimal(lows[0]), Decimal(highs[1]))
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
    ends = (
        gaussian.beta_lower(decimal_ceiling(level, 2 * _DIGITS), mu),
        gaussian.beta_upper(decimal_floor(level, 2 * _DIGITS), mu),
    )
    low, high = ((1 - failure) * Fraction(end) for end in ends)
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
    return _enclosed(
        lambda: gaussian.mu_of(ball(at), Probability.from_log(BALLS, ball(value).log()))
    )


LogDelta = Callable[[arb], arb]


def _log_delta(source: Source) -> LogDelta | None:
    """Return log δ(ε) as an enclosure, or None if δ is 0 throughout."""
    if isinstance(source, Profile):
        curve = source.curve
        return None if curve.end == 0 else lambda eps: curve.enclose(eps).log()
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


def _curve(mu: Real) -> LogDelta:
    width = exact(mu)
    return lambda eps: gaussian.log_delta_of(eps, ball(width))


def _constant_from(source: Source, target: Fraction) -> Callable[[], arb] | None:
    """Return the ε from which δ is constant and at most the target, if it is above it before."""
    if not isinstance(source, Profile) or not isinstance(source.tail, ConstantTail | PlateauTail):
        return None
    start, value = source.tail.start, source.tail.value
    if value != target:
        return None
    return lambda: BALLS.constant(start)


def _least_epsilon(log_delta: LogDelta, target: Fraction) -> Interval:
    """Bisect down to floats at one of which δ is proved above the target, at the other not above.

    They are neighbours, but for a float between them where δ is the target itself.
    """
    if target == 0:
        return _INFINITE

    def is_above(eps: float) -> bool | None:
        """Tell whether δ(ε) is above the target; None where no precision tells them apart."""
        bits = _BITS
        while bits <= _MAX_BITS:
            with precision(bits):
                log, bound = log_delta(ball(Fraction(eps))), ball(target).log()
                if log > bound:
                    return True
                if log <= bound:
                    return False
            bits *= 2
        return None

    low, high = 0.0, 1.0
    if is_above(low) is False:
        return _ZERO
    while (above := is_above(high)) is not False:
        low, high = (high if above else low), 2 * high
        if high > _FARTHEST:
            return _INFINITE if above else Interval(Decimal(low), "Infinity")
    # δ may be the target itself on the way, as at a row of a table
    first, _ = _halved(lambda eps: is_above(eps) is True, low, high)
    _, last = _halved(lambda eps: is_above(eps) is not False, first, high)
    return Interval(Decimal(first), Decimal(last))


def _halved(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return the neighbouring floats between which a condition ends."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _enclosed(value: Callable[[], arb]) -> Interval:
    """Return an interval of some twenty digits.

    Raises:
        UndecidedError: at the precision cap.
    """
    bits = _BITS
    while bits <= _MAX_BITS:
        with precision(bits):
            enclosure = value()
            if enclosure >= 0 and enclosure < arb(_LEAST):
                # its digits are of no use, and a fraction of it would fill the memory
                return Interval(0, _LEAST)
            if enclosure.is_finite() and (
                enclosure.is_exact() or enclosure.rel_accuracy_bits() > _BITS // 2
            ):
                low, high = to_fraction(enclosure.lower()), to_fraction(enclosure.upper())
                return Interval(decimal_floor(low, _DIGITS), decimal_ceiling(high, _DIGITS))
        bits *= 2
    raise UndecidedError(f"undecided with {_MAX_BITS} bits of precision")


def _is_past_end(source: Source, at: Fraction) -> bool:
    """Whether δ is known to be 0 at ε, where rounding would never tell."""
    end = source.curve.end if isinstance(source, Profile) else None
    return isinstance(end, Fraction) and at >= end
