"""Zero-concentrated privacy, for the checker: δ above by tangents to what each order allows.

An event of probabilities p and q obeys D_α ≤ ρα for every α ≥ 1, in both orders of the pair. As
p^α·q^{1-α} is convex and homogeneous, it lies above its tangent at p/q = e^a; with the one of
(1-p)^α·(1-q)^{1-α} at (1-p)/(1-q) = e^{-b} and u = α - 1, each order gives, whatever a + b > 0,

    p - T·q ≤ D,   T = u(e^{αa} - e^{-αb})/(α(e^{ua} - e^{-ub})),
                   D = (e^{uαρ} - α·e^{-ub} + u·e^{-αb})/(α(e^{ua} - e^{-ub})),

and T = (e^a - e^{-b})/(a + b), D = (ρ - 1 + b + e^{-b})/(a + b) for α = 1. As q ≥ 0, δ(ε) ≤ D where
e^ε ≥ T. In e^ε, δ is convex: between two such ε it lies below the chord, and the Gaussian curve
above each of its tangents, P - e^ε·Q with P = Φ(-x) and Q = Φ(-y) at its centre.

At ε = 0, δ = t with t·log((1 + t)/(1 - t)) = ρ; docs/check-a-mu.md has the proof.
"""

from __future__ import annotations

import bisect
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.convex import ConvexCheck
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point, Tangent
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.parameters import parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.statement import MAX_EPS
from gdpbridge_verify.tables import RowsCheck

MAX_ORDER = 10_000


class TangentsCheck(ConvexCheck):
    """What bounds on divergences have in common."""

    @abstractmethod
    def most(self, order: Fraction) -> Interval:
        """Enclose what D_α is at most."""

    @cached_property
    def _places(self) -> list[Fraction]:
        """Where tangents are, in order."""
        places = [binary(one.at) for one in self.evidence.tangents or ()]
        for before, after in zip([Fraction(0), *places], places, strict=False):
            if not before < after <= MAX_EPS:
                raise Malformed("evidence.tangents: at", about(after), "above 0, and in order")
        return places

    @cached_property
    def _tops(self) -> dict[int, Interval]:
        return {}

    def _top(self, number: int) -> Interval:
        """Enclose the D of a tangent, whose T is at most e^ε where it is."""
        if number not in self._tops:
            assert self.evidence.tangents is not None
            line = f"evidence.tangents[{number}]"
            slope, top = self._tangent(line, self.evidence.tangents[number])
            self.hold(line, self.arithmetic.exactly(self._places[number]).exp() - slope)
            self._tops[number] = top
        return self._tops[number]

    def _tangent(self, line: str, tangent: Tangent) -> tuple[Interval, Interval]:
        exactly = self.arithmetic.exactly
        order, inside, outside = (
            binary(one) for one in (tangent.order, tangent.inside, tangent.outside)
        )
        gap, less = inside + outside, order - 1
        if order < 1 or gap <= 0:
            raise Malformed(f"{line}: order", about(order), "at least 1, with ratios that differ")
        up, down = exactly(inside).exp(), (-exactly(outside)).exp()
        if less == 0:
            top = self.most(order) + exactly(outside - 1) + down
            return (up - down) / exactly(gap), top / exactly(gap)
        # everything over e^{ua}, which may be beyond any exponent
        shrunk = (-exactly(less * gap)).exp()
        below = exactly(order) * (1 - shrunk)
        slope = exactly(less) * (up - down * shrunk) / below
        most = (exactly(less) * (self.most(order) - exactly(inside))).exp()
        return slope, (most - shrunk * (exactly(order) - exactly(less) * down)) / below

    def _exp_less_one(self, at: Fraction) -> Interval:
        return self.enclosed(at).expm1()


