"""Bounds δ̂ that are refined by the partial order of trade-off functions: sgd-family and icea.

With h = (1 - δ̂)/(1 + e^ε), 1 - δ(ε) = (1 + e^ε)·max{h(s): s ≥ ε}. N = -δ̂'(1 + e^{-ε}) - (1 - δ̂)
has the sign of h', rises while δ̂ is concave in e^ε and falls to -1 afterwards. So a change of its
sign from + to - where δ̂ is convex brackets the maximum of h, and everything beyond; before it, h is
largest there or at the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, exact
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.parameters import Values
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided

_LINE = "evidence.breakpoints"


@dataclass(frozen=True)
class _Bound:
    """δ̂, how fast its logarithm falls, and where it turns from concave to convex in e^ε."""

    delta: Callable[[Interval], Interval]
    steepness: Callable[[Interval], Interval]
    turn: Interval
    starts_below_one: bool

    def height(self, eps: Interval) -> Interval:
        """h."""
        return (1 - self.delta(eps)) / (1 + eps.exp())

    def sign(self, eps: Interval) -> Interval:
        """N."""
        delta = self.delta(eps)
        return delta * self.steepness(eps) * (1 + (-eps).exp()) - (1 - delta)

    def over(self, centre: Interval, eps: Interval) -> Interval:
        """The tangent to δ̂ in e^ε: δ̂ + δ̂'·(e^{ε - c} - 1)."""
        return self.delta(centre) * (1 - self.steepness(centre) * (eps - centre).expm1())

    def parts(self, low: Fraction, high: Fraction | None) -> list[Part]:
        """Return δ̂ itself on a range, where it is concave and where it is convex in e^ε."""
        concave, convex, found = exact(self.turn.low), exact(self.turn.high), []

        def level(eps: Interval) -> Level:
            return Level.of(self.delta(eps))

        if low < concave:
            end = concave if high is None else min(concave, high)
            found.append(Part(low, end, level, self.over))
        if high is None or convex < high:
            found.append(Part(max(low, convex), high, level))
        return found


def sgd_family(values: Values, brackets: list[Bracket], of: Arithmetic) -> Formulas:
    """δ̂ = B·exp(-κε²), κ = (σ/A)²: in e^ε concave until 2κε² + ε = 1, then convex."""
    kappa, factor = (values["sigma"] / values["A"]) ** 2, values["B"]
    bound = _Bound(
        lambda eps: (-eps.square() * kappa).exp() * factor,
        lambda eps: eps * (2 * kappa),
        2 / (1 + of.exactly(1 + 8 * kappa).sqrt()),
        factor < 1,
    )
    start = brackets[-1][1] if brackets else Fraction(0)
    decay = Decay(of.exactly(factor).log(), start)
    return _refined(bound, brackets, of), Tail.gaussian(1 / (2 * kappa), decay)


def icea(values: Values, brackets: list[Bracket], of: Arithmetic) -> Formulas:
    """δ̂ = (n/ε)·e^{-m/10}, convex in e^ε; it falls like 1/ε, slower than e^{-ε}."""
    scale = of.exactly(-values["messages"] / 10).exp() * values["users"]
    bound = _Bound(lambda eps: scale / eps, lambda eps: 1 / eps, of.exactly(0), False)
    return _refined(bound, brackets, of), Tail.slow()


def _refined(bound: _Bound, brackets: list[Bracket], of: Arithmetic) -> tuple[Part, ...]:
    if not brackets:
        if not bound.starts_below_one:
            raise Malformed(_LINE, 0, "the point where the refinement touches")
        # N is largest where δ̂ turns from concave to convex
        _require("the profile is refined by its lines", -bound.sign(bound.turn))
        return tuple(bound.parts(Fraction(0), None))
    low, high = brackets[-1]
    _require("convexity", low - bound.turn)
    _require("before the touching point", bound.sign(of.exactly(low)))
    _require("after the touching point", -bound.sign(of.exactly(high)))
    touching, centre = of.between(low, high), of.exactly((low + high) / 2)
    # near its maximum h is flat, and the mean-value form encloses it to second order
    slope = bound.sign(touching) / ((1 + touching.exp()) * (1 + (-touching).exp()))
    height = bound.height(centre) + slope * (touching - centre)

    def line(eps: Interval) -> Level:
        rest = (1 + eps.exp()) * height
        return Level(1 - rest, rest)

    beyond = bound.parts(high, None)
    if len(brackets) == 1:
        if bound.starts_below_one:
            start = bound.height(of.exactly(0))
            _require("the profile starts above its refinement", height - start)
        return (Part(Fraction(0), low, line), *beyond)
    left, right = brackets[0]
    if not bound.starts_below_one or not right <= low:
        raise Malformed(_LINE, 2, "one for this mechanism")
    _require("before the crossing", bound.height(of.exactly(left)) - height)
    _require("after the crossing", height - bound.height(of.exactly(right)))
    return (*bound.parts(Fraction(0), left), Part(right, low, line), *beyond)


def _require(what: str, positive: Interval) -> None:
    if positive > 0:
        return
    if positive <= 0:
        raise Refused(f"{_LINE}: {what}", f"off by {float(-positive.high):.3g}")
    raise Undecided(what)
