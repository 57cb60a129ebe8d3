"""Certificates of guarantees that add up: ρ, alone and beside other losses.

What is true is found by mpmath: of runs of ρ_i-zCDP and Gaussian mechanisms the smaller δ of
Σρ-zCDP and of √(Σμ²)-GDP, μ_i = 2Φ⁻¹((1 + t)/2) with 2t·artanh t = ρ_i.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import reading
from changes import beside, changes, documents_of, outcome, put
from test_zcdp_mutations import SLACK, advantage, delta

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers

P = gdp.profiles
Document = dict[str, Any]
mpf = mpmath.mpf

ZCDP = P.ZCDP(rho=0.3)
MIXED = P.Sequence(parts=(ZCDP, P.Gaussian(sigma=2), ZCDP.group(2), P.GDP(mu=0.5), ZCDP))
EXAMPLES: dict[str, tuple[gdp.Profile, dict[str, Any]]] = {
    "runs": (ZCDP.compose(3), {}),
    "head of runs": (ZCDP.compose(3), {"eps_h": 4}),
    "runs, approximate": (ZCDP.compose(3), {"failure": 0.01}),
    "with Gaussian noise": (MIXED, {}),
}


text_of, fresh = documents_of(EXAMPLES)


# --- what is true ------------------------------------------------------------------------------


def mu_of(rho: Any) -> Any:
    """The least μ for which ρ-zCDP implies μ-GDP."""
    return 2 * mpmath.sqrt(2) * mpmath.erfinv(advantage(rho))


def sums_of(spec: dict[str, str]) -> tuple[Any, Any]:
    """Σρ and Σμ² of a mechanism as it is named."""

    def within(prefix: str) -> dict[str, str]:
        return {n.removeprefix(prefix): spec[n] for n in spec if n.startswith(prefix)}

    kind = spec["kind"]
    if kind == "composed":
        return tuple(int(spec["times"]) * one for one in sums_of(within("base.")))  # type: ignore[return-value]
    if kind == "grouped":
        rho = int(spec["size"]) ** 2 * mpf(spec["base.rho"])
        return rho, mu_of(rho) ** 2
    if kind == "sequence":
        total = [mpf(0), mpf(0)]
        for number in {name.split(".")[1] for name in spec if name.startswith("parts.")}:
            part = within(f"parts.{number}.")
            for place, one in enumerate(sums_of(part)):
                total[place] += int(part.get("count", "1")) * one
        return total[0], total[1]
    if kind == "zcdp":
        return mpf(spec["rho"]), mu_of(mpf(spec["rho"])) ** 2
    mu = mpf(spec["mu"]) if kind == "gdp" else mpf(spec["sensitivity"]) / mpf(spec["sigma"])
    return mu**2 / 2, mu**2


def is_true(document: Document) -> bool:
    """Whether the claim is true, and what the lemmas say, up to errors far below their digits."""
    claim = document["claim"]
    with mpmath.workdps(40):
        for one in document["lemmas"]:
            if mpf(one["claim"]["mu"]["high"]) < mu_of(mpf(one["mechanism"]["rho"])) - SLACK:
                return False
        rho, square = sums_of(document["mechanism"])
        tail = [mpf(claim["mu_tail"][end]) for end in ("low", "high")]
        if claim["verdict"] != "gdp" or claim["profile_is"] not in ("bound", None):
            return False
        if not tail[0] - SLACK <= mpmath.sqrt(2 * rho) <= tail[1] + SLACK:
            return False
        p, top = mpf(claim["failure_probability"]), mpmath.erf(mpmath.sqrt(square / 8))
        if claim["statement"] == "whole" and p != 0:
            return False
        if claim["statement"] == "head" and p < 1:
            at, mu = mpf(claim["eps_h"]), mpmath.sqrt(square)
            x = at / mu
            gaussian = mpmath.ncdf(mu / 2 - x) - mpmath.exp(at) * mpmath.ncdf(-x - mu / 2)
            if min(gaussian, delta(mpmath.nstr(rho, 35), claim["eps_h"])) > p * (1 + SLACK):
                return False
        if claim["statement"] == "approximate":
            top = max((top - p) / (1 - p), mpf(0))
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(top)
        low, high = (mpf(claim["mu"][end]) for end in ("low", "high"))
        # a lemma's μ has some more digits than the claim
        return bool(low <= mu + mpf(10) ** -15 and mu <= high + SLACK)


# --- tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """Each is accepted, true by another way, and false when its interval is moved."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    for changed in beside(document, Fraction(1, 10**9)):
        assert not is_true(changed)
        assert outcome(changed) != "valid"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field, of a lemma too, never makes the checker crash, or accept what is false."""
    tried = random.Random(name).sample(list(changes(fresh(name))), 80)
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


def test_far_out_the_sum_of_rho_tells_more() -> None:
    """ε at a small δ is that of one mechanism with Σρ, and at most what the Gaussian curve says."""
    asked = [Asked("epsilon", Fraction(1, 10**5)), Asked("advantage")]
    found = write_answers(ZCDP.compose(3), asked).claim.answers or ()
    single = write_answers(P.ZCDP(rho=0.9), asked).claim.answers or ()
    assert found[0].high == single[0].high
    assert Fraction(found[1].high) < Fraction(single[1].low)
    assert Fraction(found[1].high) - Fraction(found[1].low) <= Fraction(1, 10**14)


def test_beside_other_losses_it_is_gaussian() -> None:
    """Of the μ that a lemma shows, no less; it is a bound, and says so."""
    document = gdp.measure(P.Sequence(parts=(ZCDP, P.Laplace(scale=1))), tol=1e-4).certificate
    assert document is not None
    plain = json.loads(document.to_json())
    assert outcome(plain) == "valid"
    assert plain["claim"]["profile_is"] == "bound"
    for path, other in (
        (("claim", "profile_is"), "class"), (("lemmas",), []), (("lemmas",), None),
        (("lemmas", 0, "claim", "mu", "high"), "0.98"),
        (("lemmas", 0, "claim", "mu", "high"), "1"),
        (("lemmas", 0, "claim", "statement"), "head"), (("lemmas", 0, "mechanism", "rho"), "0.29"),
        (("lemmas", 0, "mechanism", "neighbours"), "zero-out"),
        (("lemmas", 0, "evidence", "tangents"), []), (("mechanism", "parts.0.rho"), "0.31"),
        (("mechanism", "parts.0.mu"), "0.1"), (("mechanism", "parts.0.kind"), "gdp"),
    ):  # fmt: skip
        assert outcome(put(plain, path, other)) in ("refused", "no certificate"), path
    said = gdp.verify(plain).claims
    assert "zcdp, rho 0.3: " in said[0]
    assert "parts.0.rho 0.3" in said[-1]
    assert reading.most_read(json.dumps(plain).encode()).code <= reading.MOST_CODE


def test_what_does_not_add_up_is_told_before_any_work() -> None:
    """Too much ρ, and parts whose divergences nobody knows, by name."""
    for profile, why in (
        (P.ZCDP(rho=9000).compose(2), "for ρ of over 10000 together"),
        (P.Sequence(parts=(P.Renyi(orders=[2], epsilons=[0.1]), TUNED)), "tuned by orders"),
    ):
        assert why in gdp.measure(profile, eps_h=0.1).proof.why


TUNED = P.Gaussian(sigma=5).tune(2)


def test_what_stands_in_the_place_of_a_rho_is_a_bound() -> None:
    """A lemma may have any μ that covers its ρ: one that is too large is no guarantee's own."""
    lemma = json.loads(gdp.measure(ZCDP).certificate.to_json())  # type: ignore[union-attr]
    lemma["claim"]["mu"] = {"low": "0", "high": "5"}
    everything = {"low": "5", "high": "5"}
    document = {
        **lemma,
        "mechanism": {f"base.{name}": text for name, text in lemma["mechanism"].items()}
        | {"kind": "grouped", "neighbours": None, "size": "1"},
        "claim": lemma["claim"] | {"mu": everything, "mu_tail": everything},
        "evidence": {
            "breakpoints": [], "cells": [], "witness": "tail", "tail_from": None,
            "directions": [{"pieces": [], "cells": []}],
        },
        "lemmas": [{part: lemma[part] for part in ("mechanism", "claim", "evidence")}],
    }  # fmt: skip
    said = {}
    for nature in ("own", "class", "bound"):
        document["claim"]["profile_is"] = nature
        said[nature] = outcome(document)
    assert said == {"own": "refused", "class": "refused", "bound": "valid"}


