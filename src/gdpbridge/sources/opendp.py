"""Measurements of OpenDP, as objects or as the text that ``dp.serialize`` makes of them.

Noise is taken by its law: what OpenDP's own map says of it may be looser, as of Gaussian noise,
whose map speaks of ρ-zCDP. Transformations before the noise are asked for their stability, in
OpenDP's own arithmetic, which rounds up. Noise of floating-point numbers lies on a fine grid there;
it is taken as the noise of real numbers. Of whole vectors the worst case is taken, as the
kinds of discrete noise state it.

What OpenDP's map says of the whole measurement is compared, by the largest δ(0) that it allows. A
warning says so where that is more than the noise gives away, or less.
"""

from __future__ import annotations

import importlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from gdpbridge.errors import InputError, MissingExtraError, Words
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.discrete_gaussian import DiscreteGaussian
from gdpbridge.mechanisms.discrete_laplace import DiscreteLaplace
from gdpbridge.mechanisms.gaussian import Gaussian
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.randomized_response import RandomizedResponse
from gdpbridge.mechanisms.report_noisy_max import ReportNoisyMax
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.exact import exact, written_below
from gdpbridge.transformations.sequence import Sequence

__all__ = ["profile_of_opendp"]

# what only restates a measurement, and where that is
_RESTATED = {
    "make_chain_pm": "measurement0",
    "make_fix_delta": "measurement",
    "make_approximate": "measurement",
    "make_pureDP_to_zCDP": "measurement",
    "make_zCDP_to_approxDP": "measurement",
    "make_fixed_approxDP_to_approxDP": "measurement",
}
_OBJECT = "__object__"
_SEVERAL = ("make_composition", "make_basic_composition")
_BUDGET = "(dp.max_divergence(), 1.0)"
# maps round up
_SAME = 1e-9
# 2², which one number may move by
_UNKNOWN = 4
_WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def profile_of_opendp(source: Any, distance: float = 1) -> Profile:
    """Return the profile of a measurement.

    Args:
        source: the measurement, or the text of ``dp.serialize``.
        distance: d_in, how far neighbouring inputs are apart in the measurement's metric.

    Raises:
        InputError: for a text that is no measurement, or one without a profile here, by its name.
        MissingExtraError: without OpenDP.
    """
    try:
        dp: Any = importlib.import_module("opendp.prelude")
    except ImportError:
        raise MissingExtraError("mechanisms", "reading a measurement of OpenDP") from None
    features = importlib.import_module("opendp.mod").GLOBAL_FEATURES
    before = set(features)
    # what made the measurement was asked for by its maker
    dp.enable_features("contrib", "honest-but-curious")
    try:
        if isinstance(source, str):
            found = _profile(dp, json.loads(source), distance)
            measurement = dp.deserialize(source)
        else:
            found, measurement = _of_object(dp, source, distance), source
        told = _difference(dp, measurement, distance, float(found.delta(0.0)))
    except json.JSONDecodeError:
        raise InputError("source", Words("no JSON"), "the text of dp.serialize") from None
    finally:
        features.intersection_update(before)
    if told:
        warnings.warn(told, UserWarning, stacklevel=3)
    return found


def _of_object(dp: Any, source: Any, distance: float) -> Profile:
    """Return the profile of an object, whose functions and metrics dp.serialize may not know."""
    made = getattr(source, "__opendp_dict__", {})
    name, given = made.get("__function__", type(source).__name__), made.get("__kwargs__", {})
    if _RESTATED.get(name) in given:
        return _of_object(dp, given[_RESTATED[name]], distance)
    if name == "make_chain_mt":
        before = given["transformation0"].map(_checked(distance))
        return _of_object(dp, given["measurement1"], before)
    if name in _SEVERAL:
        parts = [_of_object(dp, one, distance) for one in given["measurements"]]
        return Sequence(parts=tuple(parts))
    try:
        text = dp.serialize(source)
    except Exception as error:  # OpenDP raises no class of its own
        if name in _NOISE:
            node = {"__function__": name, "__kwargs__": given, _OBJECT: source}
            return _profile(dp, node, distance)
        allowed = f"one that dp.serialize can write ({error})"
        raise InputError("measurement", name, _WHY_NOT.get(name, allowed)) from None
    return _profile(dp, json.loads(text), distance)


