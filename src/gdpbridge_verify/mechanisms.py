"""Mechanisms whose δ is a formula on each of a few ranges, and the formulas of most of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level, Work
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Breakpoint, Point
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.parameters import Spec, Values, parameters_of
from gdpbridge_verify.participation import square_of
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refined import icea, sgd_family
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import MAX_EPS, Check
from gdpbridge_verify.values import runs_of_range, skellam

Builder = Callable[[Values, list[Bracket], Arithmetic], Formulas]
_EVERYWHERE = Fraction(0), None
_GAUSSIAN = ("gaussian", "gdp", "matrix", "shuffled-epochs")


class FormulasCheck(Check):
    """The lines of a certificate about such a mechanism, at one precision."""

    def build(self) -> Tail:
        """Find the formulas, and what they say of the tail."""
        given = self.evidence.breakpoints
        self.parts, tail = self.formulas(brackets_of(given) if given else [])
        self.is_convex = self.is_convex and not any(part.over for part in self.parts)
        return tail

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return the formulas, between which lie the brackets of the breakpoints."""
        return formulas_of(self.spec, brackets, self.arithmetic)

    def level(self, at: Fraction) -> Level:
        """Enclose δ(ε)."""
        return part_on(self.parts, at, at).level(self.arithmetic.exactly(at))

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) is at most a number."""
        self.hold(line, self.level(at).under(level))

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Return by how much δ(ε) exceeds a number."""
        return wanted.under(self.level(at))

    def covered(
        self, line: str, low: Fraction, high: Fraction, centre: Fraction, halvings: int
    ) -> None:
        """Prove the statement on each formula's range, and on the brackets between them."""
        ends = {end for part in self.parts for end in (part.low, part.high) if end is not None}
        inside = sorted(end for end in ends if low < end < high)
        for left, right in zip([low, *inside], [*inside, high], strict=True):
            middle = centre if left <= centre <= right else (left + right) / 2
            super().covered(line, left, right, middle, halvings)

    def below_tangent(self, line: str, low: Fraction, high: Fraction, centre: Fraction) -> None:
        """Prove that what is above δ is below a tangent to the Gaussian curve, at both ends."""
        try:
            part = part_on(self.parts, low, high)
        except Refused:
            # within a bracket: δ does not rise
            self.below_end(line, low, high)
            return
        if part.over is None:
            super().below_tangent(line, low, high, centre)
            return
        at, tangent = self.enclosed(centre), self.bound.tangent(self.enclosed(centre))
        for end in (self.enclosed(low), self.enclosed(high)):
            self.hold(line, Level.of(part.over(at, end)).under(self.past(tangent.at(end))))


def part_on(parts: tuple[Part, ...], low: Fraction, high: Fraction) -> Part:
    """Return the formula that holds on a range."""
    # where two parts meet, the later one is regular
    for part in reversed(parts):
        if part.low <= low and (part.high is None or high <= part.high):
            return part
    raise Refused(f"ε = {about(low)}", "δ changes its formula there")


def brackets_of(breakpoints: tuple[Breakpoint, ...]) -> list[Bracket]:
    """Read the breakpoints, which are in order."""
    found, last = [(binary(one.low), binary(one.high)) for one in breakpoints], Fraction(-1)
    for number, (low, high) in enumerate(found):
        if not last < low < high <= MAX_EPS:
            line = f"evidence.breakpoints[{number}]"
            raise Malformed(line, f"[{about(low)}, {about(high)}]", "in order")
        last = high
    return found


def formulas_of(spec: Spec, brackets: list[Bracket], arithmetic: Arithmetic) -> Formulas:
    """Return the formulas of a mechanism that a certificate names, and its tail."""
    values, kind = parameters_of(spec), str(spec["kind"])
    if kind not in (*_BUILDERS, *_GAUSSIAN):
        allowed = ", ".join(sorted((*_BUILDERS, *_GAUSSIAN)))
        raise Malformed("mechanism.kind", kind, f"one of {allowed}")
    if brackets and not KINDS[kind].has_breakpoints:
        raise Malformed("evidence.breakpoints", len(brackets), "none for this mechanism")
    if kind in _GAUSSIAN:
        square, nature = square_of_gaussian(spec, values, arithmetic.work)
        parts, tail = _curve(square, arithmetic)
        return parts, replace(tail, nature=nature)
    return _BUILDERS[kind](values, brackets, arithmetic)


def _bounded(level: Callable[[Interval], Level], end: Fraction | Interval) -> Formulas:
    return (Part(*_EVERYWHERE, level),), Tail.ends(end)


