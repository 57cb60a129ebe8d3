"""The upper end of f and the regret: δ at a few places, and convexity between them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from changes import accepted

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.cli import main
from gdpbridge.fit import no_regret_because

P = gdp.profiles
Document = dict[str, Any]
ASKED = (
    Asked("beta", Fraction(1, 100)),
    Asked("beta", Fraction(9, 10)),
    Asked("tpr", Fraction(1, 20)),
    Asked("beta", Fraction(31, 100)),
)
RATES: dict[str, gdp.Profile] = {
    "laplace": P.Laplace(scale=0.5),
    "gaussian": P.Gaussian(sigma=1),
    "pure-dp": P.PureDP(epsilon=1.5),
    "approx-dp": P.ApproxDP(epsilon=1, delta=1e-6),
    "icea": P.ICEA(messages=50, users=10),
    "sgd-family": P.SGDFamily(A=1.0, B=2.0, sigma=1.0),
    "table": P.Table(eps=[0.5, 1, 2], delta=[0.2, 0.1, 0.01]),
    "tradeoff-function": P.TradeoffFunction(alpha=[0.1, 0.5], beta=[0.8, 0.3]),
    "randomized-response": P.RandomizedResponse(noise_parameter=0.5, buckets=4),
    "discrete-laplace": P.DiscreteLaplace(scale=2),
    "dpsgd": P.DPSGD(noise_multiplier=2, sample_rate=0.5, steps=50),
}
REGRETS: dict[str, tuple[gdp.Profile, dict[str, Any]]] = {
    "laplace": (P.Laplace(scale=0.5), {}),
    "approx-dp": (P.ApproxDP(epsilon=1, delta=1e-6), {"failure": 1e-6}),
    "discrete-laplace": (P.DiscreteLaplace(scale=2), {}),
    "clip-rectify": (
        gdp.clip_and_rectify(P.Laplace(scale=0.3), eps_h=2.0, lower=0, upper=1).profile,
        {},
    ),
}


@cache
def rates(name: str) -> str:
    """The certificate of both ends of an example's rates."""
    return write_answers(RATES[name], ASKED[:1] if name == "dpsgd" else ASKED).to_json()


@cache
def regret(name: str) -> str:
    """The certificate of an example's μ and of its regret."""
    profile, options = REGRETS[name]
    return gdp.regret_certificate(gdp.measure(profile, **options)).to_json()


@pytest.mark.parametrize("name", RATES)
def test_both_ends_of_a_rate(name: str) -> None:
    """Both ends are proved, are close, and hold what the library says."""
    document = json.loads(rates(name))
    assert accepted(document)
    for one in document["claim"]["answers"]:
        low, high, alpha = (float(one[key]) for key in ("low", "high", "at"))
        low, high = (1 - high, 1 - low) if one["quantity"] == "tpr" else (low, high)
        assert 0 <= high - low < 1e-8
        below, above = (float(end) for end in RATES[name].tradeoff_bounds(alpha))
        assert low <= above + 1e-15
        assert below <= high + 1e-15


@pytest.mark.parametrize("name", REGRETS)
def test_a_regret(name: str) -> None:
    """It is proved beside μ, and holds what the library says."""
    document = json.loads(regret(name))
    assert accepted(document)
    profile, options = REGRETS[name]
    [one] = document["claim"]["answers"]
    found = gdp.regret(profile, gdp.measure(profile, **options))
    assert float(one["low"]) <= found.upper
    assert found.lower - 2e-5 < float(one["low"])
    assert found.lower <= float(one["high"])
    # of a bound that need not be convex the lower end alone is shown
    assert (float(one["high"]) < found.upper + 2e-5) is (name != "clip-rectify")


