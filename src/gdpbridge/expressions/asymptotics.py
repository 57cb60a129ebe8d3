"""What a formula does as ε grows, with proof: enclosures that hold on a whole half-line [E, ∞).

A formula is enclosed there by a sum of terms c·ε^p·(log ε)^q, each c an interval in which the true
factor lies for every ε ≥ E, or by ± e to the power of such a sum. Lower terms are folded into the
intervals of higher ones where that is needed, so that every step is an inclusion and nothing is a
limit: what comes out holds from E on. Factors that are rational numbers, or rational multiples of
products of constants such as log(2), are also kept exactly, so that terms that cancel are dropped;
parts that cancel otherwise leave nothing to go by and are given up.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.sums import (
    MAX_TERMS,
    ONE,
    Exact,
    Exponential,
    Growth,
    Monomial,
    Sum,
    UnknownGrowthError,
    as_rational,
    from_zero,
)
from gdpbridge.expressions.tree import Call, Name, Node, Number, names, text
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = ["growth_of", "log_of"]

_EPS: Monomial = (Fraction(1), Fraction(0))
# powers that are multiplied out
_MULTIPLIED = 8
# what is small beside a leading term is folded into a term lower than it by one of these powers
_NEGLIGIBLE = (Fraction(10), Fraction(1), Fraction(1, 4))


def growth_of(node: Node, start: arb) -> Growth:
    """Enclose a formula of eps and pi, without piecewise, on [start, ∞).

    Raises:
        UnknownGrowthError: if its parts cancel, or are of a kind not known here.
    """
    return _Growth(start).of(node)


def _has_known_parts(node: Node) -> bool:
    """Whether a constant is best known by its parts."""
    match node:
        case Call("+" | "-" | "*" | "neg"):
            return True
        case Call("/", (_, Number(value))):
            return bool(value)
    return False


class _Growth:
    def __init__(self, start: arb) -> None:
        self.start = start

    def of(self, node: Node) -> Growth:
        if not names(node) - {"pi"} and not _has_known_parts(node):
            value = Evaluation(BALLS, {"pi": arb.pi()}).value(node)
            if not value.is_finite():
                raise UnknownGrowthError
            if isinstance(node, Number):
                return Sum.rational(node.value, self.start)
            return Sum.constant(value, self.start, {(text(node),): Fraction(1)})
        match node:
            case Name("eps"):
                return Sum({_EPS: arb(1)}, self.start, {_EPS: {(): Fraction(1)}})
            case Call("**", (base, Number(exponent))):
                return _power(self.of(base), exponent)
            case Call("**", (base, exponent)):
                return _exp(_product(self.of(exponent), log_of(self.of(base))))
            case Call(function, arguments):
                return self._applied(function, [self.of(part) for part in arguments])
        raise UnknownGrowthError

    def _applied(self, function: str, parts: list[Growth]) -> Growth:
        first, last = parts[0], parts[-1]
        one = Sum.constant(arb(1), self.start)
        match function:
            case "neg":
                return _negative(first)
            case "+":
                return _total(first, last)
            case "-":
                return _total(first, _negative(last))
            case "*":
                return _product(first, last)
            case "/":
                return _product(first, _power(last, Fraction(-1)))
            case "exp":
                return _exp(first)
            case "log":
                return log_of(first)
            case "log1p":
                return log_of(_total(one, first))
            case "expm1":
                return _total(_exp(first), -one)
            case "sqrt":
                return _power(first, Fraction(1, 2))
            case "erfc":
                return _erfc(first)
            case "lgamma":
                return _log_gamma(first)
            case "Phi":
                half = arb(1) / 2
                scaled = _product(_negative(first), Sum.constant(half.sqrt(), self.start))
                return _product(_erfc(scaled), Sum.constant(half, self.start))
            case "abs":
                return first if _sign(first) >= 0 else _negative(first)
            case "min":
                return _least(parts)
            case "max":
                return _negative(_least([_negative(part) for part in parts]))
        raise UnknownGrowthError


def _negative(f: Growth) -> Growth:
    return -f if isinstance(f, Sum) else Exponential(not f.positive, f.exponent)


def _sign(f: Growth) -> int:
    if isinstance(f, Sum):
        return f.sign()
    return 1 if f.positive else -1


def _least(parts: list[Growth]) -> Growth:
    least = parts[0]
    for other in parts[1:]:
        least = least if _sign(_total(other, _negative(least))) >= 0 else other
    return least


def _as_exponential(f: Growth) -> Exponential:
    if isinstance(f, Exponential):
        return f
    positive = f.sign() > 0
    log = log_of(f if positive else -f)
    assert isinstance(log, Sum)
    return Exponential(positive, log)


def _total(f: Growth, g: Growth) -> Growth:
    if isinstance(f, Sum) and isinstance(g, Sum):
        return f + g
    for zero, other in ((f, g), (g, f)):
        if isinstance(zero, Sum) and not zero.terms:
            return other
    a, b = _as_exponential(f), _as_exponential(g)
    difference = b.exponent + -a.exponent
    if difference.terms and difference.sign() > 0:
        f, g, a, b, difference = g, f, b, a, -difference
    if difference.grows():
        return _with_negligible(f, a, b, difference)
    # of the same order: e^a (1 ± e^d)
    factor = 1 + difference.range().exp() * (1 if a.positive == b.positive else -1)
    if factor.contains(0):
        raise UnknownGrowthError
    positive = a.positive if certainly(factor > 0) else not a.positive
    constant = Sum.constant(abs(factor).log(), a.exponent.start)
    return Exponential(positive, a.exponent + constant)


def _with_negligible(f: Growth, a: Exponential, b: Exponential, difference: Sum) -> Growth:
    """Add to f = ±e^a a function that is e^difference of its size."""
    start = difference.start
    change = _folded(difference)
    if a.positive != b.positive:
        change = -change
    if isinstance(f, Sum):
        return f + f * change
    log = log_of(Sum.constant(arb(1), start) + change)
    assert isinstance(log, Sum)
    return Exponential(a.positive, a.exponent + log)


def _folded(exponent: Sum) -> Sum:
    """Enclose e^f, for an f that falls to -∞, by a power of ε."""
    for power in _NEGLIGIBLE:
        rate = Sum({(Fraction(0), Fraction(1)): ball(power)}, exponent.start)
        try:
            share = from_zero((exponent + rate).most().exp())
        except UnknownGrowthError:
            continue
        return Sum({(-power, Fraction(0)): share}, exponent.start)
    raise UnknownGrowthError


def _product(f: Growth, g: Growth) -> Growth:
    if isinstance(f, Sum) and isinstance(g, Sum):
        return f * g
    for zero in (f, g):
        if isinstance(zero, Sum) and not zero.terms:
            return zero
    a, b = _as_exponential(f), _as_exponential(g)
    return Exponential(a.positive == b.positive, a.exponent + b.exponent)


def _power(f: Growth, k: Fraction) -> Growth:
    whole = k.denominator == 1
    if isinstance(f, Exponential):
        if not f.positive and not whole:
            raise UnknownGrowthError
        positive = f.positive or k.numerator % 2 == 0
        return Exponential(positive, f.exponent * Sum.rational(k, f.exponent.start))
    if whole and 1 <= k <= _MULTIPLIED and len(f.terms) * k <= MAX_TERMS:
        product = f
        for _ in range(int(k) - 1):
            product = product * f
        return product
    (p, q), c, rest = f.split()
    known = as_rational(f.exact.get((p, q)))
    if whole and known is not None and not rest.terms:
        return Sum.rational(known**k.numerator, f.start).times_monomial((p * k, q * k))
    spread = 1 + rest.range()
    if not certainly(spread > 0) or not (whole or certainly(c > 0)):
        raise UnknownGrowthError
    # (1 + r)^k = 1 + k r + k(k - 1)/2 (1 + s)^(k - 2) r², s between 0 and r
    between = arb(1).union(spread)
    second = ball(k * (k - 1) / 2) * BALLS.power(between, k - 2)
    series = Sum.constant(arb(1), f.start) + rest.scaled(ball(k)) + (rest * rest).scaled(second)
    return series.scaled(BALLS.power(c, k)).times_monomial((p * k, q * k))


def log_of(f: Growth) -> Sum:
    """Enclose the logarithm of what is enclosed.

    Raises:
        UnknownGrowthError: if it is not known to be positive.
    """
    if isinstance(f, Exponential):
        if not f.positive:
            raise UnknownGrowthError
        return f.exponent
    (p, q), c, rest = f.split()
    spread = 1 + rest.range()
    if not (certainly(c > 0) and certainly(spread > 0)):
        raise UnknownGrowthError
    start = f.start
    known = as_rational(f.exact.get((p, q)))
    exact: Exact | None = None if known is None else {(f"log({known})",): Fraction(1)}
    # log(1 + r) = r/(1 + s), s between 0 and r
    total = Sum.constant(c.log(), start, exact) + rest.scaled(1 / arb(1).union(spread))
    # log log ε is at most this share of log ε, as log x / x falls from e on
    share = from_zero(start.log().log() / start.log())
    powers = Sum.constant(ball(p) + ball(q) * share, start) if q else Sum.rational(p, start)
    return total + powers.times_monomial((Fraction(0), Fraction(1)))


def _exp(f: Growth) -> Growth:
    if isinstance(f, Exponential):
        raise UnknownGrowthError
    if f.grows():
        return Exponential(True, f)
    constant = f.terms.get(ONE, arb(0))
    rest = (
        f + Sum.constant(-constant, f.start)
        if constant.is_exact()
        else f.of({monomial: c for monomial, c in f.terms.items() if monomial != ONE})
    )
    # e^r = 1 + r + e^s r²/2, s between 0 and r
    second = arb(0).union(rest.range()).exp() / 2
    series = Sum.constant(arb(1), f.start) + rest + (rest * rest).scaled(second)
    return series.scaled(constant.exp())


def _log_gamma(f: Growth) -> Growth:
    """Enclose log Γ: (x - 1/2)·log x - x + log(2π)/2 + r with 0 < r < 1/(12x) for x > 0."""
    if isinstance(f, Exponential):
        raise UnknownGrowthError
    if not f.grows():
        value = BALLS.lgamma(f.range())
        if not value.is_finite():
            raise UnknownGrowthError
        return Sum.constant(value, f.start)
    least = -((-f).most())
    if not certainly(least > 0):
        raise UnknownGrowthError
    half = Sum.rational(Fraction(-1, 2), f.start)
    constant = Sum.constant((2 * arb.pi()).log() / 2, f.start, {("log(2*pi)/2",): Fraction(1)})
    rest = Sum.constant(from_zero(1 / (12 * least)), f.start)
    return (f + half) * log_of(f) + -f + constant + rest


def _erfc(f: Growth) -> Growth:
    """Enclose erfc: e^{-x²}/(x√π)·(1 - 1/(2x²)) ≤ erfc(x) ≤ e^{-x²}/(x√π) for x > 0."""
    if isinstance(f, Exponential):
        raise UnknownGrowthError
    if not f.grows():
        return Sum.constant(f.range().erfc(), f.start)
    if f.sign() < 0:
        return _total(Sum.constant(arb(2), f.start), _negative(_erfc(-f)))
    least = -((-f).most())
    correction = from_zero((1 - 1 / (2 * least * least)).log())
    if not correction.is_finite():
        raise UnknownGrowthError
    constant = Sum.constant(correction - arb.pi().log() / 2, f.start)
    return Exponential(True, -(f * f) + -log_of(f) + constant)