def _laplace(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    # 1 - δ = e^{(ε - Δ/b)/2}
    end = values["sensitivity"] / values["scale"]

    def level(eps: Interval) -> Level:
        half = (eps - end) / 2
        return Level(-half.expm1(), half.exp())

    return _bounded(level, end)


def _bounded_range(values: Values, brackets: list[Bracket], of: Arithmetic) -> Formulas:
    # δ = (1 - u)²/(1 - s), u = e^{(ε - r)/2}, s = e^{-r}; 1 - δ = u((1 - u) + (1 - s/u))/(1 - s)
    width = values["range"]
    if width == 0:
        return (), Tail.ends(width)
    if values["runs"] > 1:
        return runs_of_range(values, brackets, of)
    norm = -of.exactly(-width).expm1()

    def level(eps: Interval) -> Level:
        half, other = (eps - width) / 2, (eps + width) / -2
        rest = -half.exp() * (half.expm1() + other.expm1())
        return Level(half.expm1().square() / norm, rest / norm)

    return _bounded(level, width)


def _permute_and_flip(values: Values, brackets: list[Bracket], of: Arithmetic) -> Formulas:
    # the largest move of a distribution G with |(log G)'|, |(log(1 - G))'| ≤ 1 is Laplace's
    if values["epsilon"] == 0:
        return (), Tail.ends(Fraction(0))
    return _laplace({"sensitivity": values["epsilon"], "scale": Fraction(1)}, brackets, of)


def _approx_dp(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    # 1 - δ = (1 - δ₀)(1 + e^ε)/(1 + e^ε₀), then δ = δ₀ from ε₀ on
    end, floor = values["epsilon"], values.get("delta", Fraction(0))
    top = of.exactly(end).exp()
    kept = (1 - floor) / (1 + top)

    def level(eps: Interval) -> Level:
        fall = -top * (eps - end).expm1() * kept
        return Level(fall + floor, (1 + eps.exp()) * kept)

    return _to_floor(level, end, floor, of) if floor else _bounded(level, end)


def _to_floor(
    level: Callable[[Interval], Level], end: Fraction, floor: Fraction, of: Arithmetic
) -> Formulas:
    flat = Part(end, None, lambda _: Level.of(of.exactly(floor)))
    falling = (Part(Fraction(0), end, level),) if end else ()
    return (*falling, flat), Tail.constant(floor, end)


def _truncated_laplace(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    # with u = e^{(ε-ε₀)/2} and v = 1 - u: δ = δ₀ + v·(1 - δ₀·(1 + u) + δ₀·v/(e^ε₀ - 1)),
    # 1 - δ = u·(1 - δ₀·u) - v²·δ₀/(e^ε₀ - 1)
    floor, end = values["delta"], values["sensitivity"] / values["scale"]
    share = floor / of.exactly(end).expm1()

    def level(eps: Interval) -> Level:
        half = (eps - end) / 2
        u, v = half.exp(), -half.expm1()
        rest = u * (1 - u * floor) - v.square() * share
        return Level(v * (1 - (1 + u) * floor + v * share) + floor, rest)

    return _to_floor(level, end, floor, of)


def _randomized_response(values: Values, _: list[Bracket], of: Arithmetic) -> Formulas:
    # with s = p/k and e^ε₀ = 1 + (1 - p)/s: δ = s(e^ε₀ - e^ε), 1 - δ = s(k - 1 + e^ε)
    if "epsilon" in values:
        return _response_of(values["epsilon"], values["buckets"], of)
    share = values["noise_parameter"] / values["buckets"]
    top = 1 + (1 - values["noise_parameter"]) / share
    end = of.exactly(top).log()

    def level(eps: Interval) -> Level:
        fall = -(eps - end).expm1() * (top * share)
        return Level(fall, (eps.exp() + (values["buckets"] - 1)) * share)

    return _bounded(level, end)


def _response_of(end: Fraction, buckets: Fraction, of: Arithmetic) -> Formulas:
    # s = 1/(e^ε₀ + k - 1)
    top = of.exactly(end).exp()
    norm = top + (buckets - 1)

    def level(eps: Interval) -> Level:
        return Level(-(eps - end).expm1() * top / norm, (eps.exp() + (buckets - 1)) / norm)

    return _bounded(level, end)


def _sparse_vector(values: Values, brackets: list[Bracket], of: Arithmetic) -> Formulas:
    return _approx_dp({"epsilon": epsilon_of_sparse_vector(values)}, brackets, of)


def epsilon_of_sparse_vector(values: Values) -> Fraction:
    """Return Δ/b₁ + c·2Δ/b₂, or Δ/b₁ + c·Δ/b₂ (Lyu, Su and Li 2017, theorems 4 and 5)."""
    each = values["count"] * (1 if values["monotonic"] else 2) / values["answer_scale"]
    return values["sensitivity"] * (1 / values["threshold_scale"] + each)


def square_of_gaussian(spec: Spec, values: Values, work: Work) -> tuple[Fraction, Nature]:
    """Return μ² of a mechanism that is Gaussian, in whichever words, and what δ is."""
    kind = spec["kind"] or ""
    if kind == "matrix":
        square, attained = square_of(values, spec["entries"] or "", work)
        return square / values["sigma"] ** 2, "own" if attained else "bound"
    if kind == "gdp":
        mu = values["mu"]
    elif kind == "gaussian":
        mu = values["sensitivity"] / values["sigma"]
    else:
        # shuffled epochs: a mean over orders, of each of which the record is in one batch an epoch
        return values["epochs"] / values["noise_multiplier"] ** 2, KINDS[kind].nature
    return mu**2, KINDS[kind].nature


def _curve(square: Fraction, of: Arithmetic) -> Formulas:
    why = "the profile is a Gaussian curve"
    if square == 0:
        return (), Tail(why, vanishes_from=square, curve=square)
    curve = GaussianCurve(of.exactly(square).sqrt())
    return (Part(*_EVERYWHERE, curve.level),), Tail(why, square=square, curve=square)


_BUILDERS: dict[str, Builder] = {
    "approx-dp": _approx_dp,
    "bounded-range": _bounded_range,
    "icea": icea,
    "laplace": _laplace,
    "permute-and-flip": _permute_and_flip,
    "pure-dp": _approx_dp,
    "randomized-response": _randomized_response,
    "sgd-family": sgd_family,
    "skellam": skellam,
    "sparse-vector": _sparse_vector,
    "truncated-laplace": _truncated_laplace,
}
