"""Objects of dp_accounting: trees of events and Rényi accountants, both ways.

Only public methods are used. An event says its noise in units of how far a record moves the answer:
what is sampled at a fixed size is stated for replace-one neighbours, so that of noise on a sum with
clipped records the multiplier is that over twice the clipping norm.
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
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.banded_matrix import BandedMatrix
from gdpbridge.mechanisms.base import Neighbours, Profile
from gdpbridge.mechanisms.discrete_laplace import DiscreteLaplace
from gdpbridge.mechanisms.dpsgd import DPSGD, MAX_STEPS
from gdpbridge.mechanisms.gaussian import GDP, Gaussian
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.matrix import Matrix
from gdpbridge.mechanisms.opacus import OpacusHistory
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.randomized_response import RandomizedResponse
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.truncated_batches import TruncatedBatches
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.exact import (
    decimal_text,
    exact,
    float_ceiling,
    float_floor,
    written_above,
    written_below,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, float_below
from gdpbridge.sources.pld import profile_of_pld
from gdpbridge.transformations.compose import Composed
from gdpbridge.transformations.converted import Converted
from gdpbridge.transformations.grouped import Grouped
from gdpbridge.transformations.sequence import Sequence
from gdpbridge.transformations.subsample import Subsampled
from gdpbridge.transformations.tuned import Tuned

__all__ = [
    "event_of_profile",
    "profile_of_accountant",
    "profile_of_event",
    "profile_of_object",
]


# beyond, no float is small enough for the noise of randomized response
_LARGEST = 700.0


def profile_of_object(source: Any) -> Profile:
    """Return the profile of any object of dp_accounting.

    Args:
        source: an event, also as a named tuple or in its builder, an RdpAccountant, a
            PrivacyLossDistribution, or DifferentialPrivacyParameters.

    Raises:
        InputError: for another one, by its name, with what to pass instead.
    """
    name = type(source).__name__
    if hasattr(source, "ledger"):
        return profile_of_accountant(source)
    if name == "PrivacyLossDistribution":
        return profile_of_pld(source)
    if name == "DpEventBuilder":
        return profile_of_event(source.build())
    if hasattr(source, "class_name") and hasattr(source, "_fields"):
        events: Any = importlib.import_module("dp_accounting.dp_event")
        return profile_of_event(events.DpEvent.from_named_tuple(source))
    if name == "DifferentialPrivacyParameters":
        given: dict[str, Any] = {"epsilon": source.epsilon, "delta": source.delta}
        return ApproxDP(**given) if source.delta else PureDP(epsilon=source.epsilon)
    if name.endswith(("PrivacyLoss", "PLDPmf")):
        allowed = (
            "a PrivacyLossDistribution, which has both directions: pass one that is made of it"
        )
        raise InputError("source", name, allowed)
    return profile_of_event(source)


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
    rate, inner = exact(float(event.sampling_probability)), event.event
    # a sample of a sample is one with the product of both chances
    while type(inner).__name__ == "PoissonSampledDpEvent" and 0 <= rate <= 1:
        rate, inner = rate * exact(float(inner.sampling_probability)), inner.event
    sample_rate = written_above(rate)
    if type(inner).__name__ == "GaussianDpEvent":
        return DPSGD(noise_multiplier=inner.noise_multiplier, sample_rate=sample_rate, steps=1)
    base = profile_of_event(inner)
    if not rate or base == _NOTHING:
        return _NOTHING
    if not isinstance(base, Composed | Sequence):
        return base.subsample(sample_rate)
    if mu := base.tail.gaussian_mu:
        # Gaussian noise on the same sample several times is Gaussian noise once
        sigma = written_below(Fraction(_below_reciprocal(mu)))
        return DPSGD(noise_multiplier=sigma, sample_rate=sample_rate, steps=1)
    sampled = base.subsample(sample_rate)
    try:
        _ = sampled.curve
    except InputError:
        raise InputError(
            "event",
            Words(f"a PoissonSampledDpEvent of a {type(inner).__name__}"),
            "one of a single event, or of Gaussian ones: of others that share a sample nothing "
            "is known here",
        ) from None
    return sampled


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
    name = type(event).__name__
    try:
        found = _BY_LATTICE[name](event)
    except ValueError as error:
        raise InputError(name, Words("refused"), Advice(f"dp_accounting says: {error}")) from None
    run = found.self_compose(times) if times > 1 else found
    return profile_of_pld(run, _INTERVAL, bound=True, neighbours="add-remove")


def _repeated(event: Any) -> Profile:
    once, count = event.event, event.count
    # what is only repeated within is repeated as often in one
    while True:
        if not isinstance(count, int | np.integer) or not 1 <= count <= MAX_STEPS:
            raise InputError("count", count, f"a whole number from 1 to {MAX_STEPS}")
        name = type(once).__name__
        if name == "SelfComposedDpEvent":
            once, count = once.event, count * once.count
        elif name == "ComposedDpEvent" and len(once.events) == 1:
            once = once.events[0]
        else:
            break
    if type(once).__name__ in _BY_LATTICE:
        return _as_lattice(once, int(count))
    inner = profile_of_event(once)
    if isinstance(inner, DPSGD):
        return DPSGD(**{**inner.model_dump(), "steps": inner.steps * int(count)})
    return inner.compose(int(count))


def _composed(event: Any) -> Profile:
    parts = [profile_of_event(one) for one in event.events]
    if not parts:
        return _NOTHING
    return Sequence(parts=tuple(parts)) if len(parts) > 1 else parts[0]


def _zcdp(event: Any) -> Profile:
    if not event.rho:
        # no divergence of any order is above ξ, nor any loss
        return PureDP(epsilon=event.xi)
    if not event.xi:
        return ZCDP(rho=event.rho)
    # D_α ≤ ξ + ρα, taken at some orders
    xi, rho = exact(float(event.xi)), exact(float(event.rho))
    values = [decimal_text(xi + rho * Fraction(alpha)) for alpha in _ALPHAS]
    return Renyi(orders=list(_ALPHAS), epsilons=values)


def _tree(event: Any) -> Profile:
    counts = event.step_counts
    largest = max([counts] if isinstance(counts, int) else counts, default=0)
    if largest < 1:
        raise InputError("step_counts", counts, "a whole number ≥ 1, or a list of such")
    # a record is in one leaf of one tree, and in each node above it
    depth = int(largest).bit_length()
    one = Gaussian(sigma=event.noise_multiplier)
    return one.compose(depth) if depth > 1 else one


def _selected(event: Any) -> Profile:
    base = profile_of_event(event.event)
    if base == _NOTHING:
        return base
    if math.isinf(event.shape):
        return base.tune(event.mean, distribution="poisson")
    return base.tune(event.mean, shape=event.shape)


def _fixed_size(event: Any, scheme: str) -> Profile:
    base = profile_of_event(event.event)
    if base == _NOTHING:
        return base
    return base.subsample(
        scheme=scheme, sample=event.sample_size, population=event.source_dataset_size
    )


def _noise(kind: Callable[..., Profile], parameter: str) -> Callable[[Any], Profile]:
    def profile(event: Any) -> Profile:
        if event.noise_multiplier == math.inf:
            return _NOTHING
        return kind(**{parameter: event.noise_multiplier})

    return profile


def _response(event: Any) -> Profile:
    if event.num_buckets == 1:
        return _NOTHING
    return RandomizedResponse(noise_parameter=event.noise_parameter, buckets=event.num_buckets)


def _discrete_laplace(event: Any) -> Profile:
    # rounded towards less noise, where 1/a is no decimal
    scale = written_below(1 / exact(float(event.noise_parameter)))
    return DiscreteLaplace(scale=scale, sensitivity=event.sensitivity)


_NOTHING = PureDP(epsilon=0)
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
    "GaussianDpEvent": _noise(Gaussian, "sigma"),
    "LaplaceDpEvent": _noise(Laplace, "scale"),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _response,
    "ZCDpEvent": _zcdp,
    "NoOpDpEvent": lambda _: _NOTHING,
    "PoissonSampledDpEvent": _sampled,
    "SampledWithoutReplacementDpEvent": lambda event: _fixed_size(event, "without-replacement"),
    "SampledWithReplacementDpEvent": lambda event: _fixed_size(event, "with-replacement"),
    "SelfComposedDpEvent": _repeated,
    "ComposedDpEvent": _composed,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": _selected,
}


_RELATIONS: dict[str, Neighbours] = {
    "ADD_OR_REMOVE_ONE": "add-remove",
    "REPLACE_ONE": "replace-one",
    "REPLACE_SPECIAL": "zero-out",
}


def profile_of_accountant(source: Any) -> Profile:
    """Return the Rényi curve of an RdpAccountant for its neighbours, infinite orders left out.

    Raises:
        InputError: for another accountant, which holds no such curve: its ledger is an event; and
            for one without a finite divergence.
    """
    relation = _RELATIONS[source.neighboring_relation.name]
    if not (hasattr(source, "orders") and hasattr(source, "rdp")):
        told = (
            ""
            if relation != "replace-one"
            else ", whose noise is then over the norm of one record: replaced, two move the sum"
        )
        raise InputError(
            "source",
            type(source).__name__,
            f"an RdpAccountant or an event: pass its ledger{told}",
        )
    orders, rdp = (np.asarray(one, dtype=np.float64) for one in (source.orders, source.rdp))
    # at order 1 and below nothing is said here
    kept = (orders > 1) & np.isfinite(rdp)
    if not kept.any():
        raise InputError(
            "source",
            Words("an RdpAccountant without a finite divergence of an order above 1"),
            "one of private events, with orders above 1",
        )
    if not rdp[kept].any():
        return _NOTHING
    return Renyi(orders=orders[kept].tolist(), epsilons=rdp[kept].tolist(), neighbours=relation)


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
        case OpacusHistory() | BandedMatrix():
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
    raise InputError(
        "profile",
        profile.kind,
        "a mechanism that dp_accounting has an event for: noise of the Gaussian, Laplace or "
        "discrete Laplace law, randomized response, gdp, pure-dp, zcdp, dpsgd, truncated-batches, "
        "and what is composed, sampled or tuned of these",
    )


def _below_ratio(profile: Profile, noise: str, moved: str) -> float:
    """Return noise over sensitivity, rounded down likewise."""
    return float_floor(profile.exact(noise) / profile.exact(moved))


def _below_reciprocal(mu: Constant) -> float:
    """Return 1/μ rounded down: less noise is on the safe side."""
    with precision(128):
        return float_below(1 / BALLS.constant(mu))
