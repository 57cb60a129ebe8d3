"""What is true of simple mechanisms, found out independently of the library."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath

Document = dict[str, Any]
DIGITS = 34


def gaussian_curve(eps: mpmath.mpf, mu: mpmath.mpf) -> mpmath.mpf:
    """δ_μ(ε)."""
    x, y = eps / mu - mu / 2, eps / mu + mu / 2
    root = mpmath.sqrt(2)
    return (mpmath.erfc(x / root) - mpmath.exp(eps) * mpmath.erfc(y / root)) / 2


def number(text: str) -> mpmath.mpf:
    """A decimal as an mpmath number."""
    return mpmath.mpf(text)


def profile_of(spec: dict[str, str | None]) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """δ(ε), written once more from the table of docs/check-a-mu.md."""
    kind = spec["kind"]
    at = {
        name: number(v)
        for name, v in spec.items()
        if v and name not in ("kind", "neighbours", "entries", "fixed", "monotonic", "noise")
    }
    exp, positive = mpmath.exp, lambda v: max(v, mpmath.mpf(0))
    if kind == "laplace":
        end = at["sensitivity"] / at["scale"]
        return lambda e: positive(-mpmath.expm1((e - end) / 2))
    if kind in ("pure-dp", "approx-dp"):
        top, floor = exp(at["epsilon"]), at.get("delta", mpmath.mpf(0))
        return lambda e: floor + (1 - floor) * positive(top - exp(e)) / (1 + top)
    if kind == "randomized-response":
        k = at["buckets"]
        p = at["noise_parameter"] if "epsilon" not in at else k / (k + mpmath.expm1(at["epsilon"]))
        top = 1 + k * (1 - p) / p
        return lambda e: p / k * positive(top - exp(e))
    if kind == "sparse-vector":
        each = at["count"] * (1 if "monotonic" in spec else 2) / at["answer_scale"]
        top = exp(at["sensitivity"] * (1 / at["threshold_scale"] + each))
        return lambda e: positive(top - exp(e)) / (1 + top)
    if kind == "truncated-laplace":
        return truncated(at["scale"], at["delta"], at["sensitivity"])
    if kind == "thresholded-release":
        return thresholded(spec["noise"] == "gaussian", at)
    if kind == "bounded-range":
        return lambda e: of_runs(e, at["range"], int(at["runs"]))
    if kind in GAUSSIAN:
        mu = gaussian_mu(spec)
        return lambda e: gaussian_curve(e, mu) if mu else mpmath.mpf(0)
    if kind == "icea":
        scale = at["users"] * exp(-at["messages"] / 10)
        return refined(lambda e: scale / e if e else mpmath.inf)
    kappa = (at["sigma"] / at["A"]) ** 2
    return refined(lambda e: at["B"] * exp(-kappa * e * e))


def truncated(b: Any, delta0: Any, shift: Any) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """δ of noise of a density ∝ e^{-|x|/b} on [-A, A], added up from where P is above e^ε·Q."""
    exp, eps0 = mpmath.exp, shift / b
    reach = b * mpmath.log1p(mpmath.expm1(eps0) / (2 * delta0))
    scale = 1 / (2 * -mpmath.expm1(-reach / b))

    def delta(e: mpmath.mpf) -> mpmath.mpf:
        alone = scale * (exp((shift - reach) / b) - exp(-reach / b))
        if e >= eps0:
            return alone
        left = scale * (1 - exp((shift - reach) / b)) * -mpmath.expm1(e - eps0)
        x = (eps0 - e) / 2
        return alone + left + scale * (-mpmath.expm1(-x) - exp(e - eps0) * mpmath.expm1(x))

    return delta


def thresholded(is_gaussian: bool, at: dict[str, Any]) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """δ where j of k groups give a record away."""
    groups, ratio = int(at["groups"]), at["contribution"] / at["scale"]
    away = at["threshold"] / at["scale"] - ratio
    p = mpmath.ncdf(-away) if is_gaussian else mpmath.exp(-away) / 2

    def shared(m: int, e: mpmath.mpf) -> mpmath.mpf:
        if m == 0:
            return mpmath.mpf(0)
        if is_gaussian:
            return gaussian_curve(e, mpmath.sqrt(m) * ratio)
        return max(-mpmath.expm1((e - m * ratio) / 2), mpmath.mpf(0))

    def delta(e: mpmath.mpf) -> mpmath.mpf:
        logs = [j * mpmath.log1p(-p) for j in range(groups + 1)]
        return max(
            -mpmath.expm1(log) + mpmath.exp(log) * shared(groups - j, e - log)
            for j, log in enumerate(logs)
        )

    return delta


def of_runs(e: mpmath.mpf, width: Any, runs: int) -> mpmath.mpf:
    """The largest δ of k runs of two losses, t and t - r, over t."""

    def delta(t: mpmath.mpf) -> mpmath.mpf:
        q = (mpmath.exp(-t) - mpmath.exp(-width)) / -mpmath.expm1(-width)
        p, total = q * mpmath.exp(t), mpmath.mpf(0)
        for i in range(runs + 1):
            gain = p ** (runs - i) * (1 - p) ** i - mpmath.exp(e) * q ** (runs - i) * (1 - q) ** i
            total += mpmath.binomial(runs, i) * max(gain, mpmath.mpf(0))
        return total

    grid = [width * i / 12 for i in range(13)]
    top = max(range(13), key=lambda i: delta(grid[i]))
    near = best(delta, grid[max(top - 1, 0)], grid[min(top + 1, 12)], 1e-10)
    return max(delta(grid[top]), delta(near))


GAUSSIAN = ("gaussian", "gdp", "matrix", "shuffled-epochs")


def gaussian_mu(spec: dict[str, Any]) -> mpmath.mpf:
    """μ of what is a Gaussian curve."""
    if spec["kind"] == "gaussian":
        return number(spec["sensitivity"]) / number(spec["sigma"])
    if spec["kind"] == "gdp":
        return number(spec["mu"])
    if spec["kind"] == "shuffled-epochs":
        return mpmath.sqrt(number(spec["epochs"])) / number(spec["noise_multiplier"])
    return mpmath.sqrt(sensitivity_square(spec)) / number(spec["sigma"])


def sensitivity_square(spec: dict[str, Any]) -> mpmath.mpf:
    """The largest Σ|G_ij| over the patterns of steps, tried one by one."""
    rows = [[binary(word) for word in row.split()] for row in spec["entries"].split(";")]
    names = ("steps", "participations", "separation")
    steps, most, apart = (int(Fraction(spec[name])) for name in names)
    if len(rows) == 1:
        first = rows[0] + [Fraction(0)] * steps
        rows = [
            [first[i - j] if i >= j else Fraction(0) for j in range(steps)] for i in range(steps)
        ]
    best = Fraction(0)
    for size in range(1, min(most, steps) + 1):
        for pattern in itertools.combinations(range(steps), size):
            gaps = [b - a for a, b in itertools.pairwise(pattern)]
            if all(gap == apart if "fixed" in spec else gap >= apart for gap in gaps):
                products = (sum(row[i] * row[j] for row in rows) for i in pattern for j in pattern)
                best = max(best, sum(map(abs, products), Fraction(0)))
    return mpmath.mpf(best.numerator) / best.denominator


def binary(text: str) -> Fraction:
    """The number that ``-0x…p…`` stands for."""
    mantissa, power = text.split("p")
    return int(mantissa, 16) * Fraction(2) ** int(power)


def refined(naive: Callable[[mpmath.mpf], mpmath.mpf]) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """1 - (1 + e^ε)·max{h(s): s ≥ ε} by a scan."""

    def height(e: mpmath.mpf) -> mpmath.mpf:
        return (1 - naive(e)) / (1 + mpmath.exp(e))

    with mpmath.workdps(15):
        grid = [mpmath.mpf(i) / 50 for i in range(400)]
        values = [height(e) for e in grid]
        inner = [
            i for i in range(1, 399) if values[i] >= max(values[i - 1], values[i + 1])
        ]  # at most one
    if not inner:
        return naive
    peak = best(height, grid[inner[-1] - 1], grid[inner[-1] + 1])
    top = height(peak)
    return lambda e: naive(e) if e >= peak else 1 - (1 + mpmath.exp(e)) * max(top, height(e))


def best(
    function: Callable[[mpmath.mpf], mpmath.mpf],
    low: mpmath.mpf,
    high: mpmath.mpf,
    width: float = 1e-14,
) -> mpmath.mpf:
    """Where a function with one peak has it, by the golden section."""
    share = (mpmath.sqrt(5) - 1) / 2
    a, b = high - share * (high - low), low + share * (high - low)
    first, second = function(a), function(b)
    while high - low > width:
        if first > second:
            high, b, second = b, a, first
            a = high - share * (high - low)
            first = function(a)
        else:
            low, a, first = a, b, second
            b = low + share * (high - low)
            second = function(b)
    return (low + high) / 2


def mu_at(eps: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    """G = μ(ε, δ) by bisection and then Newton's method; ∂δ_μ/∂μ = φ(x)."""
    if delta <= 0:
        return mpmath.mpf(0)
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    while gaussian_curve(eps, high) < delta:
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_curve(eps, middle) >= delta else (middle, high)
    mu = high
    for _ in range(12):
        value = gaussian_curve(eps, mu)
        step = value * mpmath.log(value / delta) / mpmath.npdf(eps / mu - mu / 2)
        mu -= step
        if abs(step) < mpmath.mpf(10) ** (-0.6 * mpmath.mp.dps):
            break
    return mu


