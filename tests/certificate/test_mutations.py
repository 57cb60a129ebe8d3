"""No change to a certificate that makes its claim false or unproved is accepted."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest

import gdpbridge
from gdpbridge import InputError, UndecidedError, profiles, verify

TOL = 1e-12
Document = dict[str, Any]

# --- certificates of each kind and statement --------------------------------------------------

EXAMPLES = {
    "laplace": (profiles.Laplace(scale=1.0), {}),
    "laplace head": (profiles.Laplace(scale=1.0), {"eps_h": 0.75}),
    "laplace approximate": (profiles.Laplace(scale=1.0), {"failure": 0.1}),
    "pure-dp": (profiles.PureDP(epsilon=1.5), {}),
    "pure-dp approximate": (profiles.PureDP(epsilon=1.5), {"failure": 0.05}),
    "randomized-response": (profiles.RandomizedResponse(noise_parameter=0.5, buckets=3), {}),
    "randomized-response head": (
        profiles.RandomizedResponse(noise_parameter=0.5, buckets=3),
        {"eps_h": 1},
    ),
    "randomized-response by epsilon": (
        profiles.RandomizedResponse(epsilon=1, buckets=4),
        {"failure": 0.01},
    ),
    "approx-dp": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {}),
    "approx-dp head": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"eps_h": 2}),
    "approx-dp approximate": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"failure": 0.02}),
    "approx-dp infinite": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"failure": 0.005}),
    "gaussian": (profiles.Gaussian(sigma=2.0), {}),
    "gaussian head": (profiles.Gaussian(sigma=2.0), {"eps_h": 1}),
    "gaussian approximate": (profiles.Gaussian(sigma=2.0), {"failure": 0.05}),
    "gdp": (profiles.GDP(mu=1.25), {}),
    "gdp approximate": (profiles.GDP(mu=1.25), {"failure": 0.1}),
    "sgd-family": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {}),
    "sgd-family head": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {"eps_h": 1.5}),
    "sgd-family approximate": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {"failure": 0.01}),
    "sgd-family, two brackets": (profiles.SGDFamily(A=1.0, B=0.5, sigma=1.0), {}),
    "sgd-family, no bracket": (profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0), {}),
    "sgd-family, tail": (profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0), {}),
    "sparse-vector": (
        profiles.SparseVector(threshold_scale=3, answer_scale=7, count=2, sensitivity=1.5),
        {},
    ),
    "sparse-vector, monotonic": (
        profiles.SparseVector(threshold_scale=2, answer_scale=3, monotonic=True),
        {"failure": 0.05},
    ),
    "shuffled-epochs": (profiles.ShuffledEpochs(noise_multiplier=2, steps=5, epochs=3), {}),
    "shuffled-epochs approximate": (
        profiles.ShuffledEpochs(noise_multiplier=2, steps=5, epochs=3),
        {"failure": 0.05},
    ),
    "matrix": (profiles.Matrix(entries=[[1, 0.5, -0.25], [0, 1, 0.75]], sigma=2), {"eps_h": 1}),
    "matrix, fixed": (
        profiles.Matrix(
            entries=[[1, 0.5, -0.25], [0, 1, 0.75]], participations=2, fixed=True, sigma=2
        ),
        {},
    ),
    "matrix, banded": (
        profiles.Matrix(entries=[0.5, 1], steps=5, participations=2, separation=2, sigma=2),
        {"failure": 0.05},
    ),
    "matrix, falling": (
        profiles.Matrix(entries=[1, 0.5, 0.5], steps=6, participations=3, separation=2, sigma=2),
        {},
    ),
    "truncated-laplace": (
        profiles.TruncatedLaplace(scale=1.5, delta=0.01, sensitivity=2),
        {"failure": 0.01},
    ),
    "truncated-laplace head": (profiles.TruncatedLaplace(scale=1, delta=0.01), {"eps_h": 0.75}),
    "thresholded-release": (
        profiles.ThresholdedRelease(noise="laplace", scale=1.5, threshold=9, groups=2),
        {"failure": 0.05},
    ),
    "thresholded-release, gaussian": (
        profiles.ThresholdedRelease(noise="gaussian", scale=2, threshold=7, groups=2),
        {"failure": 0.05},
    ),
    "thresholded-release, as gaussian": (
        profiles.ThresholdedRelease(noise="gaussian", scale=1, threshold=12, groups=2),
        {},
    ),
    "bounded-range, runs": (profiles.BoundedRange(range=0.75, runs=3), {}),
    "icea": (profiles.ICEA(messages=50, users=10), {"eps_h": 2}),
    "icea approximate": (profiles.ICEA(messages=50, users=10), {"failure": 0.02}),
}


@cache
def text_of(name: str) -> str:
    """The JSON text of an example's certificate."""
    profile, how = EXAMPLES[name]
    document = gdpbridge.measure(profile, tol=TOL, **how).certificate
    assert document is not None
    return document.to_json()


