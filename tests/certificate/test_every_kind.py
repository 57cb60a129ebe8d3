"""Every kind of the registry has a certificate, or says before any work why it has none.

The page docs/certificates.md is this list; ``python tests/certificate/test_every_kind.py`` writes
and checks a certificate of each, and prints the page, with sizes and times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import reading

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.measure.method import DEFAULT_METHOD, method_for
from gdpbridge.measure.result import no_certificate_because
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import kinds

P = gdp.profiles
PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"
ROWS = [(0, 0.3), (1, 0.08), (2, 0.01), (3, 0.0)]
# for each kind its parameters, and what is asked for
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "approx-dp": ({"epsilon": 1, "delta": 1e-6}, {"failure": 1e-6}),
    "banded-matrix": (
        {"entries": [3, 4], "sigma": 5, "bands": 2, "sample_rate": 0.025, "steps": 200},
        {"tol": 1e-4},
    ),
    "bounded-range": ({"range": 1}, {}),
    "densities": ({"p": "1", "q": "0.5+x", "low": 0, "high": 1}, {}),
    "discrete-gaussian": ({"sigma": 2}, {}),
    "discrete-laplace": ({"scale": 2}, {}),
    "dpsgd": ({"noise_multiplier": 1, "sample_rate": 0.05, "steps": 100}, {"tol": 1e-4}),
    "exponential": ({"epsilon": 1}, {}),
    "formula": ({"text": "delta = 0.9*exp(-eps**2)"}, {}),
    "gaussian": ({"sigma": 2}, {}),
    "gdp": ({"mu": 1}, {}),
    "icea": ({"messages": 50, "users": 10}, {"eps_h": 4}),
    "laplace": ({"scale": 1}, {}),
    "matrix": ({"entries": [[1, 0], [1, 1]], "sigma": 2}, {}),
    "opacus": ({"history": [[1.0, 0.05, 100]]}, {"tol": 1e-4}),
    "permute-and-flip": ({"epsilon": 1}, {}),
    "pld": ({"remove": [[0.5, 0.6], [-0.5, 0.3]]}, {}),
    "pure-dp": ({"epsilon": 1}, {}),
    "random-allocation": ({"noise_multiplier": 1, "steps": 4}, {}),
    "randomized-response": ({"noise_parameter": 0.5, "buckets": 4}, {}),
    "renyi": ({"orders": [2, 4, 8], "epsilons": [0.1, 0.2, 0.5]}, {"failure": 1e-3}),
    "report-noisy-max": ({"noise": "gumbel", "scale": 2}, {}),
    "sgd-family": ({"A": 1, "B": 2, "sigma": 1}, {}),
    "shuffled-epochs": ({"noise_multiplier": 2, "steps": 10}, {}),
    "skellam": ({"variance": 5}, {}),
    "sparse-vector": ({"threshold_scale": 2, "answer_scale": 2, "count": 1}, {}),
    "table": ({"pairs": ROWS}, {}),
    "thresholded-release": ({"noise": "laplace", "scale": 1, "threshold": 10}, {"failure": 0.1}),
    "tradeoff": ({"text": "sigma = -2*log(delta)/eps", "set": {"sigma": 4}}, {"eps_h": 4}),
    "tradeoff-function": ({"alpha": [0, 0.2], "beta": [1, 0.4]}, {}),
    "truncated-batches": (
        {
            "noise_multiplier": 1,
            "sample_rate": 0.05,
            "steps": 100,
            "records": 1000,
            "max_batch_size": 110,
        },
        {"tol": 1e-4},
    ),
    "truncated-laplace": ({"scale": 1, "delta": 1e-3}, {"failure": 0.01}),
    "zcdp": ({"rho": 0.5}, {}),
}


def profile_of(kind: str) -> Profile:
    """The example of a kind."""
    return kinds()[kind](**EXAMPLES[kind][0])


@cache
def reason_of(kind: str) -> str:
    """Why the example has no certificate; empty if it has one."""
    profile = profile_of(kind)
    return no_certificate_because(profile, lambda: method_for(profile.curve.form, DEFAULT_METHOD))


def page_rows() -> dict[str, str]:
    """What the page says of each kind."""
    text = PAGE.read_text(encoding="utf-8")
    lines = [
        line.split("|") for line in text[: text.index("| kind | code | all lines |")].splitlines()
    ]
    return {row[1].strip(): row[2].strip() for row in lines if len(row) > 3 and row[1].strip()}


def read_on_page() -> dict[str, tuple[int, ...]]:
    """How many lines, of code and in all, the page says are read for each kind."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| kind | code | all lines |") :].splitlines()[2:]
    rows = [line.split("|") for line in table if line.startswith("|")]
    return {row[1].strip(): tuple(int(one.replace(",", "")) for one in row[2:4]) for row in rows}


