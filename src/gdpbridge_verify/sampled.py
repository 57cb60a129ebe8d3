"""A mechanism on a sample of the records, once: each is in it with probability γ.

δ'(ε') = γ·δ(ε) with e^ε' = 1 + γ(e^ε - 1), where each is in it independently and one is added or
removed, and for samples of a fixed size, of which one is replaced (Balle, Barthe and Gaboardi 2018,
theorems 8 and 9). That only stretches the scale of e^ε, so that δ' is convex in it as δ is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level, exact
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.mechanisms import FormulasCheck, formulas_of
from gdpbridge_verify.parameters import Spec, apart, parameters_of, require_relation
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed

# what is known on a sample, once: by a formula, and by the law of its losses
SAMPLED = (
    "approx-dp", "bounded-range", "gaussian", "gdp", "laplace", "permute-and-flip", "pure-dp",
    "randomized-response", "sparse-vector", "truncated-laplace",
)  # fmt: skip
SAMPLED_BY_LAW = ("discrete-gaussian", "discrete-laplace", "pld")
# what adds noise, so that the sample without the record answers as one that was not drawn
_NOISE = ("discrete-gaussian", "discrete-laplace", "gaussian", "laplace", "truncated-laplace")
# how samples are drawn, and for which relation
_SCHEMES = {"poisson": "add-remove", "without-replacement": "replace-one"}


def rate_of(own: Spec, schemes: Sequence[str] = tuple(_SCHEMES)) -> Fraction:
    """Return the rate of a sample, which says all of how it is drawn."""
    how = {name: own.get(name) for name in ("scheme", "sample", "population")}
    scheme = how["scheme"] or ""
    if scheme not in schemes or (how["sample"], how["population"]) != (None, None):
        raise Malformed("mechanism.scheme", scheme, f"{' or '.join(schemes)}, at a rate")
    require_relation(own.get("neighbours"), (_SCHEMES[scheme],))
    return parameters_of({name: own[name] for name in own if name not in how})["rate"]


def sample_of(spec: Spec, kinds: Sequence[str]) -> tuple[Fraction, Spec]:
    """Return the rate of a sample, and the mechanism that is run on it, of one of some kinds."""
    own, base = apart(spec)
    if base.get("kind") not in kinds:
        raise Malformed("mechanism.base.kind", base.get("kind"), f"one of {', '.join(kinds)}")
    if base.get("neighbours") not in (None, own.get("neighbours")):
        raise Malformed("mechanism.base.neighbours", base["neighbours"], "those of the sample")
    return rate_of(own), base


def nature_of_sample(kind: str, nature: Nature, rate: Fraction) -> Nature:
    """Return what δ' is: but for noise, another mechanism with the same δ may have more."""
    return "class" if nature == "own" and kind not in _NOISE and rate < 1 else nature


def losses_of(spec: Spec) -> Spec:
    """Return the mechanism whose losses show δ: what is run on a sample once, by its own law."""
    by_law = spec.get("kind") == "subsampled" and spec.get("base.kind") in SAMPLED_BY_LAW
    return apart(spec)[1] if by_law else spec


def on_a_sample(whole: Callable[[Interval], Level], rate: Fraction) -> Callable[[Interval], Level]:
    """Return δ' from δ."""

    def level(eps: Interval) -> Level:
        before = whole((1 + eps.expm1() / rate).log())
        return Level(before.value * rate, before.complement * rate + (1 - rate))

    return level


def _capped(part: Part) -> Callable[[Interval], Level]:
    """Return a formula on its range, and beyond what it is at the end: it may rise from there."""

    def level(eps: Interval) -> Level:
        if part.high is None:
            return part.level(eps)
        end = eps.of.exactly(part.high)
        return part.level(Interval(eps.of, min(eps.low, end.low), min(eps.high, end.high)))

    return level


class SampledCheck(FormulasCheck):
    """The lines of a certificate about such a mechanism, at one precision."""

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return the base's formula on the new scale; of a Gaussian curve, μ_t is that of all."""
        rate, base = sample_of(self.spec, SAMPLED)
        parts, tail = formulas_of(base, brackets, self.arithmetic)
        nature = KINDS[base["kind"] or ""].nature
        tail = replace(tail, nature=nature_of_sample(base["kind"] or "", nature, rate))
        if rate == 1 or not parts:
            return parts, tail
        if tail.curve is not None:
            tail = replace(tail, why=Tail.gaussian(tail.curve, None).why, is_curve=False)
        elif (end := tail.vanishes_from or tail.floor_from) is not None:
            end = (1 + self.enclosed(end).expm1() * rate).log()
            floored = tail.floor_from is not None
            tail = (
                Tail.constant(tail.floor * rate, exact(end.high), tail.nature)
                if floored
                else replace(tail, vanishes_from=end)
            )
        if brackets or len(parts) > 2:
            raise Malformed("mechanism.base.runs", len(parts), "one run")
        return (Part(parts[0].low, None, on_a_sample(_capped(parts[0]), rate)),), tail
