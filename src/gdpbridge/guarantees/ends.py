"""What the losses of two densities do where their range ends, or one of them is 0: by formulas.

There x is a function of a y that grows without bound, and formulas of y are enclosed on all of
[E, ∞) (see asymptotics.py). For the loss L and the density p of y under P, with monomials M and N
of y and log y, L ~ c·M and -log p ~ d·N.

Where M tends to infinity, -log P(L > ε) is that N at the y with M = ε/c, but for lower terms: the
density does not fall faster than N says, and from L > ε follows y > M⁻¹(ε/c'). As
(1 - 1/e)·P(L > ε + 1) ≤ δ(ε) ≤ P(L > ε), and every Gaussian curve has -log δ of the order ε², N is
compared with M²: if it is of smaller order, δ is below no Gaussian curve. If not, let
-log p ≥ d'·N ≥ k·M² and L ≤ c'·M from E on. Where (1 - θ)·d'·N ≥ 2 log y as well, p is at most
y⁻²·e^{-θ·k·M²}, so that P(L > ε) there is at most (2/E)·e^{-θ·k·ε²/c'²}, for sums over places y
that are 1 apart too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import CoarseDecayTail, SlowerTail
from gdpbridge.expressions.asymptotics import growth_of, log_of
from gdpbridge.expressions.sums import Monomial, Sum, UnknownGrowthError, value_at
from gdpbridge.expressions.tree import Call, Name, Node, Number, substituted
from gdpbridge.guarantees.decay import monomial_text
from gdpbridge.interval import Interval
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor
from gdpbridge.numeric.kinds import ball, fraction_above, to_fraction

__all__ = ["End", "Losses", "losses_at", "tail_of"]

_NONE: Monomial = (Fraction(0), Fraction(0))
_LOG: Monomial = (Fraction(0), Fraction(1))
_DIGITS = 20
# of E, as asymptotics.py wants it
LEAST = 16
# θ: what is kept of the exponent; the rest bounds the mass
_KEPT = Fraction(15, 16)


@dataclass(frozen=True)
class End:
    """Where the range ends, or a density is 0.

    Attributes:
        x: the place as a formula of eps, which stands for y.
        start: E, at least 16.
        narrows: whether x is a place plus or minus 1/y, so that dx = dy/y².
    """

    x: Node
    start: Fraction
    narrows: bool = False

    @classmethod
    def beyond(cls, end: Fraction, *, upwards: bool) -> End:
        """Return all x above a number, or below it."""
        if (end if upwards else -end) >= LEAST:
            return cls(_Y if upwards else Call("neg", (_Y,)), abs(end))
        moved = Number(end - LEAST if upwards else end + LEAST)
        return cls(Call("+" if upwards else "-", (moved, _Y)), Fraction(LEAST))

    @classmethod
    def next_to(cls, place: Fraction, width: Fraction, *, upwards: bool) -> End:
        """Return the x between a place and one above it, or below it."""
        near = Call("/", (Number(Fraction(1)), _Y))
        first = Fraction(math.floor(1 / width))
        return cls(Call("+" if upwards else "-", (Number(place), near)), first, narrows=True)


_Y = Name("eps")


@dataclass(frozen=True)
class Losses:
    """The loss at an end, with the densities of y.

    Attributes:
        loss: that of P against Q.
        log_p: log of P's density.
        log_q: log of Q's.
    """

    loss: Sum
    log_p: Sum
    log_q: Sum

    def backward(self) -> Losses:
        """Return those of Q against P."""
        return Losses(-self.loss, self.log_q, self.log_p)

    @property
    def bounded(self) -> bool:
        """Whether the loss does not tend to infinity."""
        return not self.loss.grows() or self.loss.sign() < 0

    @property
    def largest(self) -> arb:
        """A ball whose upper end no loss exceeds, where they are bounded."""
        if not self.loss.grows():
            return self.loss.range()
        most = self.loss.most()
        return most.union(most.min(arb(0)))


def losses_at(p: Node, q: Node, end: End) -> Losses | None:
    """Return what is known of two densities at an end, None if that is nothing.

    Args:
        p: the density as a formula of x.
        q: the other one.
        end: where.
    """
    if end.start < LEAST:
        return None
    try:
        start = ball(end.start)
        logs = [log_of(growth_of(substituted(one, {"x": end.x}), start)) for one in (p, q)]
        loss = logs[0] + -logs[1]
        turned = Sum({_LOG: arb(2 if end.narrows else 0)}, start)
        found = Losses(loss, *(one + -turned for one in logs))
        # raises where too little is known
        _ = [one.largest for one in (found, found.backward()) if one.bounded]
    except UnknownGrowthError:
        return None
    return found


def tail_of(ends: list[Losses], elsewhere: arb) -> Tail | None:
    """Return how δ falls by the losses that are not bounded, None if that is not decided.

    Args:
        ends: where they are, at least one.
        elsewhere: what the losses at all other places are at most.
    """
    slow = [found for one in ends if (found := _slow(one)) is not None]
    if slow:
        # of the slowest end
        form, start = min(slow)
        return SlowerTail(monomial_text(form), Fraction(decimal_ceiling(to_fraction(start), 1)))
    try:
        rates = [_rate(one) for one in ends]
    except UnknownGrowthError:
        return None
    steepness = ball(min(to_fraction(one.lower()) for one, _, _ in rates))
    width = fraction_above((1 / (2 * steepness)).sqrt(), _DIGITS)
    share = sum((2 / one.loss.start for one in ends), arb(0)).log()
    least = max(to_fraction(one.lower()) for _, one, _ in rates)
    most = max(to_fraction(one.upper()) for _, _, one in rates)
    mu_t = Interval(decimal_floor(least, _DIGITS), decimal_ceiling(most, _DIGITS))
    begins = fraction_above(elsewhere.max(arb(1)), _DIGITS)
    return CoarseDecayTail(fraction_above(share, _DIGITS), width, begins, mu_t)


def _slow(at: Losses) -> tuple[Monomial, arb] | None:
    """Return the order of -log δ in ε, where that is below ε², and from where on it is a bound."""
    (a, b), c = at.loss.leading()
    try:
        k, m = _fall(at)
    except UnknownGrowthError:
        return None
    if (k, m) >= (2 * a, 2 * b):
        return None
    # y is (ε/(log ε)^b)^{1/a}, or e to the power of ε^{1/b}
    form = (k / a, m - b * k / a) if a else (m / b, Fraction(0))
    start = (c * value_at((a, b), at.loss.start)).upper()
    return form, start.max(arb(1))


def _fall(at: Losses) -> Monomial:
    """Return N."""
    monomial, c = at.log_p.leading()
    if monomial <= _NONE or not certainly(c < 0):
        raise UnknownGrowthError
    return monomial


def _rate(at: Losses) -> tuple[arb, arb, arb]:
    """Return θ·k/c'², a lower and an upper bound of the tail parameter by this end."""
    square, c, lower = at.loss.split()
    fall, d, rest = at.log_p.split()
    loss, log = c * (1 + lower.range()), -d * (1 + rest.range())
    start = at.loss.start
    ratio = (fall[0] - 2 * square[0], fall[1] - 2 * square[1])
    # N/M² and N/log y must not fall from E on
    for p, q in (ratio, (fall[0], fall[1] - 1)):
        if q < 0 and (p == 0 or not certainly(start.log() >= ball(-q / p))):
            raise UnknownGrowthError
    least = log.lower() * value_at(ratio, start)
    spare = ball(1 - _KEPT) * log.lower() * value_at(fall, start)
    if not (certainly(log > 0) and certainly(loss > 0) and certainly(spare >= 2 * start.log())):
        raise UnknownGrowthError
    rate = ball(_KEPT) * least / loss.upper() ** 2
    if ratio > _NONE:
        return rate, arb(0), arb(0)
    parameter = (c * c / (-2 * d)).sqrt()
    return rate, parameter, parameter
