"""No change to a certificate that makes its claim false or unproved is accepted."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from changes import changes, decimal, documents_of, outcome, put, structural
from truth import FAILING, GAUSSIAN, is_true

from gdpbridge import profiles

TOL = 1e-12
Document = dict[str, Any]

# --- certificates of each kind and statement --------------------------------------------------

EXAMPLES = {
    "laplace": (profiles.Laplace(scale=1.0), {}),
    "laplace head": (profiles.Laplace(scale=1.0), {"eps_h": 0.75}),
    "laplace approximate": (profiles.Laplace(scale=1.0), {"failure": 0.1}),
    "pure-dp": (profiles.PureDP(epsilon=1.5), {}),
    "pure-dp approximate": (profiles.PureDP(epsilon=1.5), {"failure": 0.05}),
    "randomized-response": (profiles.RandomizedResponse(noise_parameter=0.5, buckets=3), {}),
    "randomized-response head": (
        profiles.RandomizedResponse(noise_parameter=0.5, buckets=3),
        {"eps_h": 1},
    ),
    "randomized-response by epsilon": (
        profiles.RandomizedResponse(epsilon=1, buckets=4),
        {"failure": 0.01},
    ),
    "approx-dp": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {}),
    "approx-dp head": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"eps_h": 2}),
    "approx-dp approximate": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"failure": 0.02}),
    "approx-dp infinite": (profiles.ApproxDP(epsilon=1.1, delta=0.01), {"failure": 0.005}),
    "gaussian": (profiles.Gaussian(sigma=2.0), {}),
    "gaussian head": (profiles.Gaussian(sigma=2.0), {"eps_h": 1}),
    "gaussian approximate": (profiles.Gaussian(sigma=2.0), {"failure": 0.05}),
    "gdp": (profiles.GDP(mu=1.25), {}),
    "gdp approximate": (profiles.GDP(mu=1.25), {"failure": 0.1}),
    "sgd-family": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {}),
    "sgd-family head": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {"eps_h": 1.5}),
    "sgd-family approximate": (profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0), {"failure": 0.01}),
    "sgd-family, two brackets": (profiles.SGDFamily(A=1.0, B=0.5, sigma=1.0), {}),
    "sgd-family, no bracket": (profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0), {}),
    "sgd-family, tail": (profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0), {}),
    "sparse-vector": (
        profiles.SparseVector(threshold_scale=3, answer_scale=7, count=2, sensitivity=1.5),
        {},
    ),
    "sparse-vector, monotonic": (
        profiles.SparseVector(threshold_scale=2, answer_scale=3, monotonic=True),
        {"failure": 0.05},
    ),
    "shuffled-epochs": (profiles.ShuffledEpochs(noise_multiplier=2, steps=5, epochs=3), {}),
    "shuffled-epochs approximate": (
        profiles.ShuffledEpochs(noise_multiplier=2, steps=5, epochs=3),
        {"failure": 0.05},
    ),
    "matrix": (profiles.Matrix(entries=[[1, 0.5, -0.25], [0, 1, 0.75]], sigma=2), {"eps_h": 1}),
    "matrix, fixed": (
        profiles.Matrix(
            entries=[[1, 0.5, -0.25], [0, 1, 0.75]], participations=2, fixed=True, sigma=2
        ),
        {},
    ),
    "matrix, banded": (
        profiles.Matrix(entries=[0.5, 1], steps=5, participations=2, separation=2, sigma=2),
        {"failure": 0.05},
    ),
    "matrix, falling": (
        profiles.Matrix(entries=[1, 0.5, 0.5], steps=7, participations=3, separation=2, sigma=2),
        {},
    ),
    "truncated-laplace": (
        profiles.TruncatedLaplace(scale=1.5, delta=0.01, sensitivity=2),
        {"failure": 0.01},
    ),
    "truncated-laplace head": (profiles.TruncatedLaplace(scale=1, delta=0.01), {"eps_h": 0.75}),
    "thresholded-release": (
        profiles.ThresholdedRelease(noise="laplace", scale=1.5, threshold=9, groups=2),
        {"failure": 0.05},
    ),
    "thresholded-release, gaussian": (
        profiles.ThresholdedRelease(noise="gaussian", scale=2, threshold=7, groups=2),
        {"failure": 0.05},
    ),
    "thresholded-release, as gaussian": (
        profiles.ThresholdedRelease(noise="gaussian", scale=1, threshold=12, groups=2),
        {},
    ),
    "bounded-range, runs": (profiles.BoundedRange(range=0.75, runs=3), {}),
    "icea": (profiles.ICEA(messages=50, users=10), {"eps_h": 2}),
    "icea approximate": (profiles.ICEA(messages=50, users=10), {"failure": 0.02}),
}


text_of, fresh = documents_of(EXAMPLES, tol=TOL)


# --- tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """The oracle agrees with every certificate as it was written."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_oracle_tells_what_is_false(name: str) -> None:
    """An interval short of the truth on either side, and another tail, are false to it."""
    document = fresh(name)
    mu = document["claim"]["mu"]
    if mu["high"] != "inf":
        for low, high in (
            ("0", decimal(Fraction(mu["low"]) - Fraction(1, 10**10))),
            (decimal(Fraction(mu["high"]) + Fraction(1, 10**10)), "1000"),
        ):
            assert not is_true(put(document, ("claim", "mu"), {"low": low, "high": high}))
    assert not is_true(put(document, ("claim", "mu_tail"), {"low": "5", "high": "6"}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str, thinned: Callable) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    wrong = [
        what
        # other ones of each field, from example to example
        for what, changed in thinned(changes(fresh(name)), 8, len(name))
        if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_changed_cover_is_refused(name: str, thinned: Callable) -> None:
    """Cells removed, duplicated, swapped, reversed, emptied, or with a gap of one ulp."""
    document = fresh(name)
    for what, changed in thinned(structural(document), 5, len(name)):
        # beyond the end of the range nothing needs a cell
        last = what == f"remove {len(document['evidence']['cells']) - 1}"
        result = outcome(changed)
        assert result in ("refused", "no certificate") or (last and is_true(changed)), what


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_moved_claim_is_refused(name: str) -> None:
    """μ.high below the truth, μ.low above it, another verdict, a longer head, a tail elsewhere."""
    document = fresh(name)
    claim = document["claim"]
    for end, step in (("high", -1), ("low", 1)):
        for places in (10, 6, 2):
            moved = claim["mu"][end]
            if moved == "inf":
                continue
            value = Fraction(moved) + step * Fraction(1, 10**places)
            changed = put(document, ("claim", "mu", end), decimal(max(value, Fraction(0))))
            assert outcome(changed) in ("refused", "no certificate", "undecided"), (end, places)
    other = {"gdp": "not-gdp", "not-gdp": "gdp"}[claim["verdict"]]
    assert outcome(put(document, ("claim", "verdict"), other)) == "refused"
    for end, text in (("low", "5000"), ("high", "1e-30"), ("low", "inf"), ("high", "inf")):
        changed = put(document, ("claim", "mu_tail", end), text)
        assert outcome(changed) != "valid" or is_true(changed)
    if claim["eps_h"]:
        longer = decimal(Fraction(claim["eps_h"]) + Fraction(1, 10**10))
        result = outcome(put(document, ("claim", "eps_h"), longer))
        # a Gaussian curve's μ, and a constant tail, hold on every head
        assert result == "refused" or document["mechanism"]["kind"] in (*GAUSSIAN, *FAILING)
    for statement in {"whole", "head", "approximate"} - {claim["statement"]}:
        changed = put(document, ("claim", "statement"), statement)
        assert outcome(changed) != "valid" or is_true(changed)


@pytest.mark.parametrize("name", EXAMPLES)
def test_evidence_of_another_mechanism_is_refused(name: str) -> None:
    """The same claim and evidence with any other example's mechanism."""
    document = fresh(name)
    for other in EXAMPLES:
        mechanism = fresh(other)["mechanism"]
        if mechanism != document["mechanism"]:
            changed = put(document, ("mechanism",), mechanism)
            assert outcome(changed) != "valid" or is_true(changed), other


@pytest.mark.parametrize("name", EXAMPLES)
def test_harmless_changes_are_accepted(name: str) -> None:
    """A wider interval, another generator, and cells cut in two are still proofs."""
    document = fresh(name)
    assert outcome(put(document, ("generator",), "another program")) == "valid"
    mu = document["claim"]["mu"]
    if mu["high"] != "inf":
        wider = put(document, ("claim", "mu", "high"), decimal(Fraction(mu["high"]) + 1))
        wider["claim"]["mu"]["low"] = "0"
        if document["mechanism"]["kind"] not in GAUSSIAN:
            assert outcome(wider) in ("valid", "refused", "undecided")
        # the cells were made for the old μ, but one below δ_μ is below a larger one too
        monotone = [cell["centre"] is None for cell in document["evidence"]["cells"]]
        assert not all(monotone) or outcome(wider) == "valid"