def test_what_need_not_be_convex() -> None:
    """Of a bound that is concave somewhere, or pieced together, places say nothing between them."""
    concave = P.SGDFamily(A=1.0, B=0.5, sigma=1.0)
    for one in write_answers(concave, ASKED).claim.answers or ():
        assert (one.high == "1") is (one.quantity == "beta")
        assert (one.low == "0") is (one.quantity == "tpr")
    document = json.loads(regret("clip-rectify"))
    borrowed = json.loads(regret("laplace"))["evidence"]["points"][0]["places"]
    for high in ("0.9999", "0.5"):
        changed = deepcopy(document)
        changed["claim"]["answers"][0]["high"] = high
        changed["evidence"]["points"][0]["places"] = [
            {**place, "low": "0", "high": "1"} for place in borrowed
        ]
        assert not accepted(changed)


def test_where_there_is_no_regret() -> None:
    """Lines that prove a μ do not show how close δ is to it."""
    lines = P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=9)
    assert "composed by lines" in no_regret_because(lines)
    assert not no_regret_because(P.Laplace(scale=1).compose(2))


@pytest.mark.parametrize(
    ("profile", "how"),
    [
        (P.Laplace(scale=1), {"eps_h": 0.2}),
        (P.Laplace(scale=4), {"failure": 0.9}),
        (P.Renyi(orders=[2, 8], epsilons=[0.1, 0.5]), {"eps_h": 1}),
    ],
    ids=["head", "no noise needed", "orders"],
)
def test_regrets_past_a_failure(profile: gdp.Profile, how: dict[str, float]) -> None:
    """A head's is that of its μ but for δ(ε_h), and past a large p no μ is left: S is p."""
    found = gdp.measure(profile, **how)
    document = json.loads(gdp.regret_certificate(found).to_json())
    assert accepted(document)
    (answer,) = document["claim"]["answers"]
    ends = gdp.regret(profile, found)
    low, high = float(answer["low"]), float(answer["high"])
    assert low <= ends.low <= ends.high <= high <= 1.01 * low
    p, mu = found.failure_probability, float(found.mu.high)
    eps = np.linspace(0, 5, 500)
    stated = p + (1 - p) * (np.array([gdp.delta(one, mu) for one in eps]) if mu else 0)
    delta = np.array([profile.delta_bounds(one)[1] for one in eps])
    assert ((stated - delta) / (1 + np.exp(eps))).max() == pytest.approx(low, rel=0.02)
    for end, other in (("low", high + 1e-5), ("high", low - 1e-5)):
        changed = deepcopy(document)
        changed["claim"]["answers"][0][end] = str(other)
        assert not accepted(changed)


