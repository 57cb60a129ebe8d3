"""Objects of dp_accounting: trees of events, and privacy loss distributions.

Only public methods are used. A PrivacyLossDistribution answers with δ(ε), the larger one of both
directions, which is linear in e^ε between the multiples of its discretisation interval: from its
values there, the masses of an equal loss distribution follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.gaussian import Gaussian
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pld import PLD
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.randomized_response import RandomizedResponse
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import exact
from gdpbridge.transformations.sequence import Sequence

__all__ = ["profile_of_event", "profile_of_pld"]


_INTERVALS = tuple(lead * 10.0**power for power in range(-1, -8, -1) for lead in (5, 2, 1))
_LINEAR = 1e-6
_MOST = 5_000_000


def profile_of_event(event: Any) -> Profile:
    """Return the profile of a DpEvent.

    Args:
        event: Gaussian, Laplace, randomized response, zCDP or no-op events, Poisson samples of
            Gaussian ones, and compositions of these.

    Raises:
        InputError: for another event, by its name.
    """
    name = type(event).__name__
    if name not in _EVENTS:
        known = ", ".join(sorted(_EVENTS))
        raise InputError("event", name, f"one of {known}")
    return _EVENTS[name](event)


def _sampled(event: Any) -> Profile:
    inner = event.event
    if type(inner).__name__ != "GaussianDpEvent":
        raise InputError(
            "event",
            f"PoissonSampledDpEvent of {type(inner).__name__}",
            "a PoissonSampledDpEvent of GaussianDpEvent",
        )
    return DPSGD(
        noise_multiplier=inner.noise_multiplier,
        sample_rate=event.sampling_probability,
        steps=1,
    )


def _repeated(event: Any) -> Profile:
    inner = profile_of_event(event.event)
    if isinstance(inner, DPSGD):
        return inner.model_copy(update={"steps": inner.steps * event.count})
    return inner.compose(event.count)


def _composed(event: Any) -> Profile:
    parts = [profile_of_event(one) for one in event.events]
    if not parts:
        raise InputError(
            "event",
            Words("ComposedDpEvent of nothing"),
            Advice("a ComposedDpEvent needs at least one event"),
        )
    return Sequence(parts=tuple(parts)) if len(parts) > 1 else parts[0]


def _zcdp(event: Any) -> Profile:
    if getattr(event, "xi", 0):
        raise InputError("event", f"ZCDpEvent with xi = {event.xi}", "one with xi = 0")
    return ZCDP(rho=event.rho)


_EVENTS: dict[str, Callable[[Any], Profile]] = {
    "GaussianDpEvent": lambda event: Gaussian(sigma=event.noise_multiplier),
    "LaplaceDpEvent": lambda event: Laplace(scale=event.noise_multiplier),
    "RandomizedResponseDpEvent": lambda event: RandomizedResponse(
        noise_parameter=event.noise_parameter, buckets=event.num_buckets
    ),
    "ZCDpEvent": _zcdp,
    "NoOpDpEvent": lambda _: PureDP(epsilon=0),
    "PoissonSampledDpEvent": _sampled,
    "SelfComposedDpEvent": _repeated,
    "ComposedDpEvent": _composed,
}


def profile_of_pld(source: Any, interval: float | None = None) -> PLD:
    """Return the profile of a PrivacyLossDistribution.

    Its numbers are taken as they are: if they are too small, as at the far end of a composed one,
    so are ours.

    Args:
        source: the distribution.
        interval: its discretisation interval; found by trying round numbers if None.

    Raises:
        InputError: if the interval is not found, or not the one given.
    """
    failure = float(source.get_delta_for_epsilon(math.inf))
    if interval is None:
        interval = next((one for one in _INTERVALS if _is_linear(source, one)), None)
        if interval is None:
            raise InputError.missing(
                "interval", "give the discretisation interval, which is not found"
            )
    elif not interval > 0 or not _is_linear(source, interval):
        raise InputError("interval", interval, "the discretisation interval of the distribution")
    eps, delta = _values(source, interval, failure)
    # the slopes between lattice points are minus P(L > ε) under the other distribution
    slopes = (delta[:-1] - delta[1:]) / (np.exp(eps[:-1]) * math.expm1(interval))
    other = slopes - np.append(slopes[1:], 0.0)
    masses = np.maximum(other, 0.0) * np.exp(eps[1:])
    # what is left has no positive loss, and matters for no ε ≥ 0
    rest = max(1.0 - math.fsum([*masses, failure]), 0.0)
    losses = [0.0, *eps[1:].tolist()]
    pairs = list(zip(losses, [rest, *masses.tolist()], strict=True))
    return PLD(remove=[*pairs, (math.inf, failure)])


def _is_linear(source: Any, interval: float) -> bool:
    """Whether δ is linear in e^ε between the first multiples of an interval, and bends at them."""
    points = np.arange(0, 9) * interval / 2
    delta = np.asarray(source.get_delta_for_epsilon(points), dtype=np.float64)
    t = np.exp(points)
    for left in range(0, 7, 2):
        share = (t[left + 1] - t[left]) / (t[left + 2] - t[left])
        line = delta[left] + share * (delta[left + 2] - delta[left])
        if abs(line - delta[left + 1]) > _LINEAR * max(abs(delta[left] - delta[left + 2]), 1e-300):
            return False
    return True


def _values(source: Any, interval: float, failure: float) -> tuple[Floats, Floats]:
    """Return δ at multiples of the interval up to where it is δ_∞."""
    count = 1024
    while True:
        # the floats nearest to multiples of the interval as it is written
        step = exact(interval)
        eps = np.array([float(k * step) for k in range(count + 1)])
        delta = np.asarray(source.get_delta_for_epsilon(eps), dtype=np.float64)
        done = np.flatnonzero(delta <= failure * (1 + 1e-12))
        if done.size:
            last = int(done[0])
            found = np.asarray(np.append(delta[:last], failure), dtype=np.float64)
            return eps[: last + 1], found
        count *= 4
        if count > _MOST:
            raise InputError(
                "source",
                Words("of very large losses"),
                Advice(f"its losses are spread over more than {_MOST:,} lattice points"),
            )
