"""Everything pickles: profiles unused and used, their curves and tails, and all results."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.base import Profile

P = gdp.profiles
Draw = Callable[[type[Profile]], st.SearchStrategy[dict[str, Any]]]
GRID = np.linspace(0, 2, 5)

# what is not made of numbers alone, and what is made of other mechanisms
OTHERS = [
    P.Formula("delta = exp(-eps**2)"),
    P.Tradeoff("sigma = A/eps*sqrt(log(B/delta))", set={"A": 2.0, "B": 1.0, "sigma": 2.0}),
    P.Table(pairs=[(0, 0.5), (1, 0.1)]),
    P.PLD(remove=[(0.5, 0.5), (-0.5, 0.3), ("inf", 0.2)]),
    P.DPSGD(noise_multiplier=1.0, sample_rate=0.5, steps=3),
    P.Densities(p="0.7+0.6*x", q="1.3-0.6*x", low=0, high=1),
    P.Renyi(orders=[2, 4], epsilons=[0.2, 0.5]),
    P.TradeoffFunction(alpha=[0, 0.5, 1], beta=[1, 0.3, 0]),
    P.Densities(p="1/2 + x", q="3/2 - x", low=0, high=1),
    gdp.load_profile({"kind": "matrix", "entries": [1.0, 0.5, 0.25], "sigma": 1.0}),
    P.BandedMatrix(entries=[1.0, 0.5], sigma=2, bands=2, sample_rate=0.1),
    P.OpacusHistory(history=[(1.3, 0.01, 3), (1.0, 0.01, 2)]),
    P.Laplace(scale=0.5).subsample(0.1),
    P.Gaussian(sigma=2, neighbours="replace-one").subsample(
        scheme="with-replacement", sample=3, population=9
    ),
    P.PureDP(epsilon=0.2).compose(5),
    P.Laplace(scale=0.5).compose(3),
    P.Sequence(parts=(P.Gaussian(sigma=1), P.PureDP(epsilon=0.5))),
]
NAMES = [one.kind for one in OTHERS]
DEAR = ("banded-matrix", "composed", "dpsgd", "opacus", "sequence")
# the losses of the others are composed, which takes seconds
MEASURED = [one for one in OTHERS if one.kind not in DEAR]
MEASURED.append(P.DPSGD(noise_multiplier=1.0, sample_rate=0.1, steps=100))


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def check_profile(profile: Profile) -> None:
    """The copy is equal, and says the same; so do its curve and its tail, before and after use."""
    unused = again(profile)
    for one in (unused, copy.copy(profile), copy.deepcopy(profile)):
        assert one == profile
    # it is used: its curve is made
    assert again(profile.tail).reason == profile.tail.reason == unused.tail.reason
    assert again(gdp.identify(profile)) == gdp.identify(profile)
    assert again(profile) == profile
    assert type(again(profile.curve)) is type(profile.curve)
    if profile.curve.form not in (Form.BETWEEN, Form.COMPOSED):
        values = profile.curve.logs(GRID)[0]
        for curve in (unused.curve, again(profile).curve, again(profile.curve)):
            assert np.array_equal(curve.logs(GRID)[0], values)


class TestProfiles:
    """Every kind of the registry, and what is made of them."""

    @settings(
        max_examples=3,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.data())
    def test_kinds(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """Drawn parameters."""
        check_profile(kind(**data.draw(parameters(kind))))

    @pytest.mark.slow
    def test_composed_kinds(self, any_kind: type[Profile], typical: Any) -> None:
        """Those whose points take long: the low ends of their parameters."""
        check_profile(any_kind(**typical(any_kind, 0)))

    @pytest.mark.parametrize("profile", OTHERS, ids=NAMES)
    def test_others(self, profile: Profile) -> None:
        """Texts, tables, losses, histories, and mechanisms made of mechanisms."""
        check_profile(profile)

    def test_registry(self, root: Any) -> None:
        """No kind is left out: each is drawn, or one of the others."""
        from .conftest import KINDS

        assert {*KINDS, *NAMES} >= {*gdp.profiles.kinds()}


class TestResults:
    """What is returned is the same after a journey, its certificate too."""

    @pytest.mark.parametrize("profile", MEASURED, ids=lambda one: one.kind)
    @pytest.mark.slow
    def test_measurements(self, profile: Profile) -> None:
        """Each with its certificate where there is one."""
        found = gdp.measure(profile, failure=1e-10 if profile.kind == "dpsgd" else None)
        assert again(found) == found
        if found.certificate is not None:
            assert again(again(found).certificate) == found.certificate

    @pytest.mark.parametrize(
        "make",
        [
            lambda: gdp.calibrate("laplace", target_mu=1),
            lambda: gdp.compose([P.Gaussian(sigma=1), P.Laplace(scale=2)]),
            lambda: gdp.risk(1),
            lambda: gdp.clip_and_rectify(P.ICEA(messages=20, users=4), eps_h=10, lower=0, upper=1),
            lambda: gdp.subsampling_plan(P.Laplace(scale=0.5), 1),
            lambda: gdp.audit(np.arange(40.0), np.arange(40) % 3 > 0),
            lambda: gdp.Release(title="a table"),
            lambda: gdp.verify(gdp.measure(P.Laplace(scale=1), eps_h=1).certificate),
        ],
    )
    def test_others(self, make: Callable[[], Any]) -> None:
        """Each other kind of result."""
        found = make()
        assert repr(again(found)) == repr(found)
