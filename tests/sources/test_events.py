"""Events and accountants of dp_accounting, both ways."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp

events = pytest.importorskip("dp_accounting.dp_event")
rdp = pytest.importorskip("dp_accounting.rdp")

P = gdp.profiles
GAUSSIAN = events.GaussianDpEvent(1.0)
RATE = events.PoissonSampledDpEvent(0.05, GAUSSIAN)


@pytest.mark.parametrize(
    ("event", "profile"),
    [
        (events.DiscreteLaplaceDpEvent(0.5, 2), P.DiscreteLaplace(scale=2, sensitivity=2)),
        (events.SingleEpochTreeAggregationDpEvent(2.0, [3, 8]), P.Gaussian(sigma=1)),
        (events.SingleEpochTreeAggregationDpEvent(2.0, 1), P.Gaussian(sigma=2)),
        (
            events.PoissonSampledDpEvent(0.1, events.LaplaceDpEvent(0.5)),
            P.Laplace(scale=0.5).subsample(0.1),
        ),
        (
            events.SampledWithoutReplacementDpEvent(100, 10, events.LaplaceDpEvent(0.5)),
            P.Laplace(scale=0.5).subsample(0.1, "without-replacement"),
        ),
        (
            events.SampledWithReplacementDpEvent(10, 2, events.LaplaceDpEvent(1.0)),
            P.Laplace(scale=1).subsample(scheme="with-replacement", sample=2, population=10),
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_more_events(event: Any, profile: gdp.Profile) -> None:
    """The profile of the same mechanism."""
    eps = [0.0, 0.3, 1.0]
    found = gdp.profile_of(event)
    assert np.allclose(found.delta(eps), profile.delta(eps), rtol=1e-12)


@pytest.mark.parametrize(
    "event",
    [
        events.ComposedDpEvent([]),
        events.ComposedDpEvent([events.NoOpDpEvent()]),
        events.ZCDpEvent(0.0),
        GAUSSIAN.__class__(math.inf),
        events.LaplaceDpEvent(math.inf),
        events.RandomizedResponseDpEvent(0.3, 1),
        events.PoissonSampledDpEvent(0.1, events.NoOpDpEvent()),
        events.PoissonSampledDpEvent(0.0, events.LaplaceDpEvent(1.0)),
        events.SampledWithoutReplacementDpEvent(10, 2, events.NoOpDpEvent()),
        events.RepeatAndSelectDpEvent(events.NoOpDpEvent(), 5, 1.0),
    ],
    ids=str,
)
def test_what_gives_nothing_away(event: Any) -> None:
    """δ is 0 everywhere, as dp_accounting has it where it knows the event."""
    found = gdp.profile_of(event)
    assert float(found.delta(0.0)) == 0
    assert gdp.event_of(found) == events.NoOpDpEvent()


def test_samples_of_gaussian_noise() -> None:
    """Gaussian noise several times on one sample is one step; a sample of a sample is a sample."""
    several = events.ComposedDpEvent(
        [events.SelfComposedDpEvent(events.GaussianDpEvent(2.0), 4), events.GaussianDpEvent(3.0)]
    )
    found = gdp.profile_of(
        events.SelfComposedDpEvent(events.PoissonSampledDpEvent(0.05, several), 50)
    )
    assert isinstance(found, P.DPSGD)
    # μ² = 4/4 + 1/9, and less noise is on the safe side
    assert 0 < 0.9**0.5 - found.noise_multiplier < 1e-15
    assert (found.sample_rate, found.steps) == (0.05, 50)
    accountant = rdp.RdpAccountant()
    accountant.compose(events.SelfComposedDpEvent(events.PoissonSampledDpEvent(0.05, several), 50))
    assert found.least_epsilon(1e-5) < accountant.get_epsilon(1e-5)
    twice = events.PoissonSampledDpEvent(0.1, events.PoissonSampledDpEvent(0.5, GAUSSIAN))
    assert gdp.profile_of(twice) == gdp.profile_of(RATE)


def test_other_forms_of_events() -> None:
    """A builder and a named tuple hold an event; parameters of (ε, δ)-DP are those of a class."""
    from dp_accounting import dp_event_builder
    from dp_accounting.pld import common

    builder = dp_event_builder.DpEventBuilder()
    builder.compose(RATE, 20)
    nested = events.ComposedDpEvent([events.SelfComposedDpEvent(RATE, 20), GAUSSIAN])
    for source, event in ((builder, builder.build()), (nested.to_named_tuple(), nested)):
        assert gdp.profile_of(source) == gdp.profile_of(event)
    for delta, kind in ((0.0, "pure-dp"), (1e-5, "approx-dp")):
        parameters = common.DifferentialPrivacyParameters(1.0, delta)
        assert gdp.profile_of(parameters).kind == kind


@pytest.mark.parametrize("relation", list(rdp.RdpAccountant().neighboring_relation.__class__))
def test_neighbours_of_accountants(relation: Any) -> None:
    """The curve is stated for the accountant's neighbours."""
    accountant = rdp.RdpAccountant([2, 4, 8], neighboring_relation=relation)
    accountant.compose(GAUSSIAN)
    named = {1: "add-remove", 2: "replace-one", 3: "zero-out"}
    assert gdp.profile_of(accountant).neighbours == named[relation.value]


