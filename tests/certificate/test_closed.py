"""Certificates of composed losses whose δ is a formula: by hand, and of what is none."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
from changes import outcome
from truth import gaussian_curve

Document = dict[str, Any]
mpf = mpmath.mpf
EVERYTHING = {"low": "0", "high": "inf"}
FAILS = {"kind": "approx-dp", "epsilon": "0", "delta": "0.001"}
GAUSSIAN = {"kind": "gaussian", "sigma": "2", "sensitivity": "1"}
LAPLACE = {"kind": "laplace", "scale": "2", "sensitivity": "1"}
STEP = {"kind": "dpsgd", "noise_multiplier": "0.8", "sample_rate": "0.1", "steps": "1"}
ADDED = {**STEP, "neighbours": "add-remove"}
REPLACED = {**STEP, "neighbours": "replace-one"}
FIXED = {**REPLACED, "sampling": "fixed-size"}
NORMAL = {"kind": "discrete-gaussian", "sigma": "2", "sensitivity": "1"}


def document_of(*parts: dict[str, str], **claim: object) -> Document:
    """A document about parts that are run one after another, of which nothing is shown."""
    named = {f"parts.{k}.{name}": text for k, one in enumerate(parts) for name, text in one.items()}
    own = {"kind": "sequence", "neighbours": None}
    return {
        "schema": {"name": "gdpbridge.certificate", "version": 1},
        "generator": "",
        "mechanism": dict(parts[0]) if len(parts) == 1 else {**own, **named},
        "claim": {
            "verdict": "unknown", "statement": "answers", "mu": EVERYTHING, "eps_h": None,
            "failure_probability": "0", "mu_tail": EVERYTHING, **claim,
        },
        "evidence": {
            "breakpoints": [], "cells": [], "witness": None, "tail_from": None,
            "points": [{}] if "answers" in claim else None,
            "directions": [{"pieces": [], "cells": []}],
        },
    }  # fmt: skip


def is_proved(at: str, low: mpf, high: mpf, *parts: dict[str, str]) -> bool:
    """Whether the checker finds δ between two numbers."""
    ends = {"low": mpmath.nstr(low, 20), "high": mpmath.nstr(high, 20)}
    answer = {"quantity": "delta", "at": at, **ends}
    return outcome(document_of(*parts, answers=[answer])) == "valid"


def _beside_failures(value: mpf, *chances: str) -> mpf:
    kept = mpmath.fprod(1 - mpf(one) for one in chances)
    return 1 - kept + kept * value


def _sampled(eps: mpf, mu: mpf) -> mpf:
    q = mpf("0.1")
    return q * gaussian_curve(mpmath.log1p(mpmath.expm1(eps) / q), mu)


@pytest.mark.parametrize("eps", ["0", "0.25", "1.5"])
def test_a_formula_is_what_it_is_by_hand(eps: str) -> None:
    """μ² adds up over runs, a chance of failing mixes, and one step on a sample is one curve."""
    with mpmath.workdps(40):
        e = mpf(eps)
        cases = [
            (
                _beside_failures(gaussian_curve(e, mpmath.sqrt(3) / 2), "0.001"),
                ({**GAUSSIAN, "count": "3"}, FAILS),
            ),
            (
                _beside_failures(gaussian_curve(e, mpmath.sqrt(2) / 2), "0.001", "0.001"),
                (GAUSSIAN, {**FAILS, "count": "2"}, GAUSSIAN),
            ),
            (_sampled(e, 1 / mpf("0.8")), (ADDED,)),
            (_beside_failures(_sampled(e, 1 / mpf("0.8")), "0.001"), (ADDED, FAILS)),
            (_beside_failures(_sampled(e, 2 / mpf("0.8")), "0.001"), (FIXED, FAILS)),
        ]
        for value, parts in cases:
            assert is_proved(eps, value * (1 - mpf("1e-12")), value * (1 + mpf("1e-12")), *parts)
            assert not is_proved(eps, value * (1 + mpf("1e-12")), mpf(1), *parts)
            assert not is_proved(eps, mpf(0), value * (1 - mpf("1e-12")), *parts)


@pytest.mark.parametrize(
    "parts",
    [
        ({**ADDED, "steps": "2"},), (ADDED, ADDED), ({**ADDED, "count": "2"}, FAILS),
        (REPLACED, REPLACED), (FIXED, FIXED), (ADDED, GAUSSIAN), (LAPLACE, ADDED),
        (LAPLACE, GAUSSIAN), (LAPLACE, NORMAL), (NORMAL,), (FAILS, FAILS, ADDED, ADDED),
    ],
)  # fmt: skip
def test_of_what_is_no_formula_nothing_is_proved_by_none(parts: tuple[dict[str, str], ...]) -> None:
    """Two steps, or noise of other kinds: without lines or laws not even δ ≤ 0.999999."""
    assert is_proved("0.5", mpf(0), mpf("0.999999"), ADDED)
    assert not is_proved("0.5", mpf(0), mpf("0.999999"), *parts)


def _approximate(failure: str, high: mpf, *parts: dict[str, str]) -> str:
    mu = {"low": "0", "high": mpmath.nstr(high, 20)}
    claim = {"statement": "approximate", "failure_probability": failure, "mu": mu}
    return outcome(document_of(*parts, **claim))


def test_past_a_failure_gaussian_noise_is_proved_at_zero() -> None:
    """(1 - p)·Φ(-M/2) ≤ (1 - v)·Φ(-μ/2) with p ≥ v, and of nothing but Gaussian noise."""
    v, p = mpf("0.001"), mpf("0.01")
    with mpmath.workdps(40):
        share = (1 - v) / (1 - p) * mpmath.ncdf(-mpf(1) / 4)
        least = 2 * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * share)
        assert _approximate("0.01", least * (1 + mpf("1e-12")), GAUSSIAN, FAILS) == "valid"
        assert _approximate("0.01", least * (1 - mpf("1e-12")), GAUSSIAN, FAILS) == "refused"
    assert _approximate("0.0010001", mpf("0.5001"), GAUSSIAN, FAILS) == "valid"
    for parts in ((GAUSSIAN, FAILS), (ADDED, FAILS), (FIXED,)):
        assert _approximate("0.00099", mpf(40), *parts) != "valid"
    # other noise needs cells, or has no formula
    for parts in ((LAPLACE, LAPLACE), (LAPLACE, FAILS), (ADDED,), (ADDED, FAILS), (REPLACED,)):
        assert _approximate("0.01", mpf("0.001"), *parts) != "valid"
