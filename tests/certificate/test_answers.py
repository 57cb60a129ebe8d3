"""Certificates of other answers than μ, and claims that are certified."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import ASKED, accepted

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import write_answers
from gdpbridge.errors import InputError

P = gdp.profiles
Document = dict[str, Any]
EXAMPLES: dict[str, gdp.Profile] = {
    "laplace": P.Laplace(scale=0.5),
    "gaussian": P.Gaussian(sigma=1),
    "pure-dp": P.PureDP(epsilon=1.5),
    "approx-dp": P.ApproxDP(epsilon=1, delta=1e-6),
    "icea": P.ICEA(messages=50, users=10),
    "sgd-family": P.SGDFamily(A=1.0, B=2.0, sigma=1.0),
    "table": P.Table(eps=[0.5, 1, 2], delta=[0.2, 0.1, 0.01]),
    "tradeoff-function": P.TradeoffFunction(alpha=[0.1, 0.5], beta=[0.8, 0.3]),
    "zcdp": P.ZCDP(rho=0.5),
    "formula": P.Formula("delta = exp(-eps**2)"),
    "renyi": P.Renyi(orders=[2], epsilons=[0.2]),
    "discrete-laplace": P.DiscreteLaplace(scale=2),
    "pure-dp, runs": P.PureDP(epsilon=0.2).compose(5),
    "dpsgd": P.DPSGD(noise_multiplier=2, sample_rate=0.5, steps=50),
}
# what a line takes longer of is asked for less
FEW = {"dpsgd": 1, "zcdp": 2, "formula": 4, "renyi": 4}


@cache
def text_of(name: str) -> str:
    """The JSON text of an example's certificate."""
    return write_answers(EXAMPLES[name], ASKED[: FEW.get(name)]).to_json()


@pytest.mark.parametrize("name", EXAMPLES)
def test_answers_are_proved_and_agree(name: str) -> None:
    """Every answer is accepted, and holds what the library says."""
    document = json.loads(text_of(name))
    assert accepted(document)
    profile = EXAMPLES[name]
    for one in document["claim"]["answers"]:
        low, high, at = (float(one[key] or 0) for key in ("low", "high", "at"))
        if one["quantity"] in ("delta", "advantage"):
            bounds = profile.delta_bounds(at)
        elif one["quantity"] == "epsilon":
            bounds = profile.epsilon_bounds(at)
        else:
            bounds = profile.tradeoff_bounds(at)
            low, high = (1 - high, 1 - low) if one["quantity"] == "tpr" else (low, high)
            assert low == pytest.approx(float(bounds[0]), rel=1e-6, abs=1e-9)
        assert low <= float(bounds[1])
        assert float(bounds[0]) <= high


def _laplace(eps: mpmath.mpf) -> mpmath.mpf:
    return max(-mpmath.expm1((eps - 2) / 2), mpmath.mpf(0))


def _gaussian(eps: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(0.5 - eps) - mpmath.exp(eps) * mpmath.ncdf(-0.5 - eps)


@cache
def _renyi(eps: mpmath.mpf) -> mpmath.mpf:
    """The largest p - e^ε·q with (p - q)² at most e^0.2 - 1 times q(1 - q), and times p(1 - p)."""
    with mpmath.workdps(30):
        c, share = mpmath.expm1(mpmath.mpf(1) / 5), (mpmath.sqrt(5) - 1) / 2

        def gain(q: mpmath.mpf) -> mpmath.mpf:
            one = q + mpmath.sqrt(c * q * (1 - q))
            other = (2 * q + c + mpmath.sqrt((2 * q + c) ** 2 - 4 * (1 + c) * q**2)) / (2 + 2 * c)
            return min(one, other) - mpmath.exp(eps) * q

        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(100):
            a, b = high - share * (high - low), low + share * (high - low)
            low, high = (a, high) if gain(a) < gain(b) else (low, b)
        return max(gain((low + high) / 2), mpmath.mpf(0))


TRUE = {"laplace": _laplace, "gaussian": _gaussian, "renyi": _renyi}


@cache
def _f(name: str, alpha: float) -> float:
    """f(α) by a scan of its lines, which may miss a little."""
    places = [number / 20 for number in range(100)]
    deltas = [float(TRUE[name](mpmath.mpf(e))) for e in places]
    return max(
        max(1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha))
        for e, d in zip(places, deltas, strict=True)
    )


def _is_true(one: Document, name: str) -> bool:
    """Decide an answer by arithmetic of its own."""
    delta = TRUE[name]
    low, high, at = (mpmath.mpf(one[key] or 0) for key in ("low", "high", "at"))
    if one["quantity"] in ("delta", "advantage"):
        return bool(low <= delta(at) <= high)
    if one["quantity"] == "epsilon":
        return (high == mpmath.inf or delta(high) <= at) and (low == 0 or delta(low) > at)
    missed = 1 - high if one["quantity"] == "tpr" else low
    return _f(name, float(at)) + 1e-3 >= missed


NUMBERS = ("0", "1e-9", "0.01", "0.3", "0.9", "1", "1.9", "inf")