def test_the_smaller_of_two_need_not_be_convex() -> None:
    """δ between places is known of a δ that is convex alone."""
    document = fresh("runs")
    answer = {"quantity": "beta", "at": "0.05", "low": "0", "high": "0.99"}
    places = [
        {"at": "0x0p+0", "low": "0.1", "high": "1"},
        {"at": "0x1p+3", "low": "0", "high": "1"},
    ]
    document["claim"]["answers"] = [answer]
    document["evidence"]["points"] = [{"places": places}]
    found = gdp.verify(document)
    assert not found.valid
    assert "need not be convex" in found.reason


def test_numbers_that_take_long_to_add_up_are_refused_at_once() -> None:
    """Numbers of many unlike digits, which a sum has all below the line, and of thousands."""
    document, answer = fresh("runs"), {"quantity": "delta", "at": "4", "low": "0", "high": "1"}
    document["claim"] |= {"statement": "answers", "mu": {"low": "0", "high": "inf"}}
    document["claim"] |= {"answers": [answer], "verdict": "unknown"}
    document["claim"] |= {"mu_tail": document["claim"]["mu"]}
    document["evidence"] |= {"cells": [], "witness": None, "tail_from": None, "points": [{}]}
    odd = random.Random(3)

    def digits(count: int) -> str:
        return "".join(odd.choices("123456789", k=count)) + "3"

    def found(count: int, kind: str, name: str, before: str, **others: str) -> str:
        parts = {}
        for n in range(200):
            one = {"kind": kind, name: before + digits(count), **others}
            parts |= {f"parts.{n}.{key}": text for key, text in one.items()}
        named = {"kind": "sequence", "neighbours": None, **parts}
        return outcome(document | {"mechanism": named})

    of_noise = [found(n, "gaussian", "sigma", "", sensitivity="1") for n in (5, 390)]
    assert of_noise == ["valid", "undecided"]
    document["table"] = {"columns": ["alpha", "epsilon"], "rows": [["2", "90"]]}
    of_rows = [found(n, "renyi", "rows", "8:1/") for n in (2, 390, 5000)]
    assert of_rows == ["valid", "undecided", "no certificate"]
