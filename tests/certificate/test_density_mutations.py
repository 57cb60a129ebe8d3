"""Certificates of two densities: proved, small, and false ones are not accepted."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import mpmath
import pytest
import truth
from changes import beside, changes, outcome, put, structural

import gdpbridge as gdp
from gdpbridge import InputError, profiles
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.densities import nodes_of
from gdpbridge_verify.pairs import Pair
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided
from gdpbridge_verify.taylor import Taylor, density_of

Document = dict[str, Any]
mpf = mpmath.mpf
LINE = {"p": "1", "q": "0.5+a*x", "low": 0, "high": 1, "set": {"a": 1}}
POINTS = {"p": "1/4", "ratio": "10/(x+1)/4", "low": 0, "high": 3, "integers": True}
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "line": (LINE, {}),
    "head": (LINE, {"eps_h": 0.25}),
    "approximate": (LINE, {"failure": 0.01}),
    "whole numbers": (POINTS, {}),
}


@cache
def text_of(name: str) -> str:
    """The JSON text of an example's certificate."""
    given, how = EXAMPLES[name]
    document = gdp.measure(profiles.Densities(**given), **how).certificate
    assert document is not None
    return document.to_json()


def _function(text: str, known: dict[str, str]) -> Callable[[mpf], mpf]:
    """The formula by Python's own parser, with mpmath."""
    text = re.sub(r"(?<![\w.])[0-9.]+(e-?[0-9]+)?", lambda found: f"mpf('{found[0]}')", text)
    names: dict[str, Any] = {"mpf": mpf} | {name: mpf(value) for name, value in known.items()}
    return lambda x: mpf(eval(text, {**names, "x": x}))


def _positive(a: mpf, b: mpf, low: mpf, high: mpf) -> mpf:
    """The integral of the positive part of a + b·x."""
    ends = [low, high]
    if b:
        ends = sorted([low, min(max(-a / b, low), high), high])
    return sum(max((a + b * (u + v) / 2) * (v - u), 0) for u, v in pairwise(ends))


def profile_of(spec: dict[str, str | None]) -> Callable[[mpf], mpf]:
    """δ(ε) of two lines, or of masses; what is no density has the δ of no mechanism."""
    known = {name[4:]: str(text) for name, text in spec.items() if name.startswith("set.")}
    given = {
        name: _function(str(spec[name]), known) for name in ("p", "q", "ratio") if name in spec
    }
    p = given.get("p") or (lambda x: given["ratio"](x) * given["q"](x))
    q = given.get("q") or (lambda x: given["p"](x) / given["ratio"](x))
    low, high = mpf(str(spec["low"])), mpf(str(spec["high"]))
    if spec.get("integers") == "true":
        places = [mpf(x) for x in range(math.ceil(low), math.floor(high) + 1)]
        masses = [(p(x), q(x)) for x in places]
        totals = [sum(one) for one in zip(*masses, strict=True)]
        pairs = [(a / totals[0], b / totals[1]) for a, b in masses]

        def of_points(eps: mpf) -> mpf:
            t = mpmath.exp(eps)
            return max(
                sum(max(a - t * b, 0) for a, b in pairs), sum(max(b - t * a, 0) for a, b in pairs)
            )

        return of_points
    lines = []
    for one in (p, q):
        start, slope = one(mpf(0)), one(mpf(1)) - one(mpf(0))
        assert abs(one(mpf(3)) - start - 3 * slope) < mpf(10) ** -20
        mass = start * (high - low) + slope * (high**2 - low**2) / 2
        lines.append((start / mass, slope / mass))
    (a, b), (c, d) = lines

    def of_lines(eps: mpf) -> mpf:
        t = mpmath.exp(eps)
        return max(
            _positive(a - t * c, b - t * d, low, high), _positive(c - t * a, d - t * b, low, high)
        )

    return of_lines


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    document = json.loads(json.dumps(document))
    claim, spec = document["claim"], document["mechanism"]
    if claim["verdict"] == "unknown":
        if claim["mu_tail"] != {"low": "0", "high": "inf"} or claim["statement"] == "whole":
            return False
        claim |= {"verdict": "gdp", "mu_tail": {"low": "0", "high": "0"}}
    is_one = spec["kind"] == "densities"
    return is_one and truth.is_true(document, profile_of, lambda _: mpf(0))


