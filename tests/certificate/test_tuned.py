"""The best of a random number of runs: of what is run, divergences are proved."""

from __future__ import annotations

import json
from typing import Any

import mpmath
import pytest
import reading

import gdpbridge as gdp
from gdpbridge.transformations.tuned import Tuned

P = gdp.profiles


def holds(document: dict[str, Any]) -> bool:
    """Whether a changed document is accepted."""
    try:
        return gdp.verify(document).valid
    except gdp.InputError:
        return False


def shrunk(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with a divergence a thousandth smaller."""
    changed = json.loads(json.dumps(document))
    alpha, epsilon = changed["table"]["rows"][number]
    changed["table"]["rows"][number] = [alpha, str(float(epsilon) * 0.999)]
    return changed


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (P.Laplace(scale=3), {"scale": "2.9"}),
        (P.ZCDP(rho=0.05), {"rho": "0.051"}),
        (P.DPSGD(noise_multiplier=1, sample_rate=0.02, steps=50), {"steps": "51"}),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_bases(base: gdp.Profile, changes: dict[str, str]) -> None:
    """What is run is named, and each divergence that is used is at least its own."""
    found = gdp.measure(Tuned(base=base, mean=4), failure=1e-3, tol=1e-6)
    assert found.certificate is not None
    document = json.loads(found.certificate.to_json())
    assert gdp.verify(document).valid
    for number in range(len(document["table"]["rows"])):
        assert not holds(shrunk(document, number))
    for name, text in changes.items():
        mechanism = {**document["mechanism"], f"base.{name}": text}
        assert not holds({**document, "mechanism": mechanism})
    for name, text in (("mean", "4.1"), ("base.neighbours", "zero-out"), ("base.kind", "pld")):
        mechanism = {**document["mechanism"], name: text}
        assert not holds({**document, "mechanism": mechanism}), name


@pytest.mark.parametrize(
    "base",
    [
        P.Renyi(orders=[2, 4], epsilons=[0.05, 0.1]),
        pytest.param(
            P.DPSGD(noise_multiplier=1, sample_rate=0.02, steps=50), marks=pytest.mark.deep
        ),
        P.ZCDP(rho=0.01).compose(2),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_poisson_numbers_of_runs(base: gdp.Profile) -> None:
    """δ of one run is that of lemmas about it, which are proved, and needed."""
    tuned = Tuned(base=base, mean=2, distribution="poisson")
    found = gdp.measure(tuned, failure=0.01, tol=1e-3).certificate
    assert found is not None
    document = json.loads(found.to_json())
    assert gdp.verify(document).valid
    assert reading.most_read(found.to_json().encode()).code <= reading.MOST_CODE
    for number, one in enumerate(document["lemmas"]):
        shrunk_lemma = json.loads(json.dumps(document))
        claim = shrunk_lemma["lemmas"][number]["claim"]
        said = claim["answers"][0] if one["claim"]["statement"] == "answers" else claim["mu"]
        said["high"] = str(float(said["high"]) * 0.999)
        assert not holds(shrunk_lemma), number
    for changed in (
        {**document, "lemmas": None}, {**document, "lemmas": document["lemmas"][::-1][1:]},
        {**document, "mechanism": {**document["mechanism"], "mean": "2.1"}},
    ):  # fmt: skip
        assert not holds(changed)
    if base.kind == "renyi":
        # rows that are not those of one run show nothing of it
        for one in document["lemmas"]:
            one["table"]["rows"] = [["2", "0.04"], ["4", "0.09"]]
        assert not holds(document)


@pytest.mark.parametrize("distribution", ["truncated-negative-binomial", "poisson"])
def test_delta_by_hand(distribution: str) -> None:
    """δ(ε) is at least that of the bound by hand at the order of its tangent, and hardly above."""
    tuned = Tuned(base=P.Gaussian(sigma=5), mean=3, distribution=distribution)
    shown = gdp.measure(tuned, eps_h=1, tol=1e-6)
    assert shown.certificate is not None
    document = json.loads(shown.certificate.to_json())
    assert gdp.verify(document).valid
    for name, text in (("mean", "3.01"), ("base.sigma", "4.99")):
        assert not holds({**document, "mechanism": {**document["mechanism"], name: text}})
    if distribution == "poisson":
        other = {**document["mechanism"], "distribution": "truncated-negative-binomial"}
        assert not holds({**document, "mechanism": other})

    def divergence(alpha: Any) -> Any:
        own = alpha / 50
        if distribution == "poisson":
            eps = mpmath.log(alpha / (alpha - 1))
            x, y = eps * 5 - mpmath.mpf(1) / 10, eps * 5 + mpmath.mpf(1) / 10
            delta = mpmath.ncdf(-x) - mpmath.exp(eps) * mpmath.ncdf(-y)
            return own + 3 * delta + mpmath.log(3) / (alpha - 1)
        # geometric with a mean of 3: γ = 1/3
        extra = min(2 * ((1 - 1 / v) * v / 50 + mpmath.log(3) / v) for v in (2, 4, 7, 9, 13, 17))
        return own + extra + mpmath.log(3) / (alpha - 1)

    # κ(s)·e^{s(D - ε)} is above every tangent
    least = min(
        s**s / (1 + s) ** (1 + s) * mpmath.exp(s * (divergence(1 + s) - 1))
        for s in map(mpmath.mpf, (1, 1.5, 2, 3, 4, 6, 8, 12))
    )
    assert shown.failure_probability <= float(least) * 1.01
    assert shown.failure_probability >= float(least) / 20


def test_no_event_shows_a_lower_end() -> None:
    """Rows may be far above the divergences of one run: an event that they allow shows nothing."""
    shown = gdp.measure(Tuned(base=P.Gaussian(sigma=5), mean=3), eps_h=1, tol=1e-4)
    assert shown.certificate is not None
    document = json.loads(shown.certificate.to_json())
    document["table"]["rows"] = [["2", "50"]]
    document["claim"] |= {"statement": "answers", "eps_h": None, "failure_probability": "0"}
    document["claim"] |= {"mu": {"low": "0", "high": "inf"}}
    document["evidence"] |= {"cells": [], "witness": None, "tangents": []}
    event = {"inside": "0x7p-3", "outside": "0x1p-20"}
    for low, is_valid in (("0", True), ("0.8", False)):
        answer = {"quantity": "delta", "at": "1", "low": low, "high": "1"}
        document["claim"]["answers"] = [answer]
        document["evidence"]["points"] = [{"event": event}]
        assert holds(document) is is_valid, low