def _changed(document: Document) -> Iterator[Document]:
    """Change each number of each answer, and what it is of; the answer alone, with its proof."""
    for answer, point in zip(
        document["claim"]["answers"], document["evidence"]["points"], strict=True
    ):
        changes = [{"quantity": one} for one in ("delta", "epsilon", "advantage", "tpr", "beta")]
        for key in ("low", "high", "at"):
            changes += [{key: value} for value in NUMBERS]
            if answer[key] not in (None, "inf"):
                near = (float(answer[key]) * (1 + off) for off in (-1e-9, 1e-9, -0.01, 0.01))
                changes += [{key: f"{value:.17g}"} for value in near]
        for change in changes:
            claim = {**document["claim"], "answers": [{**answer, **change}]}
            evidence = {**document["evidence"], "points": [point]}
            yield {**document, "claim": claim, "evidence": evidence}


@pytest.mark.parametrize("name", TRUE)
def test_nothing_false_is_accepted(name: str) -> None:
    """Whatever is changed, what is accepted is true by arithmetic of its own."""
    tried = list(_changed(json.loads(text_of(name))))
    kept = [document for document in tried if accepted(document)]
    with mpmath.workdps(40):
        wrong = [one for one in kept if not _is_true(one["claim"]["answers"][0], name)]
    assert not wrong
    assert len(tried) > 150
    assert len(kept) > 20


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_a_little_too_good_is_refused(name: str) -> None:
    """Each end is close to what it bounds: beyond it, or without its proof, nothing is accepted."""
    document = json.loads(text_of(name))
    for number, one in enumerate(document["claim"]["answers"]):
        changes = [(one["low"], "low", 1.01), (one["high"], "high", 0.99)]
        if one["quantity"] in ("beta", "tpr"):
            end = "low" if one["quantity"] == "beta" else "high"
            changes = [(one[end], end, 1.01 if end == "low" else 0.99)]
        elif name == "zcdp":
            # no lower end is known of some
            changes = changes[1:]
        for text, key, factor in changes:
            if text in ("0", "inf"):
                continue
            changed = deepcopy(document)
            changed["claim"]["answers"][number][key] = f"{float(text) * factor:.17g}"
            assert not accepted(changed), (one, key)
    for path in ("points", "directions", "tangents", "corners"):
        if document["evidence"].get(path):
            changed = deepcopy(document)
            changed["evidence"][path] = changed["evidence"][path][1:]
            assert not accepted(changed), path


def test_answers_say_nothing_of_mu() -> None:
    """A document of answers has an open interval for μ, and at least one answer."""
    document = json.loads(text_of("laplace"))
    for changes in (
        {"mu": {"low": "0", "high": "1"}},
        {"mu": {"low": "0.1", "high": "inf"}},
        {"answers": []},
        {"answers": None},
        {"failure_probability": "0.1"},
        {"eps_h": "1"},
    ):
        assert not accepted({**document, "claim": {**document["claim"], **changes}}), changes
    # beside a μ they are lines of their own
    whole = json.loads(gdp.measure(EXAMPLES["laplace"]).certificate.to_json())  # type: ignore[union-attr]
    whole["claim"]["answers"] = document["claim"]["answers"]
    assert not accepted(whole)
    whole["evidence"]["points"] = document["evidence"]["points"]
    assert accepted(whole)


def test_a_head_is_proved_in_every_direction() -> None:
    """δ(ε_h) ≤ p of a composed loss needs a proof, also where no μ is claimed."""
    run = EXAMPLES["dpsgd"]
    document = json.loads(text_of("dpsgd"))
    claim = document["claim"] | {"statement": "head", "eps_h": "0.5", "failure_probability": "0"}
    claim.pop("answers")
    evidence = {**document["evidence"], "points": None}
    for directions in ([], evidence["directions"][:1], evidence["directions"]):
        made = {**document, "claim": claim, "evidence": {**evidence, "directions": directions}}
        assert not accepted(made)
    claim["failure_probability"] = f"{float(run.delta(0.5)) * 1.01:.6g}"
    assert accepted({**document, "claim": claim, "evidence": evidence})
    assert not accepted({**document, "claim": claim, "evidence": {**evidence, "directions": []}})


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("laplace", ["epsilon <= 2", "tpr <= 0.08 at fpr = 0.01", "delta >= 0.3 at epsilon = 1"]),
        ("laplace", ["mu <= 1.81"]),
        ("approx-dp", ["epsilon <= 1 at delta = 1e-6", "beta >= 0.5 at alpha = 0.1"]),
        ("dpsgd", ["epsilon <= 20 at delta = 1e-5"]),
    ],
)
def test_true_claims_have_certificates(name: str, claims: list[str]) -> None:
    """What is proved is the claim as it was made."""
    answers = gdp.check(EXAMPLES[name], claims)
    document = gdp.check(EXAMPLES[name], claims[0]).certificate
    assert gdp.verify(document).valid
    from gdpbridge.check import certificate_of

    found = gdp.verify(certificate_of(answers))
    assert found.valid
    assert len(found.claims) >= 3 + len(claims)


def test_false_claims_have_none() -> None:
    """A certificate of what is not true is refused, as is one of two kinds of claims."""
    false = gdp.check(EXAMPLES["laplace"], "epsilon <= 1")
    with pytest.raises(InputError, match="certificate"):
        _ = false.certificate
    given = P.Callable(lambda eps: 0.1, trusted=["non-increasing", "upper bound"])
    trusted = gdp.check(given, "advantage <= 0.6")
    with pytest.raises(InputError, match="no certificate"):
        _ = trusted.certificate
