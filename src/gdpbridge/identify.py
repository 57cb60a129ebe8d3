"""Identify: is the mechanism GDP for some finite μ? Its tail alone decides.

A mechanism with δ(0) < 1 is GDP exactly when μ_t is finite, μ_t² the upper limit of
ε²/(-2 log δ(ε)) (Liu, Sun, Jiang and Kong 2022, section 3; any finite μ_t will do, and μ_t is
then a lower bound of the least μ, not its value).
"""

from __future__ import annotations

from dataclasses import dataclass

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.tail import TailStatus, Verdict
from gdpbridge.errors import InputError
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.several import over_lists
from gdpbridge.showing import Shown

__all__ = ["Identification", "TailStatus", "Verdict", "identify"]


@dataclass(frozen=True, repr=False)
class Identification(Shown):
    """The answer of :func:`identify`.

    Attributes:
        verdict: "gdp", "not-gdp" or "unknown".
        mu_tail: an interval that holds μ_t, infinite where the mechanism is not GDP; None where
            the tail is unknown.
        reason: one sentence that says why.
        tail_status: whether μ_t is proved, estimated or unknown.
        profile_is: what the δ(ε) is that the verdict is about; "not-gdp" says of an upper bound
            that no finite μ follows from it, and not that the mechanism has none.
    """

    verdict: Verdict
    mu_tail: Interval | None
    reason: str
    tail_status: TailStatus
    profile_is: Nature = Nature.OWN

    @property
    def verdict_sentence(self) -> str:
        """What the verdict says, for a reader."""
        return self.verdict.sentence(self.profile_is, self.tail_status)


@over_lists("profile")
def identify(profile: Profile) -> Identification:
    """Decide from the tail of a profile whether the mechanism is GDP.

    Args:
        profile: a mechanism's privacy profile; of a list, a list of answers comes.

    Returns:
        The verdict, μ_t as an interval, and the reason in one sentence.

    Raises:
        InputError: for what is no profile.
    """
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.Laplace(...)")
    tail = profile.tail
    return Identification(tail.verdict, tail.mu_tail, tail.reason, tail.status, profile.profile_is)
