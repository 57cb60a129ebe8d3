"""Certificates of composed losses whose δ is a formula: by hand, and of what is none."""

from __future__ import annotations

from fractions import Fraction
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


def _replaced(eps: mpf) -> mpf:
    """P(X > x) - e^ε·Q(X > x), where 9/10 and 1/10 of N(0, σ²) and N(±1, σ²) are e^ε apart."""
    q, sd, t = mpf("0.1"), mpf("0.8"), mpmath.exp(eps)

    def mixed(of: Any, x: mpf, shift: int) -> mpf:
        return (1 - q) * of(x / sd) + q * of((x - shift) / sd)

    def gap(x: mpf) -> mpf:
        return mpmath.log(mixed(mpmath.npdf, x, 1) / mixed(mpmath.npdf, x, -1)) - eps

    x = mpmath.findroot(gap, (mpf(-5), mpf(15)), solver="anderson", tol=1e-50) if eps else mpf(0)

    def above(y: mpf) -> mpf:
        return mpmath.ncdf(-y)

    return mixed(above, x, 1) - t * mixed(above, x, -1)


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
            (_beside_failures(_replaced(e), "0.001"), (REPLACED, FAILS)),
            (
                _beside_failures(gaussian_curve(e, mpf(5)), "0.001"),
                ({**GAUSSIAN, "sigma": "0.2"}, FAILS),
            ),
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
        (LAPLACE, GAUSSIAN), (LAPLACE, NORMAL), (FAILS, FAILS, ADDED, ADDED),
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
    # of a head nothing is proved at 0 alone
    head = {"statement": "head", "failure_probability": "0.9", "eps_h": "1"}
    mu = {"low": "0", "high": "0.001"}
    assert outcome(document_of(GAUSSIAN, FAILS, **head, mu=mu)) != "valid"
    # other noise needs cells, or has no formula
    for parts in ((LAPLACE, LAPLACE), (LAPLACE, FAILS), (ADDED,), (ADDED, FAILS), (REPLACED,)):
        assert _approximate("0.01", mpf("0.001"), *parts) != "valid"


def _laplace(eps: mpf, end: mpf) -> mpf:
    """δ of Laplace noise at an ε of either sign."""
    if eps < -end:
        return 1 - mpmath.exp(eps)
    return max(1 - mpmath.exp((eps - end) / 2), mpf(0))


def _with(law: dict[float, mpf], eps: mpf, end: mpf) -> mpf:
    """δ of Laplace noise beside losses with these probabilities."""
    return sum(mass * _laplace(eps - loss, end) for loss, mass in law.items())


# losses of 0 in one direction, ±1/2 with 5/8 and 3/8 in the other
LISTED = {
    "kind": "pld", "remove": "inf:0 0:0x1p+0", "remove_unit": "1",
    "add": "inf:0 -1:0x3p-3 1:0x5p-3", "add_unit": "1/2",
}  # fmt: skip
PURE = {"kind": "pure-dp", "epsilon": "0.75"}


@pytest.mark.parametrize("eps", ["0", "0.25", "0.625", "1.125"])
def test_laplace_noise_beside_other_losses_is_what_it_is_by_hand(eps: str) -> None:
    """Each loss moves the profile of the noise; of two directions the larger δ counts."""
    with mpmath.workdps(40):
        e, end, half = mpf(eps), mpf("0.5"), mpf("0.5")
        share = 1 / (1 + mpmath.exp(mpf("0.75")))
        pure = {-mpf("0.75"): share, mpf("0.75"): 1 - share}
        listed = {-half: mpf(3) / 8, half: mpf(5) / 8}
        cases = [
            (_beside_failures(_laplace(e, end), "0.001"), (LAPLACE, FAILS)),
            (_with(pure, e, end), (LAPLACE, PURE)),
            (_beside_failures(_with(pure, e, end), "0.001"), (PURE, FAILS, LAPLACE)),
            (max(_laplace(e, end), _with(listed, e, end)), (LAPLACE, LISTED)),
        ]
        for value, parts in cases:
            off = mpf("1e-12")
            assert is_proved(eps, max(value - off, mpf(0)), value + off, *parts)
            assert not is_proved(eps, value + off, mpf(1), *parts)
            assert value < off or not is_proved(eps, mpf(0), value - off, *parts)


@pytest.mark.parametrize("ends", [("1/100", "0"), ("0", "1/100"), ("1/50", "1/100")])
def test_no_mu_will_do_below_the_larger_chance_of_failing(ends: tuple[str, str]) -> None:
    """It may be that of either direction; at it and above, something finite may."""
    law = {
        name: f"inf:{end} 0:0x{int((1 - Fraction(end)) * 2**60):x}p-60"
        for name, end in zip(("remove", "add"), ends, strict=True)
    }
    part = {"kind": "pld", "remove_unit": "1", "add_unit": "1", **law}
    infinite = {"low": "inf", "high": "inf"}
    tail = {"verdict": "not-gdp", "mu_tail": infinite, "statement": "approximate", "mu": infinite}
    top = max(map(Fraction, ends))
    for failure, expected in (("0.999", "valid"), ("1", "refused"), ("1.001", "refused")):
        p = str(float(top * Fraction(failure)))
        for parts in ((part,), (part, GAUSSIAN), (part, {**LAPLACE, "count": "2"})):
            assert outcome(document_of(*parts, failure_probability=p, **tail)) == expected
