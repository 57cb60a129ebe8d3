"""Objects of dp_accounting: trees of events, Rényi accountants, and privacy loss distributions.

Only public methods are used. A PrivacyLossDistribution answers with δ(ε), the larger one of both
directions, which is linear in e^ε between the multiples of its discretisation interval: from its
values there, the masses of an equal loss distribution follow.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from gdpbridge.curves.constants import Constant
from gdpbridge.errors import Advice, InputError, MissingExtraError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.discrete_laplace import DiscreteLaplace
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.gaussian import GDP, Gaussian
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.matrix import Matrix
from gdpbridge.mechanisms.opacus import OpacusHistory
from gdpbridge.mechanisms.pld import PLD
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.randomized_response import RandomizedResponse
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.truncated_batches import TruncatedBatches
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import decimal_text, exact, float_ceiling, float_floor, written_below
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, float_below
from gdpbridge.transformations.compose import Composed
from gdpbridge.transformations.converted import Converted
from gdpbridge.transformations.grouped import Grouped
from gdpbridge.transformations.sequence import Sequence
from gdpbridge.transformations.subsample import Subsampled
from gdpbridge.transformations.tuned import Tuned

__all__ = ["event_of_profile", "profile_of_accountant", "profile_of_event", "profile_of_pld"]


_INTERVALS = tuple(lead * 10.0**power for power in range(-1, -8, -1) for lead in (5, 2, 1))
_LINEAR = 1e-6
_MOST = 5_000_000
# beyond, no float is small enough for the noise of randomized response
_LARGEST = 700.0


def profile_of_event(event: Any) -> Profile:
    """Return the profile of a DpEvent.

    Args:
        event: Gaussian, Laplace, discrete Laplace, randomized response, zCDP, tree aggregation or
            no-op events, samples, compositions, and the best of several of these.

    Raises:
        InputError: for another event, by its name.
    """
    name = type(event).__name__
    if name not in _EVENTS:
        known = f"one of {', '.join(sorted(_EVENTS))}"
        raise InputError("event", name, _NO_PROFILE.get(name, known))
    return _EVENTS[name](event)


def _sampled(event: Any) -> Profile:
    inner = event.event
    if type(inner).__name__ != "GaussianDpEvent":
        return profile_of_event(inner).subsample(event.sampling_probability)
    return DPSGD(
        noise_multiplier=inner.noise_multiplier,
        sample_rate=event.sampling_probability,
        steps=1,
    )


def _truncated(event: Any) -> Any:
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    return pld.from_truncated_subsampled_gaussian_mechanism(
        dataset_size=event.dataset_size,
        sampling_probability=event.sampling_probability,
        truncated_batch_size=event.truncated_batch_size,
        noise_multiplier=event.noise_multiplier,
        value_discretization_interval=_INTERVAL,
    )


def _mixture(event: Any) -> Any:
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    return pld.from_mixture_gaussian_mechanism(
        event.standard_deviation,
        event.sensitivities,
        event.sampling_probs,
        value_discretization_interval=_INTERVAL,
    )


def _as_lattice(event: Any, times: int = 1) -> Profile:
    """Return dp_accounting's own distribution, composed there: an upper bound of the event's."""
    found = _BY_LATTICE[type(event).__name__](event)
    run = found.self_compose(times) if times > 1 else found
    return profile_of_pld(run, _INTERVAL, bound=True)


def _repeated(event: Any) -> Profile:
    if type(event.event).__name__ in _BY_LATTICE:
        return _as_lattice(event.event, event.count)
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
    if not event.xi:
        return ZCDP(rho=event.rho)
    # D_α ≤ ξ + ρα, taken at some orders
    xi, rho = exact(float(event.xi)), exact(float(event.rho))
    values = [decimal_text(xi + rho * Fraction(alpha)) for alpha in _ALPHAS]
    return Renyi(orders=list(_ALPHAS), epsilons=values)


def _tree(event: Any) -> Profile:
    counts = event.step_counts
    largest = max([counts] if isinstance(counts, int) else list(counts))
    # a record is in one leaf of one tree, and in each node above it
    depth = int(largest).bit_length()
    one = Gaussian(sigma=event.noise_multiplier)
    return one.compose(depth) if depth > 1 else one


def _selected(event: Any) -> Profile:
    base = profile_of_event(event.event)
    if math.isinf(event.shape):
        return base.tune(event.mean, distribution="poisson")
    return base.tune(event.mean, shape=event.shape)


def _without_replacement(event: Any) -> Profile:
    return profile_of_event(event.event).subsample(
        scheme="without-replacement",
        sample=event.sample_size,
        population=event.source_dataset_size,
    )


def _with_replacement(event: Any) -> Profile:
    return profile_of_event(event.event).subsample(
        scheme="with-replacement", sample=event.sample_size, population=event.source_dataset_size
    )


def _discrete_laplace(event: Any) -> Profile:
    # rounded towards less noise, where 1/a is no decimal
    scale = written_below(1 / exact(float(event.noise_parameter)))
    return DiscreteLaplace(scale=scale, sensitivity=event.sensitivity)


_ALPHAS = (1.25, 1.5, 2, 2.5, 3, *range(4, 24), 28, 32, 40, 48, 64, 96, 128, 256, 512)
_NO_PROFILE = {
    "NonPrivateDpEvent": "an event of a private mechanism",
    "UnsupportedDpEvent": "an event that dp_accounting supports",
}
# of which dp_accounting knows a distribution on a lattice that dominates, and no more is known
_INTERVAL = 1e-3
_BY_LATTICE = {
    "MixtureOfGaussiansDpEvent": _mixture,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
}
_EVENTS: dict[str, Callable[[Any], Profile]] = {
    **dict.fromkeys(_BY_LATTICE, _as_lattice),
    "GaussianDpEvent": lambda event: Gaussian(sigma=event.noise_multiplier),
    "LaplaceDpEvent": lambda event: Laplace(scale=event.noise_multiplier),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": lambda event: RandomizedResponse(
        noise_parameter=event.noise_parameter, buckets=event.num_buckets
    ),
    "ZCDpEvent": _zcdp,
    "NoOpDpEvent": lambda _: PureDP(epsilon=0),
    "PoissonSampledDpEvent": _sampled,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SampledWithReplacementDpEvent": _with_replacement,
    "SelfComposedDpEvent": _repeated,
    "ComposedDpEvent": _composed,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": _selected,
}


def profile_of_accountant(source: Any) -> Profile:
    """Return the Rényi curve of an RdpAccountant, infinite orders left out.

    Raises:
        InputError: for another accountant, which holds no such curve: its ledger is an event.
    """
    if not (hasattr(source, "orders") and hasattr(source, "rdp")):
        raise InputError(
            "source", type(source).__name__, "an RdpAccountant or an event: pass its ledger"
        )
    orders, rdp = (np.asarray(one, dtype=np.float64) for one in (source.orders, source.rdp))
    # at order 1 and below nothing is said here, and a divergence of 0 is that of no event
    kept = (orders > 1) & np.isfinite(rdp)
    if not (rdp[kept] > 0).any():
        return PureDP(epsilon=0)
    return Renyi(orders=orders[kept].tolist(), epsilons=rdp[kept].tolist())


def event_of_profile(profile: Profile) -> Any:
    """Return a profile as a DpEvent of dp_accounting.

    Raises:
        InputError: for a profile that no event says.
        MissingExtraError: without dp_accounting.
    """
    try:
        events: Any = importlib.import_module("dp_accounting.dp_event")
    except ImportError:
        raise MissingExtraError("pld", "making an event of dp_accounting") from None
    match profile:
        case Gaussian():
            return events.GaussianDpEvent(_below_ratio(profile, "sigma", "sensitivity"))
        case GDP() | Matrix() | Grouped() | Converted() if profile.tail.gaussian_mu:
            return events.GaussianDpEvent(_below_reciprocal(profile.tail.gaussian_mu))
        case Laplace():
            return events.LaplaceDpEvent(_below_ratio(profile, "scale", "sensitivity"))
        case DiscreteLaplace():
            rate = float_ceiling(1 / profile.exact("scale"))
            return events.DiscreteLaplaceDpEvent(rate, profile.sensitivity)
        case RandomizedResponse():
            return events.RandomizedResponseDpEvent(profile.noise_parameter, profile.buckets)
        case ZCDP():
            return events.ZCDpEvent(profile.rho)
        case DPSGD() if profile.steps == 0 or profile.sample_rate == 0:
            return events.NoOpDpEvent()
        case PureDP(epsilon=0) | GDP(mu=0):
            return events.NoOpDpEvent()
        case PureDP() if profile.epsilon <= _LARGEST:
            # the worst ε-DP mechanism
            noise = math.nextafter(2 / (1 + math.exp(profile.epsilon)), 0.0)
            return events.RandomizedResponseDpEvent(noise, 2)
        case DPSGD() if profile.sampling == "poisson" and profile.neighbours != "replace-one":
            step = events.PoissonSampledDpEvent(
                profile.sample_rate, events.GaussianDpEvent(profile.noise_multiplier)
            )
            return events.SelfComposedDpEvent(step, profile.steps)
        case TruncatedBatches() if profile.neighbours != "replace-one":
            step = events.TruncatedSubsampledGaussianDpEvent(
                profile.records,
                profile.sample_rate,
                profile.max_batch_size,
                profile.noise_multiplier,
            )
            return events.SelfComposedDpEvent(step, profile.steps)
        case OpacusHistory():
            return event_of_profile(profile.run)
        case Composed():
            return events.SelfComposedDpEvent(event_of_profile(profile.base), profile.times)
        case Sequence():
            return events.ComposedDpEvent([event_of_profile(part) for part in profile.parts])
        case Tuned():
            shape = math.inf if profile.distribution == "poisson" else profile.shape
            return events.RepeatAndSelectDpEvent(
                event_of_profile(profile.base), profile.mean, shape
            )
        case Subsampled() if profile.scheme == "poisson" and profile.rate is not None:
            return events.PoissonSampledDpEvent(profile.rate, event_of_profile(profile.base))
        case Subsampled() if profile.sample is not None:
            make = (
                events.SampledWithReplacementDpEvent
                if profile.scheme == "with-replacement"
                else events.SampledWithoutReplacementDpEvent
            )
            return make(profile.population, profile.sample, event_of_profile(profile.base))
    raise InputError("profile", profile.kind, "a mechanism that dp_accounting has an event for")


def _below_ratio(profile: Profile, noise: str, moved: str) -> float:
    """Return noise over sensitivity, rounded down likewise."""
    return float_floor(profile.exact(noise) / profile.exact(moved))


def _below_reciprocal(mu: Constant) -> float:
    """Return 1/μ rounded down: less noise is on the safe side."""
    with precision(128):
        return float_below(1 / BALLS.constant(mu))


def profile_of_pld(source: Any, interval: float | None = None, *, bound: bool = False) -> PLD:
    """Return the profile of a PrivacyLossDistribution.

    Its numbers are taken as they are: if they are too small, as at the far end of a composed one,
    so are ours.

    Args:
        source: the distribution.
        interval: its discretisation interval; found by trying round numbers if None.
        bound: whether it is only an upper bound of the mechanism's.

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
    return PLD(remove=[*pairs, (math.inf, failure)], bound=bound)


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
