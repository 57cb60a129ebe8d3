"""What a formula does as ε grows, with proof: enclosures that hold on a whole half-line [E, ∞).

A formula is enclosed there by a sum of terms c·ε^p·(log ε)^q, each c an interval in which the true
factor lies for every ε ≥ E, or by ± e to the power of such a sum. Lower terms are folded into the
intervals of higher ones where that is needed, so that every step is an inclusion and nothing is a
limit: what comes out holds from E on. Factors that are rational numbers, or rational multiples of
products of constants such as log(2), are also kept exactly, so that terms that cancel are dropped;
parts that cancel otherwise leave nothing to go by and are given up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb, fmpq

from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.tree import Call, Name, Node, Number, names, text
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS, ball

__all__ = [
    "Exponential",
    "Growth",
    "Monomial",
    "Sum",
    "UnknownGrowthError",
    "growth_of",
    "log_of",
    "value_at",
]

# (p, q) for ε^p (log ε)^q; tuples compare as the monomials do for large ε
Monomial = tuple[Fraction, Fraction]
# a sum of rational multiples of products of constants, each product by the texts of its constants
Exact = Mapping[tuple[str, ...], Fraction]

_ONE: Monomial = (Fraction(0), Fraction(0))
_EPS: Monomial = (Fraction(1), Fraction(0))
# powers that are multiplied out
_MULTIPLIED = 8
_MAX_TERMS = 12
# what is small beside a leading term is folded into a term lower than it by one of these powers
_NEGLIGIBLE = (Fraction(10), Fraction(1), Fraction(1, 4))


class UnknownGrowthError(Exception):
    """The formula's growth is not one of those known here."""


def _from_zero(most: arb) -> arb:
    return arb(0).union(most)


@dataclass(frozen=True)
class Sum:
    """A function enclosed by Σ c·ε^p·(log ε)^q for every ε ≥ start.

    Attributes:
        terms: the intervals c by monomial; empty for zero.
        start: E, at least 16.
        exact: the same factors, of the monomials for which they are known exactly.
    """

    terms: dict[Monomial, arb]
    start: arb
    exact: dict[Monomial, Exact] = field(default_factory=dict)

    @classmethod
    def constant(cls, value: arb, start: arb, exact: Exact | None = None) -> Sum:
        """Return a constant."""
        if value.is_zero() or exact == {}:
            return cls({}, start)
        return cls({_ONE: value}, start, {} if exact is None else {_ONE: exact})

    @classmethod
    def rational(cls, value: Fraction, start: arb) -> Sum:
        """Return a rational constant."""
        return cls.constant(_rational(value), start, {(): value} if value else {})

    def of(self, terms: dict[Monomial, arb], exact: Mapping[Monomial, Exact] | None = None) -> Sum:
        """Return a sum on the same half-line."""
        exact = exact or {}
        kept = {
            monomial: c
            for monomial, c in terms.items()
            if not c.is_zero() and exact.get(monomial) != {}
        }
        if len(kept) > _MAX_TERMS:
            raise UnknownGrowthError
        if not all(c.is_finite() for c in kept.values()):
            raise UnknownGrowthError
        return Sum(kept, self.start, {key: one for key, one in exact.items() if key in kept})

    def __add__(self, other: Sum) -> Sum:
        terms, exact = dict(self.terms), dict(self.exact)
        for monomial, c in other.terms.items():
            terms[monomial] = terms.get(monomial, arb(0)) + c
            known = other.exact.get(monomial)
            before = exact.pop(monomial, None) if monomial in self.terms else {}
            if known is not None and before is not None:
                exact[monomial] = _added(before, known)
        return self.of(terms, exact)

    def __neg__(self) -> Sum:
        exact: dict[Monomial, Exact] = {
            key: {of: -c for of, c in one.items()} for key, one in self.exact.items()
        }
        return Sum({monomial: -c for monomial, c in self.terms.items()}, self.start, exact)

    def __mul__(self, other: Sum) -> Sum:
        terms: dict[Monomial, arb] = {}
        exact: dict[Monomial, Exact | None] = {}
        for (p, q), c in self.terms.items():
            for (r, s), d in other.terms.items():
                monomial = (p + r, q + s)
                terms[monomial] = terms.get(monomial, arb(0)) + c * d
                first, second = self.exact.get((p, q)), other.exact.get((r, s))
                before = exact.get(monomial, {})
                if first is None or second is None or before is None:
                    exact[monomial] = None
                else:
                    exact[monomial] = _added(before, _multiplied(first, second))
        return self.of(terms, {key: one for key, one in exact.items() if one is not None})

    def scaled(self, factor: arb) -> Sum:
        """Return the sum times a constant, or times a function that stays in an interval."""
        return self.of({monomial: c * factor for monomial, c in self.terms.items()})

    def times_monomial(self, by: Monomial) -> Sum:
        """Return the sum times a monomial."""
        terms = {(p + by[0], q + by[1]): c for (p, q), c in self.terms.items()}
        exact = {(p + by[0], q + by[1]): c for (p, q), c in self.exact.items()}
        return Sum(terms, self.start, exact)

    def leading(self) -> tuple[Monomial, arb]:
        """Return the leading monomial and its interval, which does not hold 0."""
        if not self.terms:
            raise UnknownGrowthError
        monomial = max(self.terms)
        if self.terms[monomial].contains(0):
            raise UnknownGrowthError
        return monomial, self.terms[monomial]

    def split(self) -> tuple[Monomial, arb, Sum]:
        """Return M, c and r with f = c·M·(1 + r), r a sum of monomials that tend to 0."""
        monomial, c = self.leading()
        rest = self.of({key: value for key, value in self.terms.items() if key != monomial})
        return monomial, c, rest.times_monomial((-monomial[0], -monomial[1])).scaled(1 / c)

    def range(self) -> arb:
        """Enclose all the values; only for sums whose monomials do not grow."""
        total = arb(0)
        for monomial, c in self.terms.items():
            total += c if monomial == _ONE else c * _from_zero(_most(monomial, self.start))
        return total

    def sign(self) -> int:
        """Return the sign that the function has everywhere."""
        if not self.terms:
            return 0
        _, c, rest = self.split()
        if not certainly(1 + rest.range() > 0):
            raise UnknownGrowthError
        # it does not hold 0
        return 1 if certainly(c > 0) else -1

    def grows(self) -> bool:
        """Whether the size of the function tends to infinity."""
        return bool(self.terms) and max(self.terms) > _ONE

    def most(self) -> arb:
        """Return an upper bound of a function that falls to -∞ or is bounded."""
        if not self.grows():
            return self.range().upper()
        monomial, c, rest = self.split()
        factor = 1 + rest.range()
        p, q = monomial
        rising = q >= 0 or certainly(self.start.log() > _rational(-q / p))
        if not (certainly(c < 0) and certainly(factor > 0) and rising):
            raise UnknownGrowthError
        return (c * factor.lower() * value_at(monomial, self.start)).upper()


