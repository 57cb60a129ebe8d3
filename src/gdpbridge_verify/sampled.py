"""A mechanism on a sample of the records, once: each is in it with probability γ, independently.

δ'(ε') = γ·δ(ε) with e^ε' = 1 + γ(e^ε - 1) (Balle, Barthe and Gaboardi 2018, theorem 8). That only
stretches the scale of e^ε, so that δ' is convex in it as δ is.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.kinds import KINDS, SAMPLED
from gdpbridge_verify.mechanisms import FormulasCheck, formulas_of
from gdpbridge_verify.numbers import about
from gdpbridge_verify.parameters import Spec, apart, parameters_of
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused


def rate_of_poisson(own: Spec) -> Fraction:
    """Return the rate of a Poisson sample, which says all of how it is drawn."""
    how = {name: own.get(name) for name in ("scheme", "sample", "population")}
    if how != {"scheme": "poisson", "sample": None, "population": None}:
        raise Malformed("mechanism.scheme", how["scheme"], "poisson, at a rate")
    return parameters_of({name: own[name] for name in own if name not in how})["rate"]


class SampledCheck(FormulasCheck):
    """The lines of a certificate about such a mechanism, at one precision."""

    # μ² of the whole, if it is a Gaussian curve
    unsampled: Fraction | None = None

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return the base's formula on the new scale."""
        own, base = apart(self.spec)
        rate = rate_of_poisson(own)
        if base.get("kind") not in SAMPLED:
            raise Malformed("mechanism.base.kind", base.get("kind"), f"one of {', '.join(SAMPLED)}")
        if base.get("neighbours") not in (None, own.get("neighbours")):
            raise Malformed("mechanism.base.neighbours", base["neighbours"], "those of the sample")
        parts, tail = formulas_of(base, brackets, self.arithmetic)
        nature = KINDS[base["kind"] or ""].nature
        if rate == 1 or not parts:
            return parts, replace(tail, nature=nature)
        gamma, (whole,) = self.enclosed(rate), parts

        def level(eps: Interval) -> Level:
            before = whole.level((1 + eps.expm1() / gamma).log())
            return Level(gamma * before.value, 1 - gamma + gamma * before.complement)

        found = replace(tail, nature=nature)
        self.unsampled = tail.curve
        if tail.curve is not None:
            found = replace(Tail.gaussian(tail.curve, None), nature=nature)
        elif tail.vanishes_from:
            end = (1 + gamma * self.enclosed(tail.vanishes_from).expm1()).log()
            found = replace(Tail.ends(end), nature=nature)
        return (Part(whole.low, whole.high, level),), found

    def upper_end(self) -> str:
        """Prove that the statement holds with mu.high."""
        square = self.unsampled
        if square is not None and self.high is not None and square <= self.high**2:
            return f"{self.covers}, with μ = {self.claim.mu.high}: a sample only lowers δ"
        return super().upper_end()

    def lower_end(self) -> str:
        """Prove that the statement fails below mu.low."""
        square = self.unsampled
        if square is None or self.claim.statement != "whole" or not self.low:
            return super().lower_end()
        if square < self.low**2:
            raise Refused("claim.mu.low", f"μ_t² is {about(square)}")
        return f"{self.no_smaller}: it is at most the tail parameter"
