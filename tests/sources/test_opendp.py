"""Measurements of OpenDP as profiles: by the law of their noise."""

from __future__ import annotations

import math
import re
import warnings
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


def whole_vector(size: int | None = None) -> tuple[Any, Any]:
    """The whole vectors of a size, apart by an L2 distance."""
    return dp.vector_domain(dp.atom_domain(T=int), size=size), dp.l2_distance(T=float)


NUMBERS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()

GAUSSIAN = dp.m.make_gaussian(*REAL, scale=2.0)


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
            NUMBERS
            >> dp.t.then_cast(TOA=float)
            >> dp.t.then_impute_constant(0.0)
            >> dp.t.then_clamp((0.0, 10.0))
            >> dp.t.then_resize(10, 5.0)
            >> dp.t.then_mean()
            >> dp.m.then_gaussian(2.0),
            2,
            # resizing doubles the distance
            P.Gaussian(sigma=1),
        ),
        (
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*REAL, scale=2.0)),
            1.0,
            P.Gaussian(sigma=2),
        ),
        (
            dp.m.make_randomized_response_bitvec(
                dp.bitvector_domain(max_weight=2), dp.discrete_distance(), f=0.5
            ),
            1,
            P.RandomizedResponse(noise_parameter=0.5).compose(4),
        ),
        (dp.m.make_laplace(*WHOLE_VECTOR, scale=2.0), 3, P.DiscreteLaplace(scale=2, sensitivity=3)),
        (
            dp.m.make_geometric(*WHOLE_VECTOR, scale=2.0, bounds=(0, 9)),
            3,
            P.DiscreteLaplace(scale=2, sensitivity=3),
        ),
        (dp.m.make_gaussian(*whole_vector(), scale=2.0), 1.4, P.DiscreteGaussian(sigma=2)),
        # √3, which as a float is less
        (
            dp.m.make_gaussian(*whole_vector(), scale=2.0),
            3**0.5,
            P.DiscreteGaussian(sigma=2).compose(3),
        ),
        (
            dp.m.make_gaussian(*whole_vector(2), scale=2.0),
            1.8,
            P.DiscreteGaussian(sigma=2).compose(2),
        ),
        (
            dp.m.make_gaussian(*whole_vector(1), scale=2.0),
            5.5,
            P.DiscreteGaussian(sigma=2, sensitivity=5),
        ),
    ],
)
def test_by_the_law_of_the_noise(measurement: Any, distance: float, profile: gdp.Profile) -> None:
    """The object and its text are the same mechanism, which OpenDP's map does not undercut."""
    eps = [0.0, 0.1, 0.4]
    for source in (measurement, dp.serialize(measurement)):
        with warnings.catch_warnings(action="ignore"):
            found = gdp.profile_of(source, distance=distance)
        assert np.allclose(found.delta(eps), profile.delta(eps), rtol=1e-9)
    told = measurement.map(distance)
    if isinstance(told, float) and measurement.output_measure == dp.max_divergence():
        assert float(profile.delta(told + 1e-9)) == 0


@pytest.mark.parametrize(
    ("measurement", "profile"),
    [
        (
            NUMBERS
            >> dp.t.then_count_by_categories(["a", "b"], MO="L2Distance<f64>")
            >> dp.m.then_gaussian(2.0),
            P.DiscreteGaussian(sigma=2),
        ),
        (dp.m.make_laplace(*REAL, scale=2.0) >> (lambda answer: answer + 1), P.Laplace(scale=2)),
        (
            dp.c.make_composition([dp.m.make_laplace(*REAL, scale=2.0) >> abs] * 2),
            P.Laplace(scale=2).compose(2),
        ),
    ],
    ids=["metric", "function", "composed"],
)
def test_objects_that_opendp_cannot_write(measurement: Any, profile: gdp.Profile) -> None:
    """What dp.serialize does not know is read from the object."""
    with pytest.raises(Exception, match="does not handle"):
        dp.serialize(measurement)
    with warnings.catch_warnings(action="ignore"):
        found = gdp.profile_of(measurement)
    assert np.allclose(found.delta([0.0, 0.3]), profile.delta([0.0, 0.3]), rtol=1e-9)


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        (
            dp.c.make_adaptive_composition(*REAL, dp.max_divergence(), 1.0, [1.0, 1.0]),
            "make_adaptive_composition'.* its budget, such as",
        ),
        (
            dp.m.make_user_measurement(*REAL, dp.max_divergence(), abs, abs),
            "make_user_measurement'.* its budget, such as",
        ),
    ],
    ids=["adaptive", "own"],
)
def test_what_to_pass_instead(measurement: Any, words: str) -> None:
    """A measurement without a profile is refused by its name, with what has one."""
    with pytest.raises(gdp.InputError, match=words):
        gdp.profile_of(measurement)