def _checked(distance: Any) -> Any:
    if isinstance(distance, int | float) and 0 < distance < math.inf:
        return distance
    raise InputError("distance", distance, "a finite number > 0")


def _difference(dp: Any, measurement: Any, distance: float, own: float) -> str:
    """Say how the largest δ(0) that the measurement's map allows differs from the noise's own."""
    measure, said = measurement.output_measure, measurement.map(distance)
    allowed: Profile
    if measure == dp.max_divergence():
        words, allowed = f"ε = {said:.6g}", PureDP(epsilon=said)
    elif measure == dp.zero_concentrated_divergence():
        words, allowed = f"ρ = {said:.6g}", ZCDP(rho=said)
    elif measure == dp.approximate(dp.max_divergence()):
        # the public names of the parameters are their aliases
        given: dict[str, Any] = dict(zip(("epsilon", "delta"), said, strict=True))
        words, allowed = f"(ε, δ) = ({said[0]:.6g}, {said[1]:.6g})", ApproxDP(**given)
    else:
        return ""
    most = float(allowed.delta(0.0))
    if abs(most - own) <= _SAME * most:
        return ""
    both = f"OpenDP's own map says {words}, by which δ(0) may be {most:.6g}"
    if most > own:
        return f"{both}: the noise has {own:.6g}, and μ is measured of the noise"
    return f"{both}: that is too small, the noise has {own:.6g}"


def _profile(dp: Any, node: Any, distance: float) -> Profile:
    if not isinstance(node, Mapping) or not {"__function__", "__kwargs__"} <= set(node):
        raise InputError("source", Words("no measurement"), "the text of dp.serialize")
    name, given = str(node["__function__"]), node["__kwargs__"]
    if name in _RESTATED and _RESTATED[name] in given:
        return _profile(dp, given[_RESTATED[name]], distance)
    if name == "make_chain_mt":
        before = dp.deserialize(json.dumps(given["transformation0"]))
        return _profile(dp, given["measurement1"], before.map(_checked(distance)))
    if name in _SEVERAL:
        parts = [_profile(dp, one, distance) for one in given["measurements"]]
        return Sequence(parts=tuple(parts))
    if name not in _NOISE:
        known = ", ".join(sorted({*_NOISE, *_RESTATED, "make_chain_mt", "make_composition"}))
        allowed = f"one of {known}, or a budget in its place, such as {_BUDGET}"
        raise InputError("measurement", name, _WHY_NOT.get(name, allowed))
    return _NOISE[name](dp, node, _checked(distance))


def _noise(real: type[Profile], whole: type[Profile], parameter: str) -> Callable[..., Profile]:
    def profile(dp: Any, node: Mapping[str, Any], distance: float) -> Profile:
        made = node[_OBJECT] if _OBJECT in node else dp.deserialize(json.dumps(node))
        domain = made.input_domain
        scale = {parameter: node["__kwargs__"]["scale"]}
        if not any(f"T={name}" in str(domain) for name in _WHOLE):
            return real(**scale, sensitivity=distance)
        if whole is DiscreteGaussian and "VectorDomain" in str(domain) and domain.size != 1:
            return _gaussian_vector(scale, distance, domain.size)
        # an L1 distance between whole numbers is whole
        return whole(**scale, sensitivity=math.floor(_above(distance)))

    return profile


def _gaussian_vector(scale: Mapping[str, Any], distance: float, size: int | None) -> Profile:
    """Return as many runs as numbers may move by 1; by an L2 distance of 2 they may move by more.

    :mod:`gdpbridge.mechanisms.discrete_gaussian` says why.
    """
    moved = math.floor(_above(distance) ** 2)
    if moved >= _UNKNOWN:
        raise InputError(
            "distance",
            distance,
            "below 2 for make_gaussian on vectors of whole numbers, whose worst case is not known "
            "from there on (a bound is zcdp with rho = distance²/(2 scale²))",
        )
    runs = moved if size is None else min(moved, size)
    one = DiscreteGaussian(**scale, sensitivity=min(moved, 1))
    return one.compose(runs) if runs > 1 else one


def _above(distance: float) -> Fraction:
    """Return the next float: √3 may have been rounded down."""
    return exact(math.nextafter(float(distance), math.inf))