def fresh(name: str) -> Document:
    """A certificate as plain data, to change."""
    parsed: Document = json.loads(text_of(name))
    return parsed


# --- what is true, found out independently of the library -------------------------------------

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
def supremum(spec: str, statement: str, eps_h: str | None, failure: str) -> mpmath.mpf:
    """The least μ for which a statement holds, to some twenty digits."""
    with mpmath.workdps(DIGITS):
        parsed = json.loads(spec)
        delta, p = profile_of(parsed), number(failure)
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


def is_true(document: Document) -> bool:
    """Whether a certificate's claim is true, up to errors far below its digits."""
    claim, spec = document["claim"], document["mechanism"]
    slack = mpmath.mpf(10) ** -22
    with mpmath.workdps(DIGITS):
        tail = tail_parameter(spec)
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
            if profile_of(spec)(end) > number(p) + slack:
                return False
        failure = p if statement == "approximate" else "0"
        top = supremum(json.dumps(spec, sort_keys=True), statement, claim["eps_h"], failure)
        return bool(
            number(claim["mu"]["low"]) - slack <= top <= number(claim["mu"]["high"]) + slack
        )


# --- changes ----------------------------------------------------------------------------------

Path = tuple[str | int, ...]
REMOVED = object()


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a document with its path; of lists the first two and the last."""
    if path:
        yield path, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            if index < 2 or index == len(node) - 1:
                yield from leaves(value, (*path, index))


def put(document: Any, path: Path, value: object) -> Any:
    """A copy with one value changed or removed; what was not touched is shared."""
    first, *rest = path
    changed = copy.copy(document)
    if rest:
        changed[first] = put(document[first], tuple(rest), value)
    elif value is REMOVED:
        del changed[first]
    else:
        changed[first] = value
    return changed


ALWAYS: list[object] = [
    REMOVED, None, True, 1, 1.5, -1, [], {}, "", "nan", "inf", "-inf", "1e400", "1e999999999",
    "-1", "0", "1", "0x1p+0", "0x0p+0", "0x1p+9999", "0x1p-9999", "9" * 390, "9" * 5000,
    "0.5", "1e-9999", "tail", "whole", "head", "approximate", "gdp", "not-gdp", "__import__('os')",
]  # fmt: skip


BINARY = re.compile("0x[0-9a-f]+p[+-][0-9]+")


def numbers_near(text: str) -> Iterator[str]:
    """A number a little moved, and doubled."""
    listed = list(BINARY.finditer(text))
    if len(listed) > 1:
        for found in listed:
            for other in numbers_near(found[0]):
                yield f"{text[: found.start()]}{other}{text[found.end() :]}"
        return
    if listed:
        mantissa, exponent = text[2:].split("p")
        whole, power = int(mantissa, 16), int(exponent)
        for other in (whole + 1, whole - 1, 2 * whole, whole // 2, whole + (whole >> 7)):
            if other >= 0:
                yield f"0x{other:x}p{power:+d}"
        yield f"0x{(whole << 300) + 1:x}p{power - 300:+d}"
        return
    try:
        value = Fraction(text)
    except ValueError:
        return
    unit = Fraction(1, 10 ** len(text.partition(".")[2]))
    for other in (value + unit, value - unit, value + Fraction(1, 10**10),
                  value - Fraction(1, 10**10), 2 * value, value / 2, value + 1):  # fmt: skip
        if other >= 0:
            yield decimal(other)


def decimal(value: Fraction) -> str:
    """A number as a decimal of 40 places."""
    return f"{value.numerator * 10**40 // value.denominator}e-40"


def changes(document: Document) -> Iterator[tuple[str, Document]]:
    """Every field changed in many ways, one at a time."""
    for path, value in leaves(document):
        where = ".".join(map(str, path))
        for other in ALWAYS:
            yield f"{where} := {other!r:.30}", put(document, path, other)
        if isinstance(value, str):
            for other in numbers_near(value):
                yield f"{where} := {other:.30}", put(document, path, other)
        if isinstance(value, dict):
            yield f"{where} + unknown", put(document, (*path, "unknown"), "1")
            for first, second in zip(value, list(value)[1:], strict=False):
                swapped = put(document, (*path, first), value[second])
                yield f"{where}: {first} <-> {second}", put(swapped, (*path, second), value[first])


def structural(document: Document) -> Iterator[tuple[str, Document]]:
    """Changes to the order, number and ends of cells; none leaves a proof."""
    cells = document["evidence"]["cells"]

    def with_cells(new: list[dict[str, Any]]) -> Document:
        return put(document, ("evidence", "cells"), new)

    for i, cell in enumerate(cells):
        yield f"remove {i}", with_cells(cells[:i] + cells[i + 1 :])
        yield f"duplicate {i}", with_cells([*cells[: i + 1], *cells[i:]])
        reversed_cell = {**cell, "low": cell["high"], "high": cell["low"]}
        yield f"reverse {i}", with_cells([*cells[:i], reversed_cell, *cells[i + 1 :]])
        empty = {**cell, "high": cell["low"], "centre": None}
        yield f"empty {i}", with_cells([*cells[:i], empty, *cells[i + 1 :]])
        for field, step in (("low", 1), ("low", -1), ("high", 1), ("high", -1)):
            moved = one_ulp(cell[field], step)
            if moved and (field == "low" or i + 1 < len(cells)):
                yield (
                    f"{field} of {i} by {step} ulp",
                    with_cells([*cells[:i], {**cell, field: moved}, *cells[i + 1 :]]),
                )
    for i in range(len(cells) - 1):
        swapped = [*cells[:i], cells[i + 1], cells[i], *cells[i + 2 :]]
        yield f"swap {i}", with_cells(swapped)
    if len(cells) > 1:
        yield "reverse the order", with_cells(cells[::-1])
    if cells:
        yield "no cells", with_cells([])


def one_ulp(text: str, step: int) -> str | None:
    """A binary number moved by a unit in its 300th place."""
    mantissa, exponent = text[2:].split("p")
    moved = (int(mantissa, 16) << 300) + step
    return f"0x{moved:x}p{int(exponent) - 300:+d}" if moved >= 0 else None


def outcome(document: Document) -> str:
    """What the checker says: valid, refused, no certificate or undecided; nothing else may be."""
    try:
        return "valid" if verify(document).valid else "refused"
    except InputError:
        return "no certificate"
    except UndecidedError:
        return "undecided"


# --- tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """The oracle agrees with every certificate as it was written."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_oracle_tells_what_is_false(name: str) -> None:
    """An interval short of the truth on either side, and another tail, are false to it."""
    document = fresh(name)
    mu = document["claim"]["mu"]
    if mu["high"] != "inf":
        for low, high in (
            ("0", decimal(Fraction(mu["low"]) - Fraction(1, 10**10))),
            (decimal(Fraction(mu["high"]) + Fraction(1, 10**10)), "1000"),
        ):
            assert not is_true(put(document, ("claim", "mu"), {"low": low, "high": high}))
    assert not is_true(put(document, ("claim", "mu_tail"), {"low": "5", "high": "6"}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str, thinned: Callable) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    wrong = [
        what
        # other ones of each field, from example to example
        for what, changed in thinned(changes(fresh(name)), 8, len(name))
        if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_changed_cover_is_refused(name: str, thinned: Callable) -> None:
    """Cells removed, duplicated, swapped, reversed, emptied, or with a gap of one ulp."""
    document = fresh(name)
    for what, changed in thinned(structural(document), 5, len(name)):
        # beyond the end of the range nothing needs a cell
        last = what == f"remove {len(document['evidence']['cells']) - 1}"
        result = outcome(changed)
        assert result in ("refused", "no certificate") or (last and is_true(changed)), what


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_moved_claim_is_refused(name: str) -> None:
    """μ.high below the truth, μ.low above it, another verdict, a longer head, a tail elsewhere."""
    document = fresh(name)
    claim = document["claim"]
    for end, step in (("high", -1), ("low", 1)):
        for places in (10, 6, 2):
            moved = claim["mu"][end]
            if moved == "inf":
                continue
            value = Fraction(moved) + step * Fraction(1, 10**places)
            changed = put(document, ("claim", "mu", end), decimal(max(value, Fraction(0))))
            assert outcome(changed) in ("refused", "no certificate", "undecided"), (end, places)
    other = {"gdp": "not-gdp", "not-gdp": "gdp"}[claim["verdict"]]
    assert outcome(put(document, ("claim", "verdict"), other)) == "refused"
    for end, text in (("low", "5000"), ("high", "1e-30"), ("low", "inf"), ("high", "inf")):
        changed = put(document, ("claim", "mu_tail", end), text)
        assert outcome(changed) != "valid" or is_true(changed)
    if claim["eps_h"]:
        longer = decimal(Fraction(claim["eps_h"]) + Fraction(1, 10**10))
        result = outcome(put(document, ("claim", "eps_h"), longer))
        # a Gaussian curve's μ, and a constant tail, hold on every head
        assert result == "refused" or document["mechanism"]["kind"] in (*GAUSSIAN, *FAILING)
    for statement in {"whole", "head", "approximate"} - {claim["statement"]}:
        changed = put(document, ("claim", "statement"), statement)
        assert outcome(changed) != "valid" or is_true(changed)


@pytest.mark.parametrize("name", EXAMPLES)
def test_evidence_of_another_mechanism_is_refused(name: str) -> None:
    """The same claim and evidence with any other example's mechanism."""
    document = fresh(name)
    for other in EXAMPLES:
        mechanism = fresh(other)["mechanism"]
        if mechanism != document["mechanism"]:
            changed = put(document, ("mechanism",), mechanism)
            assert outcome(changed) != "valid" or is_true(changed), other


@pytest.mark.parametrize("name", EXAMPLES)
def test_harmless_changes_are_accepted(name: str) -> None:
    """A wider interval, another generator, and cells cut in two are still proofs."""
    document = fresh(name)
    assert outcome(put(document, ("generator",), "another program")) == "valid"
    mu = document["claim"]["mu"]
    if mu["high"] != "inf":
        wider = put(document, ("claim", "mu", "high"), decimal(Fraction(mu["high"]) + 1))
        wider["claim"]["mu"]["low"] = "0"
        if document["mechanism"]["kind"] not in GAUSSIAN:
            assert outcome(wider) in ("valid", "refused", "undecided")
        # the cells were made for the old μ, but one below δ_μ is below a larger one too
        monotone = [cell["centre"] is None for cell in document["evidence"]["cells"]]
        assert not all(monotone) or outcome(wider) == "valid"
