"""What a calibration comes to: a bracket, and the certificate of both its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdpbridge.errors import Advice, InputError, UndecidedError
from gdpbridge.goals import Goal
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.showing import Shown

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["Calibration"]


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """The answer of :func:`gdpbridge.calibrate`.

    Attributes:
        parameter: the parameter that was free.
        goal: the target.
        value: the safe end: here the target is proved to be met.
        beyond: the other end of the bracket: here it is proved to be missed.
        attained: an interval at the safe end for what the target is about.
        profile: the mechanism with the safe value.
        beyond_profile: the mechanism with the other one.
        certified: whether both ends are proved.
        measured: the measurement at the safe end, for a target μ.
    """

    parameter: str
    goal: Goal
    value: float | int
    beyond: float | int
    attained: Interval
    profile: Profile
    beyond_profile: Profile
    certified: bool
    measured: Measurement | None

    @property
    def target_mu(self) -> float | None:
        """The target, if it is a μ."""
        return self.goal.given.get("mu")

    @property
    def measurement(self) -> Measurement:
        """The measurement of μ at the safe end; made now where the target is another one."""
        if self.measured is not None:
            return self.measured
        from gdpbridge.measure import measure

        return measure(self.profile)

    @property
    def certificate(self) -> Certificate:
        """A document that proves to someone else that the target is met here, and missed beyond.

        Of some mechanisms it is one-sided, see :attr:`one_sided`: the target is met.

        Raises:
            InputError: where there are no certificates of such mechanisms.
            UndecidedError: if the checker cannot be convinced.
        """
        from gdpbridge.certificate.reach import uncertifiable_because
        from gdpbridge.certificate.write_several import with_beyond, within_target

        for one in (self.profile, self.beyond_profile):
            if why := uncertifiable_because(one):
                raise InputError("certificate", one.kind, Advice(f"leave it out: {why}"))
        if self.one_sided:
            try:
                met = self.goal.met(self.profile, self.measured)
            except UndecidedError:
                # the bound of its own that the checker has may be above
                met = self.goal.bounded(self.profile, self.measured)
            return within_target(met, self.goal.target)
        met = self.goal.met(self.profile, self.measured)
        return with_beyond(met, self.goal.missed(self.beyond_profile), self.goal.target)

    @property
    def one_sided(self) -> str:
        """Why the certificate cannot show that the value beyond misses; empty if it does."""
        from gdpbridge.certificate.reach import one_sided_because

        kind, other = self.profile.certified_as.kind, self.beyond_profile.certified_as.kind
        if kind != other:
            return (
                f"what meets the target is of {kind}, what misses it of {other}: that is not shown"
            )
        return one_sided_because(self.profile, at_zero=self.goal.at_zero)
