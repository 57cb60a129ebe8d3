"""The mechanisms' formulas, written again for the checker.

A mechanism gives what is known of its tail, and formulas for log δ and log(1 - δ) on ranges of ε.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Jet
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.document import DECIMAL_PATTERN
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.participation import square_of
from gdpbridge_verify.refusal import Malformed, Refused, Undecided

__all__ = [
    "GaussianDecay",
    "Mechanism",
    "Part",
    "decimal_parameter",
    "log1mexp",
    "mechanism_of",
    "parameters_of",
    "ungrouped",
]

Bracket = tuple[Fraction, Fraction]
Formula = Callable[[Jet], Jet]


@dataclass(frozen=True)
class Part:
    """One formula and where it applies.

    Attributes:
        low: it encloses δ from here on,
        high: up to here, or for good.
        log: the jet of log δ from that of ε.
        log_complement: the jet of log(1 - δ) from that of ε.
    """

    low: Fraction
    high: Fraction | None
    log: Formula
    log_complement: Formula


@dataclass(frozen=True)
class GaussianDecay:
    """log δ(ε) ≤ log_factor + linear·ε - ε²/(2 μ_t²) for every ε ≥ start; μ_t is exact."""

    log_factor: Interval
    mu_t: Interval
    start: Fraction
    linear: Fraction = Fraction(0)


@dataclass(frozen=True)
class Mechanism:
    """What the checker knows of a mechanism.

    Attributes:
        parts: its formulas in order; between them lie the brackets of its breakpoints.
        vanishes_from: δ(ε) = 0 from here on, or None.
        floor: what δ never falls below.
        decay: its Gaussian tail, or None.
        square: μ², where the profile is a Gaussian curve, or None.
        slow: whether δ falls no faster than exponentially.
        exact_end: vanishes_from, where it is rational.
        nature: what δ is, where that is not the same for all of the kind.
    """

    parts: tuple[Part, ...]
    vanishes_from: Interval | None = None
    floor: Fraction = Fraction(0)
    decay: GaussianDecay | None = None
    square: Fraction | None = None
    slow: bool = False
    exact_end: Fraction | None = None
    nature: Nature | None = None

    def vanishes_at(self, at: Interval, exact: Fraction) -> bool:
        """Whether δ is 0 at a number, given as an interval and exactly.

        Raises:
            Undecided: if the precision does not tell.
        """
        start = self.vanishes_from
        if start is None or self.exact_end is not None:
            return self.exact_end is not None and exact >= self.exact_end
        if at >= start:
            return True
        if not at < start:
            raise Undecided("where δ becomes 0")
        return False


def mechanism_of(
    spec: dict[str, str | None], brackets: list[Bracket], arithmetic: Arithmetic
) -> Mechanism:
    """Build the mechanism that a certificate names.

    Raises:
        Malformed: for an unknown kind, or parameters that are not those of the kind.
        Refused: if the breakpoints are not where the profile changes its formula.
        Undecided: if the precision does not tell.
    """
    values = parameters_of(spec)
    kind = str(spec["kind"])
    if kind not in (*_BUILDERS, "matrix"):
        raise Malformed("mechanism.kind", kind, f"one of {', '.join(_BUILDERS)}")
    if brackets and not KINDS[kind].has_breakpoints:
        raise Malformed("evidence.breakpoints", len(brackets), "none for this mechanism")
    if kind == "matrix":
        square, attained = square_of(values, spec["entries"] or "", arithmetic.work)
        found = _curve(square / values["sigma"] ** 2, arithmetic)
        return replace(found, nature="own" if attained else "bound")
    return _BUILDERS[kind](values, brackets, arithmetic)


def parameters_of(spec: dict[str, str | None]) -> dict[str, Fraction]:
    """Return the parameters of a kind, each in its range.

    Raises:
        Malformed: for an unknown kind or relation, or parameters that are not those of the kind.
    """
    given = dict(spec)
    kind, neighbours = given.pop("kind", None), given.pop("neighbours", None)
    if kind is None or kind not in KINDS:
        raise Malformed("mechanism.kind", kind, f"one of {', '.join(KINDS)}")
    names, relations = KINDS[kind].parameters, KINDS[kind].relations
    values = {
        name: _place(name, given.pop(name, None), words)
        for name, words in KINDS[kind].words.items()
    }
    if neighbours not in (relations or (None, "add-remove", "replace-one", "zero-out")):
        allowed = " or ".join(relations) or "a known relation, or null"
        raise Malformed("mechanism.neighbours", neighbours, allowed)
    if set(given) != {*names, *KINDS[kind].texts}:
        raise Malformed("mechanism", ", ".join(sorted(given)), f"the parameters {', '.join(names)}")
    return values | {name: _parameter(name, given[name], *names[name]) for name in names}


def _place(name: str, word: str | None, words: tuple[str | None, ...]) -> Fraction:
    if word not in words:
        raise Malformed(f"mechanism.{name}", word, " or ".join(filter(None, words)))
    return Fraction(words.index(word))


def ungrouped(spec: dict[str, str | None]) -> dict[str, str | None]:
    """Return the mechanism that protects a record as one that is grouped does a group.

    k records move an answer by k times the sensitivity, and a chain of k pairs of neighbours
    multiplies an ε, a range of losses, or a μ by k (Dong, Roth and Su 2022, theorem 2.14).

    Raises:
        Malformed: for a kind of which that is not known.
    """
    if spec.get("kind") != "grouped":
        return spec
    base = {name.removeprefix("base."): text for name, text in spec.items() if "." in name}
    size = parameters_of({name: text for name, text in spec.items() if "." not in name})["size"]
    known = KINDS.get(base.get("kind") or "")
    if known is None or not known.per_record or size > _MOST_RECORDS:
        raise Malformed("mechanism.base.kind", base.get("kind"), "one that is known for groups")
    if base.get("neighbours") != spec["neighbours"]:
        raise Malformed("mechanism.base.neighbours", base.get("neighbours"), "those of the group")
    parameters_of(base)
    with decimal.localcontext(prec=1000):
        product = decimal.Decimal(base[known.per_record] or "") * int(size)
    return {**base, known.per_record: str(product)}


Values = dict[str, Fraction]


def _laplace(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # 1 - δ = e^{(ε - Δ/b)/2}
    exact_end = values["sensitivity"] / values["scale"]
    end = arithmetic.exactly(exact_end)

    def log_complement(eps: Jet) -> Jet:
        return (eps - end).scaled(arithmetic.exactly(Fraction(1, 2)))

    return _bounded(lambda eps: log1mexp(log_complement(eps)), log_complement, end, exact_end)


def _bounded_range(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # δ = (1 - u)²/(1 - s), u = e^{(ε - r)/2}, s = e^{-r}; 1 - δ = (u(2 - u) - s)/(1 - s)
    if values["runs"] != 1:
        raise Malformed("mechanism.runs", int(values["runs"]), "1 of what others are made of")
    width, half = values["range"], arithmetic.exactly(Fraction(1, 2))
    end = arithmetic.exactly(width)
    if width == 0:
        return Mechanism((), vanishes_from=end, exact_end=width)
    least = -end
    log_norm = (-least.expm1()).log()

    def log(eps: Jet) -> Jet:
        return log1mexp((eps - end).scaled(half)).scaled(arithmetic.exactly(2)) - log_norm

    def log_complement(eps: Jet) -> Jet:
        # u(2 - u) - s = u((1 - u) + (1 - s/u))
        log_u, log_other = (eps - end).scaled(half), -(eps + end).scaled(half)
        return log_u + (-log_u.expm1() - log_other.expm1()).log() - log_norm

    return _bounded(log, log_complement, end, width)


def _permute_and_flip(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # the largest move of a distribution G with |(log G)'|, |(log(1 - G))'| ≤ 1 is Laplace's
    if values["epsilon"] == 0:
        return Mechanism((), vanishes_from=arithmetic.exactly(0), exact_end=Fraction(0))
    return _laplace({"sensitivity": values["epsilon"], "scale": Fraction(1)}, [], arithmetic)


def _pure_dp(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    end = arithmetic.exactly(values["epsilon"])
    return _bounded(*_pure_dp_formulas(end), end, values["epsilon"])


def _sparse_vector(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # ε-DP with ε = Δ/b₁ + c·2Δ/b₂, or c·Δ/b₂ (Lyu, Su and Li 2017, theorems 4 and 5)
    each = values["count"] * (1 if values["monotonic"] else 2) / values["answer_scale"]
    epsilon = values["sensitivity"] * (1 / values["threshold_scale"] + each)
    return _pure_dp({"epsilon": epsilon}, [], arithmetic)


def _pure_dp_formulas(end: Interval) -> tuple[Formula, Formula]:
    # δ = (e^ε₀ - e^ε)/(1 + e^ε₀), 1 - δ = (1 + e^ε)/(1 + e^ε₀)
    total = end + (-end).exp().log1p()
    return (
        lambda eps: log1mexp(eps - end) + (end - total),
        lambda eps: eps.exp().log1p() - total,
    )


def _approx_dp(values: Values, brackets: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # δ = δ₀ + (1 - δ₀)·δ_pure, then the constant δ₀
    floor, eps0 = values["delta"], values["epsilon"]
    if floor == 0:
        return _pure_dp(values, brackets, arithmetic)
    log_pure, log_pure_complement = _pure_dp_formulas(arithmetic.exactly(eps0))
    log_kept = arithmetic.exactly(1 - floor).log()
    exact_floor = arithmetic.exactly(floor)

    def log(eps: Jet) -> Jet:
        return ((log_pure(eps) + log_kept).exp() + exact_floor).log()

    falling = Part(Fraction(0), eps0, log, lambda eps: log_pure_complement(eps) + log_kept)
    return _to_floor(falling if eps0 else None, eps0, floor, arithmetic)


def _to_floor(
    falling: Part | None, end: Fraction, floor: Fraction, arithmetic: Arithmetic
) -> Mechanism:
    def constant(value: Fraction) -> Formula:
        log, zero = arithmetic.exactly(value).log(), arithmetic.exactly(0)
        return lambda eps: Jet(log, zero, zero)

    flat = Part(end, None, constant(floor), constant(1 - floor))
    return Mechanism((falling, flat) if falling else (flat,), floor=floor)


def _truncated_laplace(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # with u = e^{(ε-ε₀)/2} and v = 1 - u: δ = δ₀ + v·(1 - δ₀·(1 + u) + δ₀·v/(e^ε₀ - 1)),
    # 1 - δ = u·(1 - δ₀·u) - v²·δ₀/(e^ε₀ - 1)
    floor, exactly = values["delta"], arithmetic.exactly
    end = values["sensitivity"] / values["scale"]
    floored = exactly(floor)
    share = floored / exactly(end).expm1()

    def parts(eps: Jet) -> tuple[Jet, Jet]:
        half = (eps - exactly(end)).scaled(exactly(Fraction(1, 2)))
        return half.exp(), -half.expm1()

    def log(eps: Jet) -> Jet:
        u, v = parts(eps)
        return (v * (1 - (1 + u).scaled(floored) + v.scaled(share)) + floored).log()

    def log_complement(eps: Jet) -> Jet:
        u, v = parts(eps)
        return (u * (1 - u.scaled(floored)) - v.square().scaled(share)).log()

    return _to_floor(Part(Fraction(0), end, log, log_complement), end, floor, arithmetic)


def _randomized_response(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # with s = p/k and e^ε₀ = 1 + (1 - p)/s: δ = s(e^ε₀ - e^ε), 1 - δ = s(k - 1 + e^ε)
    buckets = values["buckets"]
    share = values["noise_parameter"] / buckets
    top = 1 + (1 - values["noise_parameter"]) / share
    end = arithmetic.exactly(top).log()
    log_share = arithmetic.exactly(share).log()
    others = arithmetic.exactly(buckets - 1)
    return _bounded(
        lambda eps: log1mexp(eps - end) + (end + log_share),
        lambda eps: (eps.exp() + others).log() + log_share,
        end,
    )


def _gaussian(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    return _curve((values["sensitivity"] / values["sigma"]) ** 2, arithmetic)


def _gdp(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    return _curve(values["mu"] ** 2, arithmetic)


def _shuffled_epochs(values: Values, _: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # a mean over orders, of each of which the record is in one batch of an epoch
    return _curve(values["epochs"] / values["noise_multiplier"] ** 2, arithmetic)


def _curve(square: Fraction, arithmetic: Arithmetic) -> Mechanism:
    if square == 0:
        zero = arithmetic.exactly(0)
        return Mechanism((), vanishes_from=zero, square=square, exact_end=square)
    curve = GaussianCurve(arithmetic.exactly(square).sqrt())
    part = Part(
        Fraction(0),
        None,
        lambda eps: curve.jet(*eps.value.ends()),
        lambda eps: curve.complement_jet(*eps.value.ends()),
    )
    return Mechanism((part,), square=square)


def _sgd_family(values: Values, brackets: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # δ̂ = B·exp(-κε²), κ = (σ/A)²; in t = e^ε concave until 2κε² + ε = 1, then convex
    steepness = arithmetic.exactly((values["sigma"] / values["A"]) ** 2)
    factor = values["B"]
    log_factor = arithmetic.exactly(factor).log()

    def naive(eps: Jet) -> Jet:
        return -eps.square().scaled(steepness) + log_factor

    def is_convex_at(eps: Interval) -> Interval:
        return 2 * steepness * eps.square() + eps - 1

    parts = _refined(naive, is_convex_at, brackets, factor < 1, arithmetic)
    mu_t = 1 / (2 * steepness).sqrt()
    decay = GaussianDecay(log_factor, mu_t, brackets[-1][1] if brackets else Fraction(0))
    return Mechanism(parts, decay=decay)


def _icea(values: Values, brackets: list[Bracket], arithmetic: Arithmetic) -> Mechanism:
    # δ̂ = (n/ε)·e^{-m/10}, convex in t = e^ε; falls like 1/ε, slower than e^{-ε}
    log_scale = arithmetic.exactly(values["users"]).log() - arithmetic.exactly(
        values["messages"] / 10
    )
    if not brackets:
        raise Malformed("evidence.breakpoints", 0, "the point where the refinement touches")

    def naive(eps: Jet) -> Jet:
        return -eps.log() + log_scale

    def is_convex_at(eps: Interval) -> Interval:
        return eps

    return Mechanism(_refined(naive, is_convex_at, brackets, False, arithmetic), slow=True)


def _refined(
    naive: Formula,
    is_convex_at: Callable[[Interval], Interval],
    brackets: list[Bracket],
    starts_below_one: bool,
    arithmetic: Arithmetic,
) -> tuple[Part, ...]:
    """Refine by the partial order: with h = (1 - δ̂)/(1 + e^ε), 1 - δ = (1 + e^ε)·max h.

    N = -δ̂'(1 + e^{-ε}) - (1 - δ̂) has the sign of h', rises while δ̂ is concave in e^ε and falls
    to -1 afterwards. So a change of its sign from + to - where δ̂ is convex brackets the maximum
    of h, and everything beyond; before it, h is largest there or at the beginning.
    """
    whole = Part(Fraction(0), None, naive, lambda eps: log1mexp(naive(eps)))
    if not brackets:
        _require_falling_height(naive, is_convex_at, starts_below_one, arithmetic)
        return (whole,)
    low, high = brackets[-1]
    at_low, at_high = arithmetic.exactly(low), arithmetic.exactly(high)
    _require("evidence.breakpoints: convexity", is_convex_at(at_low))
    _require("evidence.breakpoints: before the touching point", _slope_sign(naive, at_low))
    _require("evidence.breakpoints: after the touching point", -_slope_sign(naive, at_high))
    touching = arithmetic.between(low, high)
    # near its maximum h is flat, and the mean-value form encloses it to second order
    centre = arithmetic.exactly((low + high) / 2)
    point, around = _log_height(naive, centre), _log_height(naive, touching)
    height = point.value + around.slope * (touching - centre)

    def log_complement(eps: Jet) -> Jet:
        return eps.exp().log1p() + height

    line = Part(Fraction(0), low, lambda eps: log1mexp(log_complement(eps)), log_complement)
    rest = Part(high, None, naive, whole.log_complement)
    if len(brackets) == 1:
        if starts_below_one:
            first = _log_height(naive, arithmetic.exactly(0)).value
            _require(
                "evidence.breakpoints: the profile starts above its refinement", height - first
            )
        return (line, rest)
    left, right = (arithmetic.exactly(end) for end in brackets[0])
    if not starts_below_one or not brackets[0][1] <= low:
        raise Malformed("evidence.breakpoints", 2, "one for this mechanism")
    _require("evidence.breakpoints: before the crossing", _log_height(naive, left).value - height)
    _require("evidence.breakpoints: after the crossing", height - _log_height(naive, right).value)
    return (
        Part(Fraction(0), brackets[0][0], naive, whole.log_complement),
        Part(brackets[0][1], low, line.log, line.log_complement),
        rest,
    )


def _require_falling_height(
    naive: Formula,
    is_convex_at: Callable[[Interval], Interval],
    starts_below_one: bool,
    arithmetic: Arithmetic,
) -> None:
    """Prove that N < 0 throughout, so that no line is below the naive profile.

    N is largest where δ̂ turns from concave to convex in e^ε; that place is bracketed by bisection.
    """
    if not starts_below_one:
        raise Malformed("evidence.breakpoints", 0, "the point where the refinement touches")
    low, high = Fraction(0), Fraction(1)
    while not is_convex_at(arithmetic.exactly(high)) > 0:
        high *= 2
    for _ in range(arithmetic.precision // 2):
        middle = (low + high) / 2
        convexity = is_convex_at(arithmetic.exactly(middle))
        if convexity >= 0:
            high = middle
        elif convexity <= 0:
            low = middle
        else:
            break
    _require(
        "evidence.breakpoints: the profile is refined by its lines",
        -_slope_sign(naive, arithmetic.between(low, high)),
    )


def _slope_sign(naive: Formula, eps: Interval) -> Interval:
    value = naive(Jet.variable(eps)).exp()
    return -value.slope * (1 + (-eps).exp()) - (1 - value.value)


def _log_height(naive: Formula, eps: Interval) -> Jet:
    variable = Jet.variable(eps)
    return log1mexp(naive(variable)) - variable.exp().log1p()


def _require(what: str, positive: Interval) -> None:
    if positive > 0:
        return
    if positive <= 0:
        raise Refused(what, f"off by {float(-positive.high):.3g}")
    raise Undecided(what)


def _bounded(
    log: Formula, log_complement: Formula, end: Interval, exact_end: Fraction | None = None
) -> Mechanism:
    part = Part(Fraction(0), None, log, log_complement)
    return Mechanism((part,), vanishes_from=end, exact_end=exact_end)


def log1mexp(value: Jet) -> Jet:
    """Return log(1 - e^x) of a jet."""
    return (-value.expm1()).log()


Builder = Callable[[Values, list[Bracket], Arithmetic], Mechanism]
_BUILDERS: dict[str, Builder] = {
    "approx-dp": _approx_dp,
    "bounded-range": _bounded_range,
    "gaussian": _gaussian,
    "gdp": _gdp,
    "icea": _icea,
    "laplace": _laplace,
    "permute-and-flip": _permute_and_flip,
    "pure-dp": _pure_dp,
    "randomized-response": _randomized_response,
    "sgd-family": _sgd_family,
    "shuffled-epochs": _shuffled_epochs,
    "sparse-vector": _sparse_vector,
    "truncated-laplace": _truncated_laplace,
}
_MOST_RECORDS = 1_000_000
_QUOTIENT = "^[0-9]{1,18}/[1-9][0-9]{0,17}$"
# beyond it a parameter is refused before any arithmetic: a proof of it would be of no use
_MOST = Fraction(10) ** 400
MAX_DIGITS = 400


def decimal_parameter(name: str, text: str | None) -> Fraction:
    """Return a number of either sign that a formula has a name for."""
    sign, rest = (-1, text[1:]) if text and text.startswith("-") else (1, text)
    return sign * _parameter(name, rest, lambda _: True, "a number")


def _parameter(
    name: str, text: str | None, holds: Callable[[Fraction], bool], allowed: str
) -> Fraction:
    # a rate is often a batch size over a number of records
    written = f"{DECIMAL_PATTERN}|{_QUOTIENT}" if name == "sample_rate" else DECIMAL_PATTERN
    if not re.fullmatch(written, text or "") or len(text or "") > MAX_DIGITS:
        raise Malformed(f"mechanism.{name}", text, f"{allowed}, as a decimal")
    value = Fraction(str(text))
    if not holds(value) or value > _MOST or (value and 1 / value > _MOST):
        raise Malformed(f"mechanism.{name}", text, allowed)
    return value
