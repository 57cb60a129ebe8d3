"""Of two documents about one number whose claims exclude each other not both are accepted.

That needs no truth from elsewhere: what the first one proves makes a claim beside it false,
whatever is changed of the evidence for it. The kinds of documents here are those that no other
mutation run knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

import pytest
from changes import Document, Path, accepted, changes, decimal, put

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge_verify.statement import Check

P = gdp.profiles
ANSWERS = Asked("delta", Fraction(1, 2)), Asked("tpr", Fraction(1, 100))
OPEN = {"p": "exp(-abs(x))/2", "q": "exp(-abs(x-1))/2"}
RARELY = P.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=1, neighbours="replace-one")
COUNTS = P.ThresholdedRelease(noise="gaussian", scale=2, threshold=9)

MADE: dict[str, Callable[[], gdp.Certificate | None]] = {
    "calibrated to a μ": lambda: gdp.calibrate("laplace", 1).certificate,
    "calibrated to an ε": lambda: (
        gdp.calibrate("gaussian", target_epsilon=1, target_delta=1e-6).certificate
    ),
    "calibrated to a TPR": lambda: (
        gdp.calibrate("laplace", target_tpr=0.2, target_fpr=0.05).certificate
    ),
    "regret": lambda: gdp.regret_certificate(gdp.measure(P.Laplace(scale=1))),
    "nearly Gaussian": lambda: gdp.measure(P.DiscreteGaussian(sigma=3).compose(9)).certificate,
    "nearly Gaussian, answers": lambda: write_answers(
        P.DiscreteGaussian(sigma=3).compose(9), ANSWERS
    ),
    "tuned": lambda: write_answers(P.Gaussian(sigma=4).tune(mean=5, shape=1), ANSWERS[:1]),
    "tuned, poisson": lambda: write_answers(
        P.Gaussian(sigma=4).tune(mean=5, distribution="poisson"), ANSWERS[:1]
    ),
    "on a sample once": lambda: write_answers(P.Laplace(scale=1).subsample(0.1), ANSWERS),
    "on a sample, failing": lambda: write_answers(
        P.TruncatedLaplace(scale=1, delta=0.1).subsample(0.5), (Asked("delta", Fraction(20)),)
    ),
    "a group": lambda: gdp.measure(P.PureDP(epsilon=0.5).group(3)).certificate,
    "replaced once": lambda: write_answers(RARELY, ANSWERS),
    "without ends": lambda: write_answers(P.Densities(**OPEN), ANSWERS[:1]),
    "counts twice": lambda: gdp.measure(COUNTS.compose(2), failure=1e-3).certificate,
}  # fmt: skip
STEPS = Fraction(1, 10**3), Fraction(1, 10**10)
# changes of the evidence that are tried of each document, and those that take seconds to make
MOST = 20
DEAR = "nearly Gaussian", "tuned", "tuned, poisson", "without ends"


@cache
def good(name: str) -> str:
    """The text of a document that holds."""
    found = MADE[name]()
    assert found is not None
    assert gdp.verify(found).valid
    return found.to_json()


def claimed(document: Document) -> Iterator[tuple[Path, Fraction, Fraction]]:
    """Where a document says between which numbers something is, at one end or at the other."""
    ways: list[Path] = [(), ("beyond",)]
    for way in ways:
        part = document.get(way[0]) if way else document
        if part is None:
            continue
        claim = part["claim"]
        places: list[Path] = [("answers", n) for n, _ in enumerate(claim.get("answers") or [])]
        if claim["statement"] != "answers":
            places.append(("mu",))
        for place in places:
            found: Any = claim
            for name in place:
                found = found[name]
            ends = ("0" if found[end] == "inf" else found[end] for end in ("low", "high"))
            low, high = map(Fraction, ends)
            yield (*way, "claim", *place), low, high


def excluded(document: Document) -> Iterator[tuple[str, Document]]:
    """Claims that all is below the interval of the document, or above."""
    for place, low, high in claimed(document):
        for step in STEPS:
            for least, most in ((Fraction(0), low * (1 - step)), (high * (1 + step), high + 1)):
                if least < most and high:
                    found = put(document, (*place, "low"), decimal(least))
                    top = (
                        min(most, Fraction(1)) if least and place[-1] != "mu" and high < 1 else most
                    )
                    yield f"{place} {least == 0}", put(found, (*place, "high"), decimal(top))


def with_other_evidence(document: Document) -> Iterator[tuple[str, Document]]:
    """Some changes of what is said for the claims, spread over all of them."""
    parts = ("evidence", "beyond.evidence")
    found = [one for one in changes(document) if one[0].startswith(parts)]
    yield from islice(found, 0, None, max(1, len(found) // MOST))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.deep) if name in DEAR else name for name in MADE],
)
def test_what_a_document_excludes_is_not_accepted(name: str) -> None:
    """No claim beside the interval that is proved, also with other evidence."""
    document = json.loads(good(name))
    beside = list(excluded(document))
    assert beside
    for what, other in beside:
        assert not accepted(other), what
    for number, (what, changed) in enumerate(with_other_evidence(document)):
        other = beside[number % len(beside)][1]
        moved = {**changed, "claim": other["claim"]}
        if isinstance(changed.get("beyond"), dict) and other.get("beyond"):
            moved["beyond"] = {**changed["beyond"], "claim": other["beyond"]["claim"]}
        assert not accepted(moved), what


def test_claims_are_refused_for_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker that compares nothing accepts claims that exclude each other."""
    document = json.loads(good("on a sample once"))
    monkeypatch.setattr(Check, "hold", lambda *_: None)
    assert any(accepted(other) for _, other in excluded(document))
