"""An accountant for Opacus, with its accountants' methods and two-sided bounds behind them.

It needs nothing of Opacus or torch to be imported; in a training loop::

    register()
    engine = PrivacyEngine(accountant="gdpbridge")
    model, optimizer, data = engine.make_private(...)

It counts the steps that the optimiser reports, and does no arithmetic until it is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from copy import deepcopy
from typing import Any

from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.opacus import profile_of_history

__all__ = ["BoundsAccountant", "register"]

_MECHANISM = "gdpbridge"


def register() -> None:
    """Make the accountant one of Opacus's, which ``create_accountant("gdpbridge")`` makes.

    Raises:
        MissingExtraError: without Opacus 1.5 or newer.
    """
    try:
        from opacus.accountants import register_accountant
    except ImportError:
        raise MissingExtraError("opacus", "Opacus's list of accountants") from None
    register_accountant(_MECHANISM, BoundsAccountant, force=True)


class BoundsAccountant:
    """Keeps the history of a training run and answers with bounds.

    Attributes:
        history: triples of noise multiplier, sample rate and number of steps.
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step of the optimiser.

        Raises:
            InputError: for a noise multiplier or a sample rate outside its range.
        """
        DPSGD(noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=1)
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    @property
    def profile(self) -> Profile:
        """The privacy profile of the run so far.

        Raises:
            InputError: before the first step.
        """
        return profile_of_history(self.history)

    def get_epsilon(self, delta: float, **_: Any) -> float:
        """Return an upper bound of the least ε at a δ; 0 before the first step.

        Args:
            delta: δ in (0, 1].

        Raises:
            InputError: for δ outside the range.
        """
        if not self.history:
            return 0.0
        return float(self.profile.least_epsilon(delta))

    def __len__(self) -> int:
        """Return the number of steps so far."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name that state dictionaries carry."""
        return _MECHANISM

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return what Opacus's optimiser calls after each step.

        Args:
            sample_rate: the sample rate of one batch; accumulated ones add up.
        """

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def state_dict(
        self, destination: MutableMapping[str, Any] | None = None
    ) -> MutableMapping[str, Any]:
        """Return the state, for a checkpoint."""
        state: MutableMapping[str, Any] = OrderedDict() if destination is None else destination
        state["history"] = deepcopy(self.history)
        state["mechanism"] = self.mechanism()
        return state

    def load_state_dict(self, state_dict: MutableMapping[str, Any]) -> None:
        """Take up the history of this or of one of Opacus's own accountants.

        Raises:
            InputError: for what holds no history.
        """
        if not isinstance(state_dict, MutableMapping) or "history" not in state_dict:
            raise InputError("state_dict", state_dict, "the state of an accountant, with a history")
        history = [tuple(entry) for entry in state_dict["history"]]
        if history:
            profile_of_history(history)
        self.history = history