@pytest.mark.parametrize("distance", [(1, 1, 1), 0, math.inf, "1"])
def test_distances(distance: Any) -> None:
    """One that is no number above 0 is refused."""
    for source in (GAUSSIAN, dp.serialize(GAUSSIAN)):
        with pytest.raises(gdp.InputError, match=r"distance is .*: must be a finite number > 0"):
            gdp.profile_of(source, distance=distance)


@pytest.mark.parametrize(
    ("measurement", "allowed", "own"),
    [
        # of ρ-zCDP, of ε-DP and of (ε, δ)-DP the worst δ(0), against that of the noise
        (GAUSSIAN, "ρ = 0.125, by which δ(0) may be 0.247393", "0.197413"),
        (dp.m.make_laplace(*REAL, scale=2.0), "ε = 0.5, by which δ(0) may be 0.244919", "0.221199"),
        (
            dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(GAUSSIAN), 1e-6),
            "(ε, δ) = (2.41909, 1e-06), by which δ(0) may be 0.836544",
            "0.197413",
        ),
    ],
    ids=["zcdp", "pure", "approx"],
)
def test_a_map_that_is_looser_is_told(measurement: Any, allowed: str, own: str) -> None:
    """What OpenDP's map allows beyond the noise is a warning, at the caller's line."""
    text = f"OpenDP's own map says {allowed}: the noise has {own}"
    with pytest.warns(UserWarning, match=re.escape(text)) as caught:
        gdp.profile_of(measurement, distance=1.0)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "measurement",
    [dp.m.make_laplace(*WHOLE, scale=2.0), dp.m.make_randomized_response_bool(prob=0.75)],
    ids=["geometric", "response"],
)
def test_a_map_that_is_tight_is_not(measurement: Any) -> None:
    """No pure-DP mechanism is worse than these, so that nothing is told (warnings are errors)."""
    assert gdp.profile_of(measurement)


def test_a_map_that_is_too_small_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were OpenDP's map below what the noise gives away, it would be said."""
    monkeypatch.setattr(dp.Measurement, "map", lambda *_: 0.1)
    with pytest.warns(UserWarning, match="that is too small, the noise has 0.2211"):
        gdp.profile_of(dp.m.make_laplace(*REAL, scale=2.0))


def test_noise_above_a_threshold_is_refused_by_its_fault() -> None:
    """OpenDP's δ leaves out counts at the threshold, and its text is not to be had."""
    groups = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    distance = dp.l01inf_distance(dp.absolute_distance(T=int))
    released = dp.m.make_laplace_threshold(groups, distance, scale=1.0, threshold=5)
    with pytest.raises(gdp.InputError, match="counts at the threshold are released"):
        gdp.profile_of(released)


SCORES = dp.vector_domain(dp.atom_domain(T=float, nan=False))


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(
    ("measure", "noise", "better"),
    [
        (dp.max_divergence(), "exponential", 1 - math.exp(-1) / 2),
        (dp.zero_concentrated_divergence(), "gumbel", 1 / (1 + math.exp(-1))),
    ],
    ids=["exponential", "gumbel"],
)
def test_noisy_max_by_the_noise_that_is_drawn(
    measure: Any, noise: str, better: float, monotonic: bool
) -> None:
    """What the draws of the better of two show is what is measured, and no map is below it."""
    metric = dp.linf_distance(T=float, monotonic=monotonic)
    measurement = dp.m.make_noisy_max(SCORES, metric, measure, scale=2.0)
    profile = P.ReportNoisyMax(noise=noise, scale=2, monotonic=monotonic)
    with warnings.catch_warnings(action="ignore"):
        found = gdp.profile_of(measurement, distance=1.0)
    assert found == profile
    count = 3000
    drawn = sum(measurement([2.0, 0.0]) == 0 for _ in range(count)) / count
    # six deviations; the other noise is ten off
    assert abs(drawn - better) < 6 * math.sqrt(better * (1 - better) / count)
    if noise == "exponential":
        assert float(profile.delta(measurement.map(1.0) + 1e-9)) == 0


def test_what_is_called_gumbel_is_measured_as_it_is_drawn() -> None:
    """It draws exponential noise, whose δ is larger: a mix-up that its name would hide."""
    metric = dp.linf_distance(T=float)
    with warnings.catch_warnings(action="ignore"):
        named = dp.m.make_report_noisy_max_gumbel(SCORES, metric, scale=2.0)
        found = gdp.profile_of(named, distance=1.0)
    count = 3000
    drawn = sum(named([2.0, 0.0]) == 0 for _ in range(count)) / count
    assert abs(drawn - (1 - math.exp(-1) / 2)) < 6 * math.sqrt(0.15 / count)
    assert found == P.ReportNoisyMax(noise="exponential", scale=2)
    gumbel = P.ReportNoisyMax(noise="gumbel", scale=2)
    assert (found.delta([0.0, 0.3, 0.8]) > gumbel.delta([0.0, 0.3, 0.8])).all()


