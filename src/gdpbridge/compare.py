"""Compare what different theorems say of a k-fold composition of an ε₀-DP mechanism.

The rows are those of the source paper's table (Liu, Sun, Jiang and Kong 2022, table 1): the least
ε at which each theorem gives (ε, δ)-DP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from flint import arb

from gdpbridge.compose import Part, compose
from gdpbridge.convert import epsilon_at
from gdpbridge.errors import InputError
from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.decide import is_above, with_enough_precision
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, exact
from gdpbridge.numeric.kinds import ball, to_fraction

__all__ = ["DELTAS", "Comparison", "Row", "compare"]


DELTAS = (0.1, 0.01, 0.001, 0.0001)
MAX_TIMES = 1_000_000

_BITS = 160
_DIGITS = 20


@dataclass(frozen=True)
class Row:
    """What one theorem says.

    Attributes:
        name: its short name.
        how: the formula or theorem, for a reader.
        mu: the μ it goes through, if it does.
        epsilons: an interval for the least ε, for each δ.
    """

    name: str
    how: str
    mu: Interval | None
    epsilons: tuple[Interval, ...]


@dataclass(frozen=True)
class Comparison:
    """The answer of :func:`compare`.

    Attributes:
        epsilon: ε₀ of each mechanism.
        times: how many are composed.
        deltas: the δ's of the columns.
        rows: a row for each theorem.
    """

    epsilon: float
    times: int
    deltas: tuple[float, ...]
    rows: tuple[Row, ...]


def compare(epsilon: float, times: int, deltas: Sequence[Real] = DELTAS) -> Comparison:
    """Tabulate the least ε that seven theorems give for a k-fold composition of ε₀-DP.

    Args:
        epsilon: ε₀ > 0 of each mechanism.
        times: k, a whole number from 1 to a million.
        deltas: δ's in (0, 1).

    Returns:
        Basic, advanced and Rényi composition; GDP composition for any ε₀-DP mechanism and for the
        Laplace mechanism; the exact profile, and its least μ as a Gaussian curve.

    Raises:
        InputError: for an argument outside its range.

    Sources: Dwork et al. (2006, 2010); Mironov (2017), corollary 1; Dong, Roth and Su (2022);
    Kairouz, Oh and Viswanath (2015).
    """
    one = PureDP(epsilon=epsilon)
    if one.epsilon == 0:
        raise InputError("epsilon", epsilon, "a number > 0")
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
        raise InputError("times", times, f"a whole number from 1 to {MAX_TIMES:,}")
    columns = tuple(_delta(delta) for delta in deltas)
    eps0, total = exact(one.epsilon), times * exact(one.epsilon)

    def advanced(delta: Fraction) -> arb:
        noise = (2 * times * (1 / ball(delta)).log()).sqrt()
        return ball(eps0) * noise + times * ball(eps0) * ball(eps0).expm1()

    def renyi(delta: Fraction) -> arb:
        return 4 * ball(eps0) * (2 * times * (1 / ball(delta)).log()).sqrt()

    def basic(delta: Fraction) -> arb:
        # δ = (e^{kε₀} - e^ε)/(1 + e^{kε₀}) solved for ε
        left = 1 - ball(delta) * (1 + (-ball(total)).exp())
        return (ball(total) + left.log()).max(arb(0)) if is_above(left) else arb(0)

    laplace = Laplace(scale=1, sensitivity=one.epsilon)
    exact_profile = one.compose(times)
    return Comparison(
        epsilon=one.epsilon,
        times=times,
        deltas=tuple(map(float, deltas)),
        rows=(
            _formula("Basic", "profile of kε₀-DP", basic, columns),
            _formula("Advanced", "ε₀√(2k log(1/δ)) + kε₀(e^ε₀ - 1)", advanced, columns),
            _formula("RDP", "4ε₀√(2k log(1/δ)), Mironov 2017, corollary 1", renyi, columns),
            _gaussian("GDP", "μ of ε₀-DP times √k", _composed(one, times), deltas),
            _gaussian("GDP Laplace", "μ of Laplace times √k", _composed(laplace, times), deltas),
            Row(
                "Optimal",
                "exact profile of k-fold randomized response",
                None,
                tuple(epsilon_at(exact_profile, delta) for delta in deltas),
            ),
            _gaussian(
                "GDP summary", "least μ of the exact profile", measure(exact_profile).mu, deltas
            ),
        ),
    )


def _composed(profile: Profile, times: int) -> Interval:
    return compose([Part(profile, times)]).mu


def _formula(
    name: str, how: str, epsilon: Callable[[Fraction], arb], deltas: Sequence[Fraction]
) -> Row:
    def rounded(delta: Fraction) -> Interval:
        value = epsilon(delta)
        low, high = to_fraction(value.lower()), to_fraction(value.upper())
        return Interval(decimal_floor(low, _DIGITS), decimal_ceiling(high, _DIGITS))

    intervals = [with_enough_precision(_BITS, partial(rounded, delta)) for delta in deltas]
    return Row(name, how, None, tuple(intervals))


def _gaussian(name: str, how: str, mu: Interval, deltas: Sequence[Real]) -> Row:
    epsilons = tuple(
        Interval(epsilon_at(mu.low, delta).low, epsilon_at(mu.high, delta).high) for delta in deltas
    )
    return Row(name, how, mu, epsilons)


def _delta(delta: Real) -> Fraction:
    allowed = "numbers > 0 and < 1"
    try:
        value = exact(delta)
    except ValueError:
        raise InputError("deltas", delta, allowed) from None
    if not 0 < value < 1:
        raise InputError("deltas", delta, allowed)
    return value
