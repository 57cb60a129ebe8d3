"""The Gaussian privacy curve with the direction in the name, proved in ball arithmetic.

Plain numbers go in, and floats come out that are rounded in the direction that the name says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from flint import arb

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.gaussian.enclosures import epsilon_of, log_delta_complement_of, log_delta_of, mu_of
from gdpbridge.numeric.decide import MorePrecisionError, certainly, with_enough_precision
from gdpbridge.numeric.exact import rational
from gdpbridge.numeric.kinds import BALLS, Probability, ball, float_above, float_below

__all__ = [
    "beta_complement_lower",
    "beta_complement_upper",
    "beta_lower",
    "beta_upper",
    "delta_complement_lower",
    "delta_complement_upper",
    "delta_lower",
    "delta_upper",
    "epsilon_lower",
    "epsilon_upper",
    "log_delta_lower",
    "log_delta_upper",
    "mu_lower",
    "mu_upper",
]

Number = float | int | str | Decimal

Enclosure = Callable[[], arb]

_PRECISION_CAP = 1 << 14
# at first: what a float needs, and a few digits to lose
_BITS = 96
# bits that make rounding a ball's end to a double cost one ulp at most
_DOUBLE = 60


def log_delta_lower(eps: Number, mu: Number) -> float:
    """Return a float at most log δ_μ(ε).

    Floats are taken as the binary numbers they are, text and decimals exactly.

    Args:
        eps: ε ≥ 0.
        mu: μ > 0.

    Raises:
        InputError: if an argument is outside its range or not a number.
        UndecidedError: if the precision cap is reached.
    """
    return _floor(_log_delta_at(eps, mu))


def log_delta_upper(eps: Number, mu: Number) -> float:
    """Return a float at least log δ_μ(ε); arguments as in :func:`log_delta_lower`."""
    return _ceiling(_log_delta_at(eps, mu))


def delta_lower(eps: Number, mu: Number) -> float:
    """Return a float at most δ_μ(ε), 0.0 if it underflows; see :func:`log_delta_lower`."""
    return _floor(lambda: _log_delta_at(eps, mu)().exp())


def delta_upper(eps: Number, mu: Number) -> float:
    """Return a float at least δ_μ(ε), never 0.0; arguments as in :func:`log_delta_lower`."""
    return _ceiling(lambda: _log_delta_at(eps, mu)().exp())


def delta_complement_lower(eps: Number, mu: Number) -> float:
    """Return a float at most 1 - δ_μ(ε); arguments as in :func:`log_delta_lower`."""
    return _floor(_complement_at(eps, mu))


def delta_complement_upper(eps: Number, mu: Number) -> float:
    """Return a float at least 1 - δ_μ(ε); arguments as in :func:`log_delta_lower`."""
    return _ceiling(_complement_at(eps, mu))


def mu_lower(eps: Number, delta: Number | None = None, *, log_delta: Number | None = None) -> float:
    """Return a float at most μ(ε, δ).

    Args:
        eps: ε ≥ 0.
        delta: δ in [0, 1]; or give ``log_delta``.
        log_delta: log δ ≤ 0.

    Raises:
        InputError: if an argument is outside its range, or not exactly one of the two is given.
        UndecidedError: if the precision cap is reached.
    """
    return _floor(_mu_at(eps, delta, log_delta))


def mu_upper(eps: Number, delta: Number | None = None, *, log_delta: Number | None = None) -> float:
    """Return a float at least μ(ε, δ); arguments as in :func:`mu_lower`."""
    return _ceiling(_mu_at(eps, delta, log_delta))


def epsilon_lower(
    mu: Number, delta: Number | None = None, *, log_delta: Number | None = None
) -> float:
    """Return a float at most the least ε ≥ 0 with δ_μ(ε) ≤ δ; arguments as in :func:`mu_lower`."""
    return _floor(_epsilon_at(mu, delta, log_delta))


def epsilon_upper(
    mu: Number, delta: Number | None = None, *, log_delta: Number | None = None
) -> float:
    """Return a float at least the least ε ≥ 0 with δ_μ(ε) ≤ δ; arguments as in :func:`mu_lower`."""
    return _ceiling(_epsilon_at(mu, delta, log_delta))


def beta_lower(alpha: Number, mu: Number) -> float:
    """Return a float at most f_μ(α) = Φ(Φ⁻¹(1 - α) - μ), for α in [0, 1] and μ ≥ 0.

    Raises:
        InputError: if an argument is outside its range or not a number.
    """
    return _floor(_beta_at(alpha, mu))


def beta_upper(alpha: Number, mu: Number) -> float:
    """Return a float at least f_μ(α); arguments as in :func:`beta_lower`."""
    return _ceiling(_beta_at(alpha, mu))


def beta_complement_lower(alpha: Number, mu: Number) -> float:
    """Return a float at most 1 - f_μ(α), the best true-positive rate at false-positive rate α.

    Arguments as in :func:`beta_lower`.
    """
    return _floor(_beta_complement_at(alpha, mu))


def beta_complement_upper(alpha: Number, mu: Number) -> float:
    """Return a float at least 1 - f_μ(α); arguments as in :func:`beta_lower`."""
    return _ceiling(_beta_complement_at(alpha, mu))


def _floor(enclosure: Enclosure) -> float:
    return _rounded(enclosure, float_below)


def _ceiling(enclosure: Enclosure) -> float:
    return _rounded(enclosure, float_above)


def _rounded(enclosure: Enclosure, rounding: Callable[[arb], float]) -> float:
    def attempt() -> float:
        value = enclosure()
        if value.is_exact() and not value.is_finite() and not value.is_nan():
            return float(value)
        # a few bits more than a double's leave one ulp of slack at most
        if value.is_finite() and (value.is_exact() or value.rel_accuracy_bits() >= _DOUBLE):
            return rounding(value)
        raise MorePrecisionError

    return with_enough_precision(_BITS, attempt, most=_PRECISION_CAP)


def _log_delta_at(eps: Number, mu: Number) -> Enclosure:
    at, width = _number("eps", eps, 0), _number("mu", mu, 0)
    if width == 0:
        return arb.neg_inf
    return lambda: log_delta_of(ball(at), ball(width))


def _complement_at(eps: Number, mu: Number) -> Enclosure:
    at, width = _number("eps", eps, 0), _number("mu", mu, 0)
    if width == 0:
        return lambda: arb(1)
    return lambda: log_delta_complement_of(ball(at), ball(width)).exp()


def _mu_at(eps: Number, delta: Number | None, log_delta: Number | None) -> Enclosure:
    at, (log, exact_delta) = _number("eps", eps, 0), _delta(delta, log_delta)
    if exact_delta == 0:
        return lambda: arb(0)
    if exact_delta == 1:
        return arb.pos_inf
    return lambda: mu_of(ball(at), Probability.from_log(BALLS, log()))


def _epsilon_at(mu: Number, delta: Number | None, log_delta: Number | None) -> Enclosure:
    width, (log, exact_delta) = _number("mu", mu, 0), _delta(delta, log_delta)
    if width == 0 or exact_delta == 1:
        return lambda: arb(0)
    if exact_delta == 0:
        return arb.pos_inf

    def enclosure() -> arb:
        curve = ball(width)
        at_zero = log_delta_of(arb(0), curve)
        if certainly(log() >= at_zero):
            return arb(0)
        return epsilon_of(curve, Probability.from_log(BALLS, log()))

    return enclosure


def _delta(delta: Number | None, log_delta: Number | None) -> tuple[Enclosure, Fraction | None]:
    """Return log δ as an enclosure, and δ itself where it is known to be a rational."""
    if (delta is None) == (log_delta is None):
        given = "neither" if delta is None else "both"
        raise InputError("delta and log_delta", Words(given), Advice("give one of them"))
    if delta is not None:
        value = _number("delta", delta, 0, 1)
        return (lambda: ball(value).log()), value
    assert log_delta is not None
    if isinstance(log_delta, float) and log_delta == -math.inf:
        return arb.neg_inf, Fraction(0)
    log = _number("log_delta", log_delta, None, 0)
    return (lambda: ball(log)), Fraction(1) if log == 0 else None


def _beta_at(alpha: Number, mu: Number) -> Enclosure:
    return _test_error(alpha, mu, sign=1)


def _beta_complement_at(alpha: Number, mu: Number) -> Enclosure:
    return _test_error(alpha, mu, sign=-1)


def _test_error(alpha: Number, mu: Number, sign: int) -> Enclosure:
    """Φ(sign·(Φ⁻¹(1 - α) - μ)): the type II error for +1, the power for -1."""
    level, width = _number("alpha", alpha, 0, 1), _number("mu", mu, 0)
    if level in (0, 1):
        return lambda: arb(1 if (level == 0) == (sign > 0) else 0)

    def enclosure() -> arb:
        root = arb(2).sqrt()
        quantile = root * (2 * ball(level)).erfcinv()
        return (sign * (ball(width) - quantile) / root).erfc() / 2

    return enclosure


def _number(field: str, value: Number, least: int | None, greatest: int | None = None) -> Fraction:
    allowed = {
        (0, None): "a finite number ≥ 0",
        (0, 1): "a number in [0, 1]",
        (None, 0): "a number ≤ 0",
    }[least, greatest]
    try:
        number = rational(value)
    except ValueError:
        raise InputError(field, value, allowed) from None
    if (least is not None and number < least) or (greatest is not None and number > greatest):
        raise InputError(field, value, allowed)
    return number
