"""From a formula to what is known of its tail, with proof where the growth can be enclosed."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import CoarseDecayTail, GaussianDecayTail, SlowDecayTail, SlowerTail
from gdpbridge.expressions.asymptotics import growth_of
from gdpbridge.expressions.sums import Exponential, Growth, Monomial, Sum, UnknownGrowthError
from gdpbridge.expressions.tree import Call, Node
from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball, fraction_above, to_fraction

__all__ = ["monomial_text", "proved_tail"]

_BITS = 192
# larger starts tell more, and leave more for the cells of the head
_STARTS = (16, 64, 1024, 2**14)
_FAST_START = 2**14
_LINEAR: Monomial = (Fraction(1), Fraction(0))
_SQUARE: Monomial = (Fraction(2), Fraction(0))
_LOG: Monomial = (Fraction(0), Fraction(1))
_DIGITS = 20


def proved_tail(tree: Node, is_log: bool, start: Fraction) -> Tail | None:
    """Return the tail of δ, given by a formula of δ or of log δ, or None if it is not decided.

    Args:
        tree: the formula, without piecewise.
        is_log: whether it is log δ.
        start: from where on it applies.
    """
    log = tree if is_log else Call("log", (tree,))
    for at in _STARTS:
        if at < start:
            continue
        try:
            with precision(_BITS):
                return _tail(log, at)
        except UnknownGrowthError:
            continue
    return None


def _growth(log: Node, start: int) -> Growth:
    # e to a power that is itself an exponential is beyond sums, its logarithm is not
    if isinstance(log, Call) and log.function == "log":
        inner = log.arguments[0]
        if isinstance(inner, Call) and inner.function == "exp":
            return growth_of(inner.arguments[0], arb(start))
    return growth_of(log, arb(start))


def _tail(log: Node, start: int) -> Tail:
    growth = _growth(log, start)
    if isinstance(growth, Exponential):
        return _faster(log, start)
    if not growth.terms or max(growth.terms) <= _LINEAR:
        return _slow(growth, start)
    monomial, c = growth.leading()
    if certainly(c > 0):  # it does not hold 0
        raise UnknownGrowthError
    if monomial < _SQUARE:
        growth.most()
        return SlowerTail(monomial_text(monomial), Fraction(start))
    return _faster(log, start) if monomial > _SQUARE else _gaussian(log, growth, start)


def _slow(growth: Sum, start: int) -> Tail:
    """log δ ≥ -kε: every term is a share of ε."""
    share = growth.times_monomial((Fraction(-1), Fraction(0))).range()
    if not share.is_finite():
        raise UnknownGrowthError
    rate = Fraction(decimal_ceiling(max(to_fraction((-share).upper()), Fraction(0)), 3))
    return SlowDecayTail(Fraction(0), rate, Fraction(start))


def _faster(log: Node, start: int) -> Tail:
    """log δ ≤ -Kε² from some ε on, for K as large as may be: μ_t = 0."""
    start = max(start, _FAST_START)
    growth = _growth(log, start)
    if isinstance(growth, Exponential):
        if growth.positive:
            raise UnknownGrowthError
        # e^f = e^(f - 2 log ε)·ε², and f - 2 log ε grows
        doubled = Sum({_LOG: arb(2)}, growth.exponent.start)
        least = -(doubled + -growth.exponent).most()
        steepness = least.min(arb(100)).exp()
    else:
        # f/ε² falls to -∞
        steepness = -growth.times_monomial((Fraction(-2), Fraction(0))).most()
    if not certainly(steepness > 0):
        raise UnknownGrowthError
    width = fraction_above((1 / (2 * steepness)).sqrt(), _DIGITS)
    return CoarseDecayTail(Fraction(0), width, Fraction(start), Interval(0, 0))


def _gaussian(log: Node, growth: Sum, start: int) -> Tail:
    """log δ = cε² + lower terms."""
    c = growth.terms[_SQUARE]
    rest = growth + Sum({_SQUARE: -c}, growth.start)
    rest = Sum({key: value for key, value in rest.terms.items() if key != _SQUARE}, growth.start)

    def mu_t() -> arb:
        # with no fewer bits than it was decided with: digits may cancel
        with precision(max(_BITS, working_precision())):
            at_precision = _growth(log, start)
            assert isinstance(at_precision, Sum)
            return (-1 / (2 * at_precision.terms[_SQUARE])).sqrt()

    if c.rel_accuracy_bits() > working_precision() // 2:
        for linear in (Fraction(0), Fraction(1, 4), Fraction(1, 2)):
            try:
                factor = (rest + Sum({_LINEAR: -ball(linear)}, growth.start)).most()
            except UnknownGrowthError:
                continue
            at = to_fraction(factor)
            return GaussianDecayTail(at, mu_t, Fraction(start), linear)
    if start < _STARTS[-1]:
        raise UnknownGrowthError  # a later start bounds the lower terms better
    share = rest.times_monomial((Fraction(-2), Fraction(0))).range()
    if not certainly(c + share < 0):
        raise UnknownGrowthError
    width = fraction_above((-1 / (2 * (c + share))).sqrt(), _DIGITS)
    parameter = mu_t()
    ends = to_fraction(parameter.lower()), to_fraction(parameter.upper())
    around = Interval(decimal_floor(ends[0], _DIGITS), decimal_ceiling(ends[1], _DIGITS))
    return CoarseDecayTail(Fraction(0), width, Fraction(start), around)


def monomial_text(monomial: Monomial) -> str:
    """Return a monomial of ε and log ε as text."""
    power, logs = monomial
    parts = [] if power == 0 else ["ε" if power == 1 else f"ε^{_exponent(power)}"]
    parts += [] if logs == 0 else ["log ε" if logs == 1 else f"(log ε)^{_exponent(logs)}"]
    return "·".join(parts)


def _exponent(value: Fraction) -> str:
    return f"{value}" if value.denominator == 1 and value > 0 else f"({value})"