@pytest.mark.parametrize("orders", [[2, 4], [0.5, 1]])
def test_an_accountant_that_says_nothing(orders: list[float]) -> None:
    """No finite divergence above order 1: nothing is known, which is not that nothing is spent."""
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(events.NonPrivateDpEvent() if orders[0] > 1 else GAUSSIAN)
    with pytest.raises(gdp.InputError, match="without a finite divergence of an order above 1"):
        gdp.profile_of(accountant)


@pytest.mark.slow
def test_concentrated_with_an_offset() -> None:
    """(ξ, ρ)-zCDP is a Rényi curve: its ε is at most what dp_accounting converts it to."""
    assert gdp.profile_of(events.ZCDpEvent(rho=0.0, xi=0.2)) == P.PureDP(epsilon=0.2)
    found = gdp.profile_of(events.ZCDpEvent(rho=0.1, xi=0.2))
    accountant = rdp.RdpAccountant()
    accountant.compose(events.ZCDpEvent(rho=0.1, xi=0.2))
    assert found.least_epsilon(1e-5) <= accountant.get_epsilon(1e-5) * 1.001


def test_rdp_accountant() -> None:
    """Its curve, exactly: an ε at most its own, and at least that of the mechanism."""
    orders = [1.5, 2, 4, 8, 16, 32, 64]
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(RATE, 200)
    found = gdp.profile_of(accountant)
    assert isinstance(found, P.Renyi)
    assert [float(one.tilt) + 1 for one in found.bounds] == orders
    epsilon = found.least_epsilon(1e-5)
    exact = gdp.profile_of(accountant.ledger).least_epsilon(1e-5)
    assert exact < epsilon <= accountant.get_epsilon(1e-5)
    assert float(gdp.profile_of(rdp.RdpAccountant()).delta(0.0)) == 0


