"""Power series of formulas of one variable, for the checker, with interval coefficients.

About a point the coefficients are those of Taylor's polynomial; about every point of a range at
once, the one of order n encloses f⁽ⁿ⁾/n! there, which is what a polynomial that ends before it
leaves out. A coefficient that is not listed is 0. At a kink the first one encloses the slopes of
both sides, and of the others nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.gamma import log_gamma
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.trees import Node, Parser, constant

Series = list[Interval]
# microseconds of a product of two coefficients
_COST, _COST_OF_NODE = 3.0, 8.0
_MOST_POWER = 200
X, EPS, PI = "x", "eps", "pi"


class _DensityParser(Parser):
    """Formulas of x; pi is a number."""

    words = (*Parser.words, X, PI)
    with_ranges = False

    def __init__(self, text: str, known: dict[str, Fraction], *, at_points: bool) -> None:
        super().__init__(text, known)
        self.at_points = at_points

    def atom(self) -> Node:
        """Read a number, a name, a function or brackets."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else ""
        if token in (X, PI):
            self.place += 1
            return Node(token)
        found = super().atom()
        if found.name == "eps":
            raise ValueError(token)
        return found


def density_of(
    field: str, text: str, known: dict[str, Fraction], *, integers: bool = False
) -> Node:
    """Read a formula of x, which may be whole numbers alone."""
    try:
        parser = _DensityParser(text, known, at_points=integers)
        found = parser.sum()
        if parser.place == len(parser.tokens):
            return found
    except (ValueError, RecursionError, OverflowError):
        pass
    raise Malformed(field, text, "a formula of x, with lgamma of whole numbers x or of numbers")


