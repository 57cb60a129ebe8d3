"""Compositions of randomized response by ε with more than two answers have certificates."""

from __future__ import annotations

import json
from fractions import Fraction

import mpmath
import pytest
from changes import outcome

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.finite import response_by_epsilon

ONE = profiles.RandomizedResponse(epsilon=1, buckets=4)
BESIDE = profiles.Laplace(scale=2, neighbours="replace-one")


@pytest.mark.parametrize("profile", [ONE.compose(3), profiles.Sequence(parts=(ONE, BESIDE))])
def test_more_than_two_buckets(profile: Profile) -> None:
    """They hold, and for fewer buckets or a larger ε they are refused."""
    found = gdp.measure(profile, tol=1e-6).certificate
    assert found is not None
    document = json.loads(found.to_json())
    assert outcome(document) == "valid"
    prefix = next(name for name in document["mechanism"] if name.endswith("epsilon"))
    for name, text in (("epsilon", "1.01"), ("epsilon", "0.9"), ("buckets", "3"), ("buckets", "5")):
        changed = json.loads(found.to_json())
        changed["mechanism"][prefix.removesuffix("epsilon") + name] = text
        assert outcome(changed) != "valid"


@pytest.mark.parametrize("buckets", [2, 3, 50])
def test_masses(buckets: int) -> None:
    """Each of the others has one part, the true answer e^ε: by mpmath."""
    law = response_by_epsilon(Fraction(1, 2), buckets)
    top = mpmath.exp(0.5)
    wanted = {-1: 1, 0: buckets - 2, 1: top}
    for place, found in zip(law.places, law.masses(Arithmetic(96)), strict=True):
        assert abs(float(found.low) - wanted[place] / (top + buckets - 1)) < 1e-12
