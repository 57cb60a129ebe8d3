"""A record in one of k steps, drawn at random, for the checker: losses that dominate.

P is the mean of k normal laws of which one is μ away, Q has none. P/Q is M = ΣX_i/k, with
independent X_i = e^{μz - μ²/2} under Q, and δ is E(M - e^ε)⁺ or E(1 - e^ε·M)⁺: convex in M, so that
spreading numbers to places about them, with the same mean, only adds to it. The places are e^{ih}.
A sum e^{ih} + e^{jh}, i ≤ j, lies at e^{jh}(1 + e^{-(j-i)h}): for j - i from a range between the
same two places e^{(j+u)h} and e^{(j+u+1)h}, and its share of the upper one is a number plus a
multiple of e^{ih}·e^{-jh}, so that what j gets from all such i is had from sums over i.

Masses are whole multiples of 2⁻¹⁹², each at most what it should be. What is lost counts as a
failure: of Q the masses, of P the masses times their places; that M is 0, of Q.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Work, exact
from gdpbridge_verify.finite import Finite, Unit
from gdpbridge_verify.refusal import OutOfWork

_SCALE, _MORE = 192, 256
_ONE = 1 << _SCALE
_LEAST = 1 << (_SCALE - 140)
# of one number, and when there are so few that they are put twice as close
_PLACES, _FEW = 1420, 720
# deviations of z below which a number is not told from 0, and above which it is left out
_BELOW, _ABOVE = 9, 11
# parts of a step that losses are shared among
_PARTS = 8
_BITS = 448
# microseconds: of all, of what is refused beforehand, and of a pair of a place and a range
_MOST_WORK, _TOO_LONG = 3.2e6, 2.4e6
_COST = 2.5


class _Law(NamedTuple):
    """Masses at 0, and at the places from a first one on, in multiples of 2^-scale."""

    zero: int
    first: int
    masses: list[int]

    def trimmed(self) -> _Law:
        """Return it without tiny masses at its ends, which are lost."""
        kept = [number for number, mass in enumerate(self.masses) if mass >= _LEAST]
        if not kept:
            raise OutOfWork
        return _Law(self.zero, self.first + kept[0], self.masses[kept[0] : kept[-1] + 1])

    def finer(self) -> _Law:
        """Return it on places that are twice as close."""
        masses = [0] * (2 * len(self.masses) - 1)
        masses[::2] = self.masses
        return _Law(self.zero, 2 * self.first, masses)


class Allocated(NamedTuple):
    """Losses of P against Q, those of Q against P, and the work that it took."""

    forward: Finite
    backward: Finite
    cost: float


@lru_cache(maxsize=8)
def allocated(mu: Fraction, steps: int) -> Allocated:
    """Return losses that dominate those of a record in one of so many steps.

    Args:
        mu: the length of the record's share over the noise's deviation.
        steps: k.
    """
    if takes_too_long(mu, steps):
        raise OutOfWork
    work = Work(_MOST_WORK)
    of = Arithmetic(_BITS, work)
    step, law = _of_sum(mu, steps, of)
    unit = step / _PARTS
    size, log_steps = of.exactly(unit).exp(), of.exactly(steps).log()
    ends = (log_steps / unit).ends()
    low, high = (math.floor(exact(end.low)) for end in ends)
    if low != high:
        raise OutOfWork
    # a place's loss lies this much above the multiple of the unit before it
    first = _PARTS * law.first - low - 1
    masses: dict[int, Interval] = {}
    others: dict[int, Interval] = {}
    total = of.exactly(0)
    for number, mass in enumerate(law.masses):
        work.charge(40)
        if not mass:
            continue
        place = first + _PARTS * number
        q = of.exactly(Fraction(mass, _ONE))
        p = q * (of.exactly(step * (law.first + number)).exp() / steps)
        total += p
        base = of.exactly(unit * place).exp()
        upper = (p - q * base) / (1 - 1 / size)
        lower = p - upper
        masses[place] = masses.get(place, of.exactly(0)) + lower
        masses[place + 1] = masses.get(place + 1, of.exactly(0)) + upper
        others[-place] = others.get(-place, of.exactly(0)) + lower / base
        others[-place - 1] = others.get(-place - 1, of.exactly(0)) + upper / (base * size)
    lost = 1 - total
    failures = (
        max(Fraction(*map(int, lost.high.as_integer_ratio())), Fraction(0)),
        1 - Fraction(sum(law.masses), _ONE),
    )
    forward, backward = (
        _finite(unit, one, _shortened(failure))
        for one, failure in zip((masses, others), failures, strict=True)
    )
    return Allocated(forward, backward, work.spent)


def _finite(unit: Fraction, masses: dict[int, Interval], failure: Fraction) -> Finite:
    places = sorted(masses)
    kept = [masses[place] for place in places]

    def enclosed(of: Arithmetic) -> list[Interval]:
        # to the precision at hand
        return [Interval(of, of.down.plus(one.low), of.up.plus(one.high)) for one in kept]

    return Finite(Unit(unit), places, enclosed, failure)


def _shortened(value: Fraction) -> Fraction:
    """Return a number of few digits that is not below."""
    return Fraction(math.ceil(value * (1 << 160)), 1 << 160)


def takes_too_long(mu: Fraction, steps: int) -> bool:
    """Whether it would be more work than there is for one certificate."""
    # two different halves meet in both orders
    sums = sum(1 + one % 2 for level in _levels(steps)[:-1] for one in level if one > 1)
    return sums * _PLACES * math.log(2) / float(_first_step(mu)) * _COST > _TOO_LONG


def _levels(count: int) -> list[set[int]]:
    """Return how many numbers are added up, then the halves of that, down to one."""
    levels = [{count}]
    while max(levels[-1]) > 1:
        halves = {half for one in levels[-1] for half in (one // 2, one - one // 2)}
        levels.append(halves - {0})
    return levels


def _first_step(mu: Fraction) -> Fraction:
    return (_BELOW + _ABOVE + mu) * mu / _PLACES


def _of_sum(mu: Fraction, count: int, of: Arithmetic) -> tuple[Fraction, _Law]:
    """Return the law of the sum of so many numbers, by halves, and h."""
    levels, step = _levels(count), _first_step(mu)
    laws = {1: _lognormal(mu, step, of)}
    for level in reversed(levels[:-1]):
        found = {1: laws[1]}
        for one in sorted(level - {1}):
            found[one] = _sum(laws[one // 2], laws[one - one // 2], step, of)
        laws = found
        while max(len(law.masses) for law in laws.values()) <= _FEW:
            step /= 2
            laws = {one: law.finer() for one, law in laws.items()}
    return step, laws[count]


def _lognormal(mu: Fraction, step: Fraction, of: Arithmetic) -> _Law:
    first = math.floor(-(_BELOW + mu / 2) * mu / step)
    last = math.ceil((_ABOVE + mu / 2) * mu / step)
    root = of.exactly(2).sqrt()
    of.work.charge(60 * (last - first))
    # beyond each place, the mass of Q and of P
    beyond = [(of.exactly(1), of.exactly(1))]
    ends = [of.exactly(0)]
    for number in range(first, last + 1):
        z = step * number / mu + mu / 2
        beyond.append(((of.exactly(z) / root).erfc() / 2, (of.exactly(z - mu) / root).erfc() / 2))
        ends.append(of.exactly(step * number).exp())
    masses = [0] * (last - first + 2)
    for number, (low, high) in enumerate(itertools.pairwise(ends)):
        q, p = (a - b for a, b in zip(beyond[number], beyond[number + 1], strict=True))
        masses[number] += _whole((high * q - p) / (high - low))
        masses[number + 1] += _whole((p - low * q) / (high - low))
    return _Law(masses[0], first, masses[1:]).trimmed()


def _whole(value: Interval) -> int:
    """Return a mass, rounded down."""
    if not value.low > 0:
        return 0
    return int(value.of.down.floor(value.of.down.mul_2exp(value.low, _SCALE)))


def _sum(one: _Law, other: _Law, step: Fraction, of: Arithmetic) -> _Law:
    """Return the law of a sum."""
    first = min(one.first, other.first)
    size = max(law.first + len(law.masses) for law in (one, other)) - first
    pair = [
        [0] * (law.first - first) + law.masses + [0] * (first + size - law.first - len(law.masses))
        for law in (one, other)
    ]
    runs = list(_runs(step, size, of))
    masses = [0] * (size + runs[0].up + 2)
    for number, (a, b) in enumerate(zip(*pair, strict=True)):
        masses[number] += (one.zero * b + other.zero * a) >> _SCALE
    places = [_fixed(of.exactly(step * number).exp()) for number in range(size)]
    inverses = [_fixed(of.exactly(-step * number).exp()) for number in range(size)]
    is_same = one == other
    for a, b in (pair,) if is_same else (pair, pair[::-1]):
        sums = list(itertools.accumulate(a, initial=0))
        products = (mass * place for mass, place in zip(a, places, strict=True))
        heavy = list(itertools.accumulate(products, initial=0))
        for run in runs:
            if run.first == 0 and a is not pair[0]:
                # what is as large meets once
                continue
            times = 2 if is_same and run.first else 1
            of.work.charge(_COST * (size - run.first))
            for j in range(run.first, size):
                mass = times * b[j]
                end, start = j - run.first + 1, max(j - run.last, 0)
                w = sums[end] - sums[start] if mass else 0
                if w:
                    e = heavy[end] - heavy[start]
                    least = (((e * inverses[j]) >> _MORE) * run.slope >> _MORE) + w * run.shift
                    most = (((e + w) * (inverses[j] + 1)) >> _MORE) + 1
                    most = (most * (run.slope + 1) >> _MORE) + 1 + w * (run.shift + 1)
                    lower = ((mass * w) >> _SCALE) - ((mass * most) >> (_SCALE + _MORE)) - 1
                    masses[j + run.up] += max(lower, 0)
                    masses[j + run.up + 1] += max((mass * least) >> (_SCALE + _MORE), 0)
    return _Law(one.zero * other.zero >> _SCALE, first, masses).trimmed()


class _Run(NamedTuple):
    """Distances of two places whose sum is so far up, with its share of the place above that.

    It is shift + slope·e^{-dh}, in multiples of 2^-more, rounded down.
    """

    first: int
    last: int
    up: int
    shift: int
    slope: int


def _runs(step: Fraction, size: int, of: Arithmetic) -> Iterator[_Run]:
    h = float(step)
    places = [int(math.log1p(math.exp(-d * h)) / h) for d in range(size)]
    height = of.exactly(step).expm1()
    # what is as large meets once, and is a range of its own
    starts = [0, *(d for d in range(1, size) if d == 1 or places[d] != places[d - 1]), size]
    for first, end in itertools.pairwise(starts):
        up, last = places[first], end - 1
        base = of.exactly(step * up).exp()
        ends = [1 + of.exactly(-step * d).exp() for d in (first, last)]
        if not (ends[1] >= base and ends[0] <= base * (1 + height)):
            raise OutOfWork
        slope = 1 / (base * height)
        yield _Run(first, last, up, _fixed((1 - base) * slope), _fixed(slope))


def _fixed(value: Interval) -> int:
    """Return a number in multiples of 2^-more, rounded down by at most one of them."""
    low, high = (
        math.floor(Fraction(*map(int, end.as_integer_ratio())) * (1 << _MORE))
        for end in (value.low, value.high)
    )
    if low != high:
        raise OutOfWork
    return low
