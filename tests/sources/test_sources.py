"""Other tools' objects as profiles."""

from __future__ import annotations

import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.errors import MissingExtraError
from gdpbridge.sources.opacus import BoundsAccountant, register


class TestOpacus:
    """The accountant keeps a history, and answers with the upper end."""

    def test_resumed_is_uninterrupted(self) -> None:
        """Reading changes nothing, and a run taken up again equals one that never stopped."""
        accountant = BoundsAccountant()
        for _ in range(500):
            accountant.step(noise_multiplier=1.1, sample_rate=0.01)
        first = accountant.get_epsilon(delta=1e-5)
        assert accountant.get_epsilon(1e-5) == first
        assert 1.08259167 * (1 - 5e-9) <= first <= 1.08259167 * (1 + 1e-4) + 1e-3
        resumed = BoundsAccountant()
        resumed.load_state_dict(accountant.state_dict())
        for _ in range(500):
            resumed.step(noise_multiplier=1.1, sample_rate=0.01)
        assert (len(accountant), len(resumed)) == (500, 1000)
        assert 1.51536192 * (1 - 5e-9) <= resumed.get_epsilon(1e-5) <= 1.5164
        assert resumed.history == [(1.1, 0.01, 1000)]

    def test_accumulated_batches(self) -> None:
        """The hook counts the batches that were put together: q = 8·0.01."""
        accountant = BoundsAccountant()
        hook = accountant.get_optimizer_hook_fn(0.01)
        optimizer = SimpleNamespace(noise_multiplier=1.0, accumulated_iterations=8)
        for _ in range(100):
            hook(optimizer)
        assert accountant.history == [(1.0, 0.08, 100)]
        assert 5.61341863 * (1 - 1e-9) <= accountant.get_epsilon(1e-5) <= 5.6145

    def test_before_the_first_step(self) -> None:
        """Nothing is spent yet."""
        assert BoundsAccountant().get_epsilon(1e-5) == 0
        assert len(BoundsAccountant()) == 0
        assert BoundsAccountant.mechanism() == "gdpbridge"

    def test_registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Opacus makes one by its name; again is no error, and without Opacus it is a sentence."""
        known: dict[str, type] = {}
        opacus, accountants = ModuleType("opacus"), ModuleType("opacus.accountants")

        # as in Opacus 1.5 and 1.6
        def register_accountant(mechanism: str, accountant: type, force: bool = False) -> None:
            if mechanism in known and not force:
                raise ValueError(mechanism)
            known[mechanism] = accountant

        accountants.register_accountant = register_accountant  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "opacus", opacus)
        monkeypatch.setitem(sys.modules, "opacus.accountants", accountants)
        register()
        register()
        assert known == {"gdpbridge": BoundsAccountant}
        monkeypatch.setitem(sys.modules, "opacus.accountants", None)
        with pytest.raises(MissingExtraError, match="opacus"):
            register()

    @pytest.mark.parametrize("state", [None, {}, {"history": [(0, 0.1, 3)]}, {"history": [3]}])
    def test_bad_states(self, state: Any) -> None:
        """A state that is none is refused."""
        with pytest.raises((gdp.InputError, TypeError)):
            BoundsAccountant().load_state_dict(state)
        with pytest.raises(gdp.InputError):
            BoundsAccountant().step(noise_multiplier=1.0, sample_rate=7)

    def test_many_noise_levels_without_sampling(self) -> None:
        """A thousand levels at q = 1 are a sum of squares, exactly."""
        history = [(1 + 0.002 * number, 1.0, 1) for number in range(1000)]
        profile = gdp.profile_of({"history": history})
        assert gdp.measure(profile).mu.upper == pytest.approx(18.2695949261379775, rel=1e-9)
        assert profile.least_epsilon(1e-5) == pytest.approx(243.908683716074899, rel=1e-9)


@pytest.mark.parametrize("source", [3, "x", None, object()])
def test_unknown_objects(source: Any) -> None:
    """Something else is refused by its type."""
    with pytest.raises(gdp.InputError, match=f"source is '{type(source).__name__}'"):
        gdp.profile_of(source)


def test_a_profile_is_a_profile() -> None:
    """A profile is handed back."""
    profile = gdp.profiles.Laplace(scale=1)
    assert gdp.profile_of(profile) is profile


class TestDpAccounting:
    """Objects of dp_accounting, where it is installed."""

    @pytest.fixture(autouse=True)
    def library(self) -> Any:
        """The library."""
        return pytest.importorskip("dp_accounting", exc_type=ImportError)

    def test_events(self, library: Any) -> None:
        """A tree of events becomes a sequence, its counts kept."""
        event = library.ComposedDpEvent(
            [
                library.GaussianDpEvent(2.0),
                library.SelfComposedDpEvent(
                    library.PoissonSampledDpEvent(0.01, library.GaussianDpEvent(1.0)), 1000
                ),
                library.SelfComposedDpEvent(library.LaplaceDpEvent(5.0), 3),
                library.NoOpDpEvent(),
            ]
        )
        profile = gdp.profile_of(event)
        kinds = [part["kind"] for part in profile.model_dump()["parts"]]
        assert kinds == ["gaussian", "dpsgd", "composed", "pure-dp"]
        assert profile.model_dump()["parts"][1]["steps"] == 1000

    @pytest.mark.parametrize("name", ["NonPrivateDpEvent", "UnsupportedDpEvent"])
    def test_events_without_a_profile(self, library: Any, name: str) -> None:
        """They are refused by name."""
        with pytest.raises(gdp.InputError, match=name):
            gdp.profile_of(getattr(library, name)())

    def test_distributions(self, library: Any) -> None:
        """δ agrees with the distribution's, and verdicts with its mass at infinity."""
        from dp_accounting.pld import common, privacy_loss_distribution

        failing = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(0.0, 0.1)
        )
        found = gdp.measure(gdp.profile_of(failing))
        assert (found.verdict, found.failure_probability) == (gdp.Verdict.NOT_GDP, 0.1)
        head = gdp.measure(gdp.profile_of(failing), eps_h=1e-9)
        assert head.mu.lower == pytest.approx(0.251322693710148, rel=1e-6)
        gaussian = privacy_loss_distribution.from_gaussian_mechanism(
            1.0, value_discretization_interval=1e-2
        )
        profile = gdp.profile_of(gaussian)
        found = gdp.measure(profile, tol=1e-6)
        assert found.verdict is gdp.Verdict.UNKNOWN
        assert 1 - 1e-9 <= found.mu.lower <= 1 + 1e-4
        eps = np.array([0.0, 0.005, 0.5, 1.0, 4.0])
        assert profile.delta(eps) == pytest.approx(gaussian.get_delta_for_epsilon(eps), rel=1e-9)
        two = privacy_loss_distribution.from_randomized_response(0.8, 2)
        mu = gdp.measure(gdp.profile_of(two)).mu
        assert mu.lower == pytest.approx(0.506694206271599598, rel=1e-4)
        assert mu.lower >= 0.506694206271599598 - 1e-9