def _flipped_bit(_: Any, node: Mapping[str, Any], __: float) -> Profile:
    return _response(node["__kwargs__"]["prob"], 2)


def _category(_: Any, node: Mapping[str, Any], __: float) -> Profile:
    given = node["__kwargs__"]
    return _response(given["prob"], len(given["categories"]))


def _bits(_: Any, node: Mapping[str, Any], __: float) -> Profile:
    """Return one flipped bit for each place where vectors of so many ones may differ."""
    given = node["__kwargs__"]
    weight = given["input_domain"]["__kwargs__"].get("max_weight")
    if not weight:
        raise InputError("max_weight", weight, "the largest number of ones in a vector, ≥ 1")
    return RandomizedResponse(noise_parameter=given["f"]).compose(2 * weight)


def _response(truth: float, buckets: int) -> Profile:
    # with probability p any bucket is drawn, the true one among them
    noise = (1 - exact(float(truth))) * buckets / (buckets - 1)
    # less noise is on the safe side
    return RandomizedResponse(noise_parameter=written_below(noise), buckets=buckets)


def _noisy_max(_: Any, node: Mapping[str, Any], distance: float) -> Profile:
    """Return report noisy max: for ε-DP the noise is exponential, for ρ-zCDP that of Gumbel.

    What is called make_report_noisy_max_gumbel draws the former too, in version 0.16; where another
    one draws Gumbel noise, exponential noise is the worse one.
    """
    given = node["__kwargs__"]
    measure = given.get("output_measure", {}).get("__function__", "")
    return ReportNoisyMax(
        noise="gumbel" if measure == "zero_concentrated_divergence" else "exponential",
        scale=given["scale"],
        sensitivity=distance,
        monotonic=bool(given["input_metric"]["__kwargs__"].get("monotonic")),
    )


def _first_places(dp: Any, node: Mapping[str, Any], distance: float) -> Profile:
    if node["__kwargs__"]["k"] == 1:
        return _noisy_max(dp, node, distance)
    allowed = f"of one place, or its budget in its place, such as {_BUDGET}"
    raise InputError("measurement", node["__function__"], allowed)


def _any_noise(dp: Any, node: Mapping[str, Any], distance: float) -> Profile:
    """Return Laplace noise for ε-DP and Gaussian noise for ρ-zCDP."""
    measure = node["__kwargs__"]["output_measure"]["__function__"]
    name = "make_laplace" if measure == "max_divergence" else "make_gaussian"
    return _NOISE[name](dp, node, distance)


_AT_THRESHOLD = (
    "another one: counts at the threshold are released, and the δ of OpenDP's map leaves them out "
    "(opendp issue 2922); thresholded-release has the noise on numbers"
)
_ASKED = f"the measurements that it was asked for, or its budget, such as {_BUDGET}"
_UNSEEN = f"one whose noise is known here, or its budget, such as {_BUDGET}"
_WHY_NOT = {
    "make_population_amplification": "the measurement on the sample, whose profile has "
    'subsample(scheme="without-replacement", sample=…, population=…)',
    **dict.fromkeys(
        (
            "make_adaptive_composition",
            "make_sequential_composition",
            "make_fully_adaptive_composition",
            "make_privacy_filter",
        ),
        _ASKED,
    ),
    **dict.fromkeys(("make_user_measurement", "make_private_quantile"), _UNSEEN),
    "make_laplace_threshold": _AT_THRESHOLD,
    "make_gaussian_threshold": _AT_THRESHOLD,
    "make_noise_threshold": _AT_THRESHOLD,
    "make_canonical_noise": "a profile of approx-dp, by its d_out, for its d_in",
}
_NOISE: dict[str, Callable[..., Profile]] = {
    "make_laplace": _noise(Laplace, DiscreteLaplace, "scale"),
    # clamped to bounds, it has the same worst event
    "make_geometric": _noise(Laplace, DiscreteLaplace, "scale"),
    "make_gaussian": _noise(Gaussian, DiscreteGaussian, "sigma"),
    "make_noise": _any_noise,
    "make_noisy_max": _noisy_max,
    "make_noisy_top_k": _first_places,
    "make_report_noisy_max_gumbel": _noisy_max,
    "make_randomized_response_bool": _flipped_bit,
    "make_randomized_response": _category,
    "make_randomized_response_bitvec": _bits,
}