def every_change(name: str) -> Iterator[tuple[str, Document]]:
    """All changes of one field, and of numbers within the texts."""
    document = json.loads(text_of(name))
    yield from changes(document)
    yield from structural(document)
    for field in ("p", "q", "ratio"):
        text = document["mechanism"].get(field, "")
        for found in re.finditer(r"(?<![\w.])[0-9.]+", text):
            for other in (Fraction(found[0]) * Fraction(k, 1000) for k in (500, 999, 1001, 2000)):
                new = f"{text[: found.start()]}{float(other)}{text[found.end() :]}"
                yield new, put(document, ("mechanism", field), new)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """Each is accepted, small, true by another way, and refused when its interval is moved."""
    document = json.loads(text_of(name))
    assert outcome(document) == "valid"
    assert is_true(document)
    assert len(text_of(name)) < 5_000
    for changed in beside(document, Fraction(1, 10**9)):
        assert not is_true(changed)
        assert outcome(changed) != "valid"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    found = list(every_change(name))
    tried = [*random.Random(name).sample(found, 150), *found[-12:]]
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


GAUSS = "exp(-(x-m)**2/2)/sqrt(2*pi)"
SMOOTH: dict[str, tuple[dict[str, str | None], dict[str, Fraction], Any]] = {
    "gaussian": (
        {"p": GAUSS.replace("m", "0"), "q": GAUSS, "ratio": None},
        {"m": Fraction(1)},
        lambda e: mpmath.ncdf(0.5 - e) - mpmath.exp(e) * mpmath.ncdf(-0.5 - e),
    ),
    "laplace": (
        {"p": "exp(-abs(x))/2", "q": "exp(-abs(x - 1))/2", "ratio": None},
        {},
        lambda e: max(mpf(0), -mpmath.expm1((e - 1) / 2)),
    ),
    # whose kinks are within cells, however narrow these are
    "laplace about thirds": (
        {"p": "exp(-abs(x - 1/3))/2", "q": "exp(-abs(x - m))/2", "ratio": None},
        {"m": Fraction(4, 3)},
        lambda e: max(mpf(0), -mpmath.expm1((e - 1) / 2)),
    ),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_integrals(name: str) -> None:
    """δ of noise that has a formula is enclosed, in both orders, narrowly."""
    texts, known, formula = SMOOTH[name]
    pair = Pair(nodes_of(texts, known), (None, None), Arithmetic(96, Work()), integers=False)
    with mpmath.workdps(40):
        for eps in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)):
            wanted = formula(mpf(eps.numerator) / eps.denominator)
            for backward in (False, True):
                found = pair.delta(pair.of.exactly(eps).exp(), backward=backward)
                assert mpf(str(found.low)) <= wanted + mpf(10) ** -25
                assert mpf(str(found.high)) >= wanted - mpf(10) ** -25
                assert found.high - found.low < 1e-18


# p, q by their coefficients, from the constant on, and the ends
_POLYNOMIALS: dict[str, tuple[list[float], list[float], int, int]] = {
    "crossing once": ([1.0], [0.5, 1.0], 0, 1),
    "crossing twice": ([1.0], [1.75, -4.5, 4.5], 0, 1),
    "crossing at both ends": ([0.625, 2.25, -2.25], [1.0], 0, 1),
    "crossing three times": ([0.5], [0.5, -0.625, 0.0, 1.0], -1, 1),
    "where one is 0": ([1.0], [0.0, 2.0], 0, 1),
    "where both are 0": ([0.0, 0.0, 3.0], [0.0, 2.0], 0, 1),
    "hardly apart": ([1.0], [1 - 2.0**-20, 2.0**-19], 0, 1),
}