class Taylor:
    """Series of formulas up to an order.

    Args:
        of: the arithmetic.
        order: the last coefficient's.
        smooth: whether a kink is one at an end of a range, too.
    """

    def __init__(self, of: Arithmetic, order: int, *, smooth: bool = False) -> None:
        self.of, self.order, self.smooth = of, order, smooth
        self._zero, self._one = of.exactly(0), of.exactly(1)
        self._functions: dict[str, Callable[[Series], Series]] = {
            "abs": self._abs,
            "erfc": self._erfc,
            "exp": self._exp,
            "expm1": lambda a: [a[0].expm1(), *self._exp(a)[1:]],
            "log": self._log,
            "lgamma": self._log_gamma,
            "log1p": self._log1p,
            "Phi": self._phi,
            "sqrt": self._root,
        }

    def about(self, node: Node, x: Interval) -> Series:
        """Return the series of a formula about each point of an interval."""
        name, parts = node.name, node.parts
        self.of.charge(_COST_OF_NODE)
        if name == "number":
            return [self.of.exactly(node.value)]
        if name == PI:
            return [self.of.pi]
        if name in (X, EPS):
            return [x, self._one]
        first = self.about(parts[0], x)
        if name == "**":
            return self._power(first, parts[1], x)
        if name in self._functions:
            return self._functions[name](first)
        second = self.about(parts[1], x)
        if name in ("+", "-"):
            return self._sum(first, second, 1 if name == "+" else -1)
        if name in ("min", "max"):
            return self._chosen(name, first, second)
        return self.quotient(first, second) if name == "/" else self._product(first, second)

    def quotient(self, a: Series, b: Series) -> Series:
        """Return a/b."""
        found = self._product(a, self._inverse(b))
        if a[0] > 0 and b[0].low == 0 and b[0].high > 0:
            # next to a pole
            found[0] = Interval(self.of, self.of.down.div(a[0].low, b[0].high), mpfr("inf"))
        return found

    def _sum(self, a: Series, b: Series, sign: int) -> Series:
        found = [one + two * sign for one, two in zip(a, b, strict=False)]
        return found + a[len(b) :] + [one * sign for one in b[len(a) :]]

    def _product(self, a: Series, b: Series) -> Series:
        count = min(len(a) + len(b) - 1, self.order + 1)
        self.of.charge(_COST * min(len(a), len(b)) * count)
        return [self._term(a, b, n, 0) for n in range(count)]

    def _term(self, a: Series, b: Series, n: int, first: int) -> Interval:
        """Return Σ a_j·b_{n-j} over j from a first one on."""
        places = range(max(first, n - len(b) + 1), min(n, len(a) - 1) + 1)
        products = [a[j] * b[n - j] for j in places]
        return reduce(Interval.__add__, products) if products else self._zero

    def _exp(self, a: Series) -> Series:
        found, slopes = [a[0].exp()], [one * k for k, one in enumerate(a)]
        self.of.charge(10 + _COST * len(a) * self.order)
        for n in range(1, self._last(a) + 1):
            found.append(self._term(slopes, found, n, 1) / n)
        return found

    def _log(self, a: Series) -> Series:
        if not a[0] > 0:
            found = self._nothing()
            if a[0] >= 0:
                found[0] = a[0].log()
            return found
        found, last = [a[0].log()], self._last(a)
        self.of.charge(10 + _COST * len(a) * last)
        slopes = [self._zero]
        for n in range(1, last + 1):
            own = a[n] * n if n < len(a) else self._zero
            slopes.append((own - self._term(slopes, a, n, 1)) / a[0])
            found.append(slopes[n] / n)
        return found

    def _log1p(self, a: Series) -> Series:
        found = self._log([1 + a[0], *a[1:]])
        return [a[0].log1p(), *found[1:]] if a[0] > -1 else found

    def _inverse(self, a: Series) -> Series:
        if not (a[0] > 0 or a[0] < 0):
            return self._nothing()
        found, last = [1 / a[0]], self._last(a)
        self.of.charge(_COST * len(a) * last)
        for n in range(1, last + 1):
            found.append(-self._term(a, found, n, 1) / a[0])
        return found

    def _power(self, a: Series, exponent: Node, x: Interval) -> Series:
        number = constant(exponent)
        if number == Fraction(1, 2):
            return self._root(a)
        if number is None:
            return self._exp(self._product(self.about(exponent, x), self._log(a)))
        is_whole = number.denominator == 1 and abs(number) <= _MOST_POWER
        if not is_whole or (number < 0 and a[0] > 0):
            # of a range without an end this says more than an inverse
            return self._exp([one * number for one in self._log(a)])
        found = a if number else [self._one]
        for bit in bin(abs(int(number)))[3:]:
            found = self._square(found)
            found = self._product(found, a) if bit == "1" else found
        return found if number >= 0 else self._inverse(found)

    def _square(self, a: Series) -> Series:
        found = self._product(a, a)
        found[0] = a[0].square()
        return found

    def _root(self, a: Series) -> Series:
        if not a[0] > 0:
            found = self._nothing()
            if a[0] >= 0:
                found[0] = a[0].sqrt()
            return found
        found, last = [a[0].sqrt()], self._last(a)
        self.of.charge(10 + _COST * last * last)
        for n in range(1, last + 1):
            own = a[n] if n < len(a) else self._zero
            found.append((own - self._term(found[:n], found[:n], n, 1)) / (2 * found[0]))
        return found

    def _erfc(self, a: Series) -> Series:
        scale = 2 / self.of.pi.sqrt()
        density = self._exp([-one for one in self._square(a)])
        slopes = self._product(density, [one * k for k, one in enumerate(a)][1:] or [a[0] * 0])
        found = [a[0].erfc()]
        return found + [-(scale * one) / k for k, one in enumerate(slopes[: self.order], 1)]

    def _log_gamma(self, a: Series) -> Series:
        # of slopes nothing is known here
        return [log_gamma(a[0]), *(self._nothing()[1:] if self._last(a) else [])]

    def _phi(self, a: Series) -> Series:
        root = -1 / self.of.exactly(2).sqrt()
        return [one / 2 for one in self._erfc([one * root for one in a])]

    def _abs(self, a: Series) -> Series:
        found = self._chosen("max", a, [-one for one in a])
        return [found[0].positive(), *found[1:]]

    def _chosen(self, name: str, a: Series, b: Series) -> Series:
        for one, two in ((a, b), (b, a)):
            if one[0] < two[0] if self.smooth else one[0] <= two[0]:
                return one if name == "min" else two
        found, pick = self._nothing(), min if name == "min" else max
        found[0] = Interval(self.of, pick(a[0].low, b[0].low), pick(a[0].high, b[0].high))
        if self.order:
            found[1] = coefficient(a, 1).hull(coefficient(b, 1))
        return found

    def _last(self, a: Series) -> int:
        """Return the order of the last coefficient of a function of a series."""
        return self.order if len(a) > 1 else 0

    def _nothing(self) -> Series:
        return [self.of.exactly(0).everything()] * (self.order + 1)


def coefficient(series: Series, n: int) -> Interval:
    """Return the coefficient of an order."""
    return series[n] if n < len(series) else series[0].of.exactly(0)


def value_of(series: Series, at: Interval) -> Interval:
    """Return a polynomial at a place, or on a range."""
    total = series[-1]
    for term in reversed(series[:-1]):
        total = total * at + term
    return total


def slope_of(series: Series, at: Interval) -> Interval:
    """Return its derivative."""
    return value_of([one * k for k, one in enumerate(series)][1:] or [series[0] * 0], at)


def integral_to(series: Series, at: Interval) -> Interval:
    """Return the integral from the middle on."""
    return value_of([one / (k + 1) for k, one in enumerate(series)], at) * at


def integral(series: Series, low: Fraction, high: Fraction, of: Arithmetic) -> Interval:
    """Return the integral from one place to another."""
    return integral_to(series, of.exactly(high)) - integral_to(series, of.exactly(low))