@cache
def supremum(
    spec: str, statement: str, eps_h: str | None, failure: str, profile: Callable[..., Any]
) -> mpmath.mpf:
    """The least μ for which a statement holds, to some twenty digits."""
    with mpmath.workdps(DIGITS):
        parsed = json.loads(spec)
        delta, p = profile(parsed), number(failure)
        if statement == "approximate":
            if parsed["kind"] in FAILING and delta(mpmath.mpf(400)) > p:
                return mpmath.inf
            past = delta
            delta = lambda e: (past(e) - p) / (1 - p)  # noqa: E731
        end = number(eps_h) if eps_h else mpmath.mpf(8)

        def transform(e: mpmath.mpf) -> mpmath.mpf:
            return mu_at(e, delta(e))

        with mpmath.workdps(20):
            grid = [end * i / 80 for i in range(81)]
            values = [transform(e) for e in grid]
        top = max(range(81), key=values.__getitem__)
        result = transform(grid[top])
        if 0 < top < 80:
            result = max(result, transform(best(transform, grid[top - 1], grid[top + 1])))
        elif top == 0:
            result = max(result, transform(best(transform, grid[0], grid[1])))
        if parsed["kind"] == "sgd-family" and statement == "whole":
            result = max(result, tail_parameter(parsed))
        return result