def test_where_there_is_no_regret_is_told_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is measured for a document that will not come."""
    monkeypatch.setattr(gdp, "measure", lambda *_, **__: pytest.fail("it was measured"))
    words = "dpsgd --noise-multiplier 1 --sample-rate .1 --steps 9 --regret --certificate"
    assert main(["measure", *words.split(), str(tmp_path / "cert.json")]) == 2
    assert "composed by lines" in capsys.readouterr().err


# --- nothing false ------------------------------------------------------------------------------


def _delta(name: str, eps: mpmath.mpf) -> mpmath.mpf:
    if name == "laplace":
        return max(-mpmath.expm1((eps - 2) / 2), mpmath.mpf(0))
    return mpmath.ncdf(0.5 - eps) - mpmath.exp(eps) * mpmath.ncdf(-0.5 - eps)


@cache
def _f(name: str, alpha: str) -> mpmath.mpf:
    """f(α) by its own formula: of Laplace noise, and of N(0, 1) against N(1, 1)."""
    a = mpmath.mpf(alpha)
    if name == "gaussian":
        if a in (0, 1):
            return 1 - a
        return mpmath.ncdf(-mpmath.sqrt(2) * mpmath.erfinv(2 * a - 1) - 1)
    t = mpmath.exp(2)
    if a < 1 / (2 * t):
        return 1 - t * a
    return 1 / (4 * t * a) if a <= mpmath.mpf(1) / 2 else (1 - a) / t


def _changes(one: Document) -> Iterator[Document]:
    """Change the numbers of an answer, or what it is of."""
    for key in ("low", "high", "at"):
        for value in ("0", "0.01", "0.02", "0.3", "0.9", "0.99", "1"):
            yield {key: value}
        if one[key] not in (None, "0", "1"):
            for off in (-1e-3, -1e-6, -2e-10, 2e-10, 1e-6, 1e-3):
                yield {key: f"{float(one[key]) * (1 + off):.17g}"}
    yield {"quantity": "beta", "at": one["at"] or "0.1"}
    yield {"quantity": "tpr", "at": one["at"] or "0.1"}


def _with(document: Document, number: int, answer: Document, point: Document) -> Document:
    changed = {**document, "claim": {**document["claim"]}, "evidence": {**document["evidence"]}}
    changed["claim"]["answers"] = [{**document["claim"]["answers"][number], **answer}]
    changed["evidence"]["points"] = [{**document["evidence"]["points"][number], **point}]
    return changed


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_no_false_rate_is_accepted(name: str) -> None:
    """Whatever is changed of an answer or of its places, what is accepted is true."""
    document, kept = json.loads(rates(name)), 0
    for number, one in enumerate(document["claim"]["answers"]):
        own = document["evidence"]["points"][number]
        places = own["places"]
        points: list[Document] = [{}, {"places": places[1:]}, {"places": places[:-1]}]
        points += [{"places": places[::-1]}, {"places": None}, {"places": []}]
        points += [{"places": places[:1] * 2}, {"places": places[1:-1]}]
        for place, key in ((at, key) for at in range(len(places)) for key in ("low", "high")):
            for value in ("0", "0.1", "1"):
                less = deepcopy(places)
                less[place][key] = value
                points.append({"places": less})
        for answer in _changes(one):
            for point in points if answer.get("high", "").startswith("0.9") else points[:2]:
                changed = _with(document, number, answer, point)
                if not accepted(changed):
                    continue
                kept += 1
                got = changed["claim"]["answers"][0]
                with mpmath.workdps(40):
                    true = _f(name, got["at"])
                    low, high = mpmath.mpf(got["low"]), mpmath.mpf(got["high"])
                    assert low <= (1 - true if got["quantity"] == "tpr" else true) <= high
    assert kept > 20


@cache
def _true_regret(name: str, mu: str) -> mpmath.mpf:
    """The regret by a scan, which misses little."""
    with mpmath.workdps(25):
        return max(
            (
                mpmath.ncdf(m / 2 - e / m)
                - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
                - _delta(name, e)
            )
            / (1 + mpmath.exp(e))
            for m in [mpmath.mpf(mu)]
            for e in (mpmath.mpf(n) / 200 for n in range(1200))
        )


def test_no_false_regret_is_accepted() -> None:
    """Whatever is changed of its ends, of μ or of its places, what is accepted is true."""
    document, kept = json.loads(regret("laplace")), 0
    [own] = document["evidence"]["points"]
    places = own["places"]
    points: list[Document] = [{}, {"touch": "0x0p+0"}, {"touch": None}, {"places": None}]
    points += [{"places": places[:n] + places[n + 1 :]} for n in range(2, len(places), 19)]
    points += [{"places": places[:-20]}, {"places": places[::-1]}, {"places": places[1:]}]
    [one] = document["claim"]["answers"]
    changes = [{}, *({"low": value} for value in ("0", "0.02", "0.0302", "0.1", "1"))]
    changes += [{"high": value} for value in ("0", "0.0301", "0.0303", "0.035", "0.5", "1")]
    changes += [{"low": "0", "high": "0.03"}, {"at": "1"}, {"quantity": "advantage"}]
    for answer in changes:
        for point in points if answer.get("high", "0.0303") == "0.0303" else points[:2]:
            for mu in (document["claim"]["mu"]["high"], "2.5")[: 1 if point else 2]:
                changed = deepcopy(_with(document, 0, answer, point))
                changed["claim"]["mu"]["high"] = mu
                if not accepted(changed):
                    continue
                kept += 1
                got = changed["claim"]["answers"][0]
                true = _true_regret("laplace", mu)
                assert mpmath.mpf(got["low"]) <= true + 1e-5
                assert true <= mpmath.mpf(got["high"])
    assert kept > 10
    claim = {**document["claim"], "statement": "answers"}
    assert not accepted({**document, "claim": claim}), one