def _of_polynomials(p: list[float], q: list[float], low: int, high: int) -> Callable[[mpf], mpf]:
    """∫(p - t·q)⁺ of what is left when each is divided by its mass, from root to root."""

    def integral(one: list[mpf], a: mpf, b: mpf) -> mpf:
        return sum(c * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, c in enumerate(one))

    both = [[mpf(c) / integral([mpf(d) for d in one], low, high) for c in one] for one in (p, q)]
    size = max(map(len, both))
    first, second = ([*one, *[mpf(0)] * (size - len(one))] for one in both)

    def delta(t: mpf) -> mpf:
        apart = [a - t * b for a, b in zip(first, second, strict=True)]
        while len(apart) > 1 and not apart[-1]:
            apart.pop()
        roots = mpmath.polyroots(apart[::-1], extraprec=200, maxsteps=200) if apart[1:] else []
        inner = [mpmath.re(one) for one in roots if abs(mpmath.im(one)) < mpf(10) ** -30]
        ends = [mpf(low), *sorted(one for one in inner if low < one < high), mpf(high)]
        return sum(max(integral(apart, a, b), mpf(0)) for a, b in pairwise(ends))

    return delta


def test_a_ratio_that_turns_within_a_cell() -> None:
    """Of N(1/3, 1) and N(1/3, 4): p/q = 2e^{-3z²/8}, z = x - 1/3, is largest between all cells."""
    texts = {
        "p": "exp(-(x - 1/3)**2/2)/sqrt(2*pi)", "q": "exp(-(x - 1/3)**2/8)/sqrt(8*pi)",
        "ratio": None,
    }  # fmt: skip
    pair = Pair(nodes_of(texts, {}), (None, None), Arithmetic(96, Work()), integers=False)
    with mpmath.workdps(40):
        for eps in (Fraction(0), Fraction(1, 2), Fraction(693, 1000), Fraction(7, 10)):
            t = mpmath.exp(mpf(eps.numerator) / eps.denominator)
            near = mpmath.sqrt(8 * mpmath.log(2 / t) / 3) if t < 2 else mpf(0)
            inside = [1 - 2 * mpmath.ncdf(-near / sd) for sd in (1, 2)]
            far = mpmath.sqrt(8 * mpmath.log(2 * t) / 3)
            outside = [2 * mpmath.ncdf(-far / sd) for sd in (2, 1)]
            for (a, b), way in ((inside, False), (outside, True)):
                found = pair.delta(pair.of.exactly(eps).exp(), backward=way)
                assert mpf(str(found.low)) <= a - t * b + mpf(10) ** -25
                assert mpf(str(found.high)) >= a - t * b - mpf(10) ** -25
                assert found.high - found.low < 1e-18


@pytest.mark.parametrize(
    ("q", "forward", "backward", "bits"),
    [
        ("0.3 + 1.4*x", Fraction(10, 3), Fraction(17, 10), 48),
        ("18*(1 + abs(x - 1/3))/23", Fraction(23, 18), Fraction(30, 23), 48),
        # flat where it is largest, within every cell
        ("0.9 + 0.9*(x - 1/3)**2", Fraction(10, 9), Fraction(13, 10), 96),
    ],
)
def test_the_largest_ratio_is_between_its_ends(
    q: str, forward: Fraction, backward: Fraction, bits: int
) -> None:
    """Exactly, also to few digits, of which each is rounded."""
    ends = Fraction(0), Fraction(1)
    nodes = nodes_of({"p": "1", "q": q, "ratio": None}, {})
    pair = Pair(nodes, ends, Arithmetic(bits, Work()), integers=False)
    for ratio, way in ((forward, False), (backward, True)):
        top = pair.largest(backward=way)
        assert top is not None
        low, high = (Fraction(*map(int, end.as_integer_ratio())) for end in (top.low, top.high))
        assert low <= ratio <= high
        assert high - low < Fraction(1, 10**9)


def test_a_root_that_newton_does_not_reach() -> None:
    """Next to where (1 + x³)/2 is flat the signs on either side are proved, however far apart."""
    texts = {"p": "(1 + x**3)/2", "q": "1/2", "ratio": None}
    ends = Fraction(-1), Fraction(1)
    pair = Pair(nodes_of(texts, {}), ends, Arithmetic(96, Work()), integers=False)
    with mpmath.workdps(50):
        for power in (6, 9, 12, 20):
            off = mpmath.expm1(mpf(10) ** -power)
            root, other = mpmath.cbrt(off), -mpmath.cbrt(off / (1 + off))
            # ∫(x³ - off)/2 from the one on, and ∫-((1 + off)x³ + off)/2 up to the other
            forward = (1 - root**4) / 8 - off * (1 - root) / 2
            backward = (1 + off) * (1 - other**4) / 8 - off * (other + 1) / 2
            for true, way in ((forward, False), (backward, True)):
                eps = pair.of.exactly(Fraction(1, 10**power))
                found = pair.delta(eps.exp(), backward=way)
                assert mpf(str(found.low)) <= true + mpf(10) ** -27
                assert mpf(str(found.high)) >= true - mpf(10) ** -27