@dataclass(frozen=True)
class Exponential:
    """A function enclosed by ± e^f for every ε ≥ start."""

    positive: bool
    exponent: Sum


Growth = Sum | Exponential


def value_at(monomial: Monomial, at: arb) -> arb:
    """Return a monomial at a place above 1."""
    log = at.log()
    return (_rational(monomial[0]) * log + _rational(monomial[1]) * log.log()).exp()


def _rational(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _most(monomial: Monomial, start: arb) -> arb:
    """Bound a monomial below 1 on [start, ∞) from above: it falls from (log ε) = -q/p on."""
    p, q = monomial
    if not monomial < _ONE:
        raise UnknownGrowthError
    if q <= 0 or p == 0 or certainly(start.log() >= _rational(-q / p)):
        return value_at(monomial, start).upper()
    return (_rational(q) * (_rational(-q / p).log() - 1)).exp().upper()


def _added(first: Exact, second: Exact) -> Exact:
    total = dict(first)
    for of, c in second.items():
        total[of] = total.get(of, Fraction(0)) + c
    return {of: c for of, c in total.items() if c}


def _multiplied(first: Exact, second: Exact) -> Exact:
    total: Exact = {}
    for one, c in first.items():
        for other, d in second.items():
            total = _added(total, {tuple(sorted((*one, *other))): c * d})
    return total


def _as_rational(exact: Exact | None) -> Fraction | None:
    """Return an exact factor as a rational number, None if it is none."""
    return exact[()] if exact is not None and set(exact) == {()} else None


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
            share = _from_zero((exponent + rate).most().exp())
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
    if whole and 1 <= k <= _MULTIPLIED and len(f.terms) * k <= _MAX_TERMS:
        product = f
        for _ in range(int(k) - 1):
            product = product * f
        return product
    (p, q), c, rest = f.split()
    known = _as_rational(f.exact.get((p, q)))
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
    known = _as_rational(f.exact.get((p, q)))
    exact: Exact | None = None if known is None else {(f"log({known})",): Fraction(1)}
    # log(1 + r) = r/(1 + s), s between 0 and r
    total = Sum.constant(c.log(), start, exact) + rest.scaled(1 / arb(1).union(spread))
    # log log ε is at most this share of log ε, as log x / x falls from e on
    share = _from_zero(start.log().log() / start.log())
    powers = Sum.constant(ball(p) + ball(q) * share, start) if q else Sum.rational(p, start)
    return total + powers.times_monomial((Fraction(0), Fraction(1)))


def _exp(f: Growth) -> Growth:
    if isinstance(f, Exponential):
        raise UnknownGrowthError
    if f.grows():
        return Exponential(True, f)
    constant = f.terms.get(_ONE, arb(0))
    rest = (
        f + Sum.constant(-constant, f.start)
        if constant.is_exact()
        else f.of({monomial: c for monomial, c in f.terms.items() if monomial != _ONE})
    )
    # e^r = 1 + r + e^s r²/2, s between 0 and r
    second = arb(0).union(rest.range()).exp() / 2
    series = Sum.constant(arb(1), f.start) + rest + (rest * rest).scaled(second)
    return series.scaled(constant.exp())


def _erfc(f: Growth) -> Growth:
    """Enclose erfc: e^{-x²}/(x√π)·(1 - 1/(2x²)) ≤ erfc(x) ≤ e^{-x²}/(x√π) for x > 0."""
    if isinstance(f, Exponential):
        raise UnknownGrowthError
    if not f.grows():
        return Sum.constant(f.range().erfc(), f.start)
    if f.sign() < 0:
        return _total(Sum.constant(arb(2), f.start), _negative(_erfc(-f)))
    least = -((-f).most())
    correction = _from_zero((1 - 1 / (2 * least * least)).log())
    if not correction.is_finite():
        raise UnknownGrowthError
    constant = Sum.constant(correction - arb.pi().log() / 2, f.start)
    return Exponential(True, -(f * f) + -log_of(f) + constant)
