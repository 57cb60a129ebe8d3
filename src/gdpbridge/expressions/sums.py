"""Sums of powers of ε and log ε that enclose a function on a whole half-line [E, ∞)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb, fmpq

from gdpbridge.numeric.decide import certainly

__all__ = [
    "MAX_TERMS",
    "ONE",
    "Exact",
    "Exponential",
    "Growth",
    "Monomial",
    "Sum",
    "UnknownGrowthError",
    "as_rational",
    "from_zero",
    "value_at",
]

# (p, q) for ε^p (log ε)^q; tuples compare as the monomials do for large ε
Monomial = tuple[Fraction, Fraction]
# a sum of rational multiples of products of constants, each product by the texts of its constants
Exact = Mapping[tuple[str, ...], Fraction]

ONE: Monomial = (Fraction(0), Fraction(0))
MAX_TERMS = 12


class UnknownGrowthError(Exception):
    """The formula's growth is not one of those known here."""


def from_zero(most: arb) -> arb:
    """Return an interval from 0 to a number."""
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
        return cls({ONE: value}, start, {} if exact is None else {ONE: exact})

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
        if len(kept) > MAX_TERMS:
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
            total += c if monomial == ONE else c * from_zero(_most(monomial, self.start))
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
        return bool(self.terms) and max(self.terms) > ONE

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
    if not monomial < ONE:
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


def as_rational(exact: Exact | None) -> Fraction | None:
    """Return an exact factor as a rational number, None if it is none."""
    return exact[()] if exact is not None and set(exact) == {()} else None