def read_for(document: gdp.Certificate, folder: Path | None = None) -> reading.Count:
    """What is read for a certificate, which holds."""
    return reading.most_read(document.to_json().encode(), folder)


def test_the_page_knows_every_kind() -> None:
    """Each kind has a row, which says that it has certificates or gives the program's reason."""
    rows = page_rows()
    assert set(kinds()) <= set(EXAMPLES)
    for kind in kinds():
        assert rows[kind] == (reason_of(kind) or "yes"), kind


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind(kind: str) -> None:
    """What the program says before it measures is so: a certificate that holds, or none."""
    reason = reason_of(kind)
    if reason:
        # no kind has some words of its own for this
        assert reason.startswith("there is no certificate") or "is not proved" in reason
        return
    document = gdp.measure(profile_of(kind), **EXAMPLES[kind][1]).certificate
    assert document is not None
    read = read_for(document)
    assert read.code <= reading.MOST_CODE
    assert read.lines <= reading.MOST_READ.get(kind, reading.MOST_OF_ANY)
    # the checker changes
    assert read == pytest.approx(read_on_page()[kind], rel=0.05)


@pytest.mark.parametrize(
    ("base", "same"),
    [
        (P.Laplace(scale=2), P.Laplace(scale=2, sensitivity=3)),
        (P.PureDP(epsilon=0.3), P.DiscreteLaplace(scale=1 / 0.3, sensitivity=3)),
        (P.BoundedRange(range=0.1), P.BoundedRange(range=0.3)),
        (P.GDP(mu=0.25), P.GDP(mu=0.75)),
        (P.ZCDP(rho=0.05), P.ZCDP(rho=0.45)),
        (
            P.SparseVector(threshold_scale=2, answer_scale=4, sensitivity=0.5),
            P.SparseVector(threshold_scale=2, answer_scale=4, sensitivity=1.5),
        ),
    ],
    ids=lambda profile: profile.kind,
)
def test_groups(base: Profile, same: Profile) -> None:
    """The certificate of three records is that of three times the parameter, by its own name."""
    document = gdp.measure(base.group(3)).certificate
    assert document is not None
    assert document.mechanism["kind"] == "grouped"
    found = gdp.verify(document)
    assert found.valid
    assert "3 steps between neighbours" in found.claims[-1]
    assert document.claim.mu == gdp.measure(same).certificate.claim.mu
    for size in ("2", "4"):
        changed = json.loads(document.to_json())
        changed["mechanism"]["size"] = size
        assert not gdp.verify(changed).valid
    for name, text in (("base.kind", "icea"), ("size", "1.5"), ("base.neighbours", "add-remove")):
        changed = json.loads(document.to_json())
        changed["mechanism"][name] = text
        with pytest.raises(gdp.InputError, match="mechanism"):
            gdp.verify(changed)


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
@pytest.mark.parametrize(
    ("base", "options"),
    [
        (P.Laplace(scale=0.5), {}),
        (P.Gaussian(sigma=1), {"eps_h": 1}),
        (P.Gaussian(sigma=1), {}),
        (P.GDP(mu=1), {"failure": 1e-6}),
        (P.PureDP(epsilon=1), {}),
        (P.ApproxDP(epsilon=1, delta=1e-3), {}),
        (P.ApproxDP(epsilon=1, delta=1e-3), {"failure": 1e-3}),
        (P.TruncatedLaplace(scale=2, delta=1e-3), {"eps_h": 0.1}),
        (P.Exponential(epsilon=1), {}),
        (P.RandomizedResponse(noise_parameter=0.5, buckets=4), {}),
        (P.SparseVector(threshold_scale=2, answer_scale=4, count=1), {}),
        (P.DiscreteGaussian(sigma=2), {"failure": 1e-4}),
        (P.DiscreteGaussian(sigma=2), {}),
        (P.DiscreteLaplace(scale=2, sensitivity=2), {}),
        (P.PLD(remove=[[0.5, 0.6], [-0.5, 0.3]]), {"eps_h": 0.2}),
    ],
    ids=lambda one: str(getattr(one, "kind", one)),
)
def test_samples(base: Profile, options: dict[str, Any], scheme: str) -> None:
    """A mechanism on a sample has a certificate, and with another rate it is refused."""
    if base.kind == "randomized-response" and scheme == "poisson":
        pytest.skip("a person changes an answer, and is not left out")
    found = gdp.measure(base.subsample(0.2, scheme=scheme), **options)
    document = json.loads(found.certificate.to_json())  # type: ignore[union-attr]
    assert gdp.verify(document).valid
    assert float(document["claim"]["mu"]["high"]) <= float(found.mu.high) * 1.0000001
    whole = found.statement == "whole" and base.kind in ("gaussian", "discrete-gaussian")
    other = {"poisson": "without-replacement"}.get(scheme, "poisson")
    # without it, an answer of another record would be counted as one that was not given
    relation = {"poisson": "replace-one"}.get(scheme, "add-remove")
    for name, text in (
        ("rate", "0.19"), ("rate", "0.21"), ("rate", "1"), ("base.kind", "gdp"), ("rate", "0"),
        ("scheme", other), ("base.neighbours", relation), ("neighbours", relation), ("sample", "1"),
    ):  # fmt: skip
        if whole and name == "rate" and text != "0":
            # of every ε the one μ is that of the whole
            continue
        changed = {**document, "mechanism": {**document["mechanism"], name: text}}
        if changed != document:
            assert not _holds(changed), (name, text)
    document["claim"]["mu"]["low"] = document["claim"]["mu"]["high"] = "0.01"
    assert not _holds(document)


