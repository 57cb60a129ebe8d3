"""A mechanism on a sample of the records, once: each is in it with probability γ, independently.

δ'(ε') = γ·δ(ε) with e^ε' = 1 + γ(e^ε - 1) (Balle, Barthe and Gaboardi 2018, theorem 8). That only
stretches the scale of e^ε, so that δ' is convex in it as δ is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.kinds import KINDS, SAMPLED
from gdpbridge_verify.mechanisms import FormulasCheck, formulas_of
from gdpbridge_verify.parameters import Spec, apart, parameters_of
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed


def rate_of_poisson(own: Spec) -> Fraction:
    """Return the rate of a Poisson sample, which says all of how it is drawn."""
    how = {name: own.get(name) for name in ("scheme", "sample", "population")}
    if how != {"scheme": "poisson", "sample": None, "population": None}:
        raise Malformed("mechanism.scheme", how["scheme"], "poisson, at a rate")
    return parameters_of({name: own[name] for name in own if name not in how})["rate"]


def on_a_sample(whole: Callable[[Interval], Level], rate: Fraction) -> Callable[[Interval], Level]:
    """Return δ' from δ."""

    def level(eps: Interval) -> Level:
        before = whole((1 + eps.expm1() / rate).log())
        return Level(before.value * rate, before.complement * rate + (1 - rate))

    return level


class SampledCheck(FormulasCheck):
    """The lines of a certificate about such a mechanism, at one precision."""

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return the base's formula on the new scale; of a Gaussian curve, μ_t is that of all."""
        own, base = apart(self.spec)
        rate = rate_of_poisson(own)
        if base.get("kind") not in SAMPLED:
            raise Malformed("mechanism.base.kind", base.get("kind"), f"one of {', '.join(SAMPLED)}")
        if base.get("neighbours") not in (None, own.get("neighbours")):
            raise Malformed("mechanism.base.neighbours", base["neighbours"], "those of the sample")
        parts, tail = formulas_of(base, brackets, self.arithmetic)
        tail = replace(tail, nature=KINDS[base["kind"] or ""].nature)
        if rate == 1 or not parts:
            return parts, tail
        if tail.curve is not None:
            tail = replace(tail, why=Tail.gaussian(tail.curve, None).why, is_curve=False)
        elif tail.vanishes_from:
            end = (1 + self.enclosed(tail.vanishes_from).expm1() * rate).log()
            tail = replace(tail, vanishes_from=end)
        (whole,) = parts
        return (Part(whole.low, whole.high, on_a_sample(whole.level, rate)),), tail