@pytest.mark.parametrize(
    ("measurement", "profile"),
    [
        (dp.m.make_noise(*WHOLE, dp.max_divergence(), scale=2.0), P.DiscreteLaplace(scale=2)),
        (
            dp.m.make_noise(*REAL, dp.zero_concentrated_divergence(), scale=2.0),
            P.Gaussian(sigma=2),
        ),
    ],
    ids=["laplace", "gaussian"],
)
def test_noise_by_its_measure(measurement: Any, profile: gdp.Profile) -> None:
    """Noise that is asked for by a measure is Laplace's or Gaussian."""
    with warnings.catch_warnings(action="ignore"):
        found = gdp.profile_of(measurement, distance=1)
    assert found.delta(0.1) == pytest.approx(float(profile.delta(0.1)), rel=1e-12)


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        (
            dp.m.make_canonical_noise(*REAL, 1.0, (1.0, 1e-6)),
            "make_canonical_noise': must be a profile of approx-dp",
        ),
        (
            dp.m.make_noisy_top_k(
                SCORES, dp.linf_distance(T=float), dp.max_divergence(), k=2, scale=1.0
            ),
            "make_noisy_top_k': must be of one place",
        ),
    ],
    ids=["canonical", "several"],
)
def test_other_measurements_are_refused_by_name(measurement: Any, words: str) -> None:
    """With what to do instead, if there is something."""
    with pytest.raises(gdp.InputError) as caught:
        gdp.profile_of(measurement, distance=1.0)
    assert words in str(caught.value)


def test_composition() -> None:
    """Several measurements are a sequence."""
    both = [dp.m.make_gaussian(*REAL, scale=one) for one in (3.0, 4.0)]
    composed = dp.c.make_composition(both)
    with pytest.warns(UserWarning, match="OpenDP's own map says ρ = 0.086805"):
        found = gdp.profile_of(dp.serialize(composed))
    assert gdp.measure(found).mu.upper == pytest.approx((1 / 9 + 1 / 16) ** 0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{", "source is no JSON: must be the text of dp.serialize"),
        ('{"a": 1}', "source is no measurement"),
        (dp.serialize(dp.t.make_is_equal(*NUMBERS, "a")), "measurement is 'make_is_equal'"),
    ],
    ids=["broken", "other", "transformation"],
)
def test_what_has_no_profile(source: str, words: str) -> None:
    """It is refused by its name."""
    with pytest.raises(gdp.InputError) as caught:
        gdp.profile_of(source)
    assert words in str(caught.value)


@pytest.mark.parametrize("distance", [2.0, math.nextafter(2.0, 0.0), math.inf, math.nan])
def test_whole_vectors_far_apart_have_no_discrete_gaussian(distance: float) -> None:
    """At an L2 distance of 2 one number may move by 2, or four by 1: no worst case is known."""
    allowed = "below 2 for make_gaussian on vectors of whole numbers|a finite number"
    with pytest.raises(gdp.InputError, match=f"distance is .*{allowed}"):
        gdp.profile_of(dp.m.make_gaussian(*whole_vector(), scale=2.0), distance=distance)


@pytest.mark.parametrize("moves", [(1, 1), (1, 2), (1, 1, 1)])
@pytest.mark.parametrize("laplace", [True, False])
def test_one_number_that_moves_by_all_is_the_worst(moves: tuple[int, ...], laplace: bool) -> None:
    """Summed over the grid itself, noise on several numbers has no larger δ than on one of them."""
    far = np.arange(-40, 41)
    log_mass = -np.abs(far) / 1.5 if laplace else -(far**2) / (2 * 1.5**2)
    mass = np.exp(log_mass) / np.exp(log_mass).sum()
    p, q = np.ones(()), np.ones(())
    for move in moves:
        p, q = np.multiply.outer(p, mass), np.multiply.outer(q, np.roll(mass, move))
    worst: gdp.Profile
    if laplace:
        worst = P.DiscreteLaplace(scale=1.5, sensitivity=sum(moves))
    else:
        worst = P.DiscreteGaussian(sigma=1.5, sensitivity=sum(moves))
    for eps in (0.0, 0.2, 0.5, 1.0):
        several = np.maximum(p - np.exp(eps) * q, 0).sum()
        assert 0 < several < float(worst.delta(eps)) - 1e-4
