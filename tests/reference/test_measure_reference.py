"""Every method against suprema found elsewhere by dense scans at 60 digits."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.mechanisms.base import Profile

ROWS = json.loads(
    (Path(__file__).parents[1] / "data" / "measurements.json").read_text(encoding="utf-8")
)
TOLERANCES = [
    pytest.param(tol, marks=marks)
    for tol, marks in (
        ("1e-2", ()),
        ("1e-4", pytest.mark.deep),
        ("1e-6", pytest.mark.deep),
        ("1e-9", ()),
    )
]
# more grid steps than these take seconds and show nothing new
MOST_STEPS = 60_000


def profile_of(row: dict[str, Any]) -> Profile:
    cls = profiles.profile_class(row["kind"])
    whole = ("messages", "users", "buckets")
    return cls(**{k: int(v) if k in whole else float(v) for k, v in row["parameters"].items()})


def scope_of(row: dict[str, Any]) -> dict[str, str]:
    return {name: row[name] for name in ("eps_h", "failure") if name in row}


def name(row: dict[str, Any]) -> str:
    return " ".join([row["kind"], *row["parameters"].values(), *scope_of(row).values()])


def holds(found: gdp.Measurement, row: dict[str, Any], tol: str) -> None:
    """The interval holds the value, all forty digits of it, and is as narrow as asked for."""
    off = Fraction(row["mu"]) / 10**39
    assert Fraction(found.mu.low) <= Fraction(row["mu"]) + off
    assert Fraction(found.mu.high) >= Fraction(row["mu"]) - off
    assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction(tol)


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_certified(row: dict[str, Any]) -> None:
    """Certified from 1e-2 to 1e-30: right, narrow, attained where the scan says, few cells."""
    profile = profile_of(row)
    flat = row["kind"] == "gdp"
    for tol in ("1e-2", "1e-4", "1e-6", "1e-9", "1e-12", "1e-30")[: 4 if flat else 6]:
        found = gdp.measure(profile, tol, **scope_of(row))
        assert found.certified
        assert found.evaluations <= 5000
        holds(found, row, tol)
        if not flat:
            assert found.cells <= 300
    if row["at"] != "+inf":
        # G is flat there: half the digits are all that a place has
        assert found.attained_at == pytest.approx(float(row["at"]), abs=1e-3)
    else:
        assert found.attained_at == float("inf")


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_adaptive(row: dict[str, Any], tol: str) -> None:
    """Adaptive: right and narrow down to 1e-9, in floating point and without proof."""
    if row["kind"] == "gdp" and tol in ("1e-6", "1e-9"):
        pytest.skip("G is flat on a long range, and every cell of it remains")
    if 4e-12 * float(row["mu"]) > 0.1 * float(tol):
        # the error budget of floats is more than the tenth that is kept back for it
        with pytest.raises(UndecidedError, match="could only be narrowed"):
            gdp.measure(profile_of(row), tol, method="adaptive", **scope_of(row))
        return
    found = gdp.measure(profile_of(row), tol, method="adaptive", **scope_of(row))
    # only that nothing is left is proved without floats
    assert found.certified == (row["mu"] == "0")
    holds(found, row, tol)


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("method", ["staircase", "shuffled"])
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_listings(row: dict[str, Any], method: str, tol: str) -> None:
    """The two listings: right and narrow, or refused with the number they would need."""
    profile = profile_of(row)
    if 5 * length(profile, row) / float(tol) > MOST_STEPS and float(tol) > 1e-8:
        pytest.skip("takes seconds, and shows nothing that larger tolerances do not")
    found = attempt(profile, row, method, tol)
    if isinstance(found, WorkLimitError):
        assert found.needed > found.limit >= MOST_STEPS
        assert f"{found.needed:,}" in str(found)
        return
    assert found.certified == (row["mu"] == "0")
    holds(found, row, tol)


def attempt(
    profile: Profile, row: dict[str, Any], method: str, tol: str
) -> gdp.Measurement | WorkLimitError:
    try:
        return gdp.measure(profile, tol, method=method, **scope_of(row))
    except WorkLimitError as error:
        return error


def length(profile: Profile, row: dict[str, Any]) -> float:
    """About how long the range is that a listing walks."""
    if "eps_h" in row:
        return float(row["eps_h"])
    end = profile.curve.end
    return float(end) if isinstance(end, Fraction) else 5.0


def test_the_reference_is_the_literature() -> None:
    """The scans reproduce what is known of Laplace at ε₀ = 2 and of the family (2, 1, 2)."""
    known = {name(row): Decimal(row["mu"]) for row in ROWS}
    assert str(known["laplace 0.5"]).startswith("1.80090519327558068")
    assert str(known["sgd-family 2 1 2"]).startswith("1.85635728853160437")
    assert str(known["pure-dp 0.2"]).startswith("0.2504839")
