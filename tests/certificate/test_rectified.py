"""Certificates of clip and rectify: what runs describe, by hand, and runs that are none."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
from changes import outcome

Document = dict[str, Any]
mpf = mpmath.mpf
# noise of ε_h = 3, a base of laplace with ε₀ = 2
NOISE, BASE = 3, 2


def document_of(runs: str, knots: str, at: str = "0", high: str = "1", low: str = "0") -> Document:
    """A document that claims an interval for δ at an ε of such runs alone."""
    everything = {"low": "0", "high": "inf"}
    answer = {"quantity": "delta", "at": at, "low": low, "high": high}
    base = {"base.kind": "laplace", "base.scale": "0.5", "base.sensitivity": "1"}
    own = {"kind": "clip-rectify", "neighbours": None, "eps_h": str(NOISE)}
    return {
        "schema": {"name": "gdpbridge.certificate", "version": 1},
        "generator": "",
        "mechanism": {**own, "runs": runs, "knots": knots, **base},
        "claim": {
            "verdict": "unknown", "statement": "answers", "mu": everything, "eps_h": None,
            "failure_probability": "0", "mu_tail": everything, "answers": [answer],
        },
        "evidence": {
            "breakpoints": [], "cells": [], "witness": None, "tail_from": None, "points": [{}]
        },
    }  # fmt: skip


def _bound(end: int, eps: mpf) -> mpf:
    return max(1 - mpmath.exp((eps - end) / 2), mpf(0))


def _line(left: tuple[mpf, mpf], right: tuple[mpf, mpf], eps: mpf) -> mpf:
    (a, y), (b, z) = left, right
    return y + (z - y) * (mpmath.exp(eps) - mpmath.exp(a)) / (mpmath.exp(b) - mpmath.exp(a))


@pytest.mark.parametrize(
    ("runs", "knots", "at", "expected"),
    [
        ("base", "0x0p+0", 1, _bound(BASE, mpf(1))),
        ("noise", "0x0p+0", 1, _bound(NOISE, mpf(1))),
        ("noise base", "0x0p+0 0x1p+0", 0.5, _bound(NOISE, mpf(0.5))),
        ("noise base", "0x0p+0 0x1p+0", 1.5, _bound(BASE, mpf(1.5))),
        (
            "noise line base", "0x0p+0 0x1p-2 0x1p+0", 0.5,
            _line((mpf(0.25), _bound(3, mpf(0.25))), (mpf(1), _bound(2, mpf(1))), mpf(0.5)),
        ),
        (
            "base line noise", "0x0p+0 0x1p-2 0x5p-1", 2,
            _line((mpf(0.25), _bound(2, mpf(0.25))), (mpf(2.5), _bound(3, mpf(2.5))), mpf(2)),
        ),
        (
            "base line", "0x0p+0 0x1p-2", 2.5,
            _line((mpf(0.25), _bound(2, mpf(0.25))), (mpf(3), mpf(0)), mpf(2.5)),
        ),
    ],
)  # fmt: skip
def test_what_runs_describe(runs: str, knots: str, at: float, expected: mpf) -> None:
    """δ is a bound's, or a line's in e^ε between two of them: no less and no more."""
    for share, ends in ((1 - 1e-9, ("valid", "refused")), (1 + 1e-9, ("refused", "valid"))):
        value = mpmath.nstr(expected * share, 15)
        assert outcome(document_of(runs, knots, str(at), low=value)) == ends[0]
        assert outcome(document_of(runs, knots, str(at), high=value)) == ends[1]


@pytest.mark.parametrize(
    ("runs", "knots"),
    [
        # as many, of known bounds, a line between two of them
        ("base", "0x0p+0 0x1p+0"), ("base noise", "0x0p+0"), ("base other", "0x0p+0 0x1p+0"),
        ("line base", "0x0p+0 0x1p+0"), ("base line line", "0x0p+0 0x1p+0 0x1p+1"), ("", ""),
        ("base line line noise", "0x0p+0 0x1p-1 0x1p+0 0x1p+1"), ("base  noise", "0x0p+0 0x1p+0"),
        # from 0 on, in order
        ("base", "0x1p+0"), ("base noise base", "0x0p+0 0x1p+0 0x1p-1"), ("base", "0"),
        ("base noise", "0x0p+0 -0x1p+0"), ("base", "0x0p+0000"), ("base noise", "0x0p+0 0x1p+"),
        # a knot of a line where its bound has ended, and lines that do not fall
        ("noise line base", "0x0p+0 0x1p+0 0x1p+1"), ("base line noise", "0x0p+0 0x1p+0 0x1p+0"),
        ("base line noise", "0x0p+0 0x1p+0 0x9p-3"), ("noise line", "0x0p+0 0x3p+0"),
        # more than there is any use for
        (" ".join(["base", "noise"] * 51), " ".join(f"0x{k:x}p-7" for k in range(102))),
    ],
)  # fmt: skip
def test_runs_that_describe_nothing(runs: str, knots: str) -> None:
    """Nothing at all is proved of them, not even that δ is at most 1 somewhere on a bound."""
    assert outcome(document_of("base", "0x0p+0", "0.25")) == "valid"
    assert outcome(document_of(runs, knots, "0.25", "0.99")) in ("no certificate", "undecided")


def test_a_bound_that_never_ends_is_ended_by_the_noise() -> None:
    """Of icea alone δ is never 0; no other parameter is read either."""
    document = document_of("base", "0x0p+0")
    own = {name: text for name, text in document["mechanism"].items() if "base." not in name}
    icea = {"base.kind": "icea", "base.messages": "20", "base.users": "4"}
    document["mechanism"] = {**own, **icea, "neighbours": "replace-one", "knots": "0x0p+0"}
    document["evidence"]["breakpoints"] = [{"low": "0x1p+0", "high": "0x5p-2"}]
    assert outcome(document) == "no certificate"
    ended = {"runs": "base line", "knots": "0x0p+0 0x1p+1"}
    document["mechanism"] |= ended
    assert outcome(document) == "valid"
    document["mechanism"]["scale"] = "1"
    assert outcome(document) == "no certificate"
