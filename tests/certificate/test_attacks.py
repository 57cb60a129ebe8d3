"""Documents made by hand to have a false claim accepted."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from changes import accepted

import gdpbridge
from gdpbridge import profiles, verify
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify import check

SGD = profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0)
CROSSING = profiles.SGDFamily(A=1.0, B=0.5, sigma=1.0)
BARE = profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0)
LAPLACE = profiles.Laplace(scale=1.0)
ICEA = profiles.ICEA(messages=50, users=10)
APPROX = profiles.ApproxDP(epsilon=1.0, delta=0.01)


@cache
def _text(profile: Profile, how: tuple[tuple[str, Any], ...]) -> str:
    document = gdpbridge.measure(profile, **dict(how)).certificate
    assert document is not None
    return document.to_json()


def true(profile: Profile, **how: Any) -> dict[str, Any]:
    """A true certificate, as plain data to change."""
    parsed: dict[str, Any] = json.loads(_text(profile, tuple(how.items())))
    return parsed


def dyadic(value: Fraction | float) -> str:
    """A float as a certificate writes it."""
    number = Fraction(value)
    return f"0x{number.numerator:x}p-{number.denominator.bit_length() - 1}"


def cell(low: float, high: float, centre: float | None = None) -> dict[str, Any]:
    """A cell."""
    return {
        "low": dyadic(low),
        "high": dyadic(high),
        "centre": None if centre is None else dyadic(centre),
    }


@pytest.mark.parametrize("profile", [SGD, CROSSING, BARE, LAPLACE], ids=lambda p: repr(p)[:40])
@pytest.mark.parametrize("share", ["0.999999", "0.9", "0.5", "0.01"])
@pytest.mark.parametrize("centre", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 64])
def test_no_cover_proves_a_mu_that_is_too_small(
    profile: Profile, share: str, centre: float | None, count: int
) -> None:
    """Wide or narrow cells, centred anywhere, do not cover what is false."""
    document = true(profile)
    low = Fraction(document["claim"]["mu"]["low"])
    for bracket in document["evidence"]["breakpoints"]:
        bracket["low"] = bracket["low"]
    document["claim"]["mu"] = {"low": "0", "high": f"{float(low * Fraction(share)):.17f}"}
    width = 8.0 / count
    cells = []
    for i in range(count):
        at = None if centre is None else (i + centre) * width
        cells.append(cell(i * width, (i + 1) * width, at))
    document["evidence"]["cells"] = cells
    if document["evidence"]["tail_from"]:
        document["evidence"]["tail_from"] = dyadic(8.0)
    assert not accepted(document)


def test_a_zero_gaussian_is_not_a_unit_gaussian() -> None:
    """Past a failure, the curve of μ = 0 must not be evaluated as that of another μ."""
    document = true(profiles.GDP(mu=1.0), failure=0.1)
    assert accepted(document)
    document["mechanism"]["mu"] = "0"
    document["claim"]["mu_tail"] = {"low": "0", "high": "0"}
    assert not accepted(document)
    document["claim"]["mu"] = {"low": "0", "high": "0"}
    document["evidence"]["cells"] = []
    assert accepted(document)


@pytest.mark.parametrize("profile", [ICEA, APPROX], ids=["icea", "approx-dp"])
def test_no_finite_mu_covers_a_heavy_tail(profile: Profile) -> None:
    """A whole-range statement needs the tail, which is not covered by any range."""
    document = true(profile, eps_h=2)
    document["claim"] |= {"statement": "whole", "eps_h": None, "failure_probability": "0"}
    document["claim"]["mu"] = {"low": "0", "high": "1000"}
    document["evidence"]["cells"] = [cell(0, 0.5), cell(0.5, 2.0**200)]
    for tail_from in (None, "0x0p+0", "0x1p+200"):
        document["evidence"]["tail_from"] = tail_from
        assert not accepted(document)
    document["claim"]["verdict"] = "gdp"
    assert not accepted(document)


def test_one_cell_to_infinity() -> None:
    """Infinite intervals prove nothing."""
    for mu in ("0", "1e-9999", "1e-390", "1000000", "1"):
        for profile in (SGD, LAPLACE, BARE):
            for centre in (None, 0.0, 1.0, 2.0**200):
                document = true(profile)
                document["claim"]["mu"] = {"low": "0", "high": mu}
                document["evidence"]["cells"] = [cell(0, 2.0**200, centre)]
                if document["evidence"]["tail_from"]:
                    document["evidence"]["tail_from"] = "0x1p+200"
                assert not accepted(document) or mu == "1000000"


@pytest.mark.parametrize("start", [0.0, 0.25, 1.0])
def test_a_tail_that_begins_too_early(start: float) -> None:
    """The tail's form holds from the touching point on, and there its inequality must hold."""
    document = true(SGD)
    document["evidence"]["tail_from"] = dyadic(start)
    assert not accepted(document)
    document["claim"]["mu"] |= {"low": "0"}
    document["evidence"]["witness"] = None
    document["evidence"]["cells"] = document["evidence"]["cells"][:1]
    assert not accepted(document)