@pytest.mark.parametrize(("mean", "shape"), [(10, 1), (10, 0), (3, 0.5), (20, math.inf)])
def test_repeat_and_select(mean: float, shape: float) -> None:
    """The divergences are dp_accounting's, and rounded up; a Poisson number does no worse."""
    orders = [1.5, 2, 4, 8, 16]
    event = events.RepeatAndSelectDpEvent(events.GaussianDpEvent(3.0), mean, shape)
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(event)
    base = P.Renyi(orders=orders, epsilons=[one / 18 for one in orders])
    distribution = "poisson" if math.isinf(shape) else "truncated-negative-binomial"
    tuned = base.tune(mean, shape=1 if math.isinf(shape) else shape, distribution=distribution)
    ours = [float(tuned.renyi_divergence(one)) for one in sorted(tuned.renyi_orders)]
    # dp_accounting takes the least of larger orders, as divergences rise with the order
    rising = np.minimum.accumulate(ours[::-1])[::-1]
    theirs = np.asarray(accountant.rdp)
    if math.isinf(shape):
        # ours has the exact δ(ε) of the curve
        assert (rising <= theirs * (1 + 1e-9)).all()
    else:
        assert rising == pytest.approx(theirs, rel=1e-8)
    assert gdp.profile_of(event).profile_is == "bound"
    assert tuned.profile_is == "bound"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (events.NonPrivateDpEvent(), "event is 'NonPrivateDpEvent'.* of a private mechanism"),
        (events.UnsupportedDpEvent(), "'UnsupportedDpEvent'.* that dp_accounting supports"),
        (
            events.PoissonSampledDpEvent(0.1, events.ComposedDpEvent([events.NonPrivateDpEvent()])),
            "event is 'NonPrivateDpEvent'",
        ),
        (
            events.PoissonSampledDpEvent(
                0.1, events.ComposedDpEvent([GAUSSIAN, events.LaplaceDpEvent(1.0)])
            ),
            "PoissonSampledDpEvent of a ComposedDpEvent: must be one of a single event",
        ),
        (events.SelfComposedDpEvent(RATE, 0), "count is 0: must be a whole number from 1"),
        (events.SelfComposedDpEvent(RATE, 1.5), "count is 1.5: must be a whole number from 1"),
        (
            events.SelfComposedDpEvent(events.SelfComposedDpEvent(RATE, 10**6), 10**6),
            "count is 1000000000000: must be a whole number from 1",
        ),
        (events.SingleEpochTreeAggregationDpEvent(1.0, []), r"step_counts is \[\]: must be"),
        (events.SingleEpochTreeAggregationDpEvent(1.0, 0), "step_counts is 0: must be"),
        (
            events.MixtureOfGaussiansDpEvent(2.0, [-1.0, 1.0], [0.5, 0.5]),
            "MixtureOfGaussiansDpEvent: dp_accounting says: .*negative",
        ),
    ],
)
def test_what_has_no_profile(event: Any, words: str) -> None:
    """It is refused by its name."""
    with pytest.raises(gdp.InputError, match=words):
        gdp.profile_of(event)


def test_distributions_of_one_direction() -> None:
    """What dp_accounting makes a distribution of has one direction, and is no distribution yet."""
    from dp_accounting.pld import pld_pmf, privacy_loss_mechanism

    for source in (
        pld_pmf.create_pmf({0: 0.5, 1: 0.5}, 0.1, 0, True),
        privacy_loss_mechanism.GaussianPrivacyLoss(1.0),
    ):
        with pytest.raises(gdp.InputError, match="PrivacyLossDistribution, which has both"):
            gdp.profile_of(source)


def test_a_pld_accountant() -> None:
    """It is refused by its name: its ledger is an event."""
    accountant = pytest.importorskip("dp_accounting.pld").PLDAccountant()
    accountant.compose(RATE, 10)
    with pytest.raises(gdp.InputError, match=r"PLDAccountant'.*pass its ledger$"):
        gdp.profile_of(accountant)
    relation = accountant.neighboring_relation.REPLACE_ONE
    with pytest.raises(gdp.InputError, match=r"pass its ledger, whose noise .* replaced"):
        gdp.profile_of(type(accountant)(neighboring_relation=relation))
    assert gdp.profile_of(accountant.ledger).kind == "dpsgd"


