"""No change to the certificate of ρ-zCDP that makes its claim false is accepted.

What is true is found by mpmath: t from 2t·artanh(t) = ρ for the supremum at ε = 0, and for δ far
out the conditions of a maximum of p - e^ε q in p, q and the order that binds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import changes, decimal, numbers_near, outcome, put, structural
from flint import arb

import gdpbridge
from gdpbridge import profiles
from gdpbridge.certificate.binaries import binary_text
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge_verify import check
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.document import Certificate
from gdpbridge_verify.evidence import Tangent
from gdpbridge_verify.zcdp import ZcdpCheck

Document = dict[str, Any]

DIGITS = 40
SLACK = mpmath.mpf(10) ** -30

EXAMPLES: dict[str, tuple[float, dict[str, float]]] = {
    "whole": (0.5, {}),
    "whole, small": (0.01, {}),
    "head": (0.5, {"eps_h": 3}),
    "head by divergence": (2.0, {"eps_h": 1}),
    "head of randomized response": (0.5, {"eps_h": 0.1}),
    "approximate": (0.5, {"failure": 0.01}),
}


@cache
def certificate_of(name: str) -> Certificate:
    """An example's certificate."""
    rho, how = EXAMPLES[name]
    document = gdpbridge.measure(profiles.ZCDP(rho=rho), **how).certificate
    assert document is not None
    return document


def fresh(name: str) -> Document:
    """A certificate as plain data, to change."""
    parsed: Document = json.loads(certificate_of(name).to_json())
    return parsed


def test_the_work_of_all_cells_adds_up() -> None:
    """A head far out took more than is allowed; what is too much for all digits has fewer."""
    profile = profiles.ZCDP(rho=0.0062)
    found = gdpbridge.measure(profile, tol="1e-30", eps_h=9)
    document = found.certificate
    assert document is not None
    assert gdpbridge.verify(document).valid
    work = check.Work()
    check._lines(document, work)
    assert work.spent < check.MAX_WORK / 5
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(check, "MAX_WORK", work.spent * 0.9)
        fewer = gdpbridge.measure(profile, tol="1e-30", eps_h=9).certificate
        assert fewer is not None
        assert gdpbridge.verify(fewer).valid
    mu = fewer.claim.mu
    assert len(mu.high) < len(document.claim.mu.high)
    assert Fraction(mu.low) <= Fraction(str(found.mu.low))
    assert Fraction(mu.high) >= Fraction(str(found.mu.high))


# --- what is true ------------------------------------------------------------------------------


def advantage(rho: Any) -> Any:
    """t with 2t·artanh(t) = ρ."""
    low, high = mpmath.mpf(0), 1 - mpmath.mpf(10) ** -(DIGITS - 5)
    return mpmath.findroot(
        lambda t: 2 * t * mpmath.atanh(t) - rho,
        (low + SLACK, high),
        solver="anderson",
        maxsteps=500,
    )