def test_a_kink_within_every_cell() -> None:
    """Where 1 is most above 18(1 + |x - 1/3|)/23 no cell is smooth: δ and the ratios hold."""
    texts = {"p": "1", "q": "18*(1 + abs(x - 1/3))/23", "ratio": None}
    ends = Fraction(0), Fraction(1)
    pair = Pair(nodes_of(texts, {}), ends, Arithmetic(96, Work()), integers=False)
    with mpmath.workdps(40):
        for eps in (Fraction(0), Fraction(1, 8), Fraction(6, 25), Fraction(1, 4)):
            t = mpmath.exp(mpf(eps.numerator) / eps.denominator)
            # q = 18/23 + 18/23·d at a distance d from 1/3, once from 0 to 1/3 and once to 2/3
            to = [min(max(mpf(23) / 18 / t - 1, mpf(0)), end / mpf(3)) for end in (1, 2)]
            forward = sum(d - t * mpf(18) / 23 * (d + d**2 / 2) for d in to)
            # |x - 1/3| is from 23t/18 - 1 to 2/3 where q is above t
            start = min(max(mpf(23) * t / 18 - 1, mpf(0)), mpf(2) / 3)
            rest = mpf(2) / 3 - start, (mpf(4) / 9 - start**2) / 2
            near = max(mpf(1) / 3 - start, mpf(0)), max(mpf(1) / 9 - start**2, mpf(0)) / 2
            backward = sum(mpf(18) / 23 * (a + b) - t * a for a, b in (rest, near))
            for true, way in ((forward, False), (backward, True)):
                found = pair.delta(pair.of.exactly(eps).exp(), backward=way)
                assert mpf(str(found.low)) <= true + mpf(10) ** -27
                assert mpf(str(found.high)) >= true - mpf(10) ** -27
                assert found.high - found.low < 1e-18
        for ratio, way in ((mpf(23) / 18, False), (mpf(30) / 23, True)):
            top = pair.largest(backward=way)
            assert top is not None
            assert (
                mpf(str(top.low)) - mpf(10) ** -27 <= ratio <= mpf(str(top.high)) + mpf(10) ** -27
            )
            assert top.high - top.low < 1e-12


def _text(one: list[float]) -> str:
    return " + ".join(f"({Decimal(c):f})*x**{k}" for k, c in enumerate(one))


@pytest.mark.parametrize("name", _POLYNOMIALS)
def test_integrals_of_polynomials(name: str) -> None:
    """δ is enclosed narrowly, in both orders, wherever and however often p - t·q changes sign."""
    p, q, low, high = _POLYNOMIALS[name]
    texts = {"p": _text(p), "q": _text(q), "ratio": None}
    ends = Fraction(low), Fraction(high)
    pair = Pair(nodes_of(texts, {}), ends, Arithmetic(96, Work()), integers=False)
    with mpmath.workdps(50):
        for backward, own in ((False, (p, q)), (True, (q, p))):
            wanted = _of_polynomials(*own, low, high)
            for eps in (Fraction(0), Fraction(1, 16), Fraction(1, 2), Fraction(2)):
                found = pair.delta(pair.of.exactly(eps).exp(), backward=backward)
                true = wanted(mpmath.exp(mpf(eps.numerator) / eps.denominator))
                assert mpf(str(found.low)) <= true + mpf(10) ** -27
                assert mpf(str(found.high)) >= true - mpf(10) ** -27
                assert found.high - found.low < 1e-18
            # the largest ratio, by a grid that holds where it is attained
            masses = [
                sum(mpf(c) * (mpf(high) ** (k + 1) - mpf(low) ** (k + 1)) / (k + 1)
                    for k, c in enumerate(one)) for one in own
            ]  # fmt: skip
            grid = [low + (high - low) * mpf(k) / 512 for k in range(513)]
            values = [[mpmath.polyval(one[::-1], x) for one in own] for x in grid]
            top = pair.largest(backward=backward)
            if any(a > 0 and b == 0 for a, b in values):
                assert top is None
            elif any(not b for _, b in values):
                # nothing is seen of 0/0
                assert top is None or top.high >= 1.5
            else:
                ratio = max(a / b for a, b in values) * masses[1] / masses[0]
                assert top is not None
                assert mpf(str(top.high)) >= ratio * (1 - mpf(10) ** -27)
                assert mpf(str(top.low)) <= ratio * (1 + mpf(10) ** -5)


