"""Laplace's loss on a lattice: laws above and below it, and certificates of sums that rest on them.

Of one and of two runs δ is known: with r = sensitivity/scale, 1 - e^{(ε-r)/2} up to r, and
1 - e^{(ε-2r)/2}(1 + (2r - ε)/4) up to 2r.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import changes, decimal, outcome, put

import gdpbridge
from gdpbridge import profiles
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.finite import cut_laplace
from gdpbridge_verify.law import Law

Document = dict[str, Any]

SLACK = mpmath.mpf(10) ** -20


def delta(eps: Any, r: Any, times: int) -> Any:
    """δ(ε) of one or two runs."""
    if eps >= times * r:
        return mpmath.mpf(0)
    one = mpmath.exp((eps - times * r) / 2)
    return 1 - one if times == 1 else 1 - one * (1 + (2 * r - eps) / 4)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("unit", [Fraction(1, 8), Fraction(1, 9), Fraction(2, 7), Fraction(3)])
@pytest.mark.parametrize("tilt", [Fraction(0), Fraction(2)])
def test_laws_lie_on_either_side(times: int, unit: Fraction, tilt: Fraction) -> None:
    """Whether or not its ends are multiples of the unit, and near where the unit is small."""
    epsilon, of = Fraction(3, 2), Arithmetic(100)
    laws = [Law([(cut_laplace(epsilon, unit, above=up), times)], tilt, of) for up in (False, True)]
    with mpmath.workdps(40):
        for eps in (Fraction(0), Fraction(1, 8), Fraction(1), Fraction(4, 3), Fraction(29, 10)):
            at, r = (mpmath.mpf(one.numerator) / one.denominator for one in (eps, epsilon))
            below, above = (law.enclose(of.exactly(eps)) for law in laws)
            right = delta(at, r, times)
            assert mpmath.mpf(str(below.low)) <= right + SLACK
            assert mpmath.mpf(str(above.high)) >= right - SLACK
            assert mpmath.mpf(str(above.low)) >= right - SLACK
            # where the ends are multiples, both are off by the square of the unit
            if unit == Fraction(1, 8) and right > 0:
                assert float(above.high) - float(below.low) <= 0.02 * times


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
    pieces = ("evidence", "directions", 0, "pieces", 0, "unit")
    # a law on a coarse lattice proves little, and there is none without a unit
    for unit in (None, "0", "1/0", "3", f"1/{10**30}"):
        assert outcome(put(document, pieces, unit)) != "valid"


@pytest.mark.parametrize(
    "profile",
    [
        profiles.Gaussian(sigma=1).compose(2),
        profiles.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=1),
    ],
    ids=["gaussian", "dpsgd"],
)
def test_other_losses_are_not_put_on_a_lattice(profile: Any) -> None:
    """A unit is for Laplace's and discrete losses; beside all others it is refused."""
    direction = {"pieces": [{"start": "0x0p+0", "tilt": "0x0p+0", "unit": "1/8"}], "cells": []}
    document = {
        "schema": {"name": "gdpbridge.certificate", "version": 1},
        "generator": "a test",
        "mechanism": profile.specification(),
        "claim": {
            "verdict": "unknown",
            "statement": "approximate",
            "mu": {"low": "0", "high": "1"},
            "eps_h": None,
            "failure_probability": "0.5",
            "mu_tail": {"low": "0", "high": "inf"},
        },
        "evidence": {
            "breakpoints": [],
            "cells": [],
            "witness": None,
            "tail_from": None,
            "directions": [direction] * 2,
        },
    }
    with pytest.raises(gdpbridge.InputError, match="null but for"):
        gdpbridge.verify(document)