def test_a_tail_below_the_tail_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    """M < μ_t is refused however late the tail begins."""
    # the second one takes all the work that there is
    monkeypatch.setattr(check, "MAX_WORK", 1e6)
    document = true(profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0))
    document["claim"]["mu"] = {"low": "0", "high": "0.707106"}
    for start in (2.0**4, 2.0**10, 2.0**40):
        document["evidence"]["tail_from"] = dyadic(start)
        document["evidence"]["cells"].append(
            {
                "low": document["evidence"]["cells"][-1]["high"],
                "high": dyadic(start),
                "centre": None,
            }
        )
        assert not accepted(document)
        document["evidence"]["cells"].pop()


def test_a_tail_witness_elsewhere() -> None:
    """The tail shows a lower end only for the whole range, and up to μ_t."""
    document = true(profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0))
    assert document["evidence"]["witness"] == "tail"
    document["claim"]["mu"] = {"low": "0.7071067812", "high": "0.7071067813"}
    assert not accepted(document)
    head = true(profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0), eps_h=1)
    head["claim"]["mu"]["low"] = head["claim"]["mu"]["high"]
    head["evidence"]["witness"] = "tail"
    assert not accepted(head)
    laplace = true(LAPLACE)
    laplace["claim"]["mu"]["low"] = laplace["claim"]["mu"]["high"]
    laplace["evidence"]["witness"] = "tail"
    assert not accepted(laplace)


def test_wide_brackets_only_weaken() -> None:
    """A wide bracket about ε_i is right, but no formula holds in it, and δ(eps_h) is unknown."""
    document = true(SGD, eps_h=2)
    [bracket] = document["evidence"]["breakpoints"]
    bracket["low"], bracket["high"] = dyadic(1.0), dyadic(4.0)
    document["claim"]["failure_probability"] = "1e-9"
    assert not accepted(document)
    document["claim"]["failure_probability"] = "0.5"
    assert not accepted(document)


@pytest.mark.parametrize("change", ["drop", "swap", "repeat", "overlap", "first", "none"])
def test_other_brackets(change: str) -> None:
    """Brackets that leave out the crossing, overlap or stand in the wrong order."""
    document = true(CROSSING)
    crossing, touching = document["evidence"]["breakpoints"]
    document["evidence"]["breakpoints"] = {
        "drop": [touching],
        "first": [crossing],
        "swap": [touching, crossing],
        "repeat": [touching, touching],
        "overlap": [{"low": crossing["low"], "high": touching["high"]}, touching],
        "none": [],
    }[change]
    assert not accepted(document)


@pytest.mark.parametrize("factor", ["1", "0.99999999999999999999", "1.00000000000000000001"])
def test_a_factor_about_one(factor: str) -> None:
    """B = 1 is refined from 0 on; the shapes of B < 1 do not fit it, nor its μ a larger B."""
    document = true(profiles.SGDFamily(A=1.0, B=1.0, sigma=1.0))
    document["mechanism"]["B"] = factor
    document["evidence"]["breakpoints"] = []
    assert not accepted(document)