def test_samples_of_a_guarantee_in_a_composition() -> None:
    """All that are μ-GDP are a class, on samples too; of no loss at all nothing is left to do."""
    found = gdp.measure(P.GDP(mu=1).subsample(0.1).compose(2), tol=1e-2)
    document = json.loads(found.certificate.to_json())  # type: ignore[union-attr]
    assert document["claim"]["profile_is"] == "class"
    assert gdp.verify(document).valid
    document["claim"]["profile_is"] = "own"
    assert not _holds(document)
    document["claim"] |= {"profile_is": "class", "mu": {"low": "0", "high": "0.001"}}
    document["mechanism"]["base.base.mu"] = "0"
    document["claim"]["mu_tail"] = {"low": "0", "high": "0"}
    document["evidence"] |= {"witness": None, "directions": [{"pieces": [], "cells": []}]}
    assert gdp.verify(document).valid


def _holds(document: dict[str, Any]) -> bool:
    try:
        return gdp.verify(document).valid
    except gdp.InputError:
        return False


BESIDE = P.Laplace(scale=2)


@pytest.mark.parametrize(
    ("part", "same", "changes"),
    [
        (
            P.Matrix(entries=[4, 3], sigma=10),
            P.Gaussian(sigma=2),
            {"entries": "0x5p+0 0x3p+0", "sigma": "8"},
        ),
        (
            P.ShuffledEpochs(noise_multiplier=4, steps=9, epochs=4),
            P.Gaussian(sigma=2),
            {"epochs": "5", "noise_multiplier": "3"},
        ),
        (
            P.SparseVector(threshold_scale=4, answer_scale=8).compose(2),
            P.PureDP(epsilon=0.5).compose(2),
            {"base.count": "2", "base.answer_scale": "4", "base.monotonic": "true"},
        ),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_run_among_others(part: Profile, same: Profile, changes: dict[str, str]) -> None:
    """What is Gaussian or ε-DP in other words is so in a composition, too."""
    how = {"tol": "1e-6"}
    document = gdp.measure(P.Sequence(parts=(part, BESIDE)), **how).certificate
    assert document is not None
    assert gdp.verify(document).valid
    plain = gdp.measure(P.Sequence(parts=(same, BESIDE)), **how).certificate
    assert document.claim.mu == plain.claim.mu
    for name, text in changes.items():
        changed = json.loads(document.to_json())
        changed["mechanism"][f"parts.0.{name}"] = text
        assert not gdp.verify(changed).valid


def test_sparse_vector_among_others() -> None:
    """Its own count is no number of runs: a change of either is refused."""
    parts = (P.SparseVector(threshold_scale=4, answer_scale=8, count=2), BESIDE)
    document = gdp.measure(P.Sequence(parts=parts), tol=1e-6).certificate
    assert document is not None
    assert gdp.verify(document).valid
    plain = P.Sequence(parts=(P.PureDP(epsilon=0.75), BESIDE))
    assert document.claim.mu == gdp.measure(plain, tol=1e-6).certificate.claim.mu
    for name, text in (("parts.0.count", "2"), ("parts.0.base.count", "3"), ("parts.0.times", "2")):
        changed = json.loads(document.to_json())
        changed["mechanism"][name] = text
        assert not gdp.verify(changed).valid


@pytest.mark.parametrize(
    ("part", "same", "changes"),
    [
        (P.PermuteAndFlip(epsilon=0.5), P.Laplace(scale=2), {"epsilon": "0.49"}),
        (
            P.ReportNoisyMax(noise="exponential", scale=4),
            P.Laplace(scale=2),
            {"kind": "pure-dp", "epsilon": "0.51"},
        ),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_selections_run_among_others(part: Profile, same: Profile, changes: dict[str, str]) -> None:
    """Laplace noise's loss dominates: several runs have its μ, which is a bound."""
    for around in (lambda one: one.compose(3), lambda one: P.Sequence(parts=(one, BESIDE))):
        found, plain = (gdp.measure(around(one), tol=1e-6) for one in (part, same))
        assert found.certificate is not None
        document = json.loads(found.certificate.to_json())
        assert gdp.verify(document).valid
        assert document["claim"]["profile_is"] == "bound"
        assert document["claim"]["mu"] == json.loads(plain.certificate.to_json())["claim"]["mu"]
        prefix = next(name for name in document["mechanism"] if name.endswith("epsilon"))[:-7]
        for name, text in {**changes, "epsilon": "0.6"}.items():
            changed = json.loads(json.dumps(document))
            changed["mechanism"][f"{prefix}{name}"] = text
            assert not _holds(changed), name
        document["claim"]["profile_is"] = "class"
        assert not _holds(document)


def test_runs_by_their_history_among_others() -> None:
    """What is DP-SGD in other words is named so among others, too."""
    run = kinds()["opacus"](history=[[1.0, 0.05, 20]])
    found = gdp.measure(P.Sequence(parts=(run.compose(2), P.Gaussian(sigma=3))), tol=1e-3)
    assert found.certificate is not None
    document = json.loads(found.certificate.to_json())
    assert gdp.verify(document).valid
    steps = next(name for name in document["mechanism"] if name.endswith("steps"))
    document["mechanism"][steps] = "21"
    assert not _holds(document)


def test_shuffled_epochs_are_for_records_without_effect() -> None:
    """Two records may be 2/σ apart: of other neighbours than zero-out nothing is proved."""
    found = gdp.measure(profile_of("shuffled-epochs")).certificate
    assert found is not None
    for other in ("replace-one", "add-remove", None):
        document = json.loads(found.to_json())
        document["mechanism"]["neighbours"] = other
        assert not _holds(document)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_counts_of_which_nothing_is_left(noise: str) -> None:
    """Where all that is not failure needs no noise, μ = 0 has a certificate."""
    counts = P.ThresholdedRelease(noise=noise, scale=2, threshold=3, groups=3)
    document = gdp.measure(counts, failure=0.9).certificate
    assert document is not None
    assert Fraction(document.claim.mu.high) == 0
    assert gdp.verify(document).valid


def test_monotonic_scores_of_an_epsilon_without_half() -> None:
    """Where no float is half of ε there is none, however it is run; it is said before any work."""
    odd, even = (P.PermuteAndFlip(epsilon=eps, monotonic=True) for eps in (1.9310583241925687, 1.5))
    for made in (lambda one: one, lambda one: one.compose(2)):
        found = gdp.measure(made(odd), tol=1e-4)
        assert found.certificate is None
        assert "no float is" in found.proof.why
    assert gdp.verify(gdp.measure(even).certificate).valid
    # of this ε there is one, and not of the one beyond it
    calibrated = gdp.calibrate("permute-and-flip", 1, monotonic=True)
    with pytest.raises(gdp.InputError, match="half no float is"):
        _ = calibrated.certificate


def test_groups_without() -> None:
    """Of other kinds, or with parameters that the checker does not know, the reason is told."""
    for base in (P.Skellam(variance=9), P.PermuteAndFlip(epsilon=0.1, monotonic=True)):
        assert "no certificate" in gdp.measure(base.group(2), eps_h=1).proof.why


# every sort of answer besides μ
ANSWERS = (
    Asked("delta", Fraction(1, 2)),
    Asked("epsilon", Fraction(1, 10)),
    Asked("advantage"),
    Asked("tpr", Fraction(1, 100)),
    Asked("beta", Fraction(1, 20)),
)


FEW = {"formula": 2, "tradeoff": 2, "renyi": 3, "densities": 3}
DEAR = ("banded-matrix", "dpsgd", "opacus", "random-allocation", "truncated-batches")


def answers_of(kind: str, asked: tuple[Asked, ...] = ANSWERS) -> gdp.Certificate | None:
    """The certificate of the answers, None for kinds that have none of these."""
    if reason_of(kind):
        return None
    # a line for each end of each answer is the work of composed losses
    return write_answers(profile_of(kind), asked[:2] if kind in DEAR else asked)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_answer(kind: str) -> None:
    """δ at ε, ε at δ, advantage, TPR and f(α) of every kind that has certificates hold."""
    # those of written curves take seconds: all of theirs are for the page, and the long run
    document = answers_of(kind, ANSWERS[: FEW.get(kind)])
    if document is None:
        return
    found = gdp.verify(document)
    assert found.valid
    assert len(document.claim.answers or ()) + 3 <= len(found.claims)
    if kind not in DEAR:
        assert read_for(document).code <= reading.MOST_CODE


def composed_in(folder: Path) -> gdp.Certificate:
    """The certificate of a composition of three."""
    names = []
    for number, profile in enumerate(
        (P.Laplace(scale=1), P.Gaussian(sigma=2), P.PureDP(epsilon=1))
    ):
        document = gdp.measure(profile).certificate
        assert document is not None
        names.append(folder / f"{number}.json")
        document.save(names[-1])
    return gdp.compose_certificates(names)


# every other sort of document; what it names is beside it in a folder
SORTS: dict[str, Callable[[Path], gdp.Certificate]] = {
    "calibrated to a μ": lambda _: gdp.calibrate("laplace", 1).certificate,
    "calibrated to a head's μ": lambda _: gdp.calibrate("laplace", 1, eps_h=0.5).certificate,
    "calibrated to an (ε, δ)": lambda _: (
        gdp.calibrate("gaussian", target_epsilon=1, target_delta=1e-6).certificate
    ),
    "calibrated to an advantage": lambda _: (
        gdp.calibrate("laplace", target_advantage=0.1).certificate
    ),
    "calibrated to a TPR at an FPR": lambda _: (
        gdp.calibrate("gaussian", target_tpr=0.1, target_fpr=0.01).certificate
    ),
    "number of steps": lambda _: (
        gdp.calibrate(
            "dpsgd", target_advantage=0.1, noise_multiplier=1, sample_rate=0.05
        ).certificate
    ),
    "sampling rate": lambda _: (
        gdp.calibrate(
            "dpsgd", target_epsilon=2, target_delta=1e-5, noise_multiplier=1, steps=20
        ).certificate
    ),
    "regret of a μ": lambda _: gdp.regret_certificate(gdp.measure(P.Laplace(scale=1))),
    "composition of three": composed_in,
    "sum of ρ": lambda _: gdp.measure(P.ZCDP(rho=0.3).compose(3)).certificate,
    "sum of divergences": lambda _: (
        gdp.measure(P.Sequence(parts=(profile_of("renyi"), P.ZCDP(rho=0.3))), eps_h=1).certificate
    ),
}


def test_the_page_knows_every_sort() -> None:
    """Every other sort of document has its row on the page."""
    assert set(SORTS) <= set(page_rows())


@pytest.mark.parametrize(
    "sort",
    [
        # the same is in the tests of calibrated parameters
        pytest.param(sort, marks=pytest.mark.deep) if sort == "number of steps" else sort
        for sort in SORTS
    ],
)
def test_every_sort(sort: str, tmp_path: Path) -> None:
    """Every other sort of document holds."""
    assert read_for(SORTS[sort](tmp_path), tmp_path).code <= reading.MOST_CODE


STEPS = {"noise_multiplier": 1, "sample_rate": 0.05}
RELATIONS = {"replaced": {"neighbours": "replace-one"}}
RELATIONS["fixed size"] = {**RELATIONS["replaced"], "sampling": "fixed-size"}
ON_SAMPLES = P.Sequence(
    parts=(
        P.PureDP(epsilon=1).subsample(0.1).compose(5),
        P.Laplace(scale=1).subsample(0.2).compose(5),
    )
)
LINES = P.DPSGD(**STEPS, steps=20)
LISTED = P.Sequence(parts=(P.DiscreteGaussian(sigma=3), P.DiscreteLaplace(scale=2).compose(3)))
# what needs most of the checker, at a tolerance that is cheap
UNLIKE: dict[str, tuple[Profile, dict[str, Any]]] = {
    "samples of pure-dp beside those of Laplace noise": (ON_SAMPLES, {"tol": 1e-3}),
    "lines beside a matrix": (
        P.Sequence(parts=tuple(map(profile_of, ("opacus", "matrix")))),
        {"tol": 1e-2},
    ),
    "a head of batches": (profile_of("truncated-batches"), {"eps_h": 2, "tol": 1e-2}),
    "replaced": (P.DPSGD(**STEPS, **RELATIONS["replaced"], steps=20), {"tol": 1e-2}),
    "discrete noise": (LISTED, {"tol": 1e-2}),
    "Laplace noise beside discrete noise": (
        P.Sequence(parts=(P.Laplace(scale=2).compose(2), P.DiscreteLaplace(scale=2))),
        {},
    ),
    "a group": (P.PureDP(epsilon=0.3).group(3), {}),
    "one sample": (P.Laplace(scale=0.5).subsample(0.2), {}),
}
DEEP: dict[str, tuple[Profile, dict[str, Any]]] = {
    "lines beside Laplace noise": (P.Sequence(parts=(LINES, P.Laplace(scale=2))), {"tol": 1e-2}),
    "lines beside what may fail": (
        P.Sequence(parts=(LINES, P.ApproxDP(epsilon=0.1, delta=1e-6))),
        {"tol": 1e-2, "failure": 1e-5},
    ),
    "one step, replaced": (P.DPSGD(**STEPS, **RELATIONS["replaced"], steps=1), {}),
    "nearly Gaussian": (P.DiscreteGaussian(sigma=5).compose(20), {}),
    "fixed size": (P.DPSGD(**STEPS, **RELATIONS["fixed size"], steps=100), {"tol": 1e-4}),
    "rare noise": (
        P.DPSGD(noise_multiplier=0.1, sample_rate=1e-5, steps=3000),
        {"failure": 1e-6, "tol": 1e-2},
    ),
    "several ranges": (
        P.Sequence(parts=(P.BoundedRange(range=0.5).compose(3), P.Laplace(scale=2))),
        {"tol": 1e-3},
    ),
}


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        *(pytest.param(*one, id=name) for name, one in UNLIKE.items()),
        *(pytest.param(*one, id=name, marks=pytest.mark.deep) for name, one in DEEP.items()),
    ],
)
def test_what_is_read_of_unlike_parts(profile: Profile, options: dict[str, Any]) -> None:
    """Sequences, samples, heads and lines of rare noise have a limit too."""
    document = gdp.measure(profile, **options).certificate
    assert document is not None
    assert read_for(document).code <= reading.MOST_OF_SEVERAL


@pytest.mark.parametrize(
    "profile",
    [P.PureDP(epsilon=1).subsample(0.1).compose(5), LISTED, profile_of("pld").compose(3)],
)
def test_what_is_read_of_their_answers(profile: Profile) -> None:
    """So have their answers, and a regret."""
    document = write_answers(profile, ANSWERS[:3])
    assert document is not None
    assert read_for(document).code <= reading.MOST_OF_SEVERAL
    if profile.kind == "composed" and profile.base.kind == "pld":
        regret = gdp.regret_certificate(gdp.measure(profile))
        assert read_for(regret).code <= reading.MOST_OF_SEVERAL


def checked(document: gdp.Certificate | None, folder: Path | None = None) -> str:
    """The size of a document, and how long it took to check it."""
    if document is None:
        return " | "
    # of work, as machines are busy now and then
    started = time.process_time()
    assert gdp.verify(document, folder=folder).valid
    taken = time.process_time() - started
    return f"{len(document.to_json()) / 1000:.1f} kB | {taken:.2f} s"


def main() -> None:
    """Print the page's tables."""
    known = {}
    for kind in sorted(kinds()):
        reason = reason_of(kind)
        if reason:
            print(f"| {kind} | {reason} | | | | |")
            continue
        document = gdp.measure(profile_of(kind), **EXAMPLES[kind][1]).certificate
        assert document is not None
        known[kind] = document
        print(f"| {kind} | yes | {checked(document)} | {checked(answers_of(kind))} |")
    print()
    with TemporaryDirectory() as folder:
        for sort, written in SORTS.items():
            print(f"| {sort} | {checked(written(Path(folder)), Path(folder))} |")
    print("\n| kind | code | all lines |\n|---|---|---|")
    for kind, document in known.items():
        print("| {} | {:,} | {:,} |".format(kind, *read_for(document)))


if __name__ == "__main__":
    main()
