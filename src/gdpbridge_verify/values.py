"""Mechanisms whose δ is had at one ε after the other, for the checker.

δ(ε) of any one pair is convex in e^ε, and so is the largest of several: cells are proved by chords
and tangents, and what is known of δ at a witness is all that the lower end needs.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, partial

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.convex import ConvexCheck, Level
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Cell, Event
from gdpbridge_verify.mechanisms import Mechanism, parameters_of
from gdpbridge_verify.numbers import exact
from gdpbridge_verify.refusal import Malformed, Undecided

__all__ = ["ValuesCheck"]

# microseconds of a term
_COST = 12.0


class Values(ABC):
    """A mechanism at one precision.

    Attributes:
        square: of a δ that is the largest of a Gaussian curve and others, the μ² of that curve.
    """

    square: Fraction | None = None

    def __init__(self, values: dict[str, Fraction], arithmetic: Arithmetic) -> None:
        self.values, self.of = values, arithmetic

    @abstractmethod
    def mechanism(self) -> Mechanism:
        """Return what is known of the tail."""

    @abstractmethod
    def delta(self, eps: Interval) -> Interval:
        """Enclose δ at an ε before its end."""

    def rest(self, eps: Interval) -> Interval:
        """Enclose the largest of the others."""
        raise NotImplementedError


class Thresholded(Values):
    """Counts with noise, released where they are above a threshold.

    Of k groups j have the record alone, and give it away with the chance p each: with κ = (1 - p)^j
    δ is the largest 1 - κ + κ·δ_{k-j}(ε - log κ), δ_m that of the noise on m counts.
    """

    def __init__(self, values: dict[str, Fraction], arithmetic: Arithmetic) -> None:
        super().__init__(values, arithmetic)
        self.groups, self.is_laplace = int(values["groups"]), bool(values["noise"])
        self.ratio = values["contribution"] / values["scale"]
        distance = values["threshold"] / values["scale"] - self.ratio
        if distance < 0:
            raise Malformed("mechanism.threshold", "below it", "at least the contribution")
        away, two = arithmetic.exactly(distance), arithmetic.exactly(2)
        given_away = (-away).exp() if self.is_laplace else (away / two.sqrt()).erfc()
        self._log_kept = (-(given_away / 2)).log1p()
        self.square = None if self.is_laplace else self.groups * self.ratio**2
        self._curve = cache(lambda m: GaussianCurve(arithmetic.exactly(m * self.ratio**2).sqrt()))

    def mechanism(self) -> Mechanism:
        """A failure, which is never less."""
        is_bound = self.is_laplace and self.groups > 1
        floor = -(self.groups * self._log_kept).expm1()
        return Mechanism((), floor=exact(floor.low), nature="bound" if is_bound else "own")

    def delta(self, eps: Interval) -> Interval:
        """The largest of all j."""
        return _largest([self._alone(0, eps), self.rest(eps)])

    def rest(self, eps: Interval) -> Interval:
        """That of all but j = 0."""
        return _largest(self._alone(j, eps) for j in range(1, self.groups + 1))

    def _alone(self, groups: int, eps: Interval) -> Interval:
        log_kept = groups * self._log_kept
        return (
            log_kept.exp() * self._shared(self.groups - groups, eps - log_kept) - log_kept.expm1()
        )

    def _shared(self, groups: int, eps: Interval) -> Interval:
        self.of.work.charge(_COST)
        if groups == 0:
            return self.of.exactly(0)
        if self.is_laplace:
            half = (eps - self.of.exactly(groups * self.ratio)) / 2
            return _not_below_zero(-half.expm1())
        return self._curve(groups).log_delta(eps).exp()


class RunsOfRange(Values):
    """k runs that were chosen beforehand, of losses t and t - r with one t for all of them.

    Under Q a run's loss is t with the chance (e^{-t} - e^{-r})/(1 - e^{-r}). With at most l of the
    smaller losses, e^ε·Σ C(k, i)·Q(i)·(e^{kt - ir - ε} - 1) is largest over t at (ε + (l+1)r)/(k+1)
    (Dong, Durfee and Rogers 2020), and 0 from ε = (k - l)r on; δ is the largest one over l < k.
    """

    def mechanism(self) -> Mechanism:
        """0 from k·r on."""
        end = self.values["runs"] * self.values["range"]
        return Mechanism((), vanishes_from=self.of.exactly(end), exact_end=end)

    def delta(self, eps: Interval) -> Interval:
        """The largest of all l."""
        return _largest(self._at_most(number, eps) for number in range(int(self.values["runs"])))

    def _at_most(self, number: int, eps: Interval) -> Interval:
        runs, width, exactly = int(self.values["runs"]), self.values["range"], self.of.exactly
        if eps >= exactly((runs - number) * width):
            return exactly(0)
        self.of.work.charge(_COST * (runs + number))
        t = (eps + exactly((number + 1) * width)) / (runs + 1)
        norm = -(-exactly(width)).expm1()
        high = _not_below_zero((-t).exp() - (-exactly(width)).exp()) / norm
        low, total, power = -(-t).expm1() / norm, exactly(0), exactly(1)
        for i in range(number + 1):
            excess = runs * t - exactly(i * width) - eps
            total = total * high + math.comb(runs, i) * power * excess.expm1()
            power = power * low
        for _ in range(runs - number):
            total = total * high
        return _not_below_zero(eps.exp() * total)


class Skellam(Values):
    """The difference of two Poisson numbers of mean v/2: P(n) = e^{-v}·I_|n|(v).

    The ratios r_n = I_{n+1}/I_n = 1/(2(n+1)/v + r_{n+1}) are found from r_M in [0, 1] backwards.
    From M ≥ v on they are at most 1/2, so that what is left out of a sum to M is at most its last
    term. That ratios fall is seen: losses P(x)/P(x - Δ) fall with x, and δ is a sum up to one x.
    What lies beyond all that are looked at counts as lost at most.
    """

    def __init__(self, values: dict[str, Fraction], arithmetic: Arithmetic) -> None:
        super().__init__(values, arithmetic)
        self.shift = int(values["sensitivity"])
        more = math.isqrt(math.ceil(values["variance"])) + 1
        bits = arithmetic.precision
        self.most = self.shift + more * (6 + bits // 12) + bits // 4
        self._find()

    def _find(self) -> None:
        """Find P(x) and P(x - Δ) with their sums, for Δ - N ≤ x ≤ N, and what is beyond."""
        variance, one = self.of.exactly(self.values["variance"]), self.of.exactly(1)
        last = max(2 * self.most, math.ceil(self.values["variance"])) + self.of.precision
        self.of.work.charge(_COST * last)
        ratio = Interval(self.of, mpfr(0), mpfr(1))
        ratios = []
        for number in range(last, -1, -1):
            ratio = 1 / (self.of.exactly(2 * (number + 1)) / variance + ratio)
            ratios.append(ratio)
        ratios.reverse()
        kept = [one, *ratios[: self.most]]
        if not all(b <= a for a, b in itertools.pairwise(kept)):
            raise Undecided("whether losses fall")
        weights = list(itertools.accumulate(ratios, Interval.__mul__, initial=one))
        # the last one is at least all that are left out
        tails = list(itertools.accumulate(weights[:0:-1], initial=weights[-1].hull(one * 0)))[::-1]
        norm = one + 2 * tails[0]
        masses = [weight / norm for weight in weights[: self.most + 1]]
        about = [*masses[:0:-1], *masses]
        self._inside, self._outside = about[self.shift :], about[: len(about) - self.shift]
        self._sums = [
            list(itertools.accumulate(one_side, initial=one * 0))
            for one_side in (self._inside, self._outside)
        ]
        self._rest = 2 * tails[self.most - self.shift] / norm

    def mechanism(self) -> Mechanism:
        """Nothing is known of the tail."""
        return Mechanism(())

    def delta(self, eps: Interval) -> Interval:
        """P(X ≤ x) - e^ε·Q(X ≤ x), where x is the last one of a loss of at least ε."""
        count, t = len(self._inside), eps.exp()

        def gain(place: int) -> Interval:
            self.of.work.charge(_COST)
            return self._inside[place] - t * self._outside[place]

        first, last = 0, count
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if gain(middle) >= 0 else (first, middle)
        end = first
        while end < count and not gain(end) <= 0:
            end += 1
        above, below = self._sums
        sums = (above[place] - t * below[place] for place in range(first, end + 1))
        return _not_below_zero(_largest(sums) + Interval(self.of, mpfr(0), self._rest.high))


_KINDS: dict[str, type[Values]] = {
    "bounded-range": RunsOfRange,
    "skellam": Skellam,
    "thresholded-release": Thresholded,
}


class ValuesCheck(ConvexCheck):
    """The lines of a certificate of such a mechanism, at one precision."""

    def build_mechanism(self) -> Mechanism:
        """Read the parameters, and return what is known of the tail."""
        values = parameters_of(self.spec)
        if self.evidence.breakpoints:
            raise Malformed("evidence.breakpoints", len(self.evidence.breakpoints), "none")
        self.known = _KINDS[str(self.spec["kind"])](values, self.arithmetic)
        return self.known.mechanism()

    def cell(self, line: str, cell: Cell) -> None:
        """Prove a cell; of a curve with a smaller μ than mu.high nothing is left to be proved."""
        square, curve = self.known.square, self.known.delta
        if square is not None and self.high is not None and square <= self.high**2:
            curve = self.known.rest
        self.prove_cell(line, cell, partial(self._below, curve))

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare δ."""
        self._below(self.known.delta, line, at, level)

    def _below(
        self, curve: Callable[[Interval], Interval], line: str, at: Fraction, level: Level
    ) -> None:
        value = curve(self.arithmetic.exactly(at)) if not self.vanishes_at(at) else 0
        self._hold(line, level.value - value)

    def excess(self, at: Fraction, wanted: Level, _: Event | None) -> Interval:
        """Return by how much δ exceeds a number."""
        return self._delta(at) - wanted.value

    def _delta(self, at: Fraction) -> Interval:
        exactly = self.arithmetic.exactly
        return exactly(0) if self.vanishes_at(at) else self.known.delta(exactly(at))


def _largest(values: Iterable[Interval]) -> Interval:
    first, *others = values
    for other in others:
        first = Interval(first.of, max(first.low, other.low), max(first.high, other.high))
    return first


def _not_below_zero(value: Interval) -> Interval:
    return Interval(value.of, max(value.low, mpfr(0)), max(value.high, mpfr(0)))
