"""Several runs: one order of all only where there is one; no lower end of a bound that is made."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import gdpbridge
from gdpbridge import profiles
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.divergences import divergences_of


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_of_each_run_the_divergence_in_the_larger_order_counts(relation: str) -> None:
    """E_P[p/q] is 4/3 in one order and 5/4 in the other: of f and f⁻¹ it may be 4/3 twice."""
    spec: dict[str, str | None] = {"kind": "sequence", "neighbours": relation}
    for number, rows in enumerate(("0:1 1/4:1/2 1:0", "0:1 1/2:1/4 1:0")):
        spec |= {f"parts.{number}.kind": "tradeoff-function", f"parts.{number}.rows": rows}
    of = Arithmetic(96)
    exactly, rest = divergences_of(spec, of).at(of, Fraction(2))
    assert exactly == 0
    assert float(rest.high) == pytest.approx(2 * math.log(4 / 3), rel=1e-12)


def test_that_one_data_set_comes_first_is_assumed_where_no_neighbours_are_named() -> None:
    """It is no part of what is proved; add-remove neighbours have such an order."""
    for relation, times, is_said in ((None, 2, True), ("add-remove", 2, False), (None, 1, False)):
        one = profiles.PLD(
            remove=[[-1, 0.2], [1, 0.8]], add=[[-1, 0.25], [1, 0.75]], neighbours=relation
        )
        found = gdpbridge.measure(one.compose(times)).certificate
        assert found is not None
        last = gdpbridge.verify(json.loads(found.to_json())).claims[-1]
        assert last.endswith("one data set of each coming first in all runs") == is_said


@pytest.mark.parametrize("kind", ["skellam", "random-allocation"])
def test_no_smaller_mu_is_claimed_of_a_bound_that_the_checker_makes(kind: str) -> None:
    """Another checker may have a closer bound: a lower end that this one reaches is refused."""
    one = {
        "skellam": lambda: profiles.Skellam(variance=6.5, sensitivity=2).compose(2),
        "random-allocation": lambda: profiles.RandomAllocation(
            noise_multiplier=1.5, steps=3, epochs=1, neighbours="add-remove"
        ),
    }[kind]()
    found = gdpbridge.measure(one, failure=1e-6).certificate
    assert found is not None
    document = json.loads(found.to_json())
    assert document["claim"]["mu"]["low"] == "0"
    assert gdpbridge.verify(document).valid
    document["claim"]["mu"]["low"] = "0.01"
    document["evidence"]["witness"] = "0x1p-1"
    with pytest.raises(gdpbridge.InputError, match=r"claim.mu.low is '?0\.01'?: must be 0"):
        gdpbridge.verify(document)