@pytest.mark.parametrize(
    "text",
    ["exp(-x**2)", "1/(2 + x)**3", "log(2 + x)", "sqrt(1 + x)", "erfc(x)", "Phi(2*x)", "log1p(x)",
     "expm1(x)*x", "(1 + x)**0.5", "2**x", "abs(x - 3)", "min(x, 5) + max(x, 5)", "x**5/pi",
     "(1 + x)**-2", "exp(x)/(1 + exp(x))"],
)  # fmt: skip
def test_series_are_those_of_mpmath(text: str) -> None:
    """Coefficients enclose the derivatives over factorials, at a point and on a range about it."""
    names = {"log1p": mpmath.log1p, "expm1": mpmath.expm1, "Phi": mpmath.ncdf, "abs": abs}
    names |= {"min": min, "max": max, "pi": mpmath.pi} | {
        one: getattr(mpmath, one) for one in ("exp", "log", "sqrt", "erfc")
    }
    taylor, node = Taylor(Arithmetic(128, Work()), 6), density_of("p", text, {})
    with mpmath.workdps(30):
        wanted = mpmath.taylor(lambda x: mpf(eval(text, {**names, "x": x})), mpf(1) / 4, 6)
        for around in ((Fraction(1, 4), Fraction(1, 4)), (Fraction(3, 16), Fraction(5, 16))):
            found = taylor.about(node, taylor.of.between(*around))
            found += [taylor.of.exactly(0)] * (7 - len(found))
            for one, other in zip(found, wanted, strict=True):
                assert mpf(str(one.low)) - mpf(10) ** -12 <= other
                assert other <= mpf(str(one.high)) + mpf(10) ** -12


def of_advantage(mechanism: dict[str, str | None], low: str, high: str) -> Document:
    """A document that claims an interval for δ(0), and nothing of the tail."""
    document: Document = json.loads(text_of("line"))
    everything = {"low": "0", "high": "inf"}
    answer = {"quantity": "advantage", "at": None, "low": low, "high": high}
    document["claim"] |= {"statement": "answers", "mu": everything, "answers": [answer]}
    document["claim"] |= {"verdict": "unknown", "mu_tail": everything}
    document["evidence"] |= {"cells": [], "witness": None, "points": [{}]}
    document["mechanism"] = mechanism
    return document


@pytest.mark.parametrize(
    ("text", "least", "largest"),
    [
        ("abs(x - 1/4)", Fraction(0), Fraction(3, 4)),
        ("abs(3/4 - x)", Fraction(0), Fraction(3, 4)),
        ("min(x, 3/4 - x)", Fraction(-1, 4), Fraction(3, 8)),
        ("max(x, 3/4 - x)", Fraction(3, 8), Fraction(1)),
    ],
)  # fmt: skip
def test_about_a_kink_values_and_slopes_are_known(
    text: str, least: Fraction, largest: Fraction
) -> None:
    """On [0, 1] they are enclosed, and no other derivative is."""
    taylor = Taylor(Arithmetic(64, Work()), 4)
    found = taylor.about(density_of("p", text, {}), taylor.of.between(Fraction(0), Fraction(1)))
    assert found[0].low <= least <= largest <= found[0].high
    assert found[0].low >= least - 1
    assert found[0].high <= largest + 1
    # both slopes, and nothing further
    assert found[1].low <= -1
    assert found[1].high >= 1
    assert not any(one.low > float("-inf") or one.high < float("inf") for one in found[2:])


