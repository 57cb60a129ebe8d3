"""Measurements of OpenDP as profiles: by the law of their noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp

dp: Any = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

P = gdp.profiles
REAL = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
VECTOR = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
WHOLE_VECTOR = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
NUMBERS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


@pytest.mark.parametrize(
    ("measurement", "distance", "profile"),
    [
        (dp.m.make_laplace(*REAL, scale=2.0), 1.0, P.Laplace(scale=2)),
        (dp.m.make_laplace(*WHOLE, scale=2.0), 3, P.DiscreteLaplace(scale=2, sensitivity=3)),
        (dp.m.make_geometric(*WHOLE, scale=2.0, bounds=(0, 9)), 1, P.DiscreteLaplace(scale=2)),
        (dp.m.make_gaussian(*WHOLE, scale=2.0), 1, P.DiscreteGaussian(sigma=2)),
        (dp.m.make_gaussian(*VECTOR, scale=2.0), 3.0, P.Gaussian(sigma=2, sensitivity=3)),
        (
            dp.m.make_randomized_response_bool(prob=0.75),
            1,
            P.RandomizedResponse(noise_parameter=0.5),
        ),
        (
            dp.m.make_randomized_response(categories=["a", "b", "c"], prob=0.75),
            1,
            P.RandomizedResponse(noise_parameter=0.375, buckets=3),
        ),
        (
            NUMBERS
            >> dp.t.then_cast_default(TOA=int)
            >> dp.t.then_clamp((0, 5))
            >> dp.t.then_sum()
            >> dp.m.then_laplace(scale=3.0),
            1,
            P.DiscreteLaplace(scale=3, sensitivity=5),
        ),
        (
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*REAL, scale=2.0)),
            1.0,
            P.Gaussian(sigma=2),
        ),
    ],
)
def test_by_the_law_of_the_noise(measurement: Any, distance: float, profile: gdp.Profile) -> None:
    """The object and its text are the same mechanism, which OpenDP's map does not undercut."""
    eps = [0.0, 0.1, 0.4]
    for source in (measurement, dp.serialize(measurement)):
        found = gdp.profile_of(source, distance=distance)
        assert np.allclose(found.delta(eps), profile.delta(eps), rtol=1e-9)
    told = measurement.map(distance)
    if isinstance(told, float) and measurement.output_measure == dp.max_divergence():
        assert float(profile.delta(told + 1e-9)) == 0


def test_composition() -> None:
    """Several measurements are a sequence."""
    both = [dp.m.make_gaussian(*REAL, scale=one) for one in (3.0, 4.0)]
    composed = dp.c.make_composition(both)
    found = gdp.profile_of(dp.serialize(composed))
    assert gdp.measure(found).mu.upper == pytest.approx((1 / 9 + 1 / 16) ** 0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{", "source is no JSON: must be the text of dp.serialize"),
        ('{"a": 1}', "source is no measurement"),
        (
            dp.serialize(
                dp.m.make_laplace(
                    dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1.0
                )
            ),
            "make_laplace on whole vectors",
        ),
        (dp.serialize(dp.t.make_is_equal(*NUMBERS, "a")), "measurement is 'make_is_equal'"),
    ],
    ids=["broken", "other", "vector", "transformation"],
)
def test_what_has_no_profile(source: str, words: str) -> None:
    """It is refused by its name."""
    with pytest.raises(gdp.InputError) as caught:
        gdp.profile_of(source)
    assert words in str(caught.value)