@pytest.mark.parametrize("name", ["gaussian", "laplace", "sampled"])
def test_a_distribution_several_times(name: str) -> None:
    """As dp_accounting composes it, or above where a direction is the worse one."""
    pytest.importorskip("dp_accounting", exc_type=ImportError)
    from dp_accounting.pld import privacy_loss_distribution as made

    step = {"value_discretization_interval": 1e-2}
    one = {
        "gaussian": lambda: made.from_gaussian_mechanism(4.0, **step),
        "laplace": lambda: made.from_laplace_mechanism(5.0, **step),
        "sampled": lambda: made.from_gaussian_mechanism(1.0, sampling_prob=0.1, **step),
    }[name]()
    theirs = one.self_compose(10).get_epsilon_for_delta(1e-5)
    ours = gdp.profile_of(one).compose(10).least_epsilon(1e-5)
    assert ours >= theirs * (1 - 1e-8)
    assert ours == pytest.approx(theirs, rel=0.03 if name == "sampled" else 1e-8)


def test_randomized_response_fifty_times() -> None:
    """Two exact atoms, fifty times: 1.42007917667459628 to 1e-12."""
    share = math.exp(0.2) / (1 + math.exp(0.2))
    once = gdp.profiles.PLD(remove=[(-0.2, 1 - share), (0.2, share)])
    found = gdp.measure(once.compose(50), tol=1e-12)
    assert found.method == "breakpoints"
    assert found.certified
    assert found.mu.lower == pytest.approx(1.42007917667459628, abs=1e-12)