@pytest.mark.parametrize(
    "profile",
    [
        P.Gaussian(sigma=3, sensitivity=2),
        P.GDP(mu=0.5),
        P.Laplace(scale=2),
        P.DiscreteLaplace(scale=2, sensitivity=3),
        P.RandomizedResponse(noise_parameter=0.25, buckets=4),
        P.ZCDP(rho=0.1),
        P.PureDP(epsilon=0),
        P.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=20),
        P.Gaussian(sigma=3).compose(4),
        P.Sequence(parts=(P.Gaussian(sigma=3), P.Gaussian(sigma=2))),
        P.Laplace(scale=2).subsample(0.25),
        P.Laplace(scale=2).subsample(scheme="without-replacement", sample=2, population=9),
        P.Laplace(scale=2).subsample(scheme="with-replacement", sample=2, population=9),
        P.PureDP(epsilon=0.6),
        P.GDP(mu=0),
        P.Matrix(entries=[1.0, 0.5], sigma=2),
        P.OpacusHistory(history=[[1.0, 0.05, 20]]),
        P.BandedMatrix(entries=[3, 4], sigma=5, bands=2, sample_rate=0.05, steps=4),
        P.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=20, neighbours="zero-out"),
        P.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=0),
        P.Gaussian(sigma=4).tune(2),
        P.Gaussian(sigma=4).tune(2, distribution="poisson"),
    ],
    ids=lambda one: one.kind,
)
def test_there_and_back(profile: gdp.Profile) -> None:
    """A profile is an event, and the event is the profile again."""
    eps = [0.0, 0.2, 0.7]
    again = gdp.profile_of(gdp.event_of(profile))
    assert np.allclose(again.delta(eps), profile.delta(eps), rtol=1e-9)


def test_every_event_is_known() -> None:
    """Each of dp_accounting is read, or refused by its name."""
    from gdpbridge.sources.dp_accounting import _EVENTS, _NO_PROFILE

    named = {name for name in dir(events) if name.endswith("Event")} - {"DpEvent"}
    assert named == {*_EVENTS, *_NO_PROFILE}


@pytest.mark.parametrize(
    "profile",
    [
        P.ICEA(messages=20, users=4),
        P.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=20, neighbours="replace-one"),
        P.Laplace(scale=2).group(2),
        P.Renyi(orders=[2], epsilons=[1]),
    ],
    ids=lambda one: one.kind,
)
def test_what_is_no_event(profile: gdp.Profile) -> None:
    """A mechanism without an event is named."""
    with pytest.raises(gdp.InputError, match=f"profile is '{profile.kind}'"):
        gdp.event_of(profile)


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        events.MixtureOfGaussiansDpEvent(20.0, [1.0, 2.0], [0.5, 0.5]),
        events.TruncatedSubsampledGaussianDpEvent(1000, 0.02, 30, 2.0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_by_their_distribution(event: Any) -> None:
    """Truncated Poisson batches and mixtures: δ of what dp_accounting composes, not below it."""
    from dp_accounting.pld import PLDAccountant

    once = events.SelfComposedDpEvent(event, 1)
    runs = events.SelfComposedDpEvent(events.ComposedDpEvent([once]), 3)
    accountant = PLDAccountant(value_discretization_interval=1e-3).compose(runs)
    profile = gdp.profile_of(runs)
    # dp_accounting rounds such a distribution up
    assert profile.profile_is == "bound"
    for eps in (0.1, 0.5):
        low, high = profile.delta_bounds(eps)
        assert accountant.get_delta(eps) == pytest.approx(float(high), rel=1e-6)
        assert low == pytest.approx(high, rel=1e-9)


def test_events_are_rounded_towards_less_noise() -> None:
    """Quotients that are no floats; groups and conversions of Gaussian noise by their μ."""
    profiles = gdp.profiles
    gaussian = gdp.event_of(profiles.Gaussian(sigma=0.7, sensitivity=0.3))
    assert 0 < Fraction(7, 3) - Fraction(gaussian.noise_multiplier) < Fraction(1, 10**15)
    laplace = gdp.event_of(profiles.Laplace(scale=0.7, sensitivity=0.3))
    assert laplace.noise_multiplier == gaussian.noise_multiplier
    discrete = gdp.event_of(profiles.DiscreteLaplace(scale=0.7))
    assert 0 < Fraction(discrete.noise_parameter) - Fraction(10, 7) < Fraction(1, 10**15)
    noise = profiles.Gaussian(sigma=2, neighbours="add-remove")
    for profile in (noise.group(2), noise.to_neighbours("replace-one")):
        assert 1 - 1e-15 < gdp.event_of(profile).noise_multiplier <= 1