@pytest.mark.parametrize(
    "given",
    [
        {"q": "3*x - 0.5"}, {"q": "x"}, {"q": "log(0 - 1)"}, {"q": "1/x"}, {"q": "eps"}, {"q": ""},
        {"q": "0.5 + x", "low": "1", "high": "0"}, {"low": None, "high": None}, {"low": "0.1"},
        {"high": "1e300"}, {"high": "-1"}, {"q": "1 + 0*sqrt(0 - 1)"}, {"q": "min(1, log(0 - 1))"},
        {"ratio": "1"}, {"p": None}, {"integers": "true"}, {"integers": "yes"}, {"set.a": None},
        {"q": "2*x + 0*abs(x - 1/3)", "p": "0"}, {"set.x": "1"}, {"set.σ": "1"},
        {"q": "2 - 2*abs(2*x - 1) - 0.01"},
        {"q": "0.75 - 1.25*x*(2 - x)", "high": "2", "p": "1/3", "integers": "true"},
        {"q": "abs(x - 1/3)*0 + 5/(5 + 0*x) + 1e-8"}, {"q": "1/sqrt(x)/2"}, {"q": "1e400"},
        {"q": "(" * 300 + "1" + ")" * 300}, {"q": "1 + sin(x)"}, {"neighbours": "others"},
    ],
)  # fmt: skip
def test_what_is_no_pair_of_densities(given: dict[str, str | None]) -> None:
    """Negative, undefined, or with another mass than 1: nothing is proved, and it ends."""
    own = json.loads(text_of("line"))["mechanism"]
    changed = {name: text for name, text in {**own, **given}.items() if text is not None}
    assert outcome(of_advantage(own, "0", "1")) == "valid"
    assert outcome(of_advantage(changed, "0", "1")) != "valid"


_PLAIN = {
    "with two ends": {"p": "1", "q": "0.5 + x", "low": "0", "high": "1", "integers": "false"},
    # which are 0 and 1
    "two numbers": {
        "p": "0.5", "q": "0.25 + x/2", "low": "-0.75", "high": "1.5", "integers": "true",
    },
    "without an end": {"p": "2*3**(x - 1)", "q": "2**(x - 1)", "high": "0", "integers": "true"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mass", "valid"),
    [
        ("with two ends", "1 + 5e-10", True), ("with two ends", "1 - 5e-10", True),
        ("with two ends", "1 + 2e-9", False), ("with two ends", "1 - 2e-9", False),
        ("two numbers", "1 + 5e-10", True), ("two numbers", "1 - 5e-10", True),
        ("two numbers", "1 + 2e-9", False), ("two numbers", "1 - 2e-9", False),
        ("without an end", "1", True), ("without an end", "1 + 5e-19", True),
        ("without an end", "1 + 2e-18", False),
    ],
)  # fmt: skip
def test_the_mass_of_a_density_is_1(name: str, mass: str, valid: bool) -> None:
    """Up to 10^-9; on a range without an end, where none is divided by it, at most 10^-18 more."""
    advantage = {"with two ends": 1 / 8, "two numbers": 1 / 4, "without an end": 1 / 6}[name]
    ends = [f"{advantage + off:.14f}" for off in (-1e-11, 1e-11)]
    for one in "pq":
        mechanism = {"kind": "densities", "neighbours": None, **_PLAIN[name]}
        mechanism[one] = f"({mass})*({_PLAIN[name][one]})"
        assert (outcome(of_advantage(mechanism, *ends)) == "valid") is valid


def test_an_endless_tail_counts_as_a_failure() -> None:
    """What lies beyond all cells is counted from above and not from below."""
    known = {"p": "1/(pi*(1 + x**2))", "q": "1/(pi*(1 + x**2))", "ratio": None}
    with pytest.raises((OutOfWork, Undecided, Refused, Malformed)):
        Pair(nodes_of(known, {}), (None, None), Arithmetic(96, Work(3e5)), integers=False)
    masses = {"p": "0.5**(x + 1)", "q": "0.6*0.4**x", "ratio": None}
    pair = Pair(nodes_of(masses, {}), (Fraction(0), None), Arithmetic(96, Work()), integers=True)
    assert all(0 < one.high < 1e-20 for one in pair.rest)
    document = json.loads(text_of("line"))
    del document["mechanism"]["q"]
    with pytest.raises(InputError, match=r"two of p, q and ratio"):
        gdp.verify(document)