FAILING = ("approx-dp", "truncated-laplace", "thresholded-release")


def tail_parameter(spec: dict[str, Any]) -> mpmath.mpf:
    """μ_t, from the table of docs/check-a-mu.md."""
    kind = spec["kind"]
    with mpmath.workdps(DIGITS):
        if kind == "icea" or (kind in FAILING and number(spec.get("delta", "1")) > 0):
            return mpmath.inf
        if kind in GAUSSIAN:
            return gaussian_mu(spec)
        if kind == "sgd-family":
            return number(spec["A"]) / number(spec["sigma"]) / mpmath.sqrt(2)
        return mpmath.mpf(0)


def is_true(
    document: Document,
    profile: Callable[..., Any] = profile_of,
    tail_of: Callable[..., Any] = tail_parameter,
) -> bool:
    """Whether a certificate's claim is true, up to errors far below its digits."""
    claim, spec = document["claim"], document["mechanism"]
    slack = mpmath.mpf(10) ** -22
    with mpmath.workdps(DIGITS):
        tail = tail_of(spec)
        if claim["verdict"] != ("not-gdp" if tail == mpmath.inf else "gdp"):
            return False
        low, high = (number(claim["mu_tail"][end]) for end in ("low", "high"))
        if not low - slack <= tail <= high + slack:
            return False
        statement, p = claim["statement"], claim["failure_probability"]
        if statement == "whole" and (number(p) != 0 or tail == mpmath.inf):
            return False
        if statement == "head":
            end = number(claim["eps_h"])
            if profile(spec)(end) > number(p) + slack:
                return False
        failure = p if statement == "approximate" else "0"
        words = json.dumps(spec, sort_keys=True)
        top = supremum(words, statement, claim["eps_h"], failure, profile)
        return bool(
            number(claim["mu"]["low"]) - slack <= top <= number(claim["mu"]["high"]) + slack
        )
