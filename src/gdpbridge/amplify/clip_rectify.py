"""Clip and rectify: from a head statement to a μ for the whole range, and a mechanism that runs.

Clip the output to [y⁻, y⁺], then add Laplace noise of scale (y⁺ - y⁻)/ε_h (Liu, Sun, Jiang and
Kong 2022, section 5). For a vector y⁺ - y⁻ is the L1 diameter Σ (y⁺ᵢ - y⁻ᵢ) of the box: the profile
of independent noise on several coordinates lies below that of all the shift on one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.identify import Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.exact import exact, float_ceiling
from gdpbridge.showing import Shown
from gdpbridge.transformations.clip_rectify import ClipRectify

if TYPE_CHECKING:
    from gdpbridge.amplify.mechanism import RectifiedMechanism

__all__ = ["RECTIFYING", "ClipRectifyPlan", "clip_and_rectify"]

# what clipping and noise rest on
RECTIFYING = (
    "the bounds must be chosen without a look at the private data",
    "the noise must come from a sampler that is safe against floating-point attacks, such as that "
    "of mechanism()",
)

Bound = float | Sequence[float]


@dataclass(frozen=True, repr=False)
class ClipRectifyPlan(Shown):
    """The answer of :func:`clip_and_rectify`.

    Attributes:
        eps_h: the end of the head that is asked of the mechanism, and the width over the scale.
        lower: y⁻, one number for each coordinate.
        upper: y⁺, likewise.
        is_vector: whether the output is a vector.
        head: the measurement of the mechanism before: its μ on [0, eps_h] is what the theorem
            gives for the whole range afterwards.
        measurement: the measurement of the joint profile, which is smaller or the same.
        profile: the joint profile.
        sensitivity: the L1 diameter of the bounds.
        scale: the scale of the noise.
        notes: what a careful reader should know, a sentence each.
    """

    eps_h: float
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    is_vector: bool
    head: Measurement
    measurement: Measurement
    profile: ClipRectify
    sensitivity: float
    scale: float
    notes: tuple[str, ...] = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """Whether the result is GDP: it is, its privacy loss is at most ε_h."""
        return self.measurement.verdict

    @property
    def head_mu(self) -> Interval:
        """The μ of the theorem: that of the head, now for the whole range."""
        return self.head.mu

    @property
    def mu(self) -> Interval:
        """The μ measured from the joint profile, for the whole range."""
        return self.measurement.mu

    @property
    def mean_absolute_error(self) -> float:
        """The mean absolute error that the noise adds to a coordinate: its scale."""
        return self.scale

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on a coordinate: √2 times its scale."""
        return math.sqrt(2.0) * self.scale

    def mechanism(
        self,
        inner: Callable[[Any], Any],
        *,
        example: Any = None,
        input_domain: Any = None,
        input_metric: Any = None,
    ) -> RectifiedMechanism:
        """Return a mechanism that runs: ``inner``, clipped, with noise from OpenDP's samplers.

        What ``inner`` answers with must not show through errors. NaN, a text, an answer of another
        length, and an exception in ``inner`` all count as the lower bounds; infinities are
        clipped like any number. Give an ``example`` to find mistakes before private data is used.
        How long ``inner`` takes is not hidden.

        Args:
            inner: an OpenDP measurement, or a function from a data set to a number (a sequence of
                numbers for vector bounds). That it has the profile of the plan is trusted.
            example: a data set that is not private; ``inner`` is tried on it here and now.
            input_domain: the OpenDP domain of the data; that of a measurement, else any object.
            input_metric: the OpenDP metric of the neighbouring relation; as for the domain.

        Raises:
            InputError: if ``inner`` does not answer the example as it should.
            MissingExtraError: if OpenDP is not installed.
        """
        from gdpbridge.amplify.mechanism import rectified_mechanism

        return rectified_mechanism(self, inner, example, input_domain, input_metric)


def clip_and_rectify(
    profile: Profile, *, eps_h: Real, lower: Bound, upper: Bound, tol: Real | None = None
) -> ClipRectifyPlan:
    """Plan to clip a mechanism's output and to add Laplace noise, which makes it GDP.

    Args:
        profile: the mechanism's profile; of it only [0, eps_h] is used.
        eps_h: the end of that head, in (0, 1e5]. A larger one adds less noise and has a larger μ.
        lower: y⁻, a number, or a sequence of numbers for a vector.
        upper: y⁺, above y⁻. Both must be chosen without a look at the private data.
        tol: the largest width of the intervals for μ; that of :func:`gdpbridge.measure` if None.

    Returns:
        The scale of the noise, the theorem's μ, and the smaller one of the joint profile.

    Raises:
        InputError: for an argument outside its range.
        UndecidedError: if the precision cap was reached.
    """
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.ICEA(...)")
    lows, highs, is_vector = _bounds(lower, upper)
    ratio = _number("eps_h", eps_h, "a number > 0 and at most 100000")
    joint = ClipRectify(base=profile, eps_h=ratio)
    width = sum(exact(high) - exact(low) for low, high in zip(lows, highs, strict=True))
    scale = float_ceiling(Fraction(width) / exact(ratio))
    if not 0 < scale < math.inf:
        raise InputError(
            "upper",
            upper,
            Advice("give bounds whose distance, divided by eps_h, is a finite float > 0"),
        )
    return ClipRectifyPlan(
        eps_h=ratio,
        lower=lows,
        upper=highs,
        is_vector=is_vector,
        head=measure(profile, tol, eps_h=ratio),
        measurement=measure(joint, tol),
        profile=joint,
        sensitivity=float_ceiling(Fraction(width)),
        scale=scale,
        notes=_notes(joint, is_vector),
    )


def _notes(joint: ClipRectify, is_vector: bool) -> tuple[str, ...]:
    notes = [*RECTIFYING]
    if is_vector:
        notes.append("the sensitivity is the L1 diameter of the box: the sum of its widths")
    kinds = {run.bound for run in joint.runs}
    if kinds == {"base"}:
        notes.append("the noise's own profile is nowhere the better bound: it only adds error")
    elif kinds == {"noise"}:
        notes.append("the noise's own profile is the better bound everywhere: so much noise needs")
        notes[-1] += " nothing of the mechanism"
    return tuple(notes)


def _bounds(lower: Bound, upper: Bound) -> tuple[tuple[float, ...], tuple[float, ...], bool]:
    lows, low_is_vector = _coordinates("lower", lower)
    highs, high_is_vector = _coordinates("upper", upper)
    if low_is_vector != high_is_vector or len(lows) != len(highs):
        raise InputError("upper", upper, "of the same length as lower")
    for low, high in zip(lows, highs, strict=True):
        if not low < high:
            raise InputError("upper", high, f"above lower, which is {low:g}")
    return lows, highs, low_is_vector


def _coordinates(name: str, bound: Any) -> tuple[tuple[float, ...], bool]:
    allowed = "a finite number, or a sequence of them"
    if isinstance(bound, str | bytes) or not hasattr(bound, "__len__"):
        return (_number(name, bound, allowed),), False
    values = tuple(_number(name, value, allowed) for value in bound)
    if not values:
        raise InputError(name, Words("empty"), allowed)
    return values, True


def _number(name: str, value: object, allowed: str) -> float:
    """Read a number, or a decimal as text, as a float."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise InputError(name, value, allowed)
    return number
