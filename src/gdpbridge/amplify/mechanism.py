"""The mechanism of a clip-and-rectify plan, with noise from OpenDP's samplers.

OpenDP rounds its input to a multiple of 2^k and adds discrete Laplace noise on that grid, so that
the last bits of an output say nothing (what they say otherwise: Mironov 2012). k is chosen from the
plan alone. With λ = 2^k/scale such noise has, for a shift of m steps, the profile 1 - e^{-λj} at
ε = λ(m - 2j), which is the continuous one, and lies on the lines in e^ε between these points: below
the continuous one with λ²/4 more of ε. So the scale is searched for which OpenDP's own map is at
most ε_h less λ²/4 for each coordinate. Its map counts the rounding of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import Advice, InputError, MissingExtraError
from gdpbridge.numeric.exact import exact, float_ceiling, float_floor

if TYPE_CHECKING:
    from gdpbridge.amplify.clip_rectify import ClipRectifyPlan

__all__ = ["RectifiedMechanism", "rectified_mechanism"]

# the grid is this many binary places finer than the scale
_PLACES = 40
_LEAST_EXPONENT = -1074


@dataclass(frozen=True)
class RectifiedMechanism:
    """A mechanism that clips and adds noise; call it with a data set.

    Attributes:
        plan: the plan that it carries out; μ and the profile are the plan's.
        scale: the scale of its noise, a little above the plan's so that OpenDP's map holds.
        grid: every output is a multiple of this power of two.
        measurement: the same as an OpenDP measurement. Its privacy map is ε_h, whatever the
            distance: that of the noise alone, all that a map can say.
    """

    plan: ClipRectifyPlan
    scale: float
    grid: float
    measurement: Any = field(repr=False)

    def __call__(self, data: Any) -> Any:
        """Return the noisy answer for a data set: a float, or a list of floats for a vector."""
        return self.measurement(data)


def rectified_mechanism(
    plan: ClipRectifyPlan,
    inner: Callable[[Any], Any],
    example: Any = None,
    input_domain: Any = None,
    input_metric: Any = None,
) -> RectifiedMechanism:
    """Build the mechanism of a plan; see :meth:`ClipRectifyPlan.mechanism`."""
    dp = _opendp()
    if not callable(inner):
        raise InputError("inner", inner, "an OpenDP measurement or a function of a data set")
    if example is not None:
        _try_out(plan, inner, example)
    exponent = max(math.frexp(plan.scale)[1] - 1 - _PLACES, _LEAST_EXPONENT)
    with _features("contrib", "honest-but-curious"):
        domain, metric = _space(dp, plan, inner)
        noise, scale = _noise(dp, plan, exponent)

        def answer(data: Any) -> Any:
            released = noise(_clipped(plan, inner, data))
            return released if plan.is_vector else released[0]

        measurement = dp.m.make_user_measurement(
            domain if input_domain is None else input_domain,
            metric if input_metric is None else input_metric,
            dp.max_divergence(),
            answer,
            lambda _: plan.eps_h,
            TO="Vec<f64>" if plan.is_vector else "f64",
        )
    return RectifiedMechanism(plan, scale, math.ldexp(1.0, exponent), measurement)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("mechanisms", "a mechanism that runs") from None
    return dp


@contextmanager
def _features(*names: str) -> Iterator[None]:
    """Allow features of OpenDP for a while, without a trace for the rest of the program."""
    from opendp.mod import GLOBAL_FEATURES

    added = set(names) - GLOBAL_FEATURES
    GLOBAL_FEATURES.update(added)
    try:
        yield
    finally:
        GLOBAL_FEATURES.difference_update(added)


def _space(dp: Any, plan: ClipRectifyPlan, inner: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the input space of a measurement, else that of any data."""
    if isinstance(inner, dp.Measurement):
        return inner.input_domain, inner.input_metric
    relation = plan.profile.neighbours or "the neighbouring relation of the profile"
    return dp.user_domain("a data set", lambda _: True), dp.user_distance(relation)


def _noise(dp: Any, plan: ClipRectifyPlan, exponent: int) -> tuple[Any, float]:
    """Return OpenDP's noise for the box, with the least scale that its map allows."""
    size = len(plan.lower)
    space = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size),
        dp.l1_distance(T=float),
    )

    def make(scale: float) -> Any:
        return dp.m.make_laplace(*space, scale=scale, k=exponent)

    # what is clipped are binary numbers
    pairs = zip(plan.lower, plan.upper, strict=True)
    width = float_ceiling(sum((Fraction(high) - Fraction(low) for low, high in pairs), Fraction(0)))
    step = Fraction(2) ** exponent / Fraction(plan.scale)
    allowed = float_floor(exact(plan.eps_h) - size * step * step)
    scale = dp.binary_search_param(
        make, d_in=width, d_out=allowed, bounds=(plan.scale / 2, plan.scale * 2)
    )
    return make(scale), scale


def _clipped(plan: ClipRectifyPlan, inner: Callable[[Any], Any], data: Any) -> list[float]:
    """Return the answer of ``inner`` within the bounds, whatever it does."""
    try:
        values = _numbers(plan, inner(data))
    except Exception:
        # whether it fails may depend on a single record
        return list(plan.lower)
    return [
        low if math.isnan(value) else min(max(value, low), high)
        for value, low, high in zip(values, plan.lower, plan.upper, strict=True)
    ]


def _numbers(plan: ClipRectifyPlan, answer: Any) -> list[float]:
    values = list(answer) if plan.is_vector else [answer]
    if len(values) != len(plan.lower):
        raise ValueError(f"{len(values)} numbers instead of {len(plan.lower)}")
    return [_number(value) for value in values]


def _number(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError("a text instead of a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _try_out(plan: ClipRectifyPlan, inner: Callable[[Any], Any], example: Any) -> None:
    expected = f"{len(plan.lower)} numbers" if plan.is_vector else "a number"
    try:
        values = _numbers(plan, inner(example))
    except Exception as error:
        what = f"it cannot answer the example with {expected} ({error})"
        raise InputError("inner", type(error).__name__, Advice(what)) from error
    if any(math.isnan(value) for value in values):
        raise InputError(
            "inner", "nan", Advice(f"its answer to the example is not {expected}, but nan")
        )
