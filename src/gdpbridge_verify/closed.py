"""Composed losses whose δ is a formula, for the checker: no evidence is needed but cells.

    - Gaussian noise alone: δ_μ with μ² the sum; what only fails makes it p + (1 - p)·δ_μ;
    - one step on a sample of rate q in which a record is added or removed, or of a fixed size:
      q·δ_μ(ε') with e^ε' = 1 + (e^ε - 1)/q, in both directions;
    - one step in which a record is replaced: P(U > u) - e^ε·Q(U > u) with a normal U, where
      P(U > u) = (1 - q)·Φ(-u) + q·Φ(1/σ - u), Q(U > u) = (1 - q)·Φ(-u) + q·Φ(-1/σ - u), and
      u = σ·(ε + log(w + √(w² + e^{-ε}))), w = e^{1/(2σ²)}·(1 - q)(1 - e^{-ε})/(2q);
    - Laplace noise, alone and beside discrete losses: see splines.py.

δ is the larger one of both directions, which is convex in e^ε as each of them is: one range of
cells serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.composed import ComposedCheck
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.exponentials import Laplace
from gdpbridge_verify.finite import Finite, finite_of
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.sampled import on_a_sample
from gdpbridge_verify.splines import Spline
from gdpbridge_verify.statement import Check
from gdpbridge_verify.transforms import Gaussian, Nothing, Runs, SampledGaussian

Formula = Callable[[Fraction], Level]


class ClosedCheck(ComposedCheck):
    """The lines of a certificate of such losses, at one precision."""

    # of both, the larger δ is known
    count_of_directions = 1

    def build(self) -> Tail:
        """Return what is known of the tail."""
        tail, make = super().build(), formula_of(self.composition.parts)
        if self.evidence.witness_line is not None or make is None:
            raise Malformed("evidence.witness_line", "a line", "null: δ is a formula")
        self.floor = tail.floor
        self._level = make(self)
        if all(isinstance(part.transform, Gaussian) for part in self.composition.parts):
            return replace(tail, curve=self.variance)
        return tail

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number."""
        self.hold(line, self._level(at).under(level))

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Return by how much δ(ε) exceeds a number."""
        return wanted.under(self._level(at))

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high, for Gaussian parts at ε = 0 alone."""
        gaussian = all(
            isinstance(part.transform, Gaussian) or _only_fails(part)
            for part in self.composition.parts
        )
        is_approximate = self.claim.statement == "approximate" and not self.cells_to_prove()
        if self.high is None or not (gaussian and is_approximate):
            return super().upper_end()
        return upper_end_at_zero(self, self.variance)


def upper_end_at_zero(check: Check, square: Fraction) -> str:
    """Prove the upper end past failures of what is a Gaussian curve but for failures, or below.

    v + (1 - v)·δ_μ ≤ p + (1 - p)·δ_M at every ε ≥ 0 where (1 - p)·Φ(-M/2) ≤ (1 - v)·Φ(-μ/2), p ≥ v.
    """
    floor, root = check.enclosed(check.tail.floor), check.arithmetic.exactly(8).sqrt()
    check.hold("claim.failure_probability", check.failure - floor)
    mu, high = check.arithmetic.exactly(square).sqrt(), check.enclosed(check.high or Fraction(0))
    own, other = ((one / root).erfc() for one in (mu, high))
    check.hold("claim.mu.high", (1 - floor) * own - (1 - check.failure) * other)
    return f"{check.covers}, with μ = {check.claim.mu.high}: it is proved at ε = 0"


Maker = Callable[[ClosedCheck], Formula]


def formula_of(parts: Sequence[Runs]) -> Maker | None:
    """Return what makes δ of a composition; None where it is no formula."""
    rest = [part for part in parts if not _only_fails(part)]
    kinds = {type(part.transform) for part in parts}
    if Laplace in kinds and kinds <= {Laplace, Finite, Nothing}:
        return _sums
    if rest and {type(part.transform) for part in rest} == {Gaussian}:
        variance = Fraction(sum(part.times * part.transform.tail_variance for part in rest))
        return _beside_failures(lambda of: GaussianCurve(of.exactly(variance).sqrt()).level)
    if sum(part.times for part in rest) != 1:
        return None
    step = rest[0].transform
    if not isinstance(step, FixedSizeGaussian | SampledGaussian):
        return None
    rate = step.rate
    if isinstance(step, SampledGaussian) and step.symmetric:
        sigma = step.sigma
        return _beside_failures(lambda of: _replaced(of, sigma, rate))
    mu = step.apart if isinstance(step, FixedSizeGaussian) else 1 / step.sigma
    return _beside_failures(lambda of: on_a_sample(GaussianCurve(of.exactly(mu)).level, rate))


def _beside_failures(make: Callable[[Arithmetic], Callable[[Interval], Level]]) -> Maker:
    """Return δ = p_∞ + (1 - p_∞)·f from f."""

    def made(check: ClosedCheck) -> Formula:
        formula, floor = make(check.arithmetic), check.enclosed(check.floor)
        kept = 1 - floor

        def level(at: Fraction) -> Level:
            found = formula(check.enclosed(at))
            return Level(floor + kept * found.value, kept * found.complement)

        return level

    return made


def _sums(check: ClosedCheck) -> Formula:
    """Return the larger δ of both directions of Laplace noise and discrete losses."""
    both = (False,) if all(part.symmetric for part in check.composition.parts) else (False, True)
    found = []
    for backward in both:
        laplace, others = list[tuple[Fraction, int]](), list[tuple[Finite, int]]()
        for one, times in check.towards(backward=backward):
            if isinstance(one, Laplace):
                laplace.append((one.width, times))
            elif known := finite_of(one):
                others.append((known, times))
        spline = Spline(laplace, others, check.arithmetic)
        found.append((spline, check.enclosed(check.failure_towards(backward=backward))))

    def level(at: Fraction) -> Level:
        values = [spline.enclose(at) + failure for spline, failure in found]
        low, high = (max(getattr(one, end) for one in values) for end in ("low", "high"))
        return Level.of(Interval(check.arithmetic, low, high))

    return level


def _only_fails(part: Runs) -> bool:
    one = finite_of(part.transform)
    # a discrete Gaussian loss has no end of places
    return part.symmetric and type(one) is Finite and list(one.places) == [0]


def _replaced(of: Arithmetic, sigma: Fraction, rate: Fraction) -> Callable[[Interval], Level]:
    factor = of.exactly(1 / (2 * sigma**2)).exp() * ((1 - rate) / (2 * rate))
    apart, tail = 1 / sigma, Interval.normal_tail

    def level(eps: Interval) -> Level:
        rise, t = -(-eps).expm1(), eps.exp()
        w = factor * rise
        u = (eps + (w + (w.square() + 1 / t).sqrt()).log()) * sigma
        far = tail(u + apart)
        inside = tail(u) * (1 - rate) + tail(u - apart) * rate
        outside = tail(u) * (1 - rate) + far * rate
        rest = tail(-u) * (1 - rate) + tail(apart - u) * rate
        return Level(inside - t * outside, rest + t * outside)

    return level