@cache
def delta(rho_text: str, eps_text: str) -> Any:
    """δ(ε): from the place that the library gives, Newton's method on what makes a maximum."""
    rho, eps = mpmath.mpf(rho_text), mpmath.mpf(eps_text)
    t = advantage(rho)
    eps0 = 2 * mpmath.atanh(t)
    if eps <= mpmath.log(mpmath.sinh(eps0) / eps0):
        return (1 + t) / 2 - mpmath.exp(eps) * (1 - t) / 2
    event = zcdp_boundary(Fraction(rho_text)).event(arb(float(eps)))
    guess = [float(event.log_p()), float(event.log_q()), float(event.tilt)]

    def renyi(x: Any, y: Any, u: Any) -> Any:
        p, q = mpmath.exp(x), mpmath.exp(y)
        if u == 0:
            return p * (x - y) + (1 - p) * mpmath.log((1 - p) / (1 - q))
        inside, outside = (u + 1) * x - u * y, (u + 1) * mpmath.log(1 - p) - u * mpmath.log(1 - q)
        return mpmath.log(mpmath.exp(inside) + mpmath.exp(outside)) / u

    def excess(x: Any, y: Any, u: Any) -> Any:
        return renyi(x, y, u) - rho * (u + 1)

    def tangent(x: Any, y: Any, u: Any) -> Any:
        # the gradient in (p, q) is a multiple of (1, -e^ε)
        by_p = mpmath.diff(lambda v: excess(v, y, u), x)
        by_q = mpmath.diff(lambda v: excess(x, v, u), y)
        return by_q + mpmath.exp(eps + y - x) * by_p

    if guess[2] == 0:
        x, y = mpmath.findroot(lambda x, y: [excess(x, y, 0), tangent(x, y, 0)], guess[:2])
    else:
        x, y, _ = mpmath.findroot(
            lambda x, y, u: [
                excess(x, y, u),
                tangent(x, y, u),
                mpmath.diff(lambda v: excess(x, y, v), u),
            ],
            guess,
        )
    # possible under every order, so that δ is no less
    for step in range(-12, 13):
        order = mpmath.mpf(2) ** step
        assert excess(x, y, order) <= SLACK
    return mpmath.exp(x) - mpmath.exp(eps + y)


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    claim, text = document["claim"], document["mechanism"]["rho"]
    with mpmath.workdps(DIGITS):
        rho = mpmath.mpf(text)
        tail = [mpmath.mpf(claim["mu_tail"][end]) for end in ("low", "high")]
        if claim["verdict"] != "gdp" or not tail[0] <= mpmath.sqrt(2 * rho) + SLACK:
            return False
        if not mpmath.sqrt(2 * rho) - SLACK <= tail[1]:
            return False
        p, top = mpmath.mpf(claim["failure_probability"]), advantage(rho)
        if claim["statement"] == "whole" and p != 0:
            return False
        if claim["statement"] == "head" and p < 1:
            at = delta(text, claim["eps_h"])
            if at > p * (1 + SLACK):
                return False
        if claim["statement"] == "approximate":
            top = max((top - p) / (1 - p), mpmath.mpf(0))
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(top)
        low, high = (mpmath.mpf(claim["mu"][end]) for end in ("low", "high"))
        return bool(low <= mu + SLACK and mu <= high + SLACK)


# --- tests -------------------------------------------------------------------------------------