def test_a_witness_beyond_the_support() -> None:
    """Where δ is 0 nothing is exceeded."""
    for witness in (1.0, 1.0 + 2.0**-40, 5.0, 2.0**190):
        document = true(LAPLACE)
        document["claim"]["mu"]["low"] = document["claim"]["mu"]["high"]
        document["evidence"]["witness"] = dyadic(witness)
        assert not accepted(document)


def test_a_witness_beyond_the_head() -> None:
    """What happens after eps_h does not count against a head."""
    document = true(profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0), eps_h=0.1)
    whole = true(profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0))
    document["claim"]["mu"]["low"] = document["claim"]["mu"]["high"] = whole["claim"]["mu"]["low"]
    document["evidence"]["witness"] = whole["evidence"]["witness"]
    assert not accepted(document)


@pytest.mark.parametrize("failure", ["0." + "9" * 390, "1", "1e-390", "0"])
def test_extreme_failure_probabilities(failure: str) -> None:
    """A failure probability near 1 or 0 is compared exactly."""
    document = true(LAPLACE, failure=0.1)
    document["claim"]["failure_probability"] = failure
    assert not accepted(document)
    document["claim"]["mu"] = {"low": "0", "high": "0"}
    document["evidence"] |= {"cells": [], "witness": None}
    assert accepted(document) == failure.startswith("0.9")


@pytest.mark.parametrize("failure", ["0.0099", "0.01", "0.009" + "9" * 380])
def test_no_finite_mu_below_the_mass_at_infinity(failure: str) -> None:
    """Past δ₀ a finite μ exists; short of it, none."""
    infinite = true(APPROX, failure=0.005)
    infinite["claim"]["failure_probability"] = failure
    assert accepted(infinite) == (failure != "0.01")
    finite = true(APPROX, failure=0.01)
    finite["claim"]["failure_probability"] = failure
    assert accepted(finite) == (failure == "0.01")


def test_a_cell_over_a_breakpoint() -> None:
    """It is proved on each side, and between them; too small a μ is refused all the same."""
    for profile in (SGD, ICEA):
        document = true(profile, eps_h=3)
        high = Fraction(document["claim"]["mu"]["high"])
        for centre in (0, 1.5, 3):
            document["evidence"]["cells"] = [cell(0, 3, centre)]
            document["claim"]["mu"] = {"low": "0", "high": f"{float(high):.15f}"}
            assert accepted(document)
            document["claim"]["mu"]["high"] = f"{float(high) * (1 - 1e-6):.15f}"
            assert not accepted(document)


def test_margins_are_of_lines() -> None:
    """Of an approximate statement too, of which a cell where δ ≤ p has nothing to prove."""
    document = true(profiles.Laplace(scale=1.0), failure=0.01)
    last = document["evidence"]["cells"][-1]["high"]
    document["evidence"]["cells"].append({"low": last, "high": "0x1p+0", "centre": None})
    found = verify(document)
    assert found.valid
    names = [name for name, _ in found.margins]
    assert "evidence.cells[0]" in names
    assert all(names)


def test_a_gaussian_has_no_other_mu() -> None:
    """The shortcut for Gaussian curves compares with the exact quotient."""
    document = true(profiles.Gaussian(sigma=3.0))
    for low, high in (("0", "0.333333333333333333333333"), ("0.3333333333333333333333334", "1")):
        document["claim"]["mu"] = {"low": low, "high": high}
        assert not accepted(document)


def test_a_head_to_nowhere() -> None:
    """δ(eps_h) must be covered by the failure probability that is claimed."""
    document = true(profiles.GDP(mu=1.0), eps_h=1)
    failure = Fraction(document["claim"]["failure_probability"])
    for share in (Fraction(0), Fraction(1, 2), 1 - Fraction(1, 10**9)):
        document["claim"]["failure_probability"] = f"{float(failure * share):.25f}"
        assert not accepted(document)
    document["claim"]["failure_probability"] = "1"
    assert accepted(document)
