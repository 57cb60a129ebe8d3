"""Kinds whose δ takes some adding up at each ε: runs of a bounded range, Skellam noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, largest
from gdpbridge_verify.parameters import Values
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Undecided

# microseconds of a term
_COST = 12.0


def runs_of_range(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    """k runs that were chosen beforehand, of losses t and t - r with one t for all of them.

    Under Q a run's loss is t with the chance (e^{-t} - e^{-r})/(1 - e^{-r}). With at most l of the
    smaller losses, e^ε·Σ C(k, i)·Q(i)·(e^{kt - ir - ε} - 1) is largest over t at (ε + (l+1)r)/(k+1)
    (Dong, Durfee and Rogers 2020), and 0 from ε = (k - l)r on; δ is the largest one over l < k.
    """
    runs, width = int(values["runs"]), values["range"]
    least = of.exactly(-width).exp()
    norm = -of.exactly(-width).expm1()

    def at_most(number: int, eps: Interval) -> Interval:
        if eps >= (runs - number) * width:
            return of.exactly(0)
        of.charge(_COST * (runs + number))
        t = (eps + (number + 1) * width) / (runs + 1)
        high = ((-t).exp() - least).positive() / norm
        low, total, power = -(-t).expm1() / norm, of.exactly(0), of.exactly(1)
        for i in range(number + 1):
            excess = runs * t - i * width - eps
            total = total * high + math.comb(runs, i) * power * excess.expm1()
            power = power * low
        for _ in range(runs - number):
            total = total * high
        return (eps.exp() * total).positive()

    def level(eps: Interval) -> Level:
        return Level.of(largest(at_most(number, eps) for number in range(runs)))

    return (Part(Fraction(0), None, level),), Tail.ends(runs * width)


def skellam(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    """Skellam noise; of its tail nothing is known here."""
    tail = Tail("nothing is known of its tail", square=None, known=False)
    return (Part(Fraction(0), None, Skellam(values, of).level),), tail


class Skellam:
    """The difference of two Poisson numbers of mean v/2: P(n) = e^{-v}·I_|n|(v), Q(n) = P(n - Δ).

    The ratios r_n = I_{n+1}/I_n = 1/(2(n+1)/v + r_{n+1}) are found from r_M in [0, 1] backwards.
    From M ≥ v on they are at most 1/2, so that what is left out of a sum to M is at most its last
    term. That ratios fall is seen: losses P(x)/P(x - Δ) fall with x, and δ is a sum up to one x.
    What lies beyond all that are looked at counts as lost at most.
    """

    def __init__(self, values: Values, of: Arithmetic) -> None:
        self.of, shift, variance = of, int(values["sensitivity"]), values["variance"]
        bits, deviation = of.precision, math.isqrt(math.ceil(variance)) + 1
        most = shift + deviation * (6 + bits // 12) + bits // 4
        last = max(2 * most, math.ceil(variance)) + bits
        of.charge(_COST * last)
        one = of.exactly(1)
        ratio = Interval(of, mpfr(0), mpfr(1))
        ratios = []
        for number in range(last, -1, -1):
            ratio = 1 / (ratio + 2 * (number + 1) / variance)
            ratios.append(ratio)
        ratios.reverse()
        if not all(b <= a for a, b in itertools.pairwise([one, *ratios[:most]])):
            raise Undecided("whether losses fall")
        weights = list(itertools.accumulate(ratios, Interval.__mul__, initial=one))
        # the last one is at least all that are left out
        left_out = Interval(of, mpfr(0), weights[-1].high)
        tails = list(itertools.accumulate(weights[:0:-1], initial=left_out))[::-1]
        norm = 1 + 2 * tails[0]
        masses = [weight / norm for weight in weights[: most + 1]]
        about = [*masses[:0:-1], *masses]
        self._inside, self._outside = about[shift:], about[: len(about) - shift]
        self._sums = [
            list(itertools.accumulate(side, initial=of.exactly(0)))
            for side in (self._inside, self._outside)
        ]
        self._beyond = Interval(of, mpfr(0), (2 * tails[most - shift] / norm).high)

    def level(self, eps: Interval) -> Level:
        """Enclose P(X ≤ x) - e^ε·Q(X ≤ x), where x is the last one of a loss of at least ε."""
        count, t = len(self._inside), eps.exp()

        def gain(place: int) -> Interval:
            self.of.charge(_COST)
            return self._inside[place] - t * self._outside[place]

        first, last = 0, count
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if gain(middle) >= 0 else (first, middle)
        end = first
        while end < count and not gain(end) <= 0:
            end += 1
        above, below = self._sums
        sums = largest(above[place] - t * below[place] for place in range(first, end + 1))
        return Level.of((sums + self._beyond).positive())