def every_change(name: str) -> Iterator[tuple[str, Document]]:
    """All of them; a run over every one is made by hand now and then."""
    document = fresh(name)
    yield from changes(document)
    for number, tangent in enumerate(document["evidence"]["tangents"]):
        for field, text in tangent.items():
            for other in numbers_near(text):
                path = ("evidence", "tangents", number, field)
                yield f"{field} of {number} := {other:.30}", put(document, path, other)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """mpmath agrees with every certificate as it was written, and it is small."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    assert len(certificate_of(name).to_json()) < 100_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_oracle_tells_what_is_false(name: str) -> None:
    """An interval short of the truth on either side, a smaller δ and another tail are false."""
    document = fresh(name)
    claim = document["claim"]
    low, high = (Fraction(claim["mu"][end]) for end in ("low", "high"))
    for wrong in ((Fraction(0), low - Fraction(1, 10**9)), (high + Fraction(1, 10**9), high + 1)):
        ends = {"low": decimal(wrong[0]), "high": decimal(wrong[1])}
        assert not is_true(put(document, ("claim", "mu"), ends))
    assert not is_true(put(document, ("claim", "mu_tail"), {"low": "5", "high": "6"}))
    if claim["statement"] == "head":
        less = decimal(Fraction(claim["failure_probability"]) * (1 - Fraction(1, 10**18)))
        assert not is_true(put(document, ("claim", "failure_probability"), less))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    tried = list(every_change(name))[5::80]
    assert len(tried) > 12
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_changed_cover_is_refused(name: str) -> None:
    """Cells and tangents removed, swapped, reversed, or with a gap of one ulp."""
    document = fresh(name)
    cells, tangents = (document["evidence"][key] for key in ("cells", "tangents"))
    for what, changed in list(structural(document))[::6]:
        last = what == f"remove {len(cells) - 1}"
        result = outcome(changed)
        assert result in ("refused", "no certificate") or (last and is_true(changed)), what
    for number in range(len(tangents)):
        fewer = [*tangents[:number], *tangents[number + 1 :]]
        changed = put(document, ("evidence", "tangents"), fewer)
        assert outcome(changed) != "valid" or is_true(changed)
    for other in ([], None, tangents[::-1], [*tangents, tangents[-1]]):
        changed = put(document, ("evidence", "tangents"), other)
        assert outcome(changed) != "valid" or other == tangents


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_moved_claim_is_refused(name: str) -> None:
    """μ.high below the truth, μ.low above it, a smaller ρ's claim, and a head's δ too small."""
    document = fresh(name)
    for places in (10, 6, 2):
        step = Fraction(1, 10**places)
        for end, other, sign in (("high", "low", -1), ("low", "high", 1)):
            moved = Fraction(document["claim"]["mu"][other]) + sign * step
            changed = put(document, ("claim", "mu", end), decimal(moved))
            assert outcome(changed) != "valid"
        rho = Fraction(document["mechanism"]["rho"]) * (1 + step)
        changed = put(document, ("mechanism", "rho"), decimal(rho))
        assert outcome(changed) != "valid"
        if document["claim"]["statement"] == "head":
            less = Fraction(document["claim"]["failure_probability"]) * (1 - step / 10**8)
            changed = put(document, ("claim", "failure_probability"), decimal(less))
            assert outcome(changed) == "refused"


def test_tangents_are_of_this_kind_alone() -> None:
    """Another kind's certificate with tangents is none, as is this one with breakpoints."""
    tangents = fresh("whole")["evidence"]["tangents"]
    laplace = gdpbridge.measure(profiles.Laplace(scale=1)).certificate
    assert laplace is not None
    other = put(json.loads(laplace.to_json()), ("evidence", "tangents"), tangents)
    assert outcome(other) == "no certificate"
    pair = [{"low": "0x1p+0", "high": "0x3p-1"}]
    changed = put(fresh("whole"), ("evidence", "breakpoints"), pair)
    assert outcome(changed) == "no certificate"


@pytest.mark.parametrize("order", ["1", "1.0625", "1.5", "3", "20"])
@pytest.mark.parametrize("log_q", [-1, -5, -20])
def test_no_event_lies_beyond_a_tangent(order: str, log_q: int) -> None:
    """p - T·q ≤ D for the largest p that one order allows, with equality where it touches there."""
    alpha, q, rho = mpmath.mpf(order), mpmath.exp(mpmath.mpf(log_q)), mpmath.mpf("0.5")

    def divergence(p: Any) -> Any:
        if alpha == 1:
            return p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q))
        total = p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)
        return mpmath.log(total) / (alpha - 1)

    low, high = q, mpmath.mpf(1)
    for _ in range(50):
        p = (low + high) / 2
        low, high = (p, high) if divergence(p) <= rho * alpha else (low, p)
    touching = float(mpmath.log(low / q)), float(mpmath.log((1 - q) / (1 - low)))
    check = ZcdpCheck(certificate_of("whole"), Arithmetic(200))
    shifts = [(1.0, 1.0), (1.2, 1.0), (0.8, 1.0), (1.0, 1.5), (1.0, 0.5), (1.1, 0.0)]
    for shift in shifts:
        ratios = [binary_text(Fraction(one * by)) for one, by in zip(touching, shift, strict=True)]
        tangent = Tangent(
            at="0x1p+0", order=binary_text(Fraction(order)), inside=ratios[0], outside=ratios[1]
        )
        slope, top = check._tangent("", tangent)
        room = float(top.high) + float(slope.high) * float(q) - float(low)
        assert room >= -1e-14
        # where any p is allowed nothing touches
        assert shift != (1, 1) or room <= 1e-14 or low > 0.999
