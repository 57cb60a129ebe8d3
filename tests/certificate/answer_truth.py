"""What is true of answers besides μ, and of compositions, independently of the library."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
from truth import (
    DIGITS,
    Document,
    best,
    gaussian_curve,
    is_true,
    number,
    profile_of,
    tail_parameter,
)

SLACK = mpmath.mpf(10) ** -22
# beyond it no example has a δ that matters
FAR = 30
# of a peak with a kink, whose height is as far off as its place
NARROW = 1e-27


@cache
def delta_of(spec: str) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """δ(ε) of a mechanism, as JSON."""
    return profile_of(json.loads(spec))


def largest(function: Callable[[mpmath.mpf], mpmath.mpf], end: Any) -> mpmath.mpf:
    """The largest value of a function with one peak on [0, end], or at an end."""
    with mpmath.workdps(18):
        grid = [mpmath.mpf(end) * i / 120 for i in range(121)]
        values = [function(e) for e in grid]
    top = max(range(121), key=values.__getitem__)
    peak = best(function, grid[max(top - 1, 0)], grid[min(top + 1, 120)], NARROW)
    return max(function(peak), function(grid[top]))


@cache
def tradeoff(spec: str, alpha: str) -> mpmath.mpf:
    """f(α), the largest of the lines that δ and its mirror image give."""
    delta, a = delta_of(spec), number(alpha)
    # where 1 - δ - e^ε·α is below 0 nothing is of interest
    end = min(mpmath.mpf(FAR), mpmath.log(1 / a) if a else mpmath.mpf(FAR))
    first = largest(lambda e: 1 - delta(e) - mpmath.exp(e) * a, end)
    second = largest(lambda e: (1 - delta(e) - a) * mpmath.exp(-e), mpmath.mpf(FAR))
    return max(first, second, mpmath.mpf(0))


@cache
def regret(spec: str, mu: str, failure: str) -> mpmath.mpf:
    """The largest (S - δ)/(1 + e^ε)."""
    delta, m, p = delta_of(spec), number(mu), number(failure)

    def excess(e: mpmath.mpf) -> mpmath.mpf:
        return (p + (1 - p) * gaussian_curve(e, m) - delta(e)) / (1 + mpmath.exp(e))

    pieces = [excess(mpmath.mpf(i) / 40) for i in range(400)]
    top = max(range(400), key=pieces.__getitem__)
    low, high = (mpmath.mpf(max(i, 0)) / 40 for i in (top - 1, top + 1))
    return max(excess(best(excess, low, high, NARROW)), pieces[top], mpmath.mpf(0))


def answers_are_true(document: Document) -> bool:
    """Whether all that a document claims is true, up to errors far below its digits."""
    claim, spec = document["claim"], json.dumps(document["mechanism"], sort_keys=True)
    with mpmath.workdps(DIGITS):
        if claim["statement"] == "answers":
            # it is said to be of no μ at all
            plain = claim["mu"] == {"low": "0", "high": "inf"} and claim["eps_h"] is None
            if not plain or number(claim["failure_probability"]) != 0:
                return False
            if not _tail_is_true(document):
                return False
        elif claim["mu"] == {"low": "0", "high": "inf"}:
            if not _tail_is_true(document):
                return False
        elif not is_true(document):
            return False
        return all(_is_true(spec, claim, one) for one in claim["answers"] or ())


def _tail_is_true(document: Document) -> bool:
    claim = document["claim"]
    ends = [number(claim["mu_tail"][end]) for end in ("low", "high")]
    if claim["verdict"] == "unknown":
        return bool(ends == [0, mpmath.inf])
    tail = tail_parameter(document["mechanism"])
    verdict = "not-gdp" if tail == mpmath.inf else "gdp"
    return bool(claim["verdict"] == verdict and ends[0] - SLACK <= tail <= ends[1] + SLACK)


def _is_true(spec: str, claim: dict[str, Any], one: dict[str, Any]) -> bool:
    delta, quantity = delta_of(spec), one["quantity"]
    low, high = number(one["low"]), number(one["high"])
    if quantity == "epsilon":
        at = number(one["at"])
        return bool(
            (high == mpmath.inf or delta(high) <= at + SLACK)
            and (low == 0 or delta(low if low < mpmath.inf else mpmath.mpf(400)) > at - SLACK)
        )
    if quantity == "regret":
        value = regret(spec, claim["mu"]["high"], claim["failure_probability"])
    elif quantity in ("delta", "advantage"):
        value = delta(number(one["at"] or "0"))
    else:
        value = tradeoff(spec, one["at"])
        value = 1 - value if quantity == "tpr" else value
    return bool(low - SLACK <= value <= high + SLACK)


def composition_is_true(document: Document, folder: Path) -> bool:
    """Whether a composition's parts are the files that it names, true, and add up to its claim."""
    claim = document["claim"]
    square, risks, kept = Fraction(0), Fraction(0), Fraction(1)
    relations = set()
    for one in document["releases"]:
        content = (folder / one["file"]).read_bytes()
        part = json.loads(content)
        if hashlib.sha256(content).hexdigest() != one["sha256"] or not is_true(part):
            return False
        count = one.get("count", 1)
        failure = Fraction(part["claim"]["failure_probability"])
        square += count * Fraction(part["claim"]["mu"]["high"]) ** 2
        risks += count * failure
        kept *= (1 - failure) ** min(count, 10**4)
        named = part["mechanism"].items()
        relations |= {text for name, text in named if name.endswith("neighbours") and text}
    p, mu = Fraction(claim["failure_probability"]), claim["mu"]
    whole = claim["statement"] == "whole"
    verdict = ("gdp", mu["high"]) if whole else ("unknown", "inf")
    return (
        len(relations | ({document["mechanism"]["neighbours"]} - {None})) <= 1
        and Fraction(mu["high"]) ** 2 >= square
        and Fraction(mu["low"]) == 0
        and p >= min(risks, 1 - kept) - Fraction(1, 10**40)
        and not (whole and p)
        and (claim["verdict"], claim["mu_tail"]) == (verdict[0], {"low": "0", "high": verdict[1]})
        and claim["profile_is"] == "bound"
        and not claim.get("answers")
    )
