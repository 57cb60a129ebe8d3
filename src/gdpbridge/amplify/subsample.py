"""The largest sampling rate that reaches a target μ, and samples drawn at that rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdpbridge.amplify.files import sample_file
from gdpbridge.amplify.frames import sample
from gdpbridge.calibrate import calibrate
from gdpbridge.calibration import Calibration
from gdpbridge.errors import InputError
from gdpbridge.goals import certified
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.exact import exact
from gdpbridge.progress import Progress, silent
from gdpbridge.showing import Shown
from gdpbridge.transformations.subsample import Subsampled

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["SubsamplePlan", "subsampling_plan"]


_NOTES = {
    "poisson": (
        "each record is in the sample with probability rate, independently: sample sizes vary, and "
        "are as private as the data",
    ),
    "without-replacement": (
        "the sample is a fixed number of records, at most rate times their number, every such set "
        "with the same probability",
    ),
}


@dataclass(frozen=True, repr=False)
class SubsamplePlan(Shown):
    """The answer of :func:`subsampling_plan`.

    Attributes:
        scheme: "poisson" or "without-replacement".
        target_mu: the target.
        rate: the safe end: with it μ is proved to be at most the target.
        beyond: the other end: with it μ is proved to be above the target; None if the rate is 1.
        before: the measurement of the mechanism on all the data.
        measurement: the measurement of the mechanism on the sample, at the safe end.
        notes: what a careful reader should know, a sentence each.
        calibration: how the rate was found; None if it is 1.
    """

    scheme: str
    target_mu: float
    rate: float
    beyond: float | None
    before: Measurement
    measurement: Measurement
    notes: tuple[str, ...] = field(repr=False)
    calibration: Calibration | None = field(default=None, repr=False)

    @property
    def certificate(self) -> Certificate:
        """A document that proves the rate to someone else: safe at it, and unsafe beyond it.

        Raises:
            InputError: where there are no certificates of such mechanisms.
            UndecidedError: if the checker cannot be convinced.
        """
        if self.calibration is not None:
            return self.calibration.certificate
        # sampled at a rate of 1 it is itself
        return certified(replace(self.measurement, profile=self.base))

    @property
    def base(self) -> Profile:
        """The profile of the mechanism on all the data."""
        return self.profile.inner[0]

    @property
    def profile(self) -> Profile:
        """The profile of the mechanism on the sample."""
        return self.measurement.profile

    @property
    def mu(self) -> Interval:
        """An interval for the μ at the safe end."""
        return self.measurement.mu

    def sample(
        self,
        data: Any,
        *,
        order_by: str | Sequence[str] | None = None,
        engine_random: str | None = None,
    ) -> Any:
        """Draw a sample of a frame at the plan's rate; see :func:`gdpbridge.sample`."""
        return sample(
            data, self.rate, scheme=self.scheme, order_by=order_by, engine_random=engine_random
        )

    def sample_file(
        self,
        source: str | Path,
        target: str | Path,
        *,
        header: bool = True,
        progress: Progress = silent,
    ) -> int:
        """Draw a sample of a file at the plan's rate; see :func:`gdpbridge.sample_file`."""
        return sample_file(
            source, target, self.rate, scheme=self.scheme, header=header, progress=progress
        )


def subsampling_plan(
    profile: Profile,
    mu: Real,
    *,
    scheme: str = "poisson",
    eps_h: Real | None = None,
    failure: Real | None = None,
    tol: Real | None = None,
) -> SubsamplePlan:
    """Find the largest rate at which a mechanism on a random sample reaches a target μ.

    Args:
        profile: the mechanism's profile on all the data.
        mu: the target μ > 0.
        scheme: "poisson" (add-remove neighbours) or "without-replacement" (replace-one).
        eps_h: a target for the head [0, eps_h] only.
        failure: a target for all but a failure of that probability.
        tol: the largest width of the intervals for μ; that of :func:`gdpbridge.measure` if None.

    Returns:
        The rate as a bracket, proved at both ends.

    Raises:
        InputError: for an argument outside its range, or a target that no rate reaches: sampling
            hardly touches the tail, so that a whole-range μ may have a floor.
    """
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.Laplace(...)")
    if scheme not in _NOTES:
        raise InputError("scheme", scheme, f"one of {', '.join(_NOTES)}")
    target = _target(mu)
    everything = measure(profile.subsample(1, scheme), tol, eps_h=eps_h, failure=failure)
    if everything.mu.high <= target:
        return SubsamplePlan(
            scheme,
            float(target),
            1.0,
            None,
            everything,
            everything,
            ("the target is met without sampling",),
        )
    try:
        found = calibrate(
            Subsampled.model_fields["kind"].default,
            mu,
            parameter="rate",
            tol=tol,
            base=profile,
            scheme=scheme,
            eps_h=eps_h,
            failure=failure,
        )
    except InputError as error:
        if error.field != "target_mu":
            raise
        raise error.renamed("mu") from None
    return SubsamplePlan(
        scheme,
        float(target),
        found.value,
        found.beyond,
        everything,
        found.measurement,
        _NOTES[scheme],
        found,
    )


def _target(mu: Real) -> Decimal:
    try:
        exact(mu)
    except ValueError:
        raise InputError("mu", mu, "a number > 0 and at most 1000") from None
    return Decimal(str(mu))
