"""Sums of Laplace losses in the checker, and certificates that rest on them.

Of one and of two runs δ is known: with r = sensitivity/scale, 1 - e^{(ε-r)/2} up to r, and
1 - e^{(ε-2r)/2}(1 + (2r - ε)/4) up to 2r.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import changes, decimal, outcome, put

import gdpbridge
from gdpbridge import profiles
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.check import MAX_WORK
from gdpbridge_verify.finite import two_valued
from gdpbridge_verify.refusal import OutOfWork
from gdpbridge_verify.splines import Spline

Document = dict[str, Any]

SLACK = mpmath.mpf(10) ** -20


def delta(eps: Any, r: Any, times: int) -> Any:
    """δ(ε) of one or two runs."""
    if eps >= times * r:
        return mpmath.mpf(0)
    one = mpmath.exp((eps - times * r) / 2)
    return 1 - one if times == 1 else 1 - one * (1 + (2 * r - eps) / 4)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(3, 2), Fraction(1, 1000), Fraction(40)])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_sums_are_enclosed(times: int, epsilon: Fraction, apart: bool) -> None:
    """At 0, at a knot, and next to the end; whether runs are named as one part or as several."""
    of = Arithmetic(200)
    laplace = [(epsilon, 1)] * times if apart else [(epsilon, times)]
    spline = Spline(laplace, [], of)
    with mpmath.workdps(80):
        for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2), 1 - Fraction(1, 10**9)):
            at = Fraction(math.floor(times * epsilon * share * 2**60), 2**60)
            found = spline.enclose(at)
            e, r = (mpmath.mpf(one.numerator) / one.denominator for one in (at, epsilon))
            right = delta(e, r, times)
            ends = [mpmath.mpf(str(end)) for end in (found.low, found.high)]
            assert ends[0] - SLACK * right <= right <= ends[1] + SLACK * right
            assert float(found.high - found.low) <= 1e-35 * float(right)
        assert float(spline.enclose(times * epsilon).high) < 1e-29


def test_discrete_losses_and_laplace_noise() -> None:
    """Of two (ε, 0)-DP answers and Laplace noise: a mean of δ at the four ε less theirs."""
    of, epsilon, two = Arithmetic(120), Fraction(3, 2), Fraction(2, 3)
    spline = Spline([(epsilon, 2)], [(two_valued(two), 2)], of)
    with mpmath.workdps(40):
        r, step = mpmath.mpf(3) / 2, mpmath.mpf(2) / 3
        up = 1 / (1 + mpmath.exp(-step))
        for at in (Fraction(0), Fraction(1), Fraction(17, 4)):
            eps = mpmath.mpf(at.numerator) / at.denominator
            right = mpmath.mpf(0)
            for number in range(3):
                ways = mpmath.binomial(2, number) * up**number * (1 - up) ** (2 - number)
                past = eps - (2 * number - 2) * step
                # δ(-ε) = 1 - e^{-ε}(1 - δ(ε))
                other = 1 - mpmath.exp(past) * (1 - delta(-past, r, 2))
                right += ways * (delta(past, r, 2) if past >= 0 else other)
            found = spline.enclose(at)
            assert (
                mpmath.mpf(str(found.low)) - SLACK <= right <= mpmath.mpf(str(found.high)) + SLACK
            )
            assert float(found.high - found.low) < 1e-25


def test_what_would_be_too_much_work_is_refused() -> None:
    for laplace in ([(Fraction(1), 401)], [(Fraction(1, n), 6) for n in (2, 3, 5, 7, 11)]):
        with pytest.raises(OutOfWork):
            Spline(laplace, [], Arithmetic(100, Work(MAX_WORK)))


EXAMPLES: dict[str, dict[str, Any]] = {"whole": {}, "head": {"eps_h": 1}, "past": {"failure": 0.05}}


@cache
def text_of(name: str) -> str:
    """The JSON text of an example's certificate."""
    profile = profiles.Laplace(scale=2, sensitivity=3).compose(2)
    document = gdpbridge.measure(profile, tol=1e-4, **EXAMPLES[name]).certificate
    assert document is not None
    return document.to_json()


def gaussian(eps: Any, mu: Any) -> Any:
    """δ_μ(ε)."""
    return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


def is_true(document: Document) -> bool:
    """Whether the claim is true, as far as a fine grid of ε tells."""
    claim, spec = document["claim"], document["mechanism"]
    if spec["kind"] != "composed" or Fraction(spec["times"]) not in (1, 2):
        return False
    with mpmath.workdps(30):
        r = mpmath.mpf(spec["base.sensitivity"]) / mpmath.mpf(spec["base.scale"])
        times, p = int(Fraction(spec["times"])), mpmath.mpf(claim["failure_probability"])
        tail = [mpmath.mpf(claim["mu_tail"][end]) for end in ("low", "high")]
        if claim["verdict"] != "gdp" or not tail[0] <= 0 <= tail[1]:
            return False
        end = times * r
        if claim["statement"] == "head":
            end = min(end, mpmath.mpf(claim["eps_h"]))
            if delta(mpmath.mpf(claim["eps_h"]), r, times) > p:
                return False
        if claim["statement"] != "approximate":
            p = mpmath.mpf(0)
        low, high = (mpmath.mpf(claim["mu"][end]) for end in ("low", "high"))
        places = [end * k / 300 for k in range(301)]
        past = [((delta(at, r, times) - p) / (1 - p), at) for at in places]
        shown = [(value, at) for value, at in past if value > 0]
        return all(value <= gaussian(at, high) for value, at in shown) and (
            low == 0 or any(value >= gaussian(at, low - mpmath.mpf("2e-5")) for value, at in shown)
        )


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_false_claim_is_accepted(name: str) -> None:
    """Valid as written; one changed field never makes the checker accept what is false."""
    document: Document = json.loads(text_of(name))
    assert outcome(document) == "valid"
    assert is_true(document)
    mu = document["claim"]["mu"]
    for end, other, sign in (("high", "low", -1), ("low", "high", 1)):
        moved = decimal(Fraction(mu[other]) + sign * Fraction(1, 1000))
        assert outcome(put(document, ("claim", "mu", end), moved)) != "valid"
    tried = list(changes(document))[len(name) % 5 :: 240]
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong
    # no law, and no second direction
    piece = [{"start": "0x0p+0", "tilt": "0x0p+0"}]
    assert outcome(put(document, ("evidence", "directions", 0, "pieces"), piece)) != ("valid")
    directions = document["evidence"]["directions"]
    for other in ([], None, [*directions, *directions]):
        assert outcome(put(document, ("evidence", "directions"), other)) != "valid"