class ZcdpCheck(TangentsCheck):
    """The lines of a certificate of ρ-zCDP, at one precision."""

    uses = frozenset({"tangents"})

    def build(self) -> Tail:
        """Return what is known of the tail; δ itself is bounded by tangents."""
        return self.falling(parameters_of(self.spec)["rho"])

    def falling(self, rho: Fraction) -> Tail:
        """Return what is known of the tail for a ρ."""
        self._rho = self.arithmetic.exactly(rho)
        # δ ≤ p ≤ e^{u(ρα-ε)}, least at u = (ε-ρ)/2ρ; the Gaussian mechanism falls no faster
        return Tail.gaussian(2 * rho, Decay(-self._rho / 4, rho, Fraction(1, 2)))

    def most(self, order: Fraction) -> Interval:
        """Enclose what D_α is at most."""
        return self.arithmetic.exactly(order) * self._rho

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number."""
        if at == 0:
            self._zero_below(line, level)
            return
        number = bisect.bisect_right(self._places, at) - 1
        if number >= 0:
            self.hold(line, level.value - self._top(number))
            return
        # the chord from ε = 0 to the first tangent, which is known to be below at its end
        if not self._places:
            raise Refused(line, "there is no tangent")
        share = self._exp_less_one(at) / self._exp_less_one(self._places[0])
        rest = (level.value - share * self._top(0)) / (1 - share)
        self._zero_below(line, Level(rest, 1 - rest))

    def _zero_below(self, line: str, level: Level) -> None:
        if level.value <= 0:
            raise Refused(line, "δ(0) is positive")
        if level.complement <= 0:
            return
        if not (level.value > 0 and level.complement > 0):
            raise Undecided(line)
        self.hold(line, self._divergence(level) - self._rho)

    @staticmethod
    def _divergence(level: Level) -> Interval:
        """Enclose t·log((1 + t)/(1 - t)), which rises with t > 0."""
        return level.value * ((1 + level.value) / level.complement).log()

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Compare δ of randomized response, (1 + t)/2 - e^ε·(1 - t)/2, by the least t that will do.

        What is returned has the sign of the difference.
        """
        least = 2 * wanted.complement / (1 + self.arithmetic.exactly(at).exp())
        level = Level(1 - least, least)
        # any t > 0 will do
        return self._rho if level.value <= 0 else self._rho - self._divergence(level)


class RenyiCheck(TangentsCheck, RowsCheck):
    """The lines of a certificate of bounds on D_α at some orders, at one precision.

    Far out an event with p = 2e^ε·q and (2e^ε)^{α-1}·p ≤ e^{(α-1)ε_α} - 1 for every α is possible:
    δ falls no faster than exponentially. A smaller order's divergence is no larger.
    """

    uses = frozenset({"tangents", "event"})
    columns = (("alpha", "epsilon"),)

    def far_tail(self) -> Tail:
        """No finite μ covers every ε."""
        for number, (alpha, most) in enumerate(self.rows):
            if most is None or not (1 < alpha <= MAX_ORDER and most > 0):
                raise Malformed(f"table.rows[{number}]", about(alpha), "α > 1, and a number > 0")
        return Tail.slow()

    def most(self, order: Fraction) -> Interval:
        """Enclose the least bound at that order or a larger one."""
        self.arithmetic.charge(2 * len(self.rows))
        known = [most for alpha, most in self.rows if alpha >= order and most is not None]
        if not known:
            raise Refused("evidence.tangents: order", "nothing is known of it")
        return self.arithmetic.exactly(min(known))

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare the chord between tangents, or the line through (-1, 1) before the first."""
        if not self._places:
            raise Refused(line, "there is no tangent")
        self.below_chord(line, at, level, self._places, self._top)

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Prove every bound, in both orders of the pair, for the law of one event."""
        if not 0 < q <= p < 1:
            raise Malformed(line, "out of range", "two probabilities between 0 and 1")
        self.arithmetic.charge(60 * len(self.rows))
        inside, outside, others, rest = (
            self.arithmetic.exactly(one).log() for one in (p, q, 1 - p, 1 - q)
        )
        for number, (alpha, most) in enumerate(self.rows):
            order, less = self.arithmetic.exactly(alpha), self.arithmetic.exactly(alpha - 1)
            allowed = less * self.arithmetic.exactly(most or 0)
            for one, other, not_one, not_other in (
                (inside, outside, others, rest),
                (outside, inside, rest, others),
            ):
                total = (order * one - less * other).exp()
                total += (order * not_one - less * not_other).exp()
                self.hold(f"{line}: row {number}", allowed - total.log())
